"""What a worker reports of a test: once where it passed, in place of five messages.

pytest reports setup, call and teardown of each test, and xdist its begin and end as well. To write, send, read and
handle five messages takes longer than most tests; a test that passed has nothing to say in the others.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol

__all__ = ["Once", "worth_reporting"]


class Once:
    """Runs the tests of a worker and reports of each what is worth it."""

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in worth_reporting(runtestprotocol(item, log=False, nextitem=nextitem)):
            item.ihook.pytest_runtest_logreport(report=report)
        return True


def worth_reporting(reports: list[pytest.TestReport]) -> Iterator[pytest.TestReport]:
    """Yield the reports of a test's phases: of one that passed throughout only the call, with what all of them took."""
    call = next((one for one in reports if one.when == "call"), None)
    if call is None or any(one.outcome != "passed" for one in reports):
        yield from reports
        return
    for other in reports:
        if other is not call:
            call.duration += other.duration
            call.processor_seconds += getattr(other, "processor_seconds", 0.0)  # type: ignore[attr-defined]
    yield call
