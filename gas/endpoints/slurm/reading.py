"""One reading of a Slurm for all of its endpoints that ask at the same time: each partition is one."""

from __future__ import annotations

import threading
from dataclasses import replace

from gas.endpoints.slurm.transport import Transport
from gas.errors import GasError
from gas.slurm.cluster import Cluster

__all__ = ["Reading"]


class Reading:
    """What one Slurm has published, read again as soon as a caller asks that has had it.

    Parameters
    ----------
    transport
        How it is spoken to.
    known
        What it has just published.
    """

    def __init__(self, transport: Transport, known: Cluster | None = None) -> None:
        self._transport = transport
        self._found: Cluster | GasError | None = known
        self._served: set[str] = set()
        self._lock = threading.Lock()

    def cluster(self, name: str) -> Cluster:
        """Return everything that is published, for an endpoint of this name; raise what reading it raised."""
        with self._lock:
            if self._found is None or name in self._served:
                self._served.clear()
                try:
                    self._found = self._transport.cluster(name)
                except GasError as error:
                    self._found = error
            self._served.add(name)
            if isinstance(self._found, GasError):
                raise self._found
            return replace(self._found, name=name)
