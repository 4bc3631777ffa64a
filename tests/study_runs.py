"""Studies run by the command: in this process, with one worker; once for all workers of pytest if they share it.

run_study    a study in a folder, and what it printed
study_once   the same, made by the first that needs it
made_once    a folder that all workers of a run share
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

__all__ = ["made_once", "run_study", "study_once"]


def run_study(study: str, folder: Path, logs: Path, *options: object) -> tuple[str, str]:
    """Run a study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["experiment", study, "--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run([str(one) for one in arguments]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that is filled by the first worker that needs it; tests only read it."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, made = base / f"once-{name}", base / f"once-{name}.made"
    with (base / f"once-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


def study_once(factory: pytest.TempPathFactory, study: str, logs: Path, *options: object) -> tuple[Path, str, str]:
    """Return the folder of a study, made by the first worker that needs it, and what it printed."""

    def make(folder: Path) -> None:
        for name, text in zip(("out", "err"), run_study(study, folder / "study", logs, *options), strict=True):
            (folder / name).write_text(text, encoding="utf-8")

    made = made_once(factory, study, make)
    return made / "study", *((made / name).read_text(encoding="utf-8") for name in ("out", "err"))
