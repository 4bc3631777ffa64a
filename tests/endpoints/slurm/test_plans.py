"""What counts as right of a request that Gas takes, and the tables that are made of it."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
from measured_page import page_of
from plans import Situation, Tried, line_of, read_plans

TAKEN = Tried(("main", "", ""), 8, 1000, ("--ntasks=8",), said=0, listed=True, start=0, state="RUNNING")
OTHER = replace(TAKEN, where=("short", "", "high"), processors=4, execution=3000)
"""What is taken may finish 3060 s from now, 2% later."""
PLAN = Situation("choice", "24.11", "24.11.5", "1-0", 0, "commands", "Choices", TAKEN, (OTHER,), 12)


@pytest.mark.parametrize(
    ("taken", "other", "right"),
    [
        ({}, {}, True),
        ({"start": 2061}, {}, False),
        ({"start": 2060}, {}, True),
        ({"start": None}, {}, False),
        ({"limit": "AssocGrpCpuLimit", "state": "PENDING"}, {}, False),
        ({"refused": "Invalid qos"}, {}, False),
        ({"start": None, "said": 9000}, {"start": None}, True),
        ({"start": None}, {"start": None}, False),
    ],
)
def test_what_is_taken_finishes_first_or_within_2_percent(taken, other, right):
    found = replace(PLAN, taken=replace(TAKEN, **taken), others=(replace(OTHER, **other),))
    assert found.right is right


def test_nothing_taken_is_right_where_nothing_is_planned():
    held = replace(OTHER, start=None, state="PENDING", reason="QOSMaxWallDurationPerJobLimit")
    assert replace(PLAN, taken=None, others=(held,)).right
    assert not replace(PLAN, taken=None).right
    assert replace(PLAN, taken=None, others=(replace(OTHER, said=None, words="x"),)).cause == (
        "nothing is chosen, called impossible: x"
    )


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ({}, False), ({"start": None}, True), ({"refused": "no"}, True), ({"start": 700, "said": 700}, False),
        ({"state": "PENDING", "reason": "uid 5 not in group permitted"}, True),
        ({"state": "PENDING", "limit": "AssocGrpCpuLimit"}, True),
        ({"start": None, "listed": False}, False), ({"start": None, "said": 61}, False),
    ],
)  # fmt: skip
def test_said_to_start_now_is_wrong_where_slurm_does_not_start_it(what, wrong):
    assert replace(TAKEN, **what).wrong_now is wrong


def test_taken_for_ever_is_what_does_not_start_on_an_empty_machine_while_another_would():
    held = replace(TAKEN, start=None, state="PENDING", lasting=True)
    assert replace(PLAN, taken=held).held_for_ever
    assert not replace(PLAN, taken=replace(held, lasting=False)).held_for_ever
    assert not replace(PLAN, taken=held, others=(replace(OTHER, start=None),)).held_for_ever


@pytest.mark.parametrize(
    ("what", "missed"),
    [
        ({}, ""), ({"said": None, "words": "w"}, "called impossible: w"),
        ({"start": 61}, "starts later than predicted"), ({"said": 61}, "starts sooner than predicted"),
        ({"said": 61, "by": "Main"}, "the main scheduler starts it out of turn"),
        ({"start": None, "reason": "Licenses"}, "predicted to start now, held by Licenses"),
    ],
)  # fmt: skip
def test_what_was_not_foreseen_has_a_name(what, missed):
    assert replace(TAKEN, **what).missed == missed


def test_situations_are_the_same_when_they_are_read_again(tmp_path):
    (tmp_path / "found.jsonl").write_text(line_of(PLAN) + line_of(replace(PLAN, taken=None)))
    assert read_plans([tmp_path / "found.jsonl"]) == [PLAN, replace(PLAN, taken=None)]


def test_the_page_has_a_row_a_release_and_the_causes():
    late = replace(PLAN, version="26.05.5", taken=replace(TAKEN, start=5000), number=1)
    held = replace(TAKEN, start=None, state="PENDING", limit="QOSGrpCpuLimit", lasting=True)
    page = page_of([], [PLAN, late, replace(PLAN, table="limits", taken=held)])
    assert "| 24.11.5 | 1 | 2 | 1: 100.0% (20.7% to 100.0%) | 100.0% (34.2% to 100.0%) |" in page
    assert "| 26.05.5 | 1 | 2 | 0: 0.0% (0.0% to 79.3%) | 50.0% (9.5% to 90.5%) |" in page
    assert "| starts later than predicted | 1 |" in page
    assert "| 24.11.5 | 1 | 0 | 0 | 1 | 0 of 0 | 1 of 2 | 0 |" in page
    assert "| chosen, and never starts: QOSGrpCpuLimit | 1 |" in page
