"""Keeps the results of runs: an interrupted study continues where it stopped, and nothing is computed twice.

A *run* is a pure function of its configuration. Its result is one JSON file, named by a hash of the function's name,
the configuration and the version of the sources that computed it, so that an old result is never used with new
sources. Files are written atomically; an unreadable one counts as absent. Several processes may share a ledger.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from documents.whole_file import whole_file
from gas.errors import BadInput, GasError
from gas.printable import many

__all__ = ["Configuration", "Cost", "Ledger", "Result", "Run", "differences", "interrupts_blocked"]

Configuration: TypeAlias = Mapping[str, Any]
"""What determines a run: names and JSON values."""

Result: TypeAlias = dict[str, Any]
"""JSON values."""

Run: TypeAlias = Callable[[Configuration], Result]
"""A function of a module, so that other processes find it by its name.

Bound arguments (`functools.partial`) are locations and display options. They do not affect results, so they are not
part of what determines a run.
"""


class Cost(NamedTuple):
    """The cost of computing a result.

    Attributes
    ----------
    seconds
        Wall-clock time.
    peak_bytes
        Peak memory of the process so far.
    """

    seconds: float
    peak_bytes: int


class Ledger:
    """Results of runs in a folder, which is created with the first result.

    Parameters
    ----------
    folder
        The folder of the results.
    version
        Version of the sources that compute them, see `experiments.framework.dependencies`.
    """

    def __init__(self, folder: Path, version: str) -> None:
        self.folder = folder
        self.version = version

    def path(self, run: Run, configuration: Configuration) -> Path:
        """Return the file of a run's result."""
        function = _function(run)
        name = f"{function.__module__}.{function.__qualname__}"
        key = _canonical({"run": name, "configuration": configuration, "version": self.version})
        return self.folder / f"{function.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"

    def find(self, run: Run, configuration: Configuration) -> Result | None:
        """Return the result of a run; None if there is no readable one."""
        try:
            kept = json.loads(self.path(run, configuration).read_text(encoding="utf-8"))
            result: Result = kept["result"]
            whole = kept["configuration"] == json.loads(_canonical(configuration)) and kept["digest"] == _digest(result)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return result if whole else None

    def others(self, run: Run, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Return the other configurations with results of a run, in the order of their files."""
        known = {self.path(run, one) for one in configurations}
        found = []
        for path in sorted(self.folder.glob(f"{_function(run).__name__}-*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                if path not in known:
                    configuration = json.loads(path.read_text(encoding="utf-8"))["configuration"]
                    if self.path(run, configuration) == path:  # otherwise another version computed it
                        found.append(configuration)
        return found

    def cost(self, run: Run, configuration: Configuration) -> Cost | None:
        """Return the cost of a kept result; None if unknown."""
        try:
            kept = json.loads(self.path(run, configuration).read_text(encoding="utf-8"))["cost"]
            return Cost(float(kept["seconds"]), int(kept["peak_bytes"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return None

    def keep(self, run: Run, configuration: Configuration, result: Result, cost: Cost | None = None) -> None:
        """Write a result atomically.

        Raises
        ------
        BadInput
            The file cannot be written.
        """
        path = self.path(run, configuration)
        kept: dict[str, Any] = {"configuration": configuration, "result": result, "digest": _digest(result)}
        if cost is not None:
            kept["cost"] = cost._asdict()  # not in the result: it depends on the machine
        text = json.dumps(kept, indent=1, allow_nan=False)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(text.encode() + b"\n")
        except OSError as error:
            raise BadInput(
                f"{path}: cannot be written: {error.strerror or error}; free space or correct permissions, then repeat "
                "the command: results already kept are reused"
            ) from None

    def run(
        self,
        run: Run,
        configurations: Sequence[Configuration],
        *,
        workers: int = 1,
        executor: Executor | None = None,
        progress: Callable[[int, Configuration], None] | None = None,
    ) -> list[Result]:
        """Return the results of a run for each configuration, in their order; compute the missing ones.

        Parameters
        ----------
        workers
            Number of processes that compute; it does not affect results.
        executor
            Computes instead, wherever it is (see `gas.dask_workers`).
        progress
            Called with the number of completed runs and the configuration of the last one.

        Raises
        ------
        GasError
            A worker process died.
        """
        places: dict[Path, list[int]] = {}  # equal configurations are one run
        for i, configuration in enumerate(configurations):
            places.setdefault(self.path(run, configuration), []).append(i)
        results: dict[int, Result] = {}

        def done(same: list[int], result: Result) -> None:
            results.update(dict.fromkeys(same, result))
            if progress is not None:
                progress(len(results), configurations[same[0]])

        missing = []
        for same in places.values():
            found = self.find(run, configurations[same[0]])
            if found is None:
                missing.append(same)
            else:
                done(same, found)
        wanted = [(i, configurations[same[0]]) for i, same in enumerate(missing)]
        computed = _computed(run, wanted, workers) if executor is None else _computed_by(executor, run, wanted)
        for i, (result, cost) in computed:
            same = missing[i]
            self.keep(run, configurations[same[0]], result, cost)
            done(same, json.loads(json.dumps(result)))  # through JSON, as every later read returns it
        return [results[i] for i in range(len(configurations))]


def _function(run: Run) -> Run:
    return run.func if isinstance(run, partial) else run


def differences(others: Sequence[Configuration], asked: Sequence[Configuration]) -> str:
    """Return in words the values of kept runs that no requested run has."""
    said = []
    for name in dict.fromkeys(name for one in others for name in one):
        here = [one[name] for one in asked if name in one]
        values = []
        for one in others:
            if name in one and one[name] not in here and one[name] not in values:
                values.append(one[name])
        if not values:
            continue
        if not all(isinstance(value, str | int | float) for value in values):
            said.append(f"other {name}")
        elif any(re.fullmatch("[0-9a-f]{64}", str(value)) for value in values):
            said.append(many(len(values), f"other {name}"))
        else:
            more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
            said.append(f"{name} {', '.join(map(str, values[:_SHOWN]))}{more}")
    return "; ".join(said) or "other combinations"


_SHOWN = 5
"""Largest number of values shown per name."""


def _digest(result: Result) -> str:
    """Return a digest of a result, to detect a damaged file."""
    return hashlib.sha256(_canonical(result).encode()).hexdigest()[:16]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


Measured: TypeAlias = tuple[Result, Cost]


def _measured(run: Run, configuration: Configuration) -> Measured:
    import resource
    import sys

    began = time.perf_counter()
    result = run(configuration)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result, Cost(round(took, 4), peak if sys.platform == "darwin" else 1024 * peak)


def _computed(run: Run, missing: list[tuple[int, Configuration]], workers: int) -> Iterator[tuple[int, Measured]]:
    """Yield results with their numbers, as they complete."""
    if workers == 1 or len(missing) < 2:
        for i, configuration in missing:
            yield i, _measured(run, configuration)
        return
    with _pool(min(workers, len(missing))) as pool:
        with interrupts_blocked():
            futures: dict[Future[Measured], int] = {pool.submit(_measured, run, dict(c)): i for i, c in missing}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise GasError(
                "a worker process was killed, perhaps out of memory; repeat the command with fewer "
                "--workers: results so far are kept"
            ) from None


def _computed_by(
    executor: Executor, run: Run, missing: list[tuple[int, Configuration]]
) -> Iterator[tuple[int, Measured]]:
    futures = {executor.submit(_measured, run, dict(configuration)): i for i, configuration in missing}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield worker processes that have ended when the block is left, at once after an error or interruption."""
    import multiprocessing

    # Spawned processes inherit neither threads nor locks, and are the same on every system.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))
    before = set(multiprocessing.active_children())
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        with suppress(Exception):
            pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()


def _end_with(parent: int) -> None:
    """End this process soon after its parent, even if the parent was killed and could not signal it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Defer keyboard interrupts until the block is left.

    Processes started in the block never receive one: their parent ends them.
    """
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
