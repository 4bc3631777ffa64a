"""The study of the made-up logs, run once."""

import subprocess
import sys

import pytest

SHORT = ("--seeds", 1, "--no-other-terms")


def command(logs, output, *options):
    given = ["experiment", "bushel", "--traces", logs, "--output", output, *SHORT, *options]
    return [sys.executable, "-m", "gas", *map(str, given)]


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study with one worker: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("bushel")
    done = subprocess.run(command(made_logs, folder, "--workers", 1), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr
