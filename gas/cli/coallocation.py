"""``--coallocate`` of ``gas plan`` and ``gas submit``: one application on several machines that start together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gas.agent.options import PlanOptions, Run
from gas.cli.tables import (
    draw_text,
    note,
    picture_width,
    print_json,
    print_table,
    say,
    try_output,
    wants_ascii,
    wants_colour,
    writing,
)
from gas.times import duration_text, iso_time, relative_text

if TYPE_CHECKING:  # planning for one machine does not need these
    from gas.agent.agent import Agent
    from gas.agent.coallocating import SubmittedTogether
    from gas.agent.spreading import PlannedTogether, Spread
    from gas.coallocation import CoallocatedPlan, Coallocation

__all__ = ["plan_coallocated", "submit_coallocated"]

MOST_SHOWN = 12
"""Number of combinations that are printed."""


def plan_coallocated(agent: Agent, options: PlanOptions, spread: Spread, *, json: bool, plot: str | None) -> None:
    """Plan on one or several machines, and print the plan."""
    planned = agent.plan_together(options, spread)
    if plot is not None:
        _draw(planned, plot)
    if json:
        print_json(planned.to_wire())
    else:
        _show(planned)
    _ = planned.best  # raises `Infeasible` if there is none


def submit_coallocated(
    agent: Agent, run: Run, options: PlanOptions, spread: Spread, *, key: str | None, json: bool, plot: str | None
) -> None:
    """Submit to the combination of machines that finishes first, and print the jobs."""

    def before(planned: PlannedTogether) -> None:
        with writing("nothing was submitted"):
            try_output() if json else say(_sentence(planned.best, planned.plan))

    made = agent.submit_together(run, options, spread, key=key, before=before)
    known = "; ".join(f"job {one.reference}" for one in made.jobs)
    with writing(f"submitted: {known}"):
        if json:
            print_json(_to_wire(made))
        elif made.planned is None:
            states = "; ".join(f"job {one.reference} ({one.job['state']})" for one in made.jobs)
            say(f"{agent.application.name}: submitted already: {states}")
        else:
            now = made.planned.plan.now_of(made.planned.best)
            for one in made.jobs:
                say(f"job {one.job['id']} on {one.scheduler}, promised to start {_when(one.job['promise'], now)}")
            them = "them" if len(made.jobs) > 1 else "it"
            say(f"follow {them}: {'; '.join(f'gas wait {one.reference}' for one in made.jobs)}")
    if plot is not None and made.planned is not None:
        _draw(made.planned, plot)


def _to_wire(made: SubmittedTogether) -> dict[str, Any]:
    """Return the JSON object of schema gas.coallocated-submission/1."""
    return {
        "schema": "gas.coallocated-submission/1",
        "key": made.key,
        "already": made.planned is None,
        "attempts": made.attempts,
        "jobs": [{"scheduler": one.scheduler, "endpoint": one.endpoint.address, "job": one.job} for one in made.jobs],
        "plan": None if made.planned is None else made.planned.to_wire(),
    }


def _when(instant: int, now: int) -> str:
    return f"{relative_text(instant, now)} ({iso_time(instant)})"


def _sentence(best: Coallocation, found: CoallocatedPlan) -> str:
    """Return the best request in words, and why it uses several machines or one."""
    now = found.now_of(best)
    start, finish = relative_text(best.start, now), _when(best.finish, now)
    verb = "starts" if best.parts[0].kind == "promise" else "expected to start"
    walltime = duration_text(best.walltime)
    first = f"{found.single.application}: {best.size_text}, walltime {walltime}: {verb} {start}, finishes {finish}"
    return f"{first}\n{found.why[0].upper()}{found.why[1:]}."


def _show(planned: PlannedTogether) -> None:
    """Print the best request, its parts on their machines, and the other combinations."""
    found = planned.plan
    best = found.best
    if best is not None:
        say(_sentence(best, found))
        if len(best.parts) > 1:
            say(f"It is assumed to run {100 * (found.cost - 1):.0f}% longer on several machines (--boundary).")
        say()
        _show_parts(planned, best)
    mark, shown = ">" if wants_ascii() else "→", found.combinations[:MOST_SHOWN]
    rows = [
        (
            mark if one == best else "",
            ", ".join(f"{part.processors} on {part.scheduler}" for part in one.parts),
            str(one.processors),
            duration_text(one.walltime),
            duration_text(one.execution_time),
            relative_text(one.start, found.now_of(one)),
            relative_text(one.finish, found.now_of(one)),
            f"{one.processor_seconds / 3600:.2f}",
        )
        for one in (*shown, found.alone)
        if one is not None
    ]
    if rows:
        columns = ["", "machines", "processors", "walltime", "runs", "starts", "finishes", "proc-hours"]
        print_table(columns, rows, best=0, left=("", "machines"))
    for name, why in found.left_out.items():
        note(f"{name}: excluded from combinations: {why}")


def _show_parts(planned: PlannedTogether, best: Coallocation) -> None:
    """Print the free processors of each participating machine, with its part."""
    from gas.pictures.terminal import availability_picture

    look: dict[str, Any] = {"width": picture_width(), "colour": wants_colour(), "ascii": wants_ascii()}
    for part in best.parts:
        for answer in planned.answers:
            if answer.availability is not None and answer.name == part.scheduler:
                draw_text(availability_picture(answer.availability, best=part, called="best", **look))
                say()


def _draw(planned: PlannedTogether, path: str) -> None:
    """Draw the parts on their machines into a file."""
    from gas.pictures.plan import draw_plan

    best = planned.plan.best
    lists = [a.availability for a in planned.answers if a.availability is not None]
    draw_plan(planned.plan.single, lists, path, parts=() if best is None else best.parts)
    note(f"drawn: {path}")
