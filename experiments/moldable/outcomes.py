"""One moldable job at a time: what Gas does for its user (the Gas paper, section 5.2).

A month of a log is simulated with S³ once, unmodified. At each job that a benchmark replaces, the simulation stops: Gas
reads the availability list and plans, and each size that the benchmark accepts is simulated until the benchmark has
ended. So every run yields the outcomes of Gas's request, of the static one, and of the choice best in hindsight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import load_log
from experiments.framework.months import jobs_of_month
from experiments.moldable.benchmarks import Form, application, requests
from experiments.moldable.losses import Request, still_loses
from experiments.moldable.substitution import Substitute, TooFewJobs, load_ratio, substitutes
from gas.application import Application, Requests
from gas.planner import plan
from gas.simulation.schedule import Policy
from gas.simulation.simulate import Simulation, simulate
from workloads import RigidJobs, apply_overrun
from workloads.load import scale_interarrivals

__all__ = ["Month", "Outcome", "entropy", "month_result", "month_with_substitutes", "outcomes", "rows_of", "stops"]


class Stop(NamedTuple):
    """A job that a benchmark replaces; the simulation has stopped at its submission.

    Attributes
    ----------
    asked
        Sizes, execution times and walltimes of the benchmark on this machine.
    """

    substitute: Substitute
    simulation: Simulation
    application: Application
    asked: Requests


class Month(NamedTuple):
    """A month with its substitutes.

    Attributes
    ----------
    jobs
        Jobs of the month; preceded by those of the month before if the machine is warm at the beginning.
    first
        Index of the first job of the month.
    placed
        Substitutes of some jobs of the month.
    """

    jobs: RigidJobs
    first: int
    placed: list[Substitute]
    form: Form


class Predicting(NamedTuple):
    """Outcome of a Gas that predicts, where a benchmark replaces a job; turn-around times as in `Outcome`.

    Attributes
    ----------
    size
        Processors of the chosen request.
    watched, changes
        Turn-around time if Gas watches that request while it waits, and the number of changes of the request.
    watched_by_plans
        Turn-around time of the request of a Gas that does not predict, watched without predictions.
    """

    size: int
    watched: int
    changes: int
    watched_by_plans: int


Predicted: TypeAlias = Callable[[Stop, int], Predicting]
"""Returns the outcome of a Gas that predicts at a stop, given the size that is planned without predictions."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one substitute. Turn-around times are in seconds.

    Attributes
    ----------
    gas, static, best
        Turn-around times of Gas's request, of the static one, and of the best choice in hindsight.
    gas_size, static_size, best_size
        Their processors; of equally good choices, the fewest.
    promised
        Turn-around time that Gas expected.
    load_ratio
        Processor time of the month with the static request divided by that of the original month.
    user
        User of the replaced job; -1 if unknown.
    still_loses
        Where Gas lost: the worlds of `experiments.moldable.losses` in which it still loses.
    predicting, predicting_size
        Turn-around time and processors of the request of a Gas that predicts, if there was one.
    watched, changes, watched_by_plans
        See `Predicting`.
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
    load_ratio: float
    user: int
    still_loses: tuple[str, ...] = ()
    predicting: int | None = None
    predicting_size: int | None = None
    watched: int | None = None
    changes: int | None = None
    watched_by_plans: int | None = None

    @property
    def regret(self) -> int:
        """Seconds by which Gas's choice ends later than the best one in hindsight."""
        return self.gas - self.best


def stops(jobs: RigidJobs, placed: Sequence[Substitute], form: Form, policy: Policy) -> Iterator[Stop]:
    """Yield a stop for each substitute, in order of submission; the simulation continues with the original job."""
    at = {one.place: one for one in placed}
    simulation = Simulation(jobs, policy, ask=np.array(sorted(at), np.int64))
    while (place := simulation.run()) is not None:
        one = at[place]
        app = application(one.benchmark, one.problem_class, form)
        yield Stop(one, simulation, app, requests(app, jobs.machine))
        simulation.answer()


