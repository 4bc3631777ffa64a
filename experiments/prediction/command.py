"""The command ``gas experiment prediction``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.framework.command import computed, logs_at_hand, part_of, write_study
from experiments.framework.options import (
    DaskOption,
    OutputOption,
    ShardOption,
    TracesOption,
    WorkersOption,
    whole_number,
    whole_seed,
)
from experiments.framework.origin import origin_of
from gas.errors import BadInput

if TYPE_CHECKING:
    from experiments.prediction.results import Study

__all__ = ["prediction_command"]


def prediction_command(
    traces: TracesOption = None,
    output: OutputOption = Path("prediction"),
    seed: Annotated[int, whole_seed("The first one.")] = 0,
    seeds: Annotated[int | None, whole_number("--seeds", 1, 1000, help="Of the choice (default: 1).")] = None,
    jobs: Annotated[
        int | None,
        whole_number("--jobs", 1, help="Jobs of a month that are predicted (default: 60)."),
    ] = None,
    samples: Annotated[int | None, whole_number("--samples", 1, help="Of each prediction (default: 300).")] = None,
    runs: Annotated[
        int | None,
        whole_number("--runs", 2, help="Jobs of a month that give way (default: 210)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few jobs of the last two months: a first look, labelled so.")
    ] = False,
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """Whether predictions are right, and whether it helps to choose by them.

    Predicts starts of jobs in every month of the logs at hand and looks whether the truth lies in the intervals: the
    constants of the prediction were chosen on the first half of each log, verdicts come from the second. Then the
    months of `gas experiment power` again, one moldable job at a time, with a Gas that chooses by predictions beside
    one that does not. May be interrupted: what was computed is kept, and the next call goes on.

    With three logs and two processors it takes 10 to 20 minutes, with --quick half a minute.
    """
    from experiments.framework.sites import SITES
    from experiments.prediction.results import FULL, QUICK, Study, study_runs
    from experiments.prediction.run import prediction_run

    given = {"seeds": seeds, "jobs": jobs, "samples": samples, "runs": runs}
    changed = {name: value for name, value in given.items() if value is not None}
    options = replace(QUICK if quick else FULL, seed=seed, **changed)
    logs, absent = logs_at_hand(traces, {site.trace for site in SITES})
    calibrations, choices, left_out = study_runs(options, logs)
    if not choices:
        raise BadInput(f"no month has enough jobs for {options.runs} runs; give fewer by --runs")
    results = computed(
        prediction_run,
        [*(run.configuration for run in calibrations), *(run.configuration for run in choices)],
        logs,
        output=output,
        workers=workers,
        part=part_of(shard),
        dask=dask,
    )
    if results is None:
        return
    count = len(calibrations)
    left_out += [
        f"{run.log.name} {run.of.month}: {result['too_few']}"
        for run, result in zip(choices, results[count:], strict=True)
        if "too_few" in result
    ]
    study = Study(options, calibrations, results[:count], choices, results[count:], absent, left_out)
    chosen = "".join(f" --{name} {value}" for name, value in changed.items())
    chosen = f"gas experiment prediction --traces TRACES --seed {seed}{chosen}{' --quick' if quick else ''}"
    _report(study, output, chosen)


def _report(study: Study, output: Path, command: str) -> None:
    from experiments.prediction.claims import claims
    from experiments.prediction.report import choice_rows, prediction_report, prediction_rows
    from experiments.prediction.run import prediction_run

    write_study(
        "prediction",
        prediction_report(study, origin_of(command, prediction_run)),
        {"starts": prediction_rows(study), "choices": choice_rows(study)},
        claims(study),
        of_configuration=prediction_run,
        done=study.done,
        output=output,
    )
