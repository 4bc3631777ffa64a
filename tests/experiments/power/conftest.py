"""The study of the made-up logs on all terms, run once."""

import pytest
from study_runs import study_once

SMALL = ("--runs", 6, "--seeds", 2)


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The study on all terms: its folder, and what it printed."""
    return study_once(tmp_path_factory, "power", made_logs, *SMALL)
