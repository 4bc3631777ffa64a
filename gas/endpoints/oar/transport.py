"""The interface of transports to an OAR, beyond sending (`gas.endpoints.sending`)."""

from __future__ import annotations

import re
from typing import Protocol

from gas.endpoints.oar.machine import Job, Machine
from gas.endpoints.oar.submission import Batch
from gas.endpoints.sending import SendingTransport

__all__ = ["NO_DATABASE", "Transport"]


NO_DATABASE = re.compile(r"DB connection error|[Cc]annot connect to (the )?database|could not connect to server")
"""Messages of commands that reached no server; oarsub has then created nothing."""


class Transport(SendingTransport[Batch], Protocol):
    """A connection to one OAR."""

    def machine(self, name: str, queue: str = "default") -> Machine:
        """Return the published state; `name` is its name for the user, `queue` is that of future jobs."""

    def preview(self, batch: Batch) -> str:
        """Return the submission of a job as text for a person."""

    def job(self, id: int) -> Job | None:
        """Return a job, also one that has ended; None if there is none."""

    def active_jobs(self) -> tuple[Job, ...]:
        """Return all jobs that have not ended."""

    def ended_jobs(self, count: int) -> tuple[Job, ...]:
        """Return the latest jobs that have ended."""

    def tagged_jobs(self, tag: str) -> tuple[Job, ...]:
        """Return the user's jobs whose names end with a tag, also those that have ended."""
