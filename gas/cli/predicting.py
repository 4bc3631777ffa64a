"""``--predict HISTORY``: what the past of a machine says of its queue, and so of the candidates of a plan.

The history is in a file, or each scheduler is asked for its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gas.cli.options import percentage
from gas.cli.tables import many, note
from gas.endpoints import Answer, QueueEndpoint, RememberingEndpoint
from gas.errors import BadInput, GasError, Unreachable
from gas.planner import Candidate, Plan
from workloads import LogError

if TYPE_CHECKING:  # imported where they are used: planning without predictions needs none of it
    from gas.prediction.choice import PredictedPlan
    from gas.prediction.forecast import Forecast
    from gas.prediction.history import History

__all__ = ["Predict", "Predicting", "Risk", "Samples", "Seed", "predicting", "refuse_both_from_standard_input"]

AUTO = "auto"
"""In place of a file: each scheduler is asked for its own past."""

MOST_SAMPLES = 10_000
FEW = 100
"""From fewer jobs than these little can be learnt, which is said."""

Predict = Annotated[
    str | None,
    typer.Option(
        "--predict",
        metavar="HISTORY",
        help="Choose by what is likely, as learnt from the past: auto asks each scheduler for its own (S³; Slurm's "
        "accounting); else an SWF log, or what sacct --parsable2 printed (plain or gzip; - is standard input).",
    ),
]
Risk = Annotated[
    str | None,
    typer.Option(
        "--risk", metavar="N%", help="With --predict: the finish that so many of 100 samples meet, not the mean."
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples", metavar="N", help=f"With --predict: how often to simulate (500; {MOST_SAMPLES:,} at most)."
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="With --predict: of the samples (0).")]


def refuse_both_from_standard_input(application: str | None, history: str | None) -> None:
    """Refuse an application and a history that are both to come from standard input."""
    if application == history == "-":
        raise BadInput("--predict -: standard input is the application already; name a file for one of the two")


def predicting(history: str | None, risk: str | None, samples: int | None, seed: int | None) -> Predicting | None:
    """Return what predicts as the options say; None without --predict.

    Raises
    ------
    BadInput
        The history cannot be read, or options do not go together.
    """
    if history is None:
        given = {"--risk": risk, "--samples": samples, "--seed": seed}
        for option, value in given.items():
            if value is not None:
                raise BadInput(f"{option} {value}: is about predictions; add --predict auto, or leave it out")
        return None
    from gas.prediction.forecast import SAMPLES

    if samples is not None and not 1 <= samples <= MOST_SAMPLES:
        raise BadInput(f"--samples {samples}: must be from 1 to {MOST_SAMPLES:,}; some hundreds are usual")
    share = None if risk is None else _share(risk)
    return Predicting(
        None if history == AUTO else _read(history), share, SAMPLES if samples is None else samples, seed or 0
    )


def _share(text: str) -> float:
    try:
        value = percentage(text, "--risk") if text.strip().endswith("%") else float(text)
    except ValueError as error:
        raise error if isinstance(error, BadInput) else BadInput(f"--risk {text!r}: write a percentage, 90%") from None
    if not 0 < value < 1:
        if 1 < value < 100 and not text.strip().endswith("%"):
            raise BadInput(f"--risk {text}: write {value:g}% or {value / 100:g}")
        raise BadInput(
            f"--risk {text}: must lie between 0% and 100%, which are excluded; "
            "90% is the finish that 9 of 10 samples meet"
        )
    return value


def _read(path: str) -> History:
    """Return the history in a file."""
    from gas.cli.logs import check_readable, piped, read_log
    from gas.prediction.history import History
    from workloads.sacct import is_sacct, parse_sacct, read_sacct, why_no_sacct

    check_readable([path])
    if Path(path).is_dir() and path != "-":
        raise BadInput(f"{path}: is a directory; name a log, or a file of what sacct printed")
    data = piped(path)
    source = path if data is None else data
    name = "standard input" if path == "-" else Path(path).name
    if is_sacct(source):
        found = read_sacct(path, lenient=True) if data is None else parse_sacct(data, name=name, lenient=True)
        for line in found.remarks:
            note(f"gas: {line}")
        return History.of_accounting(found)
    if why := why_no_sacct(source):
        raise BadInput(f"{name}: {why}")
    return History.of_log(read_log(path, lenient=True, data=data, or_else="what sacct --parsable2 printed"), name=name)


@dataclass(frozen=True)
class Predicting:
    """What ``--predict`` and its companions ask for.

    Attributes
    ----------
    history
        None: each scheduler is asked for its own.
    """

    history: History | None
    risk: float | None
    samples: int
    seed: int
    _remembered: dict[str, History] = field(default_factory=dict, repr=False, compare=False)
    _said: set[str] = field(default_factory=set, repr=False, compare=False)

    def plan(
        self,
        found: Plan,
        answers: Sequence[Answer],
        tolerance: float,
        not_before: int | None = None,
        deadline: int | None = None,
        promised: Candidate | None = None,
    ) -> PredictedPlan:
        """Return the plan by predictions; those who cannot be predicted keep their planned starts, which is said.

        Parameters
        ----------
        found
            Planned without the deadline.
        promised
            What the planner chooses under it.

        Raises
        ------
        GasError, LogError
            Nobody can be predicted.
        """
        from gas.prediction.choice import choose

        forecasts: dict[str, Forecast] = {}
        told: list[dict[str, Any]] = []
        problems: list[Exception] = []
        for answer in answers:
            if answer.availability is None or all(c.scheduler != answer.name for c in found.candidates):
                continue
            try:
                forecasts[answer.name], facts = self._forecast(found, answer, not_before)
                told.append(facts)
            except (GasError, LogError) as error:
                problems.append(error)
        if problems and not forecasts:
            if len(problems) == 1:
                raise problems[0]
            raise BadInput(f"--predict: nothing can be predicted: {'; '.join(map(str, problems))}")
        for problem in problems:
            self._say_once(f"gas: {problem}; its starts are taken as planned")
        return choose(
            found,
            forecasts,
            schedulers=[a.name for a in answers if a.availability is not None],
            risk=self.risk,
            tolerance=tolerance,
            deadline=deadline,
            promised=found.best if deadline is None else promised,
            details={
                "history": AUTO if self.history is None else self.history.name,
                "samples": self.samples,
                "seed": self.seed,
                "schedulers": told,
            },
        )

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            note(text)

    def _forecast(self, found: Plan, answer: Answer, not_before: int | None) -> tuple[Forecast, dict[str, Any]]:
        from gas.prediction.choice import candidates_on
        from gas.prediction.forecast import forecast

        endpoint: Any = answer.endpoint
        if not isinstance(endpoint, QueueEndpoint):
            raise BadInput(
                f"{answer.name}: has no queue that could be looked at, only a list of what is free; "
                "--predict needs a live scheduler (S³ or Slurm)"
            )
        history = self.history or self._remembered.get(answer.name)
        if history is None:  # asked for once: predicted again, it is the same but for the last minutes
            history = self._remembered[answer.name] = _asked(endpoint, answer.name)
        snapshot = endpoint.snapshot(history.users)
        remarks = tuple(getattr(endpoint, "queue_remarks", ()))
        past = history.past(snapshot, "nodes" if getattr(endpoint, "unit", "cpus") == "nodes" else "cpus")
        strangers = int((snapshot.user < 0).sum())
        if strangers and strangers == len(snapshot):
            remarks += (f"{history.name} knows none of the users in the queue; they are taken to be like everybody",)
        learnt = past.ended
        if learnt < FEW:
            few = f"only {many(learnt, 'job')} of {history.name} ended before now"
            remarks += (f"{few}; what is learnt from so few may be far off",)
        for remark in remarks:
            self._say_once(f"gas: {answer.name}: {remark}")
        candidates = candidates_on(found, answer.name)
        with _told(answer.name, self.samples):
            made = forecast(
                snapshot,
                past,
                [c.processors for c in candidates],
                [c.walltime for c in candidates],
                [c.execution_time for c in candidates],
                planned=[c.start for c in candidates] if getattr(endpoint, "plans_by_nodes", False) else None,
                not_before=not_before,
                samples=self.samples,
                seed=self.seed,
                policy=endpoint.policy,
                threads=len(os.sched_getaffinity(0)),
            )
        return made, {
            "name": answer.name,
            "history": history.name,
            "policy": endpoint.policy,
            "running": int(snapshot.running.sum()),
            "waiting": snapshot.waiting,
            "unknown_users": strangers,
            "history_jobs": learnt,
            "candidates": len(candidates),
            "candidates_simulated_alone": int(made.alone.sum()),
            "remarks": list(remarks),
        }


def _asked(endpoint: QueueEndpoint, name: str) -> History:
    """Return what a scheduler of this name remembers itself."""
    if not isinstance(endpoint, RememberingEndpoint):
        raise BadInput(f"{name}: cannot be asked for its past; name a history: --predict FILE")
    try:
        history = endpoint.history()
    except (BadInput, Unreachable, LogError) as error:
        told = f"{name}'s {error}" if isinstance(error, LogError) else str(error)
        kind = Unreachable if isinstance(error, Unreachable) else BadInput
        raise kind(f"{told}; name a file with its history (--predict FILE), or plan without --predict") from None
    for line in history.remarks:
        note(f"gas: {name}'s {line}")
    return replace(history, name=f"{name}'s {history.name}")


@contextmanager
def _told(scheduler: str, samples: int) -> Iterator[None]:
    """Say what takes so long, if it does."""
    from gas.compiled import available, is_ready
    from gas.prediction.forward import follow_each
    from gas.prediction.together import follow_all

    compiling = "gas: compiling what predicts, once; this takes up to a minute"
    only_one_kept = False
    if not available():
        note('gas: without numba this takes a hundred times as long: pip install "apples-gas[sim]"')
    elif not is_ready(follow_each):
        note(compiling)
    else:
        only_one_kept = not is_ready(follow_all)

    def tell() -> None:
        if only_one_kept and is_ready(follow_all):  # which only many candidates need, and these do
            note(compiling)
        note(f"gas: {scheduler}: simulating its queue, {samples:,} times")

    timer = threading.Timer(1.0, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
