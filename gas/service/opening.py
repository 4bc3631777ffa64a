"""Opens the book of an existing store for another run of the service: size and clock continue."""

from __future__ import annotations

import logging
from pathlib import Path

from gas.errors import BadInput, Conflict
from gas.printable import many
from gas.service.book import Book
from gas.service.classes import NO_CLASSES, Classes
from gas.service.clock import Clock
from gas.service.grace import Grace
from gas.service.runner import Host
from gas.service.store import Store

__all__ = ["open_book"]

log = logging.getLogger("gas.s3")


def open_book(
    name: str,
    processors: int | None,
    store: Store,
    clock: Clock,
    state: Path,
    *,
    reset_clock: bool = False,
    host: Host | None = None,
    classes: Classes = NO_CLASSES,
) -> Book:
    """Return the book of a store; `gas.service.live` documents the parameters.

    Raises
    ------
    BadInput
        The store is new, and no size is given.
    Conflict
        It belongs to a machine of another size, or its clock cannot be reset now.
    """
    meta = store.meta()
    size = _size(processors, meta, store, state)
    grace = Grace.read(meta["grace"]) if "grace" in meta else Grace()
    if "clock" in meta:
        present = clock.now()
        away = clock.resume(meta["clock"])
        if reset_clock:
            if waiting := len(store.active()):
                raise Conflict(f"--reset-clock: the schedule contains {many(waiting, 'job')}; drain it first (--drain)")
            away += clock.reset(present)
        grace = grace.after(away, clock.now()) if away >= 0 else Grace()
    if remark := clock.remark():
        log.warning("%s", remark, extra={"event": "clock_offset", "offset_seconds": clock.offset()})
    return Book(name, size, store, clock, grace, state / "jobs", host, classes)


def _size(processors: int | None, meta: dict[str, str], store: Store, state: Path) -> int:
    """Return the number of processors: the requested one, if the store has the same or nothing depends on it yet."""
    if processors is None:
        if "processors" not in meta:
            raise BadInput(f"--processors: is required for the new state directory {state}")
        return int(meta["processors"])
    stored = int(meta.get("processors", processors))
    if stored == processors or not store.last_id():  # nothing was ever submitted: it may have been a mistake
        return processors
    if meta.get("resized"):
        log.warning("the machine has %d processors, as set by its operator, not %d", stored, processors)
        return stored
    raise Conflict(
        f"{state}: belongs to a machine of {stored} processors, not {processors}; "
        "use another --state, or that size (gas machine --processors changes it)"
    )
