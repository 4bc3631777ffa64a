"""What os and os.path do with files, on the simulated disk; /proc and /sys are made up as they are asked for."""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import stat
import types
from collections.abc import Iterator
from typing import Any

from simulated import kernel as machine
from simulated.descriptors import Open, Pipe
from simulated.disk import Directory, File
from simulated.kernel import INIT

NULL = File(0)


def error(number: int, path: object = None) -> OSError:
    return OSError(number, os.strerror(number), path)


def absolute(path: object) -> str:
    text = path if isinstance(path, str) else os.fsdecode(path)  # type: ignore[arg-type]
    if text.startswith("/") and "/." not in text and "//" not in text and not text.endswith("/"):
        return text
    if not text.startswith("/"):
        text = posixpath.join(machine.present.caller().directory, text)
    return posixpath.normpath(text)


def _proc(path: str) -> bytes:
    """Return a file below /proc or /sys."""
    if path == "/proc/sys/kernel/random/boot_id":
        return machine.present.boot_id.encode() + b"\n"
    parts = path.split("/")
    if len(parts) == 4 and parts[1] == "proc":
        pid = machine.present.caller().pid if parts[2] == "self" else int(parts[2]) if parts[2].isdecimal() else -1
        process = machine.present.processes.get(pid)
        if process is not None:
            if parts[3] == "stat":
                line = f"{pid} (x) {process.state} {process.parent} {process.group} {process.session}"
                return f"{line}{' 0' * 15} {process.ticks}{' 0' * 30}".encode()
            if parts[3] == "cmdline":
                return b"" if process.zombie else b"".join(os.fsencode(a) + b"\0" for a in process.arguments)
            if parts[3] == "environ":
                pairs = process.environment.items()
                return b"" if process.zombie else b"".join(os.fsencode(f"{k}={v}") + b"\0" for k, v in pairs)
            if parts[3] == "status":
                return f"Name:\tx\nPPid:\t{process.parent}\nUid:\t1000\t1000\t1000\t1000\n".encode()
    raise error(errno.ENOENT, path)


def _virtual(path: str) -> bool:
    return path.startswith(("/proc/", "/sys/")) or path in ("/proc", "/sys")


def facts_of(node: File | Directory) -> Any:
    kind = stat.S_IFDIR if node.is_directory else stat.S_IFREG
    size = len(node.data) if isinstance(node, File) else 4096
    return types.SimpleNamespace(
        st_mode=kind | node.mode, st_size=size, st_ino=node.number, st_dev=1, st_uid=0, st_gid=0, st_nlink=1,
        st_mtime=0.0, st_mtime_ns=0, st_ctime=0.0, st_ctime_ns=0, st_atime=0.0,
    )  # fmt: skip


def lookup(path: object) -> File | Directory:
    machine.present.caller()
    full = absolute(path)
    if _virtual(full):
        if full in ("/proc", "/sys") or (
            full.count("/") == 2 and full[6:] in ("self", *map(str, machine.present.processes))
        ):
            return Directory(0)
        file = File(0)
        file.data = bytearray(_proc(full))
        return file
    return machine.present.disk.find(full)


class Paths:
    """os.path."""

    def __getattr__(self, name: str) -> Any:
        if name in ("join", "dirname", "basename", "isabs", "split", "splitext", "sep", "normpath", "commonpath"):
            return getattr(posixpath, name)
        raise AttributeError(f"the simulated os.path has no {name}")

    def realpath(self, path: Any, **_: Any) -> Any:
        return absolute(path)

    abspath = realpath

    def isdir(self, path: Any) -> bool:
        try:
            return lookup(path).is_directory
        except OSError:
            return False

    def isfile(self, path: Any) -> bool:
        try:
            return not lookup(path).is_directory
        except OSError:
            return False

    def exists(self, path: Any) -> bool:
        try:
            lookup(path)
        except OSError:
            return False
        return True

    lexists = exists

    def islink(self, path: Any) -> bool:
        return False

    def getsize(self, path: Any) -> int:
        return int(lookup(path).st_size)  # type: ignore[union-attr]


