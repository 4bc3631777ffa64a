"""``gas reshape`` and ``gas watch``: another shape for a job that waits, once, or at every change of the queue.

The job keeps its place; what it could get there is planned anew, and it is changed if it would finish enough sooner.

A scheduler's plan is older than the latest change of its queue, for it plans at intervals: a hole that has just opened
will mostly go to somebody who is further ahead. So a watched queue that has changed is looked at once it has been
planned again. After a change of the job, that plan is compared with the prediction, and `gas.reshaping` is told by how
much it was wrong.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from gas.application import Application
from gas.cli.jobs import JobReference
from gas.cli.options import ConfigFile, Json, OneEndpoint, job_of, percentage
from gas.cli.planning import MaxProcessorHours, StaleOk
from gas.cli.polling import Poll
from gas.cli.states import ENDED, describe, report_end
from gas.cli.tables import print_json, print_json_line, say
from gas.endpoints import ReshapingEndpoint, Standing
from gas.endpoints.freshness import why_old
from gas.errors import BadInput, Conflict, Forbidden, GasError, Infeasible, NotFound, Unreachable
from gas.planner import Candidate
from gas.reshaping import Reshaping, reshaping
from gas.times import duration_text, iso_time, parse_duration, relative_text

__all__ = ["reshape_command", "watch_command"]

PATIENCE_SECONDS = 600.0
"""For how long a job is watched whose scheduler does not answer."""

PLAN_SECONDS = 300.0
"""How long a new plan is waited for. Slurm's cycles are 30 s apart by default, minutes at some sites; it does not plan
again if it thinks that nothing has changed."""

TRIES = 3
"""How often a change is asked for that gets no answer."""

MOST_REFUSED = 5
"""After how many refused shapes no other is asked for."""

SAME_START_SECONDS = 60
"""By how little an expected start moves to be the same: planned starts are rounded, and slide with the clock."""

Shapes = Annotated[Path, typer.Argument(metavar="APP", help="Its application file (TOML).")]
Threshold = Annotated[
    str, typer.Option("--threshold", metavar="PERCENT", help="Change it if that saves so much of the time to its end.")
]
Least = Annotated[str, typer.Option("--least", metavar="TIME", help="... and at least so long.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]


def reshape_command(
    job: JobReference,
    application: Shapes,
    endpoint: OneEndpoint = None,
    threshold: Threshold = "5%",
    least: Least = "1m",
    max_processor_hours: MaxProcessorHours = None,
    processors: Annotated[
        int | None, typer.Option("--processors", "-p", min=1, help="Give it so many, whatever that gains.")
    ] = None,
    stale_ok: StaleOk = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Give a waiting job another shape if it then finishes sooner.

    The processors and the walltime change; the job keeps its number and its place in the queue.
    """
    wishes = _Wishes.of(application, threshold, least, max_processor_hours, stale_ok)
    where, number = _where(job, endpoint, config)
    standing = where.standing(number)
    if standing.availability is None:
        raise Conflict(f"{describe(standing.job)}; only a job that waits can be given another shape")
    found = wishes.decide(where, standing)
    chosen = found.best if found.worth_it else None
    if processors is not None:
        chosen = _of_size(found, processors)
    why = found.why() if processors is None else "as asked"
    after = standing.job if chosen is None or dry_run else where.reshape(number, *_shape(chosen))
    if json:
        print_json(
            {
                "schema": "gas.reshaping/1",
                "changed": chosen is not None and not dry_run,
                "why": why,
                "gain": found.gain,
                "current": _wire(found.current),
                "best": _wire(found.best),
                "chosen": _wire(chosen),
                "job": after,
            }
        )
    elif chosen is None:
        say(f"job {number} is left as it is ({why}): {_as_it_is(found)}")
    else:
        say(f"job {number} {'would ask' if dry_run else 'asks'} for {_new_shape(chosen, found)}; {why}")


