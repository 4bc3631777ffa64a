"""Fits Downey's model and Amdahl's law to timings, and judges how reliable each fit is.

- Errors of timings are relative, so the fit is least squares on the logarithm of time (`families`).
- The models are compared by AICc, which charges for parameters, and by predicting each processor count from the others.
- Intervals are percentiles of a residual bootstrap: the counts were chosen, so they stay fixed, and the fit's relative
  errors are redistributed. (Drawing whole timings instead would often leave too few distinct counts.) With fewer than
  `FREE` timings more than parameters there are none.
- If every measured n is at most A, Downey's speed-up depends on A and sigma through one ratio only and *is* Amdahl's
  law. The timings then determine neither. No bootstrap shows that, so it is tested along A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from speedup_models.amdahl import Amdahl
from speedup_models.downey import Downey
from speedup_models.estimates import COVERAGE, POOR, Estimate, percent
from speedup_models.families import (
    FAMILIES,
    LARGEST_SIGMA,
    MANY_COUNTS,
    RESOLUTION,
    RIDGE,
    Array,
    Family,
    Groups,
    ModelName,
    ladder,
    solve,
)
from speedup_models.model import ModelError, SizeUnit
from speedup_models.table import Table
from speedup_models.timings import Timings, read_timings

__all__ = ["Estimate", "FitReport", "ModelFit", "ModelName", "Timings", "fit", "read_timings"]

DECISIVE: Final = 2.0
"""Models whose AICc differs by less cannot be distinguished (Burnham and Anderson's rule of thumb)."""

FEWEST_COUNTS: Final = 3
"""With fewer distinct counts, a curve has no shape."""

ENOUGH_COUNTS: Final = 5
"""Two more than Downey's parameters: with fewer distinct counts too little is left to judge a shape."""

ENOUGH_TIMINGS: Final = 8
"""Twice Downey's parameters, counting the scatter as one. With fewer, the correction in AICc outweighs the data."""

CLEARLY: Final = 0.9
"""Errors of prediction within this factor count as equal."""

WIDE: Final = 4
"""An interval of A that spans this factor determines nothing."""

MOST_FOLDS: Final = 20
"""Up to this number each distinct count is left out alone in cross-validation; beyond it, every 20th together."""

FEW_FOLDS: Final = 5
"""For more than `MANY_COUNTS`, each of which takes time."""

MOST_COUNTS: Final = 1_000
"""Most distinct counts; some ten have a shape."""

MOST_SAMPLES: Final = 100_000


@dataclass(frozen=True, eq=False, slots=True)
class ModelFit:
    """One of the two models, fitted.

    Attributes
    ----------
    parameters
        By their names in an application file, sequential_time first.
    error
        Root mean square of the fit's relative errors.
    aicc
        Akaike's criterion with the small-sample correction; None if there are too few timings for it.
    cv_error
        Mean relative error of predicting the times on each processor count from all others; None if these would not
        determine the model.
    identifiable
        False if very different parameters would fit as well.
    samples
        Parameters of each bootstrap sample, shape (samples, parameters); possibly none.
    """

    name: ModelName
    parameters: dict[str, Estimate]
    error: float
    aicc: float | None
    cv_error: float | None
    identifiable: bool
    samples: Array

    @property
    def title(self) -> str:
        """Return the model's name in prose."""
        return FAMILIES[self.name].title

    def model(self) -> Downey | Amdahl:
        """Return the fitted model."""
        values = [estimate.value for estimate in self.parameters.values()]
        return Amdahl(*values) if self.name == "amdahl" else Downey(*values)

    def seconds(self, processors: ArrayLike) -> Array:
        """Return the fitted seconds on each n, which may be any real number of at least 1."""
        values = np.array([[estimate.value for estimate in self.parameters.values()]])
        return np.asarray(self._seconds(values, processors)[0])

    def band(self, processors: ArrayLike) -> tuple[Array, Array] | None:
        """Return percentiles of the bootstrap's seconds on each real n, low and high; None without samples."""
        if not len(self.samples):
            return None
        bounds = np.quantile(self._seconds(self.samples, processors), _tails(), axis=0)
        return bounds[0], bounds[1]

    def _seconds(self, values: Array, processors: ArrayLike) -> Array:
        n = np.asarray(processors, dtype=np.float64)
        return np.asarray(values[:, :1] * np.exp(-FAMILIES[self.name].log_speedup(n, values[:, 1:])))


@dataclass(frozen=True, eq=False, slots=True)
class FitReport:
    """Both models fitted to the same timings, and which is better.

    Attributes
    ----------
    better
        The model to use; the simpler one if the timings do not decide.
    decided
        Whether the timings distinguish the models.
    verdict
        The better model and the reason, in a sentence or two.
    warnings
        Further warnings about the better model.
    """

    timings: Timings
    amdahl: ModelFit
    downey: ModelFit
    better: ModelName
    decided: bool
    verdict: str
    warnings: tuple[str, ...]
    seed: int
    bootstrap: int

    def of(self, name: ModelName) -> ModelFit:
        """Return the fit of one model."""
        return self.amdahl if name == "amdahl" else self.downey

    @property
    def fits(self) -> bool:
        """Whether the better model is usable: its errors are small, also at counts left out of the fit."""
        best = self.of(self.better)
        return best.error < POOR and best.cv_error is not None and best.cv_error < POOR

    def table(self) -> Table:
        """Return the measured times, with the geometric mean of repeated measurements."""
        groups = Groups.of(self.timings.processors, np.log(self.timings.seconds))
        return Table.of({int(n): float(t) for n, t in zip(groups.n, np.exp(groups.log_time), strict=True)})


def fit(
    processors: ArrayLike,
    seconds: ArrayLike,
    *,
    seed: int = 0,
    bootstrap: int = 200,
    unit: SizeUnit = "processors",
) -> FitReport:
    """Return Downey's model and Amdahl's law fitted to measured times.

    Parameters
    ----------
    processors, seconds
        One timing each; a count may be timed more than once. Their order does not matter.
    bootstrap
        Number of samples for the intervals; 0 for none.
    unit
        The unit of the sizes.

    Raises
    ------
    ModelError
        Fewer than 3 distinct counts, different lengths, or an invalid count or time.
    """
    if seed < 0:
        raise ModelError(f"seed {seed} is below 0, the minimum")
    if not 0 <= bootstrap <= MOST_SAMPLES:
        raise ModelError(f"{bootstrap} bootstrap samples: the number is from 0 to {MOST_SAMPLES}")
    timings = Timings.of(processors, seconds, unit)
    groups = Groups.of(timings.processors, np.log(timings.seconds))
    if len(groups.n) < FEWEST_COUNTS:
        raise ModelError(
            f"timings on too few processor counts ({len(groups.n)}): a fit needs {FEWEST_COUNTS}; measure more, "
            'or write the times into the application file (model = "table")'
        )
    if len(groups.n) > MOST_COUNTS:
        raise ModelError(
            f"timings on too many processor counts ({len(groups.n):,}): the limit is {MOST_COUNTS:,}; leave some out"
        )
    rng = np.random.default_rng(seed)
    amdahl = _fitted(FAMILIES["amdahl"], timings, groups, rng, bootstrap)
    downey = _fitted(FAMILIES["downey"], timings, groups, rng, bootstrap)
    better, decided, verdict = _judged(amdahl, downey, len(groups.n), len(timings.seconds))
    warnings = tuple(_warnings(downey if better == "downey" else amdahl, downey, groups))
    return FitReport(timings, amdahl, downey, better, decided, verdict, warnings, seed, bootstrap)


FREE: Final = 2
"""Fewest timings beyond the parameters for intervals: the scatter of a single one may be near 0 by chance."""


def _fitted(family: Family, timings: Timings, groups: Groups, rng: np.random.Generator, bootstrap: int) -> ModelFit:
    point = solve(family, groups)
    log_time = np.log(timings.seconds)
    expected = family.log_work(groups, point) - family.log_speedup(
        timings.processors.astype(np.float64), family.shape(point)
    )
    residuals = log_time - expected
    how_many, free = len(residuals), len(residuals) - 1 - len(family.parameters)
    squares = max(float(residuals @ residuals), groups.resolved)
    samples = np.empty((0, 1 + len(family.parameters)))
    if bootstrap and free >= FREE:
        # The fit absorbs a part of the scatter; this restores it.
        scatter = residuals * math.sqrt(how_many / free)
        drawn = expected + rng.choice(scatter, size=(bootstrap, how_many))
        resampled = (Groups.of(timings.processors, row) for row in drawn)
        samples = np.array([_parameters(family, g, solve(family, g, start=point)) for g in resampled])
    values = _parameters(family, groups, point)
    intervals, identifiable = _intervals(family, groups, point, values, samples)
    names = ("sequential_time", *family.parameters)
    return ModelFit(
        name=family.name,
        parameters={k: Estimate(float(v), *i) for k, v, i in zip(names, values, intervals, strict=True)},
        error=math.sqrt(float(residuals @ residuals) / how_many),
        aicc=_aicc(squares, how_many, len(names) + 1),
        cv_error=_cross_validated(family, timings, groups),
        identifiable=identifiable,
        samples=samples,
    )


def _parameters(family: Family, groups: Groups, point: Array) -> Array:
    return np.array([np.exp(family.log_work(groups, point)), *family.shape(point)])


def _aicc(squares: float, how_many: int, parameters: int) -> float | None:
    """Return AICc for normal errors; the number of parameters includes their variance."""
    left = how_many - parameters - 1
    if left <= 0:
        return None
    return how_many * math.log(squares / how_many) + 2 * parameters + 2 * parameters * (parameters + 1) / left


def _cross_validated(family: Family, timings: Timings, groups: Groups) -> float | None:
    """Return the mean relative error of predicting the times on each count from those on others."""
    if len(groups.n) - 1 < 1 + len(family.parameters):
        return None
    errors = np.empty(len(groups.n))
    folds = min(len(groups.n), MOST_FOLDS if len(groups.n) <= MANY_COUNTS else FEW_FOLDS)
    for fold in range(folds):
        out = np.arange(len(groups.n)) % folds == fold
        others = groups.of_counts(~out)
        point = solve(family, others)
        log_times = family.log_work(others, point) - family.log_speedup(groups.n[out], family.shape(point))
        for i, log_time in zip(np.flatnonzero(out), log_times, strict=True):
            measured = timings.seconds[timings.processors == groups.n[i]]
            errors[i] = np.mean(np.abs(np.exp(log_time) / measured - 1))
    return float(errors.mean())


def _tails() -> list[float]:
    return [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]


def _intervals(
    family: Family, groups: Groups, point: Array, values: Array, samples: Array
) -> tuple[list[tuple[float | None, float | None]], bool]:
    """Return each parameter's interval, and whether the timings fix the parameters.

    An interval spans the bootstrap's percentiles, the estimate, and, for Downey's model, the ridge if it is wide: all A
    that fit as well as the best. If it reaches the end of the search, it is unbounded.
    """
    likely = values[np.newaxis]
    flat = False
    limits = np.full(len(values), np.inf)
    if family.name == "downey":
        rungs, squares = ladder(family, groups, 120)
        level = float(family.squares(groups, point)) * RIDGE + groups.resolved
        ridge = np.array([values, *(_parameters(family, groups, rung) for rung in rungs[squares <= level])])
        flat = bool(ridge[:, 1].max() > 2 * ridge[:, 1].min())
        likely = ridge if flat else likely
        limits[1:] = 0.99 * np.exp(family.upper(groups)[0]), 0.99 * LARGEST_SIGMA
    if not len(samples):
        return [(None, None)] * len(values), not flat
    low, high = np.quantile(samples, _tails(), axis=0)
    low, high = np.minimum(low, likely.min(axis=0)), np.maximum(high, likely.max(axis=0))
    high = np.where(high >= limits, np.inf, high)
    wide = family.name == "downey" and bool(high[1] > WIDE * low[1])
    return list(zip(low.tolist(), high.tolist(), strict=True)), not (flat or wide)


def _judged(amdahl: ModelFit, downey: ModelFit, distinct: int, timings: int) -> tuple[ModelName, bool, str]:
    """Return the better model, whether that is settled, and why."""
    a, d = (max(f.cv_error, RESOLUTION) if f.cv_error is not None else math.inf for f in (amdahl, downey))
    errors = f"error {percent(downey.cv_error)} for Downey's model, {percent(amdahl.cv_error)} for Amdahl's law"
    simpler = "Amdahl's law is taken because it has fewer parameters."
    if amdahl.aicc is None or downey.aicc is None or distinct < ENOUGH_COUNTS or timings < ENOUGH_TIMINGS:
        few = (
            "The timings are too few to distinguish the models: "
            f"at least {ENOUGH_TIMINGS} are needed, on {ENOUGH_COUNTS} or more processor counts."
        )
        if d < a / 2:
            return "downey", False, f"{few} Downey's model is taken, as it predicts left-out counts better ({errors})."
        return "amdahl", False, f"{few} {simpler}"
    gain = amdahl.aicc - downey.aicc
    if abs(gain) < DECISIVE:
        cannot = f"The timings do not distinguish the models: AICc differs by {abs(gain):.1f}, less than {DECISIVE:g}."
        return "amdahl", False, f"{cannot} {simpler}"
    better, own, others = (downey, d, a) if gain > 0 else (amdahl, a, d)
    verdict = f"AICc prefers {better.title} (it is {abs(gain):.1f} lower)"
    if others < own * CLEARLY:
        return "amdahl", False, f"{verdict}, but the other model predicts left-out counts better ({errors}). {simpler}"
    link = "which also predicts" if own < others * CLEARLY else "and neither clearly predicts"
    return better.name, True, f"{verdict}, {link} left-out counts better ({errors})."


def _warnings(better: ModelFit, downey: ModelFit, groups: Groups) -> list[str]:
    found = []
    n, times = groups.n.astype(np.int64), np.exp(groups.log_time)
    for i in range(1, len(n)):
        fastest = int(times[:i].argmin())
        if times[i] > 1.1 * times[fastest]:
            found.append(
                f"the time rises from {times[fastest]:.4g} s on {n[fastest]} processors to {times[i]:.4g} s on {n[i]}, "
                'which neither model can follow; use model = "table" with the timings themselves'
            )
            break
    for i in range(1, len(n)):
        if times[i - 1] / times[i] > 1.05 * n[i] / n[i - 1]:
            found.append(
                f"from {n[i - 1]} to {n[i]} processors the time falls to less than {n[i - 1]}/{n[i]} of itself "
                "(superlinear speed-up), which neither model can follow"
            )
            break
    if better.error > POOR:
        found.append(f'the better model is still off by {percent(better.error)}; model = "table" may be better')
    if not downey.identifiable:
        found.append(
            "the timings do not determine Downey's A and sigma: very different values fit equally well, so do not use "
            "Downey's model beyond the largest measured count; measure on more processors"
        )
    return found
