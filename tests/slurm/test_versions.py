"""What changed between releases of Slurm."""

import re

import pytest

from gas.slurm.versions import ROWS, Rules, release_of


def test_every_rule_has_a_row_with_its_evidence():
    assert sorted(row.rule for row in ROWS) == sorted(Rules._fields)
    assert all(re.search(r"\.c\b|topology|seen on", row.evidence) for row in ROWS)


@pytest.mark.parametrize(
    ("version", "release"),
    [("22.05.8", (22, 5, 8)), ("24.11", (24, 11, 0)), ("slurm 26.05.0-rc1", (26, 5, 0)), ("unknown", None)],
)
def test_a_release_is_read_from_what_slurm_calls_itself(version, release):
    assert release_of(version) == release


def test_the_rules_are_those_of_the_release():
    old, middle, new = Rules.of("22.05.8"), Rules.of("24.11.5"), Rules.of("26.05.3")
    assert not any(old)
    assert middle.ends_up
    assert middle.future
    assert not middle.relevant_end
    assert all(new)
    assert not Rules.of("25.05.0").relevant_end
    assert Rules.of("25.05.1").relevant_end


def test_a_release_that_cannot_be_read_is_taken_to_be_the_latest():
    assert Rules.of("tip") == Rules.of("26.05.3")
