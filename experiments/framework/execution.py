"""Computes the missing runs of a study, in processes or with Dask, all of them or a part."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from experiments.framework.compiling import compile_simulator
from experiments.framework.console import often_reported
from experiments.framework.cost import Entry, cost_report
from experiments.framework.dependencies import version_of
from experiments.framework.ledger import Configuration, Ledger, Result, differences
from experiments.framework.logs import Found
from gas.cli.tables import note
from gas.dask_workers import dask_client
from gas.errors import BadInput
from gas.printable import many
from gas.report.rendering import write

__all__ = ["computed", "part_of", "write_cost"]


def part_of(shard: str | None) -> tuple[int, int] | None:
    """Return the number of the part to compute and the number of parts; None for all.

    Raises
    ------
    BadInput
        The text does not name a part.
    """
    if shard is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise BadInput(f"--shard {shard}: must be I/N with I from 1 to N, such as 3/16")
    return int(match[1]), int(match[2])


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
    """Return the result of each configuration, computing those that are not yet in the output folder.

    None if only a part was requested.

    Parameters
    ----------
    of_configuration
        Computes a result from a configuration and the paths of the logs, `files`.
    workers
        Number of processes that compute; None for the number of processors.
    dask
        Address of a Dask scheduler whose workers compute instead; they need the logs under the same paths.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise BadInput(f"--output {output}: cannot create the folder: {why}; give one that you can write to") from None
    ledger = Ledger(output / "runs", version_of(of_configuration))
    run = partial(of_configuration, files={log.sha256: str(log.path) for log in logs})
    wanted = configurations if part is None else configurations[part[0] - 1 :: part[1]]
    if dask is None and any(ledger.find(run, one) is None for one in wanted):
        compile_simulator()
    try:
        with often_reported(len(wanted)) as show, nullcontext() if dask is None else dask_client(dask) as client:
            results = ledger.run(
                run,
                wanted,
                workers=workers or os.cpu_count() or 1,
                executor=None if client is None else client.get_executor(),
                progress=lambda count, _: show(count),
            )
    except KeyboardInterrupt:
        note(f"gas: results so far are kept in {ledger.folder}; repeat the command to continue")
        raise
    if part is None:
        if others := ledger.others(run, configurations):
            note(
                f"gas: {ledger.folder} also holds {many(len(others), 'run')} that this report leaves out: "
                f"{differences(others, configurations)}. An earlier report on them is overwritten; its command writes "
                "it again without computing."
            )
        note("gas: writing the report")
        return results
    kept = sum(ledger.find(run, one) is not None for one in configurations)
    note(
        f"gas: part {part[0]} of {part[1]} is done, {len(wanted)} computations; {ledger.folder} holds {kept} of all "
        f"{len(configurations)}. Run the same command without --shard for the report."
    )
    return None


def write_cost(
    study: str,
    of_configuration: Callable[..., Result],
    done: Sequence[tuple[str, Configuration, Result]],
    *,
    output: Path,
    command: str,
) -> list[Path]:
    """Write the cost of a study next to its report, and return the files.

    Parameters
    ----------
    study
        Its name, which is part of the file names.
    done
        Everything that was computed: a log, a configuration and its result, with the number of its "jobs" and, if any
        are moldable, of these or their "outcomes".
    command
        The command of the study, for the title.
    """
    ledger = Ledger(output / "runs", version_of(of_configuration))
    entries = []
    for log, configuration, result in done:
        cost = ledger.cost(of_configuration, configuration)
        if cost is not None:
            moldable = result.get("moldable", len(result.get("outcomes", ())))
            entries.append(Entry(log, result["jobs"], moldable, cost.seconds, cost.peak_bytes))
    return write(cost_report(command, entries), output, f"{study}-cost")
