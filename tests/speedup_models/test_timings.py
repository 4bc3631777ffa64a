import io

import numpy as np
import pytest

from documents.fields import FieldError
from speedup_models.model import ModelError
from speedup_models.timings import Timings, read_timings


def read(text):
    found = read_timings(io.StringIO(text))
    return list(zip(found.processors.tolist(), found.seconds.tolist(), strict=True))


def test_timings_come_in_ascending_order():
    assert read("processors,seconds\n32,423.5\n16,812\n16,810\n") == [(16, 810.0), (16, 812.0), (32, 423.5)]


def test_columns_may_come_in_either_order_and_any_case():
    assert read("Seconds, Processors\n812.0, 16\n") == [(16, 812.0)]


def test_comments_empty_lines_quotes_and_a_byte_order_mark_do_not_matter():
    text = '\ufeff# lu.C, July\r\n\r\nprocessors,"seconds"\r\n  # warm cache\r\n"16",8.12e2\r\n\r\n'
    assert read(text) == [(16, 812.0)]


def test_a_file_is_read_by_its_path(tmp_path):
    path = tmp_path / "lu.csv"
    path.write_bytes(b"\xef\xbb\xbfprocessors,seconds\n16,812\n")
    assert read_timings(path).processors.tolist() == [16]
    assert read_timings(str(path)).seconds.tolist() == [812.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'standard input: is empty; write the header "processors,seconds"'),
        ("# nothing\n\n", "is empty"),
        ("processors,seconds\n", "has a header but no timings"),
        ("16,812.0\n32,423\n", 'line 1: holds numbers, but the header is missing; put "processors,seconds" above'),
        ("processors;seconds\n16;812\n", "line 1: .*separate the two by a comma"),
        ("processors\n16\n", "line 1: .*separate the two by a comma"),
        ("procesors,seconds\n", "line 1: column 1, 'procesors', is not known; did you mean \"processors\""),
        ("processors,seconds,host\n16,1,a\n", "line 1: column 3, 'host', is not known"),
        ("processors,seconds,seconds\n", "column seconds is there twice"),
        ("processors,processors\n", "column processors is there twice"),
        ("processors,seconds\n16\n", "line 2: has 1 cells, and the header 2"),
        ("processors,seconds\n\n# x\n16,8,9\n", "line 4: has 3 cells, and the header 2"),
        ("seconds,processors\n8.5,16.0\n", "line 2, column processors: '16.0' is not a whole number from 1 to"),
        ("processors,seconds\n0,8\n", "line 2, column processors: '0' is not a whole number"),
        ("processors,seconds\n-4,8\n", "column processors: '-4'"),
        ("processors,seconds\n1_6,8\n", "column processors: '1_6'"),
        ("processors,seconds\n٣,8\n", "column processors: '٣'"),
        (f"processors,seconds\n{'9' * 6000},8\n", "column processors: '9999"),
        ("processors,seconds\n4,8\n16,0\n", "line 3, column seconds: '0' is not a number of seconds above 0"),
        ("processors,seconds\n16,-1\n", "column seconds: '-1'"),
        ("processors,seconds\n16,nan\n", "column seconds: 'nan'"),
        ("processors,seconds\n16,inf\n", "column seconds: 'inf'"),
        ("processors,seconds\n16,1e999\n", "column seconds: '1e999'"),
        ("processors,seconds\n16,1_000\n", "column seconds: '1_000'"),
        ("processors,seconds\n16,\n", "column seconds: ''"),
        ("processors,seconds\n16,10:30\n", "column seconds: '10:30'"),
        ('processors,seconds\n"16,8\n', "line 2: is not CSV"),
    ],
)
def test_what_cannot_be_read_is_refused_by_line_and_column(text, message):
    with pytest.raises(FieldError, match=message):
        read(text)


def test_an_unreadable_file_is_refused_by_its_path(tmp_path):
    with pytest.raises(FieldError, match=r"none\.csv: cannot be read: No such file"):
        read_timings(tmp_path / "none.csv")
    with pytest.raises(FieldError, match="cannot be read: Is a directory"):
        read_timings(tmp_path)
    path = tmp_path / "latin.csv"
    path.write_bytes("processors,seconds\n# Jürgen\n16,8\n".encode("latin-1"))
    with pytest.raises(FieldError, match=r"latin\.csv: is not UTF-8 text"):
        read_timings(path)


@pytest.mark.parametrize(
    ("processors", "seconds", "message"),
    [
        ([1, 2], [3.0], "2 processor counts but 1 times"),
        ([[1, 2]], [[3.0, 4.0]], "one time for each count"),
        ([1, 2], [3.0, 0.0], "0 s on 2 processors is not a time above 0"),
        ([1, 2], [3.0, np.nan], "nan s on 2 processors"),
        ([1, 2], [3.0, np.inf], "inf s on 2 processors"),
        ([1, 0], [3.0, 1.0], "0 processors: a count is at least 1"),
        ([1.5], [3.0], "whole numbers"),
        ([2**32], [3.0], "above 2147483648"),
    ],
)
def test_pairs_that_cannot_be_are_refused(processors, seconds, message):
    with pytest.raises(ModelError, match=message):
        Timings.of(processors, seconds)


@pytest.mark.parametrize(
    ("header", "unit", "per_step"),
    [
        ("processors,seconds", "processors", False),
        ("Cores,Time", "processors", False),
        ("gpus,seconds_per_step", "gpus", True),
        ("step_time,world_size", "gpus", True),
        ("nodes,elapsed", "nodes", False),
    ],
)
def test_the_header_says_what_sizes_count_and_whether_times_are_of_a_step(header, unit, per_step):
    found = read_timings(io.StringIO(f"{header}\n4,8\n"))
    assert (found.unit, found.per_step) == (unit, per_step)
    assert found.of_steps(10).seconds.tolist() == [10 * found.seconds[0]]


def test_times_by_nodes_and_gpus_are_no_curve():
    with pytest.raises(FieldError, match='two columns of sizes .gpus, nodes.; .* model = "layouts"'):
        read("gpus,nodes,seconds_per_step\n4,1,0.5\n")
