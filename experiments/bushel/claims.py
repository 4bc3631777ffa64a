"""What the Gas paper says of many moldable jobs in the system, and whether it holds here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from statistics import fmean

from experiments.bushel.results import DRAWN, KINDS, MIXES, OPPONENTS, PERCENTS, Kind, Results
from experiments.framework.claims import Claim
from experiments.framework.ledger import Result
from experiments.moldable.substitution import Opponent
from experiments.moldable.terms import Terms
from experiments.published import PAPER_LOSES, bushel

__all__ = ["Likeness", "beyond", "claims", "likeness", "share_lost"]


def claims(study: Results, opponent: Opponent) -> list[Claim]:
    """Return the statements of the paper's section 5.3 with a static opponent, each with its verdict."""
    mixed = KINDS["thirds", opponent]
    both = [KINDS[mix, opponent] for mix in ("unrestricted", "restricted")]
    return [
        _ahead(study, "Gas's mean turn-around time is below static's in the scenarios of Tables 5.9 to 5.11", [mixed]),
        _ahead(study, "Gas's mean turn-around time is below static's in the scenarios of Tables 5.15 to 5.17", both),
        _shrinks(study, opponent),
        _free_gain_more(study, opponent),
        _load_falls(study, mixed),
        _loses_more(study, mixed),
        _static_falls(study, opponent),
    ]


def beyond(study: Results) -> list[Claim]:
    """Return what the paper did not ask, or could not: what becomes of the others, and if every job is moldable."""
    found = []
    for opponent, words in OPPONENTS.items():
        for world in ("static", "before"):
            claim = _others(study, opponent, world)
            found.append(Claim(f"{claim.text} (static: {words})", claim.holds, claim.here))
    return [*found, _all_moldable(study)]


def _all_moldable(study: Results) -> Claim:
    text = "with every job of a log moldable and using Gas, the mean over all jobs falls"
    found, falls = [], []
    for site, _ in study.logs:
        gas, static = (study.mean(site.trace, DRAWN[0], 100, "all", world) for world in ("gas", "static"))
        if gas is not None and static is not None:
            falls.append(gas.mean < static.mean)
            found.append(f"{site.trace} {static.mean:,.0f} → {gas.mean:,.0f} s")
    return Claim(text, all(falls), "; ".join(found)) if falls else Claim(text, None, "not run")


def _points(study: Results, kind: Kind) -> list[tuple[str, int]]:
    return [(site.trace, percent) for site, _ in study.logs for percent in study.percents(site.trace, kind)]


def _ahead(study: Results, text: str, kinds: list[Terms]) -> Claim:
    gains = [
        (gain, trace, percent)
        for kind in kinds
        for trace, percent in _points(study, kind)
        if (gain := study.gain(trace, kind, percent)) is not None
    ]
    if not gains:
        return Claim(text, None, "not run")
    results = [
        one for kind in kinds for trace, percent in _points(study, kind) for one in study.at(trace, kind, percent)
    ]
    won = sum(result["gas"]["mean"] < result["static"]["mean"] for result in results)
    least, trace, percent = min(gains)
    impossible = len(PERCENTS) * len(study.logs) * len(kinds) - len(gains)
    here = (
        f"{sum(gain > 1 for gain, *_ in gains)} of {len(gains)} scenarios ({won:,} of {len(results):,} seed by seed); "
        f"smallest gain {least:.2f} times, {trace} at {percent}%"
    )
    if impossible:
        here += f"; {impossible} more scenarios have too few jobs of a size that the benchmarks accept"
    return Claim(text, all(gain > 1 for gain, *_ in gains), here)


def _shrinks(study: Results, opponent: Opponent) -> Claim:
    text = "the improvement shrinks as more of the jobs use Gas"
    found = {}
    for site, _ in study.logs:
        for mix in MIXES:
            percents = study.percents(site.trace, KINDS[mix, opponent])
            gains = [study.gain(site.trace, KINDS[mix, opponent], percent) for percent in percents]
            known = [gain for gain in gains if gain is not None]
            if half := len(known) // 2:
                found[f"{site.trace} {mix}"] = fmean(known[:half]), fmean(known[-half:])
    if not found:
        return Claim(text, None, "not run")
    here = "mean factor in the lower → upper half of the shares: "
    here += "; ".join(f"{name} {low:.2f} → {high:.2f}" for name, (low, high) in found.items())
    return Claim(text, all(high < low for low, high in found.values()), here)


def _free_gain_more(study: Results, opponent: Opponent) -> Claim:
    text = "benchmarks that accept any number of processors gain more than the others"
    pairs, less = [], []
    for trace, percent in _points(study, KINDS["unrestricted", opponent]):
        free, held = (study.gain(trace, KINDS[mix, opponent], percent) for mix in ("unrestricted", "restricted"))
        if free is not None and held is not None:
            pairs.append((free, held))
            if free <= held:
                less.append(f"{trace} {percent}%")
    if not pairs:
        return Claim(text, None, "not run")
    more = sum(free > held for free, held in pairs)
    return Claim(
        text, more == len(pairs), f"{more} of {len(pairs)} scenarios" + (f"; not {', '.join(less)}" if less else "")
    )


