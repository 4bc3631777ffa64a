"""Statements of Tang et al. (2013) on walltime adjustment, with their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from experiments.framework.claims import Claim, decided_once
from experiments.framework.logs import Found
from experiments.framework.verdicts import Part, Test, above, below, decided_claim, left_out, of_months, of_sums, scaled
from experiments.published import walltime_spread, walltime_text
from experiments.walltime.accuracy import KEYS
from experiments.walltime.accuracy import PERCENTILES as ALL_PERCENTILES
from experiments.walltime.results import MEASURES, PERCENTILES, QUEUES, Results, adjusted
from gas.intervals import Interval
from workloads.adjustment import Key

__all__ = ["NAMES", "NOTHING", "SLIGHT", "advantages", "claims", "underestimated"]

NAMES = {"wait": "wait", "slowdown": "slowdown", "weighted": "weighted wait"}

SLIGHT = 0.02
"""Difference in accuracy that we take for "slightly"."""

NOTHING = 2.0
"""Per cent; the largest value in the paper where regular adjustment "did not help"."""

_TRIPLE: Key = "user+group+walltime"
_LOW: Final = tuple(percentile for percentile in ALL_PERCENTILES if percentile < 90)

Parts: TypeAlias = Mapping[str, Part]
"""Parts of a log by name."""


@decided_once
def claims(study: Results) -> list[Claim]:
    """Return the paper's statements with their verdicts, each for all logs together."""
    logs = [log for log in study.logs if study.adjusts(log)]

    def one(text: str, of_log: Callable[[Found], Parts], test: Test, digits: int = 1, unit: str = "%") -> Claim:
        parts = {f"{log.source.trace} {name}": part for log in logs for name, part in of_log(log).items()}
        claim = decided_claim(text, parts, test, digits=digits, unit=unit)
        nothing = "not simulated" if logs or not study.logs else "nothing could be adjusted"
        return claim if parts else replace(claim, here=nothing)

    def gains(queue: str, adjustment: str, percentiles: Sequence[int], measures: Sequence[str]) -> Any:
        return lambda log: _gains(study, log, queue, adjustment, [(p, m) for p in percentiles for m in measures])

    drop = walltime_text()["drop by floor"].low
    return [
        *(
            one(
                f"{queue.upper()}: selective adjustment is better than regular, for each percentile and mean",
                lambda log, queue=queue: _advantages(study, log, queue),  # type: ignore[misc]
                above(0),
                unit=" points",
            )
            for queue in QUEUES
        ),
        one(
            "Fig. 14, WFP, regular: p95 and p85 improve the wait, p85 also slowdown and weighted wait",
            lambda log: _gains(study, log, "wfp", "regular", [(95, "wait"), *((85, one) for one in MEASURES)]),
            above(0),
        ),
        one(
            "Fig. 15, WFP, selective: p85 improves all three means", gains("wfp", "selective", [85], MEASURES), above(0)
        ),
        one(
            f"Fig. 16, FCFS, regular: no mean improves by more than {NOTHING:g}%",
            gains("fcfs", "regular", PERCENTILES, MEASURES),
            below(NOTHING),
        ),
        one(
            "Fig. 17, FCFS, selective: p85 improves all three means",
            gains("fcfs", "selective", [85], MEASURES),
            above(0),
        ),
        one(
            "Fig. 15, WFP, selective: of p95, p85 and p70, p85 improves every mean most",
            lambda log: _p85_above(study, log),
            above(0),
            unit=" points",
        ),
        one(
            "Table 2: the more similar jobs are, the less their R varies",
            lambda log: _less_varied(study, log),
            below(0),
            3,
            "",
        ),
        one(
            "Fig. 4: the triple key is the most accurate at every percentile",
            lambda log: {
                f"p{percentile} − {key.replace('+', ', ')}": _apart(
                    study, log, (_TRIPLE, None, percentile, 0.0), (key, None, percentile, 0.0)
                )
                for percentile in ALL_PERCENTILES
                for key in KEYS
                if key != _TRIPLE
            },
            above(0),
            3,
            "",
        ),
        one(
            "Fig. 4: accuracy rises as the percentile falls to p70",
            lambda log: {
                f"p{lower} − p{higher}": _apart(study, log, (_TRIPLE, None, lower, 0.0), (_TRIPLE, None, higher, 0.0))
                for higher, lower in pairwise(ALL_PERCENTILES[:-1])
            },
            above(0),
            3,
            "",
        ),
        one(
            "Fig. 4: accuracy is lower at p50 than at p70",
            lambda log: {"p50 − p70": _apart(study, log, (_TRIPLE, None, 50, 0.0), (_TRIPLE, None, 70, 0.0))},
            below(0),
            3,
            "",
        ),
        one(
            f"Fig. 6: a floor of 0.5 lowers underestimates by {100 * drop:.0f}% or more at each percentile",
            lambda log: {
                f"p{percentile}": scaled(_fewer(study, log, (None, percentile, 0.5), (None, percentile, 0.0)), -1)
                for percentile in ALL_PERCENTILES
            },
            above(100 * drop),
        ),
        one(
            f"Fig. 6: at p85 that floor costs less than {SLIGHT} of accuracy",
            lambda log: {"p85": _apart(study, log, (_TRIPLE, None, 85, 0.0), (_TRIPLE, None, 85, 0.5))},
            below(SLIGHT),
            3,
            "",
        ),
        one(
            "Fig. 8: a window of one month is more accurate than the whole history, except at p70 (triple key)",
            lambda log: {
                f"p{percentile}": _apart(study, log, (_TRIPLE, 1, percentile, 0.0), (_TRIPLE, None, percentile, 0.0))
                for percentile in ALL_PERCENTILES
                if percentile != 70
            },
            above(0),
            3,
            "",
        ),
        one(
            "Fig. 9 and 10: below p90, one month gives fewer underestimates than the whole history (triple key)",
            lambda log: {
                f"p{percentile}": _fewer(study, log, (1, percentile, 0.0), (None, percentile, 0.0))
                for percentile in _LOW
            },
            below(0),
        ),
        one(
            "Fig. 11: p85 has a higher median accuracy than p50 and than users' requests, by month",
            lambda log: _medians(study, log),
            above(0),
            3,
            "",
        ),
    ]


