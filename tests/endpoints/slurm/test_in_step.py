"""The engine with the instants of a recorded Slurm: within a second, things happen in the order of its log."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from made_clusters import NOW, cluster, job

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
recorded, steps = import_module("recorded_runs"), import_module("in_step")


def starts(*, end=30.4, cycles=(), passes=(0.0,), arrivals=(), came=(), said=(), cpus=8, by_rule=()):
    """Return when jobs start: one that takes 30 s and ends at an instant, and one of all nodes behind it."""
    first, second = job(1, cpus, priority=9), job(2, 8, priority=8)
    found = recorded.Recorded("24.11", "1", (), cluster(first, second), [(NOW + at, one) for at, one in arrivals])
    found.starts[1, None], found.ends[1, None] = NOW, NOW + int(end)
    found.cycles = [NOW + at for at in cycles]
    found.passes = [(NOW + at, False) for at in passes]
    found.log = [(NOW + end, "JobId=1 done"), *((NOW + at, words) for at, words in (*came, *said))]
    run = steps.in_step(found, {1: 30, 2: 30, 3: 30}, None, by_rule)
    return [(one.job, one.start - NOW, one.by) for one in run.starts]


@pytest.mark.parametrize(("end", "start"), [(30.4, 30), (30.6, 38)])
def test_a_cycle_sees_a_job_that_has_ended_before_it_in_the_same_second(end, start):
    assert starts(end=end, cycles=(22.5, 30.5, 38.5)) == [(1, 0, "main"), (2, start, "backfill")]


def test_what_runs_at_the_beginning_of_a_second_does_not_see_what_ends_in_it():
    assert starts(passes=(0.0, 30.003, 33.004)) == [(1, 0, "main"), (2, 33, "main")]


@pytest.mark.parametrize(("came", "start"), [(5.2, 5), (5.7, 13)])
def test_a_job_that_comes_within_a_second_is_seen_by_cycles_behind_it(came, start):
    small = replace(job(3, 1, priority=1, submitted=NOW + 5), time_limit=20)
    made = starts(
        cycles=(5.5, 13.5), arrivals=[(5, small)], came=[(came, "JobId=3 InitPrio=1 usec=9")], cpus=4,
    )  # fmt: skip
    assert (3, start, "backfill") in made


def test_a_pass_counts_for_the_second_that_its_starts_have():
    """The clock that gives starts may be some milliseconds late."""
    made = starts(passes=(1.002, 60.0), said=[(1.002, "sched: Allocate JobId=1 NodeList=n[0-1]")])
    assert made[0] == (1, 0, "main")


@pytest.mark.parametrize(
    ("by_rule", "start"),
    [((), (30, "backfill")), ((steps.ENDS,), (60, "backfill")), ((steps.PASSES,), (30, "backfill")),
     ((steps.ENDS, steps.PASSES), (31, "main"))],
)  # fmt: skip
def test_parts_are_left_to_the_engines_rules(by_rule, start):
    """The cycle of second 30 comes late enough to see the job that ends then; no pass was recorded behind it."""
    made = starts(cycles=(10.5, 30.5, 60.5), passes=(0.0, 5.0, 100.0), by_rule=by_rule)
    assert made[1][1:] == start


def test_cycles_by_rule_are_bf_interval_apart():
    made = starts(cycles=(10.5, 200.5), passes=(0.0, 150.0), by_rule=(steps.CYCLES,))
    assert made[1][1:] == (40, "backfill")


def test_behind_the_log_it_goes_on_by_its_own_clock():
    assert starts()[1][0] == 2
    assert starts()[1][1] in range(30, 61)
