"""The paper's own walk over the availability list against the exact planner (the Gas paper, Fig. 4.3).

Both plan at the same submission times of the same months, and each chosen request is simulated until it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.moldable.outcomes import Month, month_result, stops
from gas.application import Requests
from gas.availability import AvailabilityList
from gas.compiled import fastest
from gas.planner import plan
from gas.profile.flat import ENDLESS, NEVER
from gas.simulation.schedule import Policy
from gas.walk import EQUAL, LARGEST, walk

__all__ = ["Comparison", "comparisons", "walk_run"]


@dataclass(frozen=True)
class Comparison:
    """The choices of both planners at a submission time: seconds from then to the promised and the real ends.

    "walk" tries every allowed size in a frame; "largest" and "equal" are the other readings of the walk (`gas.walk`).
    Their columns are None if they found no request.
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
    largest_size: int | None
    largest_promised: int | None
    largest: int | None
    equal_size: int | None
    equal_promised: int | None
    equal: int | None


def comparisons(month: Month, policy: Policy = "s3") -> list[Comparison]:
    """Return the choices of both planners in place of each job, in order of submission."""
    found = []
    for one, simulation, app, asked in stops(month.jobs, month.placed, month.form, policy):
        sizes, times, walltimes = asked
        availability = simulation.availability()
        submit = int(month.jobs.submit[one.place])
        exact, walked = plan(app, availability).best, plan(app, availability, algorithm="walk").best
        assert exact is not None, "S³'s last frame is the whole machine, so every size has a slot"
        others = [_first(asked, availability, reading) for reading in (LARGEST, EQUAL)]
        chosen = {one.processors for one in (exact, walked) if one is not None} | {size for size, _ in others if size}
        rows = np.searchsorted(sizes, sorted(chosen))
        ends = simulation.outcomes(sizes[rows], walltimes[rows], times[rows])[:, 1] - submit
        real = dict(zip(sorted(chosen), ends.tolist(), strict=True))
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
                *(
                    value
                    for size, finish in others
                    for value in ((size, finish - submit, real[size]) if size else (None, None, None))
                ),
            )
        )
    return found


def _first(asked: Requests, availability: AvailabilityList, reading: int) -> tuple[int, int]:
    """Return size and finish of the request that finishes first in a reading of the walk; size 0 if it finds none."""
    anchors = np.empty(len(asked.sizes), np.int64)
    profile = availability.profile
    fastest(walk, len(profile.starts) * len(anchors))(
        profile, asked.sizes, asked.walltimes, availability.now, anchors, reading
    )
    finish = np.where(anchors == NEVER, ENDLESS, anchors + asked.times)
    best = int(finish.argmin())  # of equal ones, as the planner, that with the fewest processors
    return (0, 0) if anchors[best] == NEVER else (int(asked.sizes[best]), int(finish[best]))


def walk_run(configuration: Configuration, *, files: Mapping[str, str]) -> Result:
    """Return the comparisons of a month of a log; the arguments are those of `experiments.power.run.power_run`."""
    policy = configuration["policy"]
    return month_result(configuration, files, lambda month: map(asdict, comparisons(month, policy)))
