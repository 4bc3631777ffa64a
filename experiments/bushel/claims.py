"""Statements of the Gas paper on many moldable jobs in a log, with their verdicts.

Statements on scenarios or logs cover all seeds: each combination of log, share and seed is one part of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, log
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.bushel.results import DRAWN, KINDS, MIXES, OPPONENTS, PERCENTS, Kind, Results
from experiments.framework.claims import Claim, decided_once
from experiments.framework.ledger import Result
from experiments.framework.verdicts import (
    Part,
    above,
    below,
    decided,
    decided_claim,
    left_out,
    of_shares,
    of_sums,
    scaled,
)
from experiments.moldable.benchmarks import Mix
from experiments.moldable.substitution import Opponent
from experiments.moldable.terms import Terms
from experiments.published import PAPER_LOSES, bushel

__all__ = ["FIGURES", "ITEMS", "Likeness", "beyond", "claims", "gas_is_sooner", "likeness", "share_lost"]

FIGURES: Final = "Fig. 5.9 to 5.11"

_MIXED: Final = "Tables 5.9 to 5.11"

_BY_MIX: Final = "Tables 5.15 to 5.17"

ITEMS: Final[Mapping[str, Sequence[str]]] = {
    _MIXED: tuple(f"Table 5.{number}" for number in (9, 10, 11)),
    _BY_MIX: tuple(f"Table 5.{number}" for number in (15, 16, 17)),
}
"""Ranges of the paper's items on which a statement is, by their name."""

Sums: TypeAlias = Mapping[str, NDArray[np.float64]]
"""Sums over the jobs of each month, by name."""


@decided_once
def claims(study: Results, opponent: Opponent) -> list[Claim]:
    """Return the statements of the paper's section 5.3 with their verdicts for one kind of static request."""
    mixed = KINDS["thirds", opponent]
    both: list[Mix] = ["unrestricted", "restricted"]
    sooner = "the mean turn-around time is shorter with Gas in the scenarios of"
    found = (
        (_MIXED, _ahead(study, f"{sooner} {_MIXED}", [mixed])),
        (_BY_MIX, _ahead(study, f"{sooner} {_BY_MIX}", [KINDS[mix, opponent] for mix in both])),
        (_MIXED, _shrinks(study, opponent)),
        (_BY_MIX, _free_gain_more(study, opponent)),
        ("Table 5.8", _load_falls(study, mixed)),
        (FIGURES, _loses_more(study, mixed)),
        (_BY_MIX, _static_falls(study, opponent, both)),
    )
    return [replace(claim, where=where) for where, claim in found]


@decided_once
def beyond(study: Results) -> list[Claim]:
    """Return statements beyond the paper: on rigid jobs, and on logs whose jobs are all moldable."""
    found = []
    for opponent, words in OPPONENTS.items():
        for world in ("static", "before"):
            claim = _others(study, opponent, world)
            found.append(replace(claim, text=f"{claim.text} (static: {words})"))
    return [*found, _all_moldable(study)]


def _scenarios(study: Results, *kinds: Kind) -> Iterator[tuple[str, Sums]]:
    """Return the name and the sums by month of each log, share and seed."""
    for kind in kinds:
        mix = f" {kind.mix}" if isinstance(kind, Terms) and len(kinds) > 1 else ""
        for site, _ in study.logs:
            for percent in study.percents(site.trace, kind):
                for seed, sums in study.by_month(site.trace, kind, percent).items():
                    yield f"{site.trace}{mix} {percent}% seed {seed}", sums


def _series(study: Results, kind: Kind) -> Iterator[tuple[str, list[Sums]]]:
    """Return the name and the sums by month of all shares, in their order, of each log and seed."""
    for site, _ in study.logs:
        shares = [study.by_month(site.trace, kind, percent) for percent in study.percents(site.trace, kind)]
        for seed in shares[0] if shares else ():
            yield f"{site.trace} seed {seed}", [of[seed] for of in shares if seed in of]


