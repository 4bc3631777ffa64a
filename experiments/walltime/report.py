"""The report of the study of walltime adjustment: every figure of the paper next to ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean

from experiments.framework.claims import headline, summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.items import Compared, Pair, items_section
from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section, remarks, thanks, version_of_log
from experiments.framework.sites import Site
from experiments.framework.verdicts import BY_INTERVALS
from experiments.published import items, walltime_spread
from experiments.walltime.account import account_section, points
from experiments.walltime.accuracy_report import accuracy_sections
from experiments.walltime.cells import OTHER_LOG, GainCell, TextCell, gain_cells, text_cells
from experiments.walltime.claims import NAMES, advantages, claims
from experiments.walltime.example import example_claims, example_section
from experiments.walltime.pictures import draw_gains, draw_months
from experiments.walltime.results import (
    ADJUSTMENTS,
    CHANGES,
    INTREPID,
    MEASURES,
    PERCENTILES,
    QUEUES,
    Results,
    adjusted,
)
from gas.intervals import Interval, sure
from gas.report.blocks import (
    Bullets,
    Cell,
    Column,
    Picture,
    Report,
    Section,
    Table,
    Text,
    agreed,
    heads,
    not_the_full,
    yes,
)

__all__ = ["banner", "walltime_report"]

_PAPER = (
    "W. Tang, N. Desai, D. Buettner and Z. Lan, Job scheduling with adjusted runtime estimates on production "
    "supercomputers, Journal of Parallel and Distributed Computing 73(7), 2013"
)
_COMPARED = (
    "All improvements given in the paper's text, in per cent. Signs and sizes are compared by 98% intervals over "
    "months."
)
_ABOVE = {1: "above", 0: "not resolved", -1: "below"}
_FIGURES = {("wfp", "regular"): 14, ("wfp", "selective"): 15, ("fcfs", "regular"): 16, ("fcfs", "selective"): 17}


def banner(study: Results) -> str:
    """Return what replaces the paper's log, and what a restricted study leaves out."""
    less = [text for text in study.missing if INTREPID.stem not in text and not text.startswith(INTREPID.trace)]
    if study.options.quick:
        less.append("two windows instead of six; no months apart and no other schemes (--quick)")
    return " ".join(words for words in (_replaced(study), not_the_full(less)) if words)


def _replaced(study: Results) -> str:
    """Return what replaces the paper's log."""
    blank = [log.name for log in study.logs if (use := study.use(log)) and not use["known"]]
    unadjusted = (
        f" {', '.join(blank)}: no job names both its user and its group, so no job has similar ones or is adjusted."
        if blank
        else ""
    )
    return _stand_in(study) + unadjusted


def _stand_in(study: Results) -> str:
    traces = [log.source.trace for log in study.logs]
    others = " and ".join(log.name for log in study.logs if log.source != INTREPID)
    stands = "The log's groups replace the paper's projects, and processors its nodes"
    if INTREPID.trace in traces:
        return (
            "The archive's log of Intrepid covers January to September 2009: nine of the paper's thirty months, and "
            f"none of the twelve on which it evaluated schedules. {stands}. Other logs: {others or 'none'}."
        )
    return (
        "The paper's log, of Intrepid (Blue Gene/P, 275,858 jobs, 2009 to 2011), was not found. This study uses "
        f"{others} instead. {stands}. Figures therefore differ from the paper's; the question is whether its "
        "statements hold on other machines. To include Intrepid, name its log by `--intrepid FILE` or put "
        f"`{INTREPID.stem}-1.swf.gz` into the folder of the logs."
    )


def walltime_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sites = [(Site(log.source.trace, log.source.processors, (), 0), log) for log in study.logs]
    sections = [
        summary_section(claims(study), caption=BY_INTERVALS),
        account_section(study),
        _improvements(study),
        *(_months(study, queue) for queue in QUEUES),
        *([] if study.options.quick else [_apart(study), _changes(study)]),
        _text(study),
        _logs(study),
        *accuracy_sections(study),
        example_section(),
        _method(study),
        items_section("walltime", "walltime", _compared(study)),
        origin_section(sites, origin),
    ]
    return Report(
        "Walltime adjustment: its accuracy, and its effect on waits",
        _lead(study),
        tuple(sections),
        banner(study),
    )


