"""Predicted starts of waiting jobs: the part of ``GET /v1/jobs/{id}`` next to the promise.

Learned from jobs that ended here recently: the used part of their walltimes, and arrivals. The queue is simulated
forward several times with such run times (`gas.prediction.forward`), for all waiting jobs at once; outcomes of earlier
predictions correct the intervals (`gas.service.ledger`).

The scheduler is hardly affected. Its lock is held only while the schedule is copied; one thread simulates, in machine
code that lets others run; concurrent requests share the result. There is no prediction, without an error, if too few
jobs have ended, the queue is too long, or the machine code is not ready.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gas.compiled import available, is_ready
from gas.errors import BadInput, GasError
from gas.prediction import LEAST_ENDED
from gas.service.aside import start_aside
from gas.service.jobs import TEACHING, Job, Predicted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gas.prediction.ledger import Made
    from gas.prediction.past import Past
    from gas.prediction.snapshot import Snapshot
    from gas.service.ledger import KeptLedger

    Predict = Callable[[int, NDArray[np.int64], int], Made]

__all__ = ["MOST_ENDED", "Experience", "Predictor", "Standing", "compile_predictions", "predictions_for"]

MOST_ENDED = 2_000
"""Number of ended jobs that are remembered, the last ones."""

MOST_SAMPLES, FEWEST_SAMPLES = 200, 20
"""Most simulations, for a short queue; below a minimum for a long one, nothing is predicted."""

MOST_IN_SCHEDULE = 3_000
"""Most jobs and reservations that are copied."""

LASTS_SECONDS = 60
"""Seconds on the scheduler's clock for which predictions hold while the schedule does not change; later, more is known
about the jobs that still run.
"""

REST_FACTOR = 3.0
"""Multiple of their computing time for which predictions hold for the jobs that they contain even if the schedule has
changed, so that predicting does not keep a core busy.
"""

log = logging.getLogger("gas.s3")


class _Run(NamedTuple):
    """The use of its walltime by an ended job: instants of the scheduler, seconds."""

    submitted: int
    processors: int
    walltime: int
    run_time: int
    finished: int
    user: str


class Experience:
    """The last jobs that ended by themselves, in the order of their ends; used by one thread at a time.

    A cancelled job does not show how long it would have run, and a reservation holds its processors to its end, so
    neither counts. A job killed at its walltime has used all of it.
    """

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._runs: deque[_Run] = deque(maxlen=MOST_ENDED)
        self.add(sorted(jobs, key=lambda job: (job.finished or 0, job.id)))

    def add(self, jobs: Iterable[Job]) -> None:
        """Learn from jobs that have ended."""
        for job in jobs:
            request = job.request
            if request.kind == "job" and job.state in TEACHING and job.finished is not None:
                lasted = request.walltime if job.state == "timeout" else max(0, job.finished - job.start)
                run = _Run(job.submitted, request.processors, request.walltime, lasted, job.finished, request.user)
                self._runs.append(run)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> tuple[_Run, ...]:
        """All that is remembered."""
        return tuple(self._runs)


@dataclass(frozen=True)
class Standing:
    """State of the schedule: all that predictions depend on.

    Attributes
    ----------
    machine
        As in ``GET /v1/machine``.
    jobs
        By number, in the order of the queue, the needed parts of ``GET /v1/jobs`` (`gas.endpoints.s3_queue`).
    runs
        Of an `Experience`.
    lead
        Seconds from an early end to the start of the next job (`gas.s3.S3`).
    """

    machine: Mapping[str, Any]
    jobs: Mapping[int, Mapping[str, Any]]
    runs: Sequence[_Run]
    lead: int = 0

    @classmethod
    def of(cls, machine: Mapping[str, Any], jobs: Iterable[Job], experience: Experience, lead: int) -> Standing:
        """Return a copy, which never changes."""
        in_turn = sorted(jobs, key=lambda job: (-job.priority, job.id))
        return cls(machine, {j.id: _entry(j) for j in in_turn}, experience.runs, lead)


def _entry(job: Job) -> dict[str, Any]:
    request = job.request
    return {
        "kind": request.kind,
        "user": request.user,
        "state": job.state,
        "processors": request.processors,
        "walltime": request.walltime,
        "submitted": job.submitted,
        "not_before": request.start if request.kind == "job" else None,
        "promise": job.promise,
        "start": job.start if job.state == "running" else None,
        "due": job.due,
    }


def predictions_for(standing: Standing, predict: Predict) -> dict[int, Made]:
    """Return, by number, the predictions of waiting jobs; equal state and outcomes give equal predictions.

    Parameters
    ----------
    predict
        Predicts from an instant, waits in ascending order and the longest possible wait.
    """
    import numpy as np

    from gas.endpoints.s3_queue import snapshot_of
    from gas.prediction.forward import NO_ARRIVALS, starts_of_waiting

    if len(standing.runs) < LEAST_ENDED:
        return {}
    users: dict[str, int] = {}
    for run in standing.runs:
        users.setdefault(run.user, len(users))
    try:
        snapshot = snapshot_of("s3", standing.machine, list(standing.jobs.values()), users)
    except BadInput:  # more processors are in use than exist: the machine was made smaller
        return {}
    if len(snapshot) != len(standing.jobs):
        return {}
    now = snapshot.now
    past = _past(standing, snapshot, users)
    past.learn(now)
    waits = ~snapshot.settled
    arrivals = past.arrivals(now, int((snapshot.start[waits] - now).max(initial=0)))
    samples = _samples(snapshot.waiting, arrivals.jobs.shape[2])
    if samples < FEWEST_SAMPLES:
        arrivals, samples = NO_ARRIVALS, _samples(snapshot.waiting, 0)
    if samples < FEWEST_SAMPLES:
        return {}
    run_times = past.usage.draw(snapshot, samples, np.random.default_rng(0))
    run_times = np.minimum(run_times + standing.lead, snapshot.walltime)
    starts = starts_of_waiting(snapshot, run_times, arrivals)
    waits_of_each = np.sort(np.minimum(starts, snapshot.start), axis=0).T - now
    latest = (snapshot.start - now).tolist()
    return {id: predict(now, waits_of_each[i], latest[i]) for i, id in enumerate(standing.jobs) if waits[i]}


def _in_short(made: Made) -> Predicted:
    mean, low, high = round(float(made.waits.mean())), made.low, made.high
    return Predicted(made.now + mean, made.now + min(low, mean), made.now + max(high, mean))


def _past(standing: Standing, snapshot: Snapshot, users: Mapping[str, int]) -> Past:
    """Return the history: ended jobs, and those in the schedule as arrivals."""
    import numpy as np

    from gas.prediction.past import Past
    from workloads.replay import NEVER

    rows = [(*run[:5], users[run.user]) for run in standing.runs]
    jobs = [entry for entry in standing.jobs.values() if entry["kind"] == "job"]
    asked = [[entry[key] for key in ("submitted", "processors", "walltime")] for entry in jobs]
    who = [users.get(entry["user"], -1) for entry in jobs]
    rows += [(*each, 0, NEVER, user) for each, user in zip(asked, who, strict=True)]
    rows.sort(key=lambda row: row[0])
    columns = np.array([row for row in rows if row[1] <= snapshot.machine], np.int64).reshape(-1, 6).T
    return Past(*(np.ascontiguousarray(column) for column in columns))


def _samples(waiting: int, arrivals: int) -> int:
    """Return the number of samples that take about half a second of one core, at most `MOST_SAMPLES`.

    Measured with queues of 30 to 600: a sample takes about 1 ms × (waiting / 100)^2.5; later arrivals wait for a
    smaller part of the simulated time.
    """
    return min(MOST_SAMPLES, int(600 / max(1e-3, ((waiting + arrivals / 2) / 100) ** 2.5)))


@dataclass(frozen=True)
class _Kept:
    """Predictions, with the version of the schedule and the time at which they were made."""

    version: str
    now: int
    of: Mapping[int, Predicted]
    begun: float
    took: float


_NOTHING: Mapping[int, Predicted] = {}


class Predictor:
    """Predictions of one scheduler, made on request; safe to use from several threads.

    Parameters
    ----------
    look
        Returns the state of the schedule; called in a separate thread.
    clock
        Returns the scheduler's present second.
    observe
        Called with the seconds that a prediction took.
    ledger
        The ledger of predictions; it starts and stops with this object.
    """

    def __init__(
        self,
        look: Callable[[], Standing],
        clock: Callable[[], int],
        observe: Callable[[float], None],
        ledger: KeptLedger,
    ) -> None:
        self._look, self._clock, self._observe, self._ledger = look, clock, observe, ledger
        self._mutex = threading.Lock()
        self._worker: ThreadPoolExecutor | None = None
        self._stopped = False
        self._kept: _Kept | None = None
        self._next: Future[Mapping[int, Predicted]] | None = None  # has not read the schedule yet

    def start(self, known: int) -> None:
        """Compile the machine code, if that is necessary and there are enough ended jobs to need it."""
        if available():
            self._ledger.start()
            if known >= LEAST_ENDED:
                _prepare()

    def ask(self, id: int, version: str, counts: tuple[int, int, int], known: int) -> Future[Mapping[int, Predicted]]:
        """Return a future of the predictions by number; this job may have none.

        Parameters
        ----------
        id
            The requested job.
        version, counts
            The state of the schedule in which it was waiting (`gas.s3.S3.counts`).
        known
            Number of remembered ended jobs.
        """
        with self._mutex:
            kept = self._kept
            too_long = _samples(counts[0], 0) < FEWEST_SAMPLES or sum(counts) > MOST_IN_SCHEDULE
            if self._stopped or known < LEAST_ENDED or too_long or not available():
                return _done(_NOTHING)
            if kept is not None and (self._holds(kept, version) or _resting(kept, id)):
                return _done(kept.of)
            if self._next is None:
                self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="s3-prediction")
                self._next = self._worker.submit(self._predict)
            return self._next

    def stop(self) -> None:
        """Stop predicting; call it without holding what `look` needs."""
        with self._mutex:
            self._stopped = True
            worker = self._worker
        if worker is not None:
            worker.shutdown(cancel_futures=True)
        self._ledger.stop()

    def _holds(self, kept: _Kept, version: str) -> bool:
        return kept.version == version and self._clock() - kept.now < LASTS_SECONDS

    def _predict(self) -> Mapping[int, Predicted]:
        """Read the schedule and predict; an error must not affect requests."""
        begun = time.monotonic()
        with self._mutex:
            self._next = None  # requests from now on may follow a later change
        try:
            if not _prepare():
                return _NOTHING
            position, standing = self._ledger.position, self._look()
            version, now = str(standing.machine["version"]), int(standing.machine["now"])
            if self._kept is not None and self._holds(self._kept, version):
                return self._kept.of
            found: Mapping[int, Predicted] = _NOTHING
            try:
                self._ledger.settle()
                made = predictions_for(standing, self._ledger.predict)
                if self._clock() - now >= LASTS_SECONDS:  # compiling took so long that the results are outdated
                    position, standing = self._ledger.position, self._look()
                    version, now = str(standing.machine["version"]), int(standing.machine["now"])
                    made = predictions_for(standing, self._ledger.predict)
                found = {id: _in_short(one) for id, one in made.items()}
                self._ledger.note(made, position)
            finally:  # errors would repeat
                took = time.monotonic() - begun
                self._kept = _Kept(version, now, found, begun, took)
                self._observe(took)
            return found
        except Exception as error:
            foreseen = isinstance(error, GasError)
            log.warning("starts cannot be predicted: %s", error, exc_info=not foreseen, extra={"event": "unpredicted"})
            return _NOTHING


def _resting(kept: _Kept, id: int) -> bool:
    return id in kept.of and time.monotonic() < kept.begun + (1 + REST_FACTOR) * kept.took


def _done(found: Mapping[int, Predicted]) -> Future[Mapping[int, Predicted]]:
    future: Future[Mapping[int, Predicted]] = Future()
    future.set_result(found)
    return future


_compiling: list[threading.Thread] = []  # at most one in a process
_compiling_lock = threading.Lock()


def _prepare() -> bool:
    """Return whether the machine code is ready; if it is missing, start compiling it, which takes half a minute."""
    from gas.prediction.forward import follow_waiting

    with _compiling_lock:
        if _compiling:
            return not _compiling[0].is_alive()
        if is_ready(follow_waiting):
            return True
        log.info("first use: compiling the predictor (up to half a minute)", extra={"event": "compiling"})
        # Nothing waits for this thread, neither here nor at the end of the program.
        _compiling.append(threading.Thread(target=_make, name="s3-compiling", daemon=True))
        _compiling[0].start()
        return False


def _make() -> None:
    try:
        _compile_elsewhere()
        compile_predictions()
        log.info("the predictor is compiled", extra={"event": "compiled"})
    except Exception:
        log.exception("the predictor cannot be compiled")


def _compile_elsewhere() -> bool:
    """Make and store the machine code in a process of low priority; return whether that process reports success.

    In a thread of this process, the compiler, mostly Python code, would delay all requests. If the process fails,
    nothing is lost: a process without stored machine code compiles for itself.
    """
    try:
        process = start_aside(f"import {__name__} as it; it.compile_predictions()", nice=19)
    except OSError as error:
        log.warning("the predictor is compiled in the service's own process: %s", error, extra={"event": "compiling"})
        return False

    @atexit.register
    def end() -> None:
        process.kill()
        process.wait()

    made = process.wait() == 0
    atexit.unregister(end)
    return made


def compile_predictions() -> None:
    """Make the machine code, or load it: predict a queue of one job."""
    from gas.prediction.ledger import Ledger

    runs = [_Run(0, 1, 10, 5, 5, "")] * LEAST_ENDED
    job = {"kind": "job", "user": "", "processors": 1, "walltime": 10, "submitted": 10, "not_before": None}
    running = {**job, "state": "running", "promise": 10, "start": 10, "due": 20}
    waiting = {**job, "state": "queued", "promise": 20, "start": None, "due": 30}
    machine = {"now": 11, "processors": 1, "version": "0"}
    predictions_for(Standing(machine, {1: running, 2: waiting}, runs), Ledger().predict)
