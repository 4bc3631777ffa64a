"""Recovers jobs that a restored or damaged store does not know, from the directories of jobs.

A store that was restored from a backup, or has lost its newest changes to damage, is older than the directories next to
it. Each directory names in ``job.json`` the user of its job and its resources. So a job that was handed to a wrapper is
added again, whether it runs or has ended: its processors are not given to others, and its key creates no second job. A
job that waits according to the store, but has run in the meantime, is not run again. A job that ended without running
according to the store, because another backup was restored before, also counts as running. No number is reused. Jobs
that were not started leave no trace; only the count of missing numbers is known.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from documents.fields import FieldError, Fields
from gas.availability import MOST_PROCESSORS
from gas.printable import first_control
from gas.service import processes
from gas.service.clock import Clock
from gas.service.jobs import BEING, Job, JobRequest, Shape
from gas.service.records import open_regular
from gas.service.rows import DamagedRow
from gas.service.runner import Runner
from gas.service.store import Loss, Store
from gas.service.wrapper import JOB
from gas.times import LATEST, LONGEST

__all__ = ["directories", "note_start", "reconcile"]

log = logging.getLogger("gas.s3")

_NAME = re.compile(r"(\d{1,18})(?:\.([0-9a-f]{16}))?", re.ASCII)
_LARGEST_NUMBER = 2**53  # exact in every client's JSON numbers
_MOST_BYTES = 64 * 2**20  # of a job.json: a command with its environment has at most some megabytes


def directories(jobs: Path) -> dict[str, tuple[int, str]]:
    """Return number and identity of the jobs with a directory, by the name of the directory."""
    found = {each.name: _NAME.fullmatch(each.name) for each in jobs.iterdir()} if jobs.is_dir() else {}
    numbered = {name: (int(match[1]), match[2] or "") for name, match in found.items() if match}
    return {name: known for name, known in numbered.items() if known[0] < _LARGEST_NUMBER}


def reconcile(store: Store, runner: Runner, clock: Clock, jobs: Path) -> list[str]:
    """Bring a store up to date with the directories of its jobs; return the findings as sentences.

    Normally there are none, and the cost is one listing.
    """
    found = directories(jobs)
    loss = store.lost
    known = store.last_id() if loss is None else loss.known
    if loss is None and all(id <= known for id, _ in found.values()):
        return []
    if loss is None:
        store.begin_epoch("directories of later jobs are there")
        loss = Loss("directories of later jobs are there", known, known)
    remarks = [
        f"the store is older than the last write: {loss.why}. Submissions and cancellations since then may be lost; "
        f"no number is used twice, and epoch {store.epoch} has begun"
    ]
    active = [job for job in store.active() if job.request.actuator == "process"]
    waiting = [job for job in active if job.state in ("queued", "reserved") and job.directory_name in found]
    begun = [job for job in waiting if runner.was_begun(job)]
    for job in begun:
        note_start(job, jobs / job.directory_name, clock)
    unknown, revived = [], []
    for name, (id, identity) in found.items():
        try:
            one = store.job(id)
        except DamagedRow:  # of a job that has ended; reading it reports the damage
            continue
        if one is None or one.identity != identity:
            unknown.append(name)
        elif _has_run_after_all(one, jobs / name, runner):
            revived.append(one)
            _revive(one, jobs / name, clock)
    gone = [job for job in active if job.state == "running" and job.directory_name not in found]
    for job in gone:
        job.state, job.finished = "lost", clock.now()
        job.remark("it may have run, and its directory is missing; submit it again if it is still needed")
    if begun or revived or gone:
        store.write(changed=[*begun, *revived, *gone])
    adopted = _adopt(store, jobs, sorted(unknown, key=lambda name: found[name]), found)
    if begun:
        remarks.append(f"{_listed(begun)} had started since then and are running or have ended: not run again")
    if revived:
        has = "has" if len(revived) == 1 else "have"
        remarks.append(
            f"{_listed(revived)} had ended without having run, and {has} started by what the directory shows"
        )
    if gone:
        remarks.append(f"{_listed(gone)} had started, and the outcome is not known")
    if adopted:
        remarks.append(f"{_listed(adopted)} submitted since, found again by directory")
    missing = [id for id in range(known + 1, min(loss.last_id, known + 10_000) + 1) if store.job(id) is None]
    if missing:
        names = ", ".join(map(str, missing[:10])) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
        remarks.append(f"lost; submit again: {'job' if len(missing) == 1 else 'jobs'} {names}")
    store.settle_loss(max((id for id, _ in found.values()), default=0))
    for remark in remarks:
        log.warning("%s", remark, extra={"event": "store_older"})
    return remarks


def _adopt(store: Store, jobs: Path, names: list[str], found: dict[str, tuple[int, str]]) -> list[Job]:
    """Add the jobs of some directories to a store that does not know them; return these jobs."""
    adopted = []
    for name in names:
        id, identity = found[name]
        known = store.job(id)
        if known is not None and known.identity == identity:
            continue  # added by an earlier run that did not finish
        job = _job_in(jobs / name, id, identity, store.identity) if known is None else None
        if job is None:
            log.warning("%s: the unreadable directory of a job that the store does not know", jobs / name)
            _stop(jobs / name)
            continue
        try:
            store.write(new=[job])
        except sqlite3.IntegrityError:  # its key has created another job since
            store.write(new=[replace(job, request=replace(job.request, key=None))])
        adopted.append(job)
    return adopted


def _has_run_after_all(job: Job, directory: Path, runner: Runner) -> bool:
    """Return whether a job that ended without running, by the store, has started according to its directory."""
    ran = job.exit_status is not None or job.signal is not None
    if job.request.actuator != "process" or job.state not in ("cancelled", "failed") or ran:
        return False
    try:
        state = processes.read_state(directory)
    except processes.Unknown:
        return True  # its processors are held until this is known
    if isinstance(state, processes.Ended):
        return state.exit_status is not None or state.signal is not None
    return runner.was_begun(job)


def _revive(job: Job, directory: Path, clock: Clock) -> None:
    """Treat an ended job as running; a cancelled one as being cancelled."""
    if job.state == "cancelled":
        said, job.message = job.message, f"{BEING}cancelled"
        job.remark(said)
    job.finished = None
    note_start(job, directory, clock)


def _listed(jobs: list[Job]) -> str:
    names = ", ".join(str(job.id) for job in jobs[:10]) + (f" and {len(jobs) - 10} more" if len(jobs) > 10 else "")
    return f"{'job' if len(jobs) == 1 else 'jobs'} {names}"


def note_start(job: Job, directory: Path, clock: Clock) -> None:
    """Record that a waiting job has started, with its planned start and shape from its directory."""
    record = _record_of(directory)
    start = job.start
    if record is not None:
        with suppress(FieldError):
            facts = record.table("facts")
            start = facts.integer("start", minimum=0)
            if "reshaped" in facts:  # since the store was as it is now
                shape = Shape(*_size_of(facts), None, _within(facts, "first_promise", 0, LATEST))
                job.reshape(shape, _within(facts, "reshaped", 0, LATEST))
    job.state, job.start = "running", min(start, clock.now())
    job.promise = min(job.promise, job.start)
    job.due = job.start + job.request.walltime


def _job_in(directory: Path, id: int, identity: str, store: str) -> Job | None:
    """Return the job of a directory as a running job; None if it is unreadable or belongs to another store."""
    record = _record_of(directory)
    if record is None:
        return None
    try:
        facts = record.table("facts")
        if (facts.integer("id"), facts.text("identity"), facts.text("store")) != (id, identity, store):
            return None
        environment = record.value("environment")
        command = record.value("command") if "command" not in facts else facts.value("command")
        processors, walltime = _size_of(facts)
        declared = facts.value("declared")
        request = JobRequest(
            kind="job",
            name=facts.text("name"),
            processors=processors,
            walltime=walltime,
            actuator="process",
            command=tuple(str(each) for each in command),
            environment={str(name): str(environment[name]) for name in declared},
            directory=facts.text("directory", None),
            start=_within(facts, "not_before", 0, LATEST) if "not_before" in facts else None,
            start_by=_within(facts, "start_by", 0, LATEST) if "start_by" in facts else None,
            key=facts.text("key", None),
            user=facts.text("user"),
            cpus_per_task=_within(facts, "cpus_per_task", 1, MOST_PROCESSORS) if "cpus_per_task" in facts else None,
            job_class=facts.text("class", None),
            notice=facts.integer("notice", None, minimum=1),
        )
        texts = (
            request.name,
            request.user,
            request.key or "",
            request.job_class or "",
            request.directory or "",
            *request.command,
            *request.environment,
        )
        if any(first_control(text) for text in (request.name, request.user, request.key or "")):
            return None
        "".join((*texts, *request.environment.values())).encode()  # SQLite takes no lone surrogates
        start = _within(facts, "start", 0, LATEST)
        first = facts.value("submitted_shape", None)
        return Job(
            id,
            request,
            _within(facts, "submitted", 0, LATEST),
            "running",
            start,
            start,
            _within(facts, "first_promise", 0, LATEST),
            start + request.walltime,
            message="its row was lost; found again in its directory",
            identity=identity,
            reshaped=None if first is None else _within(facts, "reshaped", 0, LATEST),
            submitted_shape=None if first is None else _shape_of(first),
        )
    except (FieldError, ValueError, TypeError, KeyError, AttributeError, UnicodeError):
        return None


def _size_of(facts: Fields) -> tuple[int, int]:
    return _within(facts, "processors", 1, MOST_PROCESSORS), _within(facts, "walltime", 1, LONGEST)


def _shape_of(values: list[object]) -> Shape:
    """Return the shape of a process from `Job.facts`."""
    processors, walltime, run_time, promise = values
    numbers = ((processors, MOST_PROCESSORS), (walltime, LONGEST), (promise, LATEST))
    if run_time is not None or not all(type(value) is int and 0 <= value <= most for value, most in numbers):
        raise ValueError("no shape")
    return Shape(processors, walltime, None, promise)  # type: ignore[arg-type]  # they are numbers


def _within(facts: Fields, key: str, least: int, most: int) -> int:
    """Return a number within the range that the service writes."""
    number = int(facts.integer(key, minimum=least))
    if number > most:
        raise facts.fail(key, f"{number} is above {most}")
    return number


def _record_of(directory: Path) -> Fields | None:
    try:
        with os.fdopen(open_regular(directory / JOB), "rb") as file:
            return Fields(json.loads(file.read(_MOST_BYTES)), JOB)
    except (OSError, ValueError, RecursionError, FieldError):
        return None


def _stop(directory: Path) -> None:
    """End processes in a directory that belongs to no job, since other jobs get the processors."""
    try:
        if processes.was_started(directory):
            processes.cancel_process(directory)
    except Exception as error:  # no error may keep the service from starting
        log.warning("%s: the processes there cannot be killed: %s", directory, error)
