"""``gas simulate``: simulate logs under scheduling policies; tables, JSON, schedules in files and pictures."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any

import typer

from documents.extras import way_to_install
from gas.cli.log_files import files_of_policies
from gas.cli.logs import (
    check_readable,
    machine_of,
    read_log_and_digest,
    runnable,
    without_estimates,
)
from gas.cli.options import processors_option
from gas.cli.policy_options import conditional_of, knows_classes, refuse_by_event, tell_of_ignored
from gas.cli.progress import progress
from gas.cli.selection import First, From, Month, ScaleLoad, Strict, Units, Until, check_load, scaled, selected
from gas.cli.simulation_table import show_results
from gas.cli.tables import many, note, print_json
from gas.errors import BadInput, Missing, outcome_of
from gas.policies.finding import OwnPolicy, find_policies
from gas.simulation.classes import JobClass, class_documents, parse_classes, priorities_of
from gas.simulation.schedule import POLICIES, Order, Policy
from workloads import Overrun
from workloads.sacct_header import Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gas.simulation.conditional import Conditional
    from gas.simulation.schedule import Schedule
    from workloads import Log, RigidJobs

__all__ = ["simulate_command"]

_SCHEDULES = (".swf", ".swf.gz", ".csv", ".csv.gz")


def _known_policies(incomplete: str) -> list[str]:
    from gas.policies.finding import plug_ins

    before, comma, last = incomplete.rpartition(",")
    names = (*POLICIES, *(point.name for point in plug_ins()))
    return [f"{before}{comma}{policy}" for policy in names if policy.startswith(last)]


def simulate_command(
    traces: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help="Logs in any format that gas convert reads (SWF, sacct, CSV, Parquet, Batsim); - for standard input.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="P[,P...]",
            autocompletion=_known_policies,
            help=f"{', '.join(POLICIES)}, or all (default: s3); or your own: ./FILE.py:CLASS or the name of a plug-in.",
        ),
    ] = None,
    processors: Annotated[int | None, processors_option("Processors of the machine (default: as in the log).")] = None,
    order: Annotated[
        Order,
        typer.Option(
            "--order",
            help="Order of events in the same second: instant takes all ends, then starts, then submissions; event "
            "takes them one by one, as the simulator pyss does.",
        ),
    ] = "instant",
    overrun: Annotated[
        Overrun,
        typer.Option(
            "--overrun",
            help="Jobs that run longer than their estimate: kill them at the estimate, or extend the estimate.",
        ),
    ] = "kill",
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    scale_load: ScaleLoad = None,
    strict: Strict = False,
    unit: Units = "cpus",
    job_class: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="NAME=FIELD:N,...",
            help="Job class, highest first: urgent=user:3,17 (or group, queue, partition); repeatable. All policies "
            "except fcfs, easy and your own move higher classes to earlier starts first.",
        ),
    ] = None,
    notice: Annotated[
        str | None,
        typer.Option(
            "--notice",
            metavar="N%:TIME[:TIME]",
            help="Under s3: N% of the jobs have TIME to answer offers of earlier starts. They accept each offer "
            "at once or, with 25%:10m:2m, after 2 minutes.",
        ),
    ] = None,
    months: Annotated[bool, typer.Option("--months", help="Also show results by month of submission.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the schedule, .swf or .csv (also .gz); Gas replaces {policy} and {trace} in FILE. With -, "
            "write SWF to standard output and the table to standard error.",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw the schedule, .png, .svg or .pdf; Gas replaces {policy} and {trace} in FILE.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate the jobs of logs under scheduling policies.

    gas simulate log.swf.gz --policy easy,conservative,s3

    Your own policy is a Python class (see gas guide policies). With several policies, a star marks the best value of
    each column. Several logs are simulated one after the other; in file names, {trace} is replaced by the name of the
    log. Gas reports and skips logs that it cannot use, and your own policies that fail.
    """
    policies = find_policies(policy or ["s3"])
    refuse_by_event(policies, order)
    check_load(scale_load)
    if traces.count("-") > 1:
        raise BadInput("-: standard input can be read only once")
    if output == "-" and as_json:
        raise BadInput("-o - and --json: both write to standard output; write the schedule to a file")
    names = [str(one) for one in policies]
    outputs = files_of_policies(output, "--output", traces, names, _SCHEDULES)
    pictures = () if plot is None else _picture_suffixes()
    plots = files_of_policies(plot, "--plot", traces, names, pictures, together=True)
    check_readable(traces)
    asked = _Asked(
        order, overrun, processors, month, since, until, first, scale_load, strict, unit, job_class or (), notice
    )
    conditional = None if notice is None else conditional_of(notice, policies, order, job_class)
    classes = parse_classes(asked.classes)
    tell_of_ignored(policies, asked.notice, asked.classes)
    done = _Simulations(asked, policies, classes, conditional, months, not as_json, outputs, plots)
    with _one_bar(len(traces) * len(policies)) as bar_of:
        for number, trace in enumerate(traces):
            bars = [bar_of(number * len(policies) + place) for place in range(len(policies))]
            done.simulate(trace, bars)
    if done.logs and as_json:
        results = [one for of in done.logs for one in of]
        wire = {"schema": "gas.simulation/1", "gas": version("apples-gas"), "results": results, "failed": done.failed}
        print_json(wire)
    elif done.logs:
        show_results(done.logs, months, sys.stderr if output == "-" else sys.stdout)
    if done.code:
        raise typer.Exit(done.code)


