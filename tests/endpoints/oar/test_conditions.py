"""Comparisons on properties have the meaning of OAR's database; more of SQL is refused."""

import pytest

from gas.endpoints.oar.conditions import condition_of, fulfils
from gas.endpoints.oar.machine import Resource
from gas.errors import BadInput


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("cluster = 'a'", True), ("cluster='b'", False), ("cluster = 'a' AND mem >= 9", True), ("mem > 16", False),
        ("mem < 100 and cluster <> 'b'", True), ("mem != 16", False), ("gpu = 'YES'", False), ("cluster <= 'b'", True),
    ],
)  # fmt: skip
def test_a_condition_of_comparisons_is_understood(text, holds):
    resource = Resource(1, "n1", "Alive", properties={"cluster": "a", "mem": "16"})
    assert fulfils(resource, condition_of(text)) is holds


@pytest.mark.parametrize("text", ["a = 'x' OR b = 'y'", "a IN ('x')", "a = 'it''s'", "", "NOT a = 'x'", "a = b"])
def test_more_of_sql_is_refused_with_the_way_out(text):
    with pytest.raises(BadInput, match="over REST, conditions must have the form"):
        condition_of(text)
