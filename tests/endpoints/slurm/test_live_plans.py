"""What Gas takes at limits starts, and finishes first of all that there is: a short form of what `plans` measures."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES

sys.path.append(str(Path(__file__).parent))  # beside it; what tests share is above
plans, shapes = import_module("plans"), import_module("shapes")

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.getuid() != 0, reason="only root submits jobs of several users"),
]

SITUATIONS = 2


@pytest.mark.parametrize("release", RELEASES)
def test_nothing_is_said_to_start_now_or_taken_that_a_limit_holds(release):
    found = list(plans.at_limits(release, "short-0", SITUATIONS))
    assert [one for one in found if one.error or one.held_for_ever] == []
    assert [each for one in found for each in one.tried if each.wrong_now or each.wrong_never] == []


def test_what_is_taken_finishes_first_of_all_that_there_is():
    (found,) = plans.choosing("24.11", "short-0", 1)
    assert len(found.tried) > 4
    assert found.right, plans.told(found)


def test_the_shape_that_is_taken_finishes_first_of_all_shapes_on_gpus():
    found = list(shapes.shaping("26.05", "short-0", SITUATIONS))
    assert [plans.told(one) for one in found if not one.right or one.error] == []
    assert sum(len(one.tried) for one in found) > SITUATIONS
