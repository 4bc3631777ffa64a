"""The rigid jobs of a log."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import Header, Log, LogError, apply_overrun, machine_size, read_swf, rigid_jobs


def log_of(header=("; MaxProcs: 64",), **columns):
    length = len(next(iter(columns.values())))
    given_columns = {
        "submit": range(length),
        "run_time": [10] * length,
        "allocated_processors": [1] * length,
        **columns,
    }
    return Log.from_columns({name: list(values) for name, values in given_columns.items()}, header=Header(header))


def test_processors_are_the_requested_ones_else_the_allocated_ones():
    log = log_of(requested_processors=[8, -1, 0, 8], allocated_processors=[4, 4, 4, -1])
    assert rigid_jobs(log).processors.tolist() == [8, 4, 4, 8]


def test_the_estimate_is_the_requested_time_else_the_run_time_and_at_least_one_second():
    log = log_of(requested_time=[60, -1, 0, -1, 0.5], run_time=[10, 10, 10, 0, 10])
    assert rigid_jobs(log).estimate.tolist() == [60, 10, 10, 1, 1]


def test_fractions_are_cut_off():
    log = log_of(submit=[1.9], run_time=[10.9], requested_time=[60.9], requested_processors=[2.9])
    jobs = rigid_jobs(log)
    assert (jobs.submit[0], jobs.run_time[0], jobs.estimate[0], jobs.processors[0]) == (1, 10, 60, 2)


def test_jobs_that_no_machine_can_run_are_left_out_and_counted_under_the_first_reason():
    log = log_of(
        run_time=[-1, -1, 5, 5, 5, 0], requested_processors=[0, 65, -1, 65, 64, 1], allocated_processors=[-1] * 6
    )
    jobs = rigid_jobs(log)
    assert jobs.id.tolist() == [5, 6]  # a run time of 0 is a job
    assert jobs.skipped == {"no run time": 2, "no processors": 1, "more processors than the machine": 1}


def test_each_job_knows_its_row_in_the_log():
    log = log_of(run_time=[-1, 5, -1, 7], user=[1, 2, 3, 4], group=[5, 6, 7, 8], executable=[9, 10, 11, 12])
    jobs = rigid_jobs(log)
    assert jobs.row.tolist() == [1, 3]
    for column in (jobs.user, jobs.group, jobs.executable):
        assert column.tolist() in ([2, 4], [6, 8], [10, 12])
    assert log.user[jobs.row].tolist() == jobs.user.tolist()


def test_a_log_put_together_out_of_order_is_sorted_by_submission():
    jobs = rigid_jobs(log_of(submit=[5, 3, 5, 0], job=[1, 2, 3, 4]))
    assert jobs.id.tolist() == [4, 2, 1, 3]


@pytest.mark.parametrize(
    ("header", "given_size", "size"),
    [
        (("; MaxProcs: 64", "; MaxNodes: 16"), None, 64),
        (("; MaxProcs: 64",), 512, 512),
        (("; MaxNodes: 16 (four processors each)",), None, 16),
        (("; MaxProcs: -1", "; MaxNodes: 16"), None, 16),
    ],
)
def test_the_machine_is_as_large_as_the_caller_says_else_as_the_header(header, given_size, size):
    assert machine_size(log_of(header, job=[1]), given_size) == size
    assert rigid_jobs(log_of(header, job=[1]), given_size).machine == size


def test_a_machine_of_unknown_size_is_refused_with_the_way_out():
    with pytest.raises(LogError, match=r"neither MaxProcs nor MaxNodes; give the machine's number"):
        rigid_jobs(log_of(("; Version: 2.2",), job=[1]))
    with pytest.raises(ValueError, match="at least 1"):
        rigid_jobs(log_of(job=[1]), 0)


def test_a_job_beyond_its_estimate_is_killed_or_its_estimate_extended():
    jobs = rigid_jobs(log_of(run_time=[10, 100], requested_time=[60, 60]))
    killed, extended = apply_overrun(jobs, "kill"), apply_overrun(jobs, "extend")
    assert (killed.run_time.tolist(), killed.estimate.tolist()) == ([10, 60], [60, 60])
    assert (extended.run_time.tolist(), extended.estimate.tolist()) == ([10, 100], [60, 100])
    assert apply_overrun(jobs).run_time.tolist() == killed.run_time.tolist()
    with pytest.raises(ValueError, match="known: kill, extend"):
        apply_overrun(jobs, "forgive")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"submit": [3, 2]}, "job 2: submit 2 is before"),
        ({"processors": [0, 1]}, "job 1: processors 0 is below 1"),
        ({"processors": [1, 65]}, "job 2: processors 65 is more than the machine's 64"),
        ({"estimate": [0, 1]}, "job 1: estimate 0 is below 1"),
        ({"run_time": [-1, 1]}, "job 1: run_time -1 is negative"),
        ({"user": [1]}, "user has"),
        ({"user": [1.0, 2.0]}, "user has float64"),
    ],
)
def test_jobs_that_cannot_be_scheduled_cannot_be_made(change, said):
    jobs = rigid_jobs(log_of(job=[1, 2]))
    with pytest.raises(ValueError, match=said):
        replace(jobs, **{name: np.array(values) for name, values in change.items()})


def test_partial_executions_are_left_out_where_the_line_of_the_whole_job_is_there():
    """Jobs 1 and 3 have a line for the whole and lines of parts; job 2 has lines of parts only."""
    log = log_of(
        job=[1, 1, 1, 2, 2, 3, 3, 4],
        status=[1, 2, 3, 2, 4, 0, 4, 1],
        run_time=[30, 10, 20, 5, 6, -1, 9, 7],
    )
    jobs = rigid_jobs(log)
    assert list(zip(jobs.id.tolist(), jobs.run_time.tolist(), strict=True)) == [(1, 30), (2, 5), (2, 6), (4, 7)]
    assert jobs.skipped == {"part of a job with its own line": 3, "no run time": 1}


@pytest.mark.thorough
def test_no_job_of_the_real_logs_is_a_part(traces):
    for path in sorted(traces.glob("*.swf.gz")):
        log = read_swf(path)
        assert "part of a job with its own line" not in rigid_jobs(log).skipped, path.name
        assert not np.isin(log.status, [2, 3, 4]).any(), path.name


def test_what_a_scheduler_reads_lies_in_memory_in_a_row_whatever_the_log_knows():
    for extra in ({}, {"user": [1, 2, 3], "requested_time": [4, 5, 6]}):
        jobs = rigid_jobs(log_of(job=[1, 2, 3], submit=[2, 0, 1], **extra))
        for column in (jobs.id, jobs.submit, jobs.processors, jobs.estimate, jobs.run_time, jobs.row):
            assert column.flags.c_contiguous
            assert column.flags.writeable
            assert column.strides == (8,)


def test_identities_that_no_job_knows_take_no_memory():
    jobs = rigid_jobs(log_of(job=[1, 2, 3], user=[7, 8, 9], run_time=[1, -1, 1]))
    assert jobs.user.tolist() == [7, 9]
    assert jobs.group.tolist() == jobs.executable.tolist() == [-1, -1]
    assert jobs.group.strides == (0,)


value = st.one_of(st.integers(-2, 70), st.floats(-2, 70))


@given(st.lists(st.tuples(value, value, value, value), min_size=1, max_size=8), st.integers(1, 64))
def test_the_rule_read_aloud_gives_the_same_jobs(rows, machine):
    run, allocated, requested, asked = (list(column) for column in zip(*rows, strict=True))
    log = log_of(run_time=run, allocated_processors=allocated, requested_processors=requested, requested_time=asked)
    expected, left_out = [], 0
    for job, (seconds, got, wanted, time) in enumerate(rows, 1):
        size = math.trunc(wanted if wanted > 0 else got)
        estimate = max(1, math.trunc(time if time > 0 else seconds))
        if math.trunc(seconds) < 0 or size <= 0 or size > machine:
            left_out += 1
        else:
            expected.append((job, size, estimate, math.trunc(seconds)))
    jobs = rigid_jobs(log, machine)
    columns = (jobs.id, jobs.processors, jobs.estimate, jobs.run_time)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert sum(jobs.skipped.values()) == left_out
