"""Choosing by simulations of the queue with drawn run times."""

from dataclasses import replace

import numpy as np
import pytest
from several_sizes import all_adopt, by_hand, moldable_of

from experiments.malleate import engine, forecast, samples
from experiments.malleate.engine import play
from experiments.malleate.passes import look
from experiments.malleate.rules import STRATEGIES
from experiments.malleate.samples import choose_by_samples, draw, mold_again_by_samples
from experiments.malleate.sizes import complete, next_end
from experiments.malleate.state import (
    END,
    FIRST,
    LAST,
    LUCK_AT_FIRST,
    NOW,
    OWN,
    ROW,
    RUNNING,
    SAMPLES,
    SIZE,
    START,
    TIME,
    WAITING,
    WALLTIME,
    initial,
    scratch_of,
)


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
def test_a_job_that_joins_a_long_queue_keeps_its_own_size(name, monkeypatch):
    monkeypatch.setattr(engine, "available", lambda: False)  # machine code has the usual length in it
    for module in (forecast, samples):
        monkeypatch.setattr(module, "MOST_PLANNED", 10)
    waiting = [(0, 8, {8: 10})] * 12
    moldable = by_hand([*waiting, (1, 2, {2: 100, 8: 1})])
    assert play(moldable, all_adopt(moldable), STRATEGIES[name]).size[-1] == 2
    short = by_hand([(0, 8, {8: 10}), (1, 2, {2: 100, 8: 1})])
    assert play(short, all_adopt(short), STRATEGIES[name]).size[-1] == 8


def test_a_waiting_job_takes_a_larger_size_when_the_machine_is_free_sooner_than_was_foreseen():
    # At its submission seven processors are thought to be held for a day, and the eighth for 1,400 s: it takes one.
    moldable = by_hand([(0, 7, {7: 700}), (0, 1, {1: 700}), (1, 1, {1: 2000, 8: 500})])
    estimate, walltimes = moldable.jobs.estimate.copy(), moldable.walltimes.copy()
    estimate[0] = walltimes[0] = 86400
    moldable = replace(moldable, jobs=replace(moldable.jobs, estimate=estimate), walltimes=walltimes)
    strategies = ("gas-predicted", "gas-predicted-again")
    sizes = [play(moldable, all_adopt(moldable), STRATEGIES[name]).size[-1] for name in strategies]
    assert sizes == [1, 8]


def test_with_no_queue_choosing_again_changes_nothing():
    moldable = by_hand([(at * 1000, 4, {4: 100, 8: 60}) for at in range(6)])
    once, again = (
        play(moldable, all_adopt(moldable), STRATEGIES[name]) for name in ("gas-predicted", "gas-predicted-again")
    )
    assert once.end.tolist() == again.end.tolist()


def test_jobs_behind_do_not_count_where_one_chooses_again():
    state = initial(moldable_of(2), all_adopt(moldable_of(2)), STRATEGIES["gas-predicted-again"], 0)
    scratch = scratch_of(state)
    state.now[RUNNING], state.now[WAITING] = 0, 3
    state.queue[:3] = [0, 1, 2]
    mold_again_by_samples(state, scratch)
    first = state.work[ROW, 0]
    state.now[WAITING] = 1
    state.luck[0] = LUCK_AT_FIRST
    state.work[ROW, 0] = state.jobs[OWN, 0]
    mold_again_by_samples(state, scratch)
    assert state.work[ROW, 0] == first


def start_alone(scratch, size, walltime):
    """Return the start of a job of one size that joins the scratch queue and is simulated together with it."""
    now, work = scratch.now, scratch.work
    job = now[RUNNING] + now[WAITING]
    scratch.table[:, job] = size, walltime, walltime
    work[ROW, job], work[START, job] = job, -1
    scratch.jobs[[FIRST, OWN, LAST], job] = job, job, job + 1
    scratch.queue[now[WAITING]] = job
    now[WAITING] += 1
    look(scratch)
    while work[START, job] < 0:
        now[NOW] = next_end(scratch)
        for other in scratch.running[: now[RUNNING]].copy():
            if work[END, other] == now[NOW]:
                complete(scratch, other)
        look(scratch)
    return work[START, job]


def best_of_sizes_alone(state, scratch, job):
    """Return the size that ends first on average, each simulated separately with the same draws."""
    ends, seed = {}, state.luck[0]
    for row in range(state.jobs[FIRST, job], state.jobs[LAST, job]):
        state.luck[0] = seed
        ends[row] = 0
        for _ in range(state.rules[SAMPLES]):
            draw(state, scratch, state.now[WAITING])
            ends[row] += start_alone(scratch, *state.table[[SIZE, WALLTIME], row]) + state.table[TIME, row]
    state.luck[0] = seed
    return min(ends, key=ends.get)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2])
def test_sizes_that_wait_in_one_simulation_start_as_each_would_alone(monkeypatch, seed):
    moldable, waited = moldable_of(seed, count=80, load=1.8), []

    def choose_and_compare(state, scratch, job):
        expected = best_of_sizes_alone(state, scratch, job)
        choose_by_samples(state, scratch, job)
        assert state.work[ROW, job] == expected
        waited.append(state.now[WAITING] > 0)

    monkeypatch.setattr(engine, "choose_by_samples", choose_and_compare)
    state = initial(moldable, all_adopt(moldable), STRATEGIES["gas-predicted"], 0)
    scratch, submitted = scratch_of(state), 0
    while submitted < len(moldable.jobs):
        submitted = engine.step(state, scratch, submitted)
    assert len(waited) == 80
    assert sum(waited) > 10
