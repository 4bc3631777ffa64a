"""The study of the made-up logs, run once."""

import pytest
from study_runs import study_once

SMALL = ("--runs", 6)


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study with both kinds of users' sizes: its folder, and what it printed."""
    return study_once(tmp_path_factory, "accuracy", made_logs, *SMALL)
