"""Invariants of the simulation at every instant, and that their check detects violations."""

import numpy as np
import pytest
from several_sizes import all_adopt, moldable_of
from thorough import some

from experiments.malleate.engine import step
from experiments.malleate.rules import STRATEGIES
from experiments.malleate.state import (
    ENDED,
    FREE,
    HOLDS,
    NOW,
    ROW,
    RUNNING,
    SHARE,
    SINCE,
    TIME,
    check,
    initial,
    scratch_of,
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


def halfway(name="malleable-own"):
    moldable = moldable_of(3, 60)
    state = initial(moldable, all_adopt(moldable), STRATEGIES[name], cost=10)
    scratch, submitted = scratch_of(state), 0
    while state.now[RUNNING] < 3:
        submitted = step(state, scratch, submitted)
    check(state)
    return state


@pytest.mark.parametrize(
    ("words", "breaks"),
    [
        ("not those of the machine", lambda state: state.now.__setitem__(FREE, state.now[FREE] + 1)),
        ("not in order of their ends", lambda state: state.work[HOLDS].__setitem__(state.running[0], 2**40)),
        ("size of another", lambda state: state.work[ROW].__setitem__(59, 0)),
        ("not one", lambda state: state.done[SHARE].__setitem__(0, 1.5)),
        ("should have ended", lambda state: state.now.__setitem__(NOW, 2**40)),
    ],
)
def test_a_broken_invariant_is_seen(words, breaks):
    state = halfway()
    breaks(state)
    with pytest.raises(AssertionError, match=words):
        check(state)
