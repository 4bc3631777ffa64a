"""The selection of jobs that gas status lists."""

import pytest

from gas.cli.job_selection import MOST_ENDED, Selection
from gas.errors import BadInput

NOW = 1_731_000_000


def job(number, state, user="ann", finished=None):
    return {"id": number, "state": state, "user": user, "finished": finished}


JOBS = [
    job(1, "failed", finished=NOW - 7200),
    job(2, "completed", "bob", finished=NOW - 60),
    job(3, "running", "bob"),
    job(4, "queued"),
]


@pytest.mark.parametrize(
    ("users", "states", "since", "listed"),
    [
        (None, None, None, [1, 2, 3, 4]),
        (["bob"], None, None, [2, 3]),
        (["bob", "ann"], ["queued", "failed"], None, [1, 4]),
        (None, None, "1h", [2, 3, 4]),
        (None, None, f"@{NOW - 7200}", [1, 2, 3, 4]),
        (["bob"], ["completed"], "30s", []),
    ],
)
def test_jobs_are_listed_by_user_state_and_when_they_ended(users, states, since, listed):
    assert [j["id"] for j in Selection.of(users, states, since).among(JOBS, NOW)] == listed


def test_ended_jobs_are_asked_for_where_they_are_meant():
    assert Selection().ended(0) == 0
    assert Selection.of(None, ["running"], None).ended(5) == 5
    assert Selection.of(None, ["failed"], None).ended(0) == MOST_ENDED
    assert Selection.of(None, None, "2h").ended(0) == MOST_ENDED
    assert Selection.of(None, None, "2h").ended(7) == 7


def test_what_is_no_state_or_instant_is_refused():
    with pytest.raises(BadInput, match='--state runing: is no state; did you mean "running"|runing'):
        Selection.of(None, ["runing"], None)
    with pytest.raises(BadInput, match="--since"):
        Selection.of(None, None, "lately")
