"""One query of a Slurm shared by its endpoints, one for each partition."""

from __future__ import annotations

import threading
from dataclasses import replace

from gas.endpoints.slurm.transport import Transport
from gas.errors import GasError
from gas.slurm.cluster import Cluster

__all__ = ["Reading"]


class Reading:
    """The published state of one Slurm, queried again for an endpoint that has already received it.

    Parameters
    ----------
    transport
        The connection to Slurm.
    known
        The state if it has just been read.
    """

    def __init__(self, transport: Transport, known: Cluster | None = None) -> None:
        self._transport = transport
        self._found: Cluster | GasError | None = known
        self._served: set[str] = set()
        self._lock = threading.Lock()

    def cluster(self, name: str) -> Cluster:
        """Return the published state for the endpoint of this name; raise the query's error if it failed."""
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
