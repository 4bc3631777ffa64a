"""A queue that is made ready once and run forward many times; probes hold nothing in it."""

import random
from dataclasses import replace

import pytest
from made_clusters import NOW, cluster, job, running

from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Tasks
from gas.slurm.forward import Forward, run_forward


def drawn(seed):
    """Return a cluster with a queue, how long its jobs take, and who comes later."""
    chance = random.Random(seed)
    jobs = [running(90 + n, f"n{n}", end=chance.randint(60, 900), cpus=4) for n in range(3)]
    jobs += [job(n, chance.randint(1, 14), chance.randint(1, 30)) for n in range(1, 13)]
    jobs.append(job(20, 2, tasks=Tasks((range(4),), at_once=2), array=20))
    jobs.append(job(21, 3, dependency="afterany:1"))
    later = [(NOW + chance.randint(1, 900), job(n, chance.randint(1, 8), 5, priority=500 + n)) for n in range(40, 44)]
    seconds = {one.id: chance.randint(5, 900) for one in [*jobs, *(one for _, one in later)]}
    seconds[20] = [chance.randint(5, 900) for _ in range(4)]
    return cluster(*jobs, nodes=4), seconds, later


@pytest.mark.parametrize("seed", range(3))
def test_each_run_of_one_beginning_is_that_of_the_cluster(seed):
    made, seconds, later = drawn(seed)
    begin = Beginning.of(made, later)
    Forward(begin, dict.fromkeys(seconds, 7) | {20: [7] * 4}).run(None)  # leaves no trace
    found = Forward(begin, seconds).run(None)
    assert found == run_forward(made, seconds, later)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("seed", range(3))
def test_probes_change_nothing_for_others_and_start_when_a_job_would_that_comes_last(seed):
    made, seconds, later = drawn(seed)
    probes = [replace(job(0, cpus, 10), id=60 + cpus, priority=1, submitted=NOW + 10**6) for cpus in (1, 4, 12)]
    run = Forward(Beginning.of(made, later, [(NOW, one) for one in probes]), seconds)
    run.awaited = {run.waiting.ids[one.id] for one in probes}
    run.run(None)
    alone = run_forward(made, seconds, later).starts
    assert tuple(run.starts) == alone[: len(run.starts)]
    for one in probes:
        own = run_forward(made, seconds, [*later, (NOW, one)]).starts
        assert run.probed[run.waiting.ids[one.id]] == next(start.start for start in own if start.job == one.id)


def test_a_job_that_starts_beside_a_probe_is_that_job():
    """The one pass finds both: the probe holds nothing, and does not get the start of the other."""
    made, probe = cluster(job(1, 4)), job(60, 4, priority=10**6)
    run = Forward(Beginning.of(made, [], [(NOW, probe)]), {1: 100})
    found = run.run(None)
    assert [(one.job, one.start) for one in found.starts] == [(1, NOW)]
    assert run.probed == {run.waiting.ids[60]: NOW}


def test_who_looks_seldom_sees_the_same_jobs_start_somewhat_later():
    made, seconds, later = drawn(1)
    begin = Beginning.of(made, later)
    often, seldom = (Forward(begin, seconds, coarse=coarse).run(None) for coarse in (0.0, 0.2))
    assert {one.job for one in seldom.starts} == {one.job for one in often.starts}
    assert seldom.cycles < often.cycles / 2
    ends = [max(one.start for one in run.starts) - NOW for run in (often, seldom)]
    assert ends[1] == pytest.approx(ends[0], rel=0.5)
