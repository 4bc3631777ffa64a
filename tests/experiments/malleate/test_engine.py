"""The event loop: rigid jobs as `gas.simulation` has them, and what adopters do by hand-worked cases and properties."""

from dataclasses import replace

import numpy as np
import pytest
from made_up import busy_jobs
from thorough import some

from experiments.malleate.engine import play, step
from experiments.malleate.recipes import amdahl_jobs
from experiments.malleate.rules import PLAN_AGAIN, STRATEGIES, Strategy
from experiments.malleate.state import ENDED, NOW, ROW, RUNNING, SINCE, TIME, check, initial, scratch_of
from experiments.moldable.moldability import Moldability, MoldableJobs, moldable_jobs
from gas.simulation.simulate import simulate
from workloads import RigidJobs

MACHINE = 64


def everybody(moldable):
    return np.ones(len(moldable.jobs), np.bool_)


def nobody(moldable):
    return ~everybody(moldable)


def moldable_of(seed, count=300, load=1.1):
    jobs = busy_jobs(count, MACHINE, seed=seed, load=load)
    recipe = amdahl_jobs if seed % 2 else lambda jobs, generator: moldable_jobs(jobs, Moldability(), generator)
    return recipe(jobs, np.random.default_rng(seed))


def by_hand(rows, machine=8):
    """Return jobs of (submit, own size, {size: time}) whose walltimes are twice their times."""
    sizes = [sorted(times) for _, _, times in rows]
    own = np.array([own for _, own, _ in rows], np.int64)
    times = [[times[size] for size in sorted(times)] for _, _, times in rows]
    run_time = np.array([times[own] for _, own, times in rows], np.int64)
    count = len(rows)
    submit = np.array([row[0] for row in rows], np.int64)
    ids, unknown = np.arange(count), np.full(count, -1)
    jobs = RigidJobs(ids, submit, own, 2 * run_time, run_time, unknown, unknown, unknown, ids, machine)
    flat = np.array([time for of in times for time in of], np.int64)
    return MoldableJobs(
        jobs=jobs,
        first=np.cumsum([0, *map(len, sizes)], dtype=np.int64),
        sizes=np.array([size for of in sizes for size in of], np.int64),
        times=flat,
        walltimes=2 * flat,
        A=np.full(count, np.nan),
        sigma=np.full(count, np.nan),
    )


def test_rigid_jobs_start_as_under_easy_backfilling():
    for seed in some(range(12), 2):
        moldable = moldable_of(seed, 600)
        assert play(moldable, nobody(moldable), STRATEGIES["rigid"]).start.tolist() == (
            simulate(moldable.jobs, "easy").start.tolist()
        )


@pytest.mark.parametrize("name", [name for name, one in STRATEGIES.items() if one.discipline != PLAN_AGAIN])
def test_without_adopters_every_strategy_of_easy_backfilling_is_that_of_rigid_jobs(name):
    moldable = moldable_of(4)
    one, two = (play(moldable, nobody(moldable), STRATEGIES[which]) for which in (name, "rigid"))
    assert one.end.tolist() == two.end.tolist()


def test_planning_the_whole_queue_again_is_conservative_backfilling_where_estimates_are_the_run_times():
    for seed in some(range(6), 1):
        moldable = moldable_of(seed)
        exact = replace(moldable.jobs, estimate=np.maximum(moldable.jobs.run_time, 1))
        moldable = replace(moldable, jobs=exact, walltimes=np.maximum(moldable.times, 1))
        assert play(moldable, nobody(moldable), STRATEGIES["oar"]).start.tolist() == (
            simulate(exact, "conservative").start.tolist()
        )


