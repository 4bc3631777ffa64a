"""The report of the study of backfilling: every figure beside the published one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.backfilling import HIGH_LOAD, WITHIN, Claim, Study
from experiments.comparison import FIGURES_APART, NOISE, Cell, count, distance, reasons
from experiments.ledger import Result
from experiments.logs import Found
from experiments.models import MOST_REPEATS, PROCESSORS, Model
from experiments.pictures import draw_backfilling, draw_models
from experiments.published import MEASURES, POLICIES, TRACES, Measure, overall
from experiments.report import Block, Bullets, Column, Picture, Report, Section, Table, Text, no, yes
from experiments.report import Cell as TableCell
from workloads.jann import ctc_model

__all__ = ["backfilling_report"]

_MEASURES: dict[Measure, str] = {"response": "mean response time (s)", "slowdown": "mean bounded slowdown (unclamped)"}
_PAPER = (
    "A. W. Mu'alem and D. G. Feitelson, Utilization, predictability, workloads, and user runtime estimates in "
    "scheduling the IBM SP2 with backfilling, IEEE Transactions on Parallel and Distributed Systems 12(6), 2001"
)


def backfilling_report(study: Study) -> Report:
    """Return the report."""
    sections = [
        _summary(study),
        _logs(study),
        *(section for trace in TRACES for section in _trace(study, trace)),
        _overall(study),
        _sensitivity(study),
        _models(study),
        _amounts(study),
        _method(),
    ]
    return Report("EASY against conservative backfilling", _lead(study), tuple(s for s in sections if s is not None))


def _lead(study: Study) -> str:
    compared = count(study.cells)
    sp2 = count(study.cells, ("KTH", "CTC"))
    claims = [claim for claim in study.claims if claim.holds is not None]
    held = sum(bool(claim.holds) for claim in claims)
    return (
        f"Of the {len(study.cells)} cells of the paper's Table 1, {compared.cells} could be compared; the sign of the "
        f"difference between the schemes agrees in {compared.agree}, for KTH and CTC in {sp2.agree} of {sp2.cells}. "
        f"{held} of {len(claims)} statements that could be tested hold. The paper is: {_PAPER}."
    )


def _summary(study: Study) -> Section:
    rows = [
        (claim.where, claim.text, claim.here, _verdict(claim), "" if claim.holds else claim.why)
        for claim in study.claims
    ]
    titles = ("paper", "statement", "here", "holds", "why not")
    columns = tuple(Column(title, left=title != "holds") for title in titles)
    by_trace = []
    for trace in TRACES:
        cells = [cell for cell in study.cells if cell.trace == trace]
        of_trace: list[TableCell | str] = [trace, f"{len(cells)}", f"{count(cells).cells}"]
        for measure in MEASURES:
            counts = count(cell for cell in cells if cell.measure == measure)
            of_trace.append(f"{counts.agree} of {counts.cells}" if counts.cells else "-")
        total = count(cells)
        of_trace.append(f"{total.agree} of {total.cells}, {total.share:.0%}" if total.cells else "no log at hand")
        by_trace.append(tuple(of_trace))
    heads = ("trace", "cells", "compared", "response agrees", "slowdown agrees", "all agree")
    signs = Table(
        tuple(Column(title, left=title == "trace") for title in heads),
        tuple(by_trace),
        "Cells of Table 1 in which the difference has the paper's sign.",
    )
    return Section("What holds", (Table(columns, tuple(rows)), signs))


def _verdict(claim: Claim) -> TableCell | str:
    return "not tested" if claim.holds is None else yes() if claim.holds else no()


def _logs(study: Study) -> Section:
    columns = (
        "trace",
        "log",
        "jobs simulated",
        "left out",
        "jobs in the paper",
        "processors",
        "header says",
        "estimates",
    )
    rows = []
    for log in study.logs:
        result = study.result(log)
        skipped = ", ".join(f"{n:,} {reason}" for reason, n in result["skipped"].items()) or "none"
        estimates = "users'" if log.source.estimates == "users" else "run times"
        header = log.header.max_procs
        rows.append(
            (
                str(log.source),
                f"{log.name} ({'cleaned' if log.cleaned else 'not cleaned'})",
                f"{result['jobs']:,}",
                skipped,
                f"{log.source.jobs:,}",
                f"{log.source.processors:,}",
                "-" if header is None else f"{header:,}",
                estimates,
            )
        )
    blocks: list[Block] = []
    left = ("trace", "log", "left out", "estimates")
    if rows:
        blocks.append(Table(tuple(Column(title, left=title in left) for title in columns), tuple(rows)))
    notes = [f"{log.source.trace}: {log.source.remark}" for log in study.logs if log.source.remark]
    notes += [f"{log.name}: also found and not used: {', '.join(log.others)}." for log in study.logs if log.others]
    notes += [f"{source}: no log {source.stem}-* at hand; its cells are not compared." for source in study.missing]
    blocks.append(Bullets(tuple(dict.fromkeys(notes))))
    thanks = [f"{log.name}: {' '.join(text.split())}" for log in study.logs for text in log.header.acknowledgements]
    if thanks:
        blocks += [
            Text("The headers of the logs ask to acknowledge:"),
            Bullets(tuple(thanks)),
        ]
        sums = [f"{log.name}: `{log.sha256}`" for log in study.logs]
        blocks += [Text("SHA-256 of the uncompressed files:"), Bullets(tuple(sums))]
    return Section("The logs", tuple(blocks))


def _trace(study: Study, trace: str) -> list[Section]:
    cells = [cell for cell in study.cells if cell.trace == trace]
    blocks: list[Block] = []
    for measure in MEASURES:
        mine = [cell for cell in cells if cell.measure == measure]
        counts = count(mine)
        caption = f"{trace}, {_MEASURES[measure]}; the sign agrees in {counts.agree} of {counts.cells} months compared."
        blocks.append(Table(_CELL_COLUMNS, tuple(_cell_row(cell) for cell in mine), caption))
    return [Section(f"Table 1: {trace}", tuple(blocks))]


_CELL_COLUMNS = (
    Column("month", left=True),
    Column("here", "jobs"),
    Column("paper", "jobs"),
    Column("here", "load"),
    Column("paper", "load"),
    Column("here", "EASY"),
    Column("paper", "EASY"),
    Column("here", "conservative"),
    Column("paper", "conservative"),
    Column("here", "difference"),
    Column("±", "difference"),
    Column("paper", "difference"),
    Column("sign agrees"),
    Column("why they differ", left=True),
)


def _cell_row(cell: Cell) -> tuple[TableCell | str, ...]:
    why = "; ".join(reasons(cell))
    paper = _figure(cell.paper.easy, cell.measure), _figure(cell.paper.conservative, cell.measure)
    if cell.ours is None:
        return (
            cell.month, "-", f"{cell.paper_jobs:,}", "-", f"{cell.paper_load:.3f}", "-", paper[0], "-", paper[1],
            "-", "-", f"{cell.paper.percent:+.1f}%", "-", why,
        )  # fmt: skip
    return (
        cell.month,
        f"{cell.jobs:,}",
        f"{cell.paper_jobs:,}",
        f"{cell.load:.3f}",
        f"{cell.paper_load:.3f}",
        _figure(cell.ours.easy, cell.measure),
        paper[0],
        _figure(cell.ours.conservative, cell.measure),
        paper[1],
        f"{cell.ours.percent:+.1f}%",
        f"{cell.error:.1f}",
        f"{cell.paper.percent:+.1f}%",
        yes() if cell.agrees else no(),
        why,
    )


def _figure(value: float | None, measure: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if measure == "response" else f"{value:,.1f}"


def _overall(study: Study) -> Section:
    rows: list[tuple[TableCell | str, ...]] = []
    for row in overall():
        ours = study.overall(row.trace, row.measure, row.policy)
        off = "-" if ours is None else f"{(ours / row.mean - 1) * 100:+.1f}%"
        judged: TableCell | str = "-"
        if ours is not None:
            near = abs(ours / row.mean - 1) * 100 <= WITHIN
            judged = yes() if near else no()
        paper = _figure(row.mean, row.measure)
        rows.append((row.trace, _MEASURES[row.measure], row.policy, _figure(ours, row.measure), paper, off, judged))
    columns = ("trace", "measure", "policy", "here", "paper", "off by", f"within {WITHIN:g}%")
    left = ("trace", "measure", "policy")
    table = Table(tuple(Column(title, left=title in left) for title in columns), tuple(rows))
    text = Text("Means over all jobs of a log, under the users' own estimates (the paper's columns called orig).")
    return Section("Table 4: overall means", (text, table))


def _sensitivity(study: Study) -> Section | None:
    rows: list[tuple[TableCell | str, ...]] = []
    for log in study.logs:
        for variant in study.variants(log):
            figures = study.result(log, variant.name)["overall"]
            if not figures:
                continue
            row: list[TableCell | str] = [str(log.source), variant.name or "as the paper"]
            cells = study.cells_of_log(log, variant.name)
            for measure in MEASURES:
                easy, conservative = (figures[policy][measure] for policy in POLICIES)
                change = f"{(conservative / easy - 1) * 100:+.1f}%" if easy else "-"
                counts = count(cell for cell in cells if cell.measure == measure)
                row += [_figure(easy, measure), _figure(conservative, measure), change]
                row.append(f"{counts.agree} of {counts.cells}")
            off = distance(cells)
            row.append("-" if off is None else f"{off:.1f}%")
            rows.append(tuple(row))
    if not rows:
        return None
    columns = [Column("trace", left=True), Column("rules", left=True)]
    for measure in MEASURES:
        group = "mean response" if measure == "response" else "bounded slowdown"
        columns += [Column(title, group) for title in ("EASY", "conservative", "difference", "signs agree")]
    columns.append(Column("off by (median)"))
    nearest = Bullets(tuple(_nearest_rules(study, log) for log in study.logs if study.result(log)["overall"]))
    text = Text(
        "The same logs under other rules. The first line of each is what the tables above show; the others differ from "
        "it by what is named. Means are over all jobs; signs are those of the months of Table 1. The last "
        "column says how far the figures of both schemes in these months are from the published ones."
    )
    return Section("On what the results depend", (text, Table(tuple(columns), tuple(rows)), nearest))


def _nearest_rules(study: Study, log: Found) -> str:
    """Return which rules come nearest to the published figures of a log."""
    by_rules = {variant.name: study.cells_of_log(log, variant.name) for variant in study.variants(log)}
    off = {name: away for name, cells in by_rules.items() if (away := distance(cells)) is not None}
    if not off:
        return f"{log.source}: the log has no month of Table 1."
    best = min(off, key=lambda name: off[name])
    counts = count(by_rules[best])
    words = f"the paper's figures are met best with {best or 'the rules of the paper'}"
    how = f"{off[best]:.1f}% away in the median, {counts.agree} of {counts.cells} signs"
    return f"{log.source}: {words} ({how})."


def _models(study: Study) -> Section:
    models = _points_of_models(study)
    if not models:
        return Section("Fig. 4: models", (Text("No model was run."),))
    caption = (
        "Mean response time and bounded slowdown of both schemes over load, with 90% intervals by batch means. "
        f"Seed {study.options.seed}. The paper's Fig. 4 shows curves without figures; its statements are tested above. "
        "Hollow marks: stopped because the mean response was beyond 30,000 s, so it is only a mean so far."
    )
    blocks: list[Block] = [Picture("backfilling-models", draw_models(models), caption)]
    columns = (
        Column("load"), Column("EASY", "mean response (s)"), Column("conservative", "mean response (s)"),
        Column("difference", "mean response (s)"), Column("EASY", "bounded slowdown"),
        Column("conservative", "bounded slowdown"), Column("difference", "bounded slowdown"),
        Column("EASY", "batches and why it stopped", left=True),
        Column("conservative", "batches and why it stopped", left=True),
    )  # fmt: skip
    for model, points in models.items():
        rows = tuple(_point_row(load, point) for load, point in points)
        blocks.append(Table(columns, rows, _model_caption(study, model)))
    return Section("Fig. 4: models", tuple(blocks))


def _points_of_models(study: Study) -> dict[Model, list[tuple[float, Result]]]:
    return {model: study.points(model) for model in PROCESSORS if study.points(model)}


def _model_caption(study: Study, model: Model) -> str:
    jobs = study.options.model_jobs(model)
    if model == "F":
        return (
            f"Model F: like Feitelson's of 1996 (most of its constants are not known; jobs are repeated at most "
            f"{MOST_REPEATS} times), {jobs:,} jobs generated, {PROCESSORS['F']} processors."
        )
    fitted = ctc_model()
    thanks = f"; acknowledged: {', '.join(fitted.acknowledgements)}" if fitted.acknowledgements else ""
    return (
        f"Model J: Jann's, fitted to {fitted.source}{thanks} (the published table of its constants is not at hand), "
        f"{jobs:,} jobs generated, {PROCESSORS['J']} processors."
    )


def _point_row(load: float, point: Mapping[str, Any]) -> tuple[TableCell | str, ...]:
    easy, conservative = point["easy"], point["conservative"]
    cells: list[TableCell | str] = [f"{load:g}"]
    for measure in MEASURES:
        for figures in (easy, conservative):
            half = figures[f"{measure}_half_width"]
            cells.append(_figure(figures[measure], measure) + (f" ± {_figure(half, measure)}" if half else ""))
        own, other = (figures["together"][measure] for figures in (easy, conservative))
        cells.append(f"{(other / own - 1) * 100:+.1f}%")
    return (*cells, *(f"{figures['batches']}, {figures['reason']}" for figures in (easy, conservative)))


def _amounts(study: Study) -> Section:
    models = _points_of_models(study)
    traces: dict[str, dict[str, float]] = {}
    for trace in TRACES:
        shares = {policy: study.backfilled(trace, policy) for policy in POLICIES}
        known = {policy: share for policy, share in shares.items() if share is not None}
        if len(known) == len(POLICIES):
            traces[trace] = known
    if not models and not traces:
        return Section("Fig. 5: amount of backfilling", (Text("Nothing was run."),))
    caption = (
        "Share of jobs that were backfilled: started while a job submitted earlier waited. The paper's Fig. 5 shows no "
        "figures; its statements are tested above."
    )
    rows = [(trace, *(f"{shares[p]:.1%}" for p in POLICIES), _points(shares)) for trace, shares in traces.items()]
    for model, points in models.items():
        for load, point in points:
            of_point = {policy: float(point[policy]["together"]["backfilled"]) for policy in POLICIES}
            shown = (f"{of_point[policy]:.1%}" for policy in POLICIES)
            rows.append((f"model {model}, load {load:g}", *shown, _points(of_point)))
    columns = (Column("jobs", left=True), Column("EASY"), Column("conservative"), Column("difference, points"))
    picture = Picture("backfilling-amount", draw_backfilling(models, traces), caption)
    return Section("Fig. 5: amount of backfilling", (picture, Table(columns, tuple(rows))))


def _points(shares: Mapping[str, float]) -> str:
    return f"{(shares['conservative'] - shares['easy']) * 100:+.1f}"


_METHOD = (
    "A log is simulated whole, once for each scheme, on the machine that the paper names. A job belongs to the month "
    "of its submission in the log's time zone; the load of a month is what jobs used of the machine within it.",
    "Jobs that outlive their estimate are killed at it; with `overrun extend` the estimate is raised instead. Where "
    "the paper had no estimates (Par, CM5), run times are taken, as it did.",
    "Bounded slowdown is the paper's: response over the run time or 10 s, whichever is longer, not clamped to 1.",
    "A difference is what going from EASY to conservative changes, in per cent of EASY; negative is better for "
    "conservative. Signs agree only if they are equal, however small the difference.",
    "± is half of a 90% interval of the difference, from its scatter between days of submission; a difference smaller "
    "than that is not resolved by the jobs of one month.",
    f"Reasons are given where signs differ or a figure is more than {FIGURES_APART:g}% off. Differences within "
    f"{NOISE:g}% say little of which scheme is better, and their signs are an accident, in the paper as here.",
    "Models: users estimate perfectly, as in the paper; all loads are the same jobs arriving at another pace; batch "
    "means and the stopping rule are those of the paper's section 3.1. Where one scheme stops before the other, the "
    "difference and the share backfilled are over the batches that both have. "
    f"Loads are called high from {HIGH_LOAD:g} on.",
)


def _method() -> Section:
    return Section("How it was done", (Bullets(_METHOD),))
