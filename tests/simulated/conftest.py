"""Tells how many seeds were run."""

from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what the simulation has run in this session, also in other processes."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    ran = [report for report in reports if getattr(report, "when", "") == "call"]
    found = [text for report in ran for name, text in report.user_properties if name == "simulated"]
    if found:
        from simulated.runs import Summary

        terminalreporter.write_line(f"simulated: {Summary.merge(found)}")
