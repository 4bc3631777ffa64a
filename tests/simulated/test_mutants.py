"""The simulation finds what it is there to find: the service is broken on purpose, and some seed shows it.

Each of these faults was real, or is what a careless change would bring back.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gas.errors import Conflict, StoreFailed
from gas.s3 import S3, Machine
from gas.service import book, mark, runner, store, wrapper
from gas.service.database import Database
from gas.service.jobs import Job
from simulated import database
from simulated.world import FAULTS, simulate

SEEDS = 250
OPERATIONS = 120


def only(*names: str) -> dict[str, bool]:
    return {name: name in names for name in FAULTS}


@contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, value)
        yield


def claims_not_synced():
    def take(directory, claim):
        wrapper.write_record(f"{directory}/{wrapper.CLAIM}", claim, once=True, durable=False)

    return replaced(wrapper, "take", take)


def commits_not_synced():
    execute = database.Connection.execute

    def without(self, statement, values=()):
        return execute(self, statement.replace("synchronous = FULL", "synchronous = OFF"), values)

    return replaced(database.Connection, "execute", without)


@contextmanager
def nothing_is_above_the_store():
    """Numbers go on from what the store says, and directories are not asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mark.MarkFile, "read", lambda self: None)
        patch.setattr(store.Store, "skip_numbers_up_to", lambda self, last_id: None)
        patch.setattr(book, "reconcile", lambda *_: [])
        yield


@contextmanager
def directories_by_number_alone():
    with nothing_is_above_the_store(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "directory_name", property(lambda self: str(self.id)))
        yield


@contextmanager
def failed_commits_left_in_the_log():
    remember = book.Book.remember

    def later(self):
        if self.problem is not None:
            raise StoreFailed(self.problem)  # the next write shows it
        remember(self)

    with replaced(Database, "_write_over", lambda self, error: None), replaced(book.Book, "remember", later):
        yield


def begun_before_it_is_written():
    write = store.Store.write

    def late(self, **what):
        if any(job.state == "queued" for job in what.get("new", ())):
            return None  # answered, and not written
        return write(self, **what)

    return replaced(store.Store, "write", late)


def waiting_jobs_left_to_late_wrappers():
    """What an earlier life handed to a wrapper of which nothing is to be seen is planned again, and no more."""
    return replaced(runner.processes, "withdraw", lambda directory: True)


