"""Speed of a branch relative to the whole altered month, for every month of the study of one moldable job.

Not collected by default; -s shows the table. GAS_TRACES names the folder of real logs; missing logs are left out:

    pytest tests/benchmarks/test_branching.py -s -o addopts="--import-mode=importlib"

A branch is an answer that `Simulation.outcomes` simulates until its job starts. All sizes of all benchmarks of a month
count, also those that start at once, with all the work of the call. The whole altered month is the event loop alone,
from its first second, with the job as in that answer: GAS_BENCHMARK_SAMPLE of them (12), drawn from all branches. Times
are CPU times of this process, the least of GAS_BENCHMARK_REPEATS (3) for each call, so that other processes hardly
matter. GAS_BENCHMARK_MONTHS takes the first months of each log; all take six minutes. No ratio fails.

`month / branch` is the sum of the whole altered months, one per branch, divided by the sum of the branches. `events` is
the same ratio in handled events: the limit for a method that handles all events of each branch at the cost of those of
the month. `cost` is the cost of an event in a branch, including copying and Python, in events of the month: above 1 if
queues are longer while moldable jobs wait than in the whole month.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.framework.logs import Found, find_logs
from experiments.framework.sites import SITES, Site
from experiments.moldable.benchmarks import application, requests
from experiments.moldable.months import FULL_RUNS, MonthRun
from experiments.moldable.outcomes import month_with_substitutes
from experiments.moldable.terms import BASE
from gas.simulation.simulate import Simulation
from workloads import RigidJobs

SAMPLE = int(os.environ.get("GAS_BENCHMARK_SAMPLE", "12"))
REPEATS = int(os.environ.get("GAS_BENCHMARK_REPEATS", "3"))
MONTHS = int(os.environ.get("GAS_BENCHMARK_MONTHS", "1000"))

Requests = tuple[Any, Any, Any]


def seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds that a call takes."""
    began = time.process_time()
    call()
    return time.process_time() - began


def whole(jobs: RigidJobs) -> float:
    """Return the CPU seconds of the event loop over all jobs."""
    return min(seconds(Simulation(jobs, BASE.policy).run) for _ in range(REPEATS))


def altered(jobs: RigidJobs, place: int, answer: Any) -> RigidJobs:
    """Return the jobs with another size, estimate and run time for one of them."""
    columns = [jobs.processors.copy(), jobs.estimate.copy(), jobs.run_time.copy()]
    for column, value in zip(columns, answer, strict=True):
        column[place] = value
    return replace(jobs, processors=columns[0], estimate=columns[1], run_time=columns[2])


def branches(jobs: RigidJobs, asked: dict[int, Requests]) -> tuple[dict[int, float], int]:
    """Return the CPU seconds of all branches by moldable job, and their number of events."""
    simulation = Simulation(jobs, BASE.policy, ask=np.array(sorted(asked)))
    took = {}
    while (place := simulation.run()) is not None:
        sizes, times, walltimes = asked[place]
        began = time.process_time()
        simulation.outcomes(sizes, walltimes, times)
        took[place] = time.process_time() - began
        simulation.answer()
    return took, simulation._scratch.events if simulation._scratch else 0


class Measured:
    """The costs of the branches of a month, or of several, and of whole months."""

    def __init__(self) -> None:
        self.branches, self.events, self.in_branches = 0, 0, 0.0
        self.months, self.months_events = 0.0, 0

    def add(self, count: int, month: float, month_events: int, took: float, events: int) -> None:
        self.branches += count
        self.in_branches += took
        self.events += events
        self.months += count * month
        self.months_events += count * month_events

    def row(self, name: str) -> str:
        by_time, by_events = self.months / self.in_branches, self.months_events / self.events
        return (
            f"{name:12} {self.branches:8,} {1e3 * self.months / self.branches:10.2f} "
            f"{1e3 * self.in_branches / self.branches:11.4f} {by_time:9.1f} {self.events / self.branches:9.1f} "
            f"{by_events:8.1f} {by_events / by_time:6.2f}"
        )


@pytest.fixture(scope="module")
def logs(traces) -> list[Found]:
    return list(find_logs(traces)[0])


def measure(log: Found, site: Site, month: str, totals: list[Measured]) -> str:
    run = MonthRun(log, site, month, BASE, 0, FULL_RUNS)
    jobs, _, placed, form = month_with_substitutes(run.configuration, {log.sha256: str(log.path)})
    asked = {one.place: requests(application(one.benchmark, one.problem_class, form), jobs.machine) for one in placed}
    every = [(place, i) for place, (sizes, _, _) in asked.items() for i in range(len(sizes))]
    least, events = branches(jobs, asked)
    for _ in range(REPEATS - 1):
        again, _ = branches(jobs, asked)
        least = {place: min(took, again[place]) for place, took in least.items()}
    months = []
    for k in np.random.default_rng(0).choice(len(every), SAMPLE, replace=False):
        place, i = every[k]
        sizes, times, walltimes = asked[place]
        months.append(whole(altered(jobs, place, (sizes[i], walltimes[i], times[i]))))
    own = Measured()
    for each in (own, *totals):
        each.add(len(every), float(np.mean(months)), 2 * len(jobs), sum(least.values()), events)
    return own.row(f"{site.trace} {month}")


def test_a_branch_beside_the_whole_altered_month(logs):
    print(f"\n\n{'':12} branches month (ms) branch (ms)   month /  events a  events   cost")
    print(f"{'':12} {'':8} {'':10} {'':11}    branch    branch")
    every = Measured()
    for site in SITES:
        for log in (log for log in logs if log.source.trace == site.trace):
            here = Measured()
            for month in site.months[:MONTHS]:
                print(measure(log, site, month, [here, every]), flush=True)
            print(here.row(site.trace))
    assert every.branches > 0
    print(every.row("all"))
