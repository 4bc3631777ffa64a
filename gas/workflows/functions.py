"""Python functions as moldable jobs: an executor like those of `concurrent.futures`, on any scheduler.

A call is pickled into a folder that this machine shares with those of the scheduler. The job of the size that finishes
first makes the call, and its result or exception comes back through the same folder.
"""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Unpack

from documents.extras import way_to_install
from documents.fields import nearest
from gas.agent.calls import Wanted, agent_and_options, with_wanted
from gas.agent.futures import JobFutureOf
from gas.agent.options import Run
from gas.agent.submission import Submitted
from gas.agent.values import ApplicationLike, Duration, SchedulerLike, gas_errors_alone, seconds_of
from gas.endpoints import InDoubt, JobDescription
from gas.errors import BadInput, JobFailed
from gas.placeholders import NAMES
from gas.workflows.call import CALL, FOLDER, OUTCOME, Call, Outcome, dumped

__all__ = ["Executor", "FunctionFuture"]

P = ParamSpec("P")
T = TypeVar("T")

LATE_SECONDS = {"completed": 60.0}
"""Seconds to wait for an outcome after the end of the job is known, by the job's state: network file systems show files
late on other machines. `OTHERWISE_LATE_SECONDS` after other ends, which may have left no outcome."""

OTHERWISE_LATE_SECONDS = 5.0

PREFIX = "call-"

_PLACEHOLDER = re.compile(r"\{[A-Za-z]\w*\}")


class FunctionFuture(JobFutureOf[T]):
    """The future of a function's job: it returns the function's result, or raises the function's exception.

    A job that ends without either (killed, out of time, never started) raises `JobFailed`.
    """

    def __init__(
        self, submitted: Submitted, folder: Path, *, keep: bool = False, remark: Callable[[str], object] | None = None
    ) -> None:
        self.folder = folder
        self._keep = keep
        self._ended: float | None = None
        super().__init__(submitted, remark=remark)

    def _tidy(self) -> None:
        """Remove the folder of the call, which the job no longer needs, before those who wait for its end continue."""
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _cancel(self) -> None:
        self._tidy()
        super()._cancel()

    def _outcome(self, job: dict[str, Any]) -> tuple[T] | None:
        try:
            found = self._read(job)
        except BaseException:
            self._tidy()
            raise
        if found is not None:
            self._tidy()
        return found

    def _read(self, job: dict[str, Any]) -> tuple[T] | None:
        try:
            found = Outcome(*pickle.loads((self.folder / OUTCOME).read_bytes()))
        except FileNotFoundError:
            if self._may_be_late(str(job["state"])):
                return None
            raise self._failure(job) from None
        if found.value is not None:
            try:
                return (pickle.loads(found.value),)
            except BaseException as error:
                raise JobFailed(f"job {self.id} has a result that cannot be loaded here: {error!r}", job, 0) from None
        raise self._raised(found, job)

    def _may_be_late(self, state: str) -> bool:
        if self.submitted.endpoint.is_local:
            return False
        if self._ended is None:
            self._ended = time.monotonic()
        return time.monotonic() < self._ended + LATE_SECONDS.get(state, OTHERWISE_LATE_SECONDS)

    def _raised(self, found: Outcome, job: dict[str, Any]) -> Exception:
        """Return the function's exception with its remote traceback as cause; as text if it cannot be restored."""
        there = JobFailed(f"in job {self.id} on {self.scheduler}:\n{found.text.rstrip()}", job, 1, found.text)
        try:
            error = None if found.error is None else pickle.loads(found.error)
            if isinstance(error, Exception):
                error.__cause__ = there
                return error
        except BaseException:  # its class cannot be loaded here, or refuses the cause
            return there
        return there


