"""A log in memory."""

import copy
import pickle

import numpy as np
import pytest

from workloads import Header, Log, LogError
from workloads.log import COLUMNS, FIELDS, is_unknown


def small(**columns):
    return Log.from_columns({"submit": [0, 5, 9], "run_time": [1.5, 2, 3], **columns}, header=Header(("; Note: x",)))


def test_columns_not_given_are_unknown_and_jobs_are_numbered_from_one():
    log = small()
    assert log.job.tolist() == [1, 2, 3]
    assert log.user.tolist() == [-1, -1, -1]
    assert len(log) == 3


def test_there_are_eighteen_columns_measures_with_fractions_all_others_whole():
    assert tuple(field.number for field in FIELDS) == tuple(range(1, 19))
    columns = small().columns()
    assert tuple(columns) == COLUMNS
    fractional = {name for name, column in columns.items() if column.dtype == np.float64}
    times = {"submit", "wait", "run_time", "cpu_time", "requested_time", "think_time"}
    assert fractional == times | {"used_memory", "requested_memory"}


def test_fractions_of_processors_break_the_format_but_are_kept():
    assert small(allocated_processors=[1, 2.5, 3]).allocated_processors.tolist() == [1, 2.5, 3]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"walltime": [1, 2, 3]}, '"walltime" is not a column'),
        ({"user": [1, 2]}, 'column "user" has shape'),
        ({"user": [1, 2.5, 3]}, r"user \(field 12\): 2.5 in row 1 is not a whole number"),
        ({"wait": [1, float("nan"), 3]}, r"wait time \(field 3\): nan in row 1"),
        ({"wait": [1, 2, float("inf")]}, r"wait time \(field 3\): inf in row 2"),
        ({"user": [1, 2, 2**53 + 1]}, r"user \(field 12\): 9007199254740993 in row 2"),
        ({"user": ["a", "b", "c"]}, "not a type of numbers"),
    ],
)
def test_a_column_that_swf_cannot_hold_is_refused_by_name(columns, message):
    with pytest.raises(LogError, match=message):
        small(**columns)


def test_columns_are_read_only_and_independent_of_the_arrays_they_came_from():
    users = np.array([4, 5, 6])
    log = small(user=users)
    users[0] = 99
    assert log.user[0] == 4
    with pytest.raises(ValueError, match="read-only"):
        log.user[0] = 1


def test_replacing_columns_keeps_all_else():
    changed = small(user=[7, 8, 9]).with_columns(requested_time=[10, 20, 30])
    assert changed.requested_time.tolist() == [10, 20, 30]
    assert changed.user.tolist() == [7, 8, 9]
    assert changed.header.notes == ("x",)


@pytest.mark.parametrize(
    ("rows", "jobs"), [([2, 0], [3, 1]), ([True, False, True], [1, 3]), ([], []), ([False] * 3, [])]
)
def test_rows_are_selected_by_index_or_mask(rows, jobs):
    assert small().select(rows).job.tolist() == jobs


def test_a_column_that_no_job_knows_takes_no_memory_and_survives_selection_and_replacement():
    log = small(user=[-1, -1, -1], group=[-1, 2, -1], wait=[-1.0, -1.0, -1.0])
    for one in (log, log.select([0, 2]), log.select([True, False, True]), log.with_columns(run_time=[1, 2, 3])):
        assert is_unknown(one.user)
        assert is_unknown(one.wait)
        assert (one.user.dtype, one.wait.dtype) == (np.int64, np.float64)
        assert one.user.shape == one.job.shape
        assert not is_unknown(one.group)
        with pytest.raises(ValueError, match="read-only"):
            one.user[0] = 1
    assert is_unknown(log.with_columns(group=[-1, -1, -1]).group)
    assert log.with_columns(user=[1, 2, 3]).user.tolist() == [1, 2, 3]


def test_replacing_one_column_copies_no_other():
    log = small(user=[4, 5, 6])
    assert log.with_columns(wait=[1, 2, 3]).user is log.user


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"walltime": [1, 2, 3]}, '"walltime" is not a column'),
        ({"user": [1, 2]}, r'column "user" has shape \(2,\), expected'),
    ],
)
def test_a_column_that_does_not_fit_cannot_replace_one(columns, message):
    with pytest.raises(LogError, match=message):
        small().with_columns(**columns)


@pytest.mark.parametrize("rows", [[3], [True, False]])
def test_rows_that_are_not_there_cannot_be_selected(rows):
    with pytest.raises(IndexError):
        small().select(rows)


def test_arrays_can_be_handed_over_without_a_copy():
    waits, users = np.array([1.0, 2.0, -0.0]), np.array([4, 5, 6])
    log = Log.from_columns({"wait": waits, "user": users}, copy=False)
    assert np.shares_memory(log.wait, waits)
    assert np.shares_memory(log.user, users)
    assert not users.flags.writeable
    assert str(log.wait[2]) == "0.0"  # a minus before nothing would be written to files
    taken = Log.from_columns({"wait": log.wait, "user": log.user}, copy=False)
    assert taken.wait.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("error", "message", "field"),
    [
        (LogError("kth.swf", "is empty"), "kth.swf: is empty", None),
        (LogError("kth.swf", "17 fields", line=3), "kth.swf, line 3: 17 fields", None),
        (
            LogError("kth.swf", "'x' is not a number", line=3, at_field=FIELDS[3]),
            "kth.swf, line 3, run time (field 4): 'x' is not a number",
            "run_time",
        ),
    ],
)
def test_an_error_keeps_its_parts_when_it_is_copied_or_comes_from_another_process(error, message, field):
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(other) is LogError
        assert str(other) == message
        assert (other.log, other.problem, other.line, other.field) == (error.log, error.problem, error.line, field)
