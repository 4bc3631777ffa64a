"""Watching a waiting job: after every change of its queue, Gas reshapes it if the gain suffices.

A scheduler plans at intervals, so its plan may be older than the latest change of the queue: a new hole usually goes to
a job further ahead. So Gas looks at a watched queue only after it has changed and the scheduler has planned it again.
After a change of the job, the scheduler's plan is compared with the expected start, and `gas.reshaping` gets the error.

With a predictor, predictions decide instead of plans, and are recorded for comparison with their outcomes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gas.agent.ledgers import note_prediction, note_start
from gas.agent.offering import offer_text
from gas.agent.options import ReshapeOptions
from gas.agent.polling import Poll
from gas.agent.reshaping import changed, decided, expected_as_it_is, likely, new_shape, wire_of
from gas.agent.schedulers import called
from gas.agent.states import ENDED, describe
from gas.application import Application
from gas.endpoints import ReshapingEndpoint, Standing
from gas.errors import Conflict, Forbidden, GasError, Infeasible, NotFound, StalePlan, Unreachable
from gas.planner import Candidate
from gas.reshaping import Reshaping
from gas.times import duration_text, iso_time, relative_text

if TYPE_CHECKING:  # watching by plans needs no simulation
    from gas.agent.prediction import Predictor
    from gas.prediction.reshaping import LikelyReshaping

__all__ = ["Event", "Watch"]

PATIENCE_SECONDS = 600.0
"""Seconds for which a job is watched while its scheduler does not answer."""

PLAN_SECONDS = 300.0
"""Seconds for which a new plan is awaited. Slurm's cycles are 30 s apart by default, minutes at some sites; it does not
plan again if it assumes that nothing has changed.
"""

TRIES = 3
"""Number of times that a change without an answer is requested."""

MOST_REFUSED = 5
"""Number of refused shapes after which no other is requested."""

SAME_START_SECONDS = 60
"""Largest difference between expected starts that count as the same: planned starts are rounded, and slide with
time.
"""


@dataclass(frozen=True)
class Event:
    """An observation or action concerning a watched job.

    Attributes
    ----------
    id
        The job.
    time
        Epoch second.
    kind
        offered, predicted, left, would change, changed, refused, planned, not planned, started or ended.
    text
        The action and its reason; without the job's number, unless it is the job in one line (`describe`).
    details
        More for programs; JSON.
    """

    id: int
    time: int
    kind: str
    text: str
    details: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text with the number of the job."""
        return self.text if self.text.startswith("job ") else f"job {self.id} {self.text}"

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object of schema gas.watch/1."""
        when = {"time": self.time, "time_iso": iso_time(self.time)}
        return {"schema": "gas.watch/1", "id": self.id, **when, "text": self.text, "event": self.kind, **self.details}


@dataclass
class Watch:
    """A watched job.

    Attributes
    ----------
    pause
        Seconds between two looks.
    report
        Called with each event.
    version, plan
        The version of the queue at the latest look, and that of its scheduler's plan.
    until
        The time at which waiting for a plan ends (`time.monotonic`); None if none is awaited.
    asked, last, gain
        The requested shape that is not planned yet; the previous one; its predicted gain.
    late
        Seconds by which each processor count was planned later than predicted.
    refused
        Processor counts that were refused, or would never start.
    tried
        Number of changes without an answer, by processor count.
    said
        The latest report on the job as it is: processors, expected start, why it stays so.
    predictor
        Decides by predictions; None decides by plans.
    noted
        The processor count for which a prediction awaits its outcome.
    offer
        The earlier start that the job was offered at the latest look.
    """

    application: Application
    where: ReshapingEndpoint
    number: int
    options: ReshapeOptions
    pause: int
    dry_run: bool
    report: Callable[[Event], object]
    version: str = ""
    plan: str = ""
    until: float | None = None
    asked: Candidate | None = None
    last: Candidate | None = None
    gain: int | None = None
    late: dict[int, int] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    tried: dict[int, int] = field(default_factory=dict)
    said: tuple[int, int, str] | None = None
    runs: bool = False
    predictor: Predictor | None = None
    noted: int | None = None
    offer: int | None = None

    def run(self, remark: Callable[[str], object], *, until_end: bool) -> dict[str, Any]:
        """Watch the job until it has started, or ended, and return it.

        Parameters
        ----------
        remark
            Called with remarks for the user, such as that the scheduler does not answer.
        """
        poll = Poll(PATIENCE_SECONDS, remark, "looking again", clock=time.monotonic)
        while True:
            with poll.asking(Infeasible):  # all is drained for a while
                standing = self.where.standing(self.number)
                poll.heard()
                if standing.job["state"] in ENDED:
                    self.tell("ended", describe(standing.job), job=standing.job)
                    return standing.job
                if standing.availability is not None:
                    self.show_offer(standing.job)
                    self.follow(standing)
                else:
                    self.started(standing)
                    if not until_end:
                        return standing.job
            time.sleep(self.pause)

    def show_offer(self, job: dict[str, Any]) -> None:
        """Report an offer of an earlier start, once; only the owner of the job accepts it."""
        if (offer := job.get("offer")) != self.offer and (text := offer_text(job)) is not None:
            self.tell(
                "offered", f"is {text}: gas offer {self.number} -e {called(self.where)} --accept takes it", job=job
            )
        self.offer = offer

    def follow(self, standing: Standing) -> None:
        """Look at a waiting job again if the queue has changed and the scheduler has planned it since."""
        assert standing.availability is not None
        if standing.version == self.version and self.until is None:
            return
        self.version = standing.version
        if self.plan == standing.availability.version:
            clock = time.monotonic()
            self.until = clock + PLAN_SECONDS if self.until is None else self.until
            if clock < self.until:
                return
        self.plan, self.until = standing.availability.version, None
        if self.asked is not None:
            self.compare(standing, self.asked)
        try:
            self.look(standing)
        except Conflict:  # it has started: the next look detects this
            self.version = self.plan = ""
        except GasError:  # look again next time, even if nothing changes
            self.version = self.plan = ""
            raise

    def compare(self, standing: Standing, asked: Candidate) -> None:
        """Report the scheduler's plan for the requested shape."""
        self.asked, job = None, standing.job
        if int(job["processors"]) != asked.processors:  # it was changed elsewhere
            return
        now, expected, message = _now(standing), job["expected"], job["message"]
        instants = {"predicted": asked.start, "predicted_iso": iso_time(asked.start)}
        predicted: dict[str, Any] = {**instants, "job": job}
        if expected is None:
            if message is not None:
                self.refused.add(asked.processors)
            text = f"has no planned start with {asked.size_text}" + (f": it {message}" if message else "")
            self.tell("not planned", f"{text} (predicted {relative_text(asked.start, now)})", **predicted)
            return
        late = max(expected, now) - asked.start
        # A predictor gives the likely start, not the planned one.
        then = "predicted" if self.predictor is None else "planned before"
        how = f"{duration_text(abs(late))} {'later' if late > 0 else 'sooner'} than {then}" if late else f"as {then}"
        loss = ""
        if self.gain is not None and late > self.gain:
            loss = f", more than the expected gain of {duration_text(self.gain)}"
        start = relative_text(max(expected, now), now)
        text = f"is planned to start {start} with {asked.size_text}, {how}{loss}"
        self.tell("planned", text, late=late, **predicted)

    def look(self, standing: Standing) -> None:
        """Plan the job again, change it if the gain suffices, and report this; nothing is reported twice."""
        found = decided(self.application, self.where, standing, self.options, late=self.late, refused=self.refused)
        if found.late is not None:
            self.late[int(standing.job["processors"])] = found.late
        found = self.by_predictions(standing, found)
        best = found.best
        if best is None or not found.worth_it:
            kind = found.blocked or ("doubted" if found.doubted else "little" if (found.gain or 0) > 0 else "nothing")
            if self.is_news(found.current, kind):
                self.tell("left", f"{expected_as_it_is(found)}; unchanged: {found.why()}", found=found)
        elif self.dry_run:
            if self.is_news(best, "would change"):
                self.tell("would change", f"would request {new_shape(best, found)}; {found.why()}", found=found)
        elif len(self.refused) < MOST_REFUSED:
            self.change(best, found)

    def by_predictions(self, standing: Standing, found: Reshaping) -> Reshaping:
        """Return the best shape of the job by predictions, if they are requested and available."""
        made = likely(self.predictor, self.where, standing, found, self.options)
        if made is None or found.current is None:
            return found
        if self.noted != found.current.processors:
            self.note(made, found.current)
            self.tell("predicted", f"is predicted; {made.ledger.coverage()}", coverage=made.ledger.coverage_to_wire())
        return made

    def note(self, found: LikelyReshaping, one: Candidate) -> None:
        """Record the prediction of the job in its present shape."""
        anew, self.noted = self.noted is not None, one.processors
        note_prediction(self.where, self.number, found.prediction(one), lambda problem: None, anew=anew)

    def is_news(self, what: Candidate | None, kind: str) -> bool:
        """Whether this differs from the latest report."""
        before, said = self.said, (0, -1, kind) if what is None else (what.processors, what.start, kind)
        if before is not None and before[::2] == said[::2] and abs(before[1] - said[1]) <= SAME_START_SECONDS:
            return False
        self.said = said
        return True

    def change(self, best: Candidate, found: Reshaping) -> None:
        """Request another shape; if it is refused, the others are considered at the next look."""
        size, self.said = best.processors, None
        before, self.version, self.plan = self.plan, "", ""
        try:
            changed(self.where, self.number, best, found)
        except (Forbidden, NotFound):
            raise
        except StalePlan:  # look again next time
            return
        except Unreachable as error:
            self.tried[size] = self.tried.get(size, 0) + 1
            if self.tried[size] < TRIES:
                raise
            self.refuse(size, error, found)
            return
        except GasError as error:  # it has just started, or its site does not allow the change
            self.refuse(size, error, found)
            return
        self.tried.pop(size, None)
        self.tell("changed", f"now requests {new_shape(best, found)}; {found.why()}", found=found)
        if self.predictor is not None:
            from gas.prediction.reshaping import LikelyReshaping

            if isinstance(found, LikelyReshaping) and best in found.starts:
                self.note(found, best)
        self.asked, self.last = best, replace(best, start=found.start_of(best))
        self.gain = found.gain
        if best.kind == "promise":  # made together with the change
            return
        self.plan = before
        clock = time.monotonic()
        self.until = clock + PLAN_SECONDS
        with suppress(Unreachable):
            after = self.where.standing(self.number)
            self.version = after.version
            if after.availability is not None and after.availability.version != before:
                # Planned since the present reading: before the change or, by a quick scheduler, after it.
                self.plan, self.until = after.availability.version, clock + 2 * self.pause

    def refuse(self, size: int, error: GasError, found: Reshaping) -> None:
        """Exclude a shape from now on."""
        self.refused.add(size)
        end = "; no further change is requested" if len(self.refused) == MOST_REFUSED else ""
        asked = f"{size} processors" if found.best is None else found.best.size_text
        self.tell("refused", f"could not be changed to {asked}: {error}{end}", found=found)

    def started(self, standing: Standing) -> None:
        """Report that the job runs, and the accuracy of its prediction, unless reported before."""
        if self.runs:
            return
        self.runs = True
        start, asked, text = standing.job["start"], self.last, ""
        if asked is not None and start is not None and int(standing.job["processors"]) == asked.processors:
            text = f"; {iso_time(asked.start)} was predicted when it was changed"
        if held := note_start(self.where, standing.job, lambda problem: None):
            text += f"; {held}"
        self.tell("started", f"{describe(standing.job)}{text}", job=standing.job)

    def tell(self, kind: str, text: str, *, found: Reshaping | None = None, **details: Any) -> None:
        """Report an event."""
        if found is not None:
            details |= {
                "current": wire_of(found.current),
                "best": wire_of(found.best),
                "gain": found.gain,
                "why": found.why(),
            }
        self.report(Event(self.number, int(time.time()), kind, text, details))


def _now(standing: Standing) -> int:
    return int(time.time()) if standing.availability is None else standing.availability.now
