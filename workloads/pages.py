"""The text of a log file: unpacked, decoded and cut into pieces of whole lines, to keep only a part in memory."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from workloads.log import LogError

__all__ = ["BLOCK", "Source", "pages_of"]

BLOCK = 1 << 18
"""Bytes read at a time."""

_LONGEST_LINE = 1 << 20
_GZIP = b"\x1f\x8b"
_OTHER_PACKING = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}


class Source:
    """A binary stream with a log, plain or gzip; messages name it."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self.given = 0
        """Bytes read."""
        self._stream = stream
        self._ahead = b""
        while len(self._ahead) < 2 and (more := self._next(2 - len(self._ahead))):
            self._ahead += more
        self.packed = self._ahead == _GZIP

    def read(self, count: int) -> bytes:
        """Return up to this number of bytes, none at the end."""
        data, self._ahead = self._ahead[:count], self._ahead[count:]
        return data or self._next(count)

    def _next(self, count: int) -> bytes:
        data = self._stream.read(count)
        if not isinstance(data, bytes):
            raise TypeError(f'{self.name} gives {type(data).__name__}, not bytes; open it in binary mode ("rb")')
        self.given += len(data)
        return data


def pages_of(source: Source, size: int = BLOCK) -> Iterator[str]:
    r"""Yield the text of a log in pieces of whole lines, all ending in ``\n``."""
    rest = b""
    first = True
    for data in _blocks(source, size):
        if first and len(rest) + len(data) < 4:  # too short to recognise
            rest += data
            continue
        data = rest + data
        if first:
            first = False
            for magic, packing in _OTHER_PACKING.items():
                if data.startswith(magic):
                    why = f"is packed with {packing}; unpack it first (plain text and gzip are read)"
                    raise LogError(source.name, why)
            if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise LogError(source.name, "is UTF-16, as PowerShell writes text; save it as UTF-8")
            data = data.removeprefix(codecs.BOM_UTF8)
        if b"\0" in data:
            raise LogError(source.name, "is not text (it has zero bytes); a log is plain text or gzip")
        # A carriage return at the very end may be half of a line end.
        cut = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1
        if cut:
            yield _decoded(data[:cut])
        rest = data[cut:]
        if len(rest) > _LONGEST_LINE:
            why = f"has a line of more than {_LONGEST_LINE} bytes; a job is 18 numbers on a line"
            raise LogError(source.name, why)
    rest = rest.removeprefix(codecs.BOM_UTF8) if first else rest
    if b"\0" in rest:
        raise LogError(source.name, "is not text (it has zero bytes); a log is plain text or gzip")
    if rest:
        yield _decoded(rest)


def _blocks(source: Source, size: int) -> Iterator[bytes]:
    """Yield the bytes of a stream, unpacked if it is gzip (one or several members)."""
    if not source.packed:
        while data := source.read(size):
            yield data
        return
    unpacked = gzip.GzipFile(fileobj=cast(BinaryIO, source), mode="rb")  # it needs nothing but read
    try:
        while data := unpacked.read(size):
            yield data
    except EOFError:
        why = f"the gzip file ends too early ({source.given} bytes); fetch or copy it again"
        raise LogError(source.name, why) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LogError(source.name, f"the gzip file is damaged ({error}); fetch or copy it again") from None


def _decoded(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
