"""Wheels from which pip installs Gas without a network."""

import subprocess
import sys

import pytest

from gas.bundle.wheelhouse import fill
from gas.errors import BadInput


@pytest.mark.parametrize("python", ["3.10", "2.7", "3", "3.11.7", "new"])
def test_a_python_that_gas_does_not_run_on_is_refused(python, tmp_path):
    with pytest.raises(BadInput, match="Gas needs 3.11 or later"):
        fill(tmp_path / "wheels", python=python)
    assert not (tmp_path / "wheels").exists()


def test_extras_are_names(tmp_path):
    with pytest.raises(BadInput, match="names with commas"):
        fill(tmp_path, extras="server; rm -rf")


@pytest.mark.long
def test_gas_is_installed_from_them_without_a_network(tmp_path):
    wheels = fill(tmp_path / "wheels", python=f"3.{sys.version_info.minor}")
    assert not [one.name for one in wheels if one.name.startswith(("numba", "matplotlib"))]
    script = f"""
        {sys.executable} -m venv --without-pip {tmp_path}/venv
        {sys.executable} -m pip --python {tmp_path}/venv install -q --no-compile \\
            --no-index --find-links {tmp_path}/wheels apples-gas
        {tmp_path}/venv/bin/gas --version
    """
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, timeout=600)
    assert done.stdout.startswith("gas "), done.stderr
