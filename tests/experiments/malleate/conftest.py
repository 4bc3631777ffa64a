"""The study of made-up logs, run once; its engine in plain Python, except where each thorough test is run."""

import pytest
from study_runs import study_once
from thorough import ALL, EACH

from experiments.malleate import engine

if not (ALL or EACH):  # machine code takes eight seconds to compile, and these logs a few
    engine.available = lambda: False


@pytest.fixture(scope="session")
def reported(made_logs, tmp_path_factory):
    """The folder of the study."""
    return study_once(tmp_path_factory, "malleate", made_logs, "--quick")[0]
