"""Studies in which a share of the jobs is treated differently: the list of runs, and results of both groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from experiments.framework.claims import Claim
from experiments.framework.columns import Shown
from experiments.framework.ledger import Configuration
from experiments.framework.logs import Found
from experiments.framework.records import Field
from experiments.framework.results import Seeded, SiteResults
from experiments.framework.sites import Site, at_sites
from experiments.framework.verdicts import LEVEL, Part, of_shares, of_sums, scaled
from gas.errors import BadInput
from gas.intervals import Interval

__all__ = ["CHANGES", "FEWEST", "MONTH", "GroupResults", "GroupRun", "Row", "group_fields", "group_runs", "spread"]

FEWEST: Final = 100
"""Months with fewer jobs do not take part."""


class Setting(Protocol):
    """How many jobs are treated differently, and how: a dataclass of whole numbers, of which this is the first."""

    @property
    def percent(self) -> int:
        """Percentage of treated jobs."""
        ...


@dataclass(frozen=True)
class GroupRun:
    """A month of a log, with a seed."""

    log: Found
    site: Site
    month: str
    seed: int
    settings: tuple[Any, ...]
    """Each a `Setting`."""

    @property
    def configuration(self) -> Configuration:
        """What determines its result, see `experiments.framework.groups`."""
        return {
            "log": self.log.sha256,
            "processors": self.site.processors,
            "month": self.month,
            "seed": self.seed,
            "settings": [list(astuple(one)) for one in self.settings],
        }


def group_runs(options: Seeded, settings: Sequence[Setting], logs: Sequence[Found]) -> tuple[list[GroupRun], list[str]]:
    """Return all runs of a study with the available logs, and the omitted months with reasons.

    Raises
    ------
    BadInput
        There are no runs.
    """
    smallest = min(one.percent for one in settings)
    chosen = tuple(one for one in settings if options.others or one.percent == smallest)
    found, left_out = [], []
    for site, log, jobs in at_sites(logs):
        for month in filter(log.takes, jobs):
            if jobs[month] < FEWEST:
                left_out.append(f"{log.name}: {month} has {jobs[month]} jobs, fewer than {FEWEST}")
                continue
            seeds = range(options.seed, options.seed + options.seeds)
            found += [GroupRun(log, site, month, seed, chosen) for seed in seeds]
    if not found:
        raise BadInput(f"no month has {FEWEST} jobs; give another log or other months")
    return found, left_out


@dataclass(frozen=True, eq=False)
class GroupResults(SiteResults[Seeded, GroupRun]):
    """All runs and their results, in the same order."""

    groups: ClassVar[tuple[str, str]]
    """Names of the treated jobs and of the others."""

    @property
    def settings(self) -> tuple[Any, ...]:
        """All settings."""
        return self.runs[0].settings

    @property
    def done(self) -> list[tuple[str, Configuration, Any]]:
        """Everything that was computed; every job is simulated once per setting."""
        return [(run.log.name, run.configuration, {"jobs": one["jobs"], "moldable": 0}) for run, one in self.pairs]

    def broken(self) -> tuple[int, int]:
        """Return how many jobs were promised a start in all simulations, and how many of them started later."""
        promised = sum(one["jobs"] * (1 + len(one["settings"])) for one in self.results)
        return promised, sum(one["broken"] + sum(of["broken"] for of in one["settings"]) for one in self.results)

    def promises(self) -> Claim:
        """Return the claim that no promise was broken."""
        promised, broken = self.broken()
        return Claim(
            "No job starts later than it was promised at its submission.",
            not broken if promised else None,
            f"{promised:,} promises in all simulations, {broken:,} broken",
        )

    def sums(self, log: Found, setting: Setting, group: str, what: str) -> NDArray[np.float64]:
        """Return sums by month over a group of jobs, or over "all" jobs; all seeds together."""
        names = self.groups if group == "all" else (group,)
        months: dict[str, float] = {}
        for run, result in self.pairs:
            if run.log == log:
                of = result["settings"][run.settings.index(setting)]
                months[run.month] = months.get(run.month, 0.0) + sum(of[name][what] for name in names)
        return np.array(list(months.values()))

    def change(self, log: Found, setting: Setting, group: str, what: str = "turnaround") -> Part:
        """Return by how many per cent a mean of a group exceeds that of the same jobs without any treatment."""
        return scaled(
            of_sums(self.sums(log, setting, group, what), self.sums(log, setting, group, f"{what}_before")), 100, -100
        )

    def geometric_change(self, log: Found, setting: Setting, group: str) -> Part:
        """Return the change of the geometric mean of turn-around times, likewise."""
        apart = self.sums(log, setting, group, "log") - self.sums(log, setting, group, "log_before")
        part = of_sums(apart, self.sums(log, setting, group, "jobs"))

        def factor(level: float) -> Interval | None:
            found = part(level)
            if found is None:
                return None
            mean = float(np.exp(found.mean))
            return Interval(100 * (mean - 1), None if found.half_width is None else 100 * mean * found.half_width)

        return factor

    def against(self, log: Found, setting: Setting, other: Setting, group: str) -> Part:
        """Return by how many per cent a mean turn-around time exceeds that under another setting."""
        sums = [self.sums(log, one, group, "turnaround") for one in (setting, other)]
        return scaled(of_sums(*sums), 100, -100)

    def part(self, log: Found, setting: Setting, group: str, what: str) -> Part:
        """Return a share of a group in per cent, for example of jobs that end "later"."""
        return of_shares(self.sums(log, setting, group, what), self.sums(log, setting, group, "jobs"))

    def shown(self) -> Iterable[Row]:
        """Return the rows of a table, one per log, setting and group; only "all" if all jobs are treated."""
        for _, log in self.logs:
            for setting in self.settings:
                for group in (*self.groups, "all") if setting.percent < 100 else ("all",):
                    yield Row(self, log, setting, group)

    def records(self) -> Iterable[dict[str, object]]:
        """Return the rows of the table for other programs."""
        for run, result in self.pairs:
            about = {"log": run.site.trace, "month": run.month, "seed": run.seed}
            for setting, one in zip(run.settings, result["settings"], strict=True):
                of = {**about, **asdict(setting)}
                for group in self.groups:
                    sums = {
                        ("log_sum" + key[3:] if key.startswith("log") else key): one[group][key] for key in one[group]
                    }
                    yield {**of, "group": group, "broken": one["broken"], "broken_before": result["broken"], **sums}


def spread(parts: Iterable[Part]) -> str:
    """Return the range of the means of parts in per cent, as text."""
    means = sorted(one.mean for part in parts if (one := part(LEVEL)) is not None)
    if not means:
        return "an unknown part"
    low, high = (f"{round(mean):+d}%".replace("-", "−") for mean in (means[0], means[-1]))
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Row:
    """A group of jobs of a log under a setting."""

    study: GroupResults
    log: Found
    setting: Any
    group: str

    def change(self, what: str) -> str:
        """Return the change of a mean."""
        return _text(self.study.change(self.log, self.setting, self.group, what))

    def part(self, what: str) -> str:
        """Return a share of the jobs."""
        return _text(self.study.part(self.log, self.setting, self.group, what))

    @property
    def geometric(self) -> str:
        """The change of the geometric mean of turn-around times."""
        return _text(self.study.geometric_change(self.log, self.setting, self.group))


def _text(part: Part) -> str:
    found = part(LEVEL)
    return "" if found is None else found.text(1)


CHANGES: Final[Sequence[Shown[Row]]] = (
    Shown("mean turn-around", lambda row: row.change("turnaround"), "change (%)"),
    Shown("geometric mean", lambda row: row.geometric, "change (%)"),
    Shown("mean wait", lambda row: row.change("wait"), "change (%)"),
    Shown("later", lambda row: row.part("later"), "jobs, by more than a minute (%)"),
    Shown("sooner", lambda row: row.part("sooner"), "jobs, by more than a minute (%)"),
)
"""Columns of a table of `GroupResults.shown`."""

MONTH: Final = (
    Field("log", "log (the paper's name)"),
    Field("month", "month of submission"),
    Field("seed", "random seed by which the jobs of the groups are drawn"),
)
"""The first fields of `GroupResults.records`."""


def group_fields(names: tuple[str, str], before: str) -> dict[str, tuple[Field, ...]]:
    """Return the last fields of `GroupResults.records`.

    Parameters
    ----------
    names
        Names of the groups.
    before
        The simulation without treatment, in words: "where all jobs are of one class".
    """
    return {
        "all jobs of the simulation": (
            Field("broken", "jobs that started later than they were promised"),
            Field("broken_before", f"the same {before}"),
        ),
        "group": (
            Field("group", " or ".join(names)),
            Field("jobs", "number of jobs"),
            Field("turnaround", "sum of turn-around times", "s"),
            Field("turnaround_before", f"the same {before}", "s"),
            Field("wait", "sum of waits", "s"),
            Field("wait_before", f"the same {before}", "s"),
            Field("log_sum", "sum of natural logarithms of turn-around times in seconds"),
            Field("log_sum_before", f"the same {before}"),
            Field("later", f"jobs that end more than a minute later than {before}"),
            Field("sooner", "jobs that end more than a minute sooner"),
        ),
    }
