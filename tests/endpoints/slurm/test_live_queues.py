"""Starts in queues of several kinds on a real Slurm are predicted as Slurm plans them; skipped where there is none."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
queues = import_module("queues")

pytestmark = pytest.mark.live

PROBES = {"fifo": 10, "random": 15, "arrays": 8, "exclusive": 8, "reservation": 7, "partitions": 7, "depth": 5}


@pytest.fixture(scope="module")
def measured():
    return {kind: queues.measured(kind, 3, count) for kind, count in PROBES.items()}


def test_sixty_probes_have_been_made(measured):
    assert sum(len(found) for found in measured.values()) == 60


def test_on_fifo_queues_all_are_within_the_resolution(measured):
    assert [one for one in measured["fifo"] if not one.met] == []


@pytest.mark.parametrize("kinds", [("random",), [kind for kind in PROBES if kind != "fifo"]], ids=["random", "all"])
def test_on_random_queues_nine_of_ten_are_within_the_resolution(measured, kinds):
    found = [one for kind in kinds for one in measured[kind] if one.planned is not None]
    misses = [one for one in found if not one.met]
    assert len(misses) <= 0.1 * len(found), misses


def test_where_slurm_has_no_plan_for_a_job_that_is_foreseen(measured):
    found = [one for there in measured.values() for one in there if one.planned is None]
    misses = [one for one in found if not one.met]
    assert len(misses) <= 0.1 * len(found), misses


def test_every_miss_has_a_cause(measured):
    assert all(one.met or one.cause for there in measured.values() for one in there)


def test_expected_starts_are_no_earlier_than_slurms_plan(measured):
    for one in (one for there in measured.values() for one in there if None not in (one.expected, one.predicted)):
        assert one.expected >= one.predicted
