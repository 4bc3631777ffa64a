"""`plan` and `submit` in one call, with ordinary Python values: file names, "5%", a ``datetime``."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast

from documents.fields import nearest
from gas.agent.agent import Agent
from gas.agent.options import AUTO, Forecasting, PlanOptions, Run
from gas.agent.values import (
    ApplicationLike,
    SchedulerLike,
    Share,
    When,
    all_at_hand,
    application_of,
    gas_errors_alone,
    history_of,
    instant_of,
    schedulers_of,
    seconds_of,
    share_of,
)
from gas.endpoints import JobDescription
from gas.errors import BadInput
from gas.planner import Algorithm, Limits, Plan

if TYPE_CHECKING:  # a plan alone needs neither
    from gas.agent.futures import JobFuture
    from gas.prediction.history import History
    from workloads import Log

__all__ = ["Wanted", "agent_and_options", "plan", "submit", "with_wanted"]


class Wanted(TypedDict, total=False):
    """The options of a plan, each as a keyword; see `plan`."""

    not_before: When | None
    deadline: When | None
    max_processor_hours: float | None
    tolerance: Share
    algorithm: Algorithm
    probes: int
    predict: Literal["auto"] | History | Log | str | os.PathLike[str] | None
    risk: Share | None
    sure: Share | None
    samples: int | None
    seed: int
    stale_ok: bool
    limits: Mapping[str, Limits] | None
    config: str | os.PathLike[str] | None
    remark: Callable[[str], object] | None


_DEFAULTS: Wanted = {
    "not_before": None,
    "deadline": None,
    "max_processor_hours": None,
    "tolerance": 0.0,
    "algorithm": "exact",
    "probes": 0,
    "predict": None,
    "risk": None,
    "sure": None,
    "samples": None,
    "seed": 0,
    "stale_ok": False,
    "limits": None,
    "config": None,
    "remark": None,
}

_Called = TypeVar("_Called", bound=Callable[..., Any])


def with_wanted(function: _Called) -> _Called:
    """Show the keywords of `Wanted` one by one in the signature of a function."""
    own = inspect.signature(function)
    given = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    wanted = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, default in _DEFAULTS.items()
    ]
    function.__signature__ = own.replace(parameters=[*given, *wanted])  # type: ignore[attr-defined]
    return function


@with_wanted
def plan(
    application: ApplicationLike,
    schedulers: SchedulerLike | Iterable[SchedulerLike] | None = None,
    **wanted: Unpack[Wanted],
) -> Plan:
    """Find the request that finishes first.

    ::

        gas.plan("ocean.toml", "cluster.json", tolerance="5%", deadline="18:30", stale_ok=True).best
        gas.plan({16: "4h", 64: timedelta(hours=1)}, ["http://127.0.0.1:8642", "kth"])

    Parameters
    ----------
    application
        The name of an application file, an `Application`, or the walltime of each size.
    schedulers
        One or several: the name of a file, an `AvailabilityList`, the address of an S³, a name in the configuration,
        or an endpoint. Without them, those of ``$GAS_ENDPOINT``, or of the configuration.
    not_before, deadline
        Earliest start, and latest expected finish: a ``datetime`` (local unless it has a time zone), a ``timedelta``
        from now, text as on the command line ("18:30", "+2h"), or epoch seconds.
    max_processor_hours
        Upper limit on processors × execution time, in hours.
    tolerance
        "5%" or 0.05 takes the fewest processors among the requests within 5% of the best turn-around time.
    algorithm
        "exact", or "walk" for the paper's own search.
    probes
        Number of real jobs, cancelled at once, whose planned starts Gas reads from Slurm.
    predict
        Choose by predicted starts, learned from each scheduler's past jobs ("auto") or from a log: its name, a `Log`
        or a `History`.
    risk
        With `predict`: "90%" chooses by the finish that is met with this probability.
    sure
        With `predict` and `deadline`: "95%" takes the cheapest request that meets the deadline with this probability.
    samples, seed
        With `predict`: how often the queue is simulated, and the seed.
    stale_ok
        Also use stale lists in files (more than an hour old). A list given as an object is planned as of its own
        instant, unless it is one of several.
    limits
        Limits per request of schedulers that are given as lists, by name.
    config
        The configuration, if not the usual one.
    remark
        Called with remarks; by default they are logged as warnings of ``gas.agent``.

    Returns
    -------
    Plan
        `best` is None if no request is possible; `rejected` gives the reasons.

    Raises
    ------
    GasError
        An argument is invalid (`BadInput`), or no scheduler answers (`Unreachable`).
    """
    with gas_errors_alone():
        agent, options = agent_and_options(application, schedulers, wanted)
        return agent.plan(options).plan


@with_wanted
def submit(
    application: ApplicationLike,
    command: Run | JobDescription | Sequence[str] | None,
    schedulers: SchedulerLike | Iterable[SchedulerLike] | None = None,
    *,
    key: str | None = None,
    name: str | None = None,
    directory: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    native: Sequence[str] = (),
    notice: timedelta | str | int | None = None,
    **wanted: Unpack[Wanted],
) -> JobFuture:
    """Submit the request that finishes first, and return a future of its job.

    ::

        job = gas.submit("ocean.toml", ["./ocean", "-n", "{processors}"], "http://127.0.0.1:8642")
        job.result()                            # waits; a job that fails raises JobFailed

    Parameters
    ----------
    application, schedulers, wanted
        As for `plan`.
    command
        A list of words; Gas replaces ``{processors}`` and other placeholders by the chosen values. None runs no
        command, but holds the processors for the expected execution time, on a scheduler that can simulate a job.
    key
        Idempotency key: all submissions with the same key create one job in total.
    name
        Name of the job; by default that of the application.
    directory
        Working directory; by default the current one, if the scheduler is on this machine.
    environment
        Environment variables, in addition to those that the scheduler sets.
    native
        Options to pass to the scheduler: ``["--account=abc"]``.
    notice
        On S³: offer earlier starts instead of moving the job, with this time to answer: "10m", a ``timedelta`` or
        seconds. See `offer`, `accept_offer` and `decline_offer` of the future.

    Raises
    ------
    Infeasible
        No request is possible.
    GasError
        As for `Agent.submit`.
    """
    from gas.agent.futures import JobFuture

    with gas_errors_alone():
        agent, options = agent_and_options(application, schedulers, wanted)
        run = _run(command, name or agent.application.name)
        job = replace(
            run.job,
            name=name or run.job.name,
            directory=run.job.directory if directory is None else os.fspath(directory),
            environment={**run.job.environment, **(environment or {})},
            native=(*run.job.native, *native),
            notice=run.job.notice if notice is None else _notice(notice),
        )
        return JobFuture(agent.submit(replace(run, job=job), options, key=key), remark=wanted.get("remark"))


def _notice(given: timedelta | str | int) -> int:
    from gas.agent.offering import checked_notice

    return checked_notice(seconds_of(given, "notice"), f"notice {given}")


def agent_and_options(
    application: ApplicationLike, schedulers: SchedulerLike | Iterable[SchedulerLike] | None, wanted: Wanted
) -> tuple[Agent, PlanOptions]:
    """Return the agent of an application, and the options of its plans."""
    for name in wanted:
        if name not in _DEFAULTS:
            raise TypeError(f"unexpected keyword argument {name!r}{nearest(name, _DEFAULTS)}")
    given = cast(Wanted, {**_DEFAULTS, **wanted})
    found = schedulers_of(schedulers, config=given["config"], limits=given["limits"])
    options = PlanOptions(
        instant_of(given["not_before"], "not_before"),
        instant_of(given["deadline"], "deadline"),
        _number(given["max_processor_hours"], "max_processor_hours"),
        share_of(given["tolerance"], "tolerance"),
        given["algorithm"],
        given["probes"],
        _forecasting(given),
        given["stale_ok"] or all_at_hand(found),
    )
    return Agent(application_of(application), found, remark=given["remark"]), options


def _forecasting(given: Wanted) -> Forecasting | None:
    past, samples = given["predict"], given["samples"]
    if past is None:
        for name, value in (("risk", given["risk"]), ("sure", given["sure"]), ("samples", samples)):
            if value is not None:
                raise BadInput(f'{name} {value}: applies to predictions; add predict="auto", or leave it out')
        return None
    history = None if isinstance(past, str) and past == AUTO else history_of(past)
    risk = None if given["risk"] is None else share_of(given["risk"], "risk")
    sure = None if given["sure"] is None else share_of(given["sure"], "sure")
    return Forecasting(history, risk, samples, given["seed"], sure)


def _number(given: float | None, what: str) -> float | None:
    """Return a number, checked to be one."""
    if given is not None and (isinstance(given, bool | str) or not isinstance(given, int | float)):
        raise BadInput(f"{what} {given!r}: must be a number")
    return given


def _run(command: Run | JobDescription | Sequence[str] | None, name: str) -> Run:
    return Run(JobDescription(name), simulate=True) if command is None else Run.of(command, name)
