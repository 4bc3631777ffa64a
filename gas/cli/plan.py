"""``gas plan``: find, show and explain the request that finishes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gas.agent.choice import Planned, predicted, why_nothing
from gas.agent.schedulers import chosen_endpoints
from gas.application import Application
from gas.availability import NodeAvailability
from gas.cli.options import AvailabilityFiles, ConfigFile, Endpoints, Json, grouped
from gas.cli.planning import Everything, Explain, Planning, Plot, Spreading, agent_for, repeated
from gas.cli.scripts import Subject
from gas.cli.tables import draw_text, many, note, picture_width, print_json, print_table, say, wants_ascii, wants_colour
from gas.endpoints import Answer
from gas.errors import BadInput, GasError, Infeasible
from gas.planner import Candidate, Plan
from gas.times import duration_text, iso_time, relative_text

if TYPE_CHECKING:
    from gas.prediction.choice import PredictedPlan

__all__ = ["draw", "how_sure", "plan_command", "sentence", "show_plan", "without_predictions"]


@grouped
def plan_command(
    context: typer.Context,
    subject: Subject,
    *,
    endpoint: Endpoints = None,
    availability: AvailabilityFiles = None,
    planning: Planning,
    spreading: Spreading,
    explain: Explain = False,
    everything: Everything = False,
    plot: Plot = None,
    form: Annotated[
        Literal["sbatch", "psij", "submitit", "dask", "snakemake", "parsl"] | None,
        typer.Option("--as", help="Print only the best request, as options for the given program."),
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Find the request that finishes first.

    gas plan app.toml --explain

    gas plan --script job.sh --sizes 1,2,4,8 --time 8h,4h10m,2h20m,1h20m

    Compares all possible requests: every scheduler, number of processors and walltime. Gas keeps the #SBATCH options of
    a job script, except size and time limit. Without a gas.toml, Gas considers all partitions of the local Slurm.
    """
    planning.refuse_standard_input_of(subject)
    work = subject.work()
    app = work.app
    options = planning.options()
    chosen = chosen_endpoints(endpoint, availability, config, slurm_here=work.script is not None)
    agent = agent_for(work, chosen)
    spreading.refuse_without()
    if spreading.coallocate:
        if form is not None:
            raise BadInput(f"--as {form}: applies to one machine; leave it out, or --coallocate")
        from gas.cli.coallocation import plan_coallocated

        plan_coallocated(agent, options, spreading.spread(script=work.script is not None), json=json, plot=plot)
        return
    planned = agent.plan(options)
    answers, found = planned.answers, planned.plan
    if plot is not None:
        draw(found, answers, plot)
    if form is not None and found.best is not None:
        from gas.workflows.conversions import converted

        line = _line_of(app, planned)
        if form != "sbatch" and work.script is not None:
            raise BadInput(
                f"--as {form}: {work.script.path} is a job script, which already contains its options; --as sbatch "
                "prints the command that submits it"
            )
        if form == "sbatch" and line is not None:  # of a scheduler that knows its partition, account and unit
            words: Any = line
        else:
            words = converted(found, form, resources=planned.resources, not_before=planned.request.not_before)
        if isinstance(words, str):
            say(words)
        else:
            print_json(words)
    elif json:
        print_json(planned.to_wire())
    else:
        show_plan(found, answers, explain=explain, everything=everything)
        if found.best is not None and work.script is not None:
            if not (explain or everything):
                show_impossible_sizes(found)
            say(f'\n"processors" counts {work.counts} ({work.script.path})' if app.unit == "processors" else "")
            say(f"submit it: {repeated(context, 'submit')}")
            if (line := _line_of(app, planned)) is not None:
                say(f"or by hand: {line}")
    if found.best is None:
        raise Infeasible(why_nothing(found))
    if (by_likely := predicted(found)) is not None and not by_likely.predictions:
        raise GasError("--predict: no start could be predicted; the plan shown is by planned starts, as without it")


def _line_of(app: Application, planned: Planned) -> str | None:
    """Return the command that submits the best request by hand; None if its scheduler does not provide it."""
    return planned.endpoint.line(planned.request, app.name)


