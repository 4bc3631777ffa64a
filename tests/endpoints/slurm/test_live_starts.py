"""What agents predict of jobs as they submit them to a real Slurm, and when these start: a small queue a release."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import INSTALLED, RELEASES

sys.path.insert(0, str(Path(__file__).parent))
predicted, recorded, sites = import_module("predicted"), import_module("recorded_runs"), import_module("sites")

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

OTHERS = [pytest.param(one, marks=pytest.mark.long) for one in RELEASES if one != INSTALLED]


@pytest.mark.parametrize("release", [INSTALLED, *OTHERS])
def test_jobs_start_in_the_predicted_interval_or_within_a_cycle_of_it(release):
    found = recorded.record(release, "short", jobs=7, longest=3, spread=4, kinds=[sites.Priorities])
    rows = list(predicted.judged(found, samples=40))
    made = [one for one in rows if isinstance(one, predicted.Predicted)]
    assert len(made) >= 2, rows
    assert sum(one.nearly for one in made) >= len(made) - 1, made
