"""What Tang et al. (2013) say of walltime adjustment, and what came out here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from experiments.framework.claims import Claim
from experiments.framework.logs import Found
from experiments.framework.verdicts import between
from experiments.published import walltime_spread, walltime_text
from experiments.walltime.accuracy import KEYS
from experiments.walltime.accuracy import PERCENTILES as ALL_PERCENTILES
from experiments.walltime.results import MEASURES, PERCENTILES, QUEUES, Results, adjusted
from gas.intervals import Interval, sure
from workloads.adjustment import Key

__all__ = ["NAMES", "SLIGHT", "advantages", "claims", "surely_better", "underestimated"]

NAMES = {"wait": "wait", "slowdown": "slowdown", "weighted": "weighted wait"}

SLIGHT = 0.02
"""Of accuracy; what we take for "slightly"."""

_TRIPLE: Key = "user+group+walltime"
_NOTHING = 2.0
"""Per cent; the most that the paper has where regular adjustment "did not help"."""

Verdict = tuple[bool | None, str]


def claims(study: Results) -> list[Claim]:
    """Return the paper's statements with their verdicts: yes if one holds on every log, no if it fails on one."""
    return [
        *(_selective(study, queue) for queue in QUEUES),
        _of_logs(
            study, "Fig. 14, WFP, regular: p95 and p85 improve the wait, p85 also slowdown and weighted wait", _regular
        ),
        _of_logs(study, "Fig. 15, WFP, selective: p85 improves all three means", lambda s, log: _all(s, log, "wfp")),
        _of_logs(study, "Fig. 16, FCFS, regular: no mean improves by more than 2%", _fcfs_regular),
        _of_logs(study, "Fig. 17, FCFS, selective: p85 improves all three means", lambda s, log: _all(s, log, "fcfs")),
        _of_logs(study, "Fig. 15, WFP, selective: of p95, p85 and p70, p85 improves every mean most", _p85_best),
        _of_logs(study, "Table 2: the more similar jobs are, the less their R varies", _table2),
        _of_logs(study, "Fig. 4: the triple key is the most accurate at every percentile", _keys),
        _of_logs(study, "Fig. 4: accuracy rises as the percentile falls to p70, and is lower at p50", _bold),
        _of_logs(study, "Fig. 6: a floor of 0.5 lowers underestimates by 17% or more at each percentile", _floor),
        _of_logs(study, f"Fig. 6: at p85 that floor costs less than {SLIGHT} of accuracy", _floor_cost),
        _of_logs(
            study,
            "Fig. 8: a window of one month is at least as accurate as the whole history, except at p70 (triple key)",
            _window,
        ),
        _of_logs(
            study,
            "Fig. 9 and 10: below p90, one month gives fewer underestimates than the whole history (triple key)",
            _fewer,
        ),
        _of_logs(study, "Fig. 11: p85 has a higher median accuracy than p50 and than users' requests", _medians),
    ]


def _of_logs(study: Results, text: str, test: Callable[[Results, Found], Verdict | None]) -> Claim:
    logs = [log for log in study.logs if study.adjusts(log)]
    found = {log.source.trace: verdict for log in logs if (verdict := test(study, log)) is not None}
    if not found:
        return Claim(text, None, "not simulated" if logs or not study.logs else "nothing could be adjusted")
    here = "; ".join(f"{trace} {_VERDICTS[holds]}: {words}" for trace, (holds, words) in found.items())
    return Claim(text, _of_all(holds for holds, _ in found.values()), here, untested=_VERDICTS[None])


_VERDICTS = {True: "yes", False: "no", None: "not resolved"}


def _of_all(verdicts: Iterable[bool | None]) -> bool | None:
    """Return whether all hold: False where one does not, else None where one is not resolved."""
    every = set(verdicts)
    return False if False in every else None if None in every else True


def surely_better(found: Iterable[Interval]) -> bool | None:
    """Return whether all gains are above 0 with their intervals; False if one is below, None if not resolved."""
    return _of_all(gain.mean > 0 if sure(gain) else None for gain in found)


def advantages(study: Results, log: Found, queue: str, *, apart: bool = False) -> list[tuple[int, str, Interval]]:
    """Return by how many points selective gains more than regular, by percentile and measure."""
    return [
        (percentile, measure, advantage)
        for percentile in PERCENTILES
        for measure in MEASURES
        if (advantage := study.advantage(log, adjusted(queue, "regular", percentile, apart=apart), measure))
    ]


