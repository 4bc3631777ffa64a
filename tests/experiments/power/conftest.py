"""The study of the made-up logs on all terms, run once."""

import pytest

SMALL = ("--runs", 6, "--seeds", 2)


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    import io
    from contextlib import redirect_stderr, redirect_stdout

    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "power", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study on all terms: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("power")
    return folder, *run_once(folder, made_logs, *SMALL)
