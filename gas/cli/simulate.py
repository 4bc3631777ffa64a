"""``gas simulate``: logs through scheduling policies, as a table, JSON, schedules in files and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from gas.cli.logs import read_log
from gas.cli.progress import progress
from gas.cli.selection import First, From, Lenient, Month, Until, selected
from gas.cli.tables import note, print_json, print_table, say
from gas.errors import BadInput, Missing
from gas.simulation.schedule import POLICIES, Order, Policy
from speedup_models.fields import nearest
from workloads import Overrun

if TYPE_CHECKING:
    from gas.simulation.schedule import Schedule
    from workloads import Log, RigidJobs

__all__ = ["chosen_policies", "file_of", "simulate_command"]

_SCHEDULES = (".swf", ".swf.gz", ".csv", ".csv.gz")


class _Figure(NamedTuple):
    """A column of the tables."""

    title: str
    key: str
    shown: Callable[[float], str]
    better: int
    """-1 where less is better, 1 where more is, 0 where neither."""


def _seconds(value: float) -> str:
    return f"{value:,.0f}"


def _ratio(value: float) -> str:
    return f"{value:,.2f}"


def _share(value: float) -> str:
    return f"{value:.1%}"


_OF_JOBS = (
    _Figure("wait (s)", "mean_wait", _seconds, -1),
    _Figure("response (s)", "mean_response", _seconds, -1),
    _Figure("slowdown", "mean_slowdown", _ratio, -1),
    _Figure("bounded", "mean_bounded_slowdown", _ratio, -1),
    _Figure("unclamped", "mean_bounded_slowdown_unclamped", _ratio, -1),
    _Figure("backfilled", "backfilled", _share, 0),
)
_OF_MACHINE = (
    _Figure("utilization", "utilization", _share, 1),
    _Figure("capacity lost", "loss_of_capacity", _share, -1),
)


def _known_policies(incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{policy}" for policy in POLICIES if policy.startswith(last)]


def simulate_command(
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE...", help="Logs in SWF, plain or gzip; - is standard input.")
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="P[,P...]",
            autocompletion=_known_policies,
            help=f"{', '.join(POLICIES)}, or all (default: s3).",
        ),
    ] = None,
    processors: Annotated[
        int | None,
        typer.Option("--processors", "-p", min=1, max=2**31 - 1, help="Size of the machine (default: the log's)."),
    ] = None,
    order: Annotated[Order, typer.Option("--order", help="How events of one second are handled.")] = "instant",
    overrun: Annotated[
        Overrun, typer.Option("--overrun", help="What becomes of jobs that outlive their estimate.")
    ] = "kill",
    month: Month = None,
    since: From = None,
    until: Until = None,
    first: First = None,
    scale_load: Annotated[
        float | None,
        typer.Option("--scale-load", metavar="L", help="Let jobs arrive faster or slower, so that they offer load L."),
    ] = None,
    lenient: Lenient = False,
    months: Annotated[bool, typer.Option("--months", help="Also by the month of submission.")] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the schedule, .swf or .csv; {policy} is replaced."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the schedule, .png, .svg or .pdf; {policy} is replaced."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate the jobs of logs under scheduling policies.

    Several policies make a table in which the best of each column has a star. Several logs are simulated one after
    the other; {trace} in the name of a file is the log's name.
    """
    policies = chosen_policies(policy or ["s3"])
    if traces.count("-") > 1:
        raise BadInput("-: standard input can be read only once")
    outputs = _files(output, "--output", traces, policies, _SCHEDULES)
    plots = _files(plot, "--plot", traces, policies, _picture_suffixes() if plot else (), together=True)
    results: list[dict[str, Any]] = []
    with _one_bar(len(traces) * len(policies)) as bar_of:
        for trace in traces:
            log = selected(read_log(trace, lenient=lenient), month, since, until, first)
            jobs = _jobs(log, processors, scale_load)
            schedules = []
            for chosen in policies:
                schedule = _simulated(jobs, chosen, order, overrun, bar_of(len(results)))
                results.append(_result(schedule, log, months))
                if output:
                    _write(schedule, log, outputs[trace, chosen])
                if plot:
                    schedules.append(schedule)
            if plot:
                _draw(schedules, log, [plots[trace, chosen] for chosen in policies])
    if as_json:
        print_json({"schema": "gas.simulation/1", "results": results})
        return
    for i, name in enumerate(dict.fromkeys(result["trace"] for result in results)):
        if i:
            say()
        _show([result for result in results if result["trace"] == name], months)


