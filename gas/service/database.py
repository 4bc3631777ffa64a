"""The SQLite file of the store: its transactions are known to be on disk, known not to be, or reported as in doubt.

WAL with ``synchronous=FULL``: when `Database.transact` has returned, the change is on disk.

A failed commit leaves its pages in the WAL, where the next run of the service might find them complete. So another
transaction overwrites a failed one before the service answers. If this succeeds, the change is known not to be on disk;
otherwise it is *in doubt* until a write succeeds.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from gas.errors import StoreInDoubt
from gas.service.rows import DamagedRow, seal
from gas.service.tables import PUT_FACT

__all__ = ["CommitInDoubt", "Connect", "Database", "first_problem", "is_damage", "open_database"]

Connect = Callable[[str | Path], sqlite3.Connection]
"""Opens a database; tests replace it to simulate disks."""

_UNWRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR_WRITE)
"""Errors of a commit which show that it was not written completely, so no later run can take it for complete."""


_DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_NOTADB)
"""Errors of a read which show that the tables are damaged; other errors are temporary."""


class CommitInDoubt(StoreInDoubt, sqlite3.OperationalError):
    """A commit failed, but the change may still be on disk."""


def open_database(path: str | Path) -> sqlite3.Connection:
    """Open a database file with the settings of the store."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


class Database:
    """One open file; used by one thread at a time.

    Attributes
    ----------
    connection
        The connection of SQLite, for reading.
    doubtful
        Whether a failed change may still be on disk.

    Raises
    ------
    sqlite3.Error
        It cannot be opened.
    """

    def __init__(self, path: Path, connect: Connect = open_database) -> None:
        self.doubtful = False
        self._path = path
        write_again(path.with_name(f"{path.name}-wal"))
        new = not path.exists()
        self.connection = connect(path)
        try:
            path.chmod(0o600)  # commands and their environment are in there
            facts = path.stat()
            self._file = facts.st_dev, facts.st_ino
            self.connection.row_factory = sqlite3.Row
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            self.close()
            if new and path.exists() and not path.stat().st_size:
                path.unlink()  # otherwise, e.g. with a full disk, the next run would find an empty file
            raise

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def transact(self, work: Callable[[sqlite3.Connection], None], facts: Mapping[str, str]) -> None:
        """Do some work and write some facts in one transaction, durable on return.

        Raises
        ------
        CommitInDoubt
            It may be on disk, or not.
        sqlite3.Error
            Nothing was written.
        """
        self._check_file()
        database, committing = self.connection, False
        database.execute("BEGIN IMMEDIATE")
        try:
            work(database)
            database.executemany(PUT_FACT, ((key, value, seal((key, value))) for key, value in facts.items()))
            committing = True
            database.execute("COMMIT")
        except BaseException as error:
            self._undo()
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR)
            if committing and not {code, code & 0xFF} & set(_UNWRITTEN):
                self._write_over(error)
            raise
        self.doubtful = False

    def facts(self) -> dict[str, str]:
        """Return the stored facts."""
        facts = {}
        for row in self.connection.execute("SELECT key, value, seal FROM meta"):
            if row["seal"] != seal((row["key"], row["value"])):
                raise DamagedRow(f"fact {row['key']!r} is damaged")
            facts[row["key"]] = row["value"]
        return facts

    def _undo(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _write_over(self, error: BaseException) -> None:
        """Overwrite a failed transaction in the WAL with another one, or raise `CommitInDoubt`."""
        self.doubtful = True
        nonce = os.urandom(8).hex()
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.execute(PUT_FACT, ("overwritten", nonce, seal(("overwritten", nonce))))
            self.connection.execute("COMMIT")
        except sqlite3.Error:
            self._undo()
            raise CommitInDoubt(str(error)) from error
        self.doubtful = False

    def _check_file(self) -> None:
        """Raise if the open file was removed or replaced, so that writes would be lost."""
        try:
            found = self._path.stat()
        except OSError as error:
            raise sqlite3.OperationalError(f"{self._path} is gone: {error.strerror}") from None
        if (found.st_dev, found.st_ino) != self._file:
            raise sqlite3.OperationalError(f"{self._path} was replaced by another file")


def is_damage(error: BaseException) -> bool:
    """Return whether a failed read shows that the file is damaged, so that a retry is useless."""
    if isinstance(error, UnicodeDecodeError):  # of a value, or of the message in which SQLite quotes it
        return True
    if not isinstance(error, sqlite3.DatabaseError):
        return False
    undecoded = str(error).startswith("Could not decode to UTF-8")  # this error has no code
    return undecoded or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def write_again(wal: Path) -> None:
    """Rewrite a WAL with its own contents and sync it, before SQLite reads it.

    If an fsync of an earlier run failed, Linux keeps pages in memory that are not on disk, considers them clean and
    reports that only once. SQLite would read them, find them complete and append to them; after a power failure,
    nothing behind them would be readable. Writing the same bytes to the same place dirties the pages, so that the sync
    is effective.
    """
    try:
        file = os.open(wal, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        place = 0
        while piece := os.pread(file, 2**20, place):
            place += os.pwrite(file, piece, place)
        os.fsync(file)
    finally:
        os.close(file)


def first_problem(database: sqlite3.Connection, *, thorough: bool) -> str | None:
    """Return the first damage that SQLite finds in a file; None if there is none. `thorough` also checks indexes."""
    check = "integrity_check" if thorough else "quick_check"
    found = str(database.execute(f"PRAGMA {check}(1)").fetchone()[0])
    return None if found == "ok" else " ".join(found.split())
