"""The example of Fig. 12 and Table 3: each effect that the paper names, and brute force."""

import pytest
from brute_force import simulate_adjusted_by_force

from experiments.walltime.example import _ADJUSTED, _JOBS, _MACHINE, example_claims, example_section, starts


@pytest.mark.parametrize("case", _ADJUSTED)
def test_starts_are_those_of_brute_force(case):
    def adjust(number, instant, ended):
        return _ADJUSTED[case].get(number + 1, _JOBS[number][2])

    assert starts(case) == simulate_adjusted_by_force(_MACHINE, _JOBS, adjust, adjustment="regular").start


def test_every_effect_shows_and_names_its_item():
    found = example_claims()
    assert [claim.holds for claim in found] == [True] * 4
    assert {claim.text.partition(":")[0] for claim in found} == {"Fig. 12", "Table 3"}


def test_the_section_has_a_line_for_each_case():
    table = example_section().blocks[1]
    assert [row[0] for row in table.rows] == list(_ADJUSTED)
    assert table.rows[0][1:] == ("0", "100", "150", "150", "4")
