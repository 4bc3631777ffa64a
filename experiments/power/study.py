"""The study of one moldable job at a time, as the command line finds it."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.framework.options import FirstSeed, OtherTerms, Seeds, whole_number
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.moldable.months import Options, planned, summarised
from experiments.moldable.terms import BASE, TERMS, chosen_terms, perfect
from experiments.power.claims import claims
from experiments.power.report import TABLES, power_report
from experiments.power.run import power_run

__all__ = ["STUDY"]


def power_options(
    seed: FirstSeed = 0,
    seeds: Seeds = 5,
    runs: Annotated[
        int, whole_number("--runs", 2, help="Jobs of each month that a benchmark replaces, one at a time.")
    ] = 210,
    others: OtherTerms = True,
    mix: Annotated[
        str, typer.Option("--mix", metavar="MIX", help="Benchmarks: thirds, uniform, unrestricted or restricted.")
    ] = "thirds",
    opponent: Annotated[
        str, typer.Option("--opponent", metavar="NAME", help="Size of fixed requests: uniform, powers (of two) or own.")
    ] = "uniform",
    dataset: Annotated[
        str, typer.Option("--dataset", metavar="NAME", help="Times of benchmarks: default, or a data set's name.")
    ] = "default",
    accuracy: Annotated[
        float, typer.Option("--accuracy", metavar="X", help="Share of its walltime that a benchmark uses, at most 1.")
    ] = 1.0,
    policy: Annotated[str, typer.Option("--policy", metavar="NAME", help="Policy; it must plan starts.")] = "s3",
    filled: Annotated[bool, typer.Option("--filled/--measured-sizes", help="Also use sizes in between.")] = True,
    era: Annotated[bool, typer.Option("--era/--as-measured", help="Scale times to nodes of the 1990s.")] = True,
) -> Options:
    """Compare Gas with fixed requests, one job at a time.

    Replaces jobs of real logs with NAS benchmarks, one per simulation, and reproduces Tables 5.1 to 5.7 of Cirne and
    Berman (1999) next to the published figures. Each job is simulated at every size that its benchmark accepts, which
    shows the best choice in hindsight.

    With three logs and two processors it takes 10 to 20 minutes; with --no-other-terms --seeds 1, two minutes. If you
    set any option from --mix to --as-measured, only your settings are run.
    """
    base = chosen_terms(
        mix=mix, opponent=opponent, dataset=dataset, filled=filled, era=era, accuracy=accuracy, policy=policy
    )
    return Options(seed, seeds, runs, others and base == BASE, base)


STUDY = Study(
    "power",
    power_options,
    traces={site.trace for site in SITES},
    runs=lambda options, logs: planned(
        options, logs, TERMS if options.others else (options.terms, perfect(options.terms))
    ),
    run=power_run,
    summarise=summarised,
    report=power_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    quick={"seeds": 1, "runs": 30, "others": False},
    by_month=True,
    own_logs=True,
)
