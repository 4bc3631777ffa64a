"""A benchmark that is watched while it waits gets the size that now finishes first."""

from dataclasses import replace

import numpy as np
from small_logs import Case

from experiments.moldable.benchmarks import Form
from experiments.moldable.outcomes import stops
from experiments.moldable.substitution import Substitute
from experiments.prediction.watching import by_plans, by_predictions, watched
from gas.prediction.past import Past
from gas.simulation.schedule import NEVER_STARTED

ROWS = ((0, 4, 20_000, 20_000), (0, 4, 20_000, 1_000), (10, 8, 1, 1), (30, 1, 10, 10), (700, 1, 100, 100))
"""Both halves of the machine are taken for 20,000 s; the second is free after 1,000 s. The third job is replaced."""

JOBS = Case(8, ROWS).jobs


def time_of(stop, size):
    sizes, times, _ = stop.asked
    return int(times[sizes.tolist().index(size)])


def first_stop():
    return next(stops(JOBS, [Substitute(2, "EP", "C", 8)], Form(), "s3"))


def test_when_processors_get_free_it_takes_them_at_the_next_look():
    stop = first_stop()
    found = watched(stop, 8, by_plans)
    assert found.processors < 8
    assert found.changes == 1
    assert found.turnaround == 1_200 + time_of(stop, found.processors)


def test_left_alone_it_ends_as_it_would_unwatched():
    stop = first_stop()
    sizes, times, walltimes = stop.asked
    unwatched = stop.simulation.outcomes(sizes, walltimes, times)[:, 1] - 10
    for size, turnaround in zip(sizes.tolist(), unwatched.tolist(), strict=True):
        found = watched(stop, size, lambda _simulation, _place, planned: replace(planned, best=None))
        assert found == (turnaround, size, 0)
    assert stop.simulation.starts([2]).tolist() == [NEVER_STARTED]  # it still waits for its answer


def test_by_predictions_it_does_not_wait_for_what_will_not_be_free():
    stop = first_stop()
    count = 200  # the past: all jobs used their whole walltimes
    past = Past(
        np.arange(count) - 10**6, np.full(count, 4), np.full(count, 20_000), np.full(count, 20_000),
        np.arange(count) - 10**5, np.full(count, -1),
    )  # fmt: skip
    found = watched(stop, 8, by_predictions(past, 10, 0, "s3"))
    assert found == watched(stop, 8, by_plans)
    assert past.ended == 0  # another reader has learnt
