"""Tables by their columns."""

from experiments.framework.columns import Shown, table_of
from gas.report.blocks import Cell, Column, Table, yes


def test_a_table_shows_every_row_in_every_column():
    columns = (
        Shown("number", lambda n: f"{n:,}"),
        Shown("even", lambda n: yes() if n % 2 == 0 else "no", "is it", left=True),
    )
    heads = (Column("number"), Column("even", "is it", left=True))
    rows = (("1", "no"), ("2,000", Cell("yes", "good")))
    assert table_of(iter([1, 2000]), columns, "Numbers.") == Table(heads, rows, "Numbers.")
    assert table_of([], columns).rows == ()
