"""The store: every job of the service in one SQLite file, so that an answered request survives a crash.

When `write` returns, its data are on disk (`gas.service.database`). The store is the truth; the schedule in memory can
be discarded and read again (`Store.active`).

`identity` identifies the store and `epoch` its state: the epoch grows whenever the file turns out to be older than the
last write (`gas.service.mark`), and when a backup is restored.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gas.errors import Conflict, StoreDamaged
from gas.service.changes import Change
from gas.service.database import Connect, Database, first_problem, open_database
from gas.service.jobs import LONG_COMMAND, TEACHING, Job
from gas.service.listing import Wanted
from gas.service.mark import Mark, MarkFile
from gas.service.rows import (
    HELD,
    LIFE,
    OFFERED,
    RESHAPED,
    DamagedRow,
    asked_row,
    change_of,
    change_row,
    command_row,
    job_of,
    life_row,
)
from gas.service.tables import (
    ADD_CHANGE,
    ADD_COMMAND,
    ADD_JOB,
    JOB_COLUMNS,
    SCHEMA_VERSION,
    create_tables,
    upgrade_tables,
)

__all__ = [
    "COMMANDED",
    "SCHEMA_VERSION",
    "Loss",
    "Store",
    "damaged",
]

log = logging.getLogger("gas.s3")

_JOB = f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs"
COMMANDED = (
    f"SELECT {', '.join(f'jobs.{name}' for name in JOB_COLUMNS)}, "
    "command, environment, command_seal FROM jobs LEFT JOIN commands ON commands.id = jobs.id"
)
_LIVED = ", ".join(f"{name} = ?" for name in (*LIFE, *RESHAPED, *OFFERED, HELD))
_CHANGE = f"UPDATE jobs SET {_LIVED}, life_seal = ? WHERE id = ?"
_LONG_ENVIRONMENT = 2**16  # with one more character, a command is not read for a list
_ENDED_KEPT = 10_000  # listed ended jobs are kept in memory: as many as a client may request
_ACTIVE = "state IN ('queued', 'reserved', 'running')"


@dataclass(frozen=True)
class Loss:
    """A report that a store is older than the last write.

    Attributes
    ----------
    why
        The evidence.
    known
        The highest job number in this older state.
    last_id
        The highest number given before, as far as known.
    """

    why: str
    known: int
    last_id: int


class Store:
    """The jobs of one service; used by one thread at a time.

    Parameters
    ----------
    path
        The file; created if missing, upgraded if an earlier version of Gas wrote it.
    user
        The owner of jobs submitted before stores recorded users.

    Attributes
    ----------
    identity, epoch
        Identity of the store, and the number of times an older state was restored.
    lost
        Set if the file was older than the last write, until the loss is resolved; normally None.
    damaged
        Damage found in rows of ended jobs, which lists omit.

    Raises
    ------
    Conflict
        The file is not a store, or was written by a later version of Gas.
    StoreDamaged
        It is a store, but damaged.
    """

    def __init__(self, path: str | Path, user: str = "", *, connect: Connect = open_database) -> None:
        self.lost: Loss | None = None
        self.damaged: set[str] = set()
        self._ended: dict[tuple[int, str], Job] = {}  # recently listed ones, by number and seal
        self._path = Path(path)
        self._mark = MarkFile(self._path.with_suffix(".mark"))
        before = self._mark.read()
        if before is not None and before.last_id and not self._path.exists():
            raise Conflict(
                f"{path}: is missing, but contained jobs up to number {before.last_id}; restore it (gas restore), or "
                f"also remove {self._path.with_suffix('.mark')} to start afresh"
            )
        if self._path.exists() and not self._path.stat().st_size:
            raise Conflict(
                f"{path}: is empty: damaged, copied in part, or left by a first start that was killed; restore it "
                "(gas restore), or remove it to start afresh"
            )
        try:
            self._file = Database(self._path, connect)
            self._database = self._file.connection
            try:
                self._open(user)
            except BaseException:
                self.close()
                raise
        except (DamagedRow, UnicodeDecodeError) as error:
            raise damaged(path, str(error)) from None
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
                raise damaged(path, str(error)) from None
            raise Conflict(f"{path}: cannot be used as a store ({error}); give another --state") from None
        except (sqlite3.Error, OSError) as error:
            raise Conflict(f"{path}: cannot be used as a store ({error}); give another --state") from None

    def _open(self, user: str) -> None:
        database, path = self._database, self._path
        found = int(database.execute("PRAGMA user_version").fetchone()[0])
        if found > SCHEMA_VERSION:
            raise Conflict(
                f"{path}: was written by a later version of Gas (schema {found}, this one knows {SCHEMA_VERSION}); "
                "use that version, or another --state"
            )
        if problem := first_problem(database, thorough=False):
            raise DamagedRow(problem)
        if found == 0:
            create_tables(database)
        elif found < SCHEMA_VERSION:
            upgrade_tables(database, found, user)
        self._identify()

    def _identify(self) -> None:
        """Read or create the identity of this store, and compare it with the mark."""
        meta = self.meta()
        self.identity, self.epoch = meta.get("store", ""), _number(meta, "epoch")
        self._commits, self._jobs = _number(meta, "commits"), _number(meta, "jobs")
        self._last_id = max(_number(meta, "last_id"), self._highest())
        counted = int(self._database.execute("SELECT count(*) FROM jobs").fetchone()[0])
        if not self.identity:
            self.identity, self._jobs = os.urandom(16).hex(), counted
            self.write(meta={"store": self.identity, "epoch": "0"})
        elif counted != self._jobs:
            raise DamagedRow(f"it holds {counted} jobs, and {self._jobs} were written")
        if meta.get("lost"):
            self.lost = _loss_of(meta["lost"])
        mark = self._mark.read()
        if mark is not None and mark.store != self.identity:
            self.begin_epoch("it is another store than the one last used here", mark)
        elif mark is not None and (mark.epoch, mark.commits) > (self.epoch, self._commits):
            self.begin_epoch("a backup was put in its place, or changes were damaged", mark)

    def begin_epoch(self, why: str, mark: Mark | None = None) -> None:
        """Accept this older state: begin a new epoch, with job numbers above all earlier ones.

        Parameters
        ----------
        mark
            The last known state of the store.
        """
        known = self._last_id if self.lost is None else min(self._last_id, self.lost.known)
        self.epoch += 1
        if mark is not None:
            self.epoch = max(self.epoch, mark.epoch + 1)
            self._last_id = max(self._last_id, mark.last_id)
            self._commits = max(self._commits, mark.commits)
        self.lost = Loss(why, known, self._last_id)
        self.write(meta={"epoch": str(self.epoch), **self._lost_fact()})

    def skip_numbers_up_to(self, last_id: int) -> None:
        """Give new jobs higher numbers than this from now on."""
        if last_id > self._last_id:
            self._last_id = last_id
            if self.lost is not None:
                self.lost = replace(self.lost, last_id=last_id)
            self.write(meta=self._lost_fact())

    def adopt_identity(self, identity: str | None, meta: dict[str, str]) -> None:
        """Take over this identity, and these facts; None keeps the present identity."""
        self.identity = identity or self.identity
        self.write(meta={**meta, "store": self.identity})
        self.epoch = _number(self.meta(), "epoch")
        self.begin_epoch("the undamaged part of a damaged store was saved")

    def _lost_fact(self) -> dict[str, str]:
        return {"lost": "" if self.lost is None else json.dumps(asdict(self.lost))}

    def settle_loss(self, last_id: int) -> None:
        """Record that the loss was examined, and that numbers up to `last_id` are not used again."""
        self._last_id = max(self._last_id, last_id)
        self.lost = None
        self.write(meta=self._lost_fact())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._mark.close()

    # -------------------------------------------------------------------------------------------------- write

    def write(
        self,
        *,
        new: Sequence[Job] = (),
        changed: Iterable[Job] = (),
        meta: dict[str, str] | None = None,
        requested: Iterable[Change] = (),
    ) -> None:
        """Write new jobs, outcomes of others, and facts in one transaction, durable on return.

        Of the `requested` changes, those with a key are kept as long as their job.

        Raises
        ------
        CommitInDoubt
            It may or may not be on disk.
        sqlite3.Error
            Nothing was written.
        """
        last_id = max([self._last_id, *(job.id for job in new)])
        jobs = self._jobs + len(new)

        def work(database: sqlite3.Connection) -> None:
            database.executemany(ADD_JOB, ((*asked_row(job), *life_row(job)) for job in new))
            database.executemany(ADD_COMMAND, (command_row(job) for job in new if job.request.actuator == "process"))
            rows = [(*life_row(job), job.id) for job in changed]
            if rows and database.executemany(_CHANGE, rows).rowcount != len(rows):
                raise DamagedRow("jobs that were written are not in the store any more")
            database.executemany(ADD_CHANGE, (change_row(each) for each in requested if each.key is not None))

        self._transact(work, meta or {}, last_id, jobs)

    def remove(self, ids: Sequence[int]) -> None:
        """Delete jobs for good; their numbers are not used again."""

        def work(database: sqlite3.Connection) -> None:
            rows = [(id,) for id in ids]
            found = database.executemany("DELETE FROM jobs WHERE id = ?", rows).rowcount
            if found != len(rows):
                raise DamagedRow("jobs that were written are not in the store any more")
            for table in ("commands", "reshapes"):
                database.executemany(f"DELETE FROM {table} WHERE id = ?", rows)

        self._transact(work, {}, self._last_id, self._jobs - len(ids))

    def _transact(
        self, work: Callable[[sqlite3.Connection], None], meta: dict[str, str], last_id: int, jobs: int
    ) -> None:
        counts = {"commits": str(self._commits + 1), "last_id": str(last_id), "jobs": str(jobs)}
        self._file.transact(work, {**meta, **counts})
        self._commits, self._last_id, self._jobs = self._commits + 1, last_id, jobs
        self._mark.write(self.mark())

    def mark(self) -> Mark:
        """Return the last state of the store."""
        return Mark(self.identity, self.epoch, self._commits, self._last_id)

    # --------------------------------------------------------------------------------------------------- read

    def meta(self) -> dict[str, str]:
        """Return the persistent facts about the service."""
        return self._file.facts()

    @property
    def doubtful(self) -> bool:
        """Whether a failed change may still be on disk."""
        return self._file.doubtful

    def active(self) -> list[Job]:
        """Return the jobs in the schedule, in submission order."""
        return [job_of(row) for row in self._database.execute(f"{COMMANDED} WHERE {_ACTIVE} ORDER BY jobs.id")]

    def job(self, id: int) -> Job | None:
        """Return one job; None if there is none of this number."""
        row = self._database.execute(f"{COMMANDED} WHERE jobs.id = ?", (id,)).fetchone()
        return None if row is None else job_of(row)

    def by_key(self, user: str, key: str) -> Job | None:
        """Return the job that a user submitted with this key; None if there is none."""
        row = self._database.execute(f"{COMMANDED} WHERE user = ? AND client_key = ?", (user, key)).fetchone()
        return None if row is None else job_of(row)

    def change_by_key(self, id: int, user: str, key: str) -> Change | None:
        """Return the change of a job that a user requested with this key; None if there is none."""
        statement = "SELECT * FROM reshapes WHERE id = ? AND user = ? AND client_key = ?"
        row = self._database.execute(statement, (id, user, key)).fetchone()
        return None if row is None else change_of(row)

    def recent(self, limit: int) -> list[Job]:
        """Return the latest ended jobs, newest first, without long parts (`Job.snapshot`)."""
        return self.ended(Wanted(limit=limit, ended=limit))[::-1]

    def ended(self, wanted: Wanted) -> list[Job]:
        """Return ended jobs in submission order: one page, and one more if there is a next page."""
        bound = f"SELECT id FROM jobs WHERE NOT {_ACTIVE} ORDER BY id DESC LIMIT 1 OFFSET ?"
        row = self._database.execute(bound, (wanted.ended - 1,)).fetchone()
        first = max(wanted.after + 1, 0 if row is None else row["id"])
        conditions = [f"id >= ? AND NOT {_ACTIVE}"]
        values: list[int | str] = [first]
        if wanted.user is not None:
            conditions.append("user = ?")
            values.append(wanted.user)
        if wanted.states:
            conditions.append(f"state IN ({', '.join('?' * len(wanted.states))})")
            values += sorted(wanted.states)
        statement = f"SELECT id, life_seal FROM jobs WHERE {' AND '.join(conditions)} ORDER BY id LIMIT ?"
        found: list[Job] = []
        while len(found) <= wanted.limit:
            rows = self._database.execute(statement, (*values, wanted.limit + 1)).fetchall()
            found += [job for row in rows for job in self._listed(row["id"], row["life_seal"])]
            if len(rows) <= wanted.limit:
                break
            values[0] = rows[-1]["id"] + 1  # so that damaged rows hide no others
        return found

    def _listed(self, id: int, life_seal: str) -> Iterator[Job]:
        """Yield an ended job as listed before, or read it; nothing if it is damaged."""
        if (job := self._ended.get((id, life_seal))) is None:
            rows = self._database.execute(f"{_JOB} WHERE id = ?", (id,))
            job = next((whole for job in self._sound(rows) for whole in self._with_short_command(job)), None)
            if job is None:
                return
            self._ended[id, life_seal] = job
            if len(self._ended) > _ENDED_KEPT:
                del self._ended[next(iter(self._ended))]
        yield job

    def _with_short_command(self, job: Job) -> Iterator[Job]:
        """Yield a job that was read without its command, or with only its length; nothing if it is damaged."""
        lengths = "SELECT length(command), length(environment) FROM commands WHERE id = ?"
        command, environment = self._database.execute(lengths, (job.id,)).fetchone() or (2, 2)
        if command <= LONG_COMMAND and environment <= _LONG_ENVIRONMENT:
            whole = self._sound(self._database.execute(f"{COMMANDED} WHERE jobs.id = ?", (job.id,)))
            yield from (job.snapshot() for job in whole)
        else:
            job.request = job.request.with_length(command)
            yield job

    def instructive(self, limit: int) -> list[Job]:
        """Return the latest jobs that ended by themselves, newest first, without commands and environments."""
        condition = f"WHERE kind = 'job' AND state IN {TEACHING} ORDER BY id DESC LIMIT ?"
        return list(self._sound(self._database.execute(f"{_JOB} {condition}", (limit,))))

    def ended_before(self, instant: int, limit: int) -> list[Job]:
        """Return a limited number of jobs that had ended before an instant (epoch seconds), without their commands."""
        condition = f"WHERE finished < ? AND NOT {_ACTIVE} LIMIT ?"
        return list(self._sound(self._database.execute(f"{_JOB} {condition}", (instant, limit))))

    @property
    def count(self) -> int:
        """Number of jobs in it."""
        return self._jobs

    def last_id(self) -> int:
        """Return the highest job number given so far, 0 before the first; even if that job was deleted."""
        return self._last_id

    def _sound(self, rows: Iterable[sqlite3.Row]) -> Iterator[Job]:
        """Yield the jobs of sound rows and note the damaged ones, which must not hide the rest of a list."""
        for row in rows:
            try:
                yield job_of(row)
            except DamagedRow as error:
                if str(error) not in self.damaged:
                    log.error("the store is damaged: %s", error, extra={"event": "store_damaged"})
                self.damaged.add(str(error))

    def _highest(self) -> int:
        return int(self._database.execute("SELECT coalesce(max(id), 0) FROM jobs").fetchone()[0])


def damaged(path: str | Path, problem: str) -> StoreDamaged:
    """Return the error for a damaged store."""
    return StoreDamaged(
        f"{path}: the store is damaged ({problem}); `gas check` shows what can be saved, and `gas restore` restores a "
        "backup"
    )


def _loss_of(text: str) -> Loss:
    try:
        return Loss(**json.loads(text))
    except (ValueError, TypeError):
        raise DamagedRow(f"fact 'lost' cannot be read: {text[:40]!r}") from None


def _number(facts: dict[str, str], key: str) -> int:
    try:
        return int(facts.get(key, "0"))
    except ValueError:
        raise DamagedRow(f"fact {key!r} is not a number: {facts[key][:20]!r}") from None
