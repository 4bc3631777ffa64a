"""Options of a plan, of predictions and of reshaping, and the task to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING

from gas.endpoints import JobDescription
from gas.errors import BadInput
from gas.planner import Algorithm
from gas.times import clock_text, has_passed_today, parse_instant

if TYPE_CHECKING:  # planning without predictions needs no history
    from gas.prediction.history import History

__all__ = [
    "AUTO",
    "MOST_SAMPLES",
    "Forecasting",
    "Instant",
    "PlanOptions",
    "ReshapeOptions",
    "Run",
    "checked_key",
    "checked_samples",
    "percentage",
]

AUTO = "auto"
"""The name, in plans and on the command line, of the past that each scheduler provides itself."""

MOST_SAMPLES = 10_000


@dataclass(frozen=True)
class Instant:
    """An instant in the syntax of `gas.times.parse_instant`, which may depend on the present of the schedulers.

    Attributes
    ----------
    written
        ``2026-11-21T08:00``, ``@1731000000``; from the latest of the lists that are planned with: ``+2h``, ``18:30``.
    """

    written: str

    @classmethod
    def of(cls, when: Instant | int | timedelta) -> Instant:
        """Return an instant that is given as epoch seconds or as a time from now."""
        if isinstance(when, Instant):
            return when
        return cls(f"+{round(when.total_seconds())}s" if isinstance(when, timedelta) else f"@{int(when)}")

    @classmethod
    def parse(cls, text: str, what: str) -> Instant:
        """Return the instant that a user wrote; the error for other text names `what`."""
        parse_instant(text, 0, what)
        return cls(text)

    def at(self, now: int) -> int:
        """Return the instant in epoch seconds."""
        return parse_instant(self.written, now)

    def understood(self, option: str, now: int) -> str:
        """Return a remark on the instant that a time by the local clock means; empty for other forms."""
        meant = clock_text(self.written, now)
        passed = "has passed today; tomorrow's is used: " if has_passed_today(self.written, now) else "is "
        return f"{option} {self}: {passed}{meant}" if meant else ""

    def __str__(self) -> str:
        return self.written


@dataclass(frozen=True)
class Forecasting:
    """Choice of candidates by predictions learned from the past.

    Attributes
    ----------
    history
        The past; None queries each scheduler for its own.
    risk
        0.9 chooses by the finish that is met with this probability; None by the mean finish.
    sure
        0.95 takes the cheapest request that meets the deadline with this probability; None the one that finishes first.
    samples
        Number of simulations of a queue; None for `gas.prediction.forecast.SAMPLES`.
    seed
        Seed of the samples.
    """

    history: History | None = None
    risk: float | None = None
    samples: int | None = None
    seed: int = 0
    sure: float | None = None

    def __post_init__(self) -> None:
        checked_samples(self.samples)
        if self.risk is not None and not 0 < self.risk < 1:
            raise BadInput(
                f"risk {self.risk}: must be above 0 and below 1; 0.9 is the finish that is met in 9 of 10 cases"
            )
        if self.sure is not None and not 0 < self.sure < 1:
            raise BadInput(f"sure {self.sure}: must be above 0 and below 1; 0.95 meets the deadline in 95 of 100 cases")
        if self.sure is not None and self.risk is not None:
            raise BadInput("--sure takes the cheapest request, --risk the one that finishes first; leave one out")


def checked_samples(samples: int | None, what: str = "samples") -> int | None:
    """Return the number of samples; raise `BadInput` if it is out of range."""
    if samples is not None and not 1 <= samples <= MOST_SAMPLES:
        raise BadInput(f"{what} {samples}: must be from 1 to {MOST_SAMPLES:,}; a few hundred are usual")
    return samples


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan.

    Attributes
    ----------
    not_before, deadline
        No start before, no expected finish after: an `Instant`, epoch seconds, or a `timedelta` from now.
    max_processor_hours
        Upper limit on processors × execution time, in hours.
    tolerance
        0.05 takes the fewest processors among the candidates whose turn-around time is within 5% of the best.
    algorithm
        "exact", or "walk" for the paper's own search.
    probes
        Number of real jobs, cancelled at once, whose planned starts Gas reads from Slurm.
    forecasting
        Choose by predictions; None chooses by the schedulers' own plans.
    stale_ok
        Whether to use stale lists (`gas.agent.schedulers`).
    choices
        Whether to plan with all accounts and QOS of the user, not only the default ones.
    deadline_may_have_passed
        Whether a deadline before any start gets an answer (no request is possible); else it is refused as a mistake.
    """

    not_before: Instant | int | timedelta | None = None
    deadline: Instant | int | timedelta | None = None
    max_processor_hours: float | None = None
    tolerance: float = 0.0
    algorithm: Algorithm = "exact"
    probes: int = 0
    forecasting: Forecasting | None = None
    stale_ok: bool = False
    choices: bool = True
    deadline_may_have_passed: bool = False

    def __post_init__(self) -> None:
        if self.forecasting is None or self.forecasting.sure is None:
            return
        if self.deadline is None:
            raise BadInput("--sure is the probability of meeting a deadline; add --deadline, or leave out --sure")
        if self.tolerance:
            raise BadInput("--sure takes the cheapest request already; leave out --tolerance")

    def fixed(self, not_before: int | None, deadline: int | None) -> PlanOptions:
        """Return the options for a later plan of the same submission: 18:30 does not become that of the next day.

        Parameters
        ----------
        not_before, deadline
            What its options meant in the first plan, in epoch seconds.
        """
        return replace(self, not_before=not_before, deadline=deadline, deadline_may_have_passed=True)


