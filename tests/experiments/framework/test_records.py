"""Results as tables: CSV and Parquet hold the same."""

import csv
import io

import pytest

from experiments.framework.records import as_csv, as_parquet, table_files

ROWS = [
    {"month": "1996-10", "jobs": 7, "mean": 0.1, "agrees": True},
    {"month": None, "jobs": 3, "mean": None, "policy": "easy"},
]


def test_a_column_for_every_key_and_nothing_where_there_is_no_value():
    rows = list(csv.reader(io.StringIO(as_csv(ROWS).decode())))
    assert rows == [
        ["month", "jobs", "mean", "agrees", "policy"],
        ["1996-10", "7", "0.1", "True", ""],
        ["", "3", "", "", "easy"],
    ]


def test_numbers_keep_all_their_digits():
    third = 1 / 3
    (row,) = csv.DictReader(io.StringIO(as_csv([{"x": third}]).decode()))
    assert float(row["x"]) == third


def test_parquet_holds_the_same():
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(as_parquet(ROWS)))
    assert table.column_names == ["month", "jobs", "mean", "agrees", "policy"]
    assert table.to_pylist()[0] == {**ROWS[0], "policy": None}
    assert set(table_files("x", ROWS)) == {"x.csv", "x.parquet"}
    assert as_parquet(ROWS) == as_parquet(ROWS)


def test_without_pyarrow_there_is_csv_alone(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert set(table_files("x", ROWS)) == {"x.csv"}
