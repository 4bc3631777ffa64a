"""The engine against a real Slurm as a whole: a small queue runs to its end, and starts are where it has them."""

import pytest
from private_slurm import RELEASES
from runs import judge, record, table

pytestmark = pytest.mark.live


@pytest.mark.parametrize("release", RELEASES)
def test_jobs_start_within_a_cycle_of_when_the_engine_starts_them(release):
    judged = judge(record(release, "small", jobs=16, longest=12, spread=15))
    assert len(judged) >= 16
    assert sum(one.agrees for one in judged) >= 0.9 * len(judged), table(judged)
