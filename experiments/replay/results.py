"""The results of all scenarios of a replay, and tables of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from experiments.framework.ledger import Result
from experiments.framework.records import Field, Records
from experiments.framework.results import LogResults
from experiments.replay.run import RECORD
from experiments.replay.scenarios import Options, Scenario

__all__ = ["TABLES", "Replayed", "Row"]


@dataclass(frozen=True)
class Row:
    """A scenario and its result."""

    run: Scenario
    result: Result

    @property
    def figures(self) -> Mapping[str, Any]:
        """Its metrics."""
        found: Mapping[str, Any] = self.result["figures"]
        return found

    def beside(self, other: str) -> Mapping[str, Any] | None:
        """Return which jobs end later than in another schedule ("recorded", "easy" or "same"); None if unknown."""
        found: Mapping[str, Any] | None = self.result["beside"][other]
        return found

    @property
    def change(self) -> str:
        """What is changed besides the policy, in a word or two."""
        if self.run.moldable:
            return f"{self.run.moldable}% moldable"
        base = self.run.log.source.processors
        if self.run.processors != base:
            return f"{self.run.processors:,} processors"
        return {"requested": "", "perfect": "perfect walltimes"}.get(
            self.run.walltimes, f"walltimes {self.run.walltimes}"
        )


class Replayed(LogResults[Options, Scenario]):
    """All scenarios and their results."""

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of the scenarios in which jobs ran."""
        return [Row(run, result) for run, result in self.pairs if result["jobs"]]

    @cached_property
    def record(self) -> Row | None:
        """The recorded schedule; None if the log has no starts."""
        return next((row for row in self.rows if row.run.name == RECORD), None)

    @cached_property
    def policies(self) -> list[Row]:
        """Rows of the policies, with nothing else changed."""
        return [row for row in self.rows if row.run.is_base and row.run.name != RECORD]

    def changed(self, what: str) -> list[Row]:
        """Return scenarios with changed machine ("processors"), "walltimes" or share of moldable jobs ("moldable")."""
        return [row for row in self.rows if getattr(row.run, what) != getattr(self.base, what)]

    @property
    def base(self) -> Scenario:
        """The record, the first scenario."""
        return self.runs[0]

    @property
    def failed(self) -> list[str]:
        """Errors in the user's policies."""
        return list(dict.fromkeys(result["error"] for result in self.results if result["error"]))


def _beside(other: str, name: str, words: str) -> Sequence[Field]:
    def of(key: str) -> Any:
        return lambda row: (row.beside(other) or {}).get(key)

    return (
        Field(f"later_than_{name}", f"share of the jobs that end over a minute later than {words}", "", of("later")),
        Field(f"sooner_than_{name}", f"share of the jobs that end over a minute sooner than {words}", "", of("sooner")),
        Field(f"change_{name}", f"mean response time minus that {words}", "s", of("change")),
        Field(
            f"change_{name}_half_width",
            "half of its 90% interval over months; empty for fewer than 4 months",
            "s",
            of("half_width"),
        ),
    )


def _figure(name: str, meaning: str, unit: str = "") -> Field:
    return Field(name, meaning, unit, lambda row: row.figures[name])


TABLES: Final = {
    "replay-scenarios": Records[Replayed](
        "a row for each scenario; the record first",
        lambda study: study.rows,
        {
            "scenario": (
                Field("policy", "name of the policy; recorded: the log's own schedule", "", "run.name"),
                Field("processors", "processors of the machine", "", "run.processors"),
                Field("walltimes", "walltimes: as in the log, perfect, f=N or corrected", "", "run.walltimes"),
                Field("moldable", "share of the jobs for which Gas chose the size", "per cent", "run.moldable"),
                Field("seed", "random seed", "", "run.seed"),
                Field("jobs", "jobs that ran", "", "result.jobs"),
            ),
            "figures": (
                _figure("mean_wait", "mean time from submission to start", "s"),
                _figure("median_wait", "median of the same", "s"),
                _figure("wait_95", "95% of the jobs wait no longer", "s"),
                _figure("mean_response", "mean time from submission to end", "s"),
                _figure("mean_bounded_slowdown", "mean of max(1, response / max(run time, 10 s))"),
                _figure("utilization", "share of the machine in use, from the first submission to the last end"),
            ),
            "who loses": (
                *_beside(RECORD, "record", "recorded"),
                *_beside("easy", "easy", "under EASY on the machine of the log"),
                *_beside("same", "same", "under the same policy with nothing changed"),
            ),
        },
    )
}  # fmt: skip
"""By the names of their files."""
