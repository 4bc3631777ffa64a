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
        ("processors;seconds\n16;812\n", "line 1: .*separate columns by commas"),
        ("processors seconds\n16 812\n", "line 1: .*separate columns by commas"),
        ("processors\n16\n", "line 1: .*separate columns by commas"),
        ('name = "ocean"\n', "line 1: .*is not a header such as .*; give timings as a CSV file"),
        ("procesors,seconds\n", "line 1: column 1, 'procesors', is not known; did you mean \"processors\""),
        ("processors,seconds,host\n16,1,a\n", "line 1: column 3, 'host', is not known"),
        ("processors,seconds,seconds\n", "column seconds occurs twice"),
        ("processors,processors\n", "column processors occurs twice"),
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
    ("header", "unit", "each"),
    [
        ("processors,seconds", "processors", "run"),
        ("Cores,Time", "processors", "run"),
        ("gpus,seconds_per_step", "gpus", "step"),
        ("step_time,world_size", "gpus", "step"),
        ("nodes,elapsed", "nodes", "run"),
    ],
)
def test_the_header_says_what_sizes_count_and_whether_times_are_of_a_step(header, unit, each):
    found = read_timings(io.StringIO(f"{header}\n4,8\n"))
    assert (found.unit, found.each) == (unit, each)
    assert found.of_run(10 if each == "step" else None).seconds[0] == found.seconds[0] * (10 if each == "step" else 1)


def test_several_measurements_of_a_size_are_all_kept():
    assert read("n_gpus,it/s\n2,4\n1,2\n2,5\n") == [(1, 0.5), (2, 0.2), (2, 0.25)]


@pytest.mark.parametrize(
    "text", ["gpus,nodes,time\n8,2,5\n", "nodes,gpus_per_node,time\n2,4,5\n", "gpus,gpus_per_node,time\n8,4,5\n"]
)
def test_nodes_come_from_a_column_or_from_units_a_node(text):
    found = read_timings(io.StringIO(text))
    assert (found.processors.tolist(), found.unit, found.nodes.tolist()) == ([8], "gpus", [2])


def test_nodes_are_filled_where_that_is_said():
    plain = read_timings(io.StringIO("gpus,time\n6,1\n3,1\n"))
    assert plain.nodes is None
    assert plain.on_nodes_of(4).nodes.tolist() == [1, 2]


def test_a_batch_is_that_of_all_gpus_or_of_each():
    found = read_timings(io.StringIO("gpus,global_batch,gradient_accumulation_steps,step_time\n4,256,2,1\n"))
    assert (found.local.tolist(), found.accumulated.tolist(), found.batch.tolist()) == ([32], [1], [256])
    found = read_timings(io.StringIO("gpus,local_batch,step_time\n4,32,1\n"))
    assert found.batch.tolist() == [128]


def test_a_run_is_so_many_steps_or_samples():
    steps = read_timings(io.StringIO("gpus,step_time (ms)\n4,500\n"))
    assert steps.of_run(steps=100).seconds.tolist() == [50]
    rates = read_timings(io.StringIO("gpus,images/s\n4,200\n"))
    assert rates.of_run(samples=1000).seconds.tolist() == [5]
    both = read_timings(io.StringIO("gpus,local_batch,images/s\n4,16,128\n"))
    assert both.of_step().seconds.tolist() == [0.5]
    assert both.of_run(steps=10).seconds.tolist() == [5]
    assert both.of_step().of_run(samples=128).seconds.tolist() == [1]


@pytest.mark.parametrize(
    ("header", "given", "message"),
    [
        ("gpus,time", {"steps": 5}, "--steps 5: times are of the whole run; leave it out"),
        ("gpus,step_time", {}, "times are of one step; give the number of steps"),
        ("gpus,step_time", {"samples": 1e6}, "without a column of batches --samples does not"),
        ("gpus,images/s", {}, "rates are of samples; give the number of samples"),
        ("gpus,images/s", {"steps": 5}, "without a column of batches --steps does not"),
        ("gpus,step_time", {"steps": 5, "samples": 1e6}, "give only one of them"),
    ],
)
def test_how_long_a_run_is_must_be_said_once(header, given, message):
    with pytest.raises(ModelError, match=message):
        read_timings(io.StringIO(f"{header}\n4,8\n")).of_run(**given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpus,nodes,time\n2,1,5\n2,4,5\n", "line 3: has a total of 2 on 4 nodes"),
        ("gpus,nodes,gpus_per_node,time\n8,2,2,5\n", "line 2: has a total of 8, which is not 2 nodes of 2"),
        ("gpus,gpus_per_node,time\n6,4,5\n", "line 2: has a total of 6, which are not whole nodes of 4"),
        ("gpus,global_batch,time\n8,4,5\n", "line 2: has a batch of 4 for 8 GPUs"),
        (
            "gpus,batch_size,time\n8,4,5\n",
            "line 1: column 2, 'batch_size', does not say .* local_batch",
        ),
        ("gpus,global_batch,local_batch,time\n", "has the batch over all GPUs and that on each"),
        ("gpus,cores,time\n", r"has two columns of sizes \(gpus, cores\); keep one"),
        ("gpus,nodes\n", "has no column of times"),
        ("step_time,local_batch\n", "has no column of sizes"),
        ("gpus,it/s\n4,0\n", "line 2, column it/s: '0' is not a rate above 0"),
        (
            "gpus,time (h)\n4,1e200\n",
            r"line 2, column time \(h\): '1e200' is 3.6e\+203 s; a time is from 1e-15 to 1e\+15 s",
        ),
        ("nodes,gpus_per_node,time\n99999,99999,1\n", "has 99999 nodes of 99999, more than"),
    ],
)
def test_sizes_and_batches_that_contradict_each_other_are_refused(text, message):
    with pytest.raises(FieldError, match=message):
        read(text)