def gas_is_sooner(study: Results, trace: str, kind: Kind, percent: int) -> bool | None:
    """Return whether the mean over all seeds is shorter with Gas than with static requests; None if not resolved."""
    every = list(study.by_month(trace, kind, percent).values())
    if not every:
        return None
    gas, static = (np.sum([of[f"moldable_{world}"] for of in every], axis=0) for world in ("gas", "static"))
    return decided({"": of_sums(gas, static)}, below(1))


def _change(one: NDArray[np.float64], other: NDArray[np.float64]) -> Part:
    """Return the change from `one` sum to the `other` over the same jobs, in per cent."""
    return scaled(of_sums(one, other), 100, -100)


def _without_each(statistic: Callable[[Any], float], months: int) -> Part:
    """Return as a part a statistic that is a function of the mask of kept months."""
    every = np.arange(months)
    return left_out(statistic(every >= 0), [statistic(every != month) for month in range(months)])


def _log_gain(of: Sums, kept: Any) -> float:
    """Return the logarithm of the ratio of mean turn-around times, static requests to Gas."""
    static, gas = (float(of[f"moldable_{world}"][kept].sum()) for world in ("static", "gas"))
    return log(max(static, 1.0) / max(gas, 1.0))


def _all_moldable(study: Results) -> Claim:
    text = "if every job of a log is moldable and uses Gas, the mean turn-around time falls"
    parts, later = {}, []
    for site, _ in study.logs:
        for seed, of in study.by_month(site.trace, DRAWN[0], 100).items():
            parts[f"{site.trace} seed {seed}"] = _change(of["moldable_gas"], of["moldable_static"])
        if results := study.at(site.trace, DRAWN[0], 100):
            later.append(f"{site.trace} {share_lost(results):.0f}%")
    claim = decided_claim(text, parts, below(0))
    return replace(claim, here=f"{claim.here}; jobs that end later: {', '.join(later)}") if later else claim


def _ahead(study: Results, text: str, kinds: list[Terms]) -> Claim:
    parts = {name: _change(of["moldable_gas"], of["moldable_static"]) for name, of in _scenarios(study, *kinds)}
    claim = decided_claim(text, parts, below(0))
    there = sum(len(study.percents(site.trace, kind)) for kind in kinds for site, _ in study.logs)
    impossible = len(PERCENTS) * len(study.logs) * len(kinds) - there
    if parts and impossible:
        words = f"{impossible} more scenarios have too few jobs of a size that the benchmarks accept"
        return replace(claim, here=f"{claim.here}; {words}")
    return claim


def _shrinks(study: Results, opponent: Opponent) -> Claim:
    """Compare the mean logarithm of the improvement over the upper half of the shares with that over the lower half."""
    text = "the improvement shrinks as more of the jobs use Gas (upper against lower half of the shares)"
    parts = {}
    for mix in MIXES:
        for name, series in _series(study, KINDS[mix, opponent]):
            if half := len(series) // 2:
                low, high = series[:half], series[-half:]

                def apart(kept: Any, low: list[Sums] = low, high: list[Sums] = high) -> float:
                    return fmean(_log_gain(of, kept) for of in high) - fmean(_log_gain(of, kept) for of in low)

                parts[f"{mix} {name}"] = _without_each(apart, len(series[0]["moldable"]))
    return decided_claim(text, parts, below(0), logarithms=True)


def _free_gain_more(study: Results, opponent: Opponent) -> Claim:
    text = "benchmarks that accept any number of processors gain more than the others"
    free, held = (dict(_scenarios(study, KINDS[mix, opponent])) for mix in ("unrestricted", "restricted"))
    parts = {}
    for name in free.keys() & held.keys():
        pair = free[name], held[name]

        def apart(kept: Any, pair: tuple[Sums, Sums] = pair) -> float:
            return _log_gain(pair[0], kept) - _log_gain(pair[1], kept)

        parts[name] = _without_each(apart, len(pair[0]["moldable"]))
    return decided_claim(text, dict(sorted(parts.items())), above(0), logarithms=True)


