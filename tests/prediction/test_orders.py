"""Starts in a given order: which jobs may overtake which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import ALL

from gas.compiled import compiled
from gas.prediction.orders import EASY, GREEDY, start_in_order


def start(queue, running=(), free=0, order=None, rule=EASY):
    """Return when the last job of a queue of (processors, walltime, run time) starts."""
    columns, jobs = (np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 3).T) for rows in (running, queue))
    ends, bounds = (np.argsort(times, kind="stable") for times in columns[1:])
    order = np.arange(len(queue)) if order is None else np.array(order)
    arguments = free, columns, ends, bounds, jobs, order, rule
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
    """The first needs all 10: free by walltimes at 90, really at 30, when it starts; it then runs for 100."""
    queue = [(10, 100, 100), (2, walltime, 40)]
    assert start(queue, running=[(8, 30, 90)], free=2) == easy
    assert start(queue, running=[(8, 30, 90)], free=2, rule=GREEDY) == 0


def test_who_leaves_the_first_one_enough_may_run_on():
    assert start([(8, 100, 100), (2, 10_000, 40)], running=[(8, 30, 90)], free=2) == 0


def test_what_never_fits_starts_after_thirty_days():
    assert start([(20, 10, 10)], running=[(4, 30, 90)]) == 30 * 86_400


def plainly(queue, running, free, order, rule):
    """Return the same by looking at every job, at every instant: which run, and when enough may be free."""
    runs, waits, now = [list(one) for one in running], list(order), 0
    for _ in range(300):
        tried, shadow, extra = (waits[:100] if free > 0 else []), None, 0
        for job in tried:
            size, walltime, run_time = queue[job]
            fits = size <= free
            if fits and shadow is not None and rule == EASY and now + walltime > shadow:
                fits = size <= extra
                extra -= size if fits else 0
            if fits:
                if job == len(queue) - 1:
                    return now
                free -= size
                runs.append([size, now + run_time, now + walltime])
                waits.remove(job)
            elif shadow is None:
                by_then = [(at, free + sum(one[0] for one in runs if one[2] <= at) - size) for *_, at in runs]
                shadow, extra = min(((at, more) for at, more in by_then if more >= 0), default=(30 * 86_400, 0))
        now = max(now, min((end for _, end, _ in runs), default=30 * 86_400))
        if now >= 30 * 86_400:
            return 30 * 86_400
        free += sum(size for size, end, _ in runs if end <= now)
        runs = [one for one in runs if one[1] > now]
    return now


FEW, TIMES = st.integers(1, 6), st.integers(1, 30)


@given(st.data(), st.integers(0, 6), st.sampled_from([EASY, GREEDY]))
def test_the_start_is_that_of_looking_at_every_job_at_every_instant(data, free, rule):
    running = data.draw(st.lists(st.tuples(FEW, TIMES, TIMES), max_size=8))
    queue = data.draw(st.lists(st.tuples(st.integers(1, 12), TIMES, TIMES), min_size=1, max_size=12))
    order = data.draw(st.permutations(range(len(queue))))
    assert start(queue, running, free, order, rule) == plainly(queue, running, free, order, rule)