def sentence(candidate: Candidate, found: Plan) -> str:
    """Return a candidate in words."""
    start = relative_text(max(candidate.start, found.now), found.now)
    finish = relative_text(candidate.finish, found.now)
    verb = "starts" if candidate.kind == "promise" else "expected to start"
    what = f"{candidate.size_text} on {candidate.scheduler}, walltime {duration_text(candidate.walltime)}: "
    by_likely = predicted(found)
    if by_likely is not None and (likely := by_likely.predictions.get(candidate)) is not None:
        bound = "no later than" if candidate.kind == "promise" else "planned"
        _, between, *_ = when(candidate, found)
        decides = by_likely.score(candidate)
        by = "to finish" if by_likely.risk is None else f"{100 * by_likely.risk:g}% sure to finish"
        return (
            f"{what}predicted to start {relative_text(likely.start, found.now)} ({interval()}: {between}; "
            f"{bound} {start}), {by} {relative_text(decides, found.now)} ({iso_time(decides)})"
        )
    not_predicted = "" if by_likely is None else " (planned start, not predicted)"
    return f"{what}{verb} {start}{not_predicted}, finishes {finish} ({iso_time(candidate.finish)})"


def without_predictions(found: PredictedPlan) -> str:
    """Return in words how the planner's own choice differs from the choice by predictions."""
    best, planned = found.best, found.planned.best
    if not found.predictions:
        return "No start is predicted, so planned starts decide, as without --predict."
    if best is not None and planned is None:
        return "Without predictions there would be no request: none is planned to finish by the deadline."
    if best is None or planned is None or best == planned:
        return "Without predictions, the request would be the same."
    word = "promise" if {best.kind, planned.kind} == {"promise"} else "plan"
    by_plan = f"by {word} it finishes {_apart(planned.finish - best.finish)}"
    apart, risk = _apart(found.score(planned) - found.score(best)), found.risk
    if planned not in found.predictions:
        likely = f"{apart} than the above is {'predicted' if risk is None else f'{100 * risk:g}% sure'} to finish"
    else:
        likely = f"by prediction {apart}" if risk is None else f"{100 * risk:g}% sure to finish {apart}"
    return f"Planned starts alone would choose {planned.size_text} on {planned.scheduler}: {by_plan}, {likely}."


def how_certain(found: PredictedPlan) -> list[str]:
    """Return in words how likely the best request meets the deadline, and the cost of more certainty."""
    from gas.prediction.certainty import percent
    from gas.prediction.ledger import LEAST

    best, deadline = found.best, found.deadline
    if best is None or deadline is None:
        return []
    known, lines = found.certain.get(best), []
    if known is None:
        lines.append(f"The probability of finishing by {iso_time(deadline)} is not known: its start is not predicted.")
    else:
        sure, to_the_end = percent(known.share), percent(known.of_walltime)
        run = ", even if it uses all of its walltime"
        if sure != to_the_end:
            lasts = duration_text(best.execution_time)
            run = f" if it runs {lasts}, as its application file says; {to_the_end} if it uses all of its walltime"
        so_far = ""
        if unchecked(best, found):
            came = many(known.outcomes, "prediction")
            so_far = f" Not checked yet on {best.scheduler}: {came} of such waits with an outcome, {LEAST} needed."
        lines.append(f"{sure} sure to finish by {iso_time(deadline)}{run}.{so_far}")
    hours = counted(found)[1]
    several = len({one.scheduler for one in found.candidates}) > 1
    prices = [
        f"{percent(found.certain[one].share)} sure: {one.size_text}{f' on {one.scheduler}' if several else ''}, "
        f"{one.processor_seconds / 3600:.2f} {hours}"
        for one in found.prices
    ]
    if prices and found.prices != [best]:
        lines.append(f"Cheapest request that is {'; '.join(prices)}.")
    return lines


def learnt(found: PredictedPlan) -> list[str]:
    """Return in words the data behind the predictions of each scheduler, and the accuracy of its last ones."""
    lines = []
    for one in found.details.get("schedulers", ()):
        if one["name"] in found.unpredicted:
            continue
        queue = one["running"] + one["waiting"]
        known = queue - one["unknown_users"]
        of_users = f"{known:,} of the {queue:,} running and waiting jobs" if queue > 1 else "the only job in the queue"
        users = f"; the log contains jobs of the users of {of_users}" if known else ""  # if none: a remark says it
        jobs = many(one["history_jobs"], "job")
        lines.append(f"{one['name']}: learned from {jobs} of {one['history']} that ended before now{users}.")
        lines.append(f"{one['name']}: {found.ledgers[one['name']].coverage()}.")
        if one["name"] in found.unproven and (found.risk is not None or found.deadline is not None):
            lines.append(
                f"{one['name']}: not all of its predictions have been checked, unlike those of other schedulers; "
                "unchecked requests are compared by their planned starts."
            )
    return lines


