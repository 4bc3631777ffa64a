import numpy as np
import pytest

from gas.errors import BadInput
from gas.prediction.snapshot import UNPLANNED, Snapshot


def snapshot(**changes):
    columns = {
        "now": 100,
        "machine": 8,
        "processors": np.array([4, 4, 8]),
        "walltime": np.array([60, 50, 10]),
        "start": np.array([90, 100, UNPLANNED]),
        "running": np.array([True, True, False]),
        "user": np.array([1, 2, -1]),
    }
    return Snapshot(**{**columns, **changes})


def test_it_tells_how_long_jobs_have_run_and_how_many_wait():
    one = snapshot()
    assert one.elapsed.tolist() == [10, 0, 0]
    assert (len(one), one.waiting) == (3, 1)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"processors": np.array([4, 4, 9])}, "waiting job in place 2: processors 9 cannot be"),
        ({"processors": np.array([0, 4, 8])}, "running job in place 0: processors 0"),
        ({"processors": np.array([5, 4, 8])}, "the running jobs hold 9 processors, but the machine has 8"),
        ({"walltime": np.array([60, 0, 10])}, "running job in place 1: walltime 0"),
        ({"walltime": np.array([60, 50, 2**62])}, "waiting job in place 2: walltime 4611686018427387904"),
        ({"start": np.array([90, 100, 2**61])}, "waiting job in place 2: start 2305843009213693952"),
        ({"now": 2**60}, "now 1152921504606846976: is outside"),
        ({"start": np.array([90, 101, UNPLANNED])}, "running job in place 1: start 101"),
        ({"start": np.array([90, 100, 99])}, "waiting job in place 2: start 99"),
        ({"fixed": np.array([False, False, True])}, "waiting job in place 2: start"),
    ],
)
def test_what_no_machine_can_be_like(changes, problem):
    with pytest.raises(BadInput, match=problem):
        snapshot(**changes)


def test_columns_are_of_one_length():
    with pytest.raises(ValueError, match="user has"):
        snapshot(user=np.array([1, 2]))
