"""``gas submit``: the request that finishes first, sent, and made a job exactly once.

One call has one key, which every request of it bears, whichever plan it is of (`gas.endpoints.s3` says why that makes
at most one job). What is left to see to here is that the key goes to one scheduler only: to another one if, and only
if, the first has refused it and nothing sent to it is in doubt. With ``--key``, also over several calls: the key is
looked for everywhere before anything is planned, and where it goes is written down before it goes there.
"""

from __future__ import annotations

import math
import shlex
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, runtime_checkable

import typer

from gas.application import Application
from gas.cli.jobs import wait_for_end
from gas.cli.options import (
    ConfigFile,
    Endpoints,
    Json,
    KeyOption,
    checked_key,
    chosen_endpoints,
    find_by_key,
)
from gas.cli.plan import draw, sentence, show_plan
from gas.cli.planning import (
    AlgorithmName,
    ApplicationFile,
    Deadline,
    Explain,
    MaxProcessorHours,
    NotBefore,
    Plot,
    Probes,
    Tolerance,
    Wishes,
    make_plan,
    why_nothing,
)
from gas.cli.predicting import Predict, Risk, Samples, Seed, predicting, refuse_both_from_standard_input
from gas.cli.states import report_end
from gas.cli.tables import note, print_json, say
from gas.endpoints import Answer, Endpoint, InDoubt, JobDescription, JobEndpoint, Request, S3Endpoint
from gas.endpoints.journal import Page, open_page
from gas.errors import BadInput, Conflict, Draining, Forbidden, GasError, Infeasible, OverLimit, StalePlan
from gas.planner import Candidate, Plan
from gas.prediction.choice import PredictedPlan
from gas.times import iso_time, parse_instant, relative_text

__all__ = ["submit_command"]

ATTEMPTS = 5
"""How often a plan that went stale is made again."""


