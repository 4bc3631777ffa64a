"""Classes of jobs, and how evenly users' slowdowns are spread."""

import numpy as np
import pytest
from made_up import busy_jobs

from experiments.malleate.fairness import CLASSES, LONG, classes_of, evenness


def even(*users):
    """Evenness of users, given each one's lists of slowdowns by month."""
    months = len(users[0])
    user = np.repeat(np.arange(len(users)), [sum(map(len, of)) for of in users])
    month = np.concatenate([np.repeat(np.arange(months), list(map(len, of))) for of in users])
    slowdown = np.array([value for of in users for values in of for value in values], float)
    return evenness(user, slowdown, month, months)


def test_every_job_is_of_one_class_by_its_time_and_its_share_of_the_machine():
    jobs = busy_jobs(200, 64, seed=1)
    found = classes_of(jobs)
    assert list(found) == list(CLASSES)
    assert (np.sum(list(found.values()), axis=0) == 1).all()
    assert found["long and narrow"].tolist() == ((jobs.run_time > LONG) & (jobs.processors <= 4)).tolist()


def test_users_with_equal_slowdowns_are_quite_even_and_one_who_has_all_is_not():
    assert even([[2] * 10], [[2] * 30])["whole"] == pytest.approx(1)
    assert even([[1000] * 10], [[1e-9] * 10], [[1e-9] * 10], [[1e-9] * 10])["whole"] == pytest.approx(1 / 4)


def test_the_index_says_nothing_of_the_level():
    one, two = (even([[1 * by] * 10], [[3 * by] * 10])["whole"] for by in (1, 100))
    assert one == pytest.approx(two) == pytest.approx(16 / (2 * 10))


def test_users_with_few_jobs_do_not_count():
    assert even([[2] * 10], [[200] * 9])["whole"] == pytest.approx(1)
    assert even([[2] * 9])["whole"] is None


def test_jobs_of_unknown_users_are_not_those_of_one_user():
    user = np.repeat([0, -1, 1], 10)
    slowdown = np.repeat([1.0, 500.0, 1.0], 10)
    assert evenness(user, slowdown, np.zeros(30, np.int64), 1)["whole"] == pytest.approx(1)
    assert evenness(np.full(30, -1), slowdown, np.zeros(30, np.int64), 1) == {"whole": None, "without": None}


def test_each_month_is_left_out_in_turn():
    found = even([[1] * 10, [1] * 10], [[1] * 10, [5] * 10])
    assert found["without"] == pytest.approx([36 / (2 * 26), 1])  # slowdowns of 1 and 5, then of 1 and 1
    assert even([[1] * 10, [1] * 5])["without"] is None  # without the first month no user counts