_PURE = {
    "fsencode", "fsdecode", "fspath", "strerror", "waitstatus_to_exitcode", "sep", "defpath", "devnull", "PathLike",
    "error", "pathsep", "linesep", "name", "sysconf", "WIFEXITED", "cpu_count", "getenv", "curdir", "pardir", "altsep",
}  # fmt: skip


class FileCalls:
    """What os does with files."""

    path = Paths()

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        process = machine.present.caller()
        if dir_fd is not None:
            path = posixpath.join(process.files[dir_fd].path, os.fspath(path))
        full = absolute(path)
        if machine.present.descriptors_exhausted and process.pid != INIT:
            raise error(errno.EMFILE, full)
        if full == os.devnull:
            return process.descriptor(Open(full, flags, NULL))
        node: File | Directory
        try:
            node = lookup(full)
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise error(errno.EEXIST, full)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
            node = machine.present.disk.create(full)
            node.mode = mode
        if isinstance(node, Directory) and flags & (os.O_WRONLY | os.O_RDWR):
            raise error(errno.EISDIR, full)
        if not node.is_directory and flags & os.O_DIRECTORY:
            raise error(errno.ENOTDIR, full)
        if flags & os.O_TRUNC and isinstance(node, File) and node.data:
            machine.present.disk.truncate(node, 0, full)
        return process.descriptor(Open(full, flags, node, writes=bool(flags & (os.O_WRONLY | os.O_RDWR))))

    def _file(self, number: int) -> Open:
        try:
            return machine.present.caller().files[number]
        except KeyError:
            raise error(errno.EBADF) from None

    def close(self, number: int) -> None:
        file = self._file(number)
        del machine.present.caller().files[number]
        file.release()

    def write(self, number: int, data: bytes) -> int:
        file = self._file(number)
        if file.pipe is not None:
            file.pipe.data += data
            file.pipe.changed()
        elif file.node is not NULL:
            offset = len(file.node.data) if file.flags & os.O_APPEND else file.offset
            machine.present.disk.write(file.node, bytes(data), offset, file.path)
            file.offset = offset + len(data)
        return len(data)

    def read(self, number: int, size: int) -> bytes:
        file = self._file(number)
        if file.pipe is not None:
            while not file.pipe.data and file.pipe.writers:
                assert machine.present.current is not None
                file.pipe.waiting.append(machine.present.current)
                machine.present.current.block(None)
            data, file.pipe.data = file.pipe.data[:size], file.pipe.data[size:]
            return data
        if file.node.is_directory:
            raise error(errno.EISDIR, file.path)
        data = bytes(file.node.data[file.offset : file.offset + size])
        file.offset += len(data)
        return data

    def pread(self, number: int, size: int, offset: int) -> bytes:
        return bytes(self._file(number).node.data[offset : offset + size])

    def pwrite(self, number: int, data: bytes, offset: int) -> int:
        file = self._file(number)
        machine.present.disk.write(file.node, bytes(data), offset, file.path)
        return len(data)

    def lseek(self, number: int, offset: int, how: int) -> int:
        file = self._file(number)
        file.offset = offset if how == 0 else len(file.node.data) + offset if how == 2 else file.offset + offset
        return file.offset

    def fsync(self, number: int) -> None:
        file = self._file(number)
        machine.present.disk.fsync(file.node, file.path)

    fdatasync = fsync

    def sync(self) -> None:
        machine.present.caller()
        machine.present.disk.seal()

    def ftruncate(self, number: int, size: int) -> None:
        file = self._file(number)
        machine.present.disk.truncate(file.node, size, file.path)

    def fstat(self, number: int) -> Any:
        return facts_of(self._file(number).node)

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> Any:
        if isinstance(path, int):
            return self.fstat(path)
        return facts_of(lookup(self._at(path, dir_fd)))

    def _at(self, path: Any, dir_fd: int | None) -> Any:
        return path if dir_fd is None else posixpath.join(self._file(dir_fd).path, os.fspath(path))

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> Any:
        return self.stat(path, dir_fd=dir_fd)

    def access(self, path: Any, mode: int) -> bool:
        return self.path.exists(path)

    def link(self, old: Any, new: Any, **_: Any) -> None:
        machine.present.caller()
        machine.present.disk.link(absolute(old), absolute(new))

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        machine.present.caller()
        machine.present.disk.unlink(absolute(self._at(path, dir_fd)))

    remove = unlink

    def rename(self, old: Any, new: Any) -> None:
        machine.present.caller()
        machine.present.disk.rename(absolute(old), absolute(new))

    replace = rename

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        machine.present.caller()
        machine.present.disk.mkdir(absolute(self._at(path, dir_fd)))

    def makedirs(self, path: Any, mode: int = 0o777, exist_ok: bool = False) -> None:
        from simulated.paths import SimulatedPath

        SimulatedPath(path).mkdir(parents=True, exist_ok=exist_ok)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        machine.present.caller()
        machine.present.disk.rmdir(absolute(self._at(path, dir_fd)))

    def listdir(self, path: Any = ".") -> list[str]:
        if isinstance(path, int):
            path = self._file(path).path
        machine.present.caller()
        full = absolute(path)
        if full == "/proc":
            return [str(pid) for pid in machine.present.processes] + ["self", "sys", "uptime"]
        node = lookup(full)
        if not isinstance(node, Directory):
            raise error(errno.ENOTDIR, full)
        return list(node.entries)

    @contextlib.contextmanager
    def scandir(self, path: Any = ".") -> Iterator[Iterator[Any]]:
        full = absolute(path if not isinstance(path, int) else self._file(path).path)
        yield iter([_Entry(name, posixpath.join(full, name)) for name in self.listdir(full)])

    def chmod(self, path: Any, mode: int, **_: Any) -> None:
        lookup(path).mode = mode

    def fchmod(self, number: int, mode: int) -> None:
        self._file(number).node.mode = mode

    def chown(self, path: Any, *_: Any, **__: Any) -> None:
        lookup(path)

    def fchown(self, number: int, *_: Any) -> None:
        self._file(number)

    def dup2(self, old: int, new: int, inheritable: bool = True) -> int:
        file, process = self._file(old), machine.present.caller()
        if new in process.files:
            process.files[new].release()
        file.references += 1
        process.files[new] = file
        return new

    def pipe(self) -> tuple[int, int]:
        pipe, process = Pipe(), machine.present.caller()
        reader = process.descriptor(Open("pipe", 0, pipe=pipe))
        return reader, process.descriptor(Open("pipe", 1, pipe=pipe, writes=True))

    def pipe2(self, flags: int) -> tuple[int, int]:
        return self.pipe()

    def set_inheritable(self, number: int, inheritable: bool) -> None:
        self._file(number)

    set_blocking = set_inheritable

    def fdopen(self, number: int, mode: str = "r", *_: Any, **__: Any) -> Any:
        from simulated.paths import Stream

        return Stream(number, mode)

    def urandom(self, size: int) -> bytes:
        machine.present.caller()
        return machine.present.rng.randbytes(size)

    def statvfs(self, path: Any) -> Any:
        return types.SimpleNamespace(f_bavail=10**9, f_bfree=10**9, f_frsize=4096, f_blocks=10**9, f_bsize=4096)

    def umask(self, mask: int) -> int:
        return 0o022


class _Entry:
    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return lookup(self.path).is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return not lookup(self.path).is_directory

    def is_symlink(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return facts_of(lookup(self.path))

    def inode(self) -> int:
        return lookup(self.path).number
