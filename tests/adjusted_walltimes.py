"""A simulation that requests the adjusted walltime of each job, and gets it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st
from small_logs import disturbed_logs, random_log

from gas.simulation.schedule import ADJUSTMENTS, QUEUES
from gas.simulation.simulate import Simulation

__all__ = ["WINDOW", "adjusted_logs", "answered", "asking", "each_adjustment", "each_rule", "random_adjusted_log"]

each_adjustment = pytest.mark.parametrize("adjustment", ADJUSTMENTS)


each_rule = pytest.mark.parametrize(
    ("adjustment", "queue"), [(a, q) for a in (None, *ADJUSTMENTS) for q in QUEUES if (a, q) != (None, "fcfs")]
)


def asking(case, adjustment, queue="fcfs", machine_code=False):
    return Simulation(
        case.jobs,
        "easy",
        queue=queue,
        adjustment=adjustment,
        ask=range(len(case.rows)),
        machine_code=machine_code,
        **case.beside,
    )


def answered(simulation, adjusted):
    """Return the schedule of a simulation continued to its end, given the adjusted walltime of each job."""
    while (place := simulation.run()) is not None:
        simulation.answer(adjusted=None if simulation.adjustment is None else adjusted[place])
    return simulation.schedule()


# On two processors: the head needs both from second 1 on, and one is held until 10.
WINDOW = [(0, 1, 10, 10), (1, 2, 5, 5)]


@st.composite
def adjusted_logs(draw):
    """Return a case without reservations, and a walltime for each of its jobs, often much too short."""
    case = replace(draw(disturbed_logs(most_jobs=14, most_processors=8)), reservations=())
    shares = draw(st.lists(st.sampled_from([0, 0.2, 0.5, 0.8, 1]), min_size=len(case.rows), max_size=len(case.rows)))
    return case, [max(1, round(row[2] * share)) for row, share in zip(case.rows, shares, strict=True)]


def random_adjusted_log(seed, **options):
    """Return such a case made from a seed, without cancellations."""
    case = random_log(seed, **options)
    shares = np.random.default_rng(seed).choice([0, 0.2, 0.5, 0.8, 1], len(case.rows))
    return case, [max(1, round(row[2] * share)) for row, share in zip(case.rows, shares, strict=True)]
