"""The book: jobs, schedule and store agree after every change and after every failed write."""

import os
import sqlite3

import pytest

from gas.errors import BadInput, Conflict, StoreFailed, StoreInDoubt
from gas.service.clock import Clock
from gas.service.database import CommitInDoubt
from gas.service.jobs import Job, JobRequest
from gas.service.opening import open_book
from gas.service.store import Store

NOW = 1_000_000


class Site:
    """A state directory, and a clock that the test moves."""

    def __init__(self, folder):
        self.folder, self.now, self.stores = folder, float(NOW), []

    def open(self, processors=10, **options):
        """Open the book in a new life of the service."""
        self.close()
        self.stores.append(Store(self.folder / "s3.sqlite"))
        return open_book("kth", processors, self.stores[-1], Clock(real=lambda: self.now), self.folder, **options)

    def close(self):
        while self.stores:
            self.stores.pop().close()


@pytest.fixture
def site(tmp_path):
    (tmp_path / "jobs").mkdir()
    one = Site(tmp_path)
    yield one
    one.close()


def submit(book, processors=4, walltime=100, run_time=50, user="ada"):
    """Accept a simulated job as the service does, and write it."""
    request = JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=run_time, user=user)
    entry = book.machine.submit(processors, walltime, run_time)
    job = Job(entry.id, request, entry.submitted, entry.state, entry.start, entry.promise, entry.promise, entry.end)
    job.identity = os.urandom(8).hex()
    book.add(job)
    book.write([])
    return job


def standing(book):
    """Return what the book holds in memory."""
    jobs = {id: (job.state, job.start, job.promise, job.request.user) for id, job in book.jobs.items()}
    return jobs, dict(book.usage.by_user), book.processors, book.accepting, book.machine.schedule.in_use


def failing(error):
    def write(*_, **__):
        raise error

    return write


def test_a_new_machine_needs_a_size_and_an_old_one_has_it(site):
    with pytest.raises(BadInput, match="--processors: is required for the new state directory"):
        site.open(None)
    site.open(10)
    assert site.open(None).processors == 10


def test_another_size_is_refused_unless_nothing_was_ever_submitted(site):
    site.open(10)
    book = site.open(12)
    assert book.processors == 12
    submit(book)
    with pytest.raises(Conflict, match="belongs to a machine of 12 processors, not 10"):
        site.open(10)


def test_the_next_life_reads_what_this_one_wrote(site):
    book = site.open()
    for user, processors in (("ada", 6), ("bob", 8), ("ada", 4)):
        submit(book, processors, user=user)
    assert standing(site.open()) == standing(book)
    assert {id: job.promise - NOW for id, job in book.jobs.items()} == {1: 1, 2: 101, 3: 1}


def test_jobs_start_and_end_as_the_clock_goes_and_that_is_written(site):
    book = site.open()
    job = submit(book, run_time=50)
    site.now += 10
    book.catch_up()
    assert (job.state, book.present()["in_use"]) == ("running", 4)
    assert book.store.job(1).state == "running"
    site.now += 100
    book.catch_up()
    assert (book.jobs, book.usage.by_user) == ({}, {})
    assert (book.store.job(1).state, book.store.job(1).finished) == ("completed", NOW + 51)


def test_what_a_user_has_in_the_schedule_is_counted_and_given_back(site):
    book = site.open()
    assert book.usage.of("ada") == (0, 0, 0)
    first = submit(book, processors=2, walltime=100)
    submit(book, processors=3, walltime=10)
    assert book.usage.of("ada")[:2] == (2, 2 * 100 + 3 * 10)
    book.write([book.leave(first, "cancelled")])
    assert book.usage.of("ada")[:2] == (1, 30)
    assert book.usage.of("bob") == (0, 0, 0)


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (sqlite3.OperationalError("disk full"), StoreFailed, "nothing was changed"),
        (CommitInDoubt("disk gone"), StoreInDoubt, "it is not known whether this change is on disk"),
    ],
)
def test_a_write_that_fails_is_said_and_the_memory_is_the_stores_again(site, monkeypatch, error, kind, says):
    book = site.open()
    submit(book)
    before = standing(book)
    with monkeypatch.context() as patch:
        patch.setattr(book.store, "write", failing(error))
        with pytest.raises(kind, match=says):
            submit(book, user="bob")
        assert str(error) in book.problem
        assert (book.health()["status"], book.health()["problem"]) == ("degraded", book.problem)
    book.catch_up()
    assert standing(book) == before
    book.remember()
    assert book.problem is None
    assert submit(book, user="bob").id > 1, "and a number is not given twice"


def test_a_job_that_the_machine_is_too_small_for_by_now_is_cancelled_with_the_reason(site):
    book = site.open()
    submit(book, processors=8)
    book.processors = 6
    book.remember()
    book = site.open(None)
    book.catch_up()
    found = book.store.job(1)
    assert (found.state, found.message) == ("cancelled", "needs 8 processors, but the machine has 6")


def test_a_start_that_fell_due_while_no_service_ran_is_planned_again_and_the_promise_counted_as_broken(site):
    submit(site.open())
    site.now += 1000
    book = site.open()
    book.catch_up()
    assert (book.jobs[1].state, book.jobs[1].start, book.broken) == ("queued", NOW + 1001, 1)
    site.now += 1
    book.catch_up()
    assert book.store.job(1).state == "running"
    assert site.open().broken == 1, "it is remembered"


def reported(job):
    return job.broken_promise, job.message


def test_each_promise_that_an_outage_breaks_is_reported_on_its_job_even_if_that_ends_before_the_first_write(site):
    """With a fast clock, a job is planned again, starts and ends before the new life has written anything."""
    before = site.open()
    first, second, third = (submit(before, processors=10, run_time=5) for _ in range(3))
    site.now += 1000
    book = site.open()
    site.now += 8
    book.catch_up()
    assert book.broken == 3
    assert [book.store.job(id).state for id in (1, 2, 3)] == ["completed", "running", "queued"]
    why = "its promise was broken: the service did not run"
    for _ in range(2):
        for job in (first, second, third):
            assert reported(book.store.job(job.id)) == (job.first_promise, why)
        book = site.open()
        book.catch_up()
    assert book.broken == 3, "the next life reports none again"


def test_a_store_that_could_not_be_written_is_named_as_the_cause(site, monkeypatch):
    book = site.open()
    submit(book, processors=10)
    submit(book, processors=10)
    with monkeypatch.context() as patch:
        patch.setattr(book.store, "write", failing(sqlite3.OperationalError("disk full")))
        site.now += 300
        for _ in range(2):
            with pytest.raises(StoreFailed):
                book.catch_up()
    book.remember()
    book.catch_up()
    assert {book.store.job(id).message for id in (1, 2)} == {"its promise was broken: the store could not be written"}


def test_how_the_machine_stands_is_said_in_numbers(site):
    book = site.open()
    submit(book, processors=6)
    submit(book, processors=6)
    site.now += 2
    book.catch_up()
    present = book.present()
    assert (present["scheduler"], present["processors"], present["accepting"]) == ("kth", 10, True)
    assert (present["in_use"], present["running"], present["queued"]) == (6, 1, 1)
    assert book.next_instant() == NOW + 51
