"""``gas serve``: S³ as a service on this machine."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from documents.extras import way_to_install
from gas.cli.logs import read_log
from gas.cli.options import named_directory, processors_option
from gas.cli.tables import many, note, say
from gas.errors import BadInput, Missing
from gas.times import parse_duration

if TYPE_CHECKING:
    from gas.service.classes import Classes
    from gas.service.jobs import Job
    from gas.service.limits import Limits
    from gas.service.live import LiveScheduler
    from gas.service.runner import Host
    from gas.service.server import Encryption

__all__ = ["PORT", "host_of", "serve_command", "state_directory"]

PORT = 8642

SYSTEM_STATE = Path("/var/lib/gas")
"""State directories of services that run each job as its user (``--user``)."""

NAMED = 20
"""Largest number of jobs to name while a service drains."""

KEEP = "90d"
"""Default of ``--keep``: how long ended jobs and their output are kept."""


def state_directory(state: Path | None, name: str) -> Path:
    """Return the state directory of the service with this name."""
    from gas.endpoints import journal

    return state or journal.state_directory() / name


def serve_command(
    processors: Annotated[
        int | None,
        processors_option("Processors of the machine (default: those of the log, or of the existing state)."),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the scheduler.")] = "s3",
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="DIR",
            parser=named_directory,
            help="State directory (default: ~/.local/state/gas/NAME, with --user /var/lib/gas/NAME).",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            metavar="ACCOUNT",
            help="Run the service as ACCOUNT, and each job as the user of its token. Must be started as root.",
        ),
    ] = None,
    cgroup: Annotated[
        Path | None,
        typer.Option(
            "--cgroup", metavar="DIR", help="Parent of the jobs' cgroups (default: the cgroup that systemd delegated)."
        ),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="TIME|never",
            help="Delete ended jobs and their output this long after their end; with never, keep them forever.",
        ),
    ] = KEEP,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; without tokens, a loopback address.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port; 0 picks a free one.")
    ] = PORT,
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="LOG",
            help="Start with the running and waiting jobs of a log (SWF) at the time --at.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="Time in the log: 120d, 40%, 1996-12-24T08:00 or longest-queue (default 50%)."
        ),
    ] = None,
    clock_speed: Annotated[
        float,
        typer.Option(
            "--clock-speed",
            metavar="K",
            help="Run the scheduler's clock K times as fast, for demonstrations; real commands reach their walltimes "
            "that much earlier.",
        ),
    ] = 1.0,
    reset_clock: Annotated[
        bool,
        typer.Option(
            "--reset-clock", help="Set the scheduler's clock to the machine's, even backwards; needs an empty schedule."
        ),
    ] = False,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain", help="Accept no new jobs, finish the schedule, then stop. If the service is running, drain it."
        ),
    ] = False,
    tokens: Annotated[
        Path | None,
        typer.Option("--tokens", metavar="FILE", help="Tokens file (default: DIR/tokens, if it exists)."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen on non-loopback addresses even without tokens.")
    ] = False,
    ssl_certfile: Annotated[str | None, typer.Option("--ssl-certfile", metavar="FILE", help="TLS certificate.")] = None,
    ssl_keyfile: Annotated[str | None, typer.Option("--ssl-keyfile", metavar="FILE", help="Private key.")] = None,
    ssl_keyfile_password_file: Annotated[
        Path | None, typer.Option("--ssl-keyfile-password-file", metavar="FILE", help="File with the key's password.")
    ] = None,
    ssl_ca_certs: Annotated[str | None, typer.Option("--ssl-ca-certs", metavar="FILE", help="CA certificates.")] = None,
    max_queued: Annotated[
        int | None, typer.Option("--max-queued", metavar="N", min=1, help="Limit per user: jobs in the schedule.")
    ] = None,
    max_processor_hours: Annotated[
        float | None,
        typer.Option(
            "--max-processor-hours",
            metavar="HOURS",
            help="Limit per user: processors × walltime (hours) in the schedule.",
        ),
    ] = None,
    max_queued_bytes: Annotated[
        int,
        typer.Option(
            "--max-queued-bytes",
            metavar="BYTES",
            min=1,
            help="Limit per user: bytes of commands and environments in the schedule.",
        ),
    ] = 64 * 2**20,
    max_request_bytes: Annotated[
        int, typer.Option("--max-request-bytes", metavar="BYTES", min=1, help="Limit per request: bytes.")
    ] = 4 * 2**20,
    max_rate: Annotated[
        float | None, typer.Option("--max-rate", metavar="RATE", help="Limit per user: requests per second.")
    ] = None,
    max_streams: Annotated[
        int, typer.Option("--max-streams", metavar="N", min=1, help="Limit per user: open event streams.")
    ] = 16,
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="NAME,...",
            help="Job classes, highest first. When processors become free, jobs of higher classes move to earlier "
            "starts first; no promised start gets later.",
        ),
    ] = None,
    default_class: Annotated[
        str | None,
        typer.Option(
            "--default-class", metavar="NAME", help="Class of jobs submitted without a class (default: the lowest)."
        ),
    ] = None,
    class_users: Annotated[
        list[str] | None,
        typer.Option(
            "--class-users", metavar="NAME=USER,...", help="Users who may submit to a class (default: all); repeatable."
        ),
    ] = None,
    log_format: Annotated[Literal["text", "json"], typer.Option("--log-format", help="Format of the log.")] = "text",
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option("--log-level", help="Level of the log: info logs jobs; debug also logs every request."),
    ] = "warning",
) -> None:
    """Run the scheduler S³ on this machine.

    gas serve --processors 64

    S³ accepts jobs over HTTP, promises their start times and runs them. Jobs and promises are kept in the state
    directory and survive a restart. Without tokens S³ listens on loopback only (`gas token add` creates tokens).
    SIGTERM stops the service; running jobs continue, and the next service with the same state directory takes them
    over.

    With --user, the service runs as ACCOUNT, and each job as the Unix user named by the token of its submitter, never
    as root or as ACCOUNT; gas serve must be started as root. Without --user, all jobs run as the user who started the
    service.

    With --trace, --at longest-queue is the time in the second half of the log at which the queue was longest while at
    least a tenth of the machine was free. All times are those of the scheduler's clock (see --clock-speed).
    """
    if not 0 < clock_speed <= 1e6:
        raise BadInput(f"--clock-speed {clock_speed:g}: must be more than 0, at most 1000000")
    if at is not None and trace is None:
        raise BadInput(f"--at {at}: is a time in a log; give the log with --trace")
    if not name.strip() or any(c in name for c in ":/ \t\n"):
        raise BadInput(f"--name {name!r}: use letters, digits, - and _")
    try:
        from gas.service.classes import Classes
        from gas.service.draining import remaining
        from gas.service.limits import Limits
        from gas.service.listening import check_passed, is_loopback, listen, passed_socket
        from gas.service.live import LiveScheduler
        from gas.service.logs import begin_logging
        from gas.service.server import ask_to_drain, hold_state, serve
        from gas.service.tokens import Tokens, the_service_user
    except ImportError as error:
        raise Missing(f"gas serve needs {error.name}: {way_to_install('server')}") from None

    directory = state_directory(state or (None if user is None else SYSTEM_STATE / name), name)
    limits = Limits(
        max_queued=max_queued,
        max_processor_seconds=None if max_processor_hours is None else int(max_processor_hours * 3600),
        max_queued_bytes=max_queued_bytes,
        max_request_bytes=max_request_bytes,
        max_rate=max_rate,
        max_streams=max_streams,
    )
    ranks = Classes.read(classes, default_class, class_users or ())
    kept = None if keep == "never" else parse_duration(keep, "--keep", minimum=0)
    encryption = _encryption(ssl_certfile, ssl_keyfile, ssl_keyfile_password_file, ssl_ca_certs)
    if drain and directory.exists() and (pid := ask_to_drain(directory)) is not None:
        _wait_until_drained(directory, pid)
        return
    passed = passed_socket()
    begin_logging(log_format, log_level)
    file = tokens or directory / "tokens"
    runs_in = host_of(user, directory, cgroup, file, insecure=insecure)
    known_users = Tokens(file) if tokens is not None or file.exists() else None
    anywhere = insecure or known_users is not None
    asked_to_drain: list[int] = []  # signals that arrive before the service handles them
    signal.signal(signal.SIGUSR1, lambda number, frame: asked_to_drain.append(number))
    if passed is not None:
        check_passed(passed, anywhere=anywhere)
    with passed or listen(host, port, anywhere=anywhere) as listener, hold_state(directory):
        if trace is None:
            scheduler = LiveScheduler(
                name,
                processors,
                directory,
                clock_speed=clock_speed,
                reset_clock=reset_clock,
                keep=kept,
                limits=limits,
                host=runs_in,
                classes=ranks,
            )
        else:
            scheduler = _with_log(trace, at, name, processors, directory, clock_speed, limits, runs_in, ranks)
        if known_users is None and scheduler.knows_users and not insecure:
            scheduler.stop()
            raise BadInput(
                f"{file}: does not exist, but this state was used with tokens; restore the file, create tokens with "
                "gas token add, or allow all with --insecure"
            )
        scheduler.knows_users = known_users is not None
        account = the_service_user().user
        known = scheduler.known
        before = f" ({many(known, 'job')} from before)" if known and trace is None else ""
        note(f"state: {directory}{before}")
        if missing := ranks.missing(job.request.job_class for job in scheduler.jobs()):
            note(missing)
        if known_users is not None:
            note(f"tokens: {file}")
            if runs_in.launcher is None:
                note(
                    f"jobs run as {account}; tokens authenticate users, they do not isolate jobs (--user does, as root)"
                )
            else:
                note(f"jobs run as the Unix users named by their tokens; the service runs as {account}")
            if encryption is None and not is_loopback(listener):
                note("tokens cross the network unencrypted: use --ssl-certfile or a TLS proxy")
        elif insecure:
            note(f"every user who can reach this address can submit commands, which run as {account}")
        else:
            note(f"every user of this machine can submit commands, which run as {account}")
        if drain or asked_to_drain:
            scheduler.drain()
            note("draining: no new jobs are accepted")
            _note_remaining(remaining(directory))
        serve(
            scheduler,
            listener,
            lambda url: say(f"S³ {name} with {many(scheduler.processors, 'processor')} at {url}"),
            tokens=known_users,
            limits=limits,
            encryption=encryption,
            insecure=insecure,
        )
        if scheduler.is_drained:
            note("drained: the schedule is empty")
        else:
            note("stopped; running jobs continue, and the next service with this state takes them over")


def host_of(user: str | None, state: Path, cgroup: Path | None, tokens: Path, *, insecure: bool) -> Host:
    """Return the environment in which jobs run; with a user, this process runs as that user from then on."""
    from gas.service.accounts import FILE, Accounts
    from gas.service.cgroup import Cgroups
    from gas.service.launcher import privileged
    from gas.service.runner import Host

    if user is None:
        if (kept := Accounts.read(state)) is not None:
            raise BadInput(
                f"--state {state}: belongs to a service that runs each job as its own Unix user; start it as root with "
                f"--user {kept.service}, or remove {state / FILE} to run all jobs as one user"
            )
        return Host(cgroups=Cgroups.found() if cgroup is None else Cgroups.at(cgroup))
    if insecure:
        raise BadInput(
            "--user and --insecure: cannot be used together, since a token names the user of a job; leave one out"
        )
    if not tokens.exists():
        raise BadInput(
            f"--user {user}: needs tokens, which name the user of each job, and {tokens} does not exist; create them "
            f"with gas token add USER --state {state}"
        )
    launcher, cgroups = privileged(user, state, cgroup)
    return Host(launcher, cgroups)


def _with_log(
    trace: str,
    at: str | None,
    name: str,
    processors: int | None,
    directory: Path,
    clock_speed: float,
    limits: Limits,
    host: Host,
    classes: Classes,
) -> LiveScheduler:
    """Return a scheduler that starts with the running and waiting jobs of a log at an instant."""
    from gas.cli.progress import progress
    from gas.service.live import LiveScheduler
    from gas.service.preload import log_instant, stood
    from workloads import rigid_jobs

    log = read_log(trace)
    instant = log_instant(log, at or "50%", processors)
    size = rigid_jobs(log, processors).machine
    scheduler = LiveScheduler(name, size, directory, clock_speed=clock_speed, limits=limits, host=host, classes=classes)
    with progress("replaying the log") as report:
        machine, jobs, rigid = stood(log, processors=size, at=instant, now=scheduler.clock.now(), progress=report)
    scheduler.preload(jobs, machine)
    for reason, count in rigid.skipped.items():
        note(f"gas: {many(count, 'job')} of the log left out: {reason}")
    note(f"{len(machine.schedule.running)} jobs running, {len(machine.schedule.queued)} waiting")
    return scheduler


def _encryption(certificate: str | None, key: str | None, password: Path | None, ca: str | None) -> Encryption | None:
    from gas.service.server import Encryption

    if certificate is None:
        if key or password or ca:
            raise BadInput("--ssl-keyfile, --ssl-ca-certs: need --ssl-certfile")
        return None
    try:
        secret = None if password is None else password.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--ssl-keyfile-password-file {password}: cannot be read: {error}") from None
    return Encryption(certificate, key, secret, ca)


def _wait_until_drained(directory: Path, pid: int) -> None:
    """Wait until the draining service has stopped; name the jobs for which it waits, and later the remaining ones."""
    from gas.service.draining import until_drained

    note(f"draining {directory} (process {pid}): no new jobs are accepted; waiting until all jobs have ended")
    for jobs in until_drained(directory):
        _note_remaining(jobs)
    say("drained")


def _note_remaining(jobs: Sequence[Job]) -> None:
    """Print the remaining jobs of a draining service, in the order of their starts."""
    from gas.agent.states import describe

    note(f"{many(len(jobs), 'job')} remain{'s' if len(jobs) == 1 else ''}:")
    for job in jobs[:NAMED]:
        note(f"  {describe(job.to_wire())}{f', of {job.request.user}' if job.request.user else ''}")
    if len(jobs) > NAMED:
        note(f"  and {len(jobs) - NAMED} more (gas status lists them)")
