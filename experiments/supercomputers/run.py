"""Turn-around times of applications and rigid jobs if a share of the applications submits to several supercomputers.

A run is a few machines, a month of a log on each, and a share of applications that follow one strategy (`some`) while
the rest follow another (`others`). If requested, each application is also simulated with the strategy that it did not
follow, all others unchanged: the difference is what its user gains, for the same application at the same moment of the
same world.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.framework.months import jobs_of_month
from experiments.moldable.benchmarks import Form
from experiments.moldable.machines import (
    Machines,
    Strategy,
    Submission,
    World,
    follow,
    submissions,
)
from experiments.moldable.worlds import world_with_benchmarks
from gas.availability import AvailabilityList
from gas.coallocation import earliest_together
from gas.compiled import available, compiled
from gas.profile.flat import earliest_fits
from gas.simulation.schedule import Policy
from workloads import Log, RigidJobs, apply_overrun

__all__ = ["Trial", "outcome", "supercomputers_run", "trial"]

WARMING: Final = 31 * 86400
"""Seconds for which machines run before the month that counts: the length of the longest month."""


@dataclass(frozen=True, eq=False)
class Trial:
    """The outcome of a simulated world; one value per application. Instants are in seconds of the world.

    Attributes
    ----------
    machines
        The machines at the end.
    does
        Whether the application follows `some` and not `others`.
    end
        Its end.
    waits
        Whether no machine could have started its request under `some` at once.
    other_end, other_submissions
        Its end had it alone followed the other strategy, and the number of submissions then; -1 where this was not
        simulated.
    """

    machines: Machines
    does: NDArray[np.bool_]
    end: NDArray[np.int64]
    waits: NDArray[np.bool_]
    other_end: NDArray[np.int64]
    other_submissions: NDArray[np.int64]
    other_time: NDArray[np.int64]
    """Execution time of the request that would have run under the other strategy."""
    deviating: bool
    """Whether the other strategy was simulated."""


def trial(
    world: World,
    others: Strategy,
    some: Strategy,
    does: NDArray[np.bool_],
    *,
    policy: Policy = "s3",
    deviating: bool = False,
    machine_code: bool = True,
) -> Trial:
    """Return the outcome of a world in which some applications follow one strategy and the others another.

    Parameters
    ----------
    does
        Which applications follow `some`.
    deviating
        Whether to simulate each application with the other strategy, too.
    """
    if machine_code and available():
        compiled(earliest_fits)  # the planner uses the compiled kernel from here on
        if "coallocate" in (others, some):
            compiled(earliest_together)
    applications = world.applications
    strategies = [some if one else others for one in does.tolist()]

    def decide(number: int, lists: Sequence[AvailabilityList]) -> list[Submission]:
        return submissions(strategies[number], applications[number], lists)

    machines = Machines(world, policy, machine_code=machine_code)
    waits = np.zeros(len(applications), np.bool_)
    other_end, other_submissions, other_time = (np.full(len(applications), -1, np.int64) for _ in range(3))
    while (number := machines.run()) is not None:
        lists = machines.lists()
        now, one = lists[0].now, applications[number]
        own = decide(number, lists)
        of_some = own if does[number] else submissions(some, one, lists)
        waits[number] = min(submission.start for submission in of_some) > now
        if deviating:
            other = submissions(others, one, lists) if does[number] else of_some
            other_submissions[number] = len(other)
            if other[0].held or (len(other) == 1 and other[0].start == now):
                other_end[number], other_time[number] = other[0].end, other[0].time
            elif other != own:
                branch = machines.copy()
                branch.answer(other)
                follow(branch, decide, until=number)
                ends = branch.end(number)
                assert ends is not None, "S³ starts every job"
                other_end[number], other_time[number] = ends, branch.submitted[number][branch.won[number]].time
        machines.answer(own)
    end = np.array([machines.end(number) for number in range(len(applications))], np.int64)
    if deviating:
        same = other_end < 0
        other_end[same] = end[same]
        other_time[same] = [machines.submitted[i][machines.won[i]].time for i in np.flatnonzero(same).tolist()]
    return Trial(machines, does, end, waits, other_end, other_submissions, other_time, deviating)


def outcome(found: Trial) -> Result:
    """Return the figures of a trial; times are seconds from submission to end, shares are of the applications.

    "gain" is how much sooner an application ends if it follows `some`: the mean over all applications and over those
    that had to wait; also the mean number of submissions beyond the first, and that number times the execution time.
    """
    world, machines = found.machines.world, found.machines
    won = [machines.submitted[i][which] for i, which in enumerate(machines.won.tolist())]
    ran = [all_of if one.held else [one] for all_of, one in zip(machines.submitted, won, strict=True)]
    submit = np.array([one.submit for one in world.applications], np.int64)
    promised = np.array([min(one.end for one in submitted) for submitted in machines.submitted], np.int64)
    count = np.array([len(submitted) for submitted in machines.submitted], np.int64)
    time = np.array([one.time for one in won], np.int64)
    turnaround, does = found.end - submit, found.does
    away = [one.machine != application.home for one, application in zip(won, world.applications, strict=True)]
    return {
        "applications": len(submit),
        "some": int(does.sum()),
        "waiting": int(found.waits.sum()),
        "mean": _mean(turnaround),
        "mean_some": _mean(turnaround[does]),
        "mean_others": _mean(turnaround[~does]),
        "mean_waiting": _mean(turnaround[found.waits]),
        "median": float(np.median(turnaround)) if len(submit) else None,
        "submissions": int(count.sum()),
        "withdrawn": machines.withdrawn,
        "processor_seconds": sum(one.processors * one.time for those in ran for one in those),
        "together": _mean(np.array([len(those) > 1 for those in ran], np.bool_)),
        "sooner_than_promised": _mean(found.end < promised),
        "later_than_promised": _mean(found.end > promised),
        "away_from_home": _mean(np.array(away, np.bool_)),
        "gain": _gains(found, turnaround, found.other_end - submit, count, time) if found.deviating else None,
        "machines": [_of_machine(found, machine) for machine in range(len(world.lists))],
    }


def _mean(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def _gains(
    found: Trial,
    turnaround: NDArray[np.int64],
    other: NDArray[np.int64],
    count: NDArray[np.int64],
    time: NDArray[np.int64],
) -> dict[str, Any]:
    gain = np.where(found.does, other - turnaround, turnaround - other)
    extra = np.where(found.does, count, found.other_submissions) - 1
    lasts = np.where(found.does, time, found.other_time)
    return {
        name: {
            "mean": _mean(gain[those]),
            "extra": _mean(extra[those]),
            "extra_time": _mean((extra * lasts)[those]),
            "sooner": _mean(gain[those] > 0),
            "later": _mean(gain[those] < 0),
        }
        for name, those in (("all", np.ones(len(gain), np.bool_)), ("waiting", found.waits))
    }


def _of_machine(found: Trial, machine: int) -> dict[str, Any]:
    schedule = found.machines.simulations[machine].schedule()
    rigid, ran = found.machines.world.rigid(machine), schedule.started
    turnaround = (schedule.end - schedule.jobs.submit)[rigid]
    begin = max(found.machines.world.begin, int(schedule.jobs.submit.min(initial=0)))
    within = np.maximum(schedule.end, begin) - np.maximum(schedule.start, begin)
    used = (schedule.jobs.processors * within)[ran]
    span = int(schedule.end[ran].max(initial=0)) - begin
    return {
        "rigid": len(rigid),
        "rigid_mean": _mean(turnaround),
        "rigid_median": float(np.median(turnaround)) if len(rigid) else None,
        "utilization": float(used.sum() / max(1, span) / schedule.jobs.machine),
    }


# ----------------------------------------------------------------------------------------------------- from real logs


def supercomputers_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcome of a trial; a pure function of its configuration (see `experiments.framework.ledger`).

    Parameters
    ----------
    configuration
        "machines" (for each "log", the sha256 of its content, "processors" and "month"), "percent" of each machine's
        jobs that are applications, "seed", "mix", "opponent", "form" (the fields of `Form`), "policy", "estimates"
        ("users", or "perfect" for the true run times), "boundary" (factor on the time of an application on several
        machines together), "others" and "some" (strategies), "share" (per cent of the applications that follow
        "some"), and "deviating".
    files
        The path of each log.
    """
    common = ("machines", "percent", "seed", "mix", "opponent", "form", "estimates", "boundary")
    key = json.dumps({name: configuration[name] for name in common}, sort_keys=True)
    world, ratios = _world(key, tuple(sorted(files.items())))
    # The draws do not depend on the share: applications that deviate at a small share also deviate at a larger one.
    generator = np.random.default_rng([*_entropy(configuration), 1])
    does = generator.random(len(world.applications)) < configuration["share"] / 100
    found = trial(
        world,
        configuration["others"],
        configuration["some"],
        does,
        policy=configuration["policy"],
        deviating=configuration["deviating"],
    )
    return outcome(found) | {"load_ratios": list(ratios)}


