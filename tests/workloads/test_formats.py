"""Logs in every format: recognised by content, and unchanged after a round trip through any of them."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import Header, Log, LogError, formats
from workloads.formats import FORMATS, format_log, format_named, format_of, parse_log, read_log, read_log_file

whole = st.integers(0, 10**9)
"""Seconds, users, and other columns that are integers in every format."""


@st.composite
def logs(draw):
    """A log of jobs that ran, with the columns that all formats share."""
    length = draw(st.integers(1, 6))

    def column(values):
        return draw(st.lists(values, min_size=length, max_size=length))

    size = column(st.integers(1, 10**6))
    return Log.from_columns(
        {
            "job": draw(st.lists(st.integers(1, 10**6), min_size=length, max_size=length, unique=True)),
            "submit": sorted(column(whole)),
            "wait": column(whole),
            "run_time": column(st.integers(1, 10**9)),  # of 0 s and cancelled: sacct says that it never started
            "allocated_processors": size,
            "requested_processors": size,
            "requested_time": column(st.integers(1, 10**6)),
            "status": column(st.sampled_from([0, 1, 5])),
            "user": column(st.integers(0, 50)),
        },
        header=Header.of([("Version", "2.2"), ("UnixStartTime", 0), ("MaxProcs", 10**6)]),
        name="made",
    )


COMMON = ("submit", "wait", "run_time", "requested_processors", "requested_time", "status")


@pytest.mark.parametrize("kind", FORMATS)
@given(log=logs())
def test_a_round_trip_loses_nothing_that_the_format_has(kind, log):
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet")
    data, left_out = format_log(log, kind)
    found = parse_log(data, name="made")
    assert not left_out
    assert format_of(data) == kind
    names = COMMON if kind == "sacct" else list(log.columns())
    for name in names:
        mine, theirs = getattr(log, name), getattr(found, name)
        if kind == "sacct" and name == "submit":
            mine, theirs = mine + log.start_time, theirs + found.start_time
        if kind == "sacct" and name == "requested_processors":
            theirs = found.allocated_processors
        assert np.array_equal(mine, theirs), name
    if kind != "sacct":
        assert found.header.lines == log.header.lines


@given(log=logs(), kind=st.sampled_from(["swf", "csv", "batsim"]), other=st.sampled_from(["swf", "csv", "batsim"]))
def test_one_format_after_another_is_as_good_as_one(log, kind, other):
    once = parse_log(format_log(log, other)[0])
    assert format_log(parse_log(format_log(log, kind)[0]), other)[0] == format_log(once, other)[0]


@pytest.mark.parametrize("kind", ["swf", "sacct", "csv", "batsim"])
def test_gzip_is_read_too_and_is_the_same_bytes_each_time(kind):
    log = Log.from_columns({"submit": [0], "wait": [5], "run_time": [60], "allocated_processors": [2]}, name="made")
    packed, _ = format_log(log, kind, packed=True)
    assert packed == format_log(log, kind, packed=True)[0]
    assert format_of(packed) == kind
    assert parse_log(packed).run_time.tolist() == [60]


def test_a_file_is_read_whatever_its_name(tmp_path):
    log = Log.from_columns({"submit": [0, 7], "run_time": [60, 5], "requested_processors": [2, 1]}, name="made")
    for kind in ("swf", "csv", "batsim"):
        (tmp_path / "log").write_bytes(format_log(log, kind)[0])
        assert read_log_file(tmp_path / "log").run_time.tolist() == [60, 5]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.swf", "swf"), ("a.SWF.gz", "swf"), ("a.csv", "csv"), ("a.b.parquet", "parquet"), ("history.txt", "sacct"),
     ("w.json.gz", "batsim"), ("a", None), ("a.gz", None), ("a.xlsx", None)],
)  # fmt: skip
def test_a_name_says_the_format_of_what_is_written(name, kind):
    assert format_named(name) == kind


@pytest.mark.parametrize("data", [b"", b"\n\n", b"; MaxProcs: 4\n", b"1 0 0\n", b"\x1f\x8bnonsense"])
def test_what_looks_like_nothing_else_is_taken_for_swf(data):
    assert format_of(data) == "swf"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_json_is_not_unpacked_without_a_limit(pack, monkeypatch):
    monkeypatch.setattr(formats, "MOST_JSON_BYTES", 2**20)
    long = pack(b'{"nb_res": 4, "profiles": {}, "jobs": [' + b" " * 2**20 + b"]}")
    with pytest.raises(LogError, match="w: is longer than 1 MiB of JSON; write long logs as SWF or CSV"):
        read_log(io.BytesIO(long), "batsim", name="w")


def test_a_damaged_archive_is_refused_in_words():
    data = gzip.compress(b'{"jobs": [], "profiles": {}, "nb_res": 1}' * 50)
    with pytest.raises(LogError, match="the gzip file is damaged"):
        parse_log(data[:40])


def test_jobs_that_a_format_cannot_hold_are_counted_by_reason():
    log = Log.from_columns(
        {"submit": [0, 1, 2], "wait": [-1, 0, 0], "run_time": [5, -1, 5], "allocated_processors": [1, 1, 1]},
        name="made",
    )
    assert format_log(log, "sacct")[1] == {"without a start": 1, "without a run time": 1}
    assert format_log(log, "batsim")[1] == {"without a run time": 1}


def test_what_sacct_prints_lies_between_1970_and_2106():
    log = Log.from_columns(
        {"submit": [-1, 0, 2**32], "wait": [0, 0, 0], "run_time": [5, 5, 5], "allocated_processors": [1, 1, 1]},
        name="made",
    )
    data, left_out = format_log(log, "sacct")
    assert (left_out, len(parse_log(data))) == ({"not between 1970 and 2106": 2}, 1)


def test_instants_are_the_same_in_every_zone():
    log = Log.from_columns(
        {"submit": [0], "wait": [0], "run_time": [60], "allocated_processors": [2]},
        header=Header.of([("Version", "2.2"), ("UnixStartTime", 1_714_550_400)]),
        name="made",
    )
    found = parse_log(format_log(log, "sacct")[0])
    assert found.start_time + found.submit[0] == 1_714_550_400
