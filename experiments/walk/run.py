"""The paper's own walk over the availability list against the exact planner (the Gas paper, Fig. 4.3).

Both plan at the same submission times of the same months, and each chosen request is simulated until it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.moldable.outcomes import Month, month_result, stops
from gas.planner import plan
from gas.simulation.schedule import Policy

__all__ = ["Comparison", "comparisons", "walk_run"]


@dataclass(frozen=True)
class Comparison:
    """The choices of both planners at a submission time: seconds from then to the promised and the real ends.

    `walk_promised` and `walk` are None if the walk found no request.
    """

    benchmark: str
    problem_class: str
    submit: int
    exact_size: int
    exact_promised: int
    exact: int
    walk_size: int | None
    walk_promised: int | None
    walk: int | None


def comparisons(month: Month, policy: Policy = "s3") -> list[Comparison]:
    """Return the choices of both planners in place of each job, in order of submission."""
    found = []
    for one, simulation, app, (sizes, times, walltimes) in stops(month.jobs, month.placed, month.form, policy):
        availability = simulation.availability()
        submit = int(month.jobs.submit[one.place])
        exact, walked = plan(app, availability).best, plan(app, availability, algorithm="walk").best
        assert exact is not None, "S³'s last frame is the whole machine, so every size has a slot"
        chosen = sorted({one.processors for one in (exact, walked) if one is not None})
        rows = np.searchsorted(sizes, chosen)
        ends = simulation.outcomes(sizes[rows], walltimes[rows], times[rows])[:, 1] - submit
        real = dict(zip(chosen, ends.tolist(), strict=True))
        found.append(
            Comparison(
                one.benchmark,
                one.problem_class,
                submit,
                exact.processors,
                exact.finish - submit,
                real[exact.processors],
                walked.processors if walked else None,
                walked.finish - submit if walked else None,
                real[walked.processors] if walked else None,
            )
        )
    return found


def walk_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the comparisons of a month of a log; the arguments are those of `experiments.power.run.power_run`."""
    policy = configuration["policy"]
    return month_result(configuration, files, lambda month: map(asdict, comparisons(month, policy)))