def _entropy(configuration: Mapping[str, Any]) -> list[int]:
    """Return a separate seed for each set of months."""
    of_machines = [int(one["log"][:12], 16) + int(one["month"].replace("-", "")) for one in configuration["machines"]]
    return [configuration["seed"], *of_machines]


@lru_cache(maxsize=2)
def _world(key: str, files: tuple[tuple[str, str], ...]) -> tuple[World, tuple[float, ...]]:
    """Return the world of some fields of a configuration, shared by many runs, and the load ratio of each machine."""
    wanted, paths = json.loads(key), dict(files)
    machines = [_month(paths[one["log"]], one["log"], one["processors"], one["month"]) for one in wanted["machines"]]
    if wanted["estimates"] == "perfect":
        ended = [apply_overrun(jobs, "kill") for jobs in machines]
        machines = [replace(jobs, estimate=np.maximum(jobs.run_time, 1)) for jobs in ended]
    # The draws of a machine do not depend on the other machines.
    seeds = [_entropy({"seed": wanted["seed"], "machines": [one]}) for one in wanted["machines"]]
    return world_with_benchmarks(
        machines,
        seeds,
        percent=wanted["percent"],
        form=Form(**wanted["form"]),
        mix=wanted["mix"],
        opponent=wanted["opponent"],
        boundary=wanted["boundary"],
        begin=WARMING,
    )


@lru_cache(maxsize=16)
def _month(path: str, sha256: str, processors: int, month: str) -> RigidJobs:
    """Return the jobs of a month, which begins at second `WARMING`, after those of the month before."""
    log = _log(path, sha256)
    begin = int(datetime.fromisoformat(f"{month}-01").replace(tzinfo=log.epoch.zone).timestamp()) - log.epoch.start
    jobs, _ = jobs_of_month(log, month, processors)
    return replace(jobs, submit=jobs.submit - begin + WARMING)


@lru_cache(maxsize=3)
def _log(path: str, sha256: str) -> Log:
    return load_log(Path(path), sha256)
