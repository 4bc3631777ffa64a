"""The study of predictions, as the command line finds it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from experiments.framework.options import FirstSeed, whole_number
from experiments.framework.sites import SITES
from experiments.framework.study import Study
from experiments.prediction.claims import claims
from experiments.prediction.report import TABLES, prediction_report
from experiments.prediction.results import FULL, QUICK, Options, planned, summarised
from experiments.prediction.run import prediction_run

__all__ = ["STUDY"]


def prediction_options(
    seed: FirstSeed = 0,
    seeds: Annotated[int | None, whole_number("--seeds", 1, 1000, help="Seeds of the choice (default: 1).")] = None,
    jobs: Annotated[
        int | None, whole_number("--jobs", 1, help="Jobs of a month that are predicted (default: 60).")
    ] = None,
    samples: Annotated[
        int | None, whole_number("--samples", 1, help="Samples of each prediction (default: 300).")
    ] = None,
    runs: Annotated[
        int | None, whole_number("--runs", 2, help="Jobs of a month that a benchmark replaces (default: 210).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A first look: few jobs of the last two months.")] = False,
) -> Options:
    """Check predicted starts, and choosing by them.

    Predicts starts of jobs in every month of the logs at hand and counts how often the true start lies in the
    predicted interval. The constants of the prediction were chosen on the first half of each log; the verdicts come
    from the second. Then runs the months of `gas experiment power` again, one moldable job at a time, and compares
    choosing by predictions with choosing by promises.

    With three logs and two processors it takes 10 to 20 minutes, with --quick half a minute.
    """
    given = {"seeds": seeds, "jobs": jobs, "samples": samples, "runs": runs}
    changed = {name: value for name, value in given.items() if value is not None}
    return replace(QUICK if quick else FULL, seed=seed, **changed)


STUDY = Study(
    "prediction",
    prediction_options,
    traces={site.trace for site in SITES},
    runs=planned,
    run=prediction_run,
    summarise=summarised,
    report=prediction_report,
    tables=TABLES,
    claims=lambda study: {"": claims(study)},
    by_month=True,
    own_logs=True,
)