def watch_command(
    job: JobReference,
    application: Shapes,
    endpoint: OneEndpoint = None,
    threshold: Threshold = "5%",
    least: Least = "1m",
    max_processor_hours: MaxProcessorHours = None,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="How often the queue is looked at.")] = "30s",
    wait: Annotated[bool, typer.Option("--wait", help="Go on until the job has ended, as gas wait does.")] = False,
    stale_ok: StaleOk = False,
    dry_run: DryRun = False,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Plan a waiting job anew at every change of the queue until it starts.

    It is given another shape whenever that has it finish enough sooner, by the scheduler's plans: what gas plan
    --predict expects is not looked at. Each line says what was done, and why; with --json each is an object. It can be
    interrupted at any time: the job stays as it is then.
    """
    pause = parse_duration(every, "--every")
    wishes = _Wishes.of(application, threshold, least, max_processor_hours, stale_ok)
    watch = _Watch(wishes, *_where(job, endpoint, config), pause, dry_run, json)
    poll = Poll(PATIENCE_SECONDS, "looking again", clock=time.monotonic)
    while True:
        with poll.asking(Infeasible):  # all is drained for a while
            standing = watch.where.standing(watch.number)
            poll.heard()
            if standing.job["state"] in ENDED:
                watch.tell(describe(standing.job), event="ended", job=standing.job)
                report_end(standing.job, quiet=True)
                return
            if standing.availability is not None:
                watch.follow(standing)
            else:
                watch.started(standing)
                if not wait:
                    return
        time.sleep(pause)


@dataclass(frozen=True)
class _Wishes:
    """What is to run, and when a job of it is changed."""

    application: Application
    threshold: float
    least: int
    max_processor_hours: float | None
    stale_ok: bool

    @classmethod
    def of(
        cls, application: Path, threshold: str, least: str, max_processor_hours: float | None, stale_ok: bool
    ) -> _Wishes:
        share, seconds = percentage(threshold, "--threshold"), parse_duration(least, "--least", minimum=0)
        return cls(Application.read(application), share, seconds, max_processor_hours, stale_ok)

    def decide(self, where: ReshapingEndpoint, standing: Standing, **more: Any) -> Reshaping:
        """Return what could be made of the job."""
        assert standing.availability is not None
        old = why_old(where.name, standing.availability.now, int(time.time()))
        if old is not None and not self.stale_ok:
            raise Unreachable(old)  # watched on, it may be of the present again
        job = standing.job
        return reshaping(
            self.application,
            standing.availability,
            int(job["processors"]),
            job["walltime"],
            not_before=job["not_before"],
            limits=where.limits,
            max_processor_hours=self.max_processor_hours,
            threshold=self.threshold,
            least=self.least,
            blocked=f"it {job['message'] or 'is held'}" if job.get("held") else None,
            **{"expected": job["expected"], **more},
        )


@runtime_checkable
class Unchanging(Protocol):
    """A scheduler that says why it does not change a job that waits."""

    def why_unchanged(self, id: int) -> str:
        """Return why, and what can be done instead; raise `NotFound` if there is no such job."""


@dataclass
class _Watch:
    """A job that is watched.

    Attributes
    ----------
    pause
        Seconds from one look to the next.
    version, plan
        Of the queue when it was last seen, and of its scheduler's plan when it was last looked at.
    until
        When a plan that is waited for is given up (`time.monotonic`); None if none is.
    asked, last, gain
        The shape that was asked for and is not planned yet; the last one that was; what that was to gain.
    late
        By how many seconds each number of processors was planned later than predicted.
    refused
        Numbers of processors that were refused, or would never start.
    tried
        How often a change got no answer, by the number of processors.
    said
        What was said last of the job as it is: processors, expected start, why it is left so.
    """

    wishes: _Wishes
    where: ReshapingEndpoint
    number: int
    pause: int
    dry_run: bool
    json: bool
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

    def follow(self, standing: Standing) -> None:
        """Look at a waiting job if its queue has changed and been planned since."""
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
        self.look(standing)

    def compare(self, standing: Standing, asked: Candidate) -> None:
        """Say what the scheduler plans for the shape that was asked for."""
        self.asked, job = None, standing.job
        if int(job["processors"]) != asked.processors:  # somebody else has changed it since
            return
        now, expected, message = _now(standing), job["expected"], job["message"]
        predicted = {"predicted": asked.start, "predicted_iso": iso_time(asked.start), "job": job}
        if expected is None:
            if message is not None:
                self.refused.add(asked.processors)
            text = f"has no planned start with {asked.processors} processors" + (f": it {message}" if message else "")
            self.tell(f"{text} (predicted {relative_text(asked.start, now)})", event="not planned", **predicted)
            return
        late = max(expected, now) - asked.start
        apart = f"{duration_text(abs(late))} {'later' if late > 0 else 'sooner'} than predicted"
        how = apart if late else "as predicted"
        loss = ""
        if self.gain is not None and late > self.gain:
            loss = f", which is more than the {duration_text(self.gain)} that it was to gain"
        start = relative_text(max(expected, now), now)
        self.tell(f"is planned to start {start} with {asked.processors} processors, {how}{loss}", event="planned",
                  late=late, **predicted)  # fmt: skip

    def look(self, standing: Standing) -> None:
        """Plan the job anew, change it if that is worth it, and say so; what was said already is not said again."""
        found = self.wishes.decide(self.where, standing, late=self.late, refused=self.refused)
        if found.late is not None:
            self.late[int(standing.job["processors"])] = found.late
        best = found.best
        if best is None or not found.worth_it:
            kind = found.blocked or ("doubted" if found.doubted else "little" if (found.gain or 0) > 0 else "nothing")
            if self.is_news(found.current, kind):
                self.tell(f"{_as_it_is(found)}; left as it is: {found.why()}", event="left", found=found)
        elif self.dry_run:
            if self.is_news(best, "would change"):
                self.tell(f"would ask for {_new_shape(best, found)}; {found.why()}", event="would change", found=found)
        elif len(self.refused) < MOST_REFUSED:
            self.change(best, found)

    def is_news(self, what: Candidate | None, kind: str) -> bool:
        """Whether this is not what was said last."""
        before, said = self.said, (0, -1, kind) if what is None else (what.processors, what.start, kind)
        if before is not None and before[::2] == said[::2] and abs(before[1] - said[1]) <= SAME_START_SECONDS:
            return False
        self.said = said
        return True

    def change(self, best: Candidate, found: Reshaping) -> None:
        """Ask for another shape; where it is refused, the others are looked at next time."""
        size, self.said = best.processors, None
        before, self.version, self.plan = self.plan, "", ""
        try:
            self.where.reshape(self.number, *_shape(best))
        except (Forbidden, NotFound):
            raise
        except Unreachable as error:
            self.tried[size] = self.tried.get(size, 0) + 1
            if self.tried[size] < TRIES:
                raise
            self.refuse(size, error, found)
            return
        except GasError as error:  # it has started in this moment, or its site does not allow it
            self.refuse(size, error, found)
            return
        self.tried.pop(size, None)
        self.tell(f"now asks for {_new_shape(best, found)}; {found.why()}", event="changed", found=found)
        self.asked = self.last = best
        self.gain, self.plan = found.gain, before
        clock = time.monotonic()
        self.until = clock + PLAN_SECONDS
        with suppress(Unreachable):
            after = self.where.standing(self.number)
            self.version = after.version
            if after.availability is not None and after.availability.version != before:
                # planned since the reading that this rests on: before the change or, by a quick scheduler, after it
                self.plan, self.until = after.availability.version, clock + 2 * self.pause

    def refuse(self, size: int, error: GasError, found: Reshaping) -> None:
        """Leave a shape out from now on."""
        self.refused.add(size)
        end = "; no other is asked for any more" if len(self.refused) == MOST_REFUSED else ""
        self.tell(f"could not be given {size} processors: {error}{end}", event="refused", found=found)

    def started(self, standing: Standing) -> None:
        """Say that the job runs, and what was predicted, if that is new."""
        if self.runs:
            return
        self.runs = True
        start, asked, text = standing.job["start"], self.last, ""
        if asked is not None and start is not None and int(standing.job["processors"]) == asked.processors:
            text = f"; predicted was {iso_time(asked.start)} when it was given them"
        self.tell(f"{describe(standing.job)}{text}", event="started", job=standing.job)

    def tell(self, text: str, **more: Any) -> None:
        """Print a line: when, and what."""
        now = int(time.time())
        if not self.json:
            say(f"{iso_time(now)}  {text if text.startswith('job ') else f'job {self.number} {text}'}")
            return
        found = more.pop("found", None)
        if found is not None:
            more |= {"current": _wire(found.current), "best": _wire(found.best), "gain": found.gain, "why": found.why()}
        when = {"time": now, "time_iso": iso_time(now)}
        print_json_line({"schema": "gas.watch/1", "id": self.number, **when, "text": text, **more})


def _where(job: str, endpoint: str | None, config: Path | None) -> tuple[ReshapingEndpoint, int]:
    where, number = job_of(job, endpoint, config)
    if not isinstance(where, ReshapingEndpoint):
        if isinstance(where, Unchanging):
            raise BadInput(where.why_unchanged(number))
        raise BadInput(f"{where.name}: cannot change a job that waits; cancel it and submit another (gas submit)")
    return where, number


def _of_size(found: Reshaping, processors: int) -> Candidate:
    """Return what is possible on so many processors."""
    for one in found.plan.candidates:
        if one.processors == processors:
            return one
    reasons = [one.reason for one in found.plan.rejected if one.processors == processors]
    why = reasons[0] if reasons else f"{found.plan.application} does not run on so many, or there are not so many"
    raise BadInput(f"--processors {processors}: is not possible ({why})")


def _now(standing: Standing) -> int:
    return int(time.time()) if standing.availability is None else standing.availability.now


def _wire(one: Candidate | None) -> dict[str, Any] | None:
    return None if one is None else one.to_wire()


def _shape(candidate: Candidate) -> tuple[int, int]:
    return candidate.processors, candidate.walltime


def _as_it_is(found: Reshaping) -> str:
    """Return what is expected of the job."""
    if found.blocked is not None:
        return "waits"
    if found.current is None:
        return "cannot start with what it asks for"
    start, finish = (relative_text(instant, found.now) for instant in (found.current.start, found.current.finish))
    return f"waits for {found.current.processors} processors, planned to start {start} and to finish {finish}"


def _new_shape(chosen: Candidate, found: Reshaping) -> str:
    """Return another shape in words, with what is expected of it."""
    start, finish = (relative_text(instant, found.now) for instant in (chosen.start, chosen.finish))
    before = "" if found.current is None else f" instead of {found.current.processors}"
    walltime = duration_text(chosen.walltime)
    return f"{chosen.processors} processors{before}, walltime {walltime}, to start {start} and to finish {finish}"
