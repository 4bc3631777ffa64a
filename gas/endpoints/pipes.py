"""Reads the output of a program, with a deadline and a limit on bytes."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from contextlib import suppress

from gas.errors import Unreachable

__all__ = ["MOST_OUTPUT_BYTES", "TooMuchOutput", "communicate"]

MOST_OUTPUT_BYTES = 2**27
"""128 MiB: squeue prints some 300 bytes of a job, scontrol some 1,500."""

_PIECE = 2**16


class TooMuchOutput(Unreachable):
    """A program has written more than the limit."""


def communicate(
    process: subprocess.Popen[bytes], text: bytes, timeout: float, most: int = MOST_OUTPUT_BYTES
) -> tuple[bytes, bytes]:
    """Send input to a program, and return its standard output and standard error when it has ended.

    Like `Popen.communicate`, which reads without a limit.

    Raises
    ------
    TooMuchOutput
        It has written more than `most` bytes.
    subprocess.TimeoutExpired
        It has not ended within `timeout` seconds.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    ends = time.monotonic() + timeout
    output: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    length, rest, entry = 0, memoryview(text), process.stdin.fileno()
    os.set_blocking(entry, False)
    with selectors.DefaultSelector() as selector:
        for number in output:
            selector.register(number, selectors.EVENT_READ)
        if rest:
            selector.register(entry, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            left = ends - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, timeout)
            for key, _ in selector.select(left):
                if key.fd == entry:
                    with suppress(BlockingIOError):
                        try:
                            rest = rest[os.write(entry, rest[:_PIECE]) :]
                        except BrokenPipeError:  # it has closed its input
                            rest = rest[:0]
                    if not rest:
                        selector.unregister(entry)
                        process.stdin.close()
                    continue
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fd)
                    continue
                output[key.fd].append(piece)
                length += len(piece)
                if length > most:
                    raise TooMuchOutput(f"has printed more than the limit of {most >> 20} MiB")
    out, err = (b"".join(pieces) for pieces in output.values())
    process.stdout.close()
    process.stderr.close()
    process.wait(max(0.0, ends - time.monotonic()))
    return out, err
