"""The event loop: rigid jobs as in `gas.simulation`, and sizes chosen before a start in cases worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from several_sizes import all_adopt, by_hand, moldable_of, none_adopt
from thorough import some

from experiments.malleate.engine import play
from experiments.malleate.rules import PLAN_AGAIN, STRATEGIES, Strategy
from gas.simulation.simulate import simulate


@pytest.mark.thorough
def test_rigid_jobs_start_as_under_easy_backfilling():
    for seed in some(range(12), 2):
        moldable = moldable_of(seed, 600)
        assert play(moldable, none_adopt(moldable), STRATEGIES["rigid"]).start.tolist() == (
            simulate(moldable.jobs, "easy").start.tolist()
        )


@pytest.mark.parametrize("name", [name for name, one in STRATEGIES.items() if one.discipline != PLAN_AGAIN])
def test_without_adopters_every_strategy_of_easy_backfilling_is_that_of_rigid_jobs(name):
    moldable = moldable_of(4)
    one, two = (play(moldable, none_adopt(moldable), STRATEGIES[which]) for which in (name, "rigid"))
    assert one.end.tolist() == two.end.tolist()


def test_planning_the_whole_queue_again_is_conservative_backfilling_where_estimates_are_the_run_times():
    for seed in some(range(6), 1):
        moldable = moldable_of(seed)
        exact = replace(moldable.jobs, estimate=np.maximum(moldable.jobs.run_time, 1))
        moldable = replace(moldable, jobs=exact, walltimes=np.maximum(moldable.times, 1))
        assert play(moldable, none_adopt(moldable), STRATEGIES["oar"]).start.tolist() == (
            simulate(exact, "conservative").start.tolist()
        )


def test_a_job_of_a_range_starts_on_the_largest_of_its_sizes_that_is_free():
    moldable = by_hand([(0, 5, {5: 100}), (10, 4, {1: 400, 2: 200, 4: 100})])
    assert play(moldable, all_adopt(moldable), STRATEGIES["slurm"]).size.tolist() == [5, 2]
    from_own = play(moldable, all_adopt(moldable), STRATEGIES["slurm-own"])
    assert (from_own.size.tolist(), from_own.start.tolist()) == ([5, 4], [0, 100])


def test_by_walltimes_a_job_waits_for_a_larger_size_if_that_ends_first():
    moldable = by_hand([(0, 8, {8: 50}), (10, 1, {1: 300, 8: 100})])
    played = play(moldable, all_adopt(moldable), STRATEGIES["gas"])
    assert (played.size.tolist(), played.start.tolist(), played.end.tolist()) == ([8, 8], [0, 50], [50, 150])


def test_a_strategy_is_what_it_says():
    assert {one.group for one in STRATEGIES.values()} == {"rigid", "moldable", "malleable"}
    assert all(isinstance(one, Strategy) and one.about.endswith(".") for one in STRATEGIES.values())


def test_an_empty_log_ends_at_once():
    empty = by_hand([])
    assert len(play(empty, all_adopt(empty), STRATEGIES["rigid"]).end) == 0