def _apart(seconds: int) -> str:
    return f"{duration_text(abs(seconds))} {'later' if seconds >= 0 else 'sooner'}"


def show_plan(found: Plan, answers: Sequence[Answer], *, explain: bool = False, everything: bool = False) -> None:
    """Print the best request, the picture and the candidates.

    Remarks on the answers of all schedulers are part of an explanation; otherwise only those on the best request's
    scheduler are printed.

    Parameters
    ----------
    explain
        Print the undominated candidates rather than the first.
    everything
        Print the candidates, then all others, and every impossible size.
    """
    explain = explain or everything
    if found.best is not None:
        say(f"{found.application}: {sentence(found.best, found)}")
        if said := how_sure(found.best, answers):
            say(said)
        if (likely := predicted(found)) is not None:
            for line in how_certain(likely):
                say(line)
            say(without_predictions(likely))
            for line in learnt(likely):
                say(line)
        say()
        show_picture(found, answers)
    if explain:
        from gas.cli.candidates import show_impossible, show_trade_offs

        show_trade_offs(found, everything=everything)
    else:
        show_best_candidates(found)
    for answer in answers:
        if explain:
            for line in _to_know(answer):
                say(f"{answer.name}: {line}")
        elif found.best is not None and answer.name == found.best.scheduler:
            for remark in answer.remarks:
                note(f"{answer.name}: {remark}")
    if explain and found.rejected:
        say()
        show_impossible(found, everything=everything)


MOST_SHOWN = 12
"""Number of candidates printed without --all."""


def show_best_candidates(found: Plan) -> None:
    """Print the first candidates, always including the best."""
    shown = found.candidates[:MOST_SHOWN]
    if found.best is not None and found.best not in shown:
        shown[-1] = found.best
    if shown:
        best = shown.index(found.best) if found.best in shown else None
        size, hours = counted(found)
        columns = ["", "scheduler", size, "walltime", "runs", *when_titles(found, shown), hours]
        print_table(columns, [row_of(c, found) for c in shown], best=best, left=("", "scheduler"))
        explain_star(found, shown)
    if len(shown) < len(found.candidates):
        say(f"({len(found.candidates) - len(shown)} more candidates: --explain)")


def show_impossible_sizes(found: Plan) -> None:
    """Print the sizes of a job script at which no scheduler can run it, without the reasons."""
    sizes = sorted({one.processors for one in found.rejected} - {one.processors for one in found.candidates})
    if sizes:
        more = " ..." if len(sizes) > MOST_SHOWN else ""
        are = "is" if len(sizes) == 1 else "are"
        say(f"{many(len(sizes), 'size')} {are} impossible (--all): {', '.join(map(str, sizes[:MOST_SHOWN]))}{more}")


def explain_star(found: Plan, shown: Sequence[Candidate]) -> None:
    """Explain the star of probabilities below a table, if a row has one."""
    if (likely := predicted(found)) is not None and any(unchecked(one, likely) for one in shown):
        say("*: not checked yet, too few predictions of such waits have an outcome")


def row_of(candidate: Candidate, found: Plan) -> tuple[str, ...]:
    return (
        mark_of(candidate, found),
        candidate.scheduler,
        size_of(candidate),
        duration_text(candidate.walltime),
        duration_text(candidate.execution_time),
        *when(candidate, found),
        f"{candidate.processor_seconds / 3600:.2f}",
    )


def size_of(candidate: Candidate) -> str:
    """Return a size, with its layout if it has one."""
    layout = candidate.layout
    return str(candidate.processors) if layout is None or not layout.per_node else f"{candidate.processors} ({layout})"


def counted(found: Plan, *, narrow: bool = False) -> tuple[str, str]:
    """Return the titles of the column of sizes, and of the column of their use."""
    units = [*(one.unit for one in found.candidates), *(one.unit for one in found.rejected)]
    unit = units[0] if units else "processors"
    size, hours = {"gpus": ("GPUs", "GPU-hours"), "nodes": ("nodes", "node-hours")}.get(
        unit, ("proces-\nsors" if narrow else "processors", "proc-hours")
    )
    return size, hours.replace("hours", "h") if narrow else hours


