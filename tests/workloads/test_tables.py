"""Logs as tables: columns by their usual names, and what is wrong with cells."""

import numpy as np
import pytest

from workloads import LogError
from workloads.tables import format_csv, is_table_header, parse_csv


def read(*lines, **options):
    return parse_csv("\n".join((*lines, "")).encode(), name="a.csv", **options)


def test_columns_stand_in_any_order_under_any_usual_name():
    log = read("elapsed,procs,SubmitTime,walltime".replace("SubmitTime", "submit_time"), "60,4,10,100", "5,1,20,10")
    assert log.submit.tolist() == [10, 20]
    assert log.run_time.tolist() == [60, 5]
    assert log.requested_processors.tolist() == [4, 1]
    assert log.requested_time.tolist() == [100, 10]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_columns_may_stand_between_semicolons_and_tabs(mark):
    lines = [line.replace(",", mark) for line in ("submit,user,run_time,processors", "10,3,60,4", "20,ann,5,1")]
    assert read(*lines).run_time.tolist() == [60, 5]
    assert read(*lines[:2]).user.tolist() == [3]


def test_starts_and_ends_stand_for_waits_and_run_times():
    log = read("submit,start,end,processors", "10,15,75,4", "20,-1,-1,1")
    assert log.wait.tolist() == [5, -1]
    assert log.run_time.tolist() == [60, -1]


def test_names_of_users_are_numbered_as_they_appear():
    assert read("submit,run_time,processors,user", "0,1,1,ann", "1,1,1,bob", "2,1,1,ann").user.tolist() == [0, 1, 0]


def test_empty_cells_are_unknown_and_other_columns_are_named():
    log = read("submit,run_time,processors,colour", "0,,1,red")
    assert log.run_time.tolist() == [-1]
    assert "unknown columns are ignored: colour" in log.warnings


def test_jobs_are_put_in_order_of_submission():
    log = read("submit,run_time,processors", "5,1,1", "0,2,1", "5,3,1")
    assert log.run_time.tolist() == [2, 1, 3]
    assert "not sorted by submission: sorted, equal seconds in the file's order" in log.warnings


def test_a_header_in_comments_comes_along():
    log = read("# ; MaxProcs: 64", "# exported on Monday", "submit,run_time,processors", "0,1,1")
    assert log.header.max_procs == 64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,x,1", "'x' is not a number; write -1 if it is unknown"),
        ("0,00:01:00,1", "'00:01:00' is not a number; write times in seconds; write -1 if it is unknown"),
        ("0,nan?,1", "is not a number"),
        ("0,1", "2 cells where the titles are 3"),
        ("0,1e300,1", "beyond"),
        (",1,1", "is empty"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number_or_left_out_and_counted(line, message):
    lines = ("submit,run_time,processors", "0,1,1", line, "9,1,1")
    with pytest.raises(LogError, match=message) as refused:
        read(*lines)
    assert refused.value.line == 3
    log = read(*lines, lenient=True)
    assert log.submit.tolist() == [0, 9]
    assert sum(log.skipped.values()) == 1
    assert "1 malformed line left out; the first" in log.warnings[0]


@pytest.mark.parametrize(
    ("titles", "message"),
    [
        ("submit,run_time,colour", "has no column processors"),
        ("run_time,processors,user", "has no column submit"),
        ("submit,elapsed,run_time,processors", "has the column run_time twice"),
        ("job_id,submission_time,waiting_time", "this is a schedule in CSV; gas audit reads it"),
    ],
)
def test_a_table_that_is_no_log_says_what_it_lacks(titles, message):
    with pytest.raises(LogError, match=message):
        read(titles, "0,1,1")


def test_numbers_read_at_once_are_those_read_one_by_one():
    rows = [f"{7 * n},{n}.5,{n % 9 + 1},{n % 3}" for n in range(50)]
    quick = read("submit,run_time,processors,user", *rows)
    slow = read("submit,run_time,processors,user", *rows, '350,"1",1,0')
    for name, column in quick.columns().items():
        assert np.array_equal(column, slow.columns()[name][:50])


def test_what_is_written_has_the_columns_that_any_job_knows():
    log = read("submit,run_time,processors", "0,1,4")
    assert format_csv(log) == b"job,submit,run_time,requested_processors\n1,0,1,4\n"


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("submit,run_time,processors", True),
        ("submit,start,end,cpus", True),
        ("submit;start;end;cpus", True),
        ("submit\tstart\tend\tcpus", True),
        ("submit,processors", False),
        ("1 0 5", False),
    ],
)
def test_a_table_is_known_by_its_titles(line, is_one):
    assert is_table_header(line) is is_one


def test_a_line_beyond_the_limit_of_csv_is_no_header():
    assert not is_table_header("submit,run_time," + "x" * 200_000)
