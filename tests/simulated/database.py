"""SQLite's own library on the simulated disk, behind the names of the standard sqlite3 that the store uses."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import apsw

from simulated import kernel as machine
from simulated.disk import File
from simulated.kernel import Crashed, Process


class _File:
    """An open file of SQLite's."""

    def __init__(self, path: str, node: File, process: Process, made: bool) -> None:
        self.path, self.node, self.process, self.made = path, node, process, made

    def _check(self) -> None:
        if self.process.dead:
            raise Crashed

    def xRead(self, amount: int, offset: int) -> bytes:
        self._check()
        return bytes(self.node.data[offset : offset + amount])

    def xWrite(self, data: Any, offset: int) -> None:
        self._check()
        try:
            machine.present.disk.write(self.node, bytes(data), offset, self.path)
        except OSError as error:
            raise _refusal(error, apsw.SQLITE_IOERR_WRITE) from None

    def xTruncate(self, size: int) -> None:
        self._check()
        try:
            machine.present.disk.truncate(self.node, size, self.path)
        except OSError as error:
            raise _refusal(error, apsw.SQLITE_IOERR_TRUNCATE) from None

    def xSync(self, flags: int) -> None:
        self._check()
        try:
            machine.present.disk.fsync(self.node, self.path)
            if self.made:  # like SQLite: the first sync of a log also syncs its name
                self.made = False
                folder, _ = machine.present.disk.place(self.path)
                machine.present.disk.fsync(folder, self.path.rpartition("/")[0])
        except OSError as error:
            raise _refusal(error, apsw.SQLITE_IOERR_FSYNC) from None

    def xFileSize(self) -> int:
        return len(self.node.data)

    def xLock(self, level: int) -> None:
        pass

    xUnlock = xLock

    def xCheckReservedLock(self) -> bool:
        return False

    def xClose(self) -> None:
        pass

    def xSectorSize(self) -> int:
        return 512

    def xDeviceCharacteristics(self) -> int:
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE  # as SQLite's own says of every disk

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False


def _refusal(error: OSError, code: int) -> apsw.Error:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        full = apsw.FullError(error.strerror)
        full.result = full.extendedresult = apsw.SQLITE_FULL
        return full
    refused = apsw.IOError(error.strerror)
    refused.result, refused.extendedresult = apsw.SQLITE_IOERR, code
    return refused


class _System(apsw.VFS):
    """A file system for SQLite."""

    def __init__(self) -> None:
        super().__init__("simulated", "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        process, disk = machine.present.caller(), machine.present.disk
        made = False
        try:
            try:
                node = disk.find(path)
            except FileNotFoundError:
                if not flags[0] & apsw.SQLITE_OPEN_CREATE:
                    raise
                node, made = disk.create(path), True
            if machine.present.descriptors_exhausted:
                raise OSError(errno.EMFILE, path)
        except OSError:
            raise apsw.CantOpenError(path) from None
        flags[1] = flags[0]
        kind = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
        return _File(path, node, process, made and bool(flags[0] & kind))

    def xDelete(self, path: str, sync: bool) -> None:
        machine.present.caller()
        try:
            machine.present.disk.unlink(path)
            if sync:
                machine.present.disk.fsync(machine.present.disk.place(path)[0], path.rpartition("/")[0])
        except FileNotFoundError:
            refused = apsw.IOError(path)
            refused.extendedresult = apsw.SQLITE_IOERR_DELETE_NOENT
            raise refused from None
        except OSError as error:
            raise _refusal(error, apsw.SQLITE_IOERR_DELETE) from None

    def xAccess(self, path: str, flags: int) -> bool:
        machine.present.caller()
        return machine.present.disk.exists(path)

    def xFullPathname(self, name: str) -> str:
        return name

    def xRandomness(self, size: int) -> bytes:
        return b"\x07" * size

    def xSleep(self, microseconds: int) -> int:
        return microseconds

    def xCurrentTime(self) -> float:
        return machine.present.time() / 86400 + 2440587.5

    def xCurrentTimeInt64(self) -> int:
        return int(machine.present.time() * 1000 + 2440587.5 * 86400000)

    def xGetLastError(self) -> tuple[int, str]:
        return 0, ""


_system = _System()

_ERRORS: dict[type[apsw.Error], type[sqlite3.Error]] = {
    apsw.ConstraintError: sqlite3.IntegrityError,
    apsw.CorruptError: sqlite3.DatabaseError,
    apsw.NotADBError: sqlite3.DatabaseError,
    apsw.MismatchError: sqlite3.IntegrityError,
}


def _translated(error: apsw.Error) -> sqlite3.Error:
    found = _ERRORS.get(type(error), sqlite3.OperationalError)(str(error))
    found.sqlite_errorcode = getattr(error, "extendedresult", -1)
    found.sqlite_errorname = type(error).__name__
    return found


class Row(tuple[Any, ...]):
    """sqlite3.Row: a tuple whose values have names."""

    names: dict[str, int]

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self.names[key] if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.names)