def advantages(study: Results, log: Found, queue: str, *, apart: bool = False) -> list[tuple[int, str, Interval]]:
    """Return the gain of selective minus regular adjustment in points, by percentile and measure."""
    return [
        (percentile, measure, advantage)
        for percentile in PERCENTILES
        for measure in MEASURES
        if (advantage := study.advantage(log, adjusted(queue, "regular", percentile, apart=apart), measure))
    ]


def _advantages(study: Results, log: Found, queue: str) -> Parts:
    found = {
        f"{NAMES[measure]} p{percentile}": study.advantages(log, adjusted(queue, "regular", percentile), measure)
        for percentile in PERCENTILES
        for measure in MEASURES
    }
    return {name: of_months(points) for name, points in found.items() if points}


def _gains(study: Results, log: Found, queue: str, adjustment: str, which: Iterable[tuple[int, str]]) -> Parts:
    found = {
        f"{NAMES[measure]} p{percentile}": study.gains(log, adjusted(queue, adjustment, percentile), measure)
        for percentile, measure in which
    }
    return {name: of_months(gains.values()) for name, gains in found.items() if gains}


def _p85_above(study: Results, log: Found) -> Parts:
    found = {}
    for measure in MEASURES:
        best = study.gains(log, adjusted("wfp", "selective", 85), measure)
        for percentile in (95, 70):
            other = study.gains(log, adjusted("wfp", "selective", percentile), measure)
            if pairs := [gain - other[month] for month, gain in best.items() if month in other]:
                found[f"{NAMES[measure]} p85 − p{percentile}"] = of_months(pairs)
    return found


def _less_varied(study: Results, log: Found) -> Parts:
    use = study.use(log)
    rows = {one["key"]: one for one in use["spread"]} if use else {}
    found = {}
    for fewer, more in pairwise(row.key for row in walltime_spread()):
        one, two = rows.get(fewer), rows.get(more)
        if one is None or two is None or one["mean"] is None or two["mean"] is None:
            continue
        pairs = zip(one["without"], two["without"], strict=True)
        without = [b - a for a, b in pairs if a is not None and b is not None]
        if len(without) == len(one["without"]):
            found[f"{more.replace('+', ', ')} − {fewer.replace('+', ', ')}"] = left_out(
                two["mean"] - one["mean"], without
            )
    return found


Scheme: TypeAlias = tuple[Key, int | None, int, float]
"""Key, window, percentile and floor."""


def _months(study: Results, log: Found, *schemes: Scheme) -> list[dict[str, np.ndarray[Any, Any]]] | None:
    """Return the figures of schemes by month; None if one of them was not replayed."""
    found = [study.accuracy(log, *scheme) for scheme in schemes]
    if any(cell is None for cell in found):
        return None
    months = [list(cell["months"].values()) for cell in found if cell is not None]
    return [{name: np.array([month[name] for month in of], np.float64) for name in of[0]} for of in months]


def _apart(study: Results, log: Found, one: Scheme, two: Scheme) -> Part:
    """Return the accuracy of one scheme minus that of another."""
    found = _months(study, log, one, two)
    if found is None:
        return of_sums([], [])
    return of_sums(found[0]["jobs"] * (found[0]["accuracy"] - found[1]["accuracy"]), found[0]["jobs"])


def _fewer(study: Results, log: Found, one: tuple[int | None, int, float], two: tuple[int | None, int, float]) -> Part:
    """Return by how many per cent one scheme underestimates more jobs than another, both with the triple key."""
    found = _months(study, log, (_TRIPLE, *one), (_TRIPLE, *two))
    if found is None:
        return of_sums([], [])
    short = [of["jobs"] * of["short"] for of in found]
    return scaled(of_sums(short[0], short[1]), 100, -100)


def _medians(study: Results, log: Found) -> Parts:
    found = _months(study, log, (_TRIPLE, 1, 85, 0.5), (_TRIPLE, 1, 50, 0.5))
    use = study.use(log)
    if found is None or use is None:
        return {}
    original = np.array([month["median"] for month in use["months"].values()])
    return {
        "p85 − p50": of_months(found[0]["median"] - found[1]["median"]),
        "p85 − original": of_months(found[0]["median"] - original),
    }


def underestimated(study: Results, log: Found, months: int | None, percentile: int, floor: float) -> float:
    """Return the share of underestimated jobs, UE and BE together, with the triple key."""
    cell = study.accuracy(log, _TRIPLE, months, percentile, floor)
    return float("nan") if cell is None else float((cell["UE"] + cell["BE"]) / cell["jobs"])
