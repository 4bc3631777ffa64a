"""Creates the tables of the store, and upgrades those of earlier versions of Gas."""

from __future__ import annotations

import json
import sqlite3

from gas.service.jobs import Job, JobRequest
from gas.service.rows import ASKED, CLASS, HELD, LIFE, NOTICE, OFFERED, RESHAPED, asked_row, command_row, life_row, seal

__all__ = [
    "ADD_CHANGE",
    "ADD_COMMAND",
    "ADD_JOB",
    "JOB_COLUMNS",
    "PUT_FACT",
    "SCHEMA_VERSION",
    "create_tables",
    "read_as_of_today",
    "upgrade_tables",
]

SCHEMA_VERSION = 7

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, seal INTEGER NOT NULL) WITHOUT ROWID"
_JOBS = """
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, identity TEXT NOT NULL,
    user TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    processors INTEGER NOT NULL, walltime INTEGER NOT NULL,
    actuator TEXT NOT NULL, directory TEXT,
    run_time INTEGER, wished_start INTEGER, start_by INTEGER, client_key TEXT,
    submitted INTEGER NOT NULL, first_promise INTEGER NOT NULL, seal INTEGER NOT NULL,
    state TEXT NOT NULL, start INTEGER NOT NULL, promise INTEGER NOT NULL, due INTEGER NOT NULL,
    finished INTEGER, exit_status INTEGER, signal TEXT, message TEXT, broken_promise INTEGER,
    life_seal INTEGER NOT NULL
)"""
_ADDED = {
    4: RESHAPED,
    5: (CLASS,),
    6: (NOTICE, *OFFERED),
    7: (HELD,),
}  # columns of jobs, by the schema that brought them
_RESHAPES = (  # also other changes with a key
    "CREATE TABLE reshapes (id INTEGER NOT NULL, user TEXT NOT NULL, client_key TEXT NOT NULL, "
    "changes TEXT NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY (id, user, client_key)) WITHOUT ROWID"
)
_REST = (
    # Commands may be long and never change: in a table of their own, they are not rewritten when a promise moves.
    "CREATE TABLE commands (id INTEGER PRIMARY KEY, command TEXT NOT NULL, environment TEXT NOT NULL, "
    "command_seal INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX keys ON jobs (user, client_key) WHERE client_key IS NOT NULL",
    "CREATE INDEX active_jobs ON jobs (id) WHERE state IN ('queued', 'reserved', 'running')",
    # Finds jobs without a search behind 100,000 waiting jobs, or among a million ended ones.
    "CREATE INDEX ended_jobs ON jobs (id) WHERE state NOT IN ('queued', 'reserved', 'running')",
    "CREATE INDEX ended_at ON jobs (finished) WHERE state NOT IN ('queued', 'reserved', 'running')",
)

JOB_COLUMNS = (*ASKED, CLASS, NOTICE, "seal", *LIFE, *RESHAPED, *OFFERED, HELD, "life_seal")
ADD_JOB = f"INSERT INTO jobs ({', '.join(JOB_COLUMNS)}) VALUES ({', '.join('?' * len(JOB_COLUMNS))})"
ADD_CHANGE = "INSERT INTO reshapes (id, user, client_key, changes, seal) VALUES (?, ?, ?, ?, ?)"
ADD_COMMAND = "INSERT INTO commands (id, command, environment, command_seal) VALUES (?, ?, ?, ?)"
PUT_FACT = "INSERT OR REPLACE INTO meta (key, value, seal) VALUES (?, ?, ?)"


def create_tables(database: sqlite3.Connection) -> None:
    """Create the tables of a new store, completely or not at all."""
    with _Transaction(database):
        _create(database)


def _create(database: sqlite3.Connection) -> None:
    for statement in (_META, _JOBS, *_REST, _RESHAPES):
        database.execute(statement)
    _add_columns(database, 3)


def _columns_since(found: int) -> list[str]:
    return [name for version, names in _ADDED.items() if found < version for name in names]


def _add_columns(database: sqlite3.Connection, found: int) -> None:
    for name in _columns_since(found):
        database.execute(f"ALTER TABLE jobs ADD COLUMN {name} {'TEXT' if name == CLASS else 'INTEGER'}")


def read_as_of_today(database: sqlite3.Connection, found: int) -> None:
    """Make a store of schema 3 or later readable like a present one, without changing it."""
    if found >= 3 and (missing := _columns_since(found)):
        nulls = ", ".join(f"NULL AS {name}" for name in missing)
        database.execute(f"CREATE TEMP VIEW jobs AS SELECT *, {nulls} FROM main.jobs")


def upgrade_tables(database: sqlite3.Connection, found: int, user: str) -> None:
    """Upgrade the tables of an earlier schema, completely or not at all.

    Parameters
    ----------
    found
        The earlier schema.
    user
        The user of jobs submitted before stores recorded users.
    """
    with _Transaction(database):
        if found >= 3:
            if found == 3:
                database.execute(_RESHAPES)
            _add_columns(database, found)
            return
        for index in ("active_jobs", "keys"):
            database.execute(f"DROP INDEX IF EXISTS {index}")
        database.execute("ALTER TABLE jobs RENAME TO earlier_jobs")
        database.execute("ALTER TABLE meta RENAME TO earlier_meta")
        _create(database)
        facts = {row["key"]: row["value"] for row in database.execute("SELECT key, value FROM earlier_meta")}
        highest = 0
        for row in database.execute("SELECT * FROM earlier_jobs ORDER BY id"):
            job = _earlier_job(row, user)
            highest = max(highest, job.id)
            database.execute(ADD_JOB, (*asked_row(job), *life_row(job)))
            if job.request.actuator == "process":
                database.execute(ADD_COMMAND, command_row(job))
        facts["last_id"] = str(max(highest, int(facts.get("last_id", "0"))))
        database.executemany(PUT_FACT, ((key, value, seal((key, value))) for key, value in facts.items()))
        database.execute("DROP TABLE earlier_jobs")
        database.execute("DROP TABLE earlier_meta")


def _earlier_job(row: sqlite3.Row, user: str) -> Job:
    known = {name: row[name] for name in row.keys()}  # noqa: SIM118  # not a mapping
    request = JobRequest(
        kind=known["kind"],
        name=known["name"],
        processors=known["processors"],
        walltime=known["walltime"],
        actuator=known["actuator"],
        command=tuple(json.loads(known["command"])),
        environment=json.loads(known["environment"]),
        directory=known["directory"],
        run_time=known["run_time"],
        start=known["wished_start"],
        start_by=known["start_by"],
        key=known["client_key"],
        user=known.get("user", user),
    )
    life = {name: known.get(name) for name in ("id", "submitted", "first_promise", *LIFE)}
    return Job(request=request, **life)  # type: ignore[arg-type]  # what an earlier version wrote


class _Transaction:
    """Commit at the end of a ``with`` block, with the schema's version; undo everything after an error."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self._database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._database.execute("COMMIT")
        elif self._database.in_transaction:
            self._database.execute("ROLLBACK")