def _compared(study: Results) -> dict[str, Compared]:
    """Return the printed figures and ours, each for a log, and the statements on each item."""
    pairs: dict[str, list[Pair]] = {}
    for cell in text_cells(study):
        if cell.paper.low == cell.paper.high:  # a range is not a figure that ours could be close to
            pairs.setdefault(_ITEMS[cell.of], []).append(Pair(cell.paper.low, fmean((cell.low, cell.high))))
    for gain in gain_cells(study):
        name = _IMPROVEMENTS[gain.paper.queue, gain.paper.adjustment]
        pairs.setdefault(name, []).append(Pair(gain.paper.percent, gain.ours.mean, gain.same_sign))
    for log in study.logs:
        ours = {row["key"]: row["mean"] for row in (study.use(log) or {"spread": ()})["spread"]}
        pairs.setdefault("Table 2", []).extend(Pair(row.deviation, ours.get(row.key)) for row in walltime_spread())
    judged = [*claims(study), *example_claims()]
    found = {
        name: tuple(claim for claim in judged if re.match(rf"{re.escape(name)}\b", claim.text.replace("9 and 10", "9")))
        for item in items()
        if item.study == "walltime" and (name := item.name)
    }
    cause = f"{OTHER_LOG} (not tested: the paper's is not public)"
    causes = {
        **dict.fromkeys(("Fig. 12", "Table 3"), "no figures printed; simulated with figures of ours"),
        "Table 1": f"{cause}; no log with these properties is available, so its figures are only shown",
    }
    causes |= dict.fromkeys(("Fig. 5", "Fig. 7", "Fig. 10", "Fig. 13"), "no figures printed; another log (not tested)")
    return {name: Compared(tuple(pairs.get(name, ())), causes.get(name, cause), of) for name, of in found.items()}


_ITEMS = {
    **dict.fromkeys(("mean R", "std R", "near 1", "above 0.8", "up to 0.5", "below 0.2"), "Fig. 1"),
    **dict.fromkeys(("lowest quarter", "highest quarter"), "Fig. 2"),
    **dict.fromkeys(("best accuracy", "gain in accuracy"), "Fig. 4"),
    **dict.fromkeys(("at 60% original", "at 60% p100", "gain in median"), "Fig. 11"),
    **dict.fromkeys(("median original", "median p85", "median p50"), "Fig. 11"),
    "best month": "Fig. 14",
}
"""Pictures of the figures in the paper's text."""

_IMPROVEMENTS = {
    ("wfp", "regular"): "Fig. 14",
    ("wfp", "selective"): "Fig. 15",
    ("fcfs", "regular"): "Fig. 16",
    ("fcfs", "selective"): "Fig. 17",
}


def _lead(study: Results) -> str:
    every = [one[-1] for log in study.logs for queue in QUEUES for one in advantages(study, log, queue)]
    better, worse = (sum(sure(one) for one in every if (one.mean > 0) == above) for above in (True, False))
    waits = "; ".join(
        f"{log.source.trace}, {queue.upper()} {_text_of(study.gain(log, adjusted(queue, 'regular'), 'wait'))} and "
        f"{_text_of(study.gain(log, adjusted(queue, 'selective'), 'wait'))}"
        for log in study.logs
        for queue in QUEUES
    )
    steady = [
        one
        for log in study.logs
        for queue in QUEUES
        for measure in MEASURES
        if (one := study.steady_advantage(log, queue, measure)) is not None and sure(one)
    ]
    over_five = (
        f" (averaged over five simulations at p85: {sum(one.mean > 0 for one in steady)} and "
        f"{sum(one.mean < 0 for one in steady)} of {len(study.logs) * len(QUEUES) * len(MEASURES)})"
        if not study.options.quick
        else ""
    )
    return (
        f"{headline(claims(study))} Each is judged on all logs together. Selective adjustment is "
        f"better than regular beyond the 90% interval in {better} of {len(every)} comparisons and worse in "
        f"{worse}{over_five}. Mean improvement of the wait over months at p85, regular and selective: {waits} (paper: "
        f"about 15% and 22% under WFP, none and about 20% under FCFS). The paper is: {_PAPER}."
    )


