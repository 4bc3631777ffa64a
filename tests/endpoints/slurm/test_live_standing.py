"""Priorities and limits against real Slurms of three releases: what is foreseen of a job is what happens to it."""

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from private_slurm import RELEASES

sys.path.insert(0, str(Path(__file__).parent))
situations = import_module("situations")

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root submits jobs of several users")

SHORT = {"priorities": range(1), "limits": range(2)}
LONG = {"priorities": range(100, 120), "limits": range(100, 120)}


def figures(release, seeds):
    with situations.Situations(release) as there:
        limited = [met for seed in seeds["limits"] for met in there.at_limits(seed)]
        weighed = [one for seed in seeds["priorities"] for one in there.priorities(seed)]
    wrong = [met for met in limited if not met.right]
    off = [one for one in weighed if one[1] is None or abs(one[1] - one[2]) > 1]
    return limited, wrong, weighed, off


@pytest.mark.live
@pytest.mark.parametrize("release", RELEASES)
def test_what_happens_to_a_job_is_foreseen(release):
    limited, wrong, weighed, off = figures(release, SHORT)
    assert len(limited) == 8
    assert weighed
    assert (wrong, off) == ([], [])


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", RELEASES)
def test_what_happens_to_many_jobs_is_foreseen(release):
    limited, wrong, weighed, off = figures(release, LONG)
    print(f"{release}: {len(limited)} at limits, {len(wrong)} wrong; {len(weighed)} priorities, {len(off)} off")
    for one in (*wrong, *off):
        print(one)
    assert not [met for met in wrong if met.foreseen == "free"]  # never "starts now" where it does not
    assert len(wrong) <= 0.03 * len(limited)
    assert len(off) <= 0.02 * len(weighed)
