"""The outcomes of requests chosen with a wrong performance model, one at a time in a month of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.accuracy.beliefs import ERRORS, PLANS, VARIANTS, asked_for, believed
from experiments.accuracy.rounds import Chain, followed
from experiments.framework.ledger import Configuration, Result
from experiments.moldable.outcomes import Month, Stop, entropy, month_result, stops
from experiments.moldable.substitution import static_request
from gas.compiled import available, compiled
from gas.profile.flat import earliest_fits
from gas.simulation.schedule import Policy

__all__ = ["accuracy_run", "came_of"]


def accuracy_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the outcomes of the plans in a month; the arguments are those of `experiments.power.run.power_run`.

    For each replaced job: the turn-around time of the user's own request ("static"), and for each of `PLANS` the
    processors, the walltime, the turn-around time and the number of kills ("plans").
    """
    seed, policy = entropy(configuration), configuration["policy"]
    return month_result(configuration, files, lambda month: came_of(month, policy, seed))


def came_of(month: Month, policy: Policy, seed: Sequence[int]) -> list[dict[str, Any]]:
    """Return the outcomes of the plans for each replaced job, in order of submission; `seed` is that of the draws."""
    if available():
        compiled(earliest_fits)  # the planner uses the compiled kernel from here on
    jobs = month.jobs
    longest = int(jobs.estimate[month.first :].max(initial=1))
    rows, ended = [], []
    for stop in stops(jobs, month.placed, month.form, policy):
        place = stop.substitute.place
        row, plans = _planned(stop, int(jobs.submit[place]), longest, [*seed, place - month.first])
        rows.append(row)
        ended.append(plans)
    killed = dict.fromkeys(one for plans in ended for one in plans if one.walltimes[-1] < one.time)
    whole = followed(jobs, killed, policy)
    for row, plans in zip(rows, ended, strict=True):
        chains = [whole.get(one, one) for one in plans]
        row["plans"] = [[one.size, one.walltimes[0], one.ends[-1] - row["submit"], len(one.ends) - 1] for one in chains]
    return rows


def _planned(stop: Stop, submit: int, longest: int, seed: Sequence[int]) -> tuple[dict[str, Any], list[Chain]]:
    """Return the record of a replaced job, and the first request of each plan.

    Parameters
    ----------
    submit
        Its submission time.
    seed
        Seed of its draws.
    longest
        Largest walltime that the site accepts, unless one of the job's own times is longer.
    """
    one, simulation, _, asked = stop
    own = static_request(one, asked)
    longest = max(longest, int(asked.times.max()))
    normal = np.random.default_rng(seed).standard_normal(1 + len(asked.sizes))
    availability = simulation.availability()
    beliefs = {
        (variant, error): believed(asked, one.static, variant, error, normal, longest)
        for variant in VARIANTS
        for error in ERRORS
    }
    requests = [
        own[:2],
        *(asked_for(plan.way, beliefs[plan.variant, plan.error], own, availability, longest) for plan in PLANS),
    ]
    times = dict(zip(asked.sizes.tolist(), asked.times.tolist(), strict=True))
    different = {request: times[request[0]] for request in requests}
    sizes, walltimes = (list(column) for column in zip(*different, strict=True))
    needed = np.array(list(different.values()), np.int64)
    ends = simulation.outcomes(sizes, walltimes, np.minimum(needed, walltimes))[:, 1]
    first = {
        request: Chain(one.place, request[0], time, longest, (request[1],), (end,))
        for (request, time), end in zip(different.items(), ends.tolist(), strict=True)
    }
    row = {
        "benchmark": one.benchmark,
        "problem_class": one.problem_class,
        "submit": submit,
        "static_size": one.static,
        "static": first[requests[0]].ends[0] - submit,
    }
    return row, [first[request] for request in requests[1:]]
