"""The engine against a real Slurm as a whole: a small queue runs to its end, and starts are where it has them."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES

sys.path.insert(0, str(Path(__file__).parent))
runs = import_module("runs")

pytestmark = [pytest.mark.live, pytest.mark.long]  # one small queue: a few seconds of the machine's decide


@pytest.mark.parametrize("release", RELEASES)
def test_jobs_start_within_a_cycle_of_when_the_engine_starts_them(release):
    judged = runs.judge(runs.record(release, "small", jobs=16, longest=12, spread=15), causes=False)
    assert len(judged) >= 16
    assert sum(one.agrees for one in judged) >= 0.9 * len(judged), runs.table(judged)
