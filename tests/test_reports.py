"""For a test that passed one report is sent, for any other all."""

from types import SimpleNamespace

import pytest
from reports import worth_reporting


def phases(**outcomes):
    return [
        SimpleNamespace(when=when, outcome=outcome, duration=2.0, processor_seconds=1.0)
        for when, outcome in outcomes.items()
    ]


def test_a_test_that_passed_is_reported_once_with_what_all_of_it_took():
    (one,) = worth_reporting(phases(setup="passed", call="passed", teardown="passed"))
    assert (one.when, one.outcome, one.duration, one.processor_seconds) == ("call", "passed", 6.0, 3.0)


@pytest.mark.parametrize(
    "outcomes",
    [
        {"setup": "failed", "teardown": "passed"},
        {"setup": "skipped", "teardown": "passed"},
        {"setup": "passed", "call": "failed", "teardown": "passed"},
        {"setup": "passed", "call": "skipped", "teardown": "passed"},  # an expected failure, too
        {"setup": "passed", "call": "passed", "teardown": "failed"},
    ],
)
def test_any_other_is_reported_phase_by_phase(outcomes):
    whole = phases(**outcomes)
    assert list(worth_reporting(whole)) == whole
    assert [one.duration for one in whole] == [2.0] * len(whole)
