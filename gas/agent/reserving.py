"""Reserves processors for a fixed time, exactly once; reads a scheduler's clock."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from gas.agent.options import checked_key
from gas.endpoints import InDoubt, JobEndpoint, S3Endpoint
from gas.errors import Conflict, GasError
from gas.times import duration_text

__all__ = ["Reserved", "clock_of", "reserve"]


class Reserved(NamedTuple):
    """A reservation, and whether an earlier call with the same key made it."""

    job: dict[str, Any]
    already: bool


def reserve(
    where: JobEndpoint,
    name: str,
    processors: int,
    start: Callable[[], int],
    seconds: int,
    *,
    key: str | None = None,
    remark: Callable[[str], None],
) -> Reserved:
    """Reserve processors: at most one reservation per call, and only one for all calls with the same key.

    Parameters
    ----------
    start
        Returns the epoch second of the start; called if this key has no reservation yet.

    Raises
    ------
    Conflict
        The key belongs to something else.
    InDoubt
        The reservation may or may not have been made; the message says how to find out.
    """
    if key is not None and (earlier := where.job_by_key(checked_key(key))) is not None:
        if isinstance(where, S3Endpoint) and earlier["kind"] != "reservation":
            raise Conflict(f"--key {key}: belongs to job {earlier['id']} ({earlier['name']}); use another key")
        if isinstance(where, S3Endpoint) and (earlier["processors"], earlier["walltime"]) != (processors, seconds):
            raise Conflict(
                f"--key {key}: belongs to reservation {earlier['id']} of {earlier['processors']} processors for "
                f"{duration_text(earlier['walltime'])}; use another key for another reservation"
            )
        return Reserved(earlier, True)
    begin = start()
    where.tell = remark
    used = key or uuid.uuid4().hex
    way_out = (
        f"the reservation may or may not exist: check with gas status --key {used} -e {where.name}, or repeat gas "
        f"reserve with --key {used} (it never reserves twice)"
    )
    try:
        return Reserved(where.reserve(name, processors, begin, seconds, used), False)
    except GasError as error:
        if where.in_doubt(used):
            raise InDoubt(f"{error}; {way_out}", used) from None
        raise
    except KeyboardInterrupt:
        if where.in_doubt(used):
            remark(way_out)
        raise


def clock_of(where: JobEndpoint) -> int:
    """Return the present epoch second by the scheduler's clock, which may differ from this machine's."""
    return where.availability().now if where.keeps_own_clock else int(time.time())
