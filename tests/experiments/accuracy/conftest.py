"""The study of the made-up logs, run once."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

SMALL = ("--runs", 6)


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "accuracy", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study with both kinds of users' sizes: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("accuracy")
    return folder, *run_once(folder, made_logs, *SMALL)
