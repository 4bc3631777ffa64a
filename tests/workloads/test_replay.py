"""The order in which a scheduler learns of jobs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import Log
from workloads.replay import NEVER, ends, knowledge


def order(submit, end):
    return list(knowledge(np.array(submit, dtype=np.int64), np.array(end, dtype=np.int64)))


def test_ends_and_submissions_come_as_they_happen():
    assert order([0, 5, 20], [10, 30, 21]) == [(False, 0), (False, 1), (True, 0), (False, 2), (True, 2), (True, 1)]


def test_at_one_instant_ends_come_before_submissions():
    assert order([0, 7], [7, 9]) == [(False, 0), (True, 0), (False, 1), (True, 1)]


def test_nobody_knows_the_end_of_a_job_that_takes_no_time_before_its_submission():
    assert order([3, 3], [3, 4]) == [(False, 0), (False, 1), (True, 0), (True, 1)]


def test_the_end_of_some_jobs_is_never_known():
    assert order([0, 1], [NEVER, 2]) == [(False, 0), (False, 1), (True, 1)]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10) | st.none())))
def test_whoever_decides_at_a_submission_knows_all_that_ended_until_then_and_nothing_else(jobs):
    submit = [each[0] for each in jobs]
    end = [NEVER if lasts is None else at + lasts for at, lasts in jobs]
    known, seen, last = set(), [], 0
    for ended, row in order(submit, end):
        now = end[row] if ended else submit[row]
        assert now >= last
        last = now
        if ended:
            assert row in seen
            known.add(row)
            continue
        seen.append(row)
        surely = {each for each, (at, until) in enumerate(zip(submit, end, strict=True)) if at < until <= now}
        at_most = {each for each, until in enumerate(end) if until != NEVER and until <= now}
        assert surely <= known <= at_most
        assert row not in known
    assert seen == sorted(range(len(jobs)), key=lambda row: submit[row])
    assert known == {row for row, until in enumerate(end) if until != NEVER}


@pytest.mark.parametrize(
    ("submit", "end", "said"),
    [([0, 5], [1, 4], "row 1 ends in second 4, before its submission in second 5"), ([0], [1, 2], "one number each")],
)
def test_what_cannot_have_happened_is_refused(submit, end, said):
    with pytest.raises(ValueError, match=said):
        order(submit, end)


def test_a_job_of_a_log_ended_after_its_wait_and_run_time():
    log = Log.from_columns({"submit": [10, 20, 30, 40.4], "wait": [5, -1, 0, 0.2], "run_time": [7, 1, -1, 0.6]})
    assert ends(log).tolist() == [22, NEVER, NEVER, 42]
