"""Answers to the offer of a waiting job: effects, refusals, and that they are durable and take effect once."""

import sqlite3
from dataclasses import replace

import pytest

from gas.errors import BadInput, Conflict, NotFound, StoreFailed
from gas.service.changes import Answer, Reshape
from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler

NOW = 1_000_001


def simulated(processors, walltime, run_time=None, **more):
    lasts = walltime if run_time is None else run_time
    return JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=lasts, **more)


@pytest.fixture
def offered(live, hand):
    """Return a machine of 10: jobs 2 (ada's) and 3 wait from 100 s on; job 2 is offered 30 s, until then."""
    for request in (simulated(10, 100, 9), simulated(10, 50, key="k", user="ada", notice=20), simulated(10, 50)):
        live.submit(request)
    hand.time += 1
    assert [job.promise - NOW for job in live.jobs()] == [0, 100, 150]
    hand.time += 9
    found = live.job(2)
    assert (found.promise - NOW, found.offer - NOW, found.answer_by - NOW) == (100, 30, 30)
    return live


def another_life(tmp_path, hand):
    return LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))


def test_an_offer_is_shown_with_the_promise_that_it_does_not_touch(offered):
    wire = offered.job(2).to_wire()
    assert (wire["notice"], wire["promise"] - NOW, wire["first_promise"] - NOW) == (20, 100, 100)
    assert (wire["offer"] - NOW, wire["answer_by"] - NOW, wire["offers_from"]) == (30, 30, 0)
    assert offered.job(3).to_wire()["offer"] is None


def test_an_accepted_offer_is_the_promise_and_the_job_starts_then(offered, hand):
    job = offered.answer(Answer(2, True, NOW + 30, user="ada"))
    assert (job.promise, job.offer, job.answer_by) == (NOW + 30, None, None)
    assert offered.job(3).promise == NOW + 80, "it moves up into what was released"
    hand.time += 21
    assert (offered.job(2).state, offered.job(2).start) == ("running", NOW + 30)


def test_a_declined_offer_is_for_others_and_nothing_more_is_offered(offered):
    offered.answer(Answer(2, False, NOW + 30, user="ada"))
    wire = offered.job(2).to_wire()
    assert (wire["promise"], wire["offer"], wire["offers_from"]) == (NOW + 100, None, None)
    assert offered.job(3).start == NOW + 10


def test_the_offer_of_who_does_not_answer_is_withdrawn_in_time(offered, hand):
    hand.time += 20
    assert offered.job(2).offer == NOW + 30
    hand.time += 1
    wire = offered.job(2).to_wire()
    assert (wire["promise"], wire["offer"], wire["offers_from"]) == (NOW + 100, None, None)
    assert offered.job(3).start == NOW + 31
    offered.answer(Answer(2, False, not_before=NOW + 40, user="ada"))
    assert offered.job(2).to_wire()["offers_from"] == NOW + 40, "it asks again"


def test_an_offer_outlives_the_service_and_so_does_its_answer(offered, tmp_path, hand):
    known, frames = offered.jobs(), offered.availability().to_wire()
    offered.stop()
    new = another_life(tmp_path, hand)
    try:
        assert new.jobs() == known
        assert new.availability().to_wire() == frames
        new.answer(Answer(2, True, NOW + 30, key="a", user="ada"))
        known = new.jobs()
    finally:
        new.stop()
    new = another_life(tmp_path, hand)
    try:
        assert new.jobs() == known
        assert new.answer(Answer(2, True, NOW + 30, key="a", user="ada")).promise == NOW + 30
    finally:
        new.stop()


def test_an_offer_that_lapsed_while_no_service_ran_is_made_again(offered, tmp_path, hand):
    offered.stop()
    hand.time += 30
    new = another_life(tmp_path, hand)
    try:
        job = new.job(2)
        assert (job.promise, job.offers_from) == (NOW + 100, 0)
        assert job.offer == NOW + 60, "what there is by now, with its whole notice"
    finally:
        new.stop()


def test_a_key_answers_once_and_a_late_copy_changes_nothing(offered, hand):
    first = Answer(2, True, NOW + 30, key="a", user="ada")
    told = offered.answer(first)
    assert offered.answer(first) == told
    with pytest.raises(Conflict, match="key 'a' was used for another change of job 2"):
        offered.answer(replace(first, accepts=False))
    with pytest.raises(Conflict, match="key 'a' was used for another change of job 2"):
        offered.reshape(Reshape(2, 5, key="a", user="ada"))
    hand.time += 25
    assert offered.answer(first).state == "running", "also when it has started"


def test_the_key_of_a_submission_counts_the_notice(offered):
    assert offered.submit(simulated(10, 50, key="k", user="ada", notice=20))[0].id == 2
    with pytest.raises(Conflict, match="different request"):
        offered.submit(simulated(10, 50, key="k", user="ada"))


def test_what_is_refused_changes_nothing(offered):
    before, wire = offered.jobs(ended=9), offered.availability().to_wire()
    for wanted, kind, message in [
        (
            Answer(2, True, NOW + 31),
            Conflict,
            "job 2 is not offered a start at 1000032 .* now, but at 1000031 .*; nothing was changed",
        ),
        (Answer(2, False, NOW + 31), Conflict, "now, but at 1000031"),
        (Answer(2, False, not_before=NOW + 30), BadInput, "must be after the declined start"),
        (Answer(3, True, NOW + 30), Conflict, "submitted without notice"),
        (Answer(1, True, NOW), Conflict, "job 1 is completed; only waiting jobs"),
        (Answer(77, False), NotFound, "no job 77"),
    ]:
        with pytest.raises(kind, match=message):
            offered.answer(wanted)
    assert (offered.jobs(ended=9), offered.availability().to_wire()) == (before, wire)


def test_an_answer_that_cannot_be_written_changes_nothing(offered, monkeypatch):
    before, wire = offered.jobs(), offered.availability().to_wire()
    wanted = Answer(2, True, NOW + 30, key="a", user="ada")

    def full(*given, **more):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(offered._store, "write", full)
        with pytest.raises(StoreFailed):
            offered.answer(wanted)
    assert (offered.jobs(), offered.availability().to_wire()["frames"]) == (before, wire["frames"])
    assert offered.answer(wanted).promise == NOW + 30


def test_a_cancelled_job_is_offered_nothing(offered):
    job = offered.cancel(2, "ada")
    assert (job.state, job.offer, job.answer_by) == ("cancelled", None, None)
    assert offered.job(3).start == NOW + 10
