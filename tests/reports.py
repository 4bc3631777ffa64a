"""A worker's reports of a test: one if it passed, instead of five messages.

pytest reports setup, call and teardown of each test, and xdist its begin and end as well. Writing, sending, reading and
handling five messages takes longer than most tests; for a test that passed, the other four say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol

__all__ = ["Once", "worth_reporting"]


class Once:
    """Runs the tests of a worker and sends only informative reports."""

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in worth_reporting(runtestprotocol(item, log=False, nextitem=nextitem)):
            item.ihook.pytest_runtest_logreport(report=report)
        return True


def worth_reporting(reports: list[pytest.TestReport]) -> Iterator[pytest.TestReport]:
    """Yield the reports of a test's phases; if all passed, only the call's, with the total times."""
    call = next((one for one in reports if one.when == "call"), None)
    if call is None or any(one.outcome != "passed" for one in reports):
        yield from reports
        return
    for other in reports:
        if other is not call:
            call.duration += other.duration
            call.processor_seconds += getattr(other, "processor_seconds", 0.0)  # type: ignore[attr-defined]
    yield call
