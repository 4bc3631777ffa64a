"""Made-up logs in which users differ, and the study of them, run once."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from made_once import made_once
from study_runs import study_once

from experiments.estimates.results import (
    Options,
    Results,
    study_runs,
)
from experiments.estimates.run import estimates_run
from experiments.framework.logs import find_logs
from workloads import Header, write_swf
from workloads.estimates import mualem_feitelson
from workloads.lublin import generate

LOGS = {
    "KTH-SP2-1996-2": ("1996-09-25", "Europe/Stockholm", 100, "Lars Made-Up"),
    "CTC-SP2-1996-3.1-cln": ("1996-07-05", "US/Eastern", 512, "Dan <Made> & Up"),
}


def made_log(path, name, *, seed, jobs=400):
    """Write a log with users' estimates, waits and states; CTC's knows programs."""
    first, zone, processors, thanks = LOGS[name]
    generator = np.random.default_rng(seed)
    log = generate(jobs, processors, generator=generator, load=0.9)
    begin = datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(zone))
    header = Header.of(
        [
            ("Version", "2.2"), ("Computer", "made up"), ("Acknowledge", thanks),
            ("UnixStartTime", int(begin.timestamp())), ("TimeZoneString", zone), ("MaxProcs", processors),
        ]
    )  # fmt: skip
    run_time = np.trunc(log.run_time)
    estimate = mualem_feitelson(run_time, generator)
    columns = {
        "submit": np.trunc(log.submit * 30 * 86400 / log.submit[-1]), "run_time": run_time, "requested_time": estimate,
        "wait": generator.integers(0, 600, jobs), "status": np.where(run_time > estimate, 0, 1),
        "user": generator.integers(1, 9, jobs),
        "executable": generator.integers(1, 6, jobs) if name.startswith("CTC") else np.full(jobs, -1),
    }  # fmt: skip
    write_swf(log.with_columns(**columns).with_header(header), path / f"{name}.swf.gz")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    def make(folder):
        for seed, name in enumerate(LOGS):
            made_log(folder, name, seed=seed)

    return made_once(tmp_path_factory, "estimates-logs", make)


@pytest.fixture(scope="session")
def study(made):
    """The study of the made-up logs, with two seeds."""
    options = Options(seeds=2)
    logs = find_logs(made)[0]
    runs = study_runs(options, logs)
    files = {log.sha256: str(log.path) for log in logs}
    return Results(options, runs, [estimates_run(run.configuration, files=files) for run in runs])


@pytest.fixture(scope="session")
def reported(made, tmp_path_factory):
    """The study with all terms and one seed: its folder, and what it printed."""
    return study_once(tmp_path_factory, "estimates", made, "--seeds", 1)
