"""Studies run by the command: in this process, with one worker; once for all pytest workers if shared.

run_study    a study in a folder, and what it printed
study_once   the same, run by the first worker that needs it
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from made_once import made_once

__all__ = ["run_study", "study_once"]


def run_study(study: str, folder: Path, logs: Path, *options: object) -> tuple[str, str]:
    """Run a study with one worker; return what it printed."""
    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["experiment", study, "--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run([str(one) for one in arguments]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


def study_once(factory: pytest.TempPathFactory, study: str, logs: Path, *options: object) -> tuple[Path, str, str]:
    """Return the folder of a study, run by the first worker that needs it, and what it printed."""

    def make(folder: Path) -> None:
        for name, text in zip(("out", "err"), run_study(study, folder / "study", logs, *options), strict=True):
            (folder / name).write_text(text, encoding="utf-8")

    made = made_once(factory, study, make)
    return made / "study", *((made / name).read_text(encoding="utf-8") for name in ("out", "err"))


def items_in(report):
    """Return the cells of each item in the list of a report's items, by name."""
    lines = report[report.index("## Items of the paper") :].splitlines()
    return {cells[0]: cells for line in lines if (cells := [cell.strip() for cell in line.split("|")[1:-1]])}
