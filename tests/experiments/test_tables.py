"""Tables of results of all studies: each column is defined once, in words, with a unit where it has one."""

import re
from importlib import import_module

import pytest

from experiments.cli import names

TABLES = [
    pytest.param(records, id=f"{name}: {table}")
    for name in names()
    for table, records in import_module(f"experiments.{name}.study").STUDY.tables.items()
]
UNITS = {"", "s", "%", "points", "processors", "processor-seconds"}


@pytest.mark.parametrize("records", TABLES)
def test_a_column_has_one_definition_with_a_meaning_and_a_unit_that_is_known(records):
    fields = [field for of_group in records.fields.values() for field in of_group]
    assert len({field.name for field in fields}) == len(fields)
    assert all(field.meaning for field in fields)
    assert {field.unit for field in fields} <= UNITS
    assert records.about.startswith("a row for each ")


@pytest.mark.parametrize("records", TABLES)
def test_a_meaning_names_what_its_column_is_of_and_nothing_else_in_braces(records):
    for field in (field for of_group in records.fields.values() for field in of_group):
        assert set(re.findall(r"\{(\w+)\}", field.meaning)) <= set(re.findall(r"\{(\w+)\}", field.name))
    assert not any("{" in group for group in records.fields)
