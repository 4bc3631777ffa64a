"""The study of the made-up logs, run once, and one whose results are made up too."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest
from made_predictions import SMALL

from experiments.framework.logs import find_logs
from experiments.prediction.results import Results, study_runs
from gas.intervals import FEWEST

SHORT = ("--jobs", 5, "--samples", 15, "--runs", 6, "--waits", 60)


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "prediction", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("prediction")
    return folder, *run_once(folder, made_logs, *SHORT)


@pytest.fixture
def made_study(made_logs):
    """A study with the same outcomes in every month, all of them held out."""
    logs = [log for log in find_logs(made_logs)[0] if log.source.trace == "KTH"]
    found, chosen, _ = study_runs(replace(SMALL, months=1), logs)

    def study(starts, outcomes, months=FEWEST):
        names = [f"1997-{1 + i:02}" for i in range(months)]
        runs = [replace(run, month=name) for name in names for run in found]
        choices = [replace(choice, of=replace(choice.of, month=name)) for name in names for choice in chosen]
        calibrated = [{"jobs": 20, "waiting": len(starts), "outcomes": starts} for _ in runs]
        return Results(SMALL, runs, calibrated, choices, [{"jobs": 20, "outcomes": outcomes} for _ in choices])

    return study
