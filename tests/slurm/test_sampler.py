"""A queue made ready for many samples: each begins anew, and what the kernel does not follow is named."""

import numpy as np
import pytest
from made_clusters import NOW, cluster, job, machine_with_gpus, running
from slurm_standing import a_cluster, an_accounting

from gas.slurm.accounting import Bounds
from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Gres, Licence, Scheduling, Tasks
from gas.slurm.cycle import run_cycle
from gas.slurm.drain import drain
from gas.slurm.main_pass import run_pass
from gas.slurm.placement import fit_idle
from gas.slurm.sampler import Sampler, compile_plans, compile_starts, outside
from gas.times import LONGEST

NOBODY = np.zeros(0, np.int64)


def test_each_sample_begins_anew_with_other_run_times_and_other_jobs():
    begin = Beginning.of(cluster(running(9, "n0", "n1", end=900), job(1, 8), job(2, 8)))
    sampler, both = Sampler(begin), np.array([0, 1])
    room = sampler.room()

    def starts(ran, took, gone=NOBODY):
        begun = sampler.run(room, sampler.ends(np.array([ran])), np.array([took, took]), both, gone, NOW + 10_000)
        return (begun - NOW).tolist()

    assert starts(160, 50) == [100, 150]
    assert starts(260, 70) == [200, 270]
    assert starts(160, 50, np.array([0]))[1] == 100
    assert starts(160, 50) == [100, 150]


def test_what_samples_need_is_compiled_ahead_by_a_run_of_one_job(monkeypatch):
    asked = []
    monkeypatch.setattr("gas.slurm.sampler.compiled", asked.append)
    monkeypatch.setattr("gas.slurm.sampler.fastest", lambda kernel, steps: lambda *a: asked.append(kernel(*a)) or 0)
    compile_starts()
    compile_plans()
    assert asked == [run_pass, fit_idle, run_cycle, drain, 0]  # it has started at once


def test_licences_come_back_when_jobs_end():
    held = running(9, "n0", end=900, licences={"matlab": 1})
    made = cluster(held, job(1, 4, licences={"matlab": 1}), licences=(Licence("matlab", 1, 1),))
    sampler = Sampler(Beginning.of(made))
    begun = sampler.run(sampler.room(), sampler.ends(np.array([160])), np.array([50]), np.array([0]), NOBODY, NOW + 999)
    assert begun.tolist() == [NOW + 100]


def test_who_runs_ends_after_its_seconds_but_not_before_now_or_at_its_limit_if_they_are_not_known():
    begin = Beginning.of(cluster(running(9, "n0", end=900), running(8, "n1", end=100)))
    sampler, before = Sampler(begin), begin.state.running_jobs[1].start - NOW
    assert (sampler.ends(np.array([5, 10_000])) - NOW).tolist() == [0, before + 10_000]
    assert (sampler.ends(np.array([5, LONGEST])) - NOW).tolist() == [0, 100]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (cluster(job(1), job(2, dependency="afterany:1")), "dependencies"),
        (cluster(job(1, reservation="course")), "reservations of jobs"),
        (cluster(job(5, tasks=Tasks((range(3),), at_once=1), array=5)), "arrays with a limit of tasks"),
        (cluster(job(1), scheduling=Scheduling(parameters={"bf_licenses": ""})), "bf_licenses"),
        (machine_with_gpus(job(1, gres_per_node=(Gres("gpu", "", 1),)), version="22.05.8"), "weights of nodes"),
        (a_cluster(an_accounting(Bounds(jobs=1))), "limits of accounts"),
        (cluster(job(1), job(2)), ""),
    ],
)
def test_what_the_kernel_does_not_follow_is_named(made, words):
    found = outside(Beginning.of(made))
    assert words in found
    assert bool(found) == bool(words)