def submit_command(
    context: typer.Context,
    application: ApplicationFile,
    endpoint: Endpoints = None,
    not_before: NotBefore = None,
    deadline: Deadline = None,
    max_processor_hours: MaxProcessorHours = None,
    tolerance: Tolerance = "0%",
    algorithm: AlgorithmName = "exact",
    probe: Probes = 0,
    predict: Predict = None,
    risk: Risk = None,
    samples: Samples = None,
    seed: Seed = None,
    name: Annotated[
        str | None, typer.Option("--name", help="What the job is called (default: the application).")
    ] = None,
    directory: Annotated[
        str | None,
        typer.Option("--directory", help="Working directory; by default this one if the scheduler is on this machine."),
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="For the command.")] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="No command: hold the processors for the expected execution time.")
    ] = False,
    native: Annotated[
        list[str] | None,
        typer.Option(
            "--native", metavar="OPTION", help="In the scheduler's own words, long and in one: --native=--account=abc."
        ),
    ] = None,
    key: KeyOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Then wait until the job has ended, as gas wait does.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan and show the request; send nothing.")] = False,
    explain: Explain = False,
    plot: Plot = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Plan, and submit what finishes first.

    gas submit APP [options] -- COMMAND

    In the command, {processors} and {walltime} stand for what was chosen; it also finds them in GAS_PROCESSORS and
    GAS_WALLTIME.

    Whatever happens on the network, one call submits at most one job. With --key, so do all calls with the same KEY:
    one that finds the job submitted says so, and submits nothing.
    """
    command = tuple(context.args)
    if simulate == bool(command):
        raise BadInput(
            "--simulate runs no command; leave one of the two out"
            if simulate
            else "no command: write it after --, for example gas submit lu.toml -- ./lu -n {processors}"
        )
    if key is not None:
        checked_key(key)
    refuse_both_from_standard_input(application, predict)
    app = Application.read(application)
    predictor = predicting(predict, risk, samples, seed)
    wishes = Wishes(not_before, deadline, max_processor_hours, tolerance, algorithm, probe, predictor)
    environment = _environment(env or [])
    endpoints = chosen_endpoints(endpoint, None, config)

    def sized(found: Plan, best: Candidate, chosen: Endpoint) -> tuple[Request, JobDescription]:
        here = directory or (str(Path.cwd()) if getattr(chosen, "is_local", False) else None)
        job = JobDescription(
            name or app.name,
            command,
            environment,
            here,
            best.execution_time if simulate else None,
            tuple(native or ()),
        ).sized(best.processors, best.walltime)
        wanted = None if not_before is None else parse_instant(not_before, found.now, "--not-before")
        others = ((c.processors, c.walltime) for c in found.candidates if c.scheduler == best.scheduler and c != best)
        alternatives = tuple(others) if getattr(chosen, "moldable", False) else ()
        return Request(best.processors, best.walltime, best.start + _slack(found, best), wanted, alternatives), job

    if dry_run:
        answers, found, best, chosen = _planned(app, endpoints, wishes)
        request, job = sized(found, best, chosen)
        preview = chosen.preview(request, job) if isinstance(chosen, Previewing) else None
        _show_request(found, answers, request, job, preview, explain=explain, json=json)
        if plot is not None:
            draw(found, answers, plot)
        return
    submission = _Submission(app, endpoints, wishes, sized, key or uuid.uuid4().hex, config)
    made = submission.make() if key is None else submission.make_or_find()
    finished = None
    if wait:
        if json:
            note(f"job {_reference(made.endpoint, made.job['id'])}")
        else:
            _tell(app, made, explain=explain)
        finished = wait_for_end(made.endpoint, int(made.job["id"]), quiet=json)
    if json:
        found_wire = None if made.plan is None else made.plan.to_wire([a.to_wire() for a in made.answers])
        print_json(
            {
                "schema": "gas.submission/1",
                "scheduler": made.scheduler,
                "endpoint": made.endpoint.address,
                "key": submission.key,
                "already": made.plan is None,
                "attempts": made.attempts,
                "job": made.job if finished is None else finished,
                "plan": found_wire,
            }
        )
    elif not wait:
        _tell(app, made, explain=explain)
        say(f"follow it: gas wait {_reference(made.endpoint, made.job['id'])}")
    if plot is not None and made.plan is not None:
        draw(made.plan, made.answers, plot)
    if finished is not None:
        report_end(finished, quiet=json)


@runtime_checkable
class Forgetful(JobEndpoint, Protocol):
    """A scheduler that forgets jobs which have ended."""

    def memory(self) -> int | None:
        """Return for how many seconds it remembers them at least, None if that is not known."""


@runtime_checkable
class Previewing(Protocol):
    """A scheduler whose submissions can be shown."""

    def preview(self, request: Request, job: JobDescription) -> str:
        """Return what would be submitted, as a person would write it."""


def _planned(
    app: Application, endpoints: Sequence[Endpoint | tuple[str, Exception]], wishes: Wishes
) -> tuple[list[Answer], Plan, Candidate, Endpoint]:
    answers, found = make_plan(app, endpoints, wishes)
    best = found.best
    if best is None:
        raise Infeasible(why_nothing(found))
    return answers, found, best, next(a.endpoint for a in answers if a.name == best.scheduler and a.availability)


@dataclass(frozen=True)
class _Made:
    """A job, where it is, and the plan that it was made by; None if an earlier call made it."""

    endpoint: JobEndpoint
    scheduler: str
    job: dict[str, Any]
    plan: Plan | None = None
    answers: Sequence[Answer] = ()
    attempts: int = 0


class _Submission:
    """One job on its way to one of several schedulers.

    Attributes
    ----------
    key
        What every request for it bears.
    """

    def __init__(
        self,
        app: Application,
        endpoints: Sequence[Endpoint | tuple[str, Exception]],
        wishes: Wishes,
        sized: Callable[[Plan, Candidate, Endpoint], tuple[Request, JobDescription]],
        key: str,
        config: Path | None,
    ) -> None:
        self.key = key
        self._app = app
        self._endpoints = list(endpoints)
        self._wishes = wishes
        self._sized = sized
        self._config = config

    def make_or_find(self) -> _Made:
        """Return the job that a call with this key has made, or make it."""
        with open_page(self.key) as page:
            sent_to = page.address
            if sent_to is not None and sent_to not in [e.address for e in self._endpoints if not isinstance(e, tuple)]:
                raise Conflict(
                    f"--key {self.key}: was sent to {sent_to} before, and what was sent there may have made a job; "
                    f"submit to that scheduler (-e {sent_to}), or use another key for another job"
                )
            if (earlier := find_by_key(self._endpoints, self.key)) is not None:
                endpoint, job = earlier
                return _Made(endpoint, endpoint.name, job)
            if sent_to is not None:
                self._endpoints = [e for e in self._endpoints if not isinstance(e, tuple) and e.address == sent_to]
                if (ended := self._forgotten(page)) is not None:
                    return ended
            return self.make(page, stays=sent_to is not None)

    def _forgotten(self, page: Page) -> _Made | None:
        """Return the job of the key that its scheduler, which forgets what has ended, has forgotten.

        Raises
        ------
        InDoubt
            It may be that there was one.
        """
        chosen = self._endpoints[0]
        if isinstance(chosen, tuple) or not isinstance(chosen, Forgetful):
            return None
        if page.job is not None:
            return _Made(chosen, chosen.name, {"id": page.job, "name": self._app.name, "state": "forgotten"})
        memory = chosen.memory()
        if page.sent is not None and memory is not None and time.time() < page.sent + memory:
            return None
        raise InDoubt(
            f"--key {self.key}: was sent to {chosen.name}, which did not say whether it took it, and forgets jobs some "
            "time after they have ended: a job of it may have run; if you know that none has, use another key",
            self.key,
        )

    def make(self, page: Page | None = None, *, stays: bool = False) -> _Made:
        """Plan and submit, again if the plan went stale.

        Parameters
        ----------
        page
            Where it is noted where the key goes.
        stays
            Whether a call before this one has left a request in doubt, so that the key must not go elsewhere.
        """
        stale = 0
        with self._explaining_doubt(page, stays):
            while stale < ATTEMPTS:
                answers, found, best, chosen = _planned(self._app, self._endpoints, self._wishes)
                if not isinstance(chosen, JobEndpoint):
                    raise BadInput(
                        f"{best.scheduler}: finishes first but takes no jobs; it is an availability list only"
                    )
                request, job = self._sized(found, best, chosen)
                try:
                    accepted = self._send(chosen, request, job, page, stays)
                except StalePlan as error:
                    stale += 1
                    note(f"gas: the plan went stale ({error}); planning again, attempt {stale} of {ATTEMPTS}")
                    if chosen.in_doubt(self.key):
                        self._endpoints = [chosen]
                    time.sleep(0.05 * stale)
                    continue
                except (Draining, OverLimit, Forbidden) as refusal:
                    self._leave_out(chosen, refusal)
                    continue
                in_minutes = -(-request.walltime // 60) * 60
                others = accepted["walltime"] not in (request.walltime, in_minutes)
                if others or (isinstance(chosen, S3Endpoint) and accepted["processors"] != request.processors):
                    note("gas: an earlier request got through after all; the job is as that one asked for it")
                return _Made(chosen, best.scheduler, accepted, found, answers, stale + 1)
            raise StalePlan(
                f"{self._app.name}: the schedule changed {ATTEMPTS} times between planning and submitting; nothing was "
                "submitted; try again"
            )

    def _send(
        self, chosen: JobEndpoint, request: Request, job: JobDescription, page: Page | None, stays: bool
    ) -> dict[str, Any]:
        """Submit to a scheduler; it is on the page unless nothing of this key can be there."""
        if hasattr(chosen, "tell"):
            chosen.tell = lambda text: note(f"gas: {text}")
        if page is not None:
            page.sent_to(chosen.address, int(time.time()))
            if hasattr(chosen, "noted"):
                chosen.noted = lambda id: _noted(page, id)
        if stays and hasattr(chosen, "suspect"):
            chosen.suspect(self.key)
        elif hasattr(chosen, "unused"):  # the key is new, or has been looked for
            chosen.unused(self.key)
        try:
            made = chosen.submit(request, job, self.key)
        except BaseException:
            if page is not None and not stays and not chosen.in_doubt(self.key):
                page.refused()
            raise
        if page is not None:
            _noted(page, int(made["id"]))
        return made

    def _leave_out(self, endpoint: JobEndpoint, refusal: GasError) -> None:
        """Go on without a scheduler that takes nothing from this user now."""
        others = [e for e in self._endpoints if e is not endpoint]
        if endpoint.in_doubt(self.key) or not any(isinstance(e, JobEndpoint) for e in others):
            raise refusal
        note(f"gas: {refusal}; planning without it")
        self._endpoints = others

    @contextmanager
    def _explaining_doubt(self, page: Page | None, stays: bool) -> Iterator[None]:
        """See to it that nobody leaves in doubt without being told, and without a note of where the key went."""
        try:
            yield
        except BaseException as problem:
            endpoint = next((e for e in self._endpoints if isinstance(e, JobEndpoint) and e.in_doubt(self.key)), None)
            if endpoint is None and not stays:
                raise
            words = ["gas", "status", "--key", self.key]
            words += [] if endpoint is None else ["-e", endpoint.name]
            words += [] if self._config is None else ["--config", str(self._config)]
            way_out = (
                f"the job may or may not have been submitted: {shlex.join(words)} finds out, and the same gas submit "
                f"with --key {self.key} submits it if it was not"
            )
            if page is None and endpoint is not None:
                with open_page(self.key) as new:
                    new.sent_to(endpoint.address, int(time.time()))
            if isinstance(problem, GasError):
                raise InDoubt(f"{problem}; {way_out}", self.key) from None
            note(f"gas: {way_out}")
            raise


def _noted(page: Page, id: int) -> None:
    """Note a job; a note that cannot be made does not undo it."""
    try:
        page.made(id)
    except GasError as error:
        note(f"gas: job {id} was submitted, but {error}")


def _tell(app: Application, made: _Made, *, explain: bool) -> None:
    """Say what was submitted."""
    if made.plan is None:
        say(f"{app.name}: submitted already, as job {made.job['id']} on {made.scheduler} ({made.job['state']})")
        return
    if explain:
        show_plan(made.plan, made.answers, explain=True)
        say()
    elif made.plan.best is not None:
        say(f"{app.name}: {sentence(made.plan.best, made.plan)}")
    say(f"job {made.job['id']} on {made.scheduler}, {_start(made.job, made.plan)}{_likely(made.plan)}")


def _slack(found: Plan, best: Candidate) -> int:
    """Return how much later than planned a start may be without planning again: 1% of the turn-around, at least 1 s.

    A start "now" is a second later by the time the request arrives, and that changes no decision.
    """
    return max(1, math.ceil(found.turnaround(best) * 0.01))


def _start(job: dict[str, Any], found: Plan) -> str:
    """Return in words when a job starts: by promise, or by what is expected of it."""
    if (promise := job.get("promise")) is not None:
        return f"promised to start {relative_text(int(promise), found.now)} at the latest ({iso_time(int(promise))})"
    expected = job.get("expected") or (None if found.best is None else found.best.start)
    return "queued" if expected is None else f"expected to start {relative_text(expected, found.now)}, not promised"


def _likely(found: Plan) -> str:
    """Return in words when the best request is predicted to start; nothing if it is not."""
    likely = found.predictions.get(found.best) if isinstance(found, PredictedPlan) and found.best is not None else None
    return "" if likely is None else f"; predicted to start {relative_text(likely.start, found.now)}"


def _reference(endpoint: Endpoint, id: int) -> str:
    """Return a job as the other commands take it."""
    return f"{id} -e {endpoint.name}"


def _environment(pairs: list[str]) -> dict[str, str]:
    environment = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name:
            raise BadInput(f"--env {pair!r}: write NAME=VALUE")
        environment[name] = value
    return environment


def _show_request(
    found: Plan,
    answers: Sequence[Answer],
    request: Request,
    job: JobDescription,
    preview: str | None,
    *,
    explain: bool,
    json: bool,
) -> None:
    if json:
        print_json(
            {
                "schema": "gas.dry-run/1",
                "request": {
                    "processors": request.processors,
                    "walltime": request.walltime,
                    "start_by": request.start_by,
                    "start_by_iso": iso_time(request.start_by or 0),
                    "not_before": request.not_before,
                },
                "command": list(job.command),
                "environment": dict(job.environment),
                "directory": job.directory,
                "submission": preview,
                "plan": found.to_wire([a.to_wire() for a in answers]),
            }
        )
        return
    show_plan(found, answers, explain=explain)
    say()
    if preview is not None:
        say(f"would submit (nothing was):\n{preview.rstrip()}")
        return
    what = f"run {' '.join(job.command)}" if job.command else f"simulate {job.run_time} s"
    say(f"would {what} (nothing was submitted); start by {iso_time(request.start_by or 0)}")
