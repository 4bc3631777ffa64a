"""What the commands share whose studies replace jobs in months of logs: finding logs, computing, naming the origin."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.telling import tell, tell_verdict, told_often
from gas.cli.logs import courtesy
from gas.cli.tables import note
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.backfilling_report import Origin
    from experiments.ledger import Configuration, Ledger, Result
    from experiments.logs import Found, Source
    from experiments.power_claims import Claim
    from experiments.power_study import Options, Study, Terms
    from experiments.report import Report

__all__ = ["computed", "logs_at_hand", "origin_of", "part_of", "study_of", "tell_claims"]
__all__ += ["write_cost", "write_study"]


def part_of(shard: str | None) -> tuple[int, int] | None:
    """Return which part of how many is to be computed, None for all.

    Raises
    ------
    BadInput
        It is no such part.
    """
    if shard is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise BadInput(f"--shard {shard}: must be I/N with I from 1 to N, say 3/16")
    return int(match[1]), int(match[2])


def logs_at_hand(
    traces: Path | None, wanted: Collection[str], more: Sequence[Source] = (), named: Sequence[Found] = ()
) -> tuple[list[Found], list[str]]:
    """Return those of the wanted logs that are in a folder, and in words those that are not; say so, and whom to thank.

    Parameters
    ----------
    wanted
        What the papers call them.
    more
        Logs that one study alone wants; they come first.
    named
        Those of them whose files were named one by one.

    Raises
    ------
    BadInput
        There is none of them, or one cannot be read.
    """
    from experiments.logs import SOURCES, find_logs

    sources = [*more, *(source for source in SOURCES if source.trace in wanted)]
    given = [log.source for log in named]
    logs, missing, left_out = find_logs(traces, [source for source in sources if source not in given])
    absent = [f"no log {source.stem}-*.swf.gz" for source in missing]
    logs = [*named, *logs]
    for words in left_out:
        note(f"gas: left out: {words}")
    for words in absent:
        note(f"gas: {words} {f'in {traces}' if traces else 'at hand (name a folder with --traces or GAS_TRACES)'}")
    for log in logs:
        if thanks := courtesy(log.header.acknowledgements):
            note(f"log: {log.name}, {thanks}")
    if not logs:
        stems = ", ".join(source.stem for source in sources)
        raise BadInput(f"there is no log to study; name a folder with one of these by --traces: {stems}")
    return logs, absent


def computed(
    of_configuration: Callable[..., Result],
    configurations: Sequence[Configuration],
    logs: Sequence[Found],
    *,
    output: Path,
    workers: int | None,
    part: tuple[int, int] | None = None,
    dask: str | None = None,
) -> list[Result] | None:
    """Return the result of each configuration, computing what is not kept in the output folder yet.

    None if only a part was to be computed.

    Parameters
    ----------
    of_configuration
        What computes a result from a configuration and the paths of the logs, `files`.
    workers
        Processes that compute; as many as there are processors if None.
    dask
        The address of a Dask scheduler whose workers compute instead.
    """
    from experiments.cluster import dask_executor
    from experiments.compiling import compile_simulator

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"--output {output}: cannot be made a folder: {why}; name one that may be written") from None
    ledger = _ledger(output, of_configuration)
    run = partial(of_configuration, files={log.sha256: str(log.path) for log in logs})
    wanted = configurations if part is None else configurations[part[0] - 1 :: part[1]]
    if dask is None and any(ledger.find(run, one) is None for one in wanted):
        compile_simulator()
    try:
        with told_often("simulating") as show, nullcontext() if dask is None else dask_executor(dask) as executor:
            results = ledger.run(
                run,
                wanted,
                workers=workers or os.cpu_count() or 1,
                executor=executor,
                progress=lambda count, _: show(count / len(wanted)),
            )
    except KeyboardInterrupt:
        note(f"gas: what was computed is kept in {ledger.folder}; the same command goes on from there")
        raise
    if part is None:
        note("gas: making the report")
        return results
    kept = sum(ledger.find(run, one) is not None for one in configurations)
    note(
        f"gas: part {part[0]} of {part[1]} is done, {len(wanted)} computations; {kept} of all {len(configurations)} "
        f"are in {ledger.folder}. The report is made by the same command without --shard."
    )
    return None


def write_cost(
    study: str,
    of_configuration: Callable[..., Result],
    done: Sequence[tuple[str, Configuration, Result]],
    *,
    output: Path,
) -> list[Path]:
    """Write what a study cost beside its report, and return the files.

    Parameters
    ----------
    study
        Its name on the command line.
    done
        What was computed: a log, a configuration and its result, which counts its "jobs", and the "moldable" ones or
        their "outcomes".
    """
    from experiments.cost import Entry, cost_report
    from experiments.report import write

    ledger = _ledger(output, of_configuration)
    entries = []
    for log, configuration, result in done:
        cost = ledger.cost(of_configuration, configuration)
        if cost is not None:
            moldable = result["moldable"] if "moldable" in result else len(result["outcomes"])
            entries.append(Entry(log, result["jobs"], moldable, cost.seconds, cost.peak_bytes))
    return write(cost_report(study, entries), output, f"{study}-cost")


def _ledger(output: Path, of_configuration: Callable[..., Result]) -> Ledger:
    from experiments.dependencies import version_of
    from experiments.ledger import Ledger

    return Ledger(output / "runs", version_of(of_configuration))


def study_of(
    of_month: Callable[..., Result],
    terms: Sequence[Terms],
    options: Options,
    traces: Path | None,
    *,
    output: Path,
    workers: int | None,
    part: tuple[int, int] | None,
    dask: str | None = None,
) -> Study | None:
    """Return a study of months, with what is not kept yet computed; None if only a part was. See `computed`."""
    from experiments.power_study import SITES, Study, cost_runs, month_runs

    logs, absent = logs_at_hand(traces, {site.trace for site in SITES})
    of_months, too_small = month_runs(options, logs, terms)
    if not of_months:
        raise BadInput(f"no month has enough jobs for {options.runs} runs; give fewer by --runs")
    configurations = [one.configuration for one in of_months]
    more = cost_runs(of_months)
    configurations += [one.configuration for one in more]
    results = computed(of_month, configurations, logs, output=output, workers=workers, part=part, dask=dask)
    if results is None:
        return None
    count = len(of_months)
    too_small += [
        f"{one.log.name} {one.month}, {one.terms.name}: {result['too_few']}"
        for one, result in zip(of_months, results, strict=False)
        if "too_few" in result
    ]
    if not any(result["outcomes"] for one, result in zip(of_months, results, strict=False) if one.terms == terms[0]):
        raise BadInput(f"--runs {options.runs}: no month has so many jobs that can give way; {too_small[-1]}")
    return Study(options, of_months, results[:count], absent, too_small, list(zip(more, results[count:], strict=True)))


def write_study(
    name: str,
    report: Report,
    tables: Mapping[str, Sequence[dict[str, Any]]],
    claims: Sequence[Claim],
    *,
    of_configuration: Callable[..., Result],
    done: Sequence[tuple[str, Configuration, Result]],
    output: Path,
) -> None:
    """Write a study's report, its tables and what it cost, and say which statements hold.

    Parameters
    ----------
    name
        Of the study on the command line; files are named after it.
    tables
        Rows by the second part of the name of their files.
    of_configuration, done
        See `write_cost`.
    """
    from experiments.records import table_files
    from experiments.report import write, write_files

    written = write(report, output, name)
    for part, rows in tables.items():
        written += write_files(output, table_files(f"{name}-{part}", rows))
    written += write_cost(name, of_configuration, done, output=output)
    if report.banner:
        tell(report.banner)
    tell_claims(claims)
    for path in written:
        note(f"gas: {path} written")


def tell_claims(found: Sequence[Claim]) -> None:
    """Say which statements hold."""
    for claim in found:
        verdict = "no verdict" if claim.holds is None else "yes" if claim.holds else "no"
        tell_verdict(verdict, f"{claim.text}: {claim.here}")


def origin_of(command: str, of_configuration: Callable[..., Result]) -> Origin:
    """Return what makes a report: a command, and the function that computes a result from a configuration."""
    from importlib.metadata import version

    from experiments.backfilling_report import Origin
    from experiments.dependencies import LIBRARIES, installed, version_of

    libraries = installed((*LIBRARIES, "matplotlib"))
    return Origin(version("apples-gas"), version_of(of_configuration), libraries, command)
