"""Computes on the workers of a Dask scheduler instead of in processes or threads on this machine."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from documents.extras import way_to_install
from gas.errors import BadInput, GasError, Missing

__all__ = ["dask_client"]


@contextmanager
def dask_client(address: str) -> Iterator[Any]:
    """Yield the client (`distributed.Client`) of a Dask scheduler; Gas must be installed on its workers.

    Parameters
    ----------
    address
        For example ``tcp://host:8786``.

    Raises
    ------
    Missing
        Dask is not installed.
    BadInput
        No scheduler answers there.
    GasError
        A task killed one worker after another, or the connection to the scheduler was lost.
    """
    try:
        import distributed
    except ImportError:
        raise Missing(f"--dask needs distributed: {way_to_install('cluster')}") from None
    dask: Any = distributed  # its type annotations are incomplete
    _refuse_silence(address)
    for name in ("distributed", "distributed.client", "distributed.core", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are reported below, in one line
    try:
        client = dask.Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise _silent(address, error) from None
    try:
        with client:
            yield client
    except dask.KilledWorker as error:
        raise GasError(f"a task killed its workers, perhaps out of memory; results so far are kept ({error})") from None
    except (CancelledError, dask.comm.CommClosedError) as error:
        words = str(error) or type(error).__name__
        raise GasError(
            f"--dask {address}: the scheduler is gone ({words}); results so far are kept: repeat the command once it "
            "is back"
        ) from None


def _refuse_silence(address: str) -> None:
    """Raise `BadInput` if no server listens at the address: Dask itself would retry for a long time."""
    match = re.fullmatch(r"(?:tcp|tls)://\[?([^\[\]/]+?)\]?:([0-9]{1,5})/?", address)
    if match is None:
        raise BadInput(f"--dask {address}: is not the address of a scheduler; write it as tcp://HOST:8786")
    try:
        socket.create_connection((match[1], int(match[2])), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise _silent(address, error) from None


def _silent(address: str, error: Exception) -> BadInput:
    words = str(error).splitlines()[0] if str(error) else type(error).__name__
    return BadInput(f"--dask {address}: no scheduler answers there ({words}); write it as tcp://HOST:8786")
