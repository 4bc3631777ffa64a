"""Probes: real jobs without work, submitted to see when Slurm plans them, and cancelled.

They are the last resort if other users' jobs are not shown. No probe is left behind: each is cancelled as soon as it
has a plan; a separate process cancels them by name if the one that started it is interrupted or killed; and the next
call cancels those left by a crash of the machine.
"""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence

from gas.endpoints.sending import RefusedAs, Unclear
from gas.endpoints.slurm.transport import Batch, Shape, Transport
from gas.errors import GasError, Missing, NotFound

__all__ = ["PREFIX", "probe", "sweep"]

PREFIX = "gas-probe-"
"""Prefix of the names of all probes."""

SCRIPT = "#!/bin/sh\nexit 0\n"

ANYWHERE = "/"
"""Directory of probes, which exists on all nodes; slurmrestd from 24.05 on accepts no job without one."""

PATIENCE_SECONDS = 90.0
"""Seconds to wait for a plan: backfill cycles are 30 s apart by default, and one may be running."""

READY = b"ready\n"
"""The line with which the sweeping process reports that it is ready, before any probe."""

LEFT_SECONDS = 1800
"""Seconds after which a probe counts as abandoned."""

SWEEPS = (0.0, 2.0, 8.0, 20.0)
"""Pauses before each sweep: probes in transit to slurmctld may arrive after the first."""

AWAY_SECONDS = 3600.0
"""Seconds for which sweeping is tried if Slurm does not answer."""


def probe(
    transport: Transport,
    shapes: Sequence[Shape],
    options: Mapping[str, str | None],
    *,
    patience: float = PATIENCE_SECONDS,
    tell: Callable[[str], None] = lambda text: None,
) -> list[int | None]:
    """Return the start that Slurm plans for each shape; None if it plans none.

    Probes are submitted one at a time, since each would delay the next.

    Raises
    ------
    GasError
        Slurm refuses a probe, or cannot be reached; none is left.
    """
    _cancel_left_ones(transport)
    name = f"{PREFIX}{uuid.uuid4().hex[:12]}"
    silent = {**options, "output": "/dev/null"}  # a probe that starts at once must leave no file
    silent.pop("error", None)
    starts: list[int | None] = []
    with _swept(transport, name) as left:
        for number, shape in enumerate(shapes, 1):
            tell(f"probe {number} of {len(shapes)}: {shape.tasks or shape.nodes} for {shape.minutes} minutes")
            left.add(number)  # stays there while its state is unknown
            try:
                id = transport.submit(Batch(name, SCRIPT, shape, silent, directory=ANYWHERE))
            except RefusedAs as refusal:
                transport.cancel(refusal.id)
                left.discard(number)
                raise
            except Unclear:
                raise
            except GasError:
                left.discard(number)
                raise
            try:
                starts.append(_planned(transport, id, shape, patience))
            finally:
                with contextlib.suppress(NotFound):
                    transport.cancel(id)
                left.discard(number)
    return starts


def _planned(transport: Transport, id: int, shape: Shape, patience: float) -> int | None:
    """Return when Slurm plans to start a job, once it has a plan.

    slurmctld detects changes by whole seconds, and so overlooks a job submitted in the second of its last cycle until
    something about the job changes.
    """
    ends = time.monotonic() + patience
    nudge, pause = time.monotonic() + 2, 0.2
    while True:
        found = next((job for job in transport.jobs(ids=[id]) if job.id == id), None)
        if found is None or found.start is not None:
            return None if found is None else found.start
        if time.monotonic() + pause > ends:
            return None
        if time.monotonic() > nudge:
            with contextlib.suppress(GasError):
                transport.reshape(id, shape)
            nudge = time.monotonic() + patience / 3
        time.sleep(pause)
        pause = min(2.0, 1.3 * pause)


def _cancel_left_ones(transport: Transport) -> None:
    """Cancel the user's probes that are old enough for their process to have ended."""
    for job in transport.jobs(user=transport.user):
        old = job.submitted is not None and job.submitted < time.time() - LEFT_SECONDS
        if job.pending and job.name.startswith(PREFIX) and old:
            with contextlib.suppress(NotFound):
                transport.cancel(job.id)


@contextlib.contextmanager
def _swept(transport: Transport, name: str) -> Iterator[set[int]]:
    """Make sure that no job of this name remains, whatever happens to this process.

    Yields the set of jobs that may still exist.
    """
    left: set[int] = set()
    sweeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "gas.endpoints.slurm.probing"],  # -P: no modules of the user's own folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert sweeper.stdin is not None
    assert sweeper.stdout is not None
    with contextlib.closing(sweeper.stdin) as line, contextlib.closing(sweeper.stdout) as answer:
        with contextlib.suppress(BrokenPipeError):
            line.write(pickle.dumps((transport, name)))
            line.flush()
        if answer.readline() != READY:
            with contextlib.suppress(BrokenPipeError):
                line.close()
            sweeper.wait()
            raise Missing("the process that cancels leftover probes cannot be started; nothing was probed")
        try:
            yield left
        finally:
            if left:
                _SWEEPING.append(sweeper)  # it goes on without this process
            else:
                with contextlib.suppress(BrokenPipeError):
                    line.write(b"done")
                    line.close()
                sweeper.wait()


_SWEEPING: list[subprocess.Popen[bytes]] = []


def sweep(transport: Transport, name: str) -> int:
    """Cancel all waiting jobs of the user with a name, and return their number."""
    left = [job for job in transport.jobs(user=transport.user) if job.name == name and job.pending]
    for job in left:
        with contextlib.suppress(NotFound):
            transport.cancel(job.id)
    return len(left)


def _wait_and_sweep() -> None:
    """Wait for the parent process to end, and cancel its remaining probes."""
    transport, name = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    if sys.stdin.buffer.read() == b"done":
        return
    deadline = time.monotonic() + AWAY_SECONDS
    for pause in SWEEPS:
        time.sleep(pause)
        while time.monotonic() < deadline:
            try:
                sweep(transport, name)
                break
            except GasError:
                time.sleep(5)


if __name__ == "__main__":
    _wait_and_sweep()