@dataclass(frozen=True)
class ReshapeOptions:
    """Conditions for reshaping a waiting job.

    Attributes
    ----------
    threshold
        Minimum gain, as a share of the time from now to its end.
    least
        Minimum gain in seconds; the larger of the two counts.
    max_processor_hours
        Upper limit on processors × execution time of the new shape, in hours.
    stale_ok
        Whether to use stale plans.
    """

    threshold: float = 0.05
    least: int = 60
    max_processor_hours: float | None = None
    stale_ok: bool = False


@dataclass(frozen=True)
class Run:
    """The task to run, on any scheduler and of any size.

    Attributes
    ----------
    job
        A command with placeholders such as ``{processors}`` for the chosen values (`gas.placeholders`).
    simulate
        Instead of running a command, hold the processors for the expected execution time.
    here
        Whether a job without a folder runs in the present one if its scheduler is on this machine.
    """

    job: JobDescription
    simulate: bool = False
    here: bool = True

    @classmethod
    def of(cls, what: Run | JobDescription | Sequence[str], name: str) -> Run:
        """Return the task of a job, or of a command, with the given name."""
        if isinstance(what, Run):
            _check(what.job)
            return what
        if isinstance(what, str):
            raise BadInput(f"command {what!r}: write a list of words, for example {what.split()!r}")
        if not isinstance(what, JobDescription):
            if not isinstance(what, Sequence) or not what or not all(isinstance(word, str) for word in what):
                raise BadInput(
                    f"command {what!r}: write each word as text, for example ['./app', '-n', '{{processors}}']"
                )
            what = JobDescription(name, tuple(what))
        _check(what)
        return cls(what)


def _check(job: JobDescription) -> None:
    """Refuse placeholders that do not exist, and a whole command in one word, which would fail when the job starts."""
    from gas.placeholders import check  # a plan alone has no command

    check(job.command)
    word = job.command[0] if len(job.command) == 1 else ""
    if len(word.split()) > 1 and which(word) is None and not Path(job.directory or "", word).exists():
        raise BadInput(
            f"no program is called {word!r}: give its words separately, without quotation marks around them all, or "
            f"give it to a shell: sh -c {quote(word)}"
        )


def checked_key(key: str) -> str:
    """Return a key that every scheduler accepts."""
    if not 0 < len(key) <= 200 or not all("\x21" <= c <= "\x7e" for c in key):
        raise BadInput(f"--key {key[:60]!r}: must be 1 to 200 printable ASCII characters without spaces")
    return key


def percentage(text: str, what: str) -> float:
    """Return ``5%`` as 0.05."""
    given = text.strip()
    try:
        if not given.endswith("%"):
            raise ValueError
        value = float(given[:-1]) / 100
    except ValueError:
        raise BadInput(f"{what} {given!r}: write a percentage like 5%") from None
    if not 0 <= value <= 1:
        raise BadInput(f"{what} {given}: must be from 0% to 100%")
    return value
