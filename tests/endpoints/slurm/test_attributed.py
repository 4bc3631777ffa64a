"""What jobs add to the engine's waits, and the page about recordings of the same queues."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from made_clusters import NOW, cluster, job

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
attributed, recorded = import_module("attributed"), import_module("recorded_runs")


def ran(*starts):
    """Return what a Slurm did with jobs of all nodes that take 30 s: when each started."""
    jobs = tuple(job(number + 1, 8, priority=9 - number) for number in range(len(starts)))
    found = recorded.Recorded("24.11", "1", (), cluster(*jobs), [], words={1: "first"})
    for one, start in zip(jobs, starts, strict=True):
        key = one.id, None
        found.waiting.append(key)
        found.starts[key], found.ends[key] = NOW + start, NOW + start + 30
        found.nodes[key], found.partitions[key] = ("n0", "n1"), "p"
    return found


def test_a_job_adds_by_its_own_start_and_by_those_behind_it():
    """The engine starts them at 0, 30 and 60: the first makes all of them begin 20 s earlier, the third 5 s more."""
    first, third = attributed.added_by_job(ran(20, 50, 85))
    assert (first.key, first.slurm, first.engine, first.seconds, first.others) == ((1, None), 20, 0, -60, -40)
    assert (third.key, third.slurm, third.engine, third.seconds, third.others) == ((3, None), 85, 80, -5, 0)
    assert first.same_nodes
    assert first.words == "first"


def test_a_job_that_starts_elsewhere_adds_too():
    found = ran(0, 30)
    found.nodes[1, None] = ("n0",)
    assert [(one.key, one.same_nodes) for one in attributed.added_by_job(found)] == [((1, None), False)]


def test_recordings_of_a_queue_are_compared_with_each_other_and_with_the_engine():
    once, again = ran(0, 30), ran(0, 50)
    made = attributed.Repeated.of("24.11 1", [once, again])
    assert made.slurm == (attributed.Pair(2, 1, 15, 25),)
    assert made.alone == (attributed.Pair(2, 2, 15, 15), attributed.Pair(2, 1, 25, 15))
    page = attributed.page_of([made])
    assert "| all | 1 | 50.0% | 50.0% | 75.0% | 28.6% | -25.0% |" in page
    assert "| passes of the main scheduler | 75.0% | 28.6% | -25.0% |" in page
    assert "| 24.11 1 | 2 | 15, 25 s | 15, 15 s |" in page


def test_waits_are_counted_from_submission():
    found = ran(0, 31)
    found = replace(found, arrivals=[(NOW + 11, found.cluster.jobs[1])])
    assert attributed.waits_of(found, found.starts) == {(1, None): 0, (2, None): 20}
