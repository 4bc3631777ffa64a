"""``gas submit --redundant``: one job in the queues of several machines, which runs where it starts first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gas.agent.choice import Planned
from gas.agent.options import PlanOptions, Run
from gas.cli.tables import note, print_json, say, writing
from gas.printable import many

if TYPE_CHECKING:  # other submissions need none of them
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
    before: Callable[[Planned], object],
    show_job: Callable[[Submitted], object],
) -> Submitted:
    """Submit, print the jobs, wait until one has started, and withdraw the others; return the one that runs.

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
    others = len(made.jobs) - 1
    if others and made.winner is None:
        _say_waiting(made, json=json)

    def report(one: Submitted, job: dict[str, Any]) -> None:
        say_or_note(f"job {one.job['id']} on {one.scheduler} was withdrawn")

    say_or_note = note if json else say
    won = made.settle(report, note)
    with writing(f"job {won.reference} has started"):
        if json:
            print_json(_to_wire(made, won))
        else:
            say(f"job {won.job['id']} on {won.scheduler} has started; follow it: gas wait {won.reference}")
    return won


def _say_waiting(made: SubmittedRedundantly, *, json: bool) -> None:
    """Tell what happens next, and what if the command is interrupted."""
    which = "one of them" if len(made.jobs) > 2 else "either of them"
    text = f"waiting until {which} starts; the command runs there only, and the rest of the jobs are withdrawn"
    (note if json else say)(text)
    note(
        f"if you interrupt this, {many(len(made.jobs), 'job')} stay in the queues, and those that start late run "
        f"nothing; the same command with --key {made.key} continues"
    )


def _to_wire(made: SubmittedRedundantly, won: Submitted) -> dict[str, Any]:
    """Return the JSON object of schema gas.redundant-submission/1."""
    return {
        "schema": "gas.redundant-submission/1",
        "key": made.key,
        "already": made.planned is None,
        "jobs": [{"scheduler": one.scheduler, "endpoint": one.endpoint.address, "job": one.job} for one in made.jobs],
        "runs": made.jobs.index(won),
        "plan": None if made.planned is None else made.planned.to_wire(),
    }
