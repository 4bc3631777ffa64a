"""Predictions of a machine's queue from its past, for the candidates of a plan.

The history is given, or each scheduler is queried for its own.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.agent.compiling import COMPILING, compiled_beside, saying_what_takes_long, seconds_left
from gas.agent.ledgers import brought_up_to_date
from gas.agent.options import AUTO, Forecasting
from gas.compiled import available, is_ready
from gas.endpoints import (
    Answer,
    Endpoint,
    PlacedEndpoint,
    QueueEndpoint,
    RememberingEndpoint,
    RequeueingEndpoint,
    SchedulingEndpoint,
)
from gas.errors import BadInput, Conflict, GasError, Unreachable
from gas.planner import Candidate, Plan
from gas.prediction import LEAST_ENDED, LEAST_SAMPLES, NotPredicted, fewer_samples
from gas.prediction.blend import ALIKE
from gas.prediction.choice import PredictedPlan, candidates_on, choose
from gas.prediction.forecast import SAMPLES, VISITS, Forecast, forecast, forecast_in_plain_python
from gas.prediction.forward import follow_each, samples_within, visits_of
from gas.prediction.history import History
from gas.prediction.ledger import LEAST, Ledger
from gas.prediction.past import Past
from gas.prediction.reshaping import LikelyReshaping, likely_reshaping, starts_in_place, worth_following
from gas.prediction.similar import forecast_of_similar
from gas.prediction.slurm import SECONDS, TRUSTED, WITHIN, Queue, compile_ahead
from gas.prediction.slurm_samples import BY_THEMSELVES
from gas.prediction.snapshot import Snapshot
from gas.printable import many
from gas.reshaping import Reshaping
from workloads import LogError

__all__ = ["Predictor"]

FRESH_SECONDS = 3_600.0
"""Seconds for which a scheduler's records of its past are reused, if one job is planned repeatedly."""

_OTHERWISE = "give a file with its history (--predict FILE), or leave out --predict"
_UNSIMULATED = "starts are predicted by the waits of the last similar jobs, without its present queue"

FEW = 100
"""Number of jobs below which little can be learned; a remark says so."""


