"""Fitted parameters in words."""

import math

import pytest

from speedup_models.estimates import Estimate, four_digits


@pytest.mark.parametrize(
    ("value", "text"), [(24440.4, "24,440"), (0.06774, "0.06774"), (9999.4, "9999"), (3e-7, "3e-07"), (2e12, "2e+12")]
)
def test_a_value_has_four_digits_and_no_exponent_up_to_a_billion(value, text):
    assert four_digits(value) == text


def test_an_interval_says_if_the_timings_set_no_limit():
    assert Estimate(24440.4, 23930.0, 24930.0).interval() == "23,930 to 24,930"
    assert Estimate(24440.4, 23930.0, math.inf).interval() == "at least 23,930"
    assert Estimate(1.0, 0.0, math.inf).interval() == "not limited"
