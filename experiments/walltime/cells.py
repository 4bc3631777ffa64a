"""The published figures on walltime adjustment, each with ours and reasons for differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from experiments.framework.logs import Found
from experiments.framework.verdicts import of_months, scaled, sign
from experiments.published import Gain, Printed, walltime_gains, walltime_text
from experiments.walltime.accuracy import PERCENTILES as ALL_PERCENTILES
from experiments.walltime.claims import underestimated
from experiments.walltime.results import Results, Terms, adjusted
from gas.intervals import Interval
from workloads.adjustment import Key

__all__ = ["OTHER_LOG", "GainCell", "TextCell", "gain_cells", "text_cells"]

OTHER_LOG = "another machine, other users: a property of the log"

_TRIPLE: Key = "user+group+walltime"


@dataclass(frozen=True)
class TextCell:
    """A figure in the paper's text, and ours for a log."""

    of: str
    paper: Printed
    trace: str
    low: float
    """Our figure; the lowest and the highest if there are several."""
    high: float
    why: str

    @property
    def inside(self) -> bool:
        """Whether ours, rounded as in the paper, is within the paper's range."""
        digits = 3 if self.paper.low == 0.679 else 2
        low, high = round(self.low, digits), round(self.high, digits)
        return self.paper.low <= low and high <= self.paper.high


def text_cells(study: Results) -> list[TextCell]:
    """Return the figures in the text of the paper's sections 3 and 4, log by log, with ours."""
    found = []
    for name, printed in walltime_text().items():
        read, why = _READ[name]
        for log in study.logs:
            ours = read(study, log)
            if ours is not None and not np.isnan(ours).any():
                found.append(TextCell(name, printed, log.source.trace, min(ours), max(ours), why(study, log)))
    return found


Ours = tuple[float, ...] | None


def _used(name: str) -> Callable[[Results, Found], Ours]:
    def read(study: Results, log: Found) -> Ours:
        use = study.use(log)
        return (use["used"][name],) if use else None

    return read


def _quarters(choose: Callable[[list[float]], float]) -> Callable[[Results, Found], Ours]:
    def read(study: Results, log: Found) -> Ours:
        use = study.use(log)
        means = [one["mean"] for one in use["used"]["quarters"] if 100 * one["jobs"] >= use["jobs"]] if use else []
        return (choose(means),) if means else None

    return read


def _accuracy(what: str, months: int | None, percentile: int, floor: float) -> Callable[[Results, Found], Ours]:
    def read(study: Results, log: Found) -> Ours:
        cell = study.accuracy(log, _TRIPLE, months, percentile, floor)
        return (cell[what],) if cell else None

    return read


def _share(
    part: str, months: int | None, percentiles: tuple[int, ...], floor: float
) -> Callable[[Results, Found], Ours]:
    def read(study: Results, log: Found) -> Ours:
        cells = [study.accuracy(log, _TRIPLE, months, percentile, floor) for percentile in percentiles]
        return tuple(cell[part] / cell["jobs"] for cell in cells if cell) or None

    return read


def _most(study: Results, log: Found) -> Ours:
    cells = [study.accuracy(log, _TRIPLE, None, percentile, 0.0) for percentile in ALL_PERCENTILES]
    found = [cell["accuracy"] for cell in cells if cell]
    return (max(found),) if found else None


def _relative(what: str, months: int | None, floor: float) -> Callable[[Results, Found], Ours]:
    """Return a function for the relative gain: of the best mean accuracy, or of the median at the 85th percentile."""

    def read(study: Results, log: Found) -> Ours:
        use = study.use(log)
        if what == "accuracy":
            most = _most(study, log)
        else:
            most = _accuracy("median", months, 85, floor)(study, log)
        original = use["used"]["mean" if what == "accuracy" else "median"] if use else 0
        return (most[0] / original - 1,) if most and original else None

    return read


def _floor_drops(study: Results, log: Found) -> Ours:
    pairs = [[underestimated(study, log, None, p, floor) for floor in (0.0, 0.5)] for p in ALL_PERCENTILES]
    return tuple(1 - floored / without for without, floored in pairs if without) or None


def _window_drops(study: Results, log: Found) -> Ours:
    found = []
    for percentile in (each for each in ALL_PERCENTILES if each < 90):
        month, always = (study.accuracy(log, _TRIPLE, months, percentile, 0.0) for months in (1, None))
        if month and always and always["UE"]:
            found.append(1 - month["UE"] / always["UE"])
    return tuple(found) or None


def _best_month(study: Results, log: Found) -> Ours:
    gains = study.gains(log, adjusted("wfp", "regular"), "wait")
    return (max(gains.values()) / 100,) if gains else None


def _log(study: Results, log: Found) -> str:
    return OTHER_LOG


def _floor_reason(study: Results, log: Found) -> str:
    use = study.use(log)
    below = f"{100 * use['used']['up_to_0.5']:.0f}%" if use else "-"
    return f"{below} of the jobs use half of their request or less (paper: about half), where the floor acts"


def _history(study: Results, log: Found) -> str:
    """Return how many jobs have a history with the triple key; the paper shows its figure only in a picture."""
    texts = []
    for months in (None, 1):
        found = study.replay(log, _TRIPLE, months)
        if found:
            span = "one month" if months else "any time"
            texts.append(f"{100 * found['no_history'] / found['jobs']:.0f}% of the jobs lack ten similar ones ({span})")
    return "; ".join([*texts, "the paper prints no such share"])


