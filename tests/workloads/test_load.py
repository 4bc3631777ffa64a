"""Offered load, and denser streams of jobs."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workloads import Header, Log, offered_load, read_swf, rigid_jobs, scale_interarrivals, scale_to_load
from workloads.load import submit_at_load


def jobs_of(submit, run_time, processors, machine):
    columns = {"submit": submit, "run_time": run_time, "allocated_processors": processors}
    return rigid_jobs(Log.from_columns(columns, header=Header((f"; MaxProcs: {machine}",))))


def test_load_is_the_work_over_what_the_machine_could_do_until_the_last_submission():
    # 3·40 + 2·30 = 180 processor-seconds, on 4 processors for 100 seconds.
    assert offered_load(jobs_of([50, 150], [40, 30], [3, 2], 4)) == 180 / 400


def test_load_of_no_span_is_zero():
    assert offered_load(jobs_of([5, 5], [40, 30], [1, 1], 4)) == 0
    assert offered_load(jobs_of([5], [-1], [1], 4)) == 0


def test_load_of_a_huge_log_does_not_overflow():
    assert offered_load(jobs_of([0, 2**40], [2**52, 2**52], [2**20, 2**20], 2**20)) == pytest.approx(2**53 / 2**40)


@given(st.lists(st.integers(0, 10**9), max_size=20).map(sorted), st.floats(0.01, 100))
def test_scaled_submissions_stay_in_order_and_within_half_a_second_of_exact(submit, factor):
    scaled = scale_interarrivals(submit, factor)
    assert (np.diff(scaled) >= 0).all()
    exact = [submit[0] + (time - submit[0]) * factor for time in submit]
    assert np.abs(scaled - np.array(exact)).max(initial=0) <= 0.5 + 1e-5


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_an_impossible_factor_is_refused(factor):
    with pytest.raises(ValueError, match="above 0"):
        scale_interarrivals([0, 1], factor)


def test_raising_load_from_0688_to_08_multiplies_interarrival_times_by_086():
    """The worked example of Mu'alem & Feitelson, section 3.1."""
    jobs = jobs_of([0, 50_000, 100_000], [68_800, 0, 0], [1, 1, 1], 1)
    assert offered_load(jobs) == 0.688
    scaled = scale_to_load(jobs, 0.8)
    assert scaled.submit.tolist() == [0, 43_000, 86_000]
    assert offered_load(scaled) == pytest.approx(0.8)
    assert scaled.run_time.tolist() == jobs.run_time.tolist()


@pytest.mark.parametrize("load", [0, -0.5, float("nan"), float("inf")])
def test_a_load_that_is_none_is_refused(load):
    with pytest.raises(ValueError, match="cannot be reached"):
        scale_to_load(jobs_of([0, 9], [1, 1], [1, 1], 1), load)


def test_jobs_without_load_cannot_be_scaled():
    with pytest.raises(ValueError, match="no load to scale"):
        scale_to_load(jobs_of([5, 5], [1, 1], [1, 1], 1), 0.8)


@pytest.mark.parametrize(
    ("name", "load"),
    [("CTC-SP2-1996-3.1-cln", 0.8416), ("SDSC-SP2-1998-4.2-cln", 0.8341), ("SDSC-Par-1996-3.1-cln", 0.7465)],
)
def test_the_load_of_real_logs_is_the_measured_one(traces, name, load):
    path = traces / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in GAS_TRACES")
    assert offered_load(rigid_jobs(read_swf(path))) == pytest.approx(load, abs=5e-5)


@given(
    st.lists(st.floats(0, 10**7), min_size=2, max_size=50).map(sorted),
    st.floats(0.01, 2),
)
def test_fractions_of_seconds_are_scaled_before_they_are_cut_off(submit, load):
    assume(submit[-1] - submit[0] > 1)
    sizes, run_time = np.full(len(submit), 3), np.full(len(submit), 1000)
    scaled = submit_at_load(submit, sizes, run_time, 4, load)
    assert scaled.dtype == np.int64
    assert (np.diff(scaled) >= 0).all()
    span = 3000 * len(submit) / (4 * load)  # what it must take
    exact = [int(submit[0]) + (time - int(submit[0])) * span / (submit[-1] - submit[0]) for time in submit]
    assert np.abs(scaled - np.array(exact)).max() <= 0.5 + 1e-6 * span
