"""The report of the study of backfilling: each figure with the published one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from experiments.backfilling.claims import HIGH_LOAD, UNTESTED, WITHIN, claims
from experiments.backfilling.comparison import FIGURES_APART, NOISE, UNEXPLAINED, Cell, count, distance, reasons
from experiments.backfilling.models_report import (
    amounts_section,
    changes_section,
    figure,
    models_section,
    modified_section,
    run_times_section,
)
from experiments.backfilling.own_report import own_section
from experiments.backfilling.results import BASE, DOUBLED, LOADS, PAPER_JOBS, Options, Results, batch_jobs
from experiments.framework.claims import Claim, headline
from experiments.framework.columns import Shown, numbered, table_of
from experiments.framework.items import Compared, Pair, items_section
from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, remarks, thanks, version_of_log
from experiments.framework.verdicts import LEVEL, RULE, between, decided
from experiments.published import MEASURES, POLICIES, SCHEMES, TRACES, Measure, overall, table1
from gas.intervals import signed
from gas.printable import many
from gas.report.blocks import Block, Bullets, Column, Report, Section, Table, Text, agreed, heads, no, yes
from gas.report.blocks import Cell as TableCell

__all__ = ["backfilling_report", "form"]

_MEASURES: dict[Measure, str] = {"response": "mean response time (s)", "slowdown": "mean bounded slowdown (unclamped)"}
_PAPER = (
    "A. W. Mu'alem and D. G. Feitelson, Utilization, predictability, workloads, and user runtime estimates in "
    "scheduling the IBM SP2 with backfilling, IEEE Transactions on Parallel and Distributed Systems 12(6), 2001"
)


def backfilling_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sections = [
        _summary(study),
        _overall(study),
        _origin(study, origin),
        _logs(study),
        *(_trace(study, trace) for trace in TRACES if study.logs_of(trace)),
        _sensitivity(study),
        own_section(study),
        models_section(study),
        changes_section(study),
        amounts_section(study),
        run_times_section(study),
        modified_section(study),
        _method(study.options),
        items_section("backfilling", "backfilling", _compared(study)),
    ]
    title = f"EASY against conservative backfilling{'' if study.options.full else ': not the full study'}"
    return Report(title, _lead(study), tuple(s for s in sections if s is not None), form(study.options))


def _compared(study: Results) -> dict[str, Compared]:
    """Return the printed means of Table 1 and ours; the sign is that of the difference of both schemes."""
    pairs: list[Pair] = []
    for cell in study.cells:
        easy, conservative = (cell.ours.easy, cell.ours.conservative) if cell.ours else (None, None)
        pairs.append(Pair(cell.paper.easy, easy))
        pairs.append(Pair(cell.paper.conservative, conservative, cell.agrees))
    cause = (
        "rules (tested: Sensitivity to the rules). Version of the log: not tested on CTC, SDSC, Par and CM5; not the "
        "cause on KTH, whose uncleaned log has all but one of the paper's jobs"
    )
    shapes = {
        4: "no figures printed; constants of model F, which the paper does not state (tested: Why model F differs)",
        5: "no figures printed; the same constants (tested: Why model F differs)",
        6: "no figures printed; our fit of the modified models to CTC (not varied)",
        7: "no figures printed; our fit of the modified models to CTC (not varied)",
    }
    judged = claims(study)

    def of(name: str, why: str, figures: Sequence[Pair] = ()) -> Compared:
        return Compared(tuple(figures), why, tuple(claim for claim in judged if claim.where == name))

    figures = {f"Fig. {number}": shape for number, shape in shapes.items()}
    return {"Table 1": of("Table 1", cause, pairs), **{name: of(name, shape) for name, shape in figures.items()}}


def form(options: Options) -> str:
    """Return how the runs of models differ from the full study; empty if they do not."""
    if options.full:
        return ""
    jobs = [
        f"model {model} has {options.model_jobs(model):,} jobs instead of {usual:,}, in batches of "
        f"{batch_jobs(options.model_jobs(model)):,} instead of {batch_jobs(usual):,}"
        for model, usual in PAPER_JOBS.items()
        if options.model_jobs(model) != usual
    ]
    loads = "all loads" if options.loads == LOADS else f"{len(options.loads)} loads instead of {len(LOADS)}"
    return (
        f"Not the full study: models are run at {loads}{''.join(f'; {words}' for words in jobs)}. The results on "
        "models are a first look and do not reproduce Fig. 4 and Fig. 5. Logs are simulated in full."
    )


def _lead(study: Results) -> str:
    compared = sum(cell.ours is not None for cell in study.cells)
    resolved = count(study.cells)
    cells = (
        f"Of the {len(study.cells)} cells of the paper's Table 1, {compared} could be compared. The difference "
        f"between the schemes exceeds its 98% interval in {resolved.cells} of them, and {resolved.agree} of these have "
        "the paper's sign."
    )
    if not compared:
        cells = "No log of the paper was found, so its Table 1 and Table 4 are not tested."
    return f"{cells} {headline(claims(study))} The paper is: {_PAPER}."


def _origin(study: Results, origin: Origin) -> Section:
    facts = (
        f"Gas {origin.gas}, sources `{origin.sources}`; {', '.join(origin.libraries)}.",
        f"Seed of the models: {study.options.seed}.",
        f"`{origin.command}`, where TRACES is the folder of the logs below. The number of worker processes affects "
        "only the run time.",
    )
    return Section("Reproducing this report", (Bullets(facts),))


def _summary(study: Results) -> Section:
    columns: Sequence[Shown[Claim]] = (  # verdicts are placed where a narrow screen shows them
        Shown("paper", lambda claim: claim.where, left=True),
        Shown("holds", lambda claim: agreed(claim.holds, claim.verdict), left=True),
        Shown("statement", lambda claim: claim.text, left=True),
        Shown("here", lambda claim: claim.here, left=True),
        Shown("possible cause", lambda claim: "" if claim.holds else claim.why, left=True),
    )
    caption = (
        f"{RULE} Intervals are over months; in Table 1 over days; for models over the batches that "
        "both schemes completed. Overall means (Table 4) are judged by the months that Table 1 contains: the sum of "
        "our means over the sum of the paper's. The two runs of a model, one under each scheme, may stop after "
        "different numbers of batches; the paper compares them nevertheless, and the figures “each run to its own end” "
        "do so too."
    )
    tested = [claim for claim in claims(study) if claim.verdict != UNTESTED]
    if untested := len(claims(study)) - len(tested):
        caption += (
            f" {many(untested, 'statement')} about logs that were not found {'are' if untested > 1 else 'is'} left out."
        )
    by_trace = []
    for trace in TRACES:
        cells = [cell for cell in study.cells if cell.trace == trace]
        if not (known := sum(cell.ours is not None for cell in cells)):
            continue
        of_trace: list[TableCell | str] = [trace, f"{len(cells)}", f"{known}"]
        for measure in MEASURES:
            counts = count(cell for cell in cells if cell.measure == measure)
            of_trace.append(f"{counts.agree} of {counts.cells}" if counts.cells else "-")
        total = count(cells)
        of_trace.append(f"{total.agree} of {total.cells}" if total.cells else "-")
        by_trace.append(tuple(of_trace))
    titles = ("trace", "cells", "compared", "response agrees", "slowdown agrees", "all agree")
    signs = Table(
        tuple(Column(title, left=title == "trace") for title in titles),
        tuple(by_trace),
        "Cells of Table 1 whose difference has the paper's sign, among those whose difference exceeds its 98% interval "
        "over days; in the other cells, the sign may be chance.",
    )
    apart = [cell for cell in study.cells if cell.agrees is False]
    unknown = sum(any(UNEXPLAINED in reason for reason in reasons(cell)) for cell in apart)
    by_cause = [
        f"{words}: {many(sum(any(mark in reason for reason in reasons(cell)) for cell in apart), 'cell')}."
        for mark, words in _CAUSES
    ]
    text = Text(
        f"{many(len(apart), 'cell')} of Table 1 {'have' if len(apart) > 1 else 'has'} the opposite sign. A cell may "
        "have several of these possible causes:"
    )
    causes = (text, Bullets((*by_cause, f"No cause found: {many(unknown, 'cell')}."))) if apart else ()
    return Section("What holds", (table_of(tested, columns, caption), *([signs] if by_trace else ()), *causes))


_CAUSES = (
    ("another version", "In this month, the log and the paper have different numbers of jobs (not tested as a cause)"),
    ("another load", "The load of the month is different (not tested as a cause)"),
    ("a difference within", f"The difference is at most {NOISE:g}%, here or in the paper"),
    ("sign turns", "The sign changes under other rules for overruns, estimates, months or the order of events"),
)
"""The beginnings of the reasons of a cell, and their meaning."""


def _logs(study: Results) -> Section:
    def skipped(log: Found) -> str:
        return ", ".join(f"{n:,} {reason}" for reason, n in study.result(log)["skipped"].items()) or "none"

    columns: Sequence[Shown[Found]] = (
        Shown("trace", lambda log: str(log.source), left=True),
        Shown("log", version_of_log, left=True),
        Shown("jobs simulated", lambda log: f"{study.result(log)['jobs']:,}"),
        Shown("left out", skipped, left=True),
        Shown("jobs in the paper", lambda log: "-" if log.own else f"{log.source.jobs:,}"),
        Shown("processors", lambda log: f"{log.source.processors:,}"),
        Shown("header says", lambda log: numbered(log.header.max_procs)),
        Shown("estimates", lambda log: "users'" if log.source.estimates == "users" else "run times", left=True),
    )
    notes = remarks(study.logs)
    notes += [f"Left out: {words}." for words in study.left_out]
    notes += [
        f"{source}: there is no log {source.stem}-*, or it was not chosen; its cells are not compared."
        for source in study.missing
    ]
    blocks: list[Block] = [table_of(study.logs, columns)] if study.logs else []
    blocks.append(Bullets(tuple(dict.fromkeys(notes))))
    if study.logs:
        sums = [f"{log.path.name}: `{log.sha256}`" for log in study.logs]
        blocks += [Text("Files, with the SHA-256 of their uncompressed contents:"), Bullets(tuple(sums))]
    return Section("The logs", (*blocks, *thanks(study.logs)))


def _facts(study: Results, log: Found) -> list[str]:
    """Return the known differences of a log and its simulation from the paper's."""
    result, source = study.result(log), log.source
    jobs, longer = result["jobs"], result["overruns"]
    version = "cleaned: the archive removed jobs" if log.cleaned else "not cleaned"
    found = [f"Version of the log: {log.name} ({version}), {jobs:,} jobs simulated; {source.jobs:,} in the paper."]
    header = log.header.max_procs
    if header is not None and header != source.processors:
        found.append(
            f"Machine: {source.processors:,} processors as in the paper; the log's header says {header:,}. "
            f"{source.remark}".strip()
        )
    if source.estimates == "users":
        found.append(
            f"Overruns: {many(longer, 'job')} ran longer than requested. They are killed at their walltime; under "
            "“overrun extend” they run on."
        )
    elif result["without_estimate"] == jobs:
        found.append("Estimates: the log has none. Run times replace them, so there are no overruns.")
    else:
        users = study.result(log, "users' estimates")
        found.append(
            f"Estimates: run times, as in the paper. {users['jobs'] - users['without_estimate']:,} jobs also have a "
            f"user's estimate, which {users['overruns']:,} exceed: under “users' estimates” these are killed, with "
            "“overrun extend” they run on."
        )
    rows = [row for row in table1() if source.covers(row.trace, row.month)]
    off = {}
    for kind, months in (("submission", result["months"]), ("end (EASY)", result["by_end"])):
        ours = {month["month"]: month["jobs"] for month in months}
        if all(row.month in ours for row in rows):
            off[kind] = sum(abs(ours[row.month] - row.jobs) for row in rows)
    if len(off) == 2:
        parts = " and ".join(f"by {many(apart, 'job')} by the month of {kind}" for kind, apart in off.items())
        jobs = sum(row.jobs for row in rows)
        found.append(f"Months: the paper counts {jobs:,} jobs. In all, our monthly counts differ {parts}.")
    if result["overall"]:
        found.append(_nearest_rules(study, log))
    return found