@contextmanager
def wrappers_that_take_what_is_taken():
    """A second wrapper runs the command of the first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner.processes, "was_started", lambda directory: False)
        patch.setattr(runner.processes, "_TRACES", ())
        patch.setattr(wrapper, "take", lambda directory, claim: None)
        yield


def processors_free_too_early():
    """What a job holds is given to the next one when it is told to stop."""
    cancel = runner.Runner.cancel

    def at_once(self, job):
        cancel(self, job)
        self._unstarted[job.id] = "cancelled"

    return replaced(runner.Runner, "cancel", at_once)


def shapes_not_written():
    """A new shape is answered, and the store keeps the one that was submitted."""
    life_row = store.life_row

    def without(job):
        other = job.copy()
        other.request, other.reshaped, other.submitted_shape = job.submission, None, None
        return life_row(other)

    return replaced(store, "life_row", without)


def shapes_that_keep_their_start():
    """A job gets more processors where it stands, whoever else has them."""

    def in_place(self, id, processors, walltime, *, start_by=None):
        entry = self.waiting(id)
        entry.processors, entry.walltime, entry.end = processors, walltime, entry.start + walltime
        self._waiting.update(entry)
        self._changed.add(id)
        return entry

    return replaced(S3, "reshape", in_place)


def jobs_moved_without_being_asked():
    """A job with a notice is moved to what it should only be offered."""
    submit = S3.submit
    return replaced(S3, "submit", lambda self, *given, **more: submit(self, *given, **{**more, "notice": None}))


def reservations_that_do_not_lapse():
    """An unused reservation holds its processors for its whole walltime."""
    reserve = Machine.reserve
    return replaced(Machine, "reserve", lambda self, *given, **more: reserve(self, *given, **{**more, "lasts": None}))


@contextmanager
def reservations_that_stay_when_they_are_used():
    """A job gets the processors of a reservation, which keeps them as well."""

    def beside(self, id):
        held = self.entry(id)
        entry = self._new(held.processors, held.walltime, held.start, "reserved", held.earliest)
        self._waiting.add(entry)
        return entry

    def use(self, id, run_time=None):
        return self.schedule.use(id)

    with replaced(S3, "use", beside), replaced(Machine, "use", use):
        yield


def a_smaller_machine_that_starts_what_it_started_before():
    """The schedule goes on with one of the processors that were taken away."""
    resize = S3.resize
    return replaced(S3, "resize", lambda self, given: resize(self, given + (given < self.processors)))


def drained_until_the_next_start():
    """That new jobs are refused is not kept."""
    remember = book.Book.remember

    def opened(self):
        self.accepting = True
        remember(self)

    return replaced(book.Book, "remember", opened)


def started_before_they_may():
    """A job that is not to start before an instant gets the first slot."""
    submit = S3.submit
    return replaced(S3, "submit", lambda self, *given, **more: submit(self, *given, **{**more, "not_before": None}))


def accepted_offers_given_up():
    """What a job accepts is released, as if it had declined."""
    return replaced(S3, "accept", lambda self, id, start: self.decline(id, start))


def offers_that_are_not_held_until_they_lapse():
    """What is free is offered, and is gone when the job accepts it late."""
    accept = S3.accept

    def late(self, id, start):
        if self.entry(id).answer_by - self.now < 5:
            raise Conflict(f"job {id} is not offered that any more")
        return accept(self, id, start)

    return replaced(S3, "accept", late)


MUTANTS: dict[str, tuple[Callable, dict[str, bool], str]] = {
    "claims are not synced": (
        claims_not_synced, only("power cut", "power cut at an operation"), "executed again"
    ),
    "commits are not synced": (
        commits_not_synced, only("power cut"), "is gone|no such job|executed again|given again"
    ),
    "numbers go on from an old backup": (
        nothing_is_above_the_store, only("restored backup"), "given again|are in use"
    ),
    "directories are known by number alone": (
        directories_by_number_alone, only("restored backup"), "given again|shows|are in use"
    ),
    "failed commits stay in the log": (
        failed_commits_left_in_the_log, only("failing sync", "kill"),
        "was refused|no answered request asked for|may have"
    ),
    "answers come before writes": (
        begun_before_it_is_written, only("kill"), "is gone|no such job|not foreseen|is job"
    ),
    "wrappers take what is taken": (
        wrappers_that_take_what_is_taken, only("kill", "kill at an operation"), "executed again|are in use|still run"
    ),
    "late wrappers start what waits": (
        waiting_jobs_left_to_late_wrappers, only("late wrapper"), "cancelled before|while it waits|are in use"
    ),
    "new shapes are not written": (
        shapes_not_written, only("kill"), "may have|is gone|not foreseen|cannot start"
    ),
    "new shapes take what is not free": (
        shapes_that_keep_their_start, only(), "are in use|not foreseen|no fault explains"
    ),
    "jobs are moved without being asked": (
        jobs_moved_without_being_asked, only(), "without being asked"
    ),
    "reservations do not lapse": (
        reservations_that_do_not_lapse, only(), "of which none came|no answered request asked for"
    ),
    "reservations stay when they are used": (
        reservations_that_stay_when_they_are_used, only(), "not foreseen|are in use|no fault explains"
    ),
    "a smaller machine starts what it started before": (
        a_smaller_machine_that_starts_what_it_started_before, only(), "are in use"
    ),
    "drains end with the service": (
        drained_until_the_next_start, only("kill"), "machine is drained"
    ),
    "jobs start before they may": (
        started_before_they_may, only(), "asked not to be before"
    ),
    "accepted offers are given up": (
        accepted_offers_given_up, only(), "accepted .* is promised"
    ),
    "offers are not held until they lapse": (
        offers_that_are_not_held_until_they_lapse, only(), "may not accept it"
    ),
    "processors are free too early": (
        processors_free_too_early, only(), "processors are in use|still run|and is|never executed|no fault explains it"
    ),
}  # fmt: skip


# Mutants that a few seeds find; random ones may need hundreds.
@pytest.mark.thorough(but=["claims are not synced", "wrappers take what is taken", "answers come before writes"])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_service_is_found(name, record_property):
    broken, faults, expected = MUTANTS[name]
    import re

    with broken():
        for seed in range(SEEDS):
            violations = simulate(seed, OPERATIONS, faults).violations
            if violations:
                assert re.search(expected, violations[0]), violations[0]
                record_property("found", f"{name}: seed {seed}")
                print(f"{name}: seed {seed}: {violations[0]}")
                return
    raise AssertionError(f"{SEEDS} seeds do not show that {name}")