class Predictor:
    """Predictions for a sequence of plans.

    Each scheduler is queried for its past once, and each remark is made once.

    Parameters
    ----------
    remark
        Called with remarks for the user.
    """

    def __init__(self, options: Forecasting, remark: Callable[[str], object]) -> None:
        self.options = options
        self._samples = SAMPLES if options.samples is None else options.samples
        self._visits = VISITS if options.samples is None else math.inf  # who requests many samples waits for them
        self._remark = remark
        self._remembered: dict[str, History] = {}
        self._ledgers: dict[str, Ledger] = {}
        self._beside: dict[str, list[NDArray[np.int64]]] = {}
        self._said: set[str] = set()
        self._asked_at = time.monotonic()

    def plan(
        self,
        found: Plan,
        answers: Sequence[Answer],
        tolerance: float,
        not_before: int | None = None,
        deadline: int | None = None,
        promised: Candidate | None = None,
    ) -> PredictedPlan:
        """Return the plan by predictions; candidates that cannot be predicted keep their planned starts, with a remark.

        Parameters
        ----------
        found
            The plan without the deadline.
        promised
            The planner's choice with the deadline.

        Raises
        ------
        GasError, LogError
            No scheduler can be predicted.
        """
        forecasts: dict[str, Forecast | NotPredicted] = {}
        schedulers: list[dict[str, Any]] = []
        problems: list[Exception] = []
        for answer in answers:
            if answer.availability is None or all(c.scheduler != answer.name for c in found.candidates):
                continue
            try:
                forecasts[answer.name], facts = self._forecast(found, answer, not_before)
                schedulers.append(facts)
            except (GasError, LogError) as error:
                problems.append(error)
        if problems and not forecasts:
            if len(problems) == 1:
                raise problems[0]
            raise BadInput(f"--predict: nothing can be predicted: {'; '.join(map(str, problems))}")
        for problem in problems:
            self._say_once(f"{problem}; its planned starts are used")
        return choose(
            found,
            forecasts,
            schedulers=[a.name for a in answers if a.availability is not None],
            risk=self.options.risk,
            tolerance=tolerance,
            deadline=deadline,
            sure=self.options.sure,
            promised=found.best if deadline is None else promised,
            details={
                "history": AUTO if self.options.history is None else self.options.history.name,
                "samples": self._samples,
                "seed": self.options.seed,
                "schedulers": schedulers,
            },
            ledgers={a.name: self._ledgers[a.endpoint.name] for a in answers if a.name in forecasts},
            similar=self._beside,
        )

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._remark(text)

    def _forecast(
        self, found: Plan, answer: Answer, not_before: int | None
    ) -> tuple[Forecast | NotPredicted, dict[str, Any]]:
        endpoint = answer.endpoint
        if answer.availability is None or not isinstance(endpoint, (QueueEndpoint, SchedulingEndpoint)):
            raise BadInput(
                f"{answer.name}: has only a list of free processors and no queue; --predict needs a live scheduler "
                "(S³ or Slurm)"
            )
        history = self._history(endpoint)
        candidates = candidates_on(found, answer.name)
        lasts, options = [c.execution_time for c in candidates], self.options
        threads = len(os.sched_getaffinity(0))
        made_by: Callable[[Past], tuple[Forecast | NotPredicted, Sequence[str]]]
        remarks: tuple[str, ...] = ()
        beside = compiled_beside(endpoint)  # in the meantime, queues are simulated in plain Python
        if isinstance(endpoint, SchedulingEndpoint):
            requests = [(c.processors, c.walltime, c.layout) for c in candidates]
            queue = endpoint.queue(answer.availability, requests, max(not_before or 0, found.now))
            policy, snapshot = "slurm", queue.snapshot(history.users, history.names, history.queues())
            planned = [c.start for c in candidates]

            def compiles() -> bool:
                if not beside:
                    self._say_once(COMPILING)
                return not beside

            def made_by(past: Past) -> tuple[Forecast | NotPredicted, Sequence[str]]:
                return queue.forecast(
                    history.of_queues(past, queue.rivals), lasts, planned, history.users, history.names,
                    samples=self._samples, seed=options.seed, threads=threads, clock=time.monotonic, compiles=compiles,
                    seconds=seconds_left(answer) if beside else SECONDS,
                )  # fmt: skip
        else:
            policy, snapshot, remarks = endpoint.policy, endpoint.snapshot(history.users), endpoint.queue_remarks

            def made_by(past: Past) -> tuple[Forecast | NotPredicted, Sequence[str]]:
                sizes, walltimes = [c.processors for c in candidates], [c.walltime for c in candidates]
                if beside:
                    return forecast_in_plain_python(
                        snapshot, past, sizes, walltimes, lasts, not_before=not_before, samples=self._samples,
                        seed=options.seed, policy=policy, seconds=seconds_left(answer), clock=time.monotonic,
                    )  # fmt: skip
                made = forecast(
                    snapshot, past, sizes, walltimes, lasts, not_before=not_before, samples=self._samples,
                    seed=options.seed, policy=policy, threads=threads, visits=self._visits, least=LEAST_SAMPLES,
                )  # fmt: skip
                return made, ()

        past, strangers, learnt, said = self._past(endpoint, history, snapshot, rehearse=not beside)
        remarks += said
        for remark in remarks:
            self._say_once(f"{answer.name}: {remark}")
        if isinstance(endpoint, SchedulingEndpoint) and (not_before is None or not_before <= found.now):
            self._beside[answer.name] = _beside(queue, history, snapshot)
        saying = saying_what_takes_long(
            answer.name, self._samples, self._remark, beside or isinstance(endpoint, SchedulingEndpoint)
        )
        with saying:
            made, further = made_by(past)
        simulated = len(made.starts) if isinstance(made, Forecast) else made.samples
        if isinstance(made, NotPredicted) and made.soon:
            likely = forecast_of_similar(self._beside.get(answer.name, ()), found.now, planned, lasts)
            if likely is not None:
                self._beside[answer.name] = []  # they are the prediction
                further, made = (*further, f"{_UNSIMULATED} ({made.why}): repeat the command in a minute"), likely
        if isinstance(made, NotPredicted):
            further = *further, f"{made} ({made.why})"
        elif not beside and not isinstance(endpoint, SchedulingEndpoint):  # else it is reported already
            further = *further, *self._fewer(len(made.starts))
        for remark in further:
            self._say_once(f"{answer.name}: {remark}")
        return made, {
            "name": answer.name,
            "history": history.name,
            "policy": policy,
            "predicted": isinstance(made, Forecast),
            "samples": simulated,
            "running": int(snapshot.running.sum()),
            "waiting": snapshot.waiting,
            "unknown_users": strangers,
            "history_jobs": learnt,
            "candidates": len(candidates),
            "candidates_simulated_alone": int(made.alone.sum()) if isinstance(made, Forecast) else 0,
            "remarks": [*remarks, *further],
        }

    def _history(self, endpoint: Endpoint) -> History:
        """Return the past to learn from; a scheduler is queried for its own once: later it is nearly the same."""
        if self.options.history is not None:
            return self.options.history
        if endpoint.name not in self._remembered:
            self._remembered[endpoint.name] = _asked(endpoint, endpoint.name, self._remark)
        return self._remembered[endpoint.name]

    def _past(
        self, endpoint: Endpoint, history: History, snapshot: Snapshot, *, rehearse: bool = True
    ) -> tuple[Past, int, int, tuple[str, ...]]:
        """Return the state of a snapshot, its number of jobs of unknown users, the number of ended jobs, and remarks.

        `rehearse`: past jobs may be predicted, too, which takes machine code.

        Raises
        ------
        BadInput
            The scheduler has too few records of its past.
        """
        past = history.past(snapshot)
        remarks: tuple[str, ...] = ()
        strangers = int((snapshot.user < 0).sum())
        if strangers and strangers == len(snapshot):
            of_users = f"the {strangers:,} running and waiting jobs" if strangers > 1 else "the only job in the queue"
            remarks += (
                f"{history.name} contains no jobs of the users of {of_users}; the average of all users is used",
            )
        learnt = past.ended
        if self.options.history is None and learnt < LEAST_ENDED:
            raise BadInput(
                f"{many(learnt, 'job')} {'has' if learnt == 1 else 'have'} ended on {endpoint.name}; predictions need "
                f"{LEAST_ENDED}: {_OTHERWISE}"
            )
        if learnt < FEW:
            few = f"only {many(learnt, 'job')} of {history.name} ended before now"
            remarks += (f"{few}; predictions from so few jobs may be far off",)
        return (
            past,
            strangers,
            learnt,
            (*remarks, *self._learnt(endpoint, history, snapshot, bool(strangers), rehearse)),
        )

    def standing(
        self, endpoint: Endpoint, id: int, found: Reshaping, not_before: int | None, threshold: float, least: int
    ) -> LikelyReshaping | None:
        """Return the best shape of a waiting job by predictions; None if there are too few samples.

        Parameters
        ----------
        found
            The scheduler's plan of the job, and possible plans.
        not_before
            The instant before which it cannot start in any shape.
        threshold, least
            As of `gas.prediction.reshaping.likely_reshaping`.

        Raises
        ------
        BadInput
            Its queue cannot be predicted.
        """
        assert found.current is not None, "requests that can never start are not predicted"
        if time.monotonic() - self._asked_at > FRESH_SECONDS:
            self._asked_at = time.monotonic()
            with suppress(GasError):  # else the earlier answer still holds
                if self.options.history is None:
                    self._remembered = {endpoint.name: _asked(endpoint, endpoint.name, self._say_once)}
                self._ledgers.clear()
        history = self._history(endpoint) if isinstance(endpoint, (PlacedEndpoint, RequeueingEndpoint)) else None
        if isinstance(endpoint, PlacedEndpoint) and history is not None:
            shapes = [found.current, *worth_following(found)]
            starts: NDArray[np.int64] | None = self._starts_in_place(endpoint, id, history, shapes, not_before)
        elif isinstance(endpoint, RequeueingEndpoint) and history is not None:
            shapes = [found.current, *worth_following(found, BY_THEMSELVES - 1)]
            starts = self._starts_by_priority(endpoint, id, history, shapes, max(not_before or 0, found.now))
        else:
            raise BadInput(
                f"{endpoint.name}: does not show the place of a waiting job in its queue; leave out --predict"
            )
        if starts is None:
            return None
        likely = dict(zip(shapes, starts.T, strict=True))
        ledger, risk = self._ledgers[endpoint.name], self.options.risk
        within = 0 if isinstance(endpoint, PlacedEndpoint) else WITHIN
        beside = dict(zip(shapes, self._beside.get(endpoint.name, ()), strict=False))
        return likely_reshaping(
            found, likely, ledger=ledger, within=within, beside=beside, risk=risk, threshold=threshold, least=least
        )

    def _starts_in_place(
        self, endpoint: PlacedEndpoint, id: int, history: History, shapes: Sequence[Candidate], not_before: int | None
    ) -> NDArray[np.int64]:
        """Return the starts of a job in shapes that keep its place: a row for each sample."""
        snapshot, place = endpoint.place(id, history.users)
        past, _, _, remarks = self._past(endpoint, history, snapshot)
        for remark in (*endpoint.queue_remarks, *remarks):
            self._say_once(f"{endpoint.name}: {remark}")
        past.learn(snapshot.now)
        until = max(one.start for one in shapes)
        arrivals = past.arrivals(snapshot.now, max(0, until - snapshot.now))
        of_sample = visits_of(snapshot, arrivals) * len(shapes)
        samples = samples_within(self._samples, self._visits, of_sample, LEAST_SAMPLES)
        for remark in self._fewer(samples):
            self._say_once(f"{endpoint.name}: {remark}")
        run_times = past.usage.draw(snapshot, samples, np.random.default_rng(self.options.seed))
        with saying_what_takes_long(endpoint.name, samples, self._say_once, False):
            _, starts = starts_in_place(
                snapshot, place, [(one.processors, one.walltime) for one in shapes], run_times,
                arrivals, not_before=not_before, policy=endpoint.policy,
                threads=len(os.sched_getaffinity(0)), machine_code=available(),
            )  # fmt: skip
        return starts

    def _fewer(self, samples: int) -> tuple[str, ...]:
        return (fewer_samples(samples, self._samples),) if samples < self._samples else ()

    def _starts_by_priority(
        self, endpoint: RequeueingEndpoint, id: int, history: History, shapes: Sequence[Candidate], first: int
    ) -> NDArray[np.int64] | None:
        """Return the starts of a job in shapes with their own priorities: a row for each sample."""
        queue = endpoint.queue_with(id, [(one.processors, one.walltime, one.layout) for one in shapes], first)
        if queue.uncompiled(0):
            self._compile_first()
        snapshot = queue.snapshot(history.users, history.names, history.queues())
        past, _, _, remarks = self._past(endpoint, history, snapshot)
        self._beside[endpoint.name] = _beside(queue, history, snapshot)
        for remark in remarks:
            self._say_once(f"{endpoint.name}: {remark}")
        with saying_what_takes_long(endpoint.name, self._samples, self._say_once, True):
            made, further = queue.forecast(
                history.of_queues(past, queue.rivals), [one.execution_time for one in shapes],
                [one.start for one in shapes], history.users, history.names, samples=self._samples,
                seed=self.options.seed, threads=len(os.sched_getaffinity(0)), clock=time.monotonic,
                compiles=self._compile_first,
            )  # fmt: skip
        if isinstance(made, NotPredicted):
            further.append(f"{made} ({made.why}); planned starts decide")
        for remark in further:
            self._say_once(f"{endpoint.name}: {remark}")
        return made.starts if isinstance(made, Forecast) else None

    def _compile_first(self) -> bool:
        """Compile the machine code for samples of a queue, then raise `Conflict`, as the queue is outdated by then."""
        self._say_once(COMPILING)
        compile_ahead()
        raise Conflict("the predictor has been compiled; the queue is read again")

    def _learnt(
        self, endpoint: Endpoint, history: History, snapshot: Snapshot, strangers: bool, rehearse: bool
    ) -> tuple[str, ...]:
        """Read the ledger of a scheduler and update it once; return remarks on it."""
        own = self.options.history is None
        partly = not endpoint.shows_all or (own and strangers and len(history.users) == 1)
        if endpoint.name not in self._ledgers:
            log = history.log("cpus") if own and not partly and rehearse else None
            if isinstance(endpoint, QueueEndpoint) and log is not None and available() and not is_ready(follow_each):
                self._say_once(COMPILING)
            ledger = brought_up_to_date(endpoint, log, snapshot, self._remark)
            exact = isinstance(endpoint, QueueEndpoint)
            # Earlier versions predicted the past of such schedulers too, by processor counts.
            came_true = [one for one in ledger.outcomes if exact or not one.afterwards]
            prior, weight = 0 if partly else ledger.prior, ALIKE if exact else TRUSTED
            self._ledgers[endpoint.name] = Ledger(came_true, prior=prior, weight=weight)
        known = self._ledgers[endpoint.name].coverage().outcomes
        if not partly or known >= LEAST:
            return ()
        return (
            f"jobs of other users are hidden: intervals are as wide as possible until {LEAST} of your predicted jobs "
            f"have started ({known} so far)",
        )


def _beside(queue: Queue, history: History, snapshot: Snapshot) -> list[NDArray[np.int64]]:
    """Return for each candidate the waits of similar past jobs; none if the history lacks waits."""
    try:
        return history.waits(snapshot, queue.requests(history.users, history.queues()), queue.cpus)
    except (BadInput, LogError):  # it has no waits, or no CPUs of jobs
        return []


def _asked(endpoint: Endpoint, name: str, remark: Callable[[str], object]) -> History:
    """Return the records that a scheduler of this name keeps of its past."""
    if not isinstance(endpoint, RememberingEndpoint):
        raise BadInput(f"{name}: provides no history of jobs; give one: --predict FILE")
    try:
        history = endpoint.history()
        for line in history.remarks:
            remark(f"{name}'s {line}")
        return replace(history, name=f"{name}'s {history.name}").checked()
    except (BadInput, Unreachable, LogError) as error:
        problem = f"{name}'s {error}" if isinstance(error, LogError) else str(error)
        kind = Unreachable if isinstance(error, Unreachable) else BadInput
        raise kind(f"{problem}; {_OTHERWISE}") from None
