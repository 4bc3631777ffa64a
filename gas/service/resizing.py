"""Changes the size of the machine, with the effects on promises and on jobs larger than the machine."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from gas.errors import Conflict
from gas.service.book import Book
from gas.service.jobs import Job

__all__ = ["Broken", "resize"]

log = logging.getLogger("gas.s3")


@dataclass(frozen=True)
class Broken:
    """A promise broken by a change of the machine; `start` is None if the job was cancelled."""

    job: Job
    promised: int
    start: int | None


def resize(book: Book, processors: int, *, cancel_larger: bool, by: str | None) -> list[Broken]:
    """Change the size of a machine, durably; `LiveScheduler.resize` describes the effect on jobs."""
    larger = [job for job in book.jobs.values() if job.state != "running" and job.request.processors > processors]
    if larger and not cancel_larger:
        raise Conflict(
            f"{_named(larger)}: would have to be cancelled, since more than {processors} processors are requested; "
            "nothing was changed; set cancel_larger (gas machine --cancel-larger) to cancel them"
        )
    resized = book.machine.resize(processors)
    book.processors = processors
    broken = [Broken(book.jobs[b.id], b.promised, b.start) for b in resized.broken]
    gone = []
    for entry in resized.evicted:
        job = book.jobs[entry.id]
        job.remark(f"needs {entry.processors} processors, but the machine was reduced to {processors}")
        fields = {"event": "promise_broken", "job": job.id}
        log.warning("job %d was cancelled: %s", job.id, job.message, extra=fields)
        gone.append(book.leave(job, "cancelled"))
        broken.append(Broken(job, entry.promise, None))
    book.count_broken(len(gone))
    book.write(gone, {"processors": str(processors), "resized": "1"})
    fields = {"event": "resized", "processors": processors, "user": by}
    log.info("the machine was resized to %d processors by %s", processors, by, extra=fields)
    return broken


def _named(jobs: list[Job]) -> str:
    names = ", ".join(str(job.id) for job in jobs[:5]) + (" and more" if len(jobs) > 5 else "")
    return f"job {names}" if len(jobs) == 1 else f"jobs {names}"