def mark_of(candidate: Candidate, found: Plan) -> str:
    return "" if candidate != found.best else ">" if wants_ascii() else "→"


def when_titles(found: Plan, shown: Sequence[Candidate]) -> list[str]:
    likely = predicted(found)
    if likely is None:
        return ["starts", "finishes"]
    promises = all(c.kind == "promise" for c in shown)
    finishes = "finishes" if likely.risk is None else f"{100 * likely.risk:g}% sure\nto finish"
    titles = ["starts", f"{interval()}\nof starts", "no later\nthan" if promises else "planned", finishes]
    return titles if likely.deadline is None else [*titles, IN_TIME]


UNKNOWN = "?"
"""The text for an unknown probability."""

IN_TIME = "in\ntime"
"""The title of the column of probabilities to meet the deadline."""


def in_time(candidate: Candidate, found: PredictedPlan) -> str:
    """Return the probability that a request meets the deadline, marked if it is not yet checked."""
    from gas.prediction.certainty import percent

    if candidate not in found.certain:
        return UNKNOWN
    return percent(found.certain[candidate].share) + "*" * unchecked(candidate, found)


def unchecked(candidate: Candidate, found: PredictedPlan) -> bool:
    """Return whether a request's probability is not yet checked: too few predictions have an outcome."""
    known, made = found.certain.get(candidate), found.predictions.get(candidate)
    return known is not None and known.share < 1 and made is not None and not made.checked


def when(candidate: Candidate, found: Plan) -> tuple[str, ...]:
    """Return start and finish of a candidate; for a prediction also the interval, and the latest instant.

    The finish is the one by which candidates are compared.
    """
    start = relative_text(max(candidate.start, found.now), found.now)  # a prediction may take some seconds
    finish = relative_text(candidate.finish, found.now)
    by_likely = predicted(found)
    if by_likely is None:
        return start, finish
    likely = by_likely.predictions.get(candidate)
    sure = () if by_likely.deadline is None else (in_time(candidate, by_likely),)
    if likely is None:
        return start, "not predicted", start, finish if by_likely.risk is None else UNKNOWN, *sure
    low, high = relative_text(likely.start_low, found.now), relative_text(likely.start_high, found.now)
    between = low if low == high else f"{low} to {high.removeprefix('in ')}"
    decides = relative_text(by_likely.score(candidate), found.now)
    return relative_text(likely.start, found.now), between, start, decides, *sure


def interval() -> str:
    """Return the probability of the interval in which starts are predicted, in percent."""
    from gas.prediction.ledger import INTERVAL

    return f"{INTERVAL:.0%}"


def how_sure(candidate: Candidate, answers: Sequence[Answer]) -> str:
    """Return in a sentence how its scheduler will treat a request; empty if nothing is known."""
    for answer in answers:
        if answer.name == candidate.scheduler and isinstance(answer.availability, NodeAvailability):
            words = answer.availability.said(candidate.processors, candidate.walltime, candidate.layout)
            return f"{words}." if words else ""
    return ""


def _to_know(answer: Answer) -> list[str]:
    """Return remarks on the plan that are not in its table."""
    speed = answer.limits.speed
    return [*([] if speed == 1 else [f"runs it {speed:g} times as fast as its file says"]), *answer.remarks]


def show_picture(found: Plan, answers: Sequence[Answer]) -> None:
    """Print the availability of the best candidate's scheduler, with the candidate in it."""
    from gas.pictures.terminal import availability_picture

    best, called = found.best, "best"
    likely = predicted(found)
    if likely is not None and best is not None and best in likely.predictions:
        called = "best, at the latest" if best.kind == "promise" else "best, as planned"
    for answer in answers:
        if best is not None and answer.availability is not None and answer.name == best.scheduler:
            draw_text(
                availability_picture(
                    answer.availability,
                    width=picture_width(),
                    colour=wants_colour(),
                    best=best,
                    called=called,
                    ascii=wants_ascii(),
                )
            )
            say()


def draw(found: Plan, answers: Sequence[Answer], path: str) -> None:
    """Draw the plan into a file."""
    from gas.pictures.plan import draw_plan

    draw_plan(found, [a.availability for a in answers if a.availability is not None], path, starts=found.likely_starts)
    note(f"drawn: {path}")