def _original(name: str) -> Callable[[Results, Found], str]:
    """Return a function: how far users' own requests are from the paper's, since they determine the possible gain."""

    def why(study: Results, log: Found) -> str:
        use = study.use(log)
        original = f"the original is {use['used'][name]:.2f} (paper 0.50)" if use else ""
        return f"{original}; {_history(study, log)}"

    return why


def _half_hours(study: Results, log: Found) -> str:
    """Return how long requests are: half an hour is a larger share of a short request."""
    use = study.use(log)
    mean = f"{use['mean_request']:,.0f}" if use else "-"
    return f"half an hour is a smaller part of the requests: {mean} s in the mean (paper 9,096); {_history(study, log)}"


def _cumulative(study: Results, log: Found) -> str:
    return f"{_history(study, log)}; {_floor_reason(study, log)}"


def _chance(study: Results, log: Found) -> str:
    return "the best of few months, and as much chance as effect"


_P80_TO_P90 = (80, 85, 90)
_FROM_P85 = (100, 95, 90, 85)

_READ: dict[str, tuple[Callable[[Results, Found], Ours], Callable[[Results, Found], str]]] = {
    "mean R": (_used("mean"), _log),
    "std R": (_used("deviation"), _log),
    "lowest quarter": (_quarters(min), _log),
    "highest quarter": (_quarters(max), _log),
    "near 1": (_used("near_1"), lambda study, log: f"{OTHER_LOG}; “close to 1” is 0.95 and more here"),
    "above 0.8": (_used("above_0.8"), _log),
    "up to 0.5": (_used("up_to_0.5"), _log),
    "below 0.2": (_used("below_0.2"), _log),
    "best accuracy": (_most, _history),
    "gain in accuracy": (_relative("accuracy", None, 0.0), _original("mean")),
    "UE p80-p90": (_share("UE", None, _P80_TO_P90, 0.0), _history),
    "BE p80-p90": (_share("BE", None, _P80_TO_P90, 0.0), _half_hours),
    "drop by floor": (_floor_drops, _floor_reason),
    "drop by window": (_window_drops, _history),
    "at 60% original": (_used("at_60"), _log),
    "at 60% p100": (_accuracy("at_60", 1, 100, 0.5), _cumulative),
    "median original": (_used("median"), _log),
    "median p85": (_accuracy("median", 1, 85, 0.5), _cumulative),
    "median p50": (_accuracy("median", 1, 50, 0.5), _cumulative),
    "gain in median": (_relative("median", 1, 0.5), _original("median")),
    "UE p85 and above with floor": (_share("UE", 1, _FROM_P85, 0.5), _history),
    "BE p85 and above with floor": (_share("BE", 1, _FROM_P85, 0.5), _half_hours),
    "best month": (_best_month, _chance),
}


@dataclass(frozen=True)
class GainCell:
    """An average improvement in the paper, and ours."""

    paper: Gain
    trace: str
    ours: Interval
    apart: Interval | None
    """With each month simulated separately."""
    exact: Interval | None
    """With walltimes adjusted to the run times."""
    whole: float | None
    """Improvement of the mean over all jobs."""
    sign: int
    """Sign of ours; 0 if it is not resolved."""
    above: int
    """1 if ours is resolved above the paper's, -1 if below; otherwise 0."""
    why: str

    @property
    def same_sign(self) -> bool | None:
        """Whether both improve, or both worsen; None if ours is not resolved."""
        return self.sign * self.paper.percent > 0 if self.sign else None


def gain_cells(study: Results) -> list[GainCell]:
    """Return the improvements in the paper's text, log by log, with ours."""
    found = []
    for paper in walltime_gains():
        for log in study.logs:
            terms = adjusted(paper.queue, paper.adjustment, paper.percentile)
            ours = study.gain(log, terms, paper.measure)
            if ours is None:
                continue
            apart = study.gain(
                log, adjusted(paper.queue, paper.adjustment, paper.percentile, apart=True), paper.measure
            )
            exact = study.gain(log, adjusted(paper.queue, paper.adjustment, None), paper.measure)
            whole = study.whole_gain(log, terms, paper.measure)
            of_log = of_months(study.gains(log, terms, paper.measure).values())
            signs = sign(of_log), sign(scaled(of_log, 1, -paper.percent))
            cell = GainCell(paper, log.source.trace, ours, apart, exact, whole, *signs, "")
            found.append(replace(cell, why=_why(study, log, terms, cell)))
    return found


def _why(study: Results, log: Found, terms: Terms, cell: GainCell) -> str:
    """Return measurements that may explain the difference; that it is unknown if none does."""
    if not cell.above:
        return "the paper's is not excluded"
    reasons = []
    if cell.exact is not None and cell.paper.percent > 0:
        most = cell.exact.mean + (cell.exact.half_width or 0)
        if most < cell.paper.percent:
            reasons.append(f"on this log even exact run times do not bring that, but {cell.exact.text(1)}%")
        else:
            reasons.append(f"exact run times would bring {cell.exact.text(1)}%")
    result = study.simulation(log, terms)
    if result:
        reasons.append(f"{100 * result['all']['NA'] / result['jobs']:.0f}% of the jobs are not adjusted")
    if cell.paper.measure == "weighted" and cell.paper.queue == "wfp" and result:
        alike = [month["alike"] for month in result["months"] if month["alike"]]
        reasons.append(f"a month's weight is that of some {np.median(alike):,.0f} jobs")
    return "; ".join([*reasons, "what another machine, load and partitions do is not known"])
