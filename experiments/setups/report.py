"""The report of the search for the paper's set-up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from experiments.framework.columns import Shown, table_of
from experiments.framework.items import MET
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.moldable.simulated import EACH_MONTH, simulated_section
from experiments.published import PAPER_LOSES
from experiments.setups.results import WHO, Results, met_means, printed
from experiments.setups.setups import CHOICES, text_of
from gas.report.blocks import Column, Report, Section, Table, Text, fewer, not_the_full

__all__ = ["TABLES", "setups_report"]

_SHOWN = 12
"""Number of set-ups whose means are shown one by one."""


def setups_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sections = [
        method_section("experiments.setups"),
        _choices(),
        Section("Set-ups", (table_of(_rows(study), _COLUMNS),)),
        Section("Means (s)", (Text(f"* within {MET:.0f}% of the printed mean."), _means(study))),
        simulated_section(study.logs, EACH_MONTH["empty"]),
        origin_section(study.logs, origin),
    ]
    options = study.options
    banner = not_the_full([*study.missing, *study.left_out, fewer(options.runs, 210, "run", " per month")])
    return Report("The set-up of Tables 5.1 to 5.7", lead(study), tuple(sections), banner)


def lead(study: Results) -> str:
    """Return the result in words."""
    if not study.setups:
        return "No set-up could be run in every month."
    best = study.setups[0]
    met, cells = study.met(best), study.cells(best)
    return (
        f"{len(study.setups)} set-ups were tried. The best, {text_of(best)}, has {met} of {cells} means "
        f"({met / cells:.0%}) within {MET:.0f}% of the printed ones; the set-up of the other studies "
        f"{f'has {study.met(())}' if () in study.setups else 'was not run'}."
    )


def _choices() -> Section:
    columns = (
        Column("choice", left=True),
        Column("the paper's words", left=True),
        Column("option", left=True),
        Column("remark", left=True),
    )
    rows = []
    for choice in CHOICES:
        rows.append((choice.name, choice.words, choice.usual, choice.remark))
        rows += [("", "", other, why) for other, why in choice.others.items()]
    return Section("What the paper leaves open", (Table(columns, tuple(rows)),))


_COLUMNS = (
    Shown[Any]("difference from the usual set-up", lambda row: row.setup, left=True),
    Shown[Any]("all", lambda row: f"{row.met} of {row.cells}", "means met"),
    Shown[Any]("with the best months", lambda row: str(row.met_at_best), "means met"),
    Shown[Any]("SDSC, CTC, KTH", lambda row: row.of_logs, "means met"),
    Shown[Any]("classes of benchmarks", lambda row: row.of_classes, "means met"),
    Shown[Any]("mean error (factor)", lambda row: f"{row.error:.2f}"),
    Shown[Any](f"Gas loses (paper: {PAPER_LOSES}%)", lambda row: f"{row.loses:.1f}%"),
)


def _rows(study: Results) -> list[SimpleNamespace]:
    found = []
    for setup in study.setups:
        means = study.means(setup)
        met = {name: int(met_means(mean, printed()[name]).sum()) for name, mean in means.items() if name in printed()}
        logs = [met[site.trace] for site, _ in study.logs if site.trace in met]
        row = SimpleNamespace(
            setup=text_of(setup),
            met=study.met(setup),
            cells=study.cells(setup),
            met_at_best=study.met_at_best(setup),
            error=study.error(setup),
            loses=study.loses(setup),
            of_logs=", ".join(map(str, logs)),
            of_classes=str(sum(met.values()) - sum(logs)),
        )
        for name, mean in means.items():
            for who, seconds in zip(WHO, mean, strict=True):
                setattr(row, f"{name}_{who}", float(seconds))
        found.append(row)
    return found


def _means(study: Results) -> Table:
    paper = printed()
    columns = (Column("set-up", left=True), Column("requests", left=True), *(Column(name) for name in paper))
    rows = [("printed", who, *(f"{mean[at]:,.0f}" for mean in paper.values())) for at, who in enumerate(WHO)]
    for setup in study.setups[:_SHOWN]:
        means = study.means(setup)
        for at, who in enumerate(WHO):
            cells = [
                f"{means[name][at]:,.0f}{'*' if met_means(means[name], mean)[at] else ''}" if name in means else ""
                for name, mean in paper.items()
            ]
            rows.append(("" if at else text_of(setup), who, *cells))
    return Table(columns, tuple(rows))


TABLES = {
    "setups": Records[Results](
        "a row for each set-up, those that meet most means first",
        lambda study: [vars(row) for row in _rows(study)],
        {
            "set-up": (
                Field("setup", "difference from the usual set-up"),
                Field("met", f"printed means of Tables 5.2 to 5.7 within {MET:.0f}%"),
                Field("cells", "printed means"),
                Field("met_at_best", "means met with the best choice of as many months as the paper used"),
                Field("of_logs", "means met for each log, of two"),
                Field("of_classes", "means met for the classes of benchmarks, of six"),
                Field("error", "geometric mean of the factors by which means differ"),
                Field("loses", "share of the runs in which Gas's request ended later", "%"),
            ),
            "mean": (
                Field("{part}_gas", "mean turn-around time of Gas's requests, log or class {part}", "s"),
                Field("{part}_static", "mean turn-around time of static requests, log or class {part}", "s"),
            ),
        },
    )
}
"""By the names of their files."""
