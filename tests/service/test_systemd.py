"""The systemd units: as the guide shows them, as installed, and as systemd judges them."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from page_examples import blocks_of

import gas
from gas.guide.contents import pages

UNITS = Path(gas.__file__).parent / "service" / "systemd"


def test_the_guide_shows_the_units_that_are_installed():
    shown = {block.title: block.text for block in blocks_of(pages()["operation"]) if block.language == "ini"}
    assert shown == {unit.name: unit.read_text() for unit in UNITS.iterdir()}


def test_the_wheel_installs_them_where_the_guide_says():
    project = UNITS.parents[2] / "pyproject.toml"
    if not project.exists():
        pytest.skip("there is no pyproject.toml beside an installed package")
    data = tomllib.loads(project.read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert data == {"gas/service/systemd": "share/gas/systemd"}
    assert "/share/gas/systemd/" in pages()["operation"]


@pytest.mark.process
def test_systemd_accepts_them(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    program = shutil.which("true")
    for unit in UNITS.iterdir():
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/gas/bin/gas", program))
    checked = subprocess.run(
        ["systemd-analyze", "verify", *sorted(map(str, tmp_path.glob("s3.*")))], capture_output=True, text=True
    )
    said = [line for line in checked.stderr.splitlines() if "DelegateSubgroup" not in line]  # newer than this systemd
    assert (checked.returncode, said) == (0, [])
