"""``gas demo``: plan and submit from end to end, on its own S³ under a realistic load."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from documents.extras import way_to_install
from documents.fields import Fields
from gas.agent.choice import Planned
from gas.agent.following import follow
from gas.agent.options import Run
from gas.application import Application
from gas.cli.logs import read_log
from gas.cli.options import Json
from gas.cli.plan import draw, sentence, show_plan
from gas.cli.planning import agent_for
from gas.cli.progress import progress
from gas.cli.scripts import Work
from gas.cli.tables import print_json, print_table, remark, say
from gas.endpoints import JobDescription, S3Endpoint
from gas.errors import Missing
from gas.planner import Candidate, Plan
from gas.times import duration_text, iso_time, relative_text
from speedup_models import model_from_table

if TYPE_CHECKING:
    from gas.s3.whatif import Fate
    from workloads import Log

__all__ = ["demo_command"]

PROCESSORS = 128
JOBS = 3000
LOAD = 0.8
LARGEST_FACTOR = 5.0  # users ask for one to five times the run time
WATCH_SECONDS = 5.0


def demo_command(
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="LOG", help="Take the load from a log (SWF) instead of a model.")
    ] = None,
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help="Time in the log: 120d, 40%, 1996-12-24T08:00 or longest-queue.")
    ] = "longest-queue",
    processors: Annotated[
        int | None, typer.Option("--processors", "-p", metavar="N", min=8, max=2**20, help="Processors of the machine.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the generated load.")] = 2,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the plan: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Plan and submit an example on a simulated machine.

    gas demo --plot plan.png

    Starts S³ (the scheduler of gas serve) with a queue of jobs, plans the NAS benchmark LU (class C) on it, submits the
    best request, and compares it with requests of every other size. With --trace, --at longest-queue is
    the time in the second half of the log at which the queue was longest while at least a tenth of the machine was
    free.
    """
    try:
        from gas.s3.whatif import fate_of
        from gas.service.live import LiveScheduler
        from gas.service.preload import log_instant, stood
        from gas.service.server import Embedded
    except ImportError as error:
        raise Missing(f"gas demo needs {error.name}: {way_to_install('server')}") from None

    log = generated_load(processors or PROCESSORS, seed) if trace is None else read_log(trace)
    application = Application(
        model_from_table(Fields({"model": "nas", "benchmark": "LU", "class": "C"}, "demo [speedup]")), name="lu.C"
    )
    with tempfile.TemporaryDirectory(prefix="gas-demo-") as directory, progress("replaying the load") as report:
        size = processors or (PROCESSORS if trace is None else None)
        instant = log_instant(log, at, size)
        began = int(time.time())
        machine, standing, jobs = stood(log, processors=size, at=instant, now=began, progress=report)
        scheduler = LiveScheduler("demo", jobs.machine, Path(directory))
        scheduler.preload(standing, machine)
        with Embedded(scheduler) as embedded:
            report(1.0)
            source = "the Lublin-Feitelson model" if trace is None else log.name
            _say_unless(
                json,
                f"S³ with {jobs.machine} processors at {embedded.url}, loaded from {source}: "
                f"{len(machine.schedule.running)} jobs running, {len(machine.schedule.queued)} waiting.\n",
            )
            endpoint = S3Endpoint(embedded.url, embedded.url)
            schedules = []

            def show(planned: Planned) -> None:
                if not json:
                    show_plan(planned.plan, planned.answers, explain=True)
                if plot is not None:
                    draw(planned.plan, planned.answers, plot)
                with scheduler.frozen() as present:
                    schedules.append(present.copy())

            run = Run(JobDescription("lu.C"), simulate=True)
            made = agent_for(Work(application), [endpoint]).submit(run, before=show)
            assert made.planned is not None  # without a key, it is always planned
            best, found, number = made.planned.best, made.planned.plan, made.job["id"]
            _say_unless(json, f"\nSubmitted job {number}: {sentence(best, found)}.")
            fates = [fate_of(schedules[-1], c.processors, c.walltime, c.execution_time) for c in found.candidates]
            expected = next(f for f in fates if f.processors == best.processors)
            speed = max(1.0, (expected.finish - found.now) / WATCH_SECONDS)
            _say_unless(json, f"The clock now runs {speed:.0f} times as fast, until the job has finished.")
            scheduler.accelerate(speed)
            *_, last = follow(endpoint, number, remark)
            done = last.event.data
    if json:
        print_json(_report(found, fates, done))
        return
    show_comparison(found, fates, best, done)
    say()
    say("Next:")
    say("  gas demo --seed 0 --plot demo.png                  the same under another load, with a picture")
    say("  gas serve --processors 16                          your own S³, which runs commands")
    say("  gas submit APP.toml -e http://127.0.0.1:8642 -- ./my-application {processors}")


def generated_load(processors: int, seed: int) -> Log:
    """Return a log of the Lublin-Feitelson model, with users' estimates of one to five times the run time."""
    import numpy as np

    from workloads import estimates, lublin

    generator = np.random.default_rng(seed)
    log = lublin.generate(JOBS, processors, generator=generator, load=LOAD)
    requested = estimates.uniform_factor(log.run_time, LARGEST_FACTOR, generator)
    return log.with_columns(requested_time=requested)


def show_comparison(found: Plan, fates: Sequence[Fate], best: Candidate, done: dict[str, int]) -> None:
    """Print start and finish of the job, and those of fixed requests of the other sizes."""
    say()
    say(
        f"Job {done['id']} was promised to start {relative_text(done['first_promise'], found.now)}, started "
        f"{relative_text(done['start'], found.now)} and finished {relative_text(done['finished'], found.now)}."
    )
    say("Fixed requests of other sizes, submitted at the same time into the same queue:")
    say()
    ranked = sorted(fates, key=lambda f: (f.finish, f.processors))
    own = next(f for f in fates if f.processors == best.processors)
    rows = []
    for fate in ranked:
        turnaround = fate.finish - found.now
        factor = turnaround / max(1, own.finish - found.now)
        rows.append(
            (
                "Gas" if fate.processors == best.processors else "fixed",
                str(fate.processors),
                relative_text(fate.promised, found.now),
                relative_text(fate.start, found.now),
                relative_text(fate.finish, found.now),
                "" if fate is own else f"{factor:.2f} ×",
            )
        )
    columns = ["request", "processors", "promised start", "started", "finished", "turn-around vs Gas"]
    print_table(columns, rows, best=ranked.index(own), left=("request",))
    better = [f for f in ranked if f.finish < own.finish]
    if better:
        say(
            f"\n{better[0].processors} processors would have finished {duration_text(own.finish - better[0].finish)} "
            "sooner: jobs ahead ended before their walltime, which a plan based on walltimes cannot know."
        )


def _report(found: Plan, fates: Sequence[Fate], done: dict[str, int]) -> dict[str, object]:
    return {
        "schema": "gas.demo/1",
        "plan": found.to_wire(),
        "job": done,
        "fixed": [
            {
                "processors": f.processors,
                "promised": f.promised,
                "start": f.start,
                "finish": f.finish,
                "finish_iso": iso_time(f.finish),
            }
            for f in fates
        ],
    }


def _say_unless(quiet: bool, text: str) -> None:
    if not quiet:
        say(text)
