"""Real logs, if at hand: the folder named by GAS_TRACES."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def traces() -> Path:
    folder = os.environ.get("GAS_TRACES")
    if not folder:
        pytest.skip("GAS_TRACES is not set; it names the folder with real logs")
    return Path(folder)
