from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from speedup_models.amdahl import Amdahl
from speedup_models.downey import Downey
from speedup_models.model import ModelError, execution_times
from speedup_models.registry import model_from_table


def test_the_serial_part_stays_and_the_rest_divides():
    assert Amdahl(100, 0.1).seconds(np.array([1, 2, 9, 10**9])) == pytest.approx([100, 55, 20, 10], rel=1e-6)


@pytest.mark.parametrize(("fraction", "expected"), [(0, [24, 12, 8, 6, 5, 4]), (1, [24] * 6)])
def test_the_extreme_fractions(fraction, expected):
    # 24/k rounded up, as in the application that shows the paper's walk to miss the best request
    assert execution_times(Amdahl(24, fraction), np.arange(1, 7)).tolist() == expected


@given(st.integers(1, 10**6), st.integers(0, 100), st.integers(1, 10**5))
def test_whole_times_are_those_of_exact_arithmetic(work, percent, n):
    f = Fraction(percent, 100)
    exact = work * (f + (1 - f) / n)
    got = execution_times(Amdahl(work, percent / 100), [n])[0]
    nearest_second = round(exact)
    if abs(exact - nearest_second) < Fraction(1, 10**6):  # what rounding to microseconds may take for a whole second
        assert got in (nearest_second, nearest_second + 1)
        assert exact != nearest_second or got == nearest_second
    else:
        assert got == -(-exact.numerator // exact.denominator)


@given(st.floats(0.0001, 1), st.integers(1, 64))
def test_it_is_downeys_model_with_more_parallelism_than_processors(f, n):
    # w/A = f, with w = sigma/(1+sigma) or sigma/2: here A = 64 if that leaves w below 1
    w = f * 64
    if w >= 1:
        return
    sigma = 2 * w if w <= 0.5 else w / (1 - w)
    assert Amdahl(500, f).seconds(np.array([n])) == pytest.approx(Downey(500, 64, sigma).seconds(np.array([n])))


@pytest.mark.parametrize("values", [(0, 0.5), (-1, 0.5), (10, -0.1), (10, 1.1), (10, float("nan"))])
def test_impossible_applications_are_refused(values):
    with pytest.raises(ModelError, match="Amdahl's law"):
        Amdahl(*values)


def test_counts_below_one_are_refused():
    with pytest.raises(ModelError, match="0 processors"):
        Amdahl(10, 0.5).seconds(np.array([4, 0]))


def test_it_is_read_from_a_table():
    table = {"model": "amdahl", "sequential_time": 60, "serial_fraction": 0.05}
    model = model_from_table(Fields(table, "app.toml [speedup]"))
    assert model == Amdahl(60, 0.05)
    assert (model.constraint, model.sizes, model.name) == (None, None, "Amdahl serial fraction 0.05")
    with pytest.raises(FieldError, match=r"serial_fraction: 5 is above 1"):
        model_from_table(Fields(table | {"serial_fraction": 5}, "app.toml [speedup]"))
