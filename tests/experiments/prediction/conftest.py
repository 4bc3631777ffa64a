"""The study of the made-up logs, run once, and one with made-up results."""

from dataclasses import replace

import pytest
from made_predictions import SMALL
from study_runs import study_once

from experiments.framework.logs import find_logs
from experiments.prediction.results import Results, study_runs

SHORT = ("--jobs", 5, "--samples", 15, "--runs", 6, "--waits", 60)


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study: its folder, and what it printed."""
    return study_once(tmp_path_factory, "prediction", made_logs, *SHORT)


@pytest.fixture
def made_study(made_logs):
    """A study with the same outcomes in every month, all of them held out."""
    logs = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    found, chosen, _ = study_runs(replace(SMALL, months=1), logs)

    def study(starts, outcomes, months=12):
        names = [f"1997-{1 + i:02}" for i in range(months)]
        runs = [replace(run, month=name) for name in names for run in found]
        choices = [replace(choice, of=replace(choice.of, month=name)) for name in names for choice in chosen]
        calibrated = [{"jobs": 20, "waiting": len(starts), "outcomes": starts} for _ in runs]
        return Results(SMALL, runs, calibrated, choices, [{"jobs": 20, "outcomes": outcomes} for _ in choices])

    return study
