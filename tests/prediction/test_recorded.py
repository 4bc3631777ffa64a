"""Recorded queues: which jobs ran and which waited at an instant of a log."""

import numpy as np
import pytest
from made_up import log_of

from gas.errors import BadInput
from gas.prediction.recorded import UNLIMITED, RecordedQueue
from gas.prediction.snapshot import UNPLANNED, Snapshot


def test_the_queue_at_a_submission_is_who_ran_and_who_waited():
    queue = RecordedQueue(
        log_of(
            [
                (0, 0, 50, 100, 4),  # has ended at 60
                (10, 0, 200, 300, 6),  # runs
                (20, 60, 10, 100, 5),  # waits until 80
                (60, 500, 10, 100, 1),  # the job itself
                (60, 0, 10, 100, 1),  # comes after it
            ]
        )
    )
    seen = queue.snapshot(3)
    assert (seen.now, seen.machine) == (60, 10)
    assert seen.running.tolist() == [True, False]
    assert seen.start.tolist() == [10, UNPLANNED]
    assert seen.processors.tolist() == [6, 5]


def test_a_machine_has_as_many_processors_as_the_log_says_are_in_use():
    queue = RecordedQueue(log_of([(0, 0, 100, 100, 8), (1, 0, 100, 100, 8), (2, 10, 5, 10, 1)]))
    assert queue.snapshot(2).machine == 16


def test_for_how_long_more_processors_are_in_use_than_the_machine_has():
    """Three jobs of four processors: the second begins halfway through the first, the third when both have ended."""
    log = log_of([(0, 0, 100, 100, 4), (50, 0, 50, 100, 4), (100, 0, 100, 100, 4)])
    assert RecordedQueue(log, 8).overfull() == (0.0, 8)
    assert RecordedQueue(log, 4).overfull() == (0.25, 8)


def test_jobs_without_wait_or_run_time_are_left_out_and_counted():
    queue = RecordedQueue(log_of([(0, 0, 5, 10, 1), (1, -1, 5, 10, 1), (2, 0, -1, 10, 1)]))
    assert (len(queue), queue.left_out) == (1, 2)
    with pytest.raises(BadInput, match="no job has a wait and a run time"):
        RecordedQueue(log_of([(0, -1, 5, 10, 1)]))


def test_a_job_that_was_cancelled_while_it_waited_has_no_start_to_compare_with():
    """For it, some logs have a run time of 0 and the time until its cancellation as its wait."""
    log = log_of([(0, 0, 5, 10, 1), (1, 50, 0, 10, 1), (2, 0, 0, 10, 1)]).with_columns(status=[1, 5, 0])
    queue = RecordedQueue(log)
    assert (queue.rows.tolist(), queue.left_out) == ([0, 2], 1)


def test_jobs_without_a_walltime_take_processors_like_others_and_are_planned_for_a_year():
    jobs = [(0, 0, 500, -1, 6), (10, 100, 5, 2**40, 5), (20, 0, 5, 100, 1)]
    queue = RecordedQueue(log_of(jobs))
    assert (len(queue), queue.left_out, queue.unlimited) == (3, 0, 1)
    seen = queue.snapshot(2)
    assert seen.processors.tolist() == [6, 5]
    assert seen.walltime.tolist() == [UNLIMITED, UNLIMITED]


def test_who_runs_on_after_the_last_line_of_a_log_ran_then_too():
    rows = [(0, 0, 50, 100, 4), (60, 0, 10, 100, 1), (80, 0, 10, 100, 1)]
    columns = {"processors": [5, 3], "walltime": [500, 500], "start": [70, 90], "user": [7, 7]}
    still = Snapshot(
        now=100, machine=10, running=np.array([True, True]), **{name: np.array(of) for name, of in columns.items()}
    )
    seen = RecordedQueue(log_of(rows), still=still).snapshot(2)
    assert (seen.processors.tolist(), seen.start.tolist()) == ([5], [70])
    assert RecordedQueue(log_of(rows), still=still).snapshot(1).processors.tolist() == []


def test_how_many_waited_is_counted_for_many_submissions_at_once():
    rows = [(0, 0, 50, 100, 4), (10, 0, 200, 300, 6), (20, 60, 10, 100, 5), (60, 500, 10, 100, 1)]
    rows += [(70, 0, 10, 100, 1), (80, 0, 9, 9, 1), (80, 0, 9, 9, 1), (80, 1, 9, 9, 1), (80, 0, 9, 9, 1)]
    queue = RecordedQueue(log_of(rows))
    assert queue.waiting(np.arange(9)).tolist() == [0, 0, 0, 1, 2, 1, 1, 1, 2]
    assert [queue.snapshot(place).waiting for place in range(9)] == [0, 0, 0, 1, 2, 1, 1, 1, 2]


def test_hindsight_knows_the_jobs_of_the_same_second_that_come_later():
    jobs = (
        [(1000 * i, 0, 10, 100, 1) for i in range(30)] + [(40_000, 500, 10, 100, 1)] * 5 + [(40_001, 500, 10, 100, 1)]
    )
    recorded = RecordedQueue(log_of(jobs, machine=8))
    assert recorded.hindsight(30, 100)[1].jobs.shape[2] == 5
