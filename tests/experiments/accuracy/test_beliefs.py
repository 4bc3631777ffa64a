"""What a wrong model predicts for a job, and what is requested by it."""

import numpy as np
import pytest

from experiments.accuracy.beliefs import ERRORS, MARGIN, VARIANTS, asked_for, believed
from gas.application import Requests
from gas.availability import AvailabilityList

SIZES = np.array([1, 4, 16, 64])
TIMES = np.array([6400, 1600, 400, 100])
ASKED = Requests(SIZES, TIMES, TIMES)
OWN = 16, 400, 400
ENDLESS = 10**6


def free(*frames):
    """Return an availability list from the start of each frame and its free processors."""
    starts, counts = np.array(frames).T
    return AvailabilityList(
        scheduler="s", kind="promise", now=0, processors=64, version="1", starts=starts, free=counts
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_an_error_the_model_and_the_walltimes_are_exact(variant):
    belief = believed(ASKED, 16, variant, 0, np.array([1.5, 2.0, -1.0, 0.3, 0.7]), ENDLESS)
    assert belief.requests.times.tolist() == belief.requests.walltimes.tolist() == TIMES.tolist()
    assert belief.spread.tolist() == [0, 0, 0, 0]


def test_each_size_is_off_by_itself():
    normal = np.array([9.0, 1.0, -1.0, 0.0, 2.0])
    belief = believed(ASKED, 16, "each size", 100, normal, ENDLESS)
    assert belief.requests.times.tolist() == [12800, 800, 400, 400]


def test_scalability_is_exact_at_the_users_size_and_off_by_the_error_at_four_times_it():
    normal = np.array([1.0, 9.0, 9.0, 9.0, 9.0])
    belief = believed(ASKED, 16, "scalability", 100, normal, ENDLESS)
    assert belief.requests.times.tolist() == [1600, 800, 400, 200]  # a job that scales worse
    assert belief.spread == pytest.approx(np.log(2) * np.array([2, 1, 0, 1]))
    assert belief.requests.walltimes[2] == 400


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("error", ERRORS[1:])
def test_nine_of_ten_runs_fit_the_walltime_of_any_size_but_the_users_own(variant, error):
    one_size = Requests(np.array([64]), np.array([10**9]), np.array([10**9]))
    walltimes = [
        int(believed(one_size, 4, variant, error, np.full(2, z), 10**15).requests.walltimes[0])
        for z in (-MARGIN - 0.01, -MARGIN + 0.01)
    ]
    # At 64 processors the exponent is positive where z is: a believed time that is too short has z below 0.
    assert walltimes[0] < 10**9 <= walltimes[1]


def test_no_walltime_is_over_the_sites_limit_nor_is_a_size_on_which_the_job_would_be():
    normal = np.array([0.0, 0.0, 0.0, 0.0, 6.0])
    belief = believed(ASKED, 16, "each size", 100, normal, 6400)
    assert belief.requests.walltimes.max() == 6400
    assert belief.requests.times[-1] == 6400  # 100 s, believed to be 64 times as long
    shorter = believed(ASKED, 16, "each size", 100, normal, 900)
    size, _ = asked_for("gas", shorter, OWN, free((0, 64)), 900)
    assert size == 16  # 400 s; one and four processors take too long, and 64 take the believed time
    none = believed(ASKED, 16, "each size", 100, np.full(5, 20.0), 6400)
    assert asked_for("gas", none, OWN, free((0, 64)), 6400) == (16, 400)


def test_gas_asks_for_what_it_believes_ends_first_and_the_user_for_the_same_size_as_ever():
    belief = believed(ASKED, 16, "scalability", 100, np.array([1.0, 0, 0, 0, 0]), ENDLESS)
    lists = free((0, 4), (500, 64))
    # 4: 0 + 800; 16: 500 + 400; 64: 500 + 200
    assert asked_for("gas", belief, OWN, lists, ENDLESS) == (64, belief.requests.walltimes[3])
    assert asked_for("same model", belief, OWN, lists, ENDLESS) == (16, 400)


def test_the_cautious_leave_their_size_only_for_a_gain_beyond_the_uncertainty():
    belief = believed(ASKED, 16, "scalability", 100, np.array([0.0, 0, 0, 0, 0]), ENDLESS)
    # On 64 processors 100 s are believed, 200 s are feared; on 16 it is 400 s for sure.
    near, far = free((0, 16), (201, 64)), free((0, 16), (199, 64))
    for lists, cautious in ((near, 16), (far, 64)):
        assert asked_for("gas", belief, OWN, lists, ENDLESS)[0] == 64
        assert asked_for("cautious", belief, OWN, lists, ENDLESS)[0] == cautious
    assert asked_for("cautious", belief, OWN, near, ENDLESS) == (16, 400)
