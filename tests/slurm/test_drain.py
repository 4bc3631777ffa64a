"""A queue run forward in one kernel starts the same jobs at the same instants as `gas.slurm.forward` does."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, running
from made_queues import long_queue

from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Reservation, Scheduling, Tasks
from gas.slurm.forward import Forward
from gas.slurm.sampler import Sampler, outside
from gas.slurm.settings import Settings

DAY = 86_400
NOBODY = np.zeros(0, np.int64)


def sampled(begin, seconds, awaited=None, *, coarse=0.0, most_plans=0):
    """Return by number of a job when it, or the first task of an array, starts in the kernel."""
    assert not outside(begin)
    waiting, sampler = begin.waiting, Sampler(begin, coarse, most_plans)
    took = [seconds.get(one.id, 1 << 40) for one in waiting.jobs]
    each = [took[at] if isinstance(took[at], list) else [took[at]] * count for at, count in enumerate(sampler.counts)]
    ran = [seconds.get(one.id, 1 << 40) for one in begin.state.running_jobs]
    places = np.arange(len(waiting.jobs)) if awaited is None else np.array([waiting.ids[one] for one in awaited])
    begun = sampler.run(
        sampler.room(), sampler.ends(np.array(ran, np.int64)), np.concatenate([*each, NOBODY]), places, NOBODY,
        NOW + 400 * DAY,
    )  # fmt: skip
    return {one.id: int(at) for one, at in zip(waiting.jobs, begun, strict=True) if at >= 0}


def exactly(begin, seconds, **options):
    """Return the same of the schedulers run one pass at a time."""
    found: dict[int, int] = {}
    forward = Forward(begin, seconds, **options)
    forward.awaited = set(range(len(begin.waiting.jobs)))
    for one in forward.run(None).starts:
        found.setdefault(one.job, one.start)
    return found


def both(made, seconds, later=(), **options):
    begin = Beginning.of(made, later)
    return sampled(begin, seconds, **options), exactly(begin, seconds, **options)


@pytest.mark.parametrize(
    ("kinds", "version"), [("", MIDDLE), ("shared,tiers", OLD), ("shared,partitions,arrivals", NEW)]
)
def test_small_queues(kinds, version):
    made = long_queue(kinds, seed=1, nodes=8, waiting=8, cpus=4, version=version)
    found, exact = both(made.cluster, made.seconds, made.later)
    assert found == exact
    assert len(exact) == 8


@pytest.mark.parametrize("version", [OLD, NEW])
def test_who_waits_for_the_last_to_end_starts_soon_after_it(version):
    """It ends long after the last start and, without an epilog, in the second of a pass: the next comes later."""
    settings = Settings({"Epilog": ""})
    made = cluster(running(9, "n0", end=900), running(8, "n1", end=900), job(1, 8), version=version, settings=settings)
    found, exact = both(made, {9: 860, 8: 861, 1: 5})
    assert found == exact
    assert exact == {1: NOW + 804}


def test_who_waits_for_the_end_of_a_reservation_starts_soon_after_it():
    """All others have ended long before, and the last pass was just before it."""
    kept = Reservation("kept", NOW - 60, NOW + 10 * 60 + 1, ("n1",), frozenset({"root"}))
    made = cluster(job(2, 4), job(1, 8), reservations=(kept,), settings=Settings({"Epilog": ""}))
    found, exact = both(made, {2: 5, 1: 5})
    assert found == exact
    assert 601 <= exact[1] - NOW <= 660


KINDS = (
    "", "shared", "shared,memory", "shared,gpus", "partitions", "shared,tiers", "shared,arrays", "reservation",
    "features", "shared,memory,gpus,partitions,reservation,features,arrivals",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
@pytest.mark.parametrize(("seed", "kinds"), list(enumerate(KINDS)))
def test_queues_of_many_kinds(seed, kinds, version):
    made = long_queue(kinds, seed=seed, nodes=40, waiting=80, version=version)
    begin = Beginning.of(made.cluster, made.later)
    if outside(begin):
        assert (version, "gpus" in kinds) == (OLD, True)
        return
    for options in ({}, {"coarse": 0.02}, {"coarse": 0.02, "most_plans": 5}):
        assert sampled(begin, made.seconds, **options) == exactly(begin, made.seconds, **options)


def test_who_looks_seldom():
    chance = np.random.default_rng(1)
    jobs = [job(n, int(chance.integers(1, 9)), int(chance.integers(5, 60))) for n in range(1, 12)]
    seconds = {one.id: int(chance.integers(60, 3000)) for one in jobs}
    found, exact = both(cluster(*jobs), seconds, coarse=0.1)
    assert found == exact


def test_priorities_grow_with_age():
    """The one that comes later has waited less: it is behind the other until both are as old as counts."""
    settings = Settings(
        priority_type="multifactor", weights={"age": 1000}, max_age=3600, calculation_period=300,
        values={"BOOT_TIME": str(NOW - 100)},
    )  # fmt: skip
    made = replace(cluster(running(9, "n0", "n1", end=4000), job(1, 8, priority=500)), settings=settings)
    later = [(NOW + at, job(id, 8, priority=priority, submitted=NOW + at)) for at, id, priority in
             ((600, 2, 900), (1200, 3, 1100), (1300, 4, 1100))]  # fmt: skip
    found, exact = both(made, {9: 4060, 1: 50, 2: 50, 3: 50, 4: 50}, later)
    assert found == exact
    assert sorted(found, key=found.__getitem__) != [1, 2, 3, 4]


@pytest.mark.parametrize("defers", [False, True])
@pytest.mark.parametrize("version", [OLD, NEW])
def test_submissions(defers, version):
    scheduling = Scheduling(parameters={"defer": ""} if defers else {})
    made = cluster(running(9, "n0", end=600), job(1, 8, priority=50), version=version, scheduling=scheduling)
    later = [(NOW + at, job(id, 4, 5, priority=priority, submitted=NOW + at)) for at, id, priority in
             ((45, 2, 50), (46, 3, 90), (400, 4, 10))]  # fmt: skip
    found, exact = both(made, {9: 660, 1: 30, 2: 30, 3: 30, 4: 30}, later)
    assert found == exact


def test_reservations_and_jobs_that_may_not_begin_yet():
    soon = Reservation("maintenance", NOW + 300, NOW + 7200, ("n0", "n1"), ("MAINT",))
    made = cluster(job(1, 8, 10), job(2, 4, 4), job(3, 4, 4, eligible=NOW + 70), reservations=(soon,))
    found, exact = both(made, {1: 100, 2: 30, 3: 30})
    assert found == exact
    assert found[1] >= NOW + 7200


def test_tasks_of_an_array_take_their_own_times():
    made = cluster(running(9, "n0", end=600), job(5, 4, tasks=Tasks((range(3),)), array=5), job(6, 8, priority=1))
    found, exact = both(made, {9: 660, 5: [10, 20, 30], 6: 7})
    assert found == exact
    assert found[6] == NOW + 660 - 60


def test_probes_hold_nothing_and_a_run_ends_when_all_have_started():
    made = cluster(running(9, "n0", end=600), job(1, 8), job(2, 4, minutes=5))
    probes = [(NOW, job(60 + cpus, cpus, 10, priority=10**6)) for cpus in (4, 8)]
    begin = Beginning.of(made, [], probes)
    found = sampled(begin, {9: 660, 1: 60, 2: 60}, awaited=[64, 68])
    assert found == {64: NOW, 2: NOW, 1: NOW + 600, 68: NOW + 600}
