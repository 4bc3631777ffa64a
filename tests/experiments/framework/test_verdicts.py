"""Verdicts only where intervals decide, allowing for the number of parts."""

import math

import numpy as np
import pytest

from experiments.framework.verdicts import (
    DECIDES,
    LEVEL,
    above,
    below,
    between,
    decided,
    decided_claim,
    minus,
    of_points,
    of_samples,
    of_shares,
    of_sums,
    outside,
)
from gas.intervals import Interval, ratio_by_months


def parts(*values):
    """Return parts with intervals of width 1; 1.5 at the level that decides, 2 where it allows for several parts."""
    widths = {LEVEL: 1.0, DECIDES: 1.5}

    def part(value):
        if value is None or value.half_width is None:
            return lambda level: value
        return lambda level: Interval(value.mean, value.half_width * widths.get(level, 2.0))

    return {str(at): part(value) for at, value in enumerate(values)}


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([Interval(-5, 1), Interval(-9, 2)], True),
        ([Interval(-5, 1), Interval(9, 2)], False),
        ([Interval(-5, 1), Interval(3.5, 2)], None),  # against it alone, but not among two
        ([Interval(-5, 1), Interval(-2.5, 2)], None),  # the shown interval is below, that of the verdict is not
        ([Interval(-5, 1), Interval(-1, 2)], None),
        ([Interval(-5, 1), Interval(-1, None)], None),
        ([Interval(-5, 1), None], None),  # a statement about both is unknown if the second is
        ([Interval(5, 1), None], False),
        ([None, None], None),
        ([], None),
    ],
)
def test_a_statement_holds_where_every_part_decides_for_it_and_fails_where_one_surely_decides_against(values, holds):
    assert decided(parts(*values), below(0)) is holds


def test_a_few_months_that_agree_by_chance_do_not_resolve_a_statement():
    """Of 30 jobs 3 in each of four months: that 10.0 ± 0.0% are below 11% was counted as certain."""
    agree, jobs = [3] * 4, [30] * 4
    assert decided({"": of_shares(agree, jobs)}, below(11)) is None
    assert decided({"": of_sums(agree, jobs)}, below(0.11)) is None
    months, kind = sorted([*range(12)] * 30), np.array(([1] * 3 + [0] * 27) * 12)
    assert decided({"": of_points(kind, 0 * kind, months)}, below(11)) is None
    assert decided({"": of_points(0 * kind, kind, months)}, above(-11)) is None
    assert decided({"": of_points(0 * kind, 0 * kind, months)}, below(1)) is None
    assert decided({"": of_points(0 * kind, 0 * kind, months)}, below(1.5)) is True
    assert decided({"": of_shares([300] * 4, [3000] * 4)}, below(11.5)) is True
    assert of_shares([0], [0])(0.9) is None
    assert of_points([], [], [])(0.9) is None


def test_tests_are_open_where_the_interval_crosses_a_limit():
    inside, across, outside = Interval(5, 1), Interval(9.5, 1), Interval(12, 1)
    assert [between(0, 10)(one) for one in (inside, across, outside)] == [True, None, False]
    assert [above(10)(one) for one in (inside, across, outside)] == [False, None, True]
    assert below(10)(Interval(5, None)) is None


@pytest.mark.parametrize(
    ("share", "verdict"),
    [((90.0, 5.0), True), ((85.0, 0.1), None), ((95.0, 30.0), None), ((84.0, 0.5), False), ((84.0, 1.0), None),
     ((97.0, 2.5), None), ((97.0, 1.5), False), ((84.0, None), None), ((90.0, None), None)],
)  # fmt: skip
def test_a_share_lies_inside_or_outside_only_where_its_whole_interval_does(share, verdict):
    assert between(85, 95)(Interval(*share)) is verdict


def test_a_claim_on_logarithms_shows_the_factors():
    claim = decided_claim("it doubles", parts(Interval(math.log(2), math.log(1.5))), above(0), logarithms=True)
    assert claim.here == "0: × 2.00 (1.33 to 3.00)"
    assert decided_claim("", parts(Interval(0.0, None)), above(0), logarithms=True).here.startswith("0: × 1.00;")


def test_a_claim_names_each_part_and_that_it_is_not_resolved():
    claim = decided_claim("it falls", parts(Interval(-5, 1), Interval(1, 2)), below(0))
    assert (claim.verdict, claim.here) == ("not resolved", "0: -5.0 ± 1.0%; 1: 1.0 ± 2.0%")
    assert decided_claim("it falls", {}, below(0)).verdict == "no verdict"
    assert decided_claim("it falls", {}, below(0)).here == "not run"
    nothing = decided_claim("it falls", parts(None, None), below(0))
    assert (nothing.verdict, nothing.here) == ("no verdict", "without a value: 0, 1")
    alone = decided_claim("it falls", parts(Interval(-5, None)), below(0))
    assert (alone.verdict, alone.here) == ("not resolved", "0: -5.0%; too few months or values for an interval")
    lacking = decided_claim("it falls", parts(Interval(-5, 1), None), below(0))
    assert (lacking.verdict, lacking.here) == ("not resolved", "0: -5.0 ± 1.0%; without a value: 1")


@pytest.mark.parametrize("count", [1, 3, 8])
def test_of_noise_at_least_95_of_100_statements_are_not_resolved(count):
    generator = np.random.default_rng(count)
    resolved = 0
    for _ in range(300):
        months = generator.lognormal(0, 0.5, (count, 2, 12))
        noise = {
            str(at): lambda level, one=one: Interval(
                *vars(ratio_by_months(one[0] - one[1], one[1], level=level)).values()
            )
            for at, one in enumerate(months)
        }
        resolved += decided(noise, below(0)) is not None
    assert resolved / 300 <= 0.05


def test_a_difference_of_two_samples_has_the_interval_of_both():
    found = minus(lambda _: Interval(5.0, 3.0), lambda _: Interval(1.0, 4.0))(LEVEL)
    assert (found.mean, found.half_width) == (4.0, 5.0)
    assert minus(lambda _: Interval(5.0, 3.0), lambda _: Interval(1.0, None))(LEVEL).half_width is None
    assert minus(lambda _: None, lambda _: Interval(1.0, 1.0))(LEVEL) is None
    assert of_samples([lambda _: Interval(4.0, 3.0), lambda _: Interval(4.0, 4.0)])(LEVEL) == Interval(4.0, 5.0)


def test_a_value_is_outside_of_limits_only_with_its_whole_interval():
    test = outside(-10, 10)
    assert [test(Interval(mean, 1.0)) for mean in (12, -12, 5, 10)] == [True, True, False, None]
    assert test(Interval(12, None)) is None