def _text_of(found: Interval | None) -> str:
    return "-" if found is None else f"{found.text(1)}%"


def _improved(cell: GainCell) -> str:
    paper = cell.paper
    return f"{paper.queue.upper()}, {paper.adjustment}, p{paper.percentile}: {NAMES[paper.measure]}"


def _same_sign(cell: GainCell) -> Cell | str:
    return Cell("not resolved", "quiet") if cell.same_sign is None else agreed(cell.same_sign)


def _improvements(study: Results) -> Section:
    columns: Sequence[Shown[GainCell]] = (
        Shown("mean", _improved, left=True),
        Shown("paper", lambda cell: cell.paper.words),
        Shown("log", lambda cell: cell.trace, left=True),
        Shown("here", lambda cell: _text_of(cell.ours), "average over months"),
        Shown("same sign", _same_sign, "average over months"),
        Shown("against the paper's", lambda cell: _ABOVE[cell.above], "average over months"),
        Shown("months apart", lambda cell: _text_of(cell.apart), "average over months"),
        Shown("over all jobs", lambda cell: "-" if cell.whole is None else f"{cell.whole:+.1f}%"),
        Shown("exact run times", lambda cell: _text_of(cell.exact)),
        Shown("what was measured", lambda cell: cell.why, left=True),
    )
    every: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for queue, adjustment, percentile in product(QUEUES, ADJUSTMENTS, PERCENTILES):
            terms = adjusted(queue, adjustment, percentile)
            line: list[Cell | str] = [log.source.trace, queue.upper(), adjustment, f"p{percentile}"]
            for measure in MEASURES:
                whole = study.whole_gain(log, terms, measure)
                line += [points(study.gain(log, terms, measure)), "-" if whole is None else f"{whole:+.1f}"]
            every.append(tuple(line))
    every_head = list(heads("log", "order", "adjustment", "scheme", left=True))
    every_head += [Column(title, NAMES[measure]) for measure in MEASURES for title in ("months", "all jobs")]
    caption = (
        "Average improvement over months with 90% intervals (Fig. 14 to 17 d). Above 0, adjustment is better than "
        "none. Hollow marks: figures in the paper's text."
    )
    return Section(
        "Average improvements",
        (
            Picture("walltime-gains", draw_gains(study), caption),
            table_of(
                gain_cells(study),
                columns,
                _COMPARED,
            ),
            Table(
                tuple(every_head), tuple(every), "All improvements here, in per cent; * where the interval excludes 0."
            ),
        ),
    )


def _months(study: Results, queue: str) -> Section:
    figures = " and ".join(str(_FIGURES[queue, adjustment]) for adjustment in ADJUSTMENTS)
    pictures = tuple(
        Picture(
            f"walltime-{queue}-{log.source.trace.lower()}",
            draw_months(study, log, queue),
            f"{log.source.trace}, {queue.upper()}: monthly means in per cent of those without adjustment (Fig. "
            f"{figures}; the paper scales its baseline to 100 minutes and to a slowdown of 10). Triangles at the edge "
            "mark values above 200%; grey months are left out of averages.",
        )
        for log in study.logs
    )
    return Section(f"By month: {queue.upper()}", pictures)


def _apart(study: Results) -> Section:
    caption = "Average improvements as above, with each month simulated alone."
    return Section(
        "With months apart, as in the paper", (Picture("walltime-gains-apart", draw_gains(study, apart=True), caption),)
    )


def _changes(study: Results) -> Section:
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for queue in QUEUES:
            for name, change in {"the paper's recommendation": {}, **CHANGES}.items():
                terms = [adjusted(queue, adjustment, **change) for adjustment in ADJUSTMENTS]
                cells = [points(study.gain(log, one, measure)) for measure in MEASURES for one in terms]
                rows.append((log.source.trace, queue.upper(), name, *cells))
    columns = list(heads("log", "order", "scheme", left=True))
    columns += [Column(adjustment, NAMES[measure]) for measure in MEASURES for adjustment in ADJUSTMENTS]
    text = (
        "The paper recommends the triple key, one month, p85 and a floor of 0.5; each other line changes one of these. "
        "Improvements are in per cent of the baseline. The last line uses true run times, which no scheduler knows. It "
        "is not an upper bound, since wrong estimates can by chance give a better schedule."
    )
    return Section("Other schemes, and exact walltimes", (Text(text), Table(tuple(columns), tuple(rows))))