@dataclass
class _Simulations:
    """The simulations of a command: its options, the results of each log, and the failures.

    Attributes
    ----------
    months, tabled
        Whether results are also by month, and whether they are printed as tables.
    outputs, plots
        The file of each log and policy; empty if none is written.
    thanked
        Logs whose authors have been named.
    code
        The exit code of the first failure.
    """

    asked: _Asked
    policies: Sequence[Policy | OwnPolicy]
    classes: Sequence[JobClass]
    conditional: Conditional | None
    months: bool
    tabled: bool
    outputs: Mapping[tuple[str, str], str]
    plots: Mapping[tuple[str, str], str]
    logs: list[list[dict[str, Any]]] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)
    thanked: set[str] = field(default_factory=set)
    code: int = 0

    def simulate(self, trace: str, bars: Sequence[Callable[[float], None]]) -> None:
        """Simulate a log under all policies, with a progress bar for each; report a failure."""
        try:
            self._simulate(trace, bars)
        except Exception as error:
            self._fail(trace, error)

    def _simulate(self, trace: str, bars: Sequence[Callable[[float], None]]) -> None:
        asked = self.asked
        log, jobs, facts = _prepared(trace, asked, self.thanked, tabled=self.tabled)
        priorities = priorities_of(self.classes, jobs, log) if self.classes else None
        results: list[dict[str, Any]] = []
        schedules, drawn = [], []
        for chosen, show in zip(self.policies, bars, strict=True):
            try:
                schedule = _simulated(jobs, chosen, asked.order, asked.overrun, priorities, self.conditional, show)
            except BadInput as error:
                if not isinstance(chosen, OwnPolicy):
                    raise
                self._fail(trace, error, policy=chosen.name)
                continue  # the other policies continue
            more = {**facts, **_source(chosen)}
            if priorities is not None:
                more["classes"] = class_documents(self.classes, priorities, schedule)
            results.append(_result(schedule, log, self.months, more, asked.command(trace, chosen, jobs.machine)))
            if len(results) == 1:
                self.logs.append(results)
            if self.outputs:
                _write(schedule, log, self.outputs[trace, str(chosen)])
            if self.plots:
                schedules.append(schedule)
                drawn.append(self.plots[trace, str(chosen)])
        if schedules:
            _draw(schedules, log, drawn)

    def _fail(self, trace: str, error: Exception, **more: str) -> None:
        """Report a failure; unexpected errors are raised again."""
        outcome = outcome_of(error)
        if outcome is None:
            raise error
        note(f"gas: {' '.join(str(error).split())}")
        self.failed.append({"path": trace, **more, "error": str(error)})
        self.code = self.code or outcome.exit_code


@dataclass(frozen=True)
class _Asked:
    """The options of a simulation other than policy and log."""

    order: Order
    overrun: Overrun
    processors: int | None
    month: list[str] | None
    since: str | None
    until: str | None
    first: int | None
    scale_load: float | None
    strict: bool
    unit: Unit
    classes: Sequence[str] = ()
    notice: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the options that a result does not contain anyway."""
        return {
            "selection": {"month": self.month or None, "from": self.since, "until": self.until, "first": self.first},
            "lenient": not self.strict,
            "unit": self.unit,
            "scale_load": self.scale_load,
        }

    def command(self, trace: str, policy: Policy | OwnPolicy, machine: int) -> str:
        """Return the command line that reproduces a result."""
        named = policy.named if isinstance(policy, OwnPolicy) else policy
        words = ["gas", "simulate", trace, "--policy", named, "--processors", str(machine)]
        words += ["--order", self.order, "--overrun", self.overrun]
        for each in self.month or []:
            words += ["--month", each]
        for each in self.classes:
            words += ["--class", each]
        given = {"--from": self.since, "--until": self.until, "--first": self.first, "--scale-load": self.scale_load}
        given["--notice"] = self.notice if policy == "s3" else None  # without --policy s3 it would be refused
        for option, value in given.items():
            words += [] if value is None else [option, str(value)]
        words += ["--unit", self.unit] if self.unit != "cpus" else []
        return shlex.join([*words, *(["--strict"] if self.strict else [])])


def _picture_suffixes() -> tuple[str, ...]:
    from importlib.util import find_spec

    from gas.pictures.canvas import SUFFIXES

    if find_spec("matplotlib") is None:
        raise Missing(f"pictures need matplotlib: {way_to_install('plot')}")
    return SUFFIXES


def _write(schedule: Schedule, log: Log, file: str) -> None:
    from gas.simulation.files import write_schedule

    write_schedule(schedule, log, file)
    if file != "-":
        note(f"gas: {file} written")


def _draw(schedules: Sequence[Schedule], log: Log, files: Sequence[str]) -> None:
    """Draw each file's schedules: one picture for all policies, or one each if {policy} is in the name."""
    from gas.pictures.simulation import draw_simulation

    for file in dict.fromkeys(files):
        shown = [one for one, its in zip(schedules, files, strict=True) if its == file]
        draw_simulation(shown, file, log=log, beside=schedules)
        note(f"gas: {file} written")