@pytest.mark.parametrize("name", STRATEGIES)
def test_invariants_hold_at_every_instant_and_every_job_does_its_work(name):
    for seed in some(range(8), 2):
        moldable = moldable_of(seed, 60)
        adopts = np.random.default_rng(seed).random(len(moldable.jobs)) < 0.7
        state = initial(moldable, adopts, STRATEGIES[name], cost=seed % 3 * 20)
        scratch = scratch_of(state)
        submitted, worked = 0, np.zeros(len(adopts))
        while state.now[ENDED] < len(adopts):
            now, row, since = state.now[NOW], state.work[ROW].copy(), state.work[SINCE].copy()
            running = state.running[: state.now[RUNNING]].copy()
            submitted = step(state, scratch, submitted)
            check(state)
            passed = np.maximum(state.now[NOW] - np.maximum(now, since[running]), 0)
            worked[running] += passed / state.table[TIME, row[running]]
        # Ends are whole seconds, so that a job may do a little more than its work, up to a second at its last size.
        rest = worked - 1
        assert (rest >= -1e-6).all()
        assert (rest <= 1 / state.table[TIME, state.work[ROW]] + 1e-6).all()


def test_the_same_seed_gives_the_same_choices_by_prediction():
    moldable = moldable_of(2)
    one, two = (play(moldable, everybody(moldable), STRATEGIES["gas-predicted"]) for _ in range(2))
    assert one.end.tolist() == two.end.tolist()


def test_a_job_of_a_range_starts_on_the_largest_of_its_sizes_that_is_free():
    moldable = by_hand([(0, 5, {5: 100}), (10, 4, {1: 400, 2: 200, 4: 100})])
    assert play(moldable, everybody(moldable), STRATEGIES["slurm"]).size.tolist() == [5, 2]
    from_own = play(moldable, everybody(moldable), STRATEGIES["slurm-own"])
    assert (from_own.size.tolist(), from_own.start.tolist()) == ([5, 4], [0, 100])


def test_by_walltimes_a_job_waits_for_a_larger_size_if_that_ends_first():
    moldable = by_hand([(0, 8, {8: 50}), (10, 1, {1: 300, 8: 100})])
    played = play(moldable, everybody(moldable), STRATEGIES["gas"])
    assert (played.size.tolist(), played.start.tolist(), played.end.tolist()) == ([8, 8], [0, 50], [50, 150])


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
    sizes = {name: play(moldable, everybody(moldable), STRATEGIES[name]).size[-1] for name in ("gas", "gas-predicted")}
    assert sizes == {"gas": 1, "gas-predicted": 8}


def test_a_malleable_job_grows_where_processors_are_left_and_pays_for_it():
    moldable = by_hand([(0, 2, {2: 400, 4: 200, 8: 100}), (0, 4, {4: 100})])
    for cost, end in ((0, 100 + 50), (20, 100 + 20 + 60)):
        # On 4 processors beside the other job for 100 s, of which the cost is no progress; then on 8.
        played = play(moldable, np.array([True, False]), STRATEGIES["malleable-own"], cost=cost)
        assert (played.end.tolist(), played.size.tolist()) == ([end, 100], [8, 4])


def test_malleable_jobs_shrink_for_the_first_in_the_queue_but_not_below_their_own_size_where_they_keep_it():
    moldable = by_hand([(0, 4, {2: 400, 4: 200, 8: 100}), (10, 6, {6: 50})])
    adopts = np.array([True, False])
    shrunk = play(moldable, adopts, STRATEGIES["malleable-own"])
    kept = play(moldable, adopts, STRATEGIES["malleable-keep"])
    assert shrunk.start.tolist() == [0, 10]
    assert kept.start[1] == kept.end[0] == 100


def test_a_strategy_is_what_it_says():
    assert {one.group for one in STRATEGIES.values()} == {"rigid", "moldable", "malleable"}
    assert all(isinstance(one, Strategy) and one.about.endswith(".") for one in STRATEGIES.values())


def test_an_empty_log_ends_at_once():
    empty = by_hand([])
    assert len(play(empty, everybody(empty), STRATEGIES["rigid"]).end) == 0
