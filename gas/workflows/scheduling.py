"""Finds the schedulers of a workflow, plans with them, and submits exactly once, with retries.

A workflow runs for days, and its schedulers are sometimes restarted, so requests are repeated until the patience runs
out. Repeating a submission is safe because the job has its own key.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gas.agent import schedulers
from gas.agent.agent import Agent
from gas.agent.options import PlanOptions
from gas.agent.schedulers import called
from gas.application import Application
from gas.endpoints import JobDescription, JobEndpoint, Request
from gas.errors import TooMany, Unreachable
from gas.planner import Candidate

__all__ = ["PATIENCE", "Planned", "job_endpoint", "job_of", "patiently", "plan_now", "submit_once"]

PATIENCE = 600.0
"""Seconds to wait for an answer: longer than a restart of the service, shorter than a night."""

log = logging.getLogger("gas.workflows")

T = TypeVar("T")


@dataclass(frozen=True)
class Planned:
    """The request that finishes first, and the name of its scheduler."""

    candidate: Candidate
    endpoint: str


def job_endpoint(name: str | None = None, config: Path | None = None) -> JobEndpoint:
    """Return a scheduler that accepts jobs: the named one, the one in $GAS_ENDPOINT, or the only one configured.

    Raises
    ------
    BadInput
        The scheduler is ambiguous, or accepts no jobs.
    """
    return schedulers.job_endpoint(name or _of_environment(), config)


def job_of(reference: str) -> tuple[JobEndpoint, int]:
    """Return the scheduler and the number of a job written ``12``, ``kth:12`` or ``http://127.0.0.1:8642:12``."""
    return schedulers.job_of(reference, None if ":" in reference else _of_environment(), None)


def _of_environment() -> str | None:
    return os.environ.get("GAS_ENDPOINT") or None


def plan_now(
    application: Application,
    endpoints: Sequence[str] = (),
    *,
    config: Path | None = None,
    stale_ok: bool = False,
    **constraints: Any,
) -> Planned:
    """Query the schedulers and return the request that finishes first.

    Parameters
    ----------
    endpoints
        Names or addresses; by default that of $GAS_ENDPOINT, or all of the configuration.
    stale_ok
        Whether to use stale lists (`gas.agent.schedulers`).
    constraints
        Options of `gas.agent.options.PlanOptions`: `deadline`, `tolerance` and so on.

    Raises
    ------
    Unreachable
        None of them answers.
    Infeasible
        No request is possible.
    """
    names = list(endpoints) or [name for name in (_of_environment(),) if name is not None]
    # Another process submits the plan; it knows the name of the scheduler, but not the account.
    options = PlanOptions(stale_ok=stale_ok, choices=False, deadline_may_have_passed=True, **constraints)
    agent = Agent(application, schedulers.chosen_endpoints(names, None, config), remark=_warn)
    answers = agent.gather(options)
    for answer in answers:
        if answer.error is not None:
            _warn(str(answer.error))
    if all(a.availability is None for a in answers):
        reasons = "; ".join(str(a.error) for a in answers)
        raise Unreachable(f"{application.name}: no scheduler answered: {reasons}")
    planned = agent.choose(answers, options)
    return Planned(planned.best, called(planned.endpoint))


def _warn(text: str) -> None:
    log.warning("%s", text)


def patiently(call: Callable[[], T], patience: float = PATIENCE) -> T:
    """Return the result of `call`; repeat the call while no scheduler answers, for at most `patience` seconds."""
    until, pause = time.monotonic() + patience, 0.5
    while True:
        try:
            return call()
        except (Unreachable, TooMany) as error:
            pause = error.retry_after if isinstance(error, TooMany) else min(30.0, pause * 2)
            if time.monotonic() + pause > until:
                raise
            log.warning("%s; trying again in %.0f s", error, pause)
            time.sleep(pause)


def submit_once(
    endpoint: JobEndpoint, request: Request, job: JobDescription, key: str, patience: float = PATIENCE
) -> dict[str, Any]:
    """Submit a job and return it; calls with the same key submit one job in total."""
    return patiently(lambda: endpoint.submit(request, job, key=key), patience)
