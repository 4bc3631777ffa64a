"""The study of the made-up logs with all settings, run once."""

import pytest
from study_runs import study_once

SMALL = ("--seeds", 1, "--percent", 20, "--months", 1)


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study with all settings: its folder, and what it printed."""
    return study_once(tmp_path_factory, "supercomputers", made_logs, *SMALL)
