"""The study of made-up logs, run once."""

import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """Its folder."""
    folder = tmp_path_factory.mktemp("malleate")
    given = ["experiment", "malleate", "--traces", made_logs, "--output", folder, "--quick", "--workers", 1]
    done = subprocess.run([sys.executable, "-m", "gas", *map(str, given)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder
