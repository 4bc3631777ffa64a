"""The quick study of the made-up logs, run once."""

import pytest
from study_runs import study_once


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study run once, with one worker: its folder, and what it printed."""
    return study_once(tmp_path_factory, "backfilling", made_logs, "--quick", "--jobs-per-point", 2100)


@pytest.fixture(scope="session")
def done(reported):
    return reported[0]