def _trace(study: Results, trace: str) -> Section:
    cells = [cell for cell in study.cells if cell.trace == trace]
    facts = [fact for log in study.logs_of(trace) for fact in _facts(study, log)]
    blocks: list[Block] = [Bullets(tuple(facts))] if facts else []
    for measure in MEASURES:
        mine = [cell for cell in cells if cell.measure == measure and cell.ours]
        counts = count(mine)
        caption = (
            f"{trace}, {_MEASURES[measure]}. In {many(counts.cells, 'month')} the difference exceeds its 98% interval; "
            f"its sign agrees with the paper's in {counts.agree} of these. ± is half of a 90% interval."
        )
        if missing := sum(cell.measure == measure for cell in cells) - len(mine):
            caption += f" {many(missing, 'month')} of the paper {'are' if missing > 1 else 'is'} not in the logs."
        blocks.append(table_of(mine, _CELLS, caption))
    return Section(f"Table 1: {trace}", tuple(blocks))


def _figure(path: str) -> Callable[[Cell], str]:
    """Return the text of a figure of a cell; "-" if the present log has no job of the month."""

    def shown(cell: Cell) -> str:
        value = attrgetter(path)(cell) if cell.ours or path.startswith("paper") else None
        return figure(value, cell.measure)

    return shown


