"""The study of made-up logs, run once."""

import pytest
from study_runs import study_once


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The folder of the study."""
    return study_once(tmp_path_factory, "malleate", made_logs, "--quick")[0]
