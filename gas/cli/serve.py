"""``gas serve``: S³ as a service on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gas.cli.logs import read_log
from gas.cli.tables import note, say
from gas.errors import BadInput, Missing

__all__ = ["PORT", "serve_command"]

PORT = 8642


def serve_command(
    processors: Annotated[
        int | None,
        typer.Option(
            "--processors", "-p", min=1, max=2**31 - 1, help="Size of the machine (default: the log's, or as before)."
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What the scheduler calls itself.")] = "s3",
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="Where jobs are kept (default: ~/.local/state/gas/NAME)."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="A loopback address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free one.")] = PORT,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="LOG", help="Begin with the jobs of a log (SWF) as they stood.")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="INSTANT", help="When in the log: 120d, 40%, 1996-12-24T08:00 or crowded (default 50%)."
        ),
    ] = None,
    clock_speed: Annotated[
        float,
        typer.Option("--clock-speed", metavar="K", help="Scheduler seconds per real second, for waits and walltimes."),
    ] = 1.0,
) -> None:
    """Run S³, a scheduler, on this machine.

    It accepts jobs over HTTP, promises their starts and runs them. It listens on loopback only. Jobs and promises are
    kept in the state directory and survive a restart.

    "crowded" is when most jobs wait although a tenth of the machine is free. Times are those of the scheduler's clock,
    which --clock-speed makes run ahead.
    """
    if not 0 < clock_speed <= 1e6:
        raise BadInput(f"--clock-speed {clock_speed:g}: must be more than 0, at most 1000000")
    if at is not None and trace is None:
        raise BadInput(f"--at {at}: is an instant of a log; name the log with --trace")
    if not name.strip() or any(c in name for c in ":/ \t\n"):
        raise BadInput(f"--name {name!r}: use letters, digits, - and _")
    try:
        from gas.service.live import LiveScheduler
        from gas.service.preload import log_instant, stood
        from gas.service.server import hold_state, listen, serve
    except ImportError as error:
        raise Missing(f'gas serve needs {error.name}: pip install "apples-gas[server]"') from None

    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    directory = state or home / "gas" / name
    with listen(host, port) as listener, hold_state(directory):
        if trace is None:
            scheduler = LiveScheduler(name, processors, directory, clock_speed=clock_speed)
        else:
            from gas.cli.progress import progress
            from workloads import rigid_jobs

            log = read_log(trace)
            instant = log_instant(log, at or "50%", processors)
            size = rigid_jobs(log, processors).machine
            scheduler = LiveScheduler(name, size, directory, clock_speed=clock_speed)
            with progress("replaying the log") as report:
                machine, jobs, rigid = stood(
                    log, processors=size, at=instant, now=scheduler.clock.now(), progress=report
                )
            scheduler.preload(jobs, machine)
            for reason, count in rigid.skipped.items():
                note(f"gas: {count} jobs of the log left out: {reason}")
            note(f"{len(machine.schedule.running)} jobs run and {len(machine.schedule.queued)} wait")
        known = len(scheduler.jobs(ended=10_000))
        note(f"state: {directory} ({known} jobs from before)" if known and trace is None else f"state: {directory}")
        note("anybody on this machine can submit commands, and they run as you")
        serve(scheduler, listener, lambda url: say(f"S³ {name} with {scheduler.processors} processors at {url}"))
        note("stopped; jobs that run go on, and the next service on this state finds them")