class Executor(concurrent.futures.Executor):
    """Runs Python functions as moldable jobs, of the size and on the scheduler where they finish first.

    ::

        with gas.Executor({4: "2h", 16: "40m"}, "kth", folder="/shared/calls") as executor:
            job = executor.submit(solve, "mesh.h5", processors="{processors}")
            print(job.result())

    The function runs once, in one process, in the current folder and with the present Python; the scheduler's machines
    must have access to both. An argument ``"{processors}"`` (or another placeholder) becomes the chosen number, and
    ``"{{name}}"`` the text ``{name}``; the number is also in the environment (``GAS_PROCESSORS``).

    Parameters
    ----------
    application, schedulers, wanted
        As for `gas.plan`.
    folder
        The folder for calls and results; only you may have access to it, on the machines of the schedulers too.
    keep
        Keep the folders of calls; otherwise each is removed when its job has ended.
    name
        Name of the jobs; by default the name of the function.
    environment
        Environment variables, in addition to those that the scheduler sets.
    native
        Options to pass to the scheduler: ``["--account=abc"]``.
    """

    @with_wanted
    def __init__(
        self,
        application: ApplicationLike,
        schedulers: SchedulerLike | Iterable[SchedulerLike] | None = None,
        *,
        folder: str | os.PathLike[str] = "gas-calls",
        keep: bool = False,
        name: str | None = None,
        environment: Mapping[str, str] | None = None,
        native: Sequence[str] = (),
        **wanted: Unpack[Wanted],
    ) -> None:
        with gas_errors_alone():
            self._agent, self._options = agent_and_options(application, schedulers, wanted)
        self._folder = _own_folder(Path(folder).absolute())
        self._keep, self._name, self._native = keep, name, tuple(native)
        self._environment = dict(environment or {})
        self._remark = wanted.get("remark")
        self._futures: list[FunctionFuture[Any]] = []
        self._lock = threading.Lock()
        self._shut = False

    def submit(self, function: Callable[P, T], /, *arguments: P.args, **keywords: P.kwargs) -> FunctionFuture[T]:
        """Submit a call as a job, and return its future.

        Raises
        ------
        BadInput
            The call cannot be pickled, or a placeholder is unknown.
        GasError
            As for `gas.submit`.
        """
        name = self._name or _name_of(function)
        given: tuple[object, ...] = (*arguments, *keywords.values())
        for one in given:
            if isinstance(one, str) and _PLACEHOLDER.fullmatch(one) and one[1:-1] not in NAMES:
                raise BadInput(
                    f"argument {one!r}: is not a placeholder (to pass the text itself, write "
                    f"'{{{one}}}'){nearest(one[1:-1], NAMES)}"
                )
        call = Call([str(Path(one).absolute()) for one in sys.path], _pickled(function, arguments, keywords, name))
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot submit after shutdown")
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._folder))
            made = False
            try:
                (folder / CALL).write_bytes(pickle.dumps(tuple(call)))
                command = (sys.executable, "-m", "gas.workflows.call")
                environment = {**self._environment, FOLDER: str(folder)}
                job = JobDescription(name, command, environment, native=self._native)
                with gas_errors_alone():
                    submitted = self._agent.submit(Run(job), self._options)
                made = True
            except InDoubt:
                made = True  # the job may run
                raise
            finally:
                if not made:
                    shutil.rmtree(folder, ignore_errors=True)
            future: FunctionFuture[T] = FunctionFuture(submitted, folder, keep=self._keep, remark=self._remark)
            self._futures = [*(one for one in self._futures if not one.done()), future]
            return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls; optionally cancel the jobs of pending calls, and wait for all of them."""
        with self._lock:
            self._shut = True
            futures = list(self._futures)
        if cancel_futures:
            for one in futures:
                one.cancel()
        if wait:
            concurrent.futures.wait(futures)

    def clean(self, older_than: Duration = "7d") -> int:
        """Remove the folders of calls whose program ended before the job; return the number of removed folders.

        Parameters
        ----------
        older_than
            Keep younger folders, whose jobs may still wait or run, and the folders of this executor's calls.
        """
        oldest = time.time() - seconds_of(older_than, "older_than", minimum=0)
        with self._lock:
            own = {one.folder for one in self._futures if not one.done()}
        left = [one for one in self._folder.glob(f"{PREFIX}*") if one not in own and one.stat().st_mtime <= oldest]
        for one in left:
            shutil.rmtree(one, ignore_errors=True)
        return len(left)


def _own_folder(folder: Path) -> Path:
    """Return the folder, created if missing; refuse one in which others could put calls, which are programs."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise BadInput(f"folder {folder}: cannot be made: {error.strerror}; give another one") from None
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadInput(
            f"folder {folder}: other users can write to it, and its contents run under your account; give your own "
            f"folder (chmod go-w {folder})"
        )
    return folder


def _name_of(function: Callable[..., object]) -> str:
    try:
        return function.__name__
    except AttributeError:  # a `functools.partial`, or a callable object
        return type(function).__name__


def _pickled(function: Callable[..., object], arguments: tuple[Any, ...], keywords: dict[str, Any], name: str) -> bytes:
    """Return a pickled call; refuse one that the job could not load."""
    way_out = f"move it into a module, or install cloudpickle: {way_to_install('notebook')}"
    try:
        import cloudpickle  # noqa: F401

        way_out = "pass what it needs in another form"
    except ImportError:
        if function.__module__ == "__main__":
            raise BadInput(f"{name}: is defined in __main__, which jobs cannot import; {way_out}") from None
    try:
        return dumped((function, arguments, keywords))
    except Exception as error:
        raise BadInput(f"{name}: the call cannot be pickled ({error}); {way_out}") from None
