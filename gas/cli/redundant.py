"""``gas submit --redundant``: one job in the queues of several machines, which runs where it starts first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gas.agent.choice import Planned
from gas.agent.options import PlanOptions, Run
from gas.cli.jobs import wait_for_end
from gas.cli.tables import note, print_json, say, writing
from gas.errors import GasError

if TYPE_CHECKING:  # other submissions do not need these
    from gas.agent.agent import Agent
    from gas.agent.redundant import SubmittedRedundantly
    from gas.agent.submission import Submitted

__all__ = ["submit_redundantly"]


def submit_redundantly(
    agent: Agent,
    run: Run,
    options: PlanOptions,
    *,
    key: str | None,
    shared: Path | None,
    json: bool,
    wait: bool,
    before: Callable[[Planned], object],
    show_job: Callable[[Submitted], object],
) -> tuple[SubmittedRedundantly, dict[str, Any] | None]:
    """Submit, print the jobs, wait until one has started, and withdraw the others.

    Return the jobs, and with `wait` the one that ran, when it has ended.

    Parameters
    ----------
    before
        Prints the plan of the first request before anything is sent.
    show_job
        Prints a submitted job.
    """
    made = agent.submit_redundantly(run, options, key=key, shared=shared, before=before)
    known = "; ".join(f"job {one.reference}" for one in made.jobs)
    with writing(f"submitted: {known}"):
        if json:
            note(f"submitted: {known}")
        else:
            for one in made.jobs:
                show_job(one)

    def report(one: Submitted, job: dict[str, Any]) -> None:
        say_or_note(f"job {one.job['id']} on {one.scheduler} was withdrawn")

    say_or_note = note if json else say
    alone = len(made.jobs) + len(made.silent) == 1  # then there is nothing to withdraw
    if made.waits:
        _say_waiting(made, json=json)
    won = made.jobs[0] if alone else made.settle(report, note)
    if not json:
        with writing(f"job {won.reference} has started"):
            started = "" if alone else f"job {won.job['id']} on {won.scheduler} has started; "
            say(f"{started}follow it: gas wait {won.reference}")
    finished = wait_for_end(won.endpoint, int(won.job["id"]), quiet=json) if wait else None
    if json:
        with writing(f"job {won.reference} has started"):
            print_json(_to_wire(made, won, finished))
    return made, finished


def _say_waiting(made: SubmittedRedundantly, *, json: bool) -> None:
    """Tell what happens next, and what an interruption of the command would do."""
    text = "waiting until one of them starts: it runs the command, and the others are withdrawn"
    (note if json else say)(text)
    note(
        f"if you interrupt this, the jobs stay in the queues, and still only the first to start runs the command; to "
        f"continue, repeat it with --key {made.key}"
    )


def _to_wire(made: SubmittedRedundantly, won: Submitted, finished: dict[str, Any] | None) -> dict[str, Any]:
    """Return the JSON object of schema gas.redundant-submission/1, with the jobs as they are now."""
    jobs = [finished if one is won and finished is not None else _present(one) for one in made.jobs]
    return {
        "schema": "gas.redundant-submission/1",
        "key": made.key,
        "already": made.planned is None,
        "jobs": [
            {"scheduler": one.scheduler, "endpoint": one.endpoint.address, "job": job}
            for one, job in zip(made.jobs, jobs, strict=True)
        ],
        "runs": made.jobs.index(won),
        "plan": None if made.planned is None else made.planned.to_wire(),
    }


def _present(one: Submitted) -> dict[str, Any]:
    """Return a job as it is now, or as it was if its scheduler does not answer."""
    try:
        return one.endpoint.job(int(one.job["id"]))
    except GasError:
        return one.job
