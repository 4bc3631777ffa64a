"""A disk that is slow, fails or is watched: a preloaded library in programs that a test starts.

    fsync_shim     fixture: the `Shim` of a test; skips without a C compiler
    Shim.environment, rules, calls

`tests/shim/fsync_shim.c` describes the syntax of rules.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).parent / "shim" / "fsync_shim.c"


class Call(NamedTuple):
    """A system call to the disk and its instant (for ``exec``, of its begin); `error` is 0 or an errno."""

    at: float
    pid: int
    name: str
    error: int
    path: str


class Shim:
    """The library, and the files through which a test controls it."""

    def __init__(self, library: Path, directory: Path) -> None:
        self.file = library
        self._rules = directory / "fsync-rules"
        self._log = directory / "fsync-log"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of this process, with the library in it."""
        return {**os.environ, **self.variables}

    @property
    def variables(self) -> dict[str, str]:
        """The variables that the library adds to an environment."""
        return {
            "LD_PRELOAD": str(self.file),
            "FSYNC_SHIM_LOG": str(self._log),
            "FSYNC_SHIM_RULES": str(self._rules),
        }

    def rules(self, *lines: str) -> None:
        """Follow these rules from now on, also in running programs."""
        aside = self._rules.with_suffix(".new")
        aside.write_text("".join(f"{line}\n" for line in lines))
        aside.replace(self._rules)

    def calls(self) -> list[Call]:
        """Return the calls to the disk so far, in order."""
        if not self._log.exists():
            return []
        fields = [line.split(" ", 4) for line in self._log.read_text(errors="surrogateescape").splitlines()]
        return [Call(float(at), int(pid), name, abs(int(error)), path) for at, pid, name, error, path in fields]


@pytest.fixture(scope="session")
def shim_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library, made once per run."""
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("needs a C compiler: none of cc, gcc, clang is here")
    library = tmp_path_factory.mktemp("shim") / "fsync_shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the shim does not compile here (it needs glibc): {done.stderr[:300]}")
    return library


@pytest.fixture
def fsync_shim(shim_library: Path, tmp_path: Path) -> Shim:
    """A disk for the programs of one test."""
    return Shim(shim_library, tmp_path)
