"""Where the time of the tests goes: CPU and wall seconds of each test, by folder, printed after a run.

CPU seconds are those of the process that runs the test and of the processes that it started and waited for. A service
that outlives its test counts where it ends. With several workers, wall seconds of a folder are the sum over workers.
"""

from __future__ import annotations

import csv
import resource
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PRINTED_FROM = 200
"""Number of tests from which on a run prints the budget; it is of no interest for a single file."""


def processor_seconds() -> float:
    """Return the CPU seconds of this process and of its ended children so far."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


@dataclass
class Sum:
    """The cost of the tests of one folder."""

    tests: int = 0
    processor: float = 0.0
    wall: float = 0.0

    def add(self, processor: float, wall: float, tests: int = 0) -> None:
        self.tests += tests
        self.processor += processor
        self.wall += wall


class Budget:
    """Measures tests where they run; sums up and prints where they are reported.

    Parameters
    ----------
    table
        A CSV file for the figures of each test, or None.
    """

    def __init__(self, table: str | None = None) -> None:
        self.table = table
        self.folders: defaultdict[str, Sum] = defaultdict(Sum)
        self.single: defaultdict[str, Sum] = defaultdict(Sum)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
        """Record, at each phase of a test, the cost since the previous one."""
        report = yield
        now = processor_seconds()
        report.processor_seconds = now - self.last if call.when != "setup" else now - self.began
        self.last = now
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self.began = self.last = processor_seconds()
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        spent = getattr(report, "processor_seconds", 0.0)
        tests = int(report.when == "call")
        folder = str(Path(report.nodeid.partition("::")[0]).parent)
        self.folders[folder].add(spent, report.duration, tests)
        if self.table:
            self.single[report.nodeid].add(spent, report.duration, tests)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the budget, the most expensive folder first."""
        if self.table:
            with Path(self.table).open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["test", "processor_seconds", "wall_seconds"])
                rows.writerows((name, f"{one.processor:.3f}", f"{one.wall:.3f}") for name, one in self.single.items())
        whole = Sum(processor=processor_seconds())  # includes the workers by now
        if sum(one.tests for one in self.folders.values()) < PRINTED_FROM:
            return
        ranked = sorted(self.folders.items(), key=lambda pair: -pair[1].processor)
        rest = whole.processor - sum(one.processor for _, one in ranked)
        terminalreporter.section("budget: CPU and wall seconds by folder")
        for name, one in [*ranked, ("importing, collecting and reporting", Sum(processor=rest)), ("in all", whole)]:
            wall = f"{one.wall:8.1f}" if one.wall else " " * 8
            tests = f"{one.tests:6}" if one.tests else " " * 6
            terminalreporter.write_line(f"{one.processor:8.1f} {wall} {tests}  {name}")
