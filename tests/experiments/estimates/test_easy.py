"""EASY in other readings of the paper's algorithm: the strict one is the simulator's; each does what it says."""

from dataclasses import replace
from types import SimpleNamespace

import made_estimates as made_up
import numpy as np
import pytest

from experiments.estimates import easy
from experiments.estimates.easy import EASY_READINGS, EasyReading, shaken, starts_of
from experiments.estimates.easy_report import easy_section
from experiments.estimates.results import USERS, LogRun, uniform
from experiments.estimates.run import estimated
from experiments.framework.logs import load_log
from experiments.published import table3
from gas.simulation.simulate import simulate
from workloads import Log, rigid_jobs

STRICT = EASY_READINGS[0]


def made_jobs(machine, *jobs):
    """Return jobs of (submission, processors, estimate, run time)."""
    names = "submit", "allocated_processors", "requested_time", "run_time"
    return rigid_jobs(Log.from_columns(dict(zip(names, np.array(jobs).T, strict=True))), machine)


@pytest.mark.parametrize("terms", [USERS, uniform(1), uniform(11)], ids=["users", "exact", "f = 11"])
def test_the_strict_reading_starts_every_job_when_the_simulator_does(study, terms):
    for log in study.logs:
        asked = LogRun(log, "simulation", terms).configuration
        jobs = estimated(asked, load_log(log.path, log.sha256))
        jobs = replace(jobs, submit=jobs.submit // 40)  # so that many are pending
        assert np.array_equal(starts_of(jobs, STRICT), simulate(jobs, "easy", order="instant", overrun="kill").start)
        assert np.count_nonzero(starts_of(jobs, STRICT) > jobs.submit) > 50


def test_machine_code_answers_as_plain_python(study, monkeypatch):
    log = study.logs[0]
    jobs = estimated(LogRun(log, "simulation").configuration, load_log(log.path, log.sha256))
    found = [starts_of(jobs, reading) for reading in EASY_READINGS]
    monkeypatch.setattr(easy, "available", lambda: False)
    assert all(map(np.array_equal, found, [starts_of(jobs, reading) for reading in EASY_READINGS]))


def test_jobs_that_are_backfilled_at_one_instant_share_the_extra_processors_or_each_find_them_all():
    """Two processors are left beside the second job at second 100; two jobs of two would run past it."""
    jobs = made_jobs(10, (0, 6, 100, 100), (1, 8, 100, 100), (1, 2, 1000, 1000), (1, 2, 1000, 1000))
    assert starts_of(jobs, STRICT).tolist() == [0, 100, 1, 200]
    assert starts_of(jobs, EasyReading("", keeps_extra=True)).tolist() == [0, 1001, 1, 1]


def test_the_shadow_time_comes_forward_when_a_job_ends_early_or_stays():
    """The fourth job's shadow time is 200, and 100 from second 50 on, when the second job ends."""
    running = (0, 5, 100, 100), (0, 3, 200, 50), (0, 2, 80, 80)
    jobs = made_jobs(10, *running, (1, 10, 10, 10), (50, 3, 120, 120))
    assert starts_of(jobs, STRICT).tolist() == [0, 0, 0, 100, 110]
    assert starts_of(jobs, EasyReading("", keeps_shadow=True)).tolist() == [0, 0, 0, 170, 50]


def test_one_job_an_instant_leaves_the_second_one_for_the_next():
    jobs = made_jobs(10, (0, 6, 100, 100), (1, 8, 100, 100), (1, 2, 20, 20), (1, 2, 20, 20))
    assert starts_of(jobs, STRICT).tolist() == [0, 100, 1, 1]
    assert starts_of(jobs, EasyReading("", one_job=True)).tolist() == [0, 100, 1, 21]


def test_others_are_tried_first_by_estimate_or_by_processors():
    jobs = made_jobs(10, (0, 6, 100, 100), (1, 10, 100, 100), (1, 3, 50, 50), (1, 4, 40, 40), (1, 2, 90, 90))
    assert starts_of(jobs, STRICT).tolist()[2:] == [1, 51, 200]
    assert starts_of(jobs, EasyReading("", first="estimate")).tolist()[2:] == [41, 1, 200]
    assert starts_of(jobs, EasyReading("", first="processors")).tolist()[2:] == [200, 200, 1]


def test_shaken_jobs_are_submitted_in_the_same_order_up_to_a_minute_later(study):
    log = study.logs[0]
    jobs = rigid_jobs(load_log(log.path, log.sha256), log.source.processors)
    later = shaken(jobs, 1).submit - jobs.submit
    assert (np.diff(shaken(jobs, 1).submit) >= 0).all()
    assert 0 <= later.min() < later.max() < 60
    assert np.array_equal(shaken(jobs, 1).submit, shaken(jobs, 1).submit)


@pytest.mark.parametrize("close", ["both", None])
def test_the_report_names_the_readings_that_explain_every_mean_or_says_that_none_does(close):
    log = made_up.LOGS[0]

    def easy_of(log, name):
        means = {}
        for row in table3():
            if (row.trace, row.policy) == (log.source.trace, "easy"):
                factor = "users" if row.factor is None else str(row.factor)
                means.setdefault(factor, {})[row.measure] = row.mean * (1.04 if name == close else 1.2)
        return [{"means": means}]

    section = easy_section(SimpleNamespace(logs=[log], easy=easy_of, options=SimpleNamespace(seeds=1)))
    assert section.blocks[-1].items[1] == (
        f"Readings that bring every mean under users' estimates within 5% of the paper's: "
        f"{close or 'none, so no reading alone is the cause'}."
    )
