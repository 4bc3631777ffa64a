"""Clocks of running programs that a test sets: a preloaded library.

clock_shim     fixture: the `ClockShim` of a test; skips without a C compiler
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "shim" / "wall_clock_shim.c"


class ClockShim:
    """The library, and the file with which a test sets the clocks."""

    def __init__(self, library: Path, directory: Path) -> None:
        self._file = directory / "clocks"
        self.variables = {"LD_PRELOAD": str(library), "CLOCK_SHIM": str(self._file)}
        self.set(0, 0)

    def set(self, wall: int, boot: int = 0) -> None:
        """Set wall clock and time since boot ahead by this many seconds from now on."""
        aside = self._file.with_suffix(".new")
        aside.write_text(f"{wall} {boot}")
        aside.replace(self._file)


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library, once per run."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("needs a C compiler: none of cc, gcc, clang is here")
    library = tmp_path_factory.mktemp("shim") / "wall_clock_shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the shim does not compile here (it needs Linux): {done.stderr[:300]}")
    return library


@pytest.fixture
def clock_shim(clock_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClockShim:
    """The clocks of the programs that one test starts."""
    shim = ClockShim(clock_library, tmp_path)
    for name, value in shim.variables.items():
        monkeypatch.setenv(name, value)
    return shim