def _same_sign(cell: Cell) -> TableCell | str:
    if cell.ours is not None and cell.agrees is None:
        return TableCell("not resolved", "quiet")
    return agreed(cell.agrees)


_CELLS: Sequence[Shown[Cell]] = (
    Shown("month", lambda cell: cell.month, left=True),
    Shown("here", lambda cell: f"{cell.jobs:,}" if cell.ours else "-", "jobs"),
    Shown("paper", lambda cell: f"{cell.paper_jobs:,}", "jobs"),
    Shown("here", lambda cell: f"{cell.load:.3f}" if cell.ours else "-", "load"),
    Shown("paper", lambda cell: f"{cell.paper_load:.3f}", "load"),
    Shown("here", _figure("ours.easy"), "EASY"),
    Shown("paper", _figure("paper.easy"), "EASY"),
    Shown("here", _figure("ours.conservative"), "conservative"),
    Shown("paper", _figure("paper.conservative"), "conservative"),
    Shown("here", lambda cell: f"{cell.ours.percent:+.1f}%" if cell.ours else "-", "difference"),
    Shown("±", lambda cell: "-" if cell.half_width is None else f"{cell.half_width:.1f}", "difference"),
    Shown("paper", lambda cell: f"{cell.paper.percent:+.1f}%", "difference"),
    Shown("same sign", _same_sign),
    Shown("possible causes", lambda cell: "; ".join(reasons(cell)), left=True),
)


