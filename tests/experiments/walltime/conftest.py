"""Made-up logs whose users have habits, and the study of them, run once."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from made_once import made_once
from study_runs import study_once

from experiments.framework.execution import computed
from experiments.framework.logs import SOURCES, find_logs
from experiments.walltime.accuracy import CATEGORIES
from experiments.walltime.results import TRACES, LogRun, Options, Results, Terms, adjusted, study_runs
from experiments.walltime.run import walltime_run
from workloads import Header, write_swf
from workloads.lublin import generate

LOGS = {
    "KTH-SP2-1996-2": ("1996-09-23", "Europe/Stockholm", 100, "Lars Made-Up"),
    "SDSC-SP2-1998-4.2-cln": ("1998-05-01", "US/Pacific", 128, "Victor <Made> & Up"),
    "intrepid": ("2009-01-05", "US/Central", 163840, "Susan Made-Up"),
}


def made_log(path, name, *, seed, jobs=320, days=95):
    """Write a log of few users, each of whom requests few different times and uses about the same share of them."""
    first, zone, processors, thanks = LOGS[name]
    generator = np.random.default_rng(seed)
    log = generate(jobs, min(processors, 128), generator=generator, load=0.9)
    slower = days * 86400 / log.submit[-1]
    user = generator.integers(1, 5, jobs)
    run_time = np.trunc(log.run_time * slower)
    share = np.clip(np.array([0.1, 0.4, 0.7, 1.1])[user - 1] + generator.normal(0, 0.05, jobs), 0.02, None)
    request = 900 * 4 ** np.ceil(np.log(np.maximum(run_time / share, 900) / 900) / np.log(4))
    begin = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone))
    header = Header.of(
        [
            ("Version", "2.2"), ("Computer", "made up"), ("Acknowledge", thanks),
            ("UnixStartTime", int(begin.timestamp())), ("TimeZoneString", zone), ("MaxProcs", processors),
        ]
    )  # fmt: skip
    columns = {
        "submit": np.trunc(log.submit * slower), "run_time": run_time, "requested_time": request, "user": user,
        "wait": generator.integers(0, 600, jobs), "group": 1 + user % 2,
    }  # fmt: skip
    write_swf(log.with_columns(**columns).with_header(header), path / f"{name}.swf.gz")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    def make(folder):
        for seed, name in enumerate(LOGS):
            made_log(folder, name, seed=seed)

    return made_once(tmp_path_factory, "walltime-logs", make)


@pytest.fixture(scope="session")
def logs(made):
    return find_logs(made, [source for source in SOURCES if source.trace in TRACES])[0]


@pytest.fixture(scope="session")
def reported(made, tmp_path_factory):
    """The whole study of the made-up logs, run by the command: its folder, and what it printed."""
    return study_once(tmp_path_factory, "walltime", made)


@pytest.fixture(scope="session")
def study(reported, logs):
    """The same study, from what the command kept."""
    runs = study_runs(Options(), logs)
    configurations = [run.configuration for run in runs]
    results = computed(walltime_run, configurations, logs, output=reported[0], workers=1)
    return Results(Options(), runs, results, ["no log ANL-Intrepid-2009-*.swf.gz"])


DAYS = {"1996-10": 5, "1996-11": 36, "1996-12": 66}
"""By month: days from the first submission to the month's begin."""


def simulated(wait):
    """A simulation in which every month has the same mean wait."""
    figures = {"jobs": 4, "wait": wait, "slowdown": 2.0, "slowdown_60": 2.0, "weighted": wait, "accuracy": 0.5}
    counts = dict.fromkeys(CATEGORIES, 1)
    months = [{"month": month, "after": days * 86400, **figures, **counts} for month, days in DAYS.items()]
    return {"jobs": 12, "months": months, "all": figures}


@pytest.fixture
def small_study(made_logs):
    """Made-up results: KTH under WFP, adjusted in both ways, and one replay."""
    log = next(log for log in find_logs(made_logs)[0] if log.source.trace == "KTH")
    terms = [Terms(), adjusted("wfp", "regular"), adjusted("wfp", "selective")]
    runs = [LogRun(log, "simulation", terms=one) for one in terms]
    cells = [{"percentile": 85, "floor": floor, "accuracy": 0.6, "median": 0.7, "months": {}} for floor in (0.0, 0.5)]
    runs.append(LogRun(log, "accuracy", "user", 1))
    replay = {"jobs": 12, "no_history": 3, "cells": [cell | dict.fromkeys(CATEGORIES, 3) for cell in cells]}
    return Results(Options(), runs, [simulated(100), simulated(90), simulated(80), replay])
