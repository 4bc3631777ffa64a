"""Choosing by simulations of the queue with drawn run times."""

from dataclasses import replace

import numpy as np
import pytest
from several_sizes import all_adopt, by_hand, moldable_of

from experiments.malleate.engine import play
from experiments.malleate.forecast import MOST_PLANNED
from experiments.malleate.rules import STRATEGIES


def test_the_same_seed_gives_the_same_choices_by_prediction():
    moldable = moldable_of(2)
    one, two = (play(moldable, all_adopt(moldable), STRATEGIES["gas-predicted"]) for _ in range(2))
    assert one.end.tolist() == two.end.tolist()


def test_by_predictions_a_job_waits_where_jobs_of_the_user_are_known_to_end_early():
    early = [(at, 8, {8: 1}) for at in range(30)]
    moldable = by_hand([*early, (100, 7, {7: 100}), (105, 1, {1: 150, 8: 100})])
    jobs = moldable.jobs
    estimate = jobs.estimate.copy()
    estimate[:30] = 100  # of which they use a hundredth
    estimate[30] = 1000
    walltimes = moldable.walltimes.copy()
    walltimes[:31] = estimate[:31]
    user = np.zeros(len(jobs), np.int64)
    moldable = replace(moldable, jobs=replace(jobs, estimate=estimate, user=user), walltimes=walltimes)
    sizes = {name: play(moldable, all_adopt(moldable), STRATEGIES[name]).size[-1] for name in ("gas", "gas-predicted")}
    assert sizes == {"gas": 1, "gas-predicted": 8}


def test_a_size_that_starts_at_once_and_runs_shortest_is_chosen_whatever_others_do():
    moldable = by_hand([(0, 2, {2: 100}), (10, 1, {1: 300, 4: 100, 6: 90})])
    assert play(moldable, all_adopt(moldable), STRATEGIES["gas-predicted"]).size.tolist() == [2, 6]


def test_of_sizes_that_end_at_the_same_time_the_smallest_is_chosen():
    moldable = by_hand([(0, 1, {1: 100, 2: 100, 4: 100})])
    assert play(moldable, all_adopt(moldable), STRATEGIES["gas-predicted"]).size.tolist() == [1]


@pytest.mark.parametrize("name", ["gas", "gas-predicted"])
def test_a_job_that_joins_a_long_queue_keeps_its_own_size(name):
    waiting = [(0, 8, {8: 10})] * (MOST_PLANNED + 2)
    moldable = by_hand([*waiting, (1, 2, {2: 100, 8: 1})])
    assert play(moldable, all_adopt(moldable), STRATEGIES[name]).size[-1] == 2
    short = by_hand([(0, 8, {8: 10}), (1, 2, {2: 100, 8: 1})])
    assert play(short, all_adopt(short), STRATEGIES[name]).size[-1] == 8
