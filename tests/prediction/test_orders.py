"""Starts in a given order: who may overtake whom."""

import numpy as np
import pytest
from thorough import ALL

from gas.compiled import compiled
from gas.prediction.orders import EASY, GREEDY, start_in_order


def start(queue, running=(), free=0, order=None, rule=EASY):
    """Return when the last job of a queue of (processors, walltime, run time) starts."""
    held, left, bound = np.array(running, np.int64).reshape(-1, 3).T
    order = np.arange(len(queue)) if order is None else np.array(order)
    arguments = free, held, left, bound, np.ascontiguousarray(np.array(queue, np.int64).T), order, rule
    found = start_in_order(*arguments)
    if ALL:  # seconds to compile
        assert compiled(start_in_order)(*arguments) == found
    return found


def test_a_job_that_fits_starts_at_once_and_others_when_their_turn_comes():
    assert start([(4, 100, 50)], free=4) == 0
    assert start([(4, 100, 50)], running=[(4, 30, 90)]) == 30
    assert start([(4, 100, 50), (4, 100, 50)], running=[(4, 30, 90)]) == 80


def test_the_order_decides_who_is_first():
    assert start([(4, 100, 50), (4, 10, 5)], running=[(4, 30, 90)], order=[1, 0]) == 30


@pytest.mark.parametrize(("walltime", "easy"), [(90, 0), (91, 130)])
def test_who_overtakes_must_not_delay_the_first_one_that_waits(walltime, easy):
    """The first needs all 10, which walltimes free at 90; it starts at 30, when they really are, and runs for 100."""
    queue = [(10, 100, 100), (2, walltime, 40)]
    assert start(queue, running=[(8, 30, 90)], free=2) == easy
    assert start(queue, running=[(8, 30, 90)], free=2, rule=GREEDY) == 0


def test_who_leaves_the_first_one_enough_may_run_on():
    assert start([(8, 100, 100), (2, 10_000, 40)], running=[(8, 30, 90)], free=2) == 0


def test_what_never_fits_starts_after_thirty_days():
    assert start([(20, 10, 10)], running=[(4, 30, 90)]) == 30 * 86_400
