"""Estimates from history for the jobs of a log."""

from dataclasses import replace

import numpy as np

from experiments.estimates.history import READINGS, Reading, knows_programs, system_generated
from workloads import Log

HONEST = READINGS[0]
BY_LINE = Reading("line by line", at_once=True)
WEEK = 7 * 86400


def log_of(*rows):
    """Return a log of jobs (submit, wait, run time, executable, status) of one user on four processors."""
    submit, wait, run_time, executable, status = (np.array(column) for column in zip(*rows, strict=True))
    return Log.from_columns(
        {"submit": submit, "wait": wait, "run_time": run_time, "executable": executable, "status": status,
         "user": np.ones_like(submit), "allocated_processors": np.full_like(submit, 4)}
    )  # fmt: skip


def estimates(log, reading=HONEST):
    found = system_generated(log, reading)
    return found.given.estimate.tolist(), found.known.tolist()


def test_a_job_is_known_from_its_end_on():
    log = log_of((0, 50, 50, 1, 1), (99, 0, 10, 1, 1), (100, 0, 10, 1, 1))
    assert estimates(log) == ([0, 0, 50], [False, False, True])


def test_line_by_line_it_is_known_once_it_is_submitted():
    log = log_of((0, 50, 50, 1, 1), (10, 0, 50, 1, 1))
    assert estimates(log, BY_LINE) == ([0, 50], [False, True])


def test_another_program_is_no_history_but_all_jobs_are():
    log = log_of((0, 0, 40, 1, 1), (100, 0, 40, 2, 1))
    assert estimates(log) == ([0, 40], [False, False])


def test_killed_jobs_are_not_estimated_and_are_history_unless_it_is_said():
    log = log_of((0, 0, 40, 1, 0), (100, 0, 10, 1, 1))
    assert estimates(log) == ([40], [True])
    assert estimates(log, replace(HONEST, killed=False)) == ([0], [False])


def test_a_history_of_more_than_a_week_ago_is_none():
    log = log_of((0, 0, 40, 1, 1), (WEEK + 40, 0, 40, 1, 1), (2 * WEEK + 81, 0, 10, 1, 1))
    assert estimates(log) == ([0, 40, 0], [False, True, False])


def test_an_unknown_program_is_that_of_no_other_job():
    log = log_of((0, 0, 40, -1, 1), (100, 0, 40, -1, 1))
    assert estimates(log)[1] == [False, False]
    assert not knows_programs(log)
    assert knows_programs(log_of((0, 0, 40, 3, 1)))


def test_short_is_who_ran_longer_than_estimated():
    found = system_generated(log_of((0, 0, 40, 1, 1), (100, 0, 41, 1, 1), (200, 0, 20, 1, 1)), HONEST)
    assert found.short.tolist() == [False, True, False]
    assert found.given.estimate[2] == 42  # 40.5 and one and a half times 0.5, rounded up
    assert found.mean_used == 20 / 42
    assert found.known.tolist() == [False, True, True]
    assert found.twice.tolist() == [False, False, True]


def test_nothing_after_a_submission_changes_its_estimate():
    generator = np.random.default_rng(3)
    n, half = 200, 100
    columns = {
        "submit": np.sort(generator.integers(0, 40000, n)), "wait": generator.integers(0, 900, n),
        "run_time": generator.integers(0, 900, n), "executable": generator.integers(1, 5, n),
        "user": generator.integers(1, 3, n), "allocated_processors": generator.integers(1, 3, n),
        "status": np.ones(n, int),
    }  # fmt: skip
    log = Log.from_columns(columns)
    now = columns["submit"][half]
    later = columns["submit"] + columns["wait"] + columns["run_time"] > now
    # Jobs that had not ended then end later, after other run times; jobs that were submitted later are replaced.
    shuffled = dict(columns)
    shuffled["run_time"] = np.where(later, columns["run_time"] + generator.integers(0, 5000, n), columns["run_time"])
    new = np.arange(n) > half
    shuffled["executable"] = np.where(new, generator.permutation(columns["executable"]), columns["executable"])
    for reading in READINGS:
        if not reading.at_once:
            before, after = (system_generated(one, reading).given.estimate for one in (log, Log.from_columns(shuffled)))
            assert before[: half + 1].tolist() == after[: half + 1].tolist()
            assert before[half + 1 :].tolist() != after[half + 1 :].tolist()