def chosen_policies(texts: Sequence[str]) -> list[Policy]:
    """Return the policies that were named, in that order and each once.

    Raises
    ------
    BadInput
        One is not known, or none is named.
    """
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if not words:
        raise BadInput(f"--policy: names none; known: {', '.join(POLICIES)}")
    found: list[Policy] = []
    for word in words:
        known = [policy for policy in POLICIES if word in (policy, "all")]
        if not known:
            raise BadInput(f"--policy {word}: is not known{nearest(word, POLICIES)}; known: {', '.join(POLICIES)}, all")
        found += known
    return list(dict.fromkeys(found))


def file_of(template: str, trace: str, policy: str) -> str:
    """Return the name of the file for a policy on a log."""
    return template.replace("{policy}", policy).replace("{trace}", _stem(trace))


def _stem(trace: str) -> str:
    name = "stdin" if trace == "-" else Path(trace).name
    return name.removesuffix(".gz").removesuffix(".swf")


def _files(
    template: str | None,
    option: str,
    traces: Sequence[str],
    policies: Sequence[Policy],
    suffixes: tuple[str, ...],
    *,
    together: bool = False,
) -> dict[tuple[str, Policy], str]:
    """Return the file of each simulation, checked before anything is simulated.

    Parameters
    ----------
    together
        Whether all policies of a log may share a file.
    """
    if template is None:
        return {}
    if not template.lower().endswith(suffixes):
        raise BadInput(f"{option} {template}: the name must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    files = {(trace, policy): file_of(template, trace, policy) for trace in traces for policy in policies}
    wanted = []
    if len(policies) > 1 and not together and "{policy}" not in template:
        wanted.append(f"{{policy}}, since there are {len(policies)} policies")
    if len(traces) > 1 and "{trace}" not in template:
        wanted.append(f"{{trace}}, since there are {len(traces)} logs")
    if wanted:
        raise BadInput(f"{option} {template}: the name must hold {' and '.join(wanted)}")
    if len({_stem(trace) for trace in traces}) < len(traces):
        raise BadInput(f"{option} {template}: several logs have one name, so they would share a file; rename one")
    for file in files.values():
        if not Path(file).parent.is_dir():
            raise BadInput(f"{option} {file}: there is no folder {Path(file).parent}; make it first")
        if any(Path(file).exists() and Path(trace).exists() and Path(file).samefile(trace) for trace in traces):
            raise BadInput(f"{option} {file}: is a log that is read; choose another name")
    return files


def _picture_suffixes() -> tuple[str, ...]:
    from importlib.util import find_spec

    from gas.pictures.canvas import SUFFIXES

    if find_spec("matplotlib") is None:
        raise Missing("pictures need matplotlib; install it with: pip install 'apples-gas[plot]'")
    return SUFFIXES


def _write(schedule: Schedule, log: Log, file: str) -> None:
    from gas.simulation.files import write_schedule

    write_schedule(schedule, log, file)
    note(f"gas: {file} written")


def _draw(schedules: Sequence[Schedule], log: Log, files: Sequence[str]) -> None:
    """Draw each file's schedules: one picture for all, unless the names tell policies apart."""
    from gas.pictures.simulation import draw_simulation

    for file in dict.fromkeys(files):
        draw_simulation([one for one, its in zip(schedules, files, strict=True) if its == file], file, log=log)
        note(f"gas: {file} written")


@contextmanager
def _one_bar(runs: int) -> Iterator[Callable[[int], Callable[[float], None]]]:
    """Show one bar for all runs; the block asks for what each of them has to call."""
    with progress("simulating") as show:
        yield lambda number: lambda share: show((number + share) / runs)


def _jobs(log: Log, processors: int | None, scale_load: float | None) -> RigidJobs:
    from workloads import rigid_jobs, scale_to_load

    jobs = rigid_jobs(log, processors)
    for reason, count in jobs.skipped.items():
        note(f"gas: {log.name}: {count:,} of {len(log):,} jobs left out: {reason}")
    if len(jobs) == 0:
        raise BadInput(f"{log.name}: none of its {len(log):,} jobs can run on {jobs.machine:,} processors")
    if scale_load is not None:
        try:
            jobs = scale_to_load(jobs, scale_load)
        except ValueError as error:
            raise BadInput(f"--scale-load: {error}") from None
    return jobs


def _simulated(
    jobs: RigidJobs, policy: Policy, order: Order, overrun: Overrun, show: Callable[[float], None]
) -> Schedule:
    from gas.compiled import available, is_ready
    from gas.simulation.engine import run
    from gas.simulation.simulate import simulate

    if not available():
        note('gas: without numba this takes a hundred times as long: pip install "apples-gas[sim]"')
    elif not is_ready(run):
        note("gas: compiling the simulator, once; this takes about half a minute")
    return simulate(jobs, policy, order=order, overrun=overrun, progress=show)


def _result(schedule: Schedule, log: Log, months: bool) -> dict[str, Any]:
    from gas.simulation.metrics import document

    by_month: list[dict[str, Any]] = []
    if months:
        from gas.simulation.months import month_documents

        by_month = month_documents(schedule, log.epoch)
    return {"trace": log.name, **document(schedule, by_month)}


def _show(results: Sequence[dict[str, Any]], months: bool) -> None:
    one = results[0]
    left_out = f", {one['skipped']:,} left out" if one["skipped"] else ""
    short = f" ({one['zero_length']:,} of length 0, not in slowdown)" if one["zero_length"] else ""
    say(
        f"{one['trace']}: {one['jobs']:,} jobs{short}{left_out}, {one['processors']:,} processors; "
        f"order {one['order']}, overrun {one['overrun']}"
    )
    figures = (*_OF_JOBS, *_OF_MACHINE)
    rows = [[result["policy"], *cells] for result, cells in zip(results, _cells(results, figures), strict=True)]
    print_table(["policy", *(figure.title for figure in figures)], rows, left=["policy"])
    if not months:
        return
    rows = []
    for number, month in enumerate(one["months"]):
        here = [result["months"][number] for result in results]
        for i, (result, cells) in enumerate(zip(results, _cells(here, _OF_JOBS), strict=True)):
            first = [month["month"], f"{month['jobs']:,}", f"{month['load']:.3f}"] if i == 0 else ["", "", ""]
            rows.append([*first, result["policy"], *cells])
    say()
    print_table(
        ["month", "jobs", "load", "policy", *(figure.title for figure in _OF_JOBS)], rows, left=["month", "policy"]
    )


def _cells(results: Sequence[dict[str, Any]], figures: Sequence[_Figure]) -> list[list[str]]:
    """Return the cells of a table, a row for each result; the best of each column has a star if one is better."""
    rows: list[list[str]] = [[] for _ in results]
    for figure in figures:
        values = [result[figure.key] for result in results]
        texts = ["-" if value is None else figure.shown(value) for value in values]
        known = [value for value in values if value is not None]
        best = ""
        if figure.better and known and len(set(texts)) > 1:  # differences that are not shown are none
            best = figure.shown(max(known) if figure.better > 0 else min(known))
        for row, text in zip(rows, texts, strict=True):
            row.append(text + ("*" if text == best else " ") if best else text)
    return rows