def _text(study: Results) -> Section:
    columns: Sequence[Shown[TextCell]] = (
        Shown("figure", lambda cell: _WORDS[cell.of], left=True),
        Shown("section", lambda cell: cell.paper.where, left=True),
        Shown("paper", lambda cell: cell.paper.words),
        Shown("log", lambda cell: cell.trace, left=True),
        Shown("here", lambda cell: " to ".join(dict.fromkeys((f"{cell.low:.3f}", f"{cell.high:.3f}")))),
        Shown("agrees", _agrees),
        Shown("why they differ", lambda cell: "" if cell.inside else cell.why, left=True),
    )
    return Section("Figures in the paper's text and ours", (table_of(text_cells(study), columns),))


def _agrees(cell: TextCell) -> Cell:
    return yes() if cell.inside else Cell("no", "quiet" if cell.why.startswith(OTHER_LOG) else "bad")


_WORDS = {
    "mean R": "mean R",
    "std R": "standard deviation of R",
    "lowest quarter": "lowest mean R of a quarter (of at least 1% of the jobs)",
    "highest quarter": "highest mean R of a quarter",
    "near 1": "jobs with R close to 1",
    "above 0.8": "jobs with R above 0.8",
    "up to 0.5": "jobs that use half of their request or less",
    "below 0.2": "jobs that use less than 20% of their request",
    "best accuracy": "best mean accuracy of the triple key, all ended jobs",
    "gain in accuracy": "its relative gain over users' requests",
    "UE p80-p90": "UE jobs, triple key, p80 to p90",
    "BE p80-p90": "BE jobs, triple key, p80 to p90",
    "drop by floor": "relative drop of UE and BE by a floor of 0.5, triple key",
    "drop by window": "relative drop of UE by a window of one month, triple key, below p90",
    "at 60% original": "accuracy at the 60th percentile: users' requests",
    "at 60% p100": "accuracy at the 60th percentile: maximum, triple key",
    "median original": "median accuracy: users' requests",
    "median p85": "median accuracy: p85, triple key",
    "median p50": "median accuracy: median, triple key",
    "gain in median": "relative gain of the median over users' requests, p85",
    "UE p85 and above with floor": "UE jobs with the floor, one month, p85 and above",
    "BE p85 and above with floor": "BE jobs with the floor, one month, p85 and above",
    "best month": "best month, wait, WFP, regular, p85",
}


def _logs(study: Results) -> Section:
    def used(name: str) -> Callable[[Found], str]:
        return lambda log: f"{(study.use(log) or {})[name]:,.0f}"

    columns: Sequence[Shown[Found]] = (
        Shown("trace", lambda log: log.source.trace, left=True),
        Shown("log", version_of_log, left=True),
        Shown("lines", used("lines")),
        Shown("jobs run, with request", used("jobs")),
        Shown("users", used("users")),
        Shown("groups", used("groups")),
        Shown("different requests", used("requests")),
        Shown("run time (s)", used("mean_run_time"), "mean"),
        Shown("request (s)", used("mean_request"), "mean"),
    )
    ours = table_of((log for log in study.logs if study.use(log)), columns, "First row: Table 1 of the paper.")
    table = replace(ours, rows=(_INTREPID, *ours.rows))
    notes = remarks(study.logs)
    return Section("The logs", (table, *([Bullets(tuple(notes))] if notes else []), *thanks(study.logs)))


_INTREPID = ("Intrepid", "the paper's", "275,858", "275,858", "503", "208 projects", "-", "5,199", "9,096")


def _method(study: Results) -> Section:
    months = "; ".join(
        f"{log.source.trace} {averaged[0]} to {averaged[-1]} ({len(averaged)} months)"
        for log in study.logs
        if (averaged := study.averaged(log))
    )
    sizes = ", ".join(f"{log.source.trace} {log.source.processors:,}" for log in study.logs)
    return method_section("experiments.walltime", sizes=sizes, months=months)
