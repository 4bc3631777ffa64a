"""The study of the made-up logs with all settings, run once."""

import io
from contextlib import redirect_stderr, redirect_stdout

import pytest

SMALL = ("--seeds", 1, "--percent", 20, "--months", 1)


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "supercomputers", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study with all settings: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("supercomputers")
    return folder, *run_once(folder, made_logs, *SMALL)
