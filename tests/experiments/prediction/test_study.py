"""``gas experiment prediction``: counts and verdicts, and the whole study on made-up logs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_files import contents

from experiments.framework.sites import SITES
from gas.intervals import FEWEST, Interval, by_months, interval

# ------------------------------------------------------------------------------------------------------- the intervals


def test_months_of_equal_size_count_as_one_value_each():
    values = np.array([1.0, 3.0, 5.0, 7.0, 0.0, 2.0, 4.0, 4.0])
    months = [(log, month) for log, month in product(("KTH", "CTC"), ("1997-01", "1997-02")) for _ in range(2)]
    expected = interval([2.0, 6.0, 1.0, 4.0])
    found = by_months(values, months)
    assert (found.mean, found.half_width) == pytest.approx((expected.mean, expected.half_width))


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), min_size=FEWEST, max_size=7))
def test_the_mean_is_that_of_all_values_however_many_a_month_has(batches):
    values = np.array([value for batch in batches for value in batch])
    found = by_months(values, [("KTH", str(i)) for i, batch in enumerate(batches) for _ in batch])
    assert found.mean == pytest.approx(values.mean())
    if np.ptp(values) > 1e-9:
        assert found.half_width > 0


@pytest.mark.parametrize("months", [1, 2, 3])
def test_few_months_tell_nothing_of_how_sure_a_mean_is_even_where_they_agree(months):
    values, names = np.full(2 * months, 90.0), [("KTH", f"1997-{1 + i // 2:02}") for i in range(2 * months)]
    assert by_months(values, names) == Interval(90.0, None)


def test_the_full_study_has_months_enough_for_an_interval_of_each_log():
    assert all(len(site.months) >= FEWEST for site in SITES)


@pytest.mark.thorough
def test_two_workers_and_shards_give_the_same_bytes(gas, made_logs, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    command = ("experiment", "prediction", "--traces", made_logs, "--quick", "--only", "choice", "--runs", 3)
    assert gas(*command, "--output", whole, "--workers", 1).code == 0
    for part, workers in (("2/2", 1), ("1/2", 2)):
        assert gas(*command, "--output", parts, "--shard", part, "--workers", workers).code == 0
        assert not (parts / "prediction.md").exists()
    kept = sorted((parts / "runs").iterdir())
    assert gas(*command, "--output", parts).code == 0
    assert sorted((parts / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(parts) == contents(whole)


def test_without_a_month_that_is_long_enough_there_is_nothing_to_study(gas, made_logs, tmp_path):
    found = gas("experiment", "prediction", "--traces", made_logs, "--output", tmp_path, "--runs", 10_000)
    assert found.code == 2
    assert "--runs" in found.err


def test_without_a_log_there_is_nothing_to_study(gas, tmp_path):
    found = gas("experiment", "prediction", "--traces", tmp_path, "--output", tmp_path / "out")
    assert found.code == 2
    assert "--traces" in found.err
