"""Detects whether the service was stopped, suspended or starved of processor time.

A thread that only wakes up distinguishes this from a service that is merely slow: a busy service uses the processor,
and lets this thread run from time to time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from gas.service import wrapper

__all__ = ["Pulse"]

BEAT_SECONDS = 0.25
"""Interval at which the thread wakes up, in seconds."""

PAUSE_SECONDS = 1.0
"""Shortest time without running that counts as a pause, in seconds."""

_KEPT = 1000


class Pulse:
    """The pauses in which this process did not run.

    Without `start`, every `beat` must come from elsewhere.

    Parameters
    ----------
    elapsed
        Source of elapsed seconds, including suspended time.
    used
        Source of the processor seconds that this process has used.
    """

    def __init__(
        self, elapsed: Callable[[], float] = wrapper.clock, used: Callable[[], float] = time.process_time
    ) -> None:
        self._elapsed, self._used = elapsed, used
        self._lock = threading.Lock()
        self._last = elapsed(), used()
        self._pauses: deque[tuple[float, float]] = deque(maxlen=_KEPT)  # (elapsed seconds at its end, how long)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Beat from now on, in a thread."""
        self._thread = threading.Thread(target=self._run, name="s3-pulse", daemon=True)
        self._thread.start()

    @property
    def beats(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def beat(self) -> None:
        """Record that the process runs."""
        with self._lock:
            now, used = self._elapsed(), self._used()
            # Work that keeps the thread from running (a call that holds the interpreter's lock) is no pause.
            pause = (now - self._last[0]) - (used - self._last[1]) - BEAT_SECONDS
            if pause > PAUSE_SECONDS:
                self._pauses.append((now, pause))
            self._last = now, used

    def paused(self, since: float) -> float:
        """Return the seconds in which the process has not run since an instant of `elapsed`."""
        self.beat()  # after a pause, the first thread to wake up sees it
        with self._lock:
            return sum(min(pause, end - since) for end, pause in self._pauses if end > since)

    def _run(self) -> None:
        while not self._stopped.wait(BEAT_SECONDS):
            self.beat()
