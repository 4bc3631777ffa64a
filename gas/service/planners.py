"""Planning processes for clients: few, of low priority, one plan at a time each, users in turn.

Planning is mostly Python code: in threads of the service, sixty concurrent plans would delay all submissions for
seconds. A plan that takes too long is ended with its process, and another process replaces it.

A process ends when its standard input does, that is, when the service stops or is killed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gas.availability import AvailabilityList
from gas.errors import BadInput, Unreachable, outcome_of
from gas.service.aside import start_aside
from gas.service.lanes import Lane
from gas.service.planning import PlanBody, plan_for

__all__ = ["MOST_WAITING", "PLAN_SECONDS", "PROCESSES", "Planners"]

PROCESSES = 2
"""Number of concurrent plans, of different users."""

PLAN_SECONDS = 30.0
"""Most seconds for one plan. The largest that `gas.service.planning` admits takes 2 s on a separate processor."""

START_SECONDS = 60.0
"""Most seconds for a process to start; usually it takes half a second."""

MOST_WAITING = 16
"""Largest number of waiting plans of one user."""

NICE = 10
"""Niceness relative to the service: jobs may leave it little CPU time, and it must still finish."""

log = logging.getLogger("gas.s3")


class Planners:
    """Plans in processes outside the service, started on demand.

    Parameters
    ----------
    look
        Returns the availability list to plan with; called in a thread when it is a request's turn.
    """

    def __init__(self, look: Callable[[], AvailabilityList]) -> None:
        self._look = look
        self._lane = Lane(PROCESSES, each=1, waiting=MOST_WAITING, what="plans")
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._stopped = False

    async def plan(self, user: str, body: PlanBody) -> bytes:
        """Return the answer of `gas.service.planning.plan_for`, as JSON.

        Raises
        ------
        TooMany
            The user has the largest allowed number of waiting plans.
        BadInput
            It took too long; or as in `plan_for`, which raises others too.
        Unreachable
            No process can plan.
        """
        return await self._lane.run(user, partial(self._plan, pickle.dumps(body)))

    def stop(self) -> None:
        """End the processes and their current plans."""
        with self._lock:
            self._stopped = True
            processes = [*self._idle, *self._busy]
            self._idle.clear()
        for process in processes:
            process.end()

    def _plan(self, body: bytes) -> bytes:
        request = pickle.dumps((body, self._look()))
        for _ in range(2):  # an idle one may have been killed
            process = self._take()
            try:
                answer = process.ask(request)
            except _Gone:
                if process.late:
                    raise BadInput(
                        f"planning took longer than the limit of {PLAN_SECONDS:g} s; set a max or a "
                        "narrower constraint, use the algorithm exact, or plan with `gas plan`"
                    ) from None
                log.warning("a planning process has ended unexpectedly", extra={"event": "planner_gone"})
                continue
            finally:
                self._put_back(process)
            if isinstance(answer, _Unforeseen):
                raise RuntimeError(f"in a planning process:\n{answer.traceback}")
            if isinstance(answer, Exception):
                raise answer
            assert isinstance(answer, bytes), "anything else was raised above"
            return answer
        raise Unreachable("the planning processes of the service have ended; try again, or plan with `gas plan`")

    def _take(self) -> _Process:
        with self._lock:
            if self._stopped:
                raise Unreachable("the service is stopping; plan again after its restart")
            process = self._idle.pop() if self._idle else None
            if process is None:
                try:
                    process = _Process()
                except OSError as error:
                    raise Unreachable(
                        f"no planning process can be started ({error}); try again, or plan with `gas plan`"
                    ) from None
            self._busy.add(process)
            return process

    def _put_back(self, process: _Process) -> None:
        with self._lock:
            self._busy.discard(process)
            if not process.ended and not self._stopped:
                self._idle.append(process)
                return
        process.end()


class _Gone(Exception):
    """The process has ended, or was ended because it took too long."""


class _Unforeseen(NamedTuple):
    """An internal error in a planning process."""

    traceback: str


class _Process:
    """The service's end of one process; used by one thread at a time, except `end`."""

    def __init__(self) -> None:
        self._process = start_aside(
            f"import {__name__} as it; it.work()", nice=NICE, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._ready = False
        self.late = self.ended = False

    def ask(self, request: bytes) -> Any:
        """Return the answer of the process, or raise `_Gone`."""
        if not self._ready:
            self._in_time(START_SECONDS, self._hear)
            self._ready = True
        return self._in_time(PLAN_SECONDS, partial(self._ask, request))

    def end(self) -> None:
        """End it at once."""
        self.ended = True
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet
                assert stream is not None, "both are pipes"
                stream.close()

    def _in_time(self, seconds: float, call: Callable[[], Any]) -> Any:
        timer = threading.Timer(seconds, self._is_late)
        timer.daemon = True
        timer.start()
        try:
            found = call()
            self.ended = self.late  # in the last moment
            return found
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self.ended = True
            raise _Gone from None
        finally:
            timer.cancel()

    def _is_late(self) -> None:
        self.late = self._ready
        self._process.kill()  # readers of its pipe get end of file

    def _ask(self, request: bytes) -> Any:
        assert self._process.stdin is not None, "it is a pipe"
        self._process.stdin.write(request)
        self._process.stdin.flush()
        return self._hear()

    def _hear(self) -> Any:
        assert self._process.stdout is not None, "it is a pipe"
        return pickle.load(self._process.stdout)


# ------------------------------------------------------------------------------------------------- in such a process


def work() -> None:
    """Answer requests from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that printed text is not taken for an answer
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    requests: queue.SimpleQueue[tuple[bytes, AvailabilityList]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    answer: Any = None  # ready
    while True:
        pickle.dump(answer, answers)
        answers.flush()
        body, availability = requests.get()
        signal.alarm(int(2 * PLAN_SECONDS) + 1)  # in case the service is gone before a thread notices
        answer = _answer(body, availability)
        signal.alarm(0)


def _listen(requests: queue.SimpleQueue[tuple[bytes, AvailabilityList]]) -> None:
    """Pass on requests; when there are no more, end the process at once."""
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    os._exit(0)


def _answer(body: bytes, availability: AvailabilityList) -> bytes | _Unforeseen | Exception:
    from starlette.responses import JSONResponse

    try:
        return bytes(JSONResponse(plan_for(pickle.loads(body), availability)).body)
    except Exception as error:
        if outcome_of(error) is not None:
            return error
        return _Unforeseen(traceback.format_exc())