@contextmanager
def _one_bar(runs: int) -> Iterator[Callable[[int], Callable[[float], None]]]:
    """Show one bar for all runs; the block gets a function that returns the progress callback of each run."""
    with progress("simulating") as show:
        yield lambda number: lambda share: show((number + share) / runs)


def _prepared(trace: str, asked: _Asked, thanked: set[str], *, tabled: bool) -> tuple[Log, RigidJobs, dict[str, Any]]:
    """Return the selected part of a log, its jobs, and facts about them, which are also printed as notes."""
    import numpy as np

    from workloads import offered_load
    from workloads.selection import parts_of

    whole, digest = read_log_and_digest(trace, strict=asked.strict, thanked=thanked, unit=asked.unit)
    log = selected(whole, asked.month, asked.since, asked.until, asked.first)
    jobs, left_out = runnable(log, machine_of(log, asked.processors))
    for words in left_out:
        note(f"gas: {words}")
    factor = None
    if asked.scale_load is not None:
        jobs, before, factor = scaled(jobs, asked.scale_load)
        scaling = f"Load scaled from {before:.6g} to {asked.scale_load:.12g}"
        log = log.with_header(log.header.with_note(f"{scaling}: interarrival times multiplied by {factor:.12g}"))
    unknown, words = without_estimates(log, jobs)
    if words:
        note(f"gas: {words}")
    longer = int(np.count_nonzero(jobs.run_time > jobs.estimate))
    if longer and not (tabled and asked.overrun == "kill"):  # then the table says it
        what = {
            "kill": "killed at the estimate (--overrun extend lets them finish)",
            "extend": "the estimate is raised to the run time (--overrun kill kills them at it)",
        }[asked.overrun]
        note(f"gas: {log.name}: {longer:,} of {many(len(jobs), 'job')} ran longer than estimated: {what}")
    facts = {
        "path": trace,
        "sha256": digest,
        **asked.document(),
        "interarrival_factor": factor,
        "parts": list(parts_of(log)),
        "offered_load_uncut": offered_load(jobs),
        "malformed": sum(whole.skipped.values()),
        "left_out": dict(jobs.skipped),
        "without_estimate": unknown,
        "longer_than_estimate": longer,
    }
    return log, jobs, facts


def _simulated(
    jobs: RigidJobs,
    policy: Policy | OwnPolicy,
    order: Order,
    overrun: Overrun,
    priorities: NDArray[np.int64] | None,
    conditional: Conditional | None,
    show: Callable[[float], None],
) -> Schedule:
    from gas.compiled import announce, available, tell_of_compiling
    from gas.simulation.engine import run
    from gas.simulation.simulate import simulate

    if not available():
        note(f"gas: without numba, simulations take a hundred times as long: {way_to_install('sim')}")
    else:
        tell_of_compiling(lambda text: note(f"gas: {text}"))
        announce(run, "the simulator")
    if isinstance(policy, OwnPolicy):
        from gas.policies.apart import simulate_apart

        return simulate_apart(jobs, policy, overrun=overrun, progress=show)
    known = priorities if knows_classes(policy) else None
    if conditional is not None and policy == "s3":
        return conditional.simulate(jobs, overrun=overrun, progress=show)
    return simulate(jobs, policy, order=order, overrun=overrun, priorities=known, progress=show)


def _source(policy: Policy | OwnPolicy) -> dict[str, Any]:
    """Return data that identify a user's policy, besides its name."""
    return {"policy_source": policy.source()} if isinstance(policy, OwnPolicy) else {}


def _result(schedule: Schedule, log: Log, months: bool, facts: Mapping[str, Any], command: str) -> dict[str, Any]:
    from gas.simulation.metrics import document

    by_month: list[dict[str, Any]] = []
    if months:
        from gas.simulation.months import month_documents

        by_month = month_documents(schedule, log.epoch)
    return {"trace": log.name, **document(schedule, by_month), **facts, "command": command}