def _selective(study: Results, queue: str) -> Claim:
    text = f"{queue.upper()}: selective adjustment is no worse than regular, for each percentile and mean"

    def test(study: Results, log: Found) -> Verdict | None:
        found = advantages(study, log, queue)
        if not found:
            return None
        worse = [one for one in found if one[2].mean < 0]
        resolved = [sum(sure(one[2]) and (one[2].mean > 0) is above for one in found) for above in (True, False)]
        words = f"of {len(found)}, {resolved[0]} better and {resolved[1]} worse beyond their intervals"
        if worse:
            words += "; below 0 (points): " + ", ".join(
                f"{NAMES[measure]} p{percentile} {advantage.text(1)}" for percentile, measure, advantage in worse
            )
        steady = [(measure, study.steady_advantage(log, queue, measure)) for measure in MEASURES]
        lost = [f"{NAMES[measure]} {one.text(1)}" for measure, one in steady if one and one.mean < 0 and sure(one)]
        words += f"; worse at p85 over five simulations: {', '.join(lost)}" if lost else ""
        return surely_better(one[2] for one in found), words

    return _of_logs(study, text, test)


def _gains(
    study: Results, log: Found, queue: str, adjustment: str, which: Sequence[tuple[int, str]]
) -> dict[tuple[int, str], Interval]:
    found = {}
    for percentile, measure in which:
        gain = study.gain(log, adjusted(queue, adjustment, percentile), measure)
        if gain is not None:
            found[percentile, measure] = gain
    return found


def _words(found: dict[tuple[int, str], Interval]) -> str:
    texts = {key: f"{gain.text(1)}%{'*' if sure(gain) else ''}" for key, gain in found.items()}
    return ", ".join(f"{NAMES[measure]} p{percentile} {text}" for (percentile, measure), text in texts.items())


def _regular(study: Results, log: Found) -> Verdict | None:
    found = _gains(study, log, "wfp", "regular", [(95, "wait"), (85, "wait"), (85, "slowdown"), (85, "weighted")])
    return (surely_better(found.values()), _words(found)) if found else None


def _all(study: Results, log: Found, queue: str) -> Verdict | None:
    found = _gains(study, log, queue, "selective", [(85, measure) for measure in MEASURES])
    return (surely_better(found.values()), _words(found)) if found else None


def _fcfs_regular(study: Results, log: Found) -> Verdict | None:
    found = _gains(study, log, "fcfs", "regular", [(p, measure) for p in PERCENTILES for measure in MEASURES])
    if not found:
        return None
    more = {key: gain for key, gain in found.items() if gain.mean - (gain.half_width or 0) > _NOTHING}
    most = max(found.items(), key=lambda one: one[1].mean + (one[1].half_width or 0))
    holds = _of_all(between(float("-inf"), _NOTHING)(gain) for gain in found.values())
    return holds, _words(more) or f"highest interval: {_words(dict([most]))}"


def _p85_best(study: Results, log: Found) -> Verdict | None:
    verdicts, words = [], []
    for measure in MEASURES:
        found = _gains(study, log, "wfp", "selective", [(percentile, measure) for percentile in PERCENTILES])
        if found:
            (best, _), gain = max(found.items(), key=lambda one: one[1].mean)
            rivals = [one for (percentile, _), one in found.items() if (percentile == 85) != (best == 85)]
            apart = all(gain.mean - (gain.half_width or 0) > one.mean + (one.half_width or 0) for one in rivals)
            verdicts.append((best == 85) if apart and gain.half_width is not None else None)
            words.append(f"{NAMES[measure]} p{best} with {gain.text(1)}%")
    return (_of_all(verdicts), "largest means: " + ", ".join(words)) if verdicts else None


def _table2(study: Results, log: Found) -> Verdict | None:
    use = study.use(log)
    found = {one["key"]: one["mean"] for one in use["spread"]} if use else {}
    means = [found[row.key] for row in walltime_spread() if found.get(row.key) is not None]
    if len(means) < len(walltime_spread()):
        return None
    return all(b <= a for a, b in pairwise(means)), ", ".join(f"{mean:.3f}" for mean in means)


