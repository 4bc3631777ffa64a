"""One plan per job of a workflow, even if several processes request it.

A workflow manager requests the size of a job repeatedly: for each resource, when it chooses what to run, and again in
the process that runs the job. The answer must always be the same; otherwise a job could be submitted with one size and
run with another. The first answer is therefore written to a small file, and later calls read it. The files belong to
one run of the workflow; its processes inherit the name of their directory in an environment variable.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["VARIABLE", "PlanMemory"]

VARIABLE = "GAS_WORKFLOW_PLANS"
"""Names the directory in which the processes of one run of a workflow keep their plans."""


class PlanMemory:
    """The plans for one run of a workflow, kept in a directory.

    Parameters
    ----------
    parent
        The folder for directories of runs; an inherited directory of another workflow is not used.
    """

    def __init__(self, parent: Path) -> None:
        parent = parent.absolute()
        inherited = os.environ.get(VARIABLE)
        if inherited and Path(inherited).parent == parent:
            self.directory = Path(inherited)
        else:
            self.directory = parent / f"{time.time_ns()}-{os.getpid()}"
            os.environ[VARIABLE] = str(self.directory)
        self._known: dict[str, dict[str, Any]] = {}

    def once(self, job: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the plan of this job; make it if there is none.

        Parameters
        ----------
        job
            Data that identify the job; JSON.
        make
            Makes the plan to remember; JSON.
        """
        text = json.dumps(job, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        if name not in self._known:
            path = self.directory / f"{name}.json"
            found = _read(path)
            if found is None:
                self.directory.mkdir(parents=True, exist_ok=True)
                found = _write_first(path, {"job": job, "made": make()})
            self._known[name] = found["made"]
        return self._known[name]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return found


def _write_first(path: Path, made: dict[str, Any]) -> dict[str, Any]:
    """Write a complete file, unless another process was first; return the contents of the file."""
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(made) + "\n")
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        made = _read(path) or made
    finally:
        draft.unlink()
    return made
