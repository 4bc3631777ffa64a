"""Services in the processes of tests stop at once.

uvicorn waits a tenth of a second for connections to close, longer than most of a thousand services are used.
"""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

__all__ = ["PAUSE", "install"]

PAUSE = 0.01
"""The longest pause of uvicorn, in seconds, when it stops."""


def install() -> None:
    """Shorten the pauses of uvicorn in this process, once it is imported; the service has a main loop of its own."""
    server = sys.modules.get("uvicorn.server")
    if server is not None and server.asyncio is asyncio:
        server.asyncio = SimpleNamespace(**vars(asyncio) | {"sleep": _sleep})  # type: ignore[attr-defined]


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(min(seconds, PAUSE))
