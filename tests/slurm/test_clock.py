"""When both schedulers look at the queue."""

from dataclasses import replace

import pytest
from made_clusters import NOW, cluster

from gas.slurm.clock import FULL_DEPTH, Clock
from gas.slurm.cluster import Scheduling
from gas.slurm.settings import Settings


def clock(values=None, **parameters):
    made = replace(cluster(), scheduling=Scheduling(parameters=parameters))
    return Clock.of(made if values is None else replace(made, settings=Settings(values=values)))


def passes(one, seconds, asked=()):
    """Return at which seconds a pass is due, and how deep, where something asks for one at some of them."""
    found = []
    for second in range(seconds):
        one.now = NOW + second
        one.asked |= second in asked
        if (depth := one.pass_due()) is not None:
            found.append((second, depth))
    return found


def test_a_pass_that_is_asked_for_comes_some_seconds_after_the_last_one():
    assert passes(clock(), 20, asked=(1, 2, 10)) == [(0, 100), (3, 100), (10, 100)]
    assert passes(clock(batch_sched_delay="9", default_queue_depth="7"), 20, asked=(1,)) == [(0, 7), (9, 7)]


def test_all_of_the_queue_is_looked_at_every_sched_interval_and_counts_as_the_last_pass():
    assert passes(clock(sched_interval="5"), 12, asked=(6,)) == [
        (0, 100), (5, FULL_DEPTH), (8, 100), (10, FULL_DEPTH),
    ]  # fmt: skip


def test_a_cycle_begins_an_interval_after_the_last_one_if_something_has_changed():
    one, begun = clock(bf_interval="4"), []
    for second in range(12):
        one.now = NOW + second
        if one.cycle_due():
            begun.append(second)
            one.changed = second == 0
        one.changed |= second == 9
    assert begun == [0, 4, 10]
    assert not clock(bf_interval="-1").cycle_due()


@pytest.mark.parametrize(
    ("values", "parameters", "at_ends"),
    [
        (None, {}, True),
        ({"Epilog": "(null)", "ClusterName": "c"}, {}, False),
        ({"ClusterName": "c"}, {}, False),
        ({"Epilog": "/sbin/clean"}, {}, True),
        ({"Epilog[0]": "/sbin/clean"}, {}, True),
        ({"Epilog": "/sbin/clean"}, {"defer": ""}, False),
    ],
)
def test_where_an_epilog_runs_a_pass_follows_it(values, parameters, at_ends):
    """24.11 and 26.05 name it Epilog[0], and not at all where there is none."""
    assert clock(values, **parameters).at_ends is at_ends


@pytest.mark.parametrize(("planned", "first"), [(None, 0), (-3, 5), (-8, 0), (-100, 0), (4, 8)])
def test_the_first_cycle_comes_an_interval_after_the_one_that_made_the_plans(planned, first):
    made = replace(cluster(), scheduling=Scheduling(parameters={"bf_interval": "8"}))
    one = Clock.of(replace(made, planned=None if planned is None else NOW + planned))
    assert one.backfill == NOW + first
    assert Clock.of(replace(made, planned=NOW - 3), first_cycle=NOW + 1).backfill == NOW + 1