def _load_falls(study: Results, kind: Kind) -> Claim:
    text = "the load falls from each share of replaced jobs to the next larger one (Table 5.8)"
    parts = {
        f"{name}, step {step}": _change(later["requested_static"], sooner["requested_static"])
        for name, series in _series(study, kind)
        for step, (sooner, later) in enumerate(pairwise(series), 1)
    }
    return decided_claim(text, parts, below(0))


def _loses_more(study: Results, kind: Kind) -> Claim:
    text = f"Gas's request ends later than the static one more often than with one moldable job ({PAPER_LOSES}%, paper)"
    parts = {name: of_shares(of["loses"], of["moldable"]) for name, of in _scenarios(study, kind)}
    claim = decided_claim(text, parts, above(PAPER_LOSES))
    words = "all moldable jobs differ between the two simulations, so some losses are chance"
    return replace(claim, here=f"{claim.here}; {words}") if parts else claim


def share_lost(results: Sequence[Result]) -> float:
    """Return the percentage of moldable jobs that end later with Gas than with static requests."""
    return float(100 * sum(one["loses"] for one in results) / max(sum(one["moldable"] for one in results), 1))


def _static_falls(study: Results, opponent: Opponent, mixes: Sequence[Mix]) -> Claim:
    text = (
        "mean turn-around times of static requests fall from the smallest to the largest share, on all logs (the "
        "paper's text; its tables contradict it)"
    )
    parts = {}
    for mix in mixes:
        for name, series in _series(study, KINDS[mix, opponent]):
            if len(series) > 1:
                ends = series[0], series[-1]

                def change(kept: Any, ends: tuple[Sums, Sums] = ends) -> float:
                    first, last = (
                        float(of["moldable_static"][kept].sum() / max(of["moldable"][kept].sum(), 1)) for of in ends
                    )
                    return 100 * (last / max(first, 1.0) - 1)

                parts[f"{mix} {name}"] = _without_each(change, len(series[0]["moldable"]))
    return decided_claim(text, parts, below(0))


def _others(study: Results, opponent: Opponent, world: str) -> Claim:
    text = {
        "static": "the mean turn-around time of rigid jobs is shorter with Gas than with static requests",
        "before": "the mean turn-around time of rigid jobs is shorter with Gas than in the original log (whose "
        "requested load is higher)",
    }[world]
    kinds = [KINDS[mix, opponent] for mix in MIXES]
    parts = {name: _change(of["others_gas"], of[f"others_{world}"]) for name, of in _scenarios(study, *kinds)}
    return decided_claim(text, parts, below(0))


@dataclass(frozen=True)
class Likeness:
    """Ratios of our means to the paper's: geometric means over the scenarios that were run."""

    opponent: Opponent
    of: str
    """The scenarios: all, or those of one log and mix. Over all of them, deviations may cancel."""
    scenarios: int
    gas: float
    static: float
    furthest_static: float
    """Largest deviation of a single scenario, as a factor of at least 1, in either direction."""


def likeness(study: Results) -> list[Likeness]:
    """Compare our means with the paper's for each static request (Tables 5.9 to 5.11 and 5.15 to 5.17)."""
    found = []
    for opponent in OPPONENTS:
        logs: dict[str, list[tuple[float, float]]] = {}
        for one in bushel():
            kind = KINDS[one.mix, opponent]
            gas, static = (study.figure(one.trace, kind, one.percent, who, "mean") for who in ("gas", "static"))
            if gas is not None and static is not None:
                for of in ("all", f"{one.trace}, {one.mix}"):
                    logs.setdefault(of, []).append((log(gas / one.gas), log(static / one.static)))
        for of, values in logs.items():
            of_gas, of_static = zip(*values, strict=True)
            furthest = exp(max(abs(value) for value in of_static))
            found.append(Likeness(opponent, of, len(values), exp(fmean(of_gas)), exp(fmean(of_static)), furthest))
    return found