def _overall(study: Results) -> Section | None:
    rows: list[tuple[TableCell | str, ...]] = []
    found = [
        (row, ours) for row in overall() if (ours := study.overall(row.trace, row.measure, row.policy)) is not None
    ]
    if not found:
        return None
    for row, _ in found:
        line: list[TableCell | str] = [row.trace, _MEASURES[row.measure], SCHEMES[row.policy]]
        for variant, paper in ((BASE, row.mean), (DOUBLED, row.doubled)):
            mean = study.overall(row.trace, row.measure, row.policy, variant)
            line += [figure(mean, row.measure), figure(paper, row.measure), *_off(mean, paper)]
        rows.append(tuple(line))
    columns = [Column("trace", left=True), Column("measure", left=True), Column("policy", left=True)]
    for group in ("users' estimates", "users' estimates doubled"):
        columns += heads("here", "paper", "off by", f"within {WITHIN:g}%", group=group)
    near = {
        policy: [abs(m / row.mean - 1) * 100 <= WITHIN for row, m in found if row.policy == policy]
        for policy in POLICIES
    }
    counts = {policy: f"{sum(which)} of {len(which)}" for policy, which in near.items()}
    text = Text(
        "Means over all jobs of a log, with users' estimates and with doubled estimates. With users' estimates, "
        f"{counts['conservative']} means under conservative are within {WITHIN:g}% of the paper's, and "
        f"{counts['easy']} under EASY. Months of a log have different numbers of jobs here and in the paper, which "
        "alone changes a mean over all jobs. The second table therefore compares means of the same months. If only "
        "one scheme differs there, jobs and machine alone cannot explain it, as both schemes ran the same jobs; the "
        "cause was not found."
    )
    months: list[tuple[TableCell | str, ...]] = []
    for trace in TRACES:
        for measure in MEASURES:
            for policy in POLICIES:
                off = study.off(trace, measure, policy)
                if off is None or (shown := off(LEVEL)) is None:
                    continue
                holds = decided({"": off}, between(-WITHIN, WITHIN))
                cells = (f"{signed(shown, 1)}%", agreed(holds, "not resolved"))
                months.append((trace, _MEASURES[measure], SCHEMES[policy], *cells))
    titles = ("trace", "measure", "policy", "off by", f"within {WITHIN:g}%")
    means = Table(
        tuple(Column(title, left=title in titles[:3]) for title in titles),
        tuple(months),
        "Means of the months of Table 1 that the logs contain, against the paper's; months are weighted by the number "
        "of jobs here. ± is half of a 90% interval over months; verdicts use the 98% interval.",
    )
    return Section("Table 4: overall means", (text, Table(tuple(columns), tuple(rows)), means))


