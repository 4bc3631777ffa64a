"""The blocks of a report."""

import pytest
from made_report import REPORT

from gas.report.blocks import Cell, Column, Table, not_the_full


def test_a_row_must_fit_its_table():
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table((Column("a"), Column("b")), (("1",),))


def test_texts_and_marked_cells_of_a_table_are_both_cells():
    assert Table((Column("a"), Column("b")), (("1", Cell("2", "bad")),)).cells == [[Cell("1"), Cell("2", "bad")]]


def test_a_report_knows_its_pictures():
    assert [picture.name for picture in REPORT.pictures] == ["dot"]


def test_a_study_that_is_less_than_the_full_one_says_in_what():
    assert not_the_full([]) == ""
    assert not_the_full(["one seed", "no log KTH"]) == "Not the full study: one seed; no log KTH."
