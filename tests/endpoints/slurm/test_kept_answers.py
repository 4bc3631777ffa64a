"""What is asked again, and what is not yet."""

import pytest

from gas.endpoints.slurm.command_line import COMMANDS
from gas.endpoints.slurm.json_answers import ANSWERS, OPTIONAL
from gas.endpoints.slurm.kept_answers import LIFETIMES, KeptAnswers
from gas.endpoints.slurm.topology import TOPOLOGY


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_an_answer_is_asked_for_again_when_its_lifetime_is_over(clock):
    kept = KeptAnswers({"config": 60.0}, clock)
    answers = iter("abc")
    ask = lambda: next(answers)  # noqa: E731
    assert kept.get("config", ask) == "a"
    clock.now += 59
    assert kept.get("config", ask) == "a"
    clock.now += 1
    assert kept.get("config", ask) == "b"


def test_what_has_no_lifetime_is_asked_for_each_time(clock):
    kept = KeptAnswers({"config": 60.0}, clock)
    answers = iter("abc")
    assert [kept.get("jobs", lambda: next(answers)) for _ in range(3)] == ["a", "b", "c"]


def test_a_failure_is_not_kept(clock):
    kept = KeptAnswers({"config": 60.0}, clock)
    with pytest.raises(ZeroDivisionError):
        kept.get("config", lambda: 1 // 0)
    assert kept.get("config", lambda: "a") == "a"


def test_only_what_changes_slowly_is_kept():
    assert set(LIFETIMES) <= {*COMMANDS, *ANSWERS, *OPTIONAL, TOPOLOGY[-1]}
    assert not {"nodes", "jobs", "diagnostics", "diag"} & set(LIFETIMES)