def _load_falls(study: Results, kind: Terms) -> Claim:
    text = "the more jobs are replaced, the lower the load (Table 5.8)"
    found, falls = [], []
    for site, _ in study.logs:
        ratios = [study.mean(site.trace, kind, percent, "requested_load_ratio") for percent in PERCENTS]
        known = [ratio.mean for ratio in ratios if ratio is not None]
        if len(known) > 1:
            last = study.percents(site.trace, kind)[-1]
            falls.append(all(later < sooner for sooner, later in pairwise(known)))
            found.append(f"{site.trace} {known[0]:.3f} → {known[-1]:.3f} (at {last}%)")
    here = "requested load: " + ", ".join(found)
    return Claim(text, all(falls), here) if falls else Claim(text, None, "not run")


def _loses_more(study: Results, kind: Terms) -> Claim:
    text = f"Gas does worse than static more often than with one moldable job alone ({PAPER_LOSES}% in the paper)"
    shares = [share_lost(study.at(trace, kind, percent)) for trace, percent in _points(study, kind)]
    if not shares:
        return Claim(text, None, "not run")
    here = (
        f"{min(shares):.1f} to {max(shares):.1f}% of the moldable jobs; all moldable jobs differ between the two "
        "simulations, so some losses are chance"
    )
    return Claim(text, min(shares) > PAPER_LOSES, here)


def share_lost(results: Sequence[Result]) -> float:
    """Return the per cent of moldable jobs that took longer with Gas than with static requests."""
    return float(100 * sum(one["loses"] for one in results) / max(sum(one["moldable"] for one in results), 1))


def _static_falls(study: Results, opponent: Opponent) -> Claim:
    text = "static means fall as more jobs are replaced, on all logs (the paper's text; its tables contradict it)"
    found, falls = [], []
    for site, _ in study.logs:
        for mix in ("unrestricted", "restricted"):
            means = [study.mean(site.trace, KINDS[mix, opponent], percent, "static", "mean") for percent in PERCENTS]
            known = [mean.mean for mean in means if mean is not None]
            if len(known) > 1:
                falls.append(known[-1] < known[0])
                found.append(f"{site.trace} {mix} {known[0]:,.0f} → {known[-1]:,.0f}")
    return Claim(text, all(falls), "; ".join(found)) if falls else Claim(text, None, "not run")


def _others(study: Results, opponent: Opponent, world: str) -> Claim:
    text = {
        "static": "the mean turn-around time of rigid jobs is shorter with Gas than with static requests",
        "before": "the mean turn-around time of rigid jobs is no longer than in the original log, whose requested load "
        "is larger",
    }[world]
    worse = []
    pairs = []
    for mix in MIXES:
        kind = KINDS[mix, opponent]
        for trace, percent in _points(study, kind):
            gas, other = (study.mean(trace, kind, percent, "others", which) for which in ("gas", world))
            if gas is not None and other is not None:
                pairs.append(gas.mean / max(other.mean, 1.0))
                if gas.mean > other.mean:
                    worse.append((pairs[-1], f"{trace} {mix} {percent}%"))
    if not pairs:
        return Claim(text, None, "not run")
    here = f"{len(pairs) - len(worse)} of {len(pairs)} scenarios; ratio {min(pairs):.2f} to {max(pairs):.2f}"
    if worse:
        here += f", largest at {max(worse)[1]}"
    return Claim(text, not worse, here)


@dataclass(frozen=True)
class Likeness:
    """How far ours are from the paper's means, over the scenarios that were run: geometric means of ours over its."""

    opponent: Opponent
    scenarios: int
    gas: float
    static: float
    furthest_static: float
    """Of a single scenario, up or down, as a factor of at least 1."""


def likeness(study: Results) -> list[Likeness]:
    """Return how like the paper's means ours are with each opponent (Tables 5.9 to 5.11 and 5.15 to 5.17)."""
    found = []
    for opponent in OPPONENTS:
        logs = []
        for one in bushel():
            kind = KINDS[one.mix, opponent]
            gas, static = (study.mean(one.trace, kind, one.percent, who, "mean") for who in ("gas", "static"))
            if gas is not None and static is not None:
                logs.append((log(gas.mean / one.gas), log(static.mean / one.static)))
        if logs:
            of_gas, of_static = zip(*logs, strict=True)
            furthest = exp(max(abs(value) for value in of_static))
            found.append(Likeness(opponent, len(logs), exp(fmean(of_gas)), exp(fmean(of_static)), furthest))
    return found
