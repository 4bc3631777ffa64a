"""The command ``gas experiment power``."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gas.cli.progress import progress
from gas.cli.tables import note, say
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.power_study import Options, Study

__all__ = ["power_command"]

SOURCES = (
    "workloads",
    "gas.simulation",
    "gas.s3",
    "gas.profile",
    "gas.planner",
    "gas.application",
    "speedup_models",
    "experiments.benchmarks",
    "experiments.substitution",
    "experiments.losses",
    "experiments.power",
    "experiments.logs",
)
"""What results depend on; another version of it computes anew."""
LIBRARIES = ("numpy", "scipy")


def power_command(
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces", metavar="DIR", envvar="GAS_TRACES", help="The folder of the logs, under their archive names."
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the report goes; results are kept there too.")
    ] = Path("power"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first one.")] = 0,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=1000, help="How many, on the paper's terms.")] = 5,
    runs: Annotated[
        int, typer.Option("--runs", min=2, metavar="N", help="Jobs of a month that give way, one at a time.")
    ] = 210,
    others: Annotated[
        bool, typer.Option("--other-terms/--no-other-terms", help="Other opponents, data sets and policies, too.")
    ] = True,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=256, help="Processes (default: one a processor).")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option("--shard", metavar="I/N", help="Compute the I-th of N parts only, without a report (job arrays)."),
    ] = None,
) -> None:
    """Compare Gas with static requests, one moldable job at a time.

    Replaces jobs of real logs by NAS benchmarks, one in each run, and reproduces Tables 5.1 to 5.7 of Cirne and Berman
    (1999), every figure beside the published one. Every size that the benchmark accepts is followed to its end, so that
    the best choice in hindsight is known. May be interrupted: what was computed is kept, and the next call goes on.

    With three logs and two processors the whole study takes 10 to 20 minutes, with --no-other-terms --seeds 1 two.
    """
    from experiments.power_study import Options

    options = Options(seed, seeds, runs, others)
    part = _part(shard)
    study = _study(traces, output, options, workers or os.cpu_count() or 1, part)
    if study is None:
        note("gas: this part is done; without --shard, and with all parts in the folder, the report is made")
        return
    chosen = f"gas experiment power --traces TRACES --seed {seed} --seeds {seeds} --runs {runs}"
    _report(study, output, chosen + ("" if others else " --no-other-terms"))


def _part(shard: str | None) -> tuple[int, int] | None:
    if shard is None:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", shard)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise BadInput(f"--shard {shard}: must be I/N with I from 1 to N, say 3/16")
    return int(match[1]), int(match[2])


def _study(
    traces: Path | None, output: Path, options: Options, workers: int, part: tuple[int, int] | None
) -> Study | None:
    """Return the study, with what is not kept yet computed; None if only a part was."""
    from experiments.compiling import compile_simulator
    from experiments.ledger import Ledger, sources_version
    from experiments.logs import find_logs
    from experiments.power import power_run
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
    of_months, too_small = month_runs(options, logs)
    if not of_months:
        raise BadInput("there is no log to study; name a folder with logs of CTC-SP2, KTH-SP2 or SDSC-SP2 by --traces")
    ledger = Ledger(output / "runs", sources_version(SOURCES, LIBRARIES))
    run = partial(power_run, files={log.sha256: str(log.path) for log in logs})
    wanted = [one.configuration for one in of_months]
    if part is not None:
        wanted = wanted[part[0] - 1 :: part[1]]
    if any(ledger.find(run, one) is None for one in wanted):
        compile_simulator()
    with progress("simulating") as show:
        results = ledger.run(run, wanted, workers=workers, progress=lambda count, _: show(count / len(wanted)))
    return Study(options, of_months, results, absent, too_small) if part is None else None


def _report(study: Study, output: Path, command: str) -> None:
    from importlib.metadata import version

    from experiments.backfilling_report import Origin
    from experiments.ledger import sources_version
    from experiments.power_claims import claims
    from experiments.power_report import banner, power_report
    from experiments.records import table_files
    from experiments.report import write, write_files

    libraries = tuple(f"{name} {version(name)}" for name in (*LIBRARIES, "matplotlib"))
    origin = Origin(version("apples-gas"), sources_version(SOURCES, LIBRARIES), libraries, command)
    written = write(power_report(study, origin), output, "power")
    rows = [
        {"log": run.site.trace, "month": run.month, "terms": run.terms.name, "seed": run.seed, **outcome}
        | {"still_loses": ", ".join(outcome["still_loses"])}
        for run, result in zip(study.runs, study.results, strict=True)
        for outcome in result["outcomes"]
    ]
    written += write_files(output, table_files("outcomes", rows))
    if words := banner(study):
        say(words)
    for claim in claims(study):
        verdict = "reported" if claim.holds is None else "yes" if claim.holds else "no"
        say(f"{verdict:>10}  {claim.text}: {claim.here}")
    for path in written:
        note(f"gas: {path} written")
