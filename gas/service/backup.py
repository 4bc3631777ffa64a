"""Copies of a store: made while it is in use, restored, checked, and the sound part of a damaged one saved.

A backup is one SQLite file with every job and fact of the store at one instant, and the ledger of predictions as last
written. Outputs of jobs and tokens are separate files, which any other program can copy.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from documents.whole_file import sync
from gas.errors import BadInput, Conflict, NotFound, StoreDamaged, StoreFailed
from gas.service.changes import Change
from gas.service.database import first_problem, open_database
from gas.service.jobs import Job
from gas.service.ledger import FILE as PREDICTIONS
from gas.service.ledger import put_back, put_in, taken_out
from gas.service.mark import Mark, MarkFile
from gas.service.reconciling import directories
from gas.service.rows import DamagedRow, change_of, job_of, seal
from gas.service.store import COMMANDED, Store
from gas.service.tables import SCHEMA_VERSION, read_as_of_today

__all__ = ["STORE", "Restored", "back_up", "check", "restore", "save_sound"]

STORE = "s3.sqlite"
"""The name of the store in a state directory."""

_MOST_PROBLEMS = 20
_ASIDE = "before-restore-"
_ENDINGS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Restored:
    """Contents of a restored backup, and the losses.

    Attributes
    ----------
    jobs
        Number of jobs in the backup.
    lost
        Jobs that only the replaced store had.
    found
        Numbers of jobs with a directory that are not in the backup; `gas serve` recovers them.
    aside
        Folder of the replaced files; None if there were none.
    ended
        Jobs that wait or run in the backup but ended, or were cancelled, after it: they stay ended.
    """

    jobs: int
    lost: list[Job] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    aside: Path | None = None
    ended: list[Job] = field(default_factory=list)


def back_up(state: Path, target: Path) -> tuple[Path, int]:
    """Copy the store of a state directory as it is at one instant; return the copy and its number of jobs.

    The service may be running. The copy is atomic, on disk on return, and checked.

    Raises
    ------
    NotFound
        There is no store.
    StoreDamaged
        It is damaged, so that no good copy can be made.
    BadInput
        The target cannot be written, or exists and is not a backup.
    """
    source = _store_in(state)
    if target.is_dir():
        target = target / f"s3-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.backup"
    if target.exists() and _version(target) is None:
        raise BadInput(f"{target}: exists already and is not a backup; nothing was written; give another file")
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        with closing(open_database(source)) as database, closing(open_database(part)) as copy:
            database.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            put_in(copy, state)
        problems, jobs = problems_of(part)
        if problems:
            raise StoreDamaged(f"{source}: is damaged ({problems[0]}), and no backup was made; see `gas check`")
        sync(part)
        part.rename(target)
        sync(target.parent)
    except (sqlite3.Error, OSError) as error:
        if _code_of(error) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise StoreDamaged(f"{source}: is damaged ({error}), and no backup was made; see `gas check`") from None
        raise BadInput(f"{target}: the backup cannot be written: {error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return target, jobs


def restore(backup: Path, state: Path) -> Restored:
    """Replace a store that no service uses by a backup; the replaced files are kept next to it.

    The restored store begins a new epoch, and never reuses a number of its own, of the replaced store, or of a job's
    directory. If the replaced store is readable, jobs that ended after the backup stay ended. The caller holds the
    state directory; its owner gets the files.

    Raises
    ------
    NotFound
        There is no such backup.
    StoreDamaged, Conflict
        It is damaged, or written by a later version; nothing was changed.
    StoreFailed
        A disk error; repeating the call completes it.
    """
    if not backup.is_file():
        raise NotFound(f"{backup}: there is no such file")
    version = _version(backup)
    if version is None or version == 0:
        raise Conflict(f"{backup}: is not a backup of a store; nothing was changed")
    if version > SCHEMA_VERSION:
        raise Conflict(f"{backup}: was written by a later version of Gas (schema {version}); nothing was changed")
    problems, jobs = problems_of(backup)
    if problems:
        raise StoreDamaged(f"{backup}: is damaged ({problems[0]}); nothing was changed, see `gas check {backup}`")
    fresh = state / f"{STORE}.restoring"
    found = set(directories(state / "jobs").values())
    try:
        interrupted = _unfinished(state)
        before = _jobs_in((interrupted or state) / STORE)
        for path in (fresh, *_files_of(fresh)):
            path.unlink(missing_ok=True)
        shutil.copyfile(backup, fresh)
        fresh.chmod(0o600)
        predictions = taken_out(fresh)
        highest = max([0, *before, *(id for id, _ in found)])
        mark = MarkFile((state / STORE).with_suffix(".mark"))
        known, ended, restored = _prepared(fresh, before, highest, _furthest(mark, (interrupted or state) / STORE))
        sync(fresh)
        aside = _put_aside(state) or interrupted
        put_back(predictions, state, aside)
        fresh.rename(state / STORE)
        sync(state)
        mark.write(restored)
        mark.close()
        _give_to_owner(state, aside)
    except (sqlite3.Error, OSError, Conflict) as error:  # elsewhere, a copy that cannot be opened is a conflict
        raise StoreFailed(
            f"{state}: the backup cannot be put in place ({error}); repair that and restore again"
        ) from None
    lost = [job for _, job in sorted(before.items()) if (job.id, job.identity) not in known]
    return Restored(jobs, lost, sorted(id for id, _ in found - known), aside, ended)


def check(path: Path) -> tuple[list[str], int]:
    """Return the damage of a store or backup, and its number of sound jobs; it may be in use.

    Raises
    ------
    NotFound
        There is no such file.
    """
    path = path / STORE if path.is_dir() else path
    if not path.is_file():
        raise NotFound(f"{path}: there is no such file")
    with path.open("rb") as file:
        if not file.read(16).startswith(b"SQLite format 3"):
            raise BadInput(f"{path}: is neither a store nor a backup")
    return problems_of(path)


def save_sound(path: Path, target: Path) -> tuple[int, list[str]]:
    """Write the sound jobs and facts of a damaged store to a new one; return their number and the omissions.

    Raises
    ------
    BadInput
        The target exists already.
    Conflict
        Nothing can be read.
    """
    path = path / STORE if path.is_dir() else path
    if target.exists():
        raise BadInput(f"{target}: exists already; nothing was written; give another file")
    left_out: list[str] = []
    jobs: list[Job] = []
    facts: dict[str, str] = {}
    requested: list[Change] = []
    with _opened(path) as database:
        for id in _numbers(database):
            try:
                row = database.execute(f"{COMMANDED} WHERE jobs.id = ?", (id,)).fetchone()
                if row is None:
                    raise DamagedRow(f"job {id}: its row is missing")
                jobs.append(job_of(row))
            except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
                left_out.append(str(error) if isinstance(error, DamagedRow) else f"job {id}: {error}")
        with suppress(sqlite3.Error):
            for row in database.execute("SELECT * FROM reshapes"):
                with suppress(DamagedRow):
                    requested.append(change_of(row))
        with suppress(sqlite3.Error):
            for row in database.execute("SELECT key, value, seal FROM meta"):
                if row["seal"] == seal((row["key"], row["value"])):
                    facts[row["key"]] = row["value"]
    if not jobs:
        raise Conflict(f"{path}: it contains no undamaged job; nothing was saved; restore a backup with `gas restore`")
    store = Store(target)
    try:
        kept = {key: value for key, value in facts.items() if key not in ("commits", "last_id", "jobs", "store")}
        saved = 0
        for job in jobs:
            try:
                store.write(new=[job], requested=[each for each in requested if each.id == job.id])
                saved += 1
            except sqlite3.Error as error:
                left_out.append(f"job {job.id}: {error}")
        store.adopt_identity(facts.get("store"), kept)
    finally:
        store.close()
    return saved, left_out


def problems_of(path: Path) -> tuple[list[str], int]:
    """Return the damage of a database file, which is read completely, and its number of sound jobs."""
    problems: list[str] = []
    sound = 0
    try:
        with _opened(path) as database:
            version = int(database.execute("PRAGMA user_version").fetchone()[0])
            if problem := first_problem(database, thorough=True):
                problems.append(problem)
            if version != SCHEMA_VERSION:
                return problems, _count(database)
            for row in database.execute(COMMANDED):
                try:
                    job_of(row)
                    sound += 1
                except DamagedRow as error:
                    problems.append(str(error))
            for row in database.execute("SELECT * FROM reshapes"):
                try:
                    change_of(row)
                except DamagedRow as error:
                    problems.append(str(error))
            facts = {}
            for row in database.execute("SELECT key, value, seal FROM meta"):
                facts[row["key"]] = row["value"]
                if row["seal"] != seal((row["key"], row["value"])):
                    problems.append(f"fact {row['key']!r} is damaged")
            if "jobs" in facts and facts["jobs"] != str(_count(database)):
                problems.append(f"it holds {_count(database)} jobs, and {facts['jobs']} were written")
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        problems.append(" ".join(str(error).split()))
    return problems[:_MOST_PROBLEMS], sound


# ----------------------------------------------------------------------------------------------------------- inside


def _store_in(state: Path) -> Path:
    path = state / STORE
    if not path.is_file():
        raise NotFound(f"{path}: there is no store; give its directory with --state")
    return path


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading, even a damaged one."""
    with closing(open_database(path)) as database:
        database.row_factory = sqlite3.Row
        database.text_factory = lambda raw: raw.decode(errors="replace")
        with suppress(sqlite3.Error):  # the damage will be reported later
            read_as_of_today(database, int(database.execute("PRAGMA user_version").fetchone()[0]))
        yield database