class Cursor:
    """The rows of one statement."""

    def __init__(self, rows: list[Any], changes: int) -> None:
        self._rows = iter(rows)
        self.rowcount = changes

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def close(self) -> None:
        pass


class Connection:
    """sqlite3.Connection, as far as the store needs it."""

    def __init__(self, path: Any, *_: Any, **__: Any) -> None:
        self.row_factory: Any = None
        self.text_factory: Any = str
        self._process = machine.present.caller()
        self._rows: dict[str, type[Row]] = {}
        self._connection: Any = None
        self.ignored: tuple[str, ...] = connection_ignores
        with self._errors():
            self._connection = apsw.Connection(str(path), vfs="simulated", statementcachesize=200)
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY")
            self._connection.set_wal_hook(self._committed)
        self._checkpoint_after = machine.present.rng.choice([10, 100, 1000])
        self._done = False

    def _committed(self, connection: Any, name: str, pages: int) -> int:
        """Do what SQLite does after a commit: a checkpoint now and then, which may fail without any harm.

        An error in a file method would be raised by the statement that met it, even one that SQLite makes good.
        """
        self._done = True
        if pages >= self._checkpoint_after:
            with contextlib.suppress(apsw.Error):
                connection.wal_checkpoint(name)
        return 0

    def _errors(self) -> _Errors:
        return _Errors(self._process)

    def execute(self, statement: str, values: Any = ()) -> Cursor:
        if statement.lower().startswith(self.ignored):
            return Cursor([], 0)
        with self._errors():
            self._done = False
            try:
                cursor = self._connection.execute(statement, values)
            except apsw.Error:
                assert not self._done, "an error of a commit that was made"
                raise
            try:
                names = cursor.get_description()
            except apsw.ExecutionCompleteError:
                return Cursor([], self._connection.changes())
            kind = self._rows.get(statement)
            if kind is None:
                numbers = {name[0]: n for n, name in enumerate(names)}
                kind = self._rows[statement] = type("Row", (Row,), {"names": numbers})
            return Cursor([kind(row) for row in cursor], -1)

    def executemany(self, statement: str, values: Iterable[Any]) -> Cursor:
        with self._errors():
            before = self._connection.total_changes()
            self._connection.executemany(statement, values)
            return Cursor([], self._connection.total_changes() - before)

    def executescript(self, statements: str) -> Cursor:
        with self._errors():
            self._connection.execute(statements)
            return Cursor([], 0)

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def cursor(self) -> Connection:
        return self

    @property
    def in_transaction(self) -> bool:
        return bool(self._connection.in_transaction)

    @property
    def total_changes(self) -> int:
        return int(self._connection.total_changes())

    def set_authorizer(self, *_: Any) -> None:
        pass

    def create_function(self, name: str, arguments: int, function: Any, **_: Any) -> None:
        self._connection.create_scalar_function(name, function, arguments)

    def serialize(self, *, name: str = "main") -> bytes:
        with self._errors():
            return bytes(self._connection.serialize(name))

    def backup(self, target: Connection, **_: Any) -> None:
        with self._errors(), target._connection.backup("main", self._connection, "main") as copy:
            while not copy.done:
                copy.step(100)

    def interrupt(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        if self._connection is not None:
            with self._errors(), contextlib.suppress(apsw.Error):  # SQLite ignores errors of the last checkpoint
                self._connection.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def abandon(self) -> None:
        """Free the memory of a connection whose process is dead."""
        with contextlib.suppress(BaseException):
            self._connection.close(True)


class _Errors:
    """Errors of apsw as those of sqlite3; none at all in a process that died meanwhile."""

    __slots__ = ("_process",)

    def __init__(self, process: Process) -> None:
        self._process = process

    def __enter__(self) -> None:
        if self._process.dead:
            raise Crashed

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        if self._process.dead:
            raise Crashed
        if isinstance(error, apsw.Error):
            raise _translated(error) from None


connection_ignores: tuple[str, ...] = ()
"""How statements begin that connections do not carry out: for faults that tests put in."""


class Sqlite:
    """The module sqlite3."""

    Row = Row
    Connection = Connection

    def __getattr__(self, name: str) -> Any:
        if name.isupper() or name.endswith(("Error", "Warning")) or name in ("sqlite_version_info", "sqlite_version"):
            return getattr(sqlite3, name)
        raise AttributeError(f"the simulated sqlite3 has no {name}")

    def connect(self, path: Any, *arguments: Any, **options: Any) -> Connection:
        connection = Connection(path, *arguments, **options)
        connections.append(connection)
        return connection


connections: list[Connection] = []
