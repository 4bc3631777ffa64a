"""What is asked for in the measurement of shapes, and the page that is made of it."""

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
from plans import Situation, Tried
from shapes import drawn_asking, page_of
from sites import Gpus

TAKEN = Tried(("main", "", ""), 8, 1000, ("--gpus=8",), said=0, listed=True, start=0, state="RUNNING")
ONE = Situation("shapes", "24.11", "24.11.5", "1-0", 0, "commands", "script --gpus=8", TAKEN, (), 4)


@pytest.mark.parametrize("machine", Gpus.MACHINES)
def test_each_way_of_asking_for_gpus_is_drawn(machine):
    chance = random.Random(1)
    drawn = [drawn_asking(machine, chance, memory=True) for _ in range(100)]
    assert {one.application.unit for one in drawn if one.script is None} == {"gpus", "nodes"}
    said = " ".join(one.about for one in drawn)
    for word in ("--gpus-per-node=", "--gpus-per-task=", "--gres=", "--cpus-per-gpu=", "tasks_per_node=1", "memory="):
        assert word in said


@pytest.mark.parametrize(("start", "right"), [(0, True), (60, True), (61, False)])
def test_what_finishes_within_a_cycle_of_the_first_is_right(start, right):
    other = replace(TAKEN, processors=4)
    assert replace(ONE, taken=replace(TAKEN, start=start), others=(other,)).right is right


def test_the_page_has_a_row_a_release_and_names_the_misses():
    late = replace(ONE, number=1, taken=replace(TAKEN, start=5000), others=(replace(TAKEN, processors=4),))
    page = page_of([ONE, late])
    assert "| 24.11.5 | 2 | 3 | 1: 50.0% (9.5% to 90.5%) | 66.7% (20.8% to 93.9%) |" in page
    assert "| job script with --gpus | 2 |" in page
    assert "| starts later than predicted | 24.11.5, 1-0 (1) | script --gpus=8 |" in page
    assert "Nothing has been measured" in page_of([])
