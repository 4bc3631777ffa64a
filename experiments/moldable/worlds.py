"""Machines where benchmarks replace some jobs; each benchmark chooses among all of these machines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.moldable.benchmarks import Form, Mix, application
from experiments.moldable.machines import Arriving, World, world_of
from experiments.moldable.substitution import Opponent, static_request, substitutes
from gas.application import Requests
from workloads import RigidJobs

__all__ = ["world_with_benchmarks"]


def world_with_benchmarks(
    machines: Sequence[RigidJobs],
    seeds: Sequence[Sequence[int]],
    *,
    percent: int,
    form: Form,
    mix: Mix = "thirds",
    opponent: Opponent = "uniform",
    boundary: float | None = None,
    begin: int = 0,
) -> tuple[World, tuple[float, ...]]:
    """Return machines where benchmarks replace some jobs, and the load ratio of each machine.

    Parameters
    ----------
    seeds
        For the draws of each machine, so that they do not depend on the other machines.
    percent
        Percentage of each machine's jobs that are replaced.
    boundary
        Factor on the time of an application on several machines together; None if it does not run so.
    begin
        Jobs submitted before this second only warm up the machines.
    """
    arriving, ratios = [], []
    known: dict[tuple[str, str], tuple[Requests, ...]] = {}
    across: dict[tuple[str, str], Requests] = {}
    for home, (jobs, seed) in enumerate(zip(machines, seeds, strict=True)):
        first = int(np.searchsorted(jobs.submit, begin))
        placed = substitutes(
            jobs,
            (len(jobs) - first) * percent // 100,
            mix=mix,
            form=form,
            opponent=opponent,
            generator=np.random.default_rng(seed),
            first=first,
        )
        work = jobs.processors * jobs.run_time
        change = 0
        for one in placed:
            key = one.benchmark, one.problem_class
            if key not in known:
                app = application(*key, form)
                of_size = {there.machine: app.requests(there.machine) for there in machines}
                known[key] = tuple(of_size[there.machine] for there in machines)
                if boundary is not None:
                    across[key] = app.requests(sum(there.machine for there in machines), 1 / boundary)
            submit, name = int(jobs.submit[one.place]), f"{one.benchmark.lower()}.{one.problem_class}"
            arriving.append(Arriving(submit, home, one.place, name, one.static, known[key], across.get(key)))
            size, _, time = static_request(one, known[key][home])
            change += size * time - int(work[one.place])
        ratios.append(1 + change / max(int(work[first:].sum()), 1))
    return world_of(machines, arriving, begin), tuple(ratios)
