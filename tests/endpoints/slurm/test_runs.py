"""How a queue that a real Slurm ran is judged, and the page about it."""

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from made_clusters import NOW, cluster, job

from gas.slurm.settings import Settings

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
runs, recorded = import_module("runs"), import_module("recorded_runs")


def ran(*starts, **changes):
    """Return what a Slurm did with two jobs of all nodes that take 30 s: when each started."""
    jobs = tuple(job(number + 1, 8, priority=9 - number) for number in range(len(starts)))
    found = recorded.Recorded("24.11", "1", ("Later",), cluster(*jobs), [])
    for one, start in zip(jobs, starts, strict=True):
        key = one.id, None
        found.waiting.append(key)
        if start is not None:
            found.starts[key], found.ends[key] = NOW + start, NOW + start + 30
            found.nodes[key], found.partitions[key] = ("n0", "n1"), "p"
    return replace(found, **changes)


def judged(found):
    return [(one.job, one.slurm, one.engine, one.agrees, one.unaided, one.cause) for one in runs.judge(found)]


def test_jobs_agree_within_a_cycle():
    assert judged(ran(3, 35)) == [(1, 3, 0, True, True, ""), (2, 35, 30, True, True, "")]


def test_behind_one_that_starts_otherwise_the_engine_begins_anew():
    first, second = judged(ran(50, 81))
    assert first[:4] == (1, 50, 0, False)
    assert second == (2, 81, 80, True, False, ""), "unaided it would have started it at 30"


def test_in_step_with_slurm_the_engine_looks_when_slurm_did():
    log = [(NOW + 33.4, "JobId=1 done")]
    found = ran(3, 35, passes=[(NOW + 3.002, False), (NOW + 35.003, False)], log=log, cycles=[NOW + 200.5])
    judged = runs.judge(found)
    assert [(one.alone, one.stepped, one.in_step) for one in judged] == [(3, 3, True), (33, 35, True)]
    line = next(line for line in runs.page_of(judged).splitlines() if line.startswith("| all "))
    assert line.endswith("| 2 (100.0%) | 19 s (+0.0%) |")


def test_who_never_starts_agrees_if_it_does_not_in_the_engine():
    (found,) = judged(ran(None))
    assert found[3:] == (False, False, "Slurm does not start it")


def test_one_that_has_not_ended_takes_as_long_as_it_sleeps_but_no_longer_than_its_limit():
    found = ran(0, 31, ends={}, words={1: "--ntasks=8 sleep 20 news", 2: "--ntasks=8 sleep 99999 news"})
    assert runs.seconds_of(found) == {1: 20, 2: 600}


def test_a_job_that_an_open_partition_would_refuse_is_left_out():
    """Seen on 24.11 and 26.05: a partition that is down accepts it, and holds it when it is up."""
    said = "JobId=1 never runnable in partition p"
    late, early = ran(None, 0, log=[(NOW + 1.0, said)]), ran(None, 0, log=[(NOW - 1.2, said)])
    assert [one[0] for one in judged(late)] == [1, 2]
    assert judged(early) == [(2, 0, 0, True, True, "")]
    job = replace(early.cluster.jobs[0], partitions=("p", "q"))  # the other partition can run it
    assert len(runs.admitted(replace(early, cluster=replace(early.cluster, jobs=(job,)))).waiting) == 2


def test_a_cause_may_be_the_second_of_a_submission_or_of_priorities():
    made = ran(0)
    there = replace(made.cluster, settings=Settings(values={"BOOT_TIME": "100"}))
    found = list(runs._other_seconds(replace(made, cluster=there, arrivals=[(NOW + 5, job(2, 8))])))
    assert [one.cluster.settings.values["BOOT_TIME"] for _, one in found[:3]] == ["99", "101", "102"]
    assert [(at - NOW, one.id) for at, one in found[3][1].arrivals] == [(6, 2)]
    assert [cause for cause, _ in runs._other_seconds(made)] == ["the second in which a job is submitted"]


def test_lines_of_the_log_say_when_schedulers_looked_and_who_started_what():
    found = ran(0)
    for line in (
        "[2026-11-23T03:26:11.778] debug:  sched: Running job scheduler for full queue.",
        "[2026-11-23T03:26:12.000] sched: Allocate JobId=1 NodeList=n[01-06] #CPUs=24 Partition=main",
        "[2026-11-23T03:26:16.709] debug:  sched/backfill: _attempt_backfill: beginning",
        "[2026-11-23T03:26:16.711] debug:  slurm_cred_create: creating credential for JobId=7_2(19)",
        "slurmctld: a line without its time",
    ):
        recorded._read_line(found, line)
    assert [of_all for _, of_all in found.passes] == [True]
    assert found.by == {(1, None): "main", (7, 2): "backfill"}
    assert len(found.cycles) == 1


def test_the_page_names_those_that_start_otherwise():
    page = runs.page_of(runs.judge(replace(ran(50, 81), words={1: "--constraint=slow|ib", 2: "-n 8"})))
    assert "2 jobs and tasks of 1 random clusters" in page
    assert "| all | 1 | 2 | 1 (50.0%) |" in page
    assert "| Later | 1 | 2 | 1 (50.0%) |" in page
    assert "| 24.11 1 | 1 | 50 s (submission) | 0 s (main) | `--constraint=slow\\|ib` |" in page


def test_the_page_compares_groups_of_queues_with_what_they_were():
    first = runs.judge(ran(3, 35))
    second = [replace(one, seed="300") for one in first]
    before = [replace(one, agrees=False) for one in second]
    page = runs.page_of([*first, *second], before, [300, 400], "The words.\n")
    assert "\n\nThe words.\n\n| release |" in page
    then, now = page.partition("## Before and after")[2].partition("## By queue")[0].split("The same, after:")
    assert "Seeds 300, before:" in then
    assert "| all | 1 | 2 | 0 (0.0%) |" in then
    assert "| all | 1 | 2 | 2 (100.0%) |" in now
    with pytest.raises(SystemExit, match="judged before and not after: 24.11 300"):
        runs.page_of(first, before)