def _cell(study: Results, log: Found, key: Key, months: int | None, percentile: int, floor: float, what: str) -> float:
    cell = study.accuracy(log, key, months, percentile, floor)
    return float("nan") if cell is None else float(cell[what])


def _keys(study: Results, log: Found) -> Verdict | None:
    if study.replay(log, _TRIPLE, None) is None:
        return None
    behind = []
    for percentile in ALL_PERCENTILES:
        found = {key: _cell(study, log, key, None, percentile, 0.0, "accuracy") for key in KEYS}
        best = max(found, key=lambda key: found[key])
        if best != _TRIPLE:
            behind.append(f"p{percentile} {found[_TRIPLE]:.3f} against {found[best]:.3f} ({best.replace('+', ', ')})")
    most = max(_cell(study, log, _TRIPLE, None, percentile, 0.0, "accuracy") for percentile in ALL_PERCENTILES)
    words = f"up to {most:.3f} (paper {walltime_text()['best accuracy'].low})"
    return not behind, words + ("; not the best at " + ", ".join(behind) if behind else "")


def _bold(study: Results, log: Found) -> Verdict | None:
    if study.replay(log, _TRIPLE, None) is None:
        return None
    found = [_cell(study, log, _TRIPLE, None, percentile, 0.0, "accuracy") for percentile in ALL_PERCENTILES]
    rises = all(b >= a for a, b in pairwise(found[:-1]))
    return rises and found[-1] <= found[-2], ", ".join(f"{value:.3f}" for value in found)


def underestimated(study: Results, log: Found, months: int | None, percentile: int, floor: float) -> float:
    """Return the share of the jobs that are underestimated, UE and BE together, with the triple key."""
    cell = study.accuracy(log, _TRIPLE, months, percentile, floor)
    return float("nan") if cell is None else float((cell["UE"] + cell["BE"]) / cell["jobs"])


def _floor(study: Results, log: Found) -> Verdict | None:
    if study.replay(log, _TRIPLE, None) is None:
        return None
    drops = {}
    for percentile in ALL_PERCENTILES:
        without, floored = (underestimated(study, log, None, percentile, floor) for floor in (0.0, 0.5))
        if without:
            drops[percentile] = 1 - floored / without
    words = (
        f"{100 * min(drops.values()):.0f} to {100 * max(drops.values()):.0f}% (paper 17 to 35%)" if drops else "none"
    )
    return all(drop >= walltime_text()["drop by floor"].low for drop in drops.values()), words


def _floor_cost(study: Results, log: Found) -> Verdict | None:
    if study.replay(log, _TRIPLE, None) is None:
        return None
    without, floored = (_cell(study, log, _TRIPLE, None, 85, floor, "accuracy") for floor in (0.0, 0.5))
    return without - floored < SLIGHT, f"{without:.3f} to {floored:.3f}"


def _window(study: Results, log: Found) -> Verdict | None:
    if study.replay(log, _TRIPLE, None) is None or study.replay(log, _TRIPLE, 1) is None:
        return None
    verdicts, words = [], []
    for percentile in ALL_PERCENTILES:
        month, always = (_cell(study, log, _TRIPLE, months, percentile, 0.0, "accuracy") for months in (1, None))
        verdicts.append(month >= always or percentile == 70)
        words.append(f"p{percentile} {month - always:+.3f}")
    return all(verdicts), ", ".join(words)


def _fewer(study: Results, log: Found) -> Verdict | None:
    if study.replay(log, _TRIPLE, None) is None or study.replay(log, _TRIPLE, 1) is None:
        return None
    verdicts, words = [], []
    for percentile in (each for each in ALL_PERCENTILES if each < 90):
        month, always = (underestimated(study, log, months, percentile, 0.0) for months in (1, None))
        verdicts.append(month < always)
        words.append(f"p{percentile} {100 * (month / always - 1):+.0f}%" if always else f"p{percentile} none")
    return all(verdicts), ", ".join(words)


def _medians(study: Results, log: Found) -> Verdict | None:
    use = study.use(log)
    if use is None or study.replay(log, _TRIPLE, 1) is None:
        return None
    at85, at50 = (_cell(study, log, _TRIPLE, 1, percentile, 0.5, "median") for percentile in (85, 50))
    original = use["used"]["median"]
    return at85 > max(at50, original), f"p85 {at85:.2f}, p50 {at50:.2f}, original {original:.2f}"
