"""Tables of results of the study of several supercomputers, with all digits, and the meaning of their columns."""

from __future__ import annotations

from typing import Any

from experiments.framework.records import Field, Records
from experiments.supercomputers.results import Results, rigid_mean

__all__ = ["TABLES"]


def _rows(study: Results) -> list[dict[str, Any]]:
    rows = []
    for run, result in study.pairs:
        row: dict[str, Any] = {
            "machines": ", ".join(map(str, run.places)),
            "setting": run.setting.name,
            "boundary": run.setting.boundary,
            "percent": run.configuration["percent"],
            "seed": run.seed,
            "others_do": run.others,
            "some_do": run.some,
            "share": run.share,
        }
        row |= {name: value for name, value in result.items() if not isinstance(value, (dict, list, type(None)))}
        for of, gains in (result["gain"] or {}).items():
            row |= {f"gain_{of}_{name}": value for name, value in gains.items()}
        row["rigid_mean"] = rigid_mean(result)
        for place, one, ratio in zip(run.places, result["machines"], result["load_ratios"], strict=True):
            row |= {f"{place.site.trace}_{name}": value for name, value in one.items()}
            row[f"{place.site.trace}_load_ratio"] = ratio
        rows.append(row)
    return rows


TABLES = {
    "supercomputers-runs": Records[Results](
        "a row for each simulation of several machines",
        _rows,
        {
            "run": (
                Field("machines", "logs (the paper's names) and months"),
                Field("setting", "setting of the applications"),
                Field("boundary", "execution time on several machines together / on one of as many processors"),
                Field("percent", "share of each machine's jobs that is replaced by applications", "%"),
                Field("seed", "random seed"),
                Field("others_do", "strategy of the applications that do not deviate"),
                Field("some_do", "strategy of the applications that deviate"),
                Field("share", "share of the applications that deviates", "%"),
            ),
            "gain by deviating": (
                Field("gain_{them}_mean", "turn-around time that {them} applications gain, on average", "s"),
                Field("gain_{them}_extra", "submissions of {them} applications beyond the first, on average"),
                Field("gain_{them}_extra_time", "those submissions times the execution time, on average", "s"),
                Field("gain_{them}_sooner", "share of {them} applications that end sooner"),
                Field("gain_{them}_later", "share of {them} applications that end later"),
            ),
            "machine": (
                Field("{log}_rigid_mean", "mean turn-around time of the rigid jobs on {log}", "s"),
                Field("{log}_rigid_median", "median turn-around time of the rigid jobs on {log}", "s"),
                Field("{log}_rigid", "jobs on {log} that are not applications"),
                Field("{log}_utilization", "utilization of {log}'s machine"),
                Field("{log}_load_ratio", "processor time with static requests on {log} / that of the original log"),
                Field("rigid_mean", "mean turn-around time of the rigid jobs of all machines", "s"),
            ),
            "applications": (
                Field("applications", "applications on all machines"),
                Field("some", "applications that deviate"),
                Field("waiting", "applications that would wait if they deviated"),
                Field("mean", "mean turn-around time of the applications", "s"),
                Field("mean_some", "mean turn-around time of applications that deviate", "s"),
                Field("mean_others", "mean turn-around time of applications that do not deviate", "s"),
                Field("mean_waiting", "mean turn-around time of applications that would wait", "s"),
                Field("median", "median turn-around time of the applications", "s"),
                Field("submissions", "submissions of all applications"),
                Field("together", "share of the applications that ran on several machines together"),
                Field("withdrawn", "submissions withdrawn because another had started"),
                Field("processor_seconds", "processor time of the requests that ran", "processor-seconds"),
                Field("sooner_than_promised", "share of the applications that ended sooner than promised"),
                Field("later_than_promised", "share of the applications that ended later than promised"),
                Field("away_from_home", "share of the applications that ran away from their home machine"),
            ),
        },
    )
}
"""By the names of their files."""
