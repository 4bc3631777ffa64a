"""Starts at sites of several kinds, on real Slurms of three releases, are foreseen as Slurm plans them.

A short form of what `queues.py` measures; a release that is not here is skipped with the reason.
"""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
queues = import_module("queues")

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

PROBES = {"fifo": 2, "random": 3, "exclusive": 3, "reservation": 3, "deferred": 3}
"""How many in one queue of each kind."""


@pytest.fixture(scope="module", params=RELEASES)
def measured(request):
    found = [one for kind, count in PROBES.items() for one in queues.measured(kind, request.param, "short", count)]
    assert len(found) == sum(PROBES.values())
    return found


@pytest.fixture(params=queues.TRANSPORTS)
def transport(request):
    return request.param


def test_nine_of_ten_are_within_the_resolution_or_foreseen_to_have_no_plan(measured, transport):
    misses = [one for one in measured if not one.met(transport)]
    assert len(misses) <= 0.1 * len(measured), misses


def test_nothing_is_said_to_start_now_that_slurm_does_not_plan(measured, transport):
    assert [one for one in measured if one.wrong_now(transport)] == []


def test_every_miss_has_a_cause(measured, transport):
    assert all(one.met(transport) or one.said[transport].cause for one in measured)


def test_expected_starts_are_no_earlier_than_slurms_plan(measured, transport):
    said = [one.said[transport] for one in measured]
    for one in (one for one in said if one.start is not None and one.expected is not None):
        assert one.expected >= one.start
