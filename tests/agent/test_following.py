"""Waiting for a job and following a schedule, without a command line; tests/cli/test_follow.py has the rest."""

import json
from itertools import islice
from types import SimpleNamespace

import pytest
from made_endpoints import Queue, job

from gas.agent import following
from gas.agent.following import follow, wait
from gas.errors import Unreachable

PLANNED, RUNS = job(1, "queued", expected=100), job(1, "running", start=160, due=220)
DONE = job(1, "completed", start=160, finished=200, exit_status=0)


@pytest.fixture
def queue(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "PAUSES", (0.001, 0.002))
    monkeypatch.setattr(following, "WAITING_PAUSES", (0.001, 0.002))

    def write(*rounds):
        (tmp_path / "queue.json").write_text(json.dumps(rounds))
        return Queue("hpc", str(tmp_path / "queue.json"))

    return write


def test_a_job_is_waited_for_and_its_states_are_reported_once_each(queue):
    states, remarks = [], []
    done = wait(
        queue([PLANNED], [PLANNED], [RUNS], "hpc: away", [RUNS], [DONE]),
        1,
        report=lambda one: states.append(one["state"]),
        remark=remarks.append,
    )
    assert (done["state"], states, remarks) == (
        "completed",
        ["queued", "running"],
        ["hpc: away; asking again for 30m00s"],
    )


def test_a_scheduler_that_stays_silent_is_given_up_after_the_patience_that_was_asked_for(queue):
    remarks = []
    with pytest.raises(Unreachable, match="hpc: away"):
        wait(queue([RUNS], *["hpc: away"] * 20), 1, patience=0, report=lambda one: None, remark=remarks.append)
    with pytest.raises(Unreachable):  # a scheduler that has never answered may be a typing mistake
        wait(queue("hpc: away", [DONE]), 1, report=lambda one: None, remark=remarks.append)
    assert remarks == []


def test_when_the_time_is_over_its_state_is_returned(queue):
    assert wait(queue([PLANNED]), 1, 0, report=lambda one: None, remark=print) == "queued"


@pytest.mark.parametrize(("ends", "found"), [(10, "completed"), (11, "running")])
def test_the_last_look_is_at_the_limit(monkeypatch, ends, found):
    class Time:
        now = 0.0

        def monotonic(self):
            return self.now

        def sleep(self, seconds):
            self.now += seconds

    clock = Time()
    monkeypatch.setattr(following, "time", clock)
    where = SimpleNamespace(job=lambda id: DONE if clock.now >= ends else RUNS)
    last = wait(where, 1, 10, report=lambda one: None, remark=print)
    assert (last if isinstance(last, str) else last["state"]) == found
    assert clock.now == 10


def test_what_is_followed_says_what_is_news_and_ends_with_the_job(queue):
    changes = list(follow(queue([PLANNED], [RUNS], [RUNS], [DONE]), 1, print))
    assert [(c.event.kind, c.event.data["state"], c.is_news) for c in changes] == [
        ("job", "queued", True), ("job", "running", True), ("job", "completed", True),
    ]  # fmt: skip


def test_a_schedule_begins_with_its_machine(queue):
    first, second = islice(follow(queue([PLANNED], [RUNS]), None, print), 2)
    assert (first.event.kind, first.event.data) == ("machine", {"running": 0, "in_use": 0, "queued": 1})
    assert (second.event.kind, second.event.data["state"], second.is_news) == ("job", "running", True)
