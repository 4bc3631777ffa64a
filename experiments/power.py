"""One moldable job at a time: what Gas does for its user (the Gas paper, section 5.2).

A month of a log goes through S³ once, unmodified. Where a job gives way to a benchmark, the simulation stands still:
Gas reads the availability list and plans, and each size that the benchmark accepts is followed until the benchmark has
ended there. So every run knows what Gas got, what the static request got, and which choice was best in hindsight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.benchmarks import Form, application, requests
from experiments.substitution import Substitute
from gas.planner import plan
from gas.simulation.schedule import Policy
from gas.simulation.simulate import Simulation
from workloads import RigidJobs

__all__ = ["Outcome", "outcomes"]


@dataclass(frozen=True)
class Outcome:
    """What came of one substitute. Turn-around times are in seconds, from its submission to its end.

    Attributes
    ----------
    gas, static, best
        Turn-around time of Gas's request, of the static one, and of the best choice in hindsight.
    gas_size, static_size, best_size
        Their processors; of choices that are equally good the fewest.
    promised
        Turn-around time that Gas expected.
    """

    benchmark: str
    problem_class: str
    submit: int
    gas: int
    static: int
    best: int
    gas_size: int
    static_size: int
    best_size: int
    promised: int

    @property
    def regret(self) -> int:
        """Seconds that Gas's choice cost beside the best in hindsight."""
        return self.gas - self.best


def outcomes(jobs: RigidJobs, placed: list[Substitute], form: Form, policy: Policy = "s3") -> list[Outcome]:
    """Return what comes of each substitute alone in the jobs, in order of submission."""
    at = {one.place: one for one in placed}
    simulation = Simulation(jobs, policy, ask=np.array(sorted(at), np.int64))
    found = []
    while (place := simulation.run()) is not None:
        one = at[place]
        app = application(one.benchmark, one.problem_class, form)
        sizes, times, walltimes = requests(app, jobs.machine)
        best = plan(app, simulation.availability()).best
        assert best is not None, "S³'s last frame is the whole machine, so every size has a slot"
        submit = int(jobs.submit[place])
        turnaround = simulation.outcomes(sizes, walltimes, times)[:, 1] - submit
        by_size = dict(zip(sizes.tolist(), turnaround.tolist(), strict=True))
        hindsight = int(np.argmin(turnaround))
        found.append(
            Outcome(
                one.benchmark,
                one.problem_class,
                submit,
                by_size[best.processors],
                by_size[one.static],
                int(turnaround[hindsight]),
                best.processors,
                one.static,
                int(sizes[hindsight]),
                best.finish - submit,
            )
        )
        simulation.answer()
    return found