def _version(path: Path) -> int | None:
    """Return the schema of a database file; None if it has none."""
    try:
        with path.open("rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                return None
        with closing(open_database(path)) as database:
            return int(database.execute("PRAGMA user_version").fetchone()[0])
    except (OSError, sqlite3.Error):
        return None


def _count(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT count(*) FROM jobs").fetchone()[0])


def _numbers(database: sqlite3.Connection) -> list[int]:
    """Return the numbers of all jobs that can be found, even if part of the file is damaged."""
    numbers: set[int] = set()
    problem: sqlite3.Error | None = None
    for statement in ("SELECT id FROM jobs", "SELECT id FROM jobs ORDER BY id DESC", "SELECT id FROM commands"):
        try:
            numbers.update(row[0] for row in database.execute(statement) if type(row[0]) is int)
        except sqlite3.Error as error:  # numbers before the damage were found
            problem = error
    if not numbers and problem is not None:
        raise Conflict(f"it cannot be read at all ({problem}); restore a backup with `gas restore`")
    return sorted(numbers)


def _all(store: Store) -> list[Job]:
    return [*store.active(), *store.recent(2**31)]


def _jobs_in(path: Path) -> dict[int, Job]:
    """Return the sound jobs of a store, as far as it is readable."""
    found = {}
    with suppress(sqlite3.Error, OSError), _opened(path) as database:
        for row in database.execute(COMMANDED) if path.exists() else ():
            with suppress(DamagedRow):
                job = job_of(row)
                found[job.id] = job
    return found


def _ended_since(job: Job, newer: dict[int, Job]) -> Job | None:
    """Return the outcome of an active job in the newer of two states, if it had ended."""
    found = newer.get(job.id)
    return found if found is not None and found.identity == job.identity and not found.active else None


def _furthest(mark: MarkFile, path: Path) -> Mark | None:
    """Return the last state of a store, by its mark and its own facts; None if neither exists."""
    known = mark.read()
    facts: dict[str, str] = {}
    with suppress(sqlite3.Error, OSError), _opened(path) as database:
        for row in database.execute("SELECT key, value, seal FROM meta") if path.exists() else ():
            if row["seal"] == seal((row["key"], row["value"])):
                facts[row["key"]] = row["value"]
    own = [facts.get(key, "") for key in ("epoch", "commits", "last_id")]
    if not all(each.isascii() and each.isdigit() for each in own):
        return known
    epoch, commits, last_id = map(int, own)
    if known is not None:
        epoch, commits = max((epoch, commits), (known.epoch, known.commits))
        last_id = max(last_id, known.last_id)
    return Mark(facts.get("store", ""), epoch, commits, last_id)


def _prepared(
    path: Path, before: dict[int, Job], highest: int, mark: Mark | None
) -> tuple[set[tuple[int, str]], list[Job], Mark]:
    """Turn a copy of a backup into the new store, in one file, before anything is replaced.

    If this were done in place, a failure halfway would leave a store that looks restored but lacks the state of the
    store before it.

    Parameters
    ----------
    before
        The jobs of the store to be replaced.
    highest
        Job numbers up to this one are not used again.
    mark
        The last state of the store before.

    Returns
    -------
    The numbers and identities of its jobs, those that stay ended, and its last state.
    """
    with closing(Store(path)) as store:
        known = {(job.id, job.identity) for job in _all(store)}
        ended = [newer for job in store.active() if (newer := _ended_since(job, before)) is not None]
        store.write(changed=ended)
        store.begin_epoch("a backup was restored", mark)
        store.skip_numbers_up_to(highest)
        made = store.mark()
    with closing(open_database(path)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    for each in _files_of(path):
        each.unlink(missing_ok=True)
    return known, ended, made


def _give_to_owner(state: Path, aside: Path | None) -> None:
    """Give the files to the owner of the state directory, in case root has restored them."""
    owner = state.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        files = [each for each in (*state.glob(f"{Path(STORE).stem}.*"), state / PREDICTIONS) if each.is_file()]
        for path in [*files, *([aside, *aside.iterdir()] if aside is not None else [])]:
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _code_of(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _unfinished(state: Path) -> Path | None:
    """Return where an interrupted restore put the previous store; None if it is in its place.

    A restore interrupted while moving the files of that store is undone: the database itself is moved last.
    """
    aside = max(state.glob(f"{_ASIDE}*"), default=None, key=lambda each: each.name)
    if aside is None:
        return None
    if not (aside / STORE).exists():
        for path in aside.iterdir():
            path.rename(state / path.name)
        sync(state)
        aside.rmdir()
        return None
    return None if (state / STORE).exists() else aside


def _files_of(path: Path) -> list[Path]:
    """Return the files that belong to a database, without itself: those of SQLite, and the mark of the store."""
    return [*(path.with_name(f"{path.name}{end}") for end in _ENDINGS), path.with_suffix(".mark")]


def _put_aside(state: Path) -> Path | None:
    """Move the files of a store into a separate directory, the database last, and return that directory."""
    if not any((state / f"{STORE}{end}").exists() for end in ("", *_ENDINGS)):
        return None
    name = f"{_ASIDE}{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    aside = next(p for n in range(1000) if not (p := state / (f"{name}-{n:03}" if n else name)).exists())
    aside.mkdir(mode=0o700)
    for end in (*_ENDINGS, ""):
        file = state / f"{STORE}{end}"
        if not end:
            sync(aside)  # a database without its newest changes would look complete
            sync(state)
        if file.exists():
            file.rename(aside / file.name)
    sync(aside)
    return aside
