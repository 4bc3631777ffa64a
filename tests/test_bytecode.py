"""Bytecode is written before workers start, just as they would write it."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import bytecode
import pytest

HERE = Path(__file__).parent


@pytest.fixture
def clone(tmp_path):
    """A part of a fresh clone that suffices to show it: a test, its imports, and the settings."""
    for name in ("bytecode.py", "eventually.py"):
        (tmp_path / "tests").mkdir(exist_ok=True)
        shutil.copy(HERE / name, tmp_path / "tests")
    (tmp_path / "tests" / "test_one.py").write_text("import eventually\n\ndef test_one():\n    assert eventually\n")
    (tmp_path / "tests" / "test_bad.py").write_text("def (:\n")
    (tmp_path / "tests" / "conftest.py").write_text(
        "import bytecode\n\ndef pytest_configure(config):\n    bytecode.write(list(bytecode.stale()))\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests\naddopts = --import-mode=importlib\n")
    return tmp_path


@pytest.mark.thorough
def test_what_it_writes_is_what_pytest_reads(clone):
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=clone, capture_output=True)
    written = {path.name.partition(".")[0]: path for path in (clone / "tests" / "__pycache__").iterdir()}
    assert set(written) == {"bytecode", "eventually", "conftest", "test_one"}
    assert "pytest" in written["test_one"].name
    before = written["test_one"].stat()
    subprocess.run([*command, "tests/test_one.py"], cwd=clone, capture_output=True, check=True)
    assert written["test_one"].stat().st_ino == before.st_ino


def test_only_what_has_changed_is_written(tmp_path):
    (tmp_path / "some.py").write_text("A = 1\n")
    assert list(bytecode.stale([tmp_path])) == [tmp_path / "some.py"]
    bytecode.write([tmp_path / "some.py"])
    assert Path(importlib.util.cache_from_source(tmp_path / "some.py")).exists()
    assert list(bytecode.stale([tmp_path])) == []
