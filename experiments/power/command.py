"""The command ``gas experiment power``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.framework.command import part_of, write_study
from experiments.framework.options import (
    AccuracyOption,
    DaskOption,
    DatasetOption,
    EraOption,
    MixOption,
    OpponentOption,
    OutputOption,
    PolicyOption,
    ShardOption,
    SizesOption,
    TracesOption,
    WorkersOption,
    whole_number,
    whole_seed,
)
from experiments.framework.origin import origin_of
from experiments.moldable.computing import study_of

if TYPE_CHECKING:
    from experiments.moldable.months import Study

__all__ = ["power_command"]


def power_command(
    traces: TracesOption = None,
    output: OutputOption = Path("power"),
    seed: Annotated[int, whole_seed("The first one.")] = 0,
    seeds: Annotated[int, whole_number("--seeds", 1, 1000, help="How many, on the paper's terms.")] = 5,
    runs: Annotated[int, whole_number("--runs", 2, help="Jobs of a month that give way, one at a time.")] = 210,
    others: Annotated[
        bool, typer.Option("--other-terms/--no-other-terms", help="Other opponents, data sets and policies, too.")
    ] = True,
    mix: MixOption = "thirds",
    opponent: OpponentOption = "uniform",
    dataset: DatasetOption = "default",
    filled: SizesOption = True,
    era: EraOption = True,
    accuracy: AccuracyOption = 1.0,
    policy: PolicyOption = "s3",
    workers: WorkersOption = None,
    shard: ShardOption = None,
    dask: DaskOption = None,
) -> None:
    """Compare Gas with static requests, one moldable job at a time.

    Replaces jobs of real logs by NAS benchmarks, one in each run, and reproduces Tables 5.1 to 5.7 of Cirne and Berman
    (1999), every figure beside the published one. Every size that the benchmark accepts is followed to its end, so that
    the best choice in hindsight is known. May be interrupted: what was computed is kept, and the next call goes on.

    With three logs and two processors the whole study takes 10 to 20 minutes, with --no-other-terms --seeds 1 two.

    On terms of your own (--mix to --policy) no others are run beside them.
    """
    from experiments.moldable.months import Options
    from experiments.moldable.terms import BASE, TERMS, chosen_terms, perfect
    from experiments.power.run import power_run

    base = chosen_terms(
        mix=mix, opponent=opponent, dataset=dataset, filled=filled, era=era, accuracy=accuracy, policy=policy
    )
    others = others and base == BASE
    options = Options(seed, seeds, runs, others, base)
    terms = TERMS if others else (base, perfect(base))
    study = study_of(
        power_run,
        terms,
        options,
        traces,
        output=output,
        workers=workers,
        part=part_of(shard),
        dask=dask,
    )
    if study is None:
        return
    chosen = f"gas experiment power --traces TRACES --seed {seed} --seeds {seeds} --runs {runs}"
    chosen += "" if others else " --no-other-terms"
    if base != BASE:
        chosen += f" --mix {mix} --opponent {opponent} --dataset {dataset} --accuracy {accuracy:g} --policy {policy}"
        chosen += ("" if filled else " --measured-sizes") + ("" if era else " --as-measured")
    _report(study, output, chosen)


def _report(study: Study, output: Path, command: str) -> None:
    from experiments.power.claims import claims
    from experiments.power.report import power_report
    from experiments.power.run import power_run

    rows = [
        {"log": run.site.trace, "month": run.month, "terms": run.terms.name, "seed": run.seed, **outcome}
        | {"still_loses": ", ".join(outcome["still_loses"])}
        for run, result in zip(study.runs, study.results, strict=True)
        for outcome in result["outcomes"]
    ]
    write_study(
        "power",
        power_report(study, origin_of(command, power_run)),
        {"outcomes": rows},
        claims(study),
        of_configuration=power_run,
        done=study.done,
        output=output,
    )
