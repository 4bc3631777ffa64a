"""Passes over the queue: what the head of the queue can rely on."""

from dataclasses import replace

import numpy as np
import pytest
from several_sizes import all_adopt, by_hand, moldable_of

from experiments.malleate import passes
from experiments.malleate.engine import step
from experiments.malleate.passes import shadow_of
from experiments.malleate.rules import STRATEGIES
from experiments.malleate.state import (
    ENDED,
    FREE,
    HOLDS,
    NOW,
    OUTDATED,
    PLANNED,
    ROW,
    RUNNING,
    SIZE,
    START,
    WAITING,
    initial,
)


def at_the_end_of_submissions(moldable, name="rigid"):
    """Return the state after each submission in turn."""
    state, submitted = initial(moldable, all_adopt(moldable), STRATEGIES[name], 0), 0
    while submitted < len(moldable.jobs):
        submitted = step(state, state, submitted)
        yield state


def test_the_head_starts_when_enough_processors_are_free_by_walltimes_and_others_may_take_the_rest():
    # Walltimes are twice the times: five processors are held until 200, two until 400; the head needs six.
    moldable = by_hand([(0, 5, {5: 100}), (0, 2, {2: 200}), (1, 6, {6: 50})])
    *_, state = at_the_end_of_submissions(moldable)
    assert shadow_of(state) == (200, 0)
    smaller = by_hand([(0, 5, {5: 100}), (0, 2, {2: 200}), (1, 4, {4: 50})])
    *_, state = at_the_end_of_submissions(smaller)
    assert shadow_of(state) == (200, 2)


def test_processors_that_become_free_together_are_counted_together():
    moldable = by_hand([(0, 3, {3: 100}), (0, 5, {5: 100}), (1, 2, {2: 50})])
    *_, state = at_the_end_of_submissions(moldable)
    assert shadow_of(state) == (200, 6)


def test_after_a_pass_the_head_can_start_at_its_shadow_time_beside_the_extra_processors():
    waited = 0
    for state in at_the_end_of_submissions(moldable_of(2, count=120, load=1.6)):
        now, work = state.now, state.work
        if now[WAITING] == 0:
            continue
        waited += 1
        shadow, extra = shadow_of(state)
        running = state.running[: now[RUNNING]]
        sizes = state.table[SIZE, work[ROW, running]]
        wanted = state.table[SIZE, work[ROW, state.queue[0]]]
        by_then = now[FREE] + sizes[work[HOLDS, running] <= shadow].sum()
        assert by_then - wanted == extra >= 0
        before = work[HOLDS, running] < shadow
        assert shadow == now[NOW] or now[FREE] + sizes[before].sum() < wanted
    assert waited > 10


def planned_again(moldable, outdated):
    """Return starts and sizes, how many passes kept a plan, and the longest queue; `outdated` keeps none."""
    state, submitted = initial(moldable, all_adopt(moldable), STRATEGIES["oar"], 0), 0
    kept = longest = 0
    while state.now[ENDED] < len(moldable.jobs):
        if outdated:
            state.now[PLANNED] = OUTDATED
        kept += bool(state.now[PLANNED] > 0)
        submitted = step(state, state, submitted)
        longest = max(longest, int(state.now[WAITING]))
    return state.work[[START, ROW]].tolist(), kept, longest


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("seed", [0, 3])
def test_a_plan_that_is_kept_while_nothing_ends_early_is_the_one_that_would_be_made_anew(monkeypatch, seed, exact):
    monkeypatch.setattr(passes, "MOST_PLANNED", 8)
    moldable = moldable_of(seed, count=150, load=1.6)
    if exact:
        jobs = replace(moldable.jobs, estimate=np.maximum(moldable.jobs.run_time, 1))
        moldable = replace(moldable, jobs=jobs, walltimes=np.maximum(moldable.times, 1))
    found, kept, longest = planned_again(moldable, outdated=False)
    anew, never, _ = planned_again(moldable, outdated=True)
    assert found == anew
    assert never == 0
    assert kept > (150 if exact else 50)
    assert longest > 8
