"""The report of a replay: what would have changed, who would have lost, and what is unknown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.framework.columns import Shown, numbered, table_of
from experiments.framework.origin import Origin, origin_section, thanks
from experiments.framework.sites import Site
from experiments.replay.pictures import draw_over_time, draw_sizes, draw_waits
from experiments.replay.results import Replayed, Row
from experiments.replay.run import CORRECTED, LATER, RECORD, SIZES
from gas.pictures.dates import window_text
from gas.printable import many
from gas.report.blocks import Block, Bullets, Picture, Report, Section, Text
from gas.times import duration_text

__all__ = ["replay_report"]

_EASY, _SAME = "easy", "same"

_MEANING = (
    f"Later and sooner: share of the jobs that end more than {LATER} s later or sooner. Change: change of the mean "
    "response time (submission to end), ± half the width of a 90% interval over months if the log has at least four."
)
_NOT_KNOWN = (
    "Users would have behaved differently: when they wait less, they submit more. Here each job is submitted at its "
    "recorded time.",
    "The log does not show partitions, limits, priorities, fair share, reservations, dependencies, down nodes, memory "
    "and GPUs. In the simulation, all jobs run on one machine of equal processors. The difference between the record "
    "and EASY on the same machine shows how much this matters.",
    "The simulated machine is empty at the beginning of the log, so the first jobs wait less than recorded.",
    "Failed and cancelled jobs run as long as in the log.",
)
_MOLDABLE = (
    "The log does not show how jobs scale. Moldable jobs are therefore drawn at random, with speed-ups drawn from the "
    "survey of Cirne and Berman (2001). Gas chooses the size of each from the availability list at its submission; "
    "the recorded request is among its choices. The results show what such a share of moldable jobs would change, not "
    "what your users would gain."
)


def replay_report(study: Replayed, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    log, options = study.base.log, study.options
    site = Site(log.source.trace, log.source.processors, (), 0)
    sections = [Section("With other policies", _with_policies(study))]
    if changed := study.changed("processors"):
        sections.append(Section("With fewer or more processors", _with_sizes(study, changed)))
    if changed := study.changed("walltimes"):
        sections.append(Section("With other walltimes", _with_walltimes(study, changed)))
    if changed := study.changed("moldable"):
        sections.append(Section("With moldable jobs", _with_moldable(study, changed)))
    sections += [
        Section("Who loses", _who_loses(study)),
        Section("Limits", (Bullets(_NOT_KNOWN),)),
        Section("The log", (Bullets(tuple(_of_log(study))), *thanks([log]))),
        origin_section([(site, log)], origin),
    ]
    dates = _dates(study)
    title = f"{log.name}: {log.source.processors:,} processors{f', {dates}' if dates else ''}"
    banner = f"A policy failed and is left out: {'; '.join(study.failed)}." if study.failed else ""
    chosen = [
        *options.months,
        *(f"{name} {day}" for name, day in (("from", options.since), ("until", options.until)) if day),
    ]
    lead = _lead(study) + (f" Only jobs of: {', '.join(chosen)}." if chosen else "")
    return Report(f"Replay of {title}", lead, tuple(sections), banner)


def _dates(study: Replayed) -> str:
    if not study.rows:
        return ""
    edges = study.rows[0].result["edges"]
    return window_text(edges[0], edges[-1], study.base.log.header.epoch)


def _lead(study: Replayed) -> str:
    record, policies = study.record, study.policies
    jobs = max((row.result["jobs"] for row in study.rows), default=0)
    if not jobs:
        return "No job could be simulated."
    if record is None:
        text = f"The log has no start times for its {many(jobs, 'job')}, so there is no record to compare with. "
    else:
        text = f"{many(jobs, 'job')} waited {_hours(record.figures['mean_wait'])} on average, as recorded. "
    means = "; ".join(f"{row.run.name} {_hours(row.figures['mean_wait'])}" for row in policies)
    text += f"Mean wait in simulations of the same jobs on the same machine: {means}. "
    if record is not None:
        shares = [(row.run.name, beside["later"]) for row in policies if (beside := row.beside(RECORD)) is not None]
        later = "; ".join(f"{name} {share:.0%}" for name, share in shares)
        text += f"Share of jobs that end more than a minute later than recorded: {later}. "
    return text + "Read the section “Limits” before you draw conclusions."


def _hours(seconds: float) -> str:
    return duration_text(round(seconds))


def _beside(row: Row, other: str, key: str) -> str:
    beside = None if row.run.is_base and row.run.name == other else row.beside(other)
    return "-" if beside is None else f"{beside[key]:.1%}"


def _change(row: Row, other: str) -> str:
    beside = None if row.run.is_base and row.run.name == other else row.beside(other)
    if beside is None:
        return "-"
    width = "" if beside["half_width"] is None else f" ± {beside['half_width'] / 60:,.0f}"
    return f"{beside['change'] / 60:+,.0f}{width}"


_FIGURES: Sequence[Shown[Row]] = (
    Shown("jobs", lambda row: f"{row.result['jobs']:,}"),
    Shown("mean", lambda row: _hours(row.figures["mean_wait"]), "wait"),
    Shown("median", lambda row: _hours(row.figures["median_wait"]), "wait"),
    Shown("95%", lambda row: _hours(row.figures["wait_95"]), "wait"),
    Shown("bounded slowdown", lambda row: f"{row.figures['mean_bounded_slowdown']:,.1f}"),
    Shown("utilization", lambda row: f"{row.figures['utilization']:.1%}"),
)
_AGAINST_RECORD: Sequence[Shown[Row]] = (
    Shown("later", lambda row: _beside(row, RECORD, "later"), "compared with the record"),
    Shown("sooner", lambda row: _beside(row, RECORD, "sooner"), "compared with the record"),
    Shown("change (min)", lambda row: _change(row, RECORD), "compared with the record"),
)
_AGAINST_SAME: Sequence[Shown[Row]] = (
    Shown("later", lambda row: _beside(row, _SAME, "later"), "compared with the unchanged log under the same policy"),
    Shown("sooner", lambda row: _beside(row, _SAME, "sooner"), "compared with the unchanged log under the same policy"),
    Shown("change (min)", lambda row: _change(row, _SAME), "compared with the unchanged log under the same policy"),
)
_POLICY: Sequence[Shown[Row]] = (Shown("policy", lambda row: row.run.name, left=True),)
_CHANGE: Sequence[Shown[Row]] = (Shown("changed", lambda row: row.change or "nothing", left=True),)


def _with_policies(study: Replayed) -> tuple[Block, ...]:
    record = [study.record] if study.record is not None else []
    rows = [*record, *study.policies]
    if not rows:
        return (Text("Nothing could be simulated."),)
    epoch = study.base.log.header.epoch
    return (
        table_of(rows, (*_POLICY, *_FIGURES, *_AGAINST_RECORD), _MEANING),
        Picture("replay-waits", draw_waits(rows), "Cumulative share of the jobs by their wait."),
        Picture(
            "replay-over-time",
            draw_over_time(rows, epoch),
            "Processors in use and waiting jobs, averaged over equal spans; the dotted line is the size of the "
            "machine.",
        ),
    )


def _grouped(rows: Sequence[Row]) -> list[Row]:
    """Return rows ordered by what is changed, then by policy."""
    changes = list(dict.fromkeys(row.change for row in rows))
    return sorted(rows, key=lambda row: changes.index(row.change))


def _with_sizes(study: Replayed, changed: Sequence[Row]) -> tuple[Block, ...]:
    rows = [*study.policies, *sorted(changed, key=lambda row: row.run.processors)]
    left_out = [
        f"{row.run.processors:,} processors: {many(count, 'job')} larger than the machine could not run; its figures "
        "omit them."
        for row in changed
        if row.run.name == study.policies[0].run.name
        and (count := row.result["left_out"].get("more processors than the machine", 0))
    ]
    shown = "mean wait" if study.record is None else "mean wait, and share of the jobs that end later than recorded"
    return (
        table_of(rows, (*_CHANGE, *_POLICY, *_FIGURES, *_AGAINST_RECORD)),
        *([Bullets(tuple(left_out))] if left_out else []),
        Picture("replay-sizes", draw_sizes(study), f"By size of the machine: {shown}."),
    )


def _with_walltimes(study: Replayed, changed: Sequence[Row]) -> tuple[Block, ...]:
    about = (
        "Perfect: each job requests its exact run time. f=2: each job requests a time drawn uniformly between its run "
        "time and twice its run time (Mu'alem & Feitelson 2001, 4.2)."
    )
    if any(row.run.walltimes == CORRECTED for row in changed):
        about += (
            " Corrected: the scheduler reduces each walltime to the share that similar earlier jobs of the user used "
            "(Tang et al. 2013, 85th percentile over the last month); it does not kill jobs that run beyond a reduced "
            "walltime."
        )
    columns = (*_CHANGE, *_POLICY, *_FIGURES, *_AGAINST_SAME)
    return (Text(about), table_of([*study.policies, *_grouped(changed)], columns))


def _with_moldable(study: Replayed, changed: Sequence[Row]) -> tuple[Block, ...]:
    """Return a table of means over seeds, users of Gas and all others separately."""
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in changed:
        groups.setdefault((row.run.moldable, row.run.name), []).append(row)

    def part(rows: list[Row], name: str, key: str) -> list[float]:
        found = [beside["parts"].get(name) for row in rows if (beside := row.beside(_SAME)) is not None]
        return [one[key] for one in found if one is not None]

    def shown(rows: list[Row], name: str, key: str) -> str:
        values = part(rows, name, key)
        if not values:
            return "-"
        spread = f" ({min(values):.1%} to {max(values):.1%})" if len(values) > 1 else ""
        if key == "mean":
            spread = f" ({min(values) / 60:+,.0f} to {max(values) / 60:+,.0f})" if len(values) > 1 else ""
            return f"{np.mean(values) / 60:+,.0f}{spread}"
        return f"{np.mean(values):.1%}{spread}"

    def column(title: str, name: str, key: str) -> Shown[list[Row]]:
        return Shown(title, lambda rows: shown(rows, name, key), f"{name}, compared with the policy without Gas")

    columns: Sequence[Shown[list[Row]]] = (
        Shown("changed", lambda rows: rows[0].change, left=True),
        Shown("policy", lambda rows: rows[0].run.name, left=True),
        Shown("mean wait", lambda rows: _hours(float(np.mean([row.figures["mean_wait"] for row in rows])))),
        *(
            column(title, name, key)
            for name in ("use Gas", "others")
            for title, key in (("later", "later"), ("change (min)", "mean"))
        ),
    )
    seeds = many(study.options.seeds, "seed")
    return (
        Text(_MOLDABLE),
        table_of(groups.values(), columns, f"Means over {seeds}, with minimum and maximum in parentheses."),
    )


def _who_loses(study: Replayed) -> tuple[Block, ...]:
    other = RECORD if study.record is not None else _EASY
    rows = [row for row in study.policies if row.run.name != other]
    parts = [(row, name) for row in rows for name in SIZES if (row.beside(other) or {"parts": {}})["parts"].get(name)]
    if not parts:
        return (Text("There is nothing to compare with."),)

    def of(one: tuple[Row, str], key: str) -> float:
        beside = one[0].beside(other)
        assert beside is not None, "chosen so"
        return float(beside["parts"][one[1]][key])

    columns: Sequence[Shown[tuple[Row, str]]] = (
        Shown("policy", lambda one: one[0].run.name, left=True),
        Shown("size of jobs", lambda one: one[1], left=True),
        Shown("jobs", lambda one: f"{of(one, 'jobs'):,.0f}"),
        Shown("later", lambda one: f"{of(one, 'later'):.1%}"),
        Shown("sooner", lambda one: f"{of(one, 'sooner'):.1%}"),
        Shown("mean change (min)", lambda one: f"{of(one, 'mean') / 60:+,.0f}"),
        Shown("largest delay", lambda one: _hours(max(of(one, "most_later"), 0))),
    )
    users = [
        f"{row.run.name}: for {found['worse']:,} of {many(found['users'], 'user')}, jobs would have ended later on "
        f"average."
        for row in rows
        if (found := (row.beside(other) or {}).get("users"))
    ]
    than = "in the record" if other == RECORD else "under EASY"
    return (
        table_of(parts, columns, f"Jobs that end later or sooner than {than}, by size."),
        *([Bullets(tuple(users))] if users else []),
    )


def _of_log(study: Replayed) -> list[str]:
    """Return what was left out or assumed."""
    result = next((row.result for row in study.rows), None)
    if result is None:
        return ["No job could be simulated."]
    facts = [f"{many(count, 'job')} left out: {reason}." for reason, count in result["left_out"].items()]
    first = study.results[0]
    if without := first.get("without_start", 0):
        facts.append(f"{many(without, 'job')} with unknown start: simulated, but not compared with the record.")
    if study.record is None:
        facts.append("The log has no starts: there is no record to compare with.")
    if unknown := result["without_walltime"]:
        facts.append(f"{many(unknown, 'job')} without a walltime: the run time is used instead.")
    if over := result["cut_or_extended"]:
        what = {
            "extend": "the walltime is raised to the run time (--overrun kill cuts the run time)",
            "kill": "cut at the walltime (--overrun extend raises the walltime)",
        }[study.options.overrun]
        facts.append(f"{many(over, 'job')} ran longer than the walltime: {what}.")
    machine = study.base.log.source.processors
    if study.record is not None and (most := study.record.result["most_in_use"]) > machine:
        facts.append(
            f"In the record, up to {most:,} processors are in use at once, but the machine has {machine:,}: check the "
            "size (--processors) and the starts and ends in the log."
        )
    facts += [f"Not simulated: {words}." for words in study.left_out]
    return facts or [f"All jobs took part ({numbered(result['jobs'])})."]
