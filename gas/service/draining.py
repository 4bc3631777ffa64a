"""The jobs that a draining service still has to finish, read from its store while it runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from gas.errors import Conflict
from gas.service.backup import STORE
from gas.service.jobs import Job
from gas.service.rows import job_of
from gas.service.server import hold_state
from gas.service.tables import JOB_COLUMNS

__all__ = ["remaining", "until_drained"]

PAUSE_SECONDS = 0.5
_ACTIVE = (
    f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs WHERE state IN ('queued', 'reserved', 'running') ORDER BY start, id"
)


def remaining(directory: Path) -> list[Job]:
    """Return the jobs in the schedule of a state directory by their starts; none if the store is unreadable."""
    try:
        with closing(sqlite3.connect(f"{(directory / STORE).absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [job_of(row) for row in database.execute(_ACTIVE)]
    except sqlite3.Error:  # the service itself reports what is wrong with it
        return []


def until_drained(directory: Path) -> Iterator[list[Job]]:
    """Yield the remaining jobs, now and after each end of a job, until the service of the directory has stopped."""
    before: set[int] | None = None
    while True:
        try:
            hold_state(directory).close()
            return
        except Conflict:
            jobs = remaining(directory)
        numbers = {job.id for job in jobs}
        if numbers and numbers != before:
            yield jobs
        before = numbers
        time.sleep(PAUSE_SECONDS)
