"""The study of predictions, as the command line finds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from experiments.framework.options import FirstSeed, whole_number
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.prediction.bakeoff_report import bakeoff_claims
from experiments.prediction.claims import claims
from experiments.prediction.report import TABLES, prediction_report
from experiments.prediction.results import FULL, PARTS, QUICK, Options, planned, summarised
from experiments.prediction.run import prediction_run
from gas.errors import BadInput

__all__ = ["STUDY"]


def prediction_options(
    seed: FirstSeed = 0,
    seeds: Annotated[int | None, whole_number("--seeds", 1, 1000, help="Seeds of part choice (default: 1).")] = None,
    jobs: Annotated[int | None, whole_number("--jobs", 1, help="Jobs predicted in each month (default: 60).")] = None,
    samples: Annotated[int | None, whole_number("--samples", 1, 10_000, help="Samples (default: 300).")] = None,
    runs: Annotated[int | None, whole_number("--runs", 2, help="Jobs replaced in each month (default: 210).")] = None,
    waits: Annotated[int | None, whole_number("--waits", 50, help="Part waits: jobs of a log (default: 1000).")] = None,
    only: Annotated[str, typer.Option("--only", metavar="PART", help="Only this part: waits, starts or choice.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A first look: few jobs of the last two months.")] = False,
) -> Options:
    """Compare predictions of waits, and requests chosen by them.

    Part waits: all methods predict recorded and simulated waits of the same jobs (--log also takes a folder). Part
    starts: they predict starts in simulations of S³. Part choice: moldable jobs choose their requests by predictions,
    as in `gas experiment power`, and are watched while they wait. No method is scored on data with which it was tuned.
    All parts: two to three hours; --quick: minutes.
    """
    if only and only not in PARTS:
        raise BadInput(f"--only {only}: is not a part of this study, which has {', '.join(PARTS)}")
    given = {"seeds": seeds, "jobs": jobs, "samples": samples, "runs": runs, "waits": waits}
    changed = {name: value for name, value in given.items() if value is not None}
    return replace(QUICK if quick else FULL, seed=seed, only=only, **changed)


STUDY = Study(
    "prediction",
    prediction_options,
    traces={*(site.trace for site in SITES), "CM5"},
    runs=planned,
    run=prediction_run,
    summarise=summarised,
    report=prediction_report,
    tables=TABLES,
    claims=lambda study: {"": [*bakeoff_claims(study), *claims(study)]},
    by_month=True,
    own_logs=True,
)
