"""Fixtures of the simulator's tests."""

import pytest
from pyss_logs import pyss_folder


@pytest.fixture(scope="session")
def pyss():
    """The folder of the logs scheduled by pyss."""
    folder = pyss_folder()
    if folder is None:
        pytest.skip("needs the logs scheduled by pyss: neither GAS_PYSS nor the folder beside GAS_TRACES has them")
    return folder
