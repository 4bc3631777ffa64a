"""What stands in the place of open and pathlib.Path."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from typing import Any

from simulated import kernel as machine
from simulated.filesystem import absolute
from simulated.system import simulated_os


class Stream:
    """A file object."""

    def __init__(self, number: int, mode: str) -> None:
        self._number = number
        self._mode = mode
        self.closed = False

    def fileno(self) -> int:
        return self._number

    def read(self, size: int = -1) -> Any:
        data = simulated_os.read(self._number, size if size is not None and size >= 0 else 1 << 40)
        return data if "b" in self._mode else data.decode()

    def readlines(self) -> list[Any]:
        return list(self.read().splitlines(keepends=True))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readlines())

    def write(self, data: Any) -> int:
        simulated_os.write(self._number, data if "b" in self._mode else data.encode())
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            simulated_os.close(self._number)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.closed and not machine.present.caller().dead:
            self.close()


def simulated_open(path: Any, mode: str = "r", *_: Any, **__: Any) -> Stream:
    if isinstance(path, int):
        return Stream(path, mode)
    flags = {"r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
             "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL}[mode.strip("bt+")[0]]  # fmt: skip
    return Stream(simulated_os.open(path, flags, 0o666), mode)


class SimulatedPath(pathlib.PosixPath):
    """A Path on the simulated disk."""

    __slots__ = ()

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return simulated_os.stat(str(self))

    def lstat(self) -> Any:
        return simulated_os.stat(str(self))

    def exists(self) -> bool:  # type: ignore[override]
        return simulated_os.path.exists(str(self))

    def is_dir(self) -> bool:  # type: ignore[override]
        return simulated_os.path.isdir(str(self))

    def is_file(self) -> bool:  # type: ignore[override]
        return simulated_os.path.isfile(str(self))

    def is_symlink(self) -> bool:
        return False

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        try:
            simulated_os.mkdir(str(self), mode)
        except FileNotFoundError:
            if not parents or self.parent == self:
                raise
            self.parent.mkdir(parents=True, exist_ok=True)
            self.mkdir(mode, exist_ok=exist_ok)
        except FileExistsError:
            if not exist_ok or not self.is_dir():
                raise

    def chmod(self, mode: int, *, follow_symlinks: bool = True) -> None:
        simulated_os.chmod(str(self), mode)

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            simulated_os.unlink(str(self))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rmdir(self) -> None:
        simulated_os.rmdir(str(self))

    def rename(self, target: Any) -> Any:
        simulated_os.rename(str(self), str(target))
        return target

    replace = rename

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:
        simulated_os.close(simulated_os.open(str(self), os.O_WRONLY | os.O_CREAT, mode))

    def iterdir(self) -> Iterator[SimulatedPath]:
        return iter([self / name for name in simulated_os.listdir(str(self))])

    def glob(self, pattern: str, **_: Any) -> Iterator[SimulatedPath]:  # type: ignore[override]
        assert "/" not in pattern
        return (each for each in self.iterdir() if each.match(pattern))

    def open(self, mode: str = "r", *_: Any, **__: Any) -> Any:  # type: ignore[override]
        return simulated_open(str(self), mode)

    def read_bytes(self) -> bytes:
        with self.open("rb") as file:
            return bytes(file.read())

    def read_text(self, *_: Any, **__: Any) -> str:  # type: ignore[override]
        return self.read_bytes().decode()

    def write_bytes(self, data: Any) -> int:
        with self.open("wb") as file:
            return int(file.write(data))

    def write_text(self, data: str, *_: Any, **__: Any) -> int:  # type: ignore[override]
        return self.write_bytes(data.encode())

    def resolve(self, strict: bool = False) -> SimulatedPath:
        return SimulatedPath(absolute(str(self)))

    absolute = resolve  # type: ignore[assignment]
