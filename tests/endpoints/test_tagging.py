"""A scheduler without keys: each key makes one job, and messages about it are true."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.endpoints import InDoubt, JobDescription, Request, tagging
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.endpoints.tagging import Spans, TaggingEndpoint
from gas.errors import BadInput, GasError, NotFound, Unreachable

REQUEST, JOB = Request(1, 60), JobDescription("x", ("true",))


class Scheduler:
    """A transport to jobs in memory; a submission, a query or a cancellation has the next fault."""

    address, timeout, user = "made", 1.0, "ann"

    def __init__(self):
        self.jobs, self.late, self.sent = [], [], []
        self.faults = {"submit": [], "ask": [], "cancel": []}

    def fault(self, kind):
        return self.faults[kind].pop(0) if self.faults[kind] else ""

    def make(self, key):
        self.jobs.append({"id": len(self.jobs) + 1, "key": key, "state": "queued", "start": None})
        return self.jobs[-1]["id"]

    def submit(self, key):
        self.sent.append(key)
        fault = self.fault("submit")
        if fault == "away":
            raise NotSent("away")
        if fault == "refused":
            raise BadInput("refused")
        if fault == "lost":
            raise Unclear("lost")
        if fault == "ended":
            raise Unclear("ended", over=True)
        if fault == "late":  # it arrives with the next
            self.late.append(key)
            raise Unclear("late")
        for one in self.late:
            self.make(one)
        self.late.clear()
        id = self.make(key)
        if fault == "made, lost":
            raise Unclear("lost")
        if fault == "made, refused":
            raise BadInput("refused")
        if fault == "made, named":
            raise RefusedAs("refused", id)
        return id

    def cancel(self, id):
        if self.fault("cancel"):
            raise NotFound("there is none")
        self.jobs[id - 1]["state"] = "cancelled"

    def of(self, key):
        if self.fault("ask"):
            raise Unreachable("no answer")
        return [job for job in self.jobs if job["key"] == key]

    def active(self):
        return [job["id"] for job in self.jobs if job["state"] == "queued"]


class Endpoint(TaggingEndpoint):
    def batch(self, request, job, key):
        return key

    def _tagged(self, key):
        return self.transport.of(key)

    def _made_with_error(self, error, key):
        self.transport.jobs[error.id - 1]["state"] = "cancelled"
        raise error

    def _unseen(self, id, batch):
        return {"id": id, "state": "queued", "unseen": True}


@pytest.fixture
def clock(monkeypatch):
    """Let time pass only during sleeps."""
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(tagging, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    return now


SPANS = {"of Slurm's kind": Spans(30, 10, 10), "of OAR's kind": Spans(0, 0, 30)}


@pytest.fixture(params=SPANS)
def made(request, clock):
    made = Endpoint("made", Scheduler(), None, None, 30.0, SPANS[request.param])
    made.told = []
    made.tell = made.told.append
    return made


@pytest.mark.parametrize(("part", "address"), [(None, "made"), ("gpu", "made#gpu")])
def test_its_address_names_the_part_that_it_is_restricted_to(part, address):
    assert Endpoint("made", Scheduler(), part, None, 30.0, Spans(30, 10, 10)).address == address


def test_a_scheduler_that_does_not_answer_is_asked_until_patience_is_over(made, clock):
    made.transport.faults = {"submit": ["lost"], "ask": [*[""] * 1, *["no"] * 1000], "cancel": []}
    with pytest.raises(InDoubt, match="the scheduler cannot be queried: no answer"):
        made.submit(REQUEST, JOB, "k")
    assert clock[0] == 30.0


def test_what_is_lost_is_searched_for_as_long_as_it_takes(made, clock):
    made.transport.faults["submit"] = ["lost"]
    with pytest.raises(InDoubt, match="lost; the request may have arrived .key k"):
        made.submit(REQUEST, JOB, "k")
    assert clock[0] == made._spans.search
    assert made.in_doubt("k")
    clock[0] = 0
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert clock[0] == made._spans.settle
    assert not made.in_doubt("k")


@pytest.mark.parametrize("answers", [0, 1, 3])
def test_the_time_of_a_search_is_that_of_one_who_answers_without_a_break(made, clock, answers):
    made.transport.faults = {"submit": ["lost"], "ask": [*[""] * (1 + answers), "no"], "cancel": []}
    with pytest.raises(InDoubt):
        made.submit(REQUEST, JOB, "k")
    assert clock[0] == (answers + 1) * tagging.PAUSE_SECONDS + made._spans.search


def test_one_who_does_not_answer_is_asked_until_patience_is_over(made, clock):
    made.transport.faults = {"submit": ["lost"], "ask": ["", *["no"] * 100], "cancel": []}
    with pytest.raises(
        InDoubt, match="lost; and the scheduler cannot be queried: no answer; the request may have arrived"
    ):
        made.submit(REQUEST, JOB, "k")
    assert 29 <= clock[0] <= 30


def test_what_was_not_sent_is_sent_again_where_that_is_worth_it(made, clock):
    made.transport.faults["submit"] = ["away"] * 100
    with pytest.raises(Unreachable, match="away; nothing was submitted"):
        made.submit(REQUEST, JOB, "k")
    assert (len(made.transport.sent) > 1) == (made._spans.resend > 0)
    assert made.told == (["away; trying again for 30 s"] if made._spans.resend else []), "once"
    assert clock[0] <= made._spans.resend
    assert not made.in_doubt("k")


def test_a_refusal_after_a_doubt_leaves_the_doubt(made):
    made.transport.faults["submit"] = ["lost", "refused", "made, named"]
    for error in (InDoubt, BadInput, RefusedAs):
        with pytest.raises(error):
            made.submit(REQUEST, JOB, "k")
        assert made.in_doubt("k")


def test_of_two_jobs_of_a_key_the_first_is_kept_and_the_other_cancelled(made):
    made.transport.faults["submit"] = ["late"]
    noted = []
    made.noted = noted.append
    with pytest.raises(InDoubt):
        made.submit(REQUEST, JOB, "k")
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert noted == [2, 1]
    assert made.transport.active() == [1]
    assert made.told[-1] == "job 2 is a second job with the key k, and is cancelled"


@pytest.mark.parametrize("answer", ["made, lost", "made, refused"])
def test_jobs_are_counted_also_where_there_was_no_answer_or_a_refusal(made, answer):
    made.transport.faults["submit"] = ["late", answer]
    with pytest.raises(InDoubt):
        made.submit(REQUEST, JOB, "k")
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert made.transport.active() == [1]


def test_a_job_that_came_to_light_is_the_job_though_it_cannot_be_asked_for_again(made):
    made.transport.faults = {"submit": ["made, lost"], "ask": ["", "", "no"], "cancel": []}
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert made.transport.faults["ask"] == []


def test_whoever_comes_again_counts_the_jobs_that_came_late(made):
    made.suspect("k")
    made.transport.make("k")
    made.transport.make("k")
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert made.transport.active() == [1]


def test_a_second_one_that_runs_already_is_not_cancelled(made):
    made.suspect("k")
    for _ in range(2):
        made.transport.jobs[made.transport.make("k") - 1]["state"] = "running"
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert [job["state"] for job in made.transport.jobs] == ["running", "running"]


def test_a_refusal_is_believed_where_the_only_job_of_the_key_has_ended(made):
    made.transport.jobs[made.transport.make("k") - 1]["state"] = "completed"
    made.unused("k")
    made.transport.faults["submit"] = ["refused"]
    with pytest.raises(BadInput, match="refused"):
        made.submit(REQUEST, JOB, "k")
    assert not made.in_doubt("k")


def test_that_a_key_is_new_is_believed_for_one_submission(made):
    made.unused("k")
    assert [made.submit(REQUEST, JOB, "k")["id"] for _ in range(2)] == [1, 1]
    assert made.transport.sent == ["k"]


def test_a_program_that_has_ended_says_nothing_of_what_was_sent_before(made, clock):
    made.suspect("k")
    made.transport.faults["submit"] = ["ended"]
    with pytest.raises(InDoubt, match="ended; the request may have arrived"):
        made.submit(REQUEST, JOB, "k")
    assert clock[0] == made._spans.settle + made._spans.search
    assert made.in_doubt("k")


def test_a_second_one_that_cannot_be_cancelled_is_named(made):
    made.transport.faults = {"submit": ["late"], "ask": [], "cancel": ["no"]}
    with pytest.raises(InDoubt):
        made.submit(REQUEST, JOB, "k")
    assert made.submit(REQUEST, JOB, "k")["id"] == 1
    assert made.told[-1] == "job 2 is a second job with the key k, and could not be cancelled: there is none"


def test_a_job_that_runs_is_kept_before_one_that_waits(made):
    for state in ("queued", "running", "queued"):
        made.transport.jobs[made.transport.make("k") - 1]["state"] = state
    assert made.job_by_key("k")["id"] == 2


def test_a_second_one_that_was_cancelled_is_not_taken_for_the_job(made):
    made.transport.faults["submit"] = ["late"]
    with pytest.raises(InDoubt):
        made.submit(REQUEST, JOB, "k")
    made.submit(REQUEST, JOB, "k")
    made.transport.jobs.reverse()
    assert made.job_by_key("k")["id"] == made.submit(REQUEST, JOB, "k")["id"] == 1


def test_a_job_that_has_run_is_the_job_before_one_that_waits(made):
    for state, start in (("queued", None), ("completed", 5)):
        made.transport.jobs[made.transport.make("k") - 1] |= {"state": state, "start": start}
    assert made.job_by_key("k")["id"] == 2


def test_a_job_that_cannot_be_asked_for_was_submitted_all_the_same(made):
    made.transport.faults["ask"] = ["", "no"]
    assert made.submit(REQUEST, JOB, "k") == {"id": 1, "state": "queued", "unseen": True}
    assert not made.in_doubt("k")


SENT = ["", "away", "refused", "lost", "ended", "late", "made, lost", "made, refused", "made, named"]


@examples(150)
@given(
    st.sampled_from(list(SPANS)), st.lists(st.sampled_from(SENT), max_size=5), st.lists(st.sampled_from(["", "no"])),
)  # fmt: skip
def test_whatever_fails_one_job_of_a_key_is_active(kind, submits, asks):
    with pytest.MonkeyPatch.context() as patch:
        now = [0.0]
        sleep = lambda seconds: now.__setitem__(0, now[0] + seconds)  # noqa: E731
        patch.setattr(tagging, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
        scheduler = Scheduler()
        scheduler.faults = {"submit": list(submits), "ask": list(asks), "cancel": []}
        made = Endpoint("made", scheduler, None, None, 5.0, SPANS[kind])
        for _ in range(len(submits) + len(asks) + 2):
            try:
                job = made.submit(REQUEST, JOB, "k")
                assert not made.in_doubt("k")
                assert scheduler.active() == [job["id"]] or any(asks) or "made, named" in submits
            except InDoubt:
                assert made.in_doubt("k")
            except GasError as problem:
                untrue = "nothing was submitted" in str(problem) and scheduler.active()
                assert not untrue
        assert len(scheduler.active()) <= 1 + asks.count("no")