def outcomes(month: Month, policy: Policy = "s3", predicted: Predicted | None = None) -> list[Outcome]:
    """Return the outcome of each substitute alone in a month, in order of submission.

    Parameters
    ----------
    predicted
        Simulates a Gas that predicts.
    """
    jobs, first, placed, form = month
    schedule = simulate(jobs, policy)
    found = []
    for stop in stops(jobs, placed, form, policy):
        one, simulation, app, (sizes, times, walltimes) = stop
        best = plan(app, simulation.availability()).best
        assert best is not None, "S³'s last frame is the whole machine, so every size has a slot"
        submit = int(jobs.submit[one.place])
        turnaround = simulation.outcomes(sizes, walltimes, times)[:, 1] - submit
        by_size = dict(zip(sizes.tolist(), turnaround.tolist(), strict=True))
        asked: dict[int, Request] = {
            size: (size, limit, time)
            for size, limit, time in zip(sizes.tolist(), walltimes.tolist(), times.tolist(), strict=True)
        }
        gas, static = best.processors, one.static
        why: Sequence[str] = ()
        if by_size[gas] > by_size[static]:
            why = still_loses(jobs, schedule, one.place, asked[gas], asked[static], policy)
        hindsight = int(np.argmin(turnaround))
        made = Outcome(
            benchmark=one.benchmark,
            problem_class=one.problem_class,
            submit=submit,
            gas=by_size[gas],
            static=by_size[static],
            best=int(turnaround[hindsight]),
            gas_size=gas,
            static_size=static,
            best_size=int(sizes[hindsight]),
            promised=best.finish - submit,
            load_ratio=load_ratio(jobs, [one], form, first),
            user=int(jobs.user[one.place]),
            still_loses=tuple(why),
        )
        if predicted is not None:
            other = predicted(stop, gas)
            made = replace(
                made,
                predicting=by_size[other.size],
                predicting_size=other.size,
                watched=other.watched,
                changes=other.changes,
                watched_by_plans=other.watched_by_plans,
            )
        found.append(made)
    return found


def entropy(configuration: Configuration) -> list[int]:
    """Return a separate seed for each month of each log: months with the same draws would be one observation."""
    return [configuration["seed"], int(configuration["log"][:12], 16), int(configuration["month"].replace("-", ""))]


def rows_of(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return outcomes as stored in the ledger."""
    rows = [asdict(outcome) | {"still_loses": list(outcome.still_loses)} for outcome in found]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def month_result(
    configuration: Configuration,
    files: Mapping[str, str],
    come_of: Callable[[Month], Iterable[Mapping[str, Any]]],
) -> Result:
    """Return the result of a run of a month: outcomes of its substitutes, or why there are none.

    The first arguments are those of `experiments.power.run.power_run`.
    """
    try:
        month = month_with_substitutes(configuration, files)
    except TooFewJobs as error:
        return {"jobs": 0, "outcomes": [], "too_few": str(error)}
    return {"jobs": len(month.jobs), "outcomes": list(come_of(month))}


def month_with_substitutes(configuration: Configuration, files: Mapping[str, str]) -> Month:
    """Return the jobs of a month with substitutes for some of them; the arguments are those of `power_run`."""
    log = load_log(Path(files[configuration["log"]]), configuration["log"])
    jobs, first = jobs_of_month(log, configuration["month"], configuration["processors"], configuration["begin"])
    jobs = replace(jobs, submit=scale_interarrivals(jobs.submit, 1 / configuration["load"]))
    if configuration["estimates"] == "perfect":
        jobs = apply_overrun(jobs, "kill")  # the run time that each job had in the simulation, not in the log
        jobs = replace(jobs, estimate=np.maximum(jobs.run_time, 1))
    form = Form(**configuration["form"])
    placed = substitutes(
        jobs,
        configuration["runs"],
        mix=configuration["mix"],
        form=form,
        opponent=configuration["opponent"],
        generator=np.random.default_rng(entropy(configuration)),
        first=first,
    )
    return Month(jobs, first, placed, form)
