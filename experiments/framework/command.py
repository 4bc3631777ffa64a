"""What the commands share whose studies replace jobs in months of logs: finding logs, computing, naming the origin."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.framework.console import tell, tell_verdict, told_often
from gas.cli.logs import courtesy
from gas.cli.tables import note
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.framework.claims import Claim
    from experiments.framework.ledger import Configuration, Ledger, Result
    from experiments.framework.logs import Found, Source
    from experiments.framework.report import Report

__all__ = ["computed", "logs_at_hand", "part_of", "tell_claims", "write_cost", "write_study"]


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
    from experiments.framework.logs import SOURCES, find_logs

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
    from experiments.framework.cluster import dask_executor
    from experiments.framework.compiling import compile_simulator

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
    from experiments.framework.cost import Entry, cost_report
    from experiments.framework.report import write

    ledger = _ledger(output, of_configuration)
    entries = []
    for log, configuration, result in done:
        cost = ledger.cost(of_configuration, configuration)
        if cost is not None:
            moldable = result["moldable"] if "moldable" in result else len(result["outcomes"])
            entries.append(Entry(log, result["jobs"], moldable, cost.seconds, cost.peak_bytes))
    return write(cost_report(study, entries), output, f"{study}-cost")


def _ledger(output: Path, of_configuration: Callable[..., Result]) -> Ledger:
    from experiments.framework.dependencies import version_of
    from experiments.framework.ledger import Ledger

    return Ledger(output / "runs", version_of(of_configuration))


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
    from experiments.framework.records import table_files
    from experiments.framework.report import write, write_files

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
