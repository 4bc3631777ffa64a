"""What the commands share whose studies replace jobs in months of logs: finding logs, computing, naming the origin."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gas.cli.progress import progress
from gas.cli.tables import note
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.backfilling_report import Origin
    from experiments.ledger import Result
    from experiments.power_study import Options, Study, Terms

__all__ = ["origin_of", "part_of", "study_of"]

SOURCES = (
    "workloads",
    "gas.simulation",
    "gas.s3",
    "gas.profile",
    "gas.planner",
    "gas.walk",
    "gas.application",
    "speedup_models",
    "experiments.benchmarks",
    "experiments.substitution",
    "experiments.losses",
    "experiments.power",
    "experiments.walk",
    "experiments.logs",
)
"""What results depend on; another version of it computes anew."""
LIBRARIES = ("numpy", "scipy")


def part_of(shard: str | None) -> tuple[int, int] | None:
    """Return which part of how many is to be computed, None for all.

    Raises
    ------
    BadInput
        It is no such part.
    """
    if shard is None:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise BadInput(f"--shard {shard}: must be I/N with I from 1 to N, say 3/16")
    return int(match[1]), int(match[2])


def study_of(
    of_month: Callable[..., Result],
    terms: Sequence[Terms],
    options: Options,
    traces: Path | None,
    output: Path,
    workers: int,
    part: tuple[int, int] | None,
    dask: str | None = None,
) -> Study | None:
    """Return a study, with what is not kept yet computed; None if only a part was.

    Parameters
    ----------
    of_month
        What computes a month from its configuration and the paths of the logs.
    dask
        The address of a Dask scheduler whose workers compute; else `workers` processes do.

    Raises
    ------
    BadInput
        There is no log to study.
    """
    from experiments.cluster import dask_executor
    from experiments.compiling import compile_simulator
    from experiments.ledger import Ledger, sources_version
    from experiments.logs import find_logs
    from experiments.power_study import SITES, Study, month_runs

    logs, missing, left_out = find_logs(traces)
    sites = {site.trace for site in SITES}
    absent = [f"no log {source.stem}-*.swf.gz" for source in missing if source.trace in sites]
    logs = [log for log in logs if log.source.trace in sites]
    for words in left_out:
        note(f"gas: left out: {words}")
    for words in absent:
        note(f"gas: {words} {f'in {traces}' if traces else 'at hand (name a folder with --traces or GAS_TRACES)'}")
    for log in logs:
        for line in log.header.acknowledgements:
            note(f"log: {log.name}: {' '.join(line.split())}")
    of_months, too_small = month_runs(options, logs, terms)
    if not of_months:
        raise BadInput("there is no log to study; name a folder with logs of CTC-SP2, KTH-SP2 or SDSC-SP2 by --traces")
    ledger = Ledger(output / "runs", sources_version(SOURCES, LIBRARIES))
    run = partial(of_month, files={log.sha256: str(log.path) for log in logs})
    wanted = [one.configuration for one in of_months]
    if part is not None:
        wanted = wanted[part[0] - 1 :: part[1]]
    if dask is None and any(ledger.find(run, one) is None for one in wanted):
        compile_simulator()
    with progress("simulating") as show, nullcontext() if dask is None else dask_executor(dask) as executor:
        results = ledger.run(
            run, wanted, workers=workers, executor=executor, progress=lambda count, _: show(count / len(wanted))
        )
    return Study(options, of_months, results, absent, too_small) if part is None else None


def origin_of(command: str) -> Origin:
    """Return what makes a report that is made by a command."""
    from importlib.metadata import version

    from experiments.backfilling_report import Origin
    from experiments.ledger import sources_version

    libraries = tuple(f"{name} {version(name)}" for name in (*LIBRARIES, "matplotlib"))
    return Origin(version("apples-gas"), sources_version(SOURCES, LIBRARIES), libraries, command)
