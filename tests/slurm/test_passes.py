"""One pass over a state: what it changes, and which task's plan of an array is the one that is published."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import MIDDLE, NOW, OLD, cluster, job, running

from gas.slurm.cluster import Scheduling, Tasks
from gas.slurm.forecast import forecast
from gas.slurm.passes import copied, run_pass, run_state


def site(version=MIDDLE):
    array = job(1, 4, array=1, tasks=Tasks((range(3),), None))
    return cluster(
        running(9, "n0", end=600), array, nodes=1, version=version, scheduling=Scheduling(array_depth=3)
    )  # fmt: skip


def starts(plans):
    return sorted(int(start) - NOW for start in plans.from_[: int(plans.total[0])])


def test_a_pass_changes_its_state_and_leaves_what_it_was_copied_from():
    state = forecast(site()).state
    kept = (*state.use, *state.running, state.licences)
    before = [one.copy() for one in kept]
    first = run_pass(copied(state)).plans
    assert all(np.array_equal(one, other) for one, other in zip(before, kept, strict=True))
    assert starts(run_state(copied(state))) == starts(first) == [600, 1200, 1800]


def test_what_another_pass_found_is_not_sought_again_and_comes_out_the_same():
    state = forecast(site()).state
    once = run_pass(copied(state))
    assert starts(run_pass(copied(state), known=once.found).plans) == starts(once.plans)


@pytest.mark.parametrize(("version", "shown"), [(OLD, 1800), (MIDDLE, 600)])
def test_of_an_array_slurm_publishes_the_plan_of_its_last_task_before_24_and_then_of_its_first(version, shown):
    made = site(version)
    waiting = [replace(one, start=NOW + shown) if one.pending else one for one in made.jobs]
    plans = forecast(replace(made, jobs=tuple(waiting)), pinned=False).plans
    assert [one.start - NOW for one in plans if one.published] == [shown]