def _off(ours: float | None, paper: float | None) -> tuple[TableCell | str, TableCell | str]:
    if ours is None or paper is None:
        return "-", "-"
    off = (ours / paper - 1) * 100
    return f"{off:+.1f}%", yes() if abs(off) <= WITHIN else no()


def _sensitivity(study: Results) -> Section | None:
    rows: list[tuple[TableCell | str, ...]] = []
    for log in (log for log in study.logs if not log.own):
        for variant in study.variants(log):
            figures = study.result(log, variant.name)["overall"]
            if not figures:
                continue
            row: list[TableCell | str] = [str(log.source), variant.name or "as in the paper"]
            cells = study.cells_of_log(log, variant.name)
            for measure in MEASURES:
                easy, conservative = (figures[policy][measure] for policy in POLICIES)
                change = f"{(conservative / easy - 1) * 100:+.1f}%" if easy else "-"
                counts = count(cell for cell in cells if cell.measure == measure)
                row += [figure(easy, measure), figure(conservative, measure), change]
                row.append(f"{counts.agree} of {counts.cells}" if counts.cells else "-")
            off = distance(cells)
            row.append("-" if off is None else f"{off:.1f}%")
            rows.append(tuple(row))
    if not rows:
        return None
    columns = [Column("trace", left=True), Column("rules", left=True)]
    for measure in MEASURES:
        group = "mean response" if measure == "response" else "bounded slowdown"
        columns += heads("EASY", "conservative", "difference", "signs agree", group=group)
    columns.append(Column("off by (median)"))
    text = Text(
        "The same logs under other rules. The first line of each log repeats the results above; each other line "
        "changes only the named rule. Means are over all jobs; signs are counted over the resolved months of Table 1 "
        "(for months of ends, there are no intervals). The last "
        "column is the median distance of both schemes' monthly figures from the published ones."
    )
    return Section("Sensitivity to the rules", (text, Table(tuple(columns), tuple(rows))))


def _nearest_rules(study: Results, log: Found) -> str:
    """Return the rules that come nearest to the published figures of a log."""
    readings = (variant.name for variant in study.variants(log) if variant.name != DOUBLED)
    by_rules = {name: study.cells_of_log(log, name) for name in readings}
    off = {name: away for name, cells in by_rules.items() if (away := distance(cells)) is not None}
    if not off:
        return "The log has no month of Table 1."
    best = min(off, key=lambda name: off[name])
    counts = count(by_rules[best])
    return (
        f"Closest to the paper's figures: {best or 'its own rules'} (median distance {off[best]:.1f}%; "
        f"{counts.agree} of {counts.cells} signs agree)."
    )


def _method(options: Options) -> Section:
    sizes = " and ".join(f"{batch_jobs(options.model_jobs(model)):,} jobs ({model})" for model in PAPER_JOBS)
    batches = "in batches of " if options.full else "but in other batches than the full study: "
    return method_section(
        "experiments.backfilling",
        batches=f"{batches}{sizes}",
        high_load=HIGH_LOAD,
        figures_apart=FIGURES_APART,
        noise=NOISE,
    )
