"""Report of the study of many clusters: the gain from choosing among more of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from experiments.clusters.results import FULL, WAYS, Results
from experiments.clusters.run import DAYS, LOADS, PERCENT, PROCESSORS
from experiments.framework.claims import Claim, decided_once, summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import LEVEL, RULE, Part, below, decided_claim
from experiments.moldable.machines import Strategy
from gas.printable import many
from gas.report.blocks import Report, Section, Table, fewer, not_the_full

__all__ = ["TABLES", "claims", "clusters_report", "lead"]

_JUDGED = f"{RULE} Intervals are over disjoint groups of clusters."


def clusters_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sections = (
        method_section(
            "experiments.clusters",
            processors=", ".join(map(str, PROCESSORS[:-1])),
            largest=PROCESSORS[-1],
            days=DAYS,
            percent=PERCENT,
            least=f"{LOADS[0]:.0%}",
            most=f"{LOADS[1]:.0%}",
        ),
        summary_section(claims(study), caption=_JUDGED),
        Section("By number of clusters to choose from", (_table(study),)),
        origin_section((), origin),
    )
    less = fewer(study.options.clusters, FULL, "cluster")
    return Report("Choosing from many clusters", lead(study), sections, not_the_full([less]))


def lead(study: Results) -> str:
    """Return the result in words."""
    few, most = study.sizes[0], study.sizes[-1]
    jobs = sum(one["applications"] for run, one in study.pairs if (run.size, run.strategy) == (most, WAYS[0][0]))
    means = [[_shown(study.mean(way, size)) for size in (few, most)] for way, _ in WAYS]
    return (
        f"{study.options.clusters:,} clusters, {jobs:,} applications. With Gas's request, the mean turn-around time of "
        f"applications is {means[1][0]} s on {'their own cluster' if few == 1 else f'{few} clusters'} and "
        f"{means[1][1]} s if they choose from {most}; with the static request, {means[0][0]} s and {means[0][1]} s."
    )


def _shown(part: Part, digits: int = 0) -> str:
    found = part(LEVEL)
    return "" if found is None else found.text(digits)


@dataclass(frozen=True)
class _Row:
    study: Results
    strategy: Strategy
    words: str
    size: int


_COLUMNS = (
    Shown[_Row]("clusters", lambda row: f"{row.size:,}"),
    Shown[_Row]("request", lambda row: row.words, left=True),
    Shown[_Row](
        "applications", lambda row: _shown(row.study.mean(row.strategy, row.size)), "mean turn-around time (s)"
    ),
    Shown[_Row](
        "rigid jobs", lambda row: _shown(row.study.mean(row.strategy, row.size, "rigid")), "mean turn-around time (s)"
    ),
    Shown[_Row]("applications run elsewhere (%)", lambda row: _shown(row.study.away(row.strategy, row.size), 1)),
)


def _table(study: Results) -> Table:
    rows = (_Row(study, way, words, size) for size in study.sizes for way, words in WAYS)
    return table_of(rows, _COLUMNS, "Elsewhere: on another cluster than that of the job that the application replaces.")


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the statements and their verdicts."""
    steps = list(pairwise(study.sizes))
    found = [
        decided_claim(
            f"With the {words}, applications end sooner if they choose from more clusters",
            {f"{few} to {more} clusters": study.change((way, more), (way, few)) for few, more in steps},
            below(0),
        )
        for way, words in WAYS
    ]
    ways: tuple[Strategy, Strategy] = ("choose", "choose-static")
    return [
        *found,
        decided_claim(
            "Applications end sooner with Gas's request than with the static one",
            {many(size, "cluster"): study.change((ways[0], size), (ways[1], size)) for size in study.sizes},
            below(0),
        ),
        decided_claim(
            "With Gas's request, rigid jobs end sooner if applications choose from more clusters",
            {
                f"{few} to {more} clusters": study.change((ways[0], more), (ways[0], few), "rigid_turnaround")
                for few, more in steps
            },
            below(0),
        ),
    ]


TABLES = {
    "clusters": Records[Results](
        "a row for each run: a group of clusters from which applications choose",
        lambda study: [{**vars(run), **result} for run, result in study.pairs],
        {
            "run": (
                Field("seed", "random seed"),
                Field("size", "nominal number of clusters of the group"),
                Field("first", "number of its first cluster"),
                Field("count", "clusters of the group; the last group may have fewer"),
                Field("strategy", "what applications submit: choose-static or choose (Gas's request)"),
            ),
            "result": (
                Field("applications", "applications"),
                Field("turnaround", "sum of their turn-around times", "s"),
                Field("away", "applications that ran on another cluster than that of the job they replace"),
                Field("rigid", "rigid jobs"),
                Field("rigid_turnaround", "sum of their turn-around times", "s"),
                Field("load_ratio", "processor time with static requests / that of the original jobs"),
            ),
        },
    )
}
"""By the names of their files."""
