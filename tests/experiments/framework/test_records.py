"""Results as tables: a column is defined once; CSV and Parquet hold the same, and a dictionary explains it."""

import csv
import io
from types import SimpleNamespace

import pytest

from experiments.framework.records import Explained, Field, Records, as_csv, as_parquet, columns_section, files_of
from gas.report.blocks import Report
from gas.report.rendering import markdown

ROWS = [
    {"month": "1996-10", "jobs": 7, "mean": 0.1, "agrees": True},
    {"month": None, "jobs": 3, "mean": None, "policy": "easy"},
]
FIELDS = {
    "what was run": (Field("month", "of submission"), Field("policy", "of the scheduler")),
    "result": (Field("jobs", "that ended"), Field("mean", "wait", "s"), Field("agrees", "whether it is the paper's")),
}
RECORDS = Records("a row for each month", lambda study: ROWS, FIELDS)


def read(data):
    return list(csv.reader(io.StringIO(data.decode())))


# ------------------------------------------------------------------------------------------------------ what is written


def test_a_column_for_every_key_and_nothing_where_there_is_no_value():
    assert read(as_csv(ROWS)) == [
        ["month", "jobs", "mean", "agrees", "policy"],
        ["1996-10", "7", "0.1", "True", ""],
        ["", "3", "", "", "easy"],
    ]


def test_numbers_keep_all_their_digits():
    third = 1 / 3
    (row,) = csv.DictReader(io.StringIO(as_csv([{"x": third}]).decode()))
    assert float(row["x"]) == third


def test_parquet_holds_the_same_and_what_its_columns_mean():
    parquet = pytest.importorskip("pyarrow.parquet")
    written = RECORDS.of("x", None)
    table = parquet.read_table(io.BytesIO(as_parquet(written)))
    assert table.column_names == ["month", "jobs", "mean", "agrees", "policy"]
    assert table.to_pylist()[0] == {**ROWS[0], "policy": None}
    assert table.schema.field("mean").metadata == {b"unit": b"s", b"meaning": b"wait"}
    assert set(files_of("s", [written])) == {"x.csv", "x.parquet", "s-columns.csv"}
    assert as_parquet(written) == as_parquet(written)


def test_without_pyarrow_there_is_csv_alone(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert set(files_of("s", [RECORDS.of("x", None)])) == {"x.csv", "s-columns.csv"}


# ---------------------------------------------------------------------------------------------------- how it is defined


def test_a_field_finds_its_value_in_attributes_and_items():
    row = SimpleNamespace(run=SimpleNamespace(name="KTH"), result={"mean": 3}, change=None)
    assert Field("name", "", value="run.name").of(row) == "KTH"
    assert Field("mean", "", value="result.mean").of(row) == 3
    assert Field("change", "", value="change.percent.mean").of(row) is None
    assert Field("twice", "", value=lambda row: 2 * row.result["mean"]).of(row) == 6
    assert Field("result", "").of(row) == {"mean": 3}


def test_rows_of_things_are_written_by_their_fields():
    fields = {"": (Field("size", "of it", value="run.size"), Field("kind", "of it"))}
    records = Records("a row", lambda study: [SimpleNamespace(run={"size": n}, kind="a") for n in study], fields)
    assert records.of("x", [1, 2]).rows == [{"size": 1, "kind": "a"}, {"size": 2, "kind": "a"}]


def test_one_field_explains_all_columns_of_a_pattern_each_by_its_name():
    fields = {"": (Field("{log}_mean", "wait on {log}", "s"), Field("{log}", "jobs on {log}"))}
    written = Records("a row", lambda study: [{"KTH": 1, "KTH_mean": 2, "CTC_mean": 3}], fields).of("x", None)
    assert written.columns == (
        Explained("", "KTH", "", "jobs on KTH"),
        Explained("", "KTH_mean", "s", "wait on KTH"),
        Explained("", "CTC_mean", "s", "wait on CTC"),
    )


def test_a_column_that_no_field_explains_is_not_written():
    with pytest.raises(ValueError, match="mode: no field says what this column means"):
        Records("a row", lambda study: [{"month": "1996-10", "mode": 1}], FIELDS).of("x", None)


# ----------------------------------------------------------------------------------------------------- the dictionary


def test_the_dictionary_says_of_every_column_what_it_means_in_the_order_of_the_file():
    rows = read(files_of("study", [RECORDS.of("x", None)])["study-columns.csv"])
    assert rows == [
        ["table", "group", "column", "unit", "meaning"],
        ["x", "what was run", "month", "", "of submission"],
        ["x", "result", "jobs", "", "that ended"],
        ["x", "result", "mean", "s", "wait"],
        ["x", "result", "agrees", "", "whether it is the paper's"],
        ["x", "what was run", "policy", "", "of the scheduler"],
    ]


def test_the_report_says_the_same():
    text = markdown(Report("Title", "Lead.", (columns_section([RECORDS.of("x", None)]),)))
    assert "## Columns of the results" in text
    assert "`x.csv`: a row for each month" in text
    assert "| result | `mean` | s | wait |" in text
