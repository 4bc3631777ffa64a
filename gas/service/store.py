"""The store: every job of the service in one SQLite file, so that an answered request survives a crash.

WAL with ``synchronous=FULL``: when `Store.write` has returned, the change is on disk. The store is the truth; the
schedule in memory can be thrown away and read back (`Store.active`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from gas.errors import Conflict
from gas.service.jobs import TEACHING, Job, Wish

__all__ = ["SCHEMA_VERSION", "Store"]

SCHEMA_VERSION = 2

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
_JOBS = """
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    user TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    processors INTEGER NOT NULL, walltime INTEGER NOT NULL,
    actuator TEXT NOT NULL, command TEXT NOT NULL, environment TEXT NOT NULL, directory TEXT,
    run_time INTEGER, wished_start INTEGER, start_by INTEGER, client_key TEXT,
    submitted INTEGER NOT NULL, state TEXT NOT NULL,
    start INTEGER NOT NULL, promise INTEGER NOT NULL, first_promise INTEGER NOT NULL, due INTEGER NOT NULL,
    finished INTEGER, exit_status INTEGER, signal TEXT, message TEXT, broken_promise INTEGER
);
CREATE UNIQUE INDEX keys ON jobs (user, client_key) WHERE client_key IS NOT NULL;
CREATE INDEX active_jobs ON jobs (id) WHERE state IN ('queued', 'reserved', 'running');
"""

_COLUMNS_1 = (
    "kind, name, processors, walltime, actuator, command, environment, directory, run_time, wished_start, start_by, "
    "client_key, submitted, state, start, promise, first_promise, due, finished, exit_status, signal, message"
)
_FROM_1 = f"""
DROP INDEX active_jobs;
ALTER TABLE jobs RENAME TO jobs_1;
{_JOBS}
INSERT INTO jobs (id, user, {_COLUMNS_1}) SELECT id, :user, {_COLUMNS_1} FROM jobs_1;
INSERT OR REPLACE INTO meta SELECT 'last_id', CAST(coalesce(max(id), 0) AS TEXT) FROM jobs_1;
DROP TABLE jobs_1;
"""

_WISH = (
    "id", "user", "kind", "name", "processors", "walltime", "actuator", "command", "environment", "directory",
    "run_time", "wished_start", "start_by", "client_key", "submitted", "first_promise",
)  # fmt: skip
_LIFE = ("state", "start", "promise", "due", "finished", "exit_status", "signal", "message", "broken_promise")
_COLUMNS = (*_WISH, *_LIFE)
_WRITE = (
    f"INSERT INTO jobs ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{name}' for name in _COLUMNS)}) "
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _LIFE)}"
)


class Store:
    """The jobs of one service; used by one thread at a time.

    Parameters
    ----------
    path
        The file; made if missing, brought up to date if an earlier version of Gas wrote it.
    user
        Whose the jobs are that were submitted before a store knew of users.

    Raises
    ------
    Conflict
        The file is no store, or was written by a later version of Gas.
    """

    def __init__(self, path: str | Path, user: str = "") -> None:
        try:
            self._open(path, user)
        except (sqlite3.Error, OSError) as error:
            if hasattr(self, "_database"):
                self._database.close()
            raise Conflict(f"{path}: cannot be used as a store ({error}); name another --state") from None

    def _open(self, path: str | Path, user: str) -> None:
        self._path = Path(path)
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._path.chmod(0o600)  # commands and their environment are in there
        facts = self._path.stat()
        self._file = facts.st_dev, facts.st_ino
        self._database.row_factory = sqlite3.Row
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        found = int(self._database.execute("PRAGMA user_version").fetchone()[0])
        if found == 0:
            self._script(f"{_META} {_JOBS}")
        elif found == 1:
            self._script(_FROM_1.replace(":user", "'" + user.replace("'", "''") + "'"))
        elif found > SCHEMA_VERSION:
            self._database.close()
            raise Conflict(
                f"{path}: was written by a later version of Gas (schema {found}, this one knows {SCHEMA_VERSION}); "
                "use that version, or another --state"
            )

    def _script(self, statements: str) -> None:
        """Bring the file to the present schema, wholly or not at all."""
        self._database.executescript(f"BEGIN IMMEDIATE; {statements} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # -------------------------------------------------------------------------------------------------- write

    def write(self, *, jobs: Iterable[Job] = (), meta: dict[str, str] | None = None) -> None:
        """Write jobs (new or changed) and facts in one transaction, durable on return."""
        self._check_file()
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            database.executemany(_WRITE, map(_row, jobs))
            database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", (meta or {}).items())
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    def remove(self, ids: Iterable[int]) -> None:
        """Forget jobs for good; their numbers are not given again."""
        database, last = self._database, self.last_id()
        database.execute("BEGIN IMMEDIATE")
        try:
            database.executemany("DELETE FROM jobs WHERE id = ?", ((id,) for id in ids))
            database.execute("INSERT OR REPLACE INTO meta VALUES ('last_id', ?)", (str(last),))
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    def _check_file(self) -> None:
        """Raise if what is written would go to a file that is no longer there."""
        try:
            found = self._path.stat()
        except OSError as error:
            raise sqlite3.OperationalError(f"{self._path} is gone: {error.strerror}") from None
        if (found.st_dev, found.st_ino) != self._file:
            raise sqlite3.OperationalError(f"{self._path} was replaced by another file")

    # --------------------------------------------------------------------------------------------------- read

    def meta(self) -> dict[str, str]:
        """Return the facts about the service that outlive it."""
        return {row["key"]: row["value"] for row in self._database.execute("SELECT key, value FROM meta")}

    def active(self) -> list[Job]:
        """Return the jobs in the schedule, in submission order."""
        return self._select("WHERE state IN ('queued', 'reserved', 'running') ORDER BY id")

    def job(self, id: int) -> Job | None:
        """Return one job, None if there is none of that number."""
        return next(iter(self._select("WHERE id = ?", id)), None)

    def by_key(self, user: str, key: str) -> Job | None:
        """Return the job that a user submitted with this key."""
        return next(iter(self._select("WHERE user = ? AND client_key = ?", user, key)), None)

    def recent(self, limit: int) -> list[Job]:
        """Return the latest jobs that have ended, newest first, without their environments, which may be long."""
        columns = ", ".join(name if name != "environment" else "'{}' AS environment" for name in _COLUMNS)
        condition = "WHERE state NOT IN ('queued', 'reserved', 'running') ORDER BY id DESC LIMIT ?"
        return [_job(row) for row in self._database.execute(f"SELECT {columns} FROM jobs {condition}", (limit,))]

    def instructive(self, limit: int) -> list[Job]:
        """Return the latest jobs that ended by themselves, newest first, without commands, environments, messages."""
        without = {"command": "'[]'", "environment": "'{}'", "directory": "NULL", "message": "NULL"}
        columns = ", ".join(f"{without[name]} AS {name}" if name in without else name for name in _COLUMNS)
        condition = f"WHERE kind = 'job' AND state IN {TEACHING} ORDER BY id DESC LIMIT ?"
        return [_job(row) for row in self._database.execute(f"SELECT {columns} FROM jobs {condition}", (limit,))]

    def ended_before(self, instant: int, limit: int) -> list[int]:
        """Return the numbers of jobs, at most so many, that had ended before an instant (epoch seconds)."""
        rows = self._database.execute(
            "SELECT id FROM jobs WHERE finished < ? AND state NOT IN ('queued', 'reserved', 'running') LIMIT ?",
            (instant, limit),
        )
        return [row["id"] for row in rows]

    def last_id(self) -> int:
        """Return the highest job number given so far, 0 before the first; also if that job is forgotten."""
        statement = (
            "SELECT coalesce(max(id), 0), (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_id') FROM jobs"
        )
        given, noted = self._database.execute(statement).fetchone()
        return max(int(given), int(noted or 0))

    def _select(self, condition: str, *values: object) -> list[Job]:
        return [_job(row) for row in self._database.execute(f"SELECT * FROM jobs {condition}", values)]


def _row(job: Job) -> dict[str, object]:
    wish = job.wish
    return {
        "user": wish.user,
        "kind": wish.kind,
        "name": wish.name,
        "processors": wish.processors,
        "walltime": wish.walltime,
        "actuator": wish.actuator,
        "command": json.dumps(wish.command),
        "environment": json.dumps(wish.environment),
        "directory": wish.directory,
        "run_time": wish.run_time,
        "wished_start": wish.start,
        "start_by": wish.start_by,
        "client_key": wish.key,
        **{name: getattr(job, name) for name in ("id", "submitted", "first_promise", *_LIFE)},
    }


def _job(row: sqlite3.Row) -> Job:
    wish = Wish(
        kind=row["kind"],
        name=row["name"],
        processors=row["processors"],
        walltime=row["walltime"],
        actuator=row["actuator"],
        command=tuple(json.loads(row["command"])),
        environment=json.loads(row["environment"]),
        directory=row["directory"],
        run_time=row["run_time"],
        start=row["wished_start"],
        start_by=row["start_by"],
        key=row["client_key"],
        user=row["user"],
    )
    return Job(wish=wish, **{name: row[name] for name in ("id", "submitted", "first_promise", *_LIFE)})
