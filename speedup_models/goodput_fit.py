"""Fits AdaptDL's throughput model to step times, with intervals, and tests how well it predicts left-out sizes.

- As in AdaptDL, least squares on the logarithm of the step time, alpha and beta at least 0 and gamma from 1 to 10. A
  parameter that does not affect the timings is not fitted: exchange between nodes if all ran on one node, beta if only
  one number of GPUs exchanged, alpha_c if all GPUs had the same number of samples.
- AdaptDL pulls gamma and beta towards small values. Here they are not pulled, which would bias them.
- Intervals are those of profile likelihood: all values of a parameter which, with the others at their best, do not fit
  significantly worse (F test). Unlike a bootstrap they are correct at the bounds, where alpha, beta and gamma often
  are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from speedup_models.estimates import COVERAGE, POOR, Estimate
from speedup_models.goodput import Network, Work
from speedup_models.model import ModelError

__all__ = ["PARAMETERS", "GoodputFit", "fit_goodput"]

Array = NDArray[np.float64]

PARAMETERS: Final = ("alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "gamma")

GAMMA: Final = PARAMETERS.index("gamma")
LEAST: Final = np.array([0.0, 1e-6, 0.0, 0.0, 0.0, 0.0, 1.0])  # computing takes time
MOST: Final = np.array([np.inf] * GAMMA + [10.0])
STARTS: Final = (1.02, 1.6, 3.0, 6.0)
"""Values of gamma from which the search begins."""

STEPS: Final = 60
"""Number of steps after which a search stops; it usually takes ten."""

MOST_FOLDS: Final = 20
"""Number of sizes that are left out, one at a time; if there are more, these are spread over all."""

MOST_STEPS: Final = 10_000
"""Most measured steps; some hundred have a shape."""

FEWEST: Final = 3
"""Distinct measurements; fewer have no shape."""

BEYOND: Final = 1e4
"""An interval that reaches this multiple of the longest step has no end."""

RESOLUTION: Final = 1e-6
"""Relative error below which a timing counts as exact."""


@dataclass(frozen=True, eq=False)
class GoodputFit:
    """The fitted model.

    Attributes
    ----------
    network
        The model; NaN for links that were not measured.
    parameters
        The measured ones, by name; without an interval if the timings do not determine them.
    error
        Root mean square of the fit's relative errors.
    left_out
        By number of GPUs, the mean relative error of predicting its steps from all other numbers. Numbers that the
        others do not determine are missing.
    notes
        What the timings do not determine.
    """

    work: Work
    seconds: Array
    network: Network
    parameters: dict[str, Estimate]
    error: float
    left_out: dict[int, float]
    notes: tuple[str, ...]

    @property
    def cv_error(self) -> float | None:
        """Return the mean error at numbers of GPUs that were left out; None if none could be predicted."""
        return float(np.mean(list(self.left_out.values()))) if self.left_out else None

    @property
    def fits(self) -> bool:
        """Whether the model is usable: its errors are small, also at left-out sizes."""
        return self.error < POOR and self.cv_error is not None and self.cv_error < POOR

    @property
    def residuals(self) -> Array:
        """Return the relative error of each measured step, positive if it is longer than the model's."""
        return np.asarray(self.seconds / self.network.step(self.work) - 1)


def fit_goodput(work: Work, seconds: Array, *, intervals: bool = True) -> GoodputFit:
    """Return the model fitted to measured steps.

    Raises
    ------
    ModelError
        There are too few distinct measurements.
    """
    if len(seconds) > MOST_STEPS:
        raise ModelError(f"{len(seconds):,} measured steps: a fit takes {MOST_STEPS:,}; leave some out")
    problem = _Problem(work, seconds)
    free = problem.free()
    if not free[:GAMMA].any():
        raise ModelError(
            f"{problem.distinct} distinct measurements of a step: a fit needs {FEWEST}; time it on more sizes"
        )
    point, squares = problem.solve(free)
    point = np.where(point < 1e-9, 0.0, point)  # zero within the search's tolerance
    how_many, spare = len(seconds), len(seconds) - int(free.sum())
    parameters = {}
    for index, name in enumerate(PARAMETERS):
        if not problem.touched[index]:
            continue
        bounds: tuple[float | None, float | None] = (None, None)
        if intervals and free[index] and spare > 0:
            bounds = problem.interval(index, free, point, squares, spare)
        parameters[name] = Estimate(float(point[index] * problem.unit[index]), *bounds)
    network = problem.network(point)
    return GoodputFit(
        work,
        seconds,
        network,
        parameters,
        float(np.sqrt(squares / how_many)),
        _left_out(work, seconds),
        tuple(problem.notes(free)),
    )


def _left_out(work: Work, seconds: Array) -> dict[int, float]:
    found = {}
    gpus = np.asarray(work.gpus)
    sizes = np.unique(gpus)
    for size in sizes[np.unique(np.linspace(0, len(sizes) - 1, MOST_FOLDS).astype(int))].tolist():
        out = gpus == size
        others = _Problem(_of(work, ~out), seconds[~out])
        free = others.free()
        if not free[:GAMMA].any():
            continue
        expected = others.network(others.solve(free)[0]).step(_of(work, out))
        known = np.isfinite(expected)
        if known.any():
            found[int(size)] = float(np.mean(np.abs(expected[known] / seconds[out][known] - 1)))
    return found


def _of(work: Work, keep: NDArray[np.bool_]) -> Work:
    return Work(*(np.asarray(array)[keep] for array in work))


class _Problem:
    """Measured steps as a search problem: parameters in units that make each of them about 1.

    Attributes
    ----------
    touched
        The parameters that affect some measurement.
    """

    def __init__(self, work: Work, seconds: Array) -> None:
        self.work, self.log = work, np.log(seconds)
        nodes, gpus = np.asarray(work.nodes), np.asarray(work.gpus)
        self.links = {2: nodes > 1, 4: (nodes == 1) & (gpus > 1)}
        self.gpus = gpus
        typical = float(np.exp(self.log.mean())) if len(seconds) else 1.0
        local = max(1.0, float(np.mean(work.local))) if len(seconds) else 1.0
        beyond = max(1.0, float(np.mean(gpus))) if len(seconds) else 1.0
        self.unit = np.array([typical, typical / local, typical, typical / beyond, typical, typical / beyond, 1.0])
        self.touched = np.ones(len(PARAMETERS), bool)
        for alpha, measured in self.links.items():
            self.touched[alpha : alpha + 2] = measured.any()
        self.touched[GAMMA] = bool(self.touched[[2, 4]].any())
        rows = np.stack([nodes, gpus, work.local, work.accumulated], axis=-1) if len(seconds) else np.empty((0, 4))
        self.distinct = len(np.unique(rows, axis=0))

    def free(self) -> NDArray[np.bool_]:
        """Return which parameters can be fitted; none if there are too few measurements for any."""
        free = self.touched.copy()
        exchanging = (self.gpus > 1) & True
        free[0] = len(np.unique(self.work.local)) > 1
        for alpha, measured in self.links.items():
            free[alpha + 1] = len(np.unique(self.gpus[measured])) > 1
        free[GAMMA] &= len(np.unique(self.work.local[exchanging])) > 1
        for least in (GAMMA, 5, 3, 0):  # dispensable parameters, the least important first
            if free.sum() > self.distinct:
                free[least] = False
        if self.distinct < FEWEST or free.sum() > self.distinct:
            free[:] = False
        return free

    def notes(self, free: NDArray[np.bool_]) -> list[str]:
        """Return in words what the measurements do not determine."""
        found = []
        if not self.touched[2]:
            found.append("no step ran on several nodes: only layouts on one node have a time; measure on two nodes too")
        elif not free[3]:
            found.append(
                "communication between nodes was measured on one number of GPUs only; others are assumed to be equal"
            )
        if not self.touched[4] and (self.gpus > 1).any():
            found.append("no step ran on several GPUs of one node: such layouts have no time; measure one of them too")
        if not free[0]:
            found.append("each GPU always had the same number of samples: times with another number are a guess")
        return found

    def network(self, point: Array) -> Network:
        values = np.where(self.touched, point * self.unit, 0.0)
        values[2:GAMMA][~self.touched[2:GAMMA]] = np.nan
        values[GAMMA] = max(1.0, float(values[GAMMA]))
        return Network(*values.tolist())

    def residuals(self, point: Array) -> Array:
        return np.asarray(self.log - np.log(self._network(point).step(self.work)))

    def slopes(self, point: Array) -> Array:
        network = self._network(point)
        return np.asarray(-network.slopes(self.work) * self.unit / network.step(self.work)[:, np.newaxis])

    def _network(self, point: Array) -> Network:
        return Network(*(point * self.unit).tolist())

    def solve(
        self, free: NDArray[np.bool_], start: Array | None = None, fixed: tuple[int, float] | None = None
    ) -> tuple[Array, float]:
        """Return the best point and its sum of squares; parameters that are not free stay at 0, gamma at 1.

        With a `start`, the solution of a similar problem, only this is tried.
        """
        free = free.copy()
        if fixed is not None:
            free[fixed[0]] = False
        found = []
        for first in [start] if start is not None else self._starts(free):
            point = first.copy()
            if fixed is not None:
                point[fixed[0]] = fixed[1]
            found.append(self._descent(point, free))
        return min(found, key=lambda one: one[1])

    def _descent(self, point: Array, free: NDArray[np.bool_]) -> tuple[Array, float]:
        """Return the result of a search from a point: Levenberg-Marquardt, holding parameters that push at a bound."""
        residuals = self.residuals(point)
        squares, damping = float(residuals @ residuals), 1e-3
        for _ in range(STEPS):
            slopes = self.slopes(point)
            pull = slopes.T @ residuals
            moves = free & ~((point <= LEAST) & (pull > 0)) & ~((point >= MOST) & (pull < 0))
            if not moves.any():
                break
            curve = slopes[:, moves].T @ slopes[:, moves]
            scale = np.maximum(np.diag(curve), 1e-12)
            before = squares
            while damping < 1e9:
                point_there = point.copy()
                point_there[moves] -= np.linalg.solve(curve + damping * np.diag(scale), pull[moves])
                point_there = np.clip(point_there, LEAST, MOST)
                there = self.residuals(point_there)
                if (less := float(there @ there)) <= squares:  # NaN is not
                    point, residuals, squares, damping = point_there, there, less, damping / 8
                    break
                damping *= 4
            if damping >= 1e9 or before - squares <= 1e-8 * before or squares < len(residuals) * RESOLUTION**2:
                break
        return point, squares

    def _starts(self, free: NDArray[np.bool_]) -> list[Array]:
        """Return starting points: with gamma = 1 a step is linear in the others, so the best one is known."""
        from scipy.optimize import nnls

        ones = Network(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        linear = (ones.slopes(self.work) * self.unit / np.exp(self.log)[:, np.newaxis])[:, :GAMMA]
        found = np.zeros(len(PARAMETERS))
        found[:GAMMA][free[:GAMMA]] = nnls(linear[:, free[:GAMMA]], np.ones(len(self.log)))[0]
        if found[0] + found[1] <= 0:
            found[1] = 0.1
        starts = []
        for gamma in STARTS if free[GAMMA] else (1.0,):
            start = found.copy()
            start[GAMMA] = gamma
            # Exchange that overlaps with computing is longer than its contribution to a step.
            start[[2, 4]] = np.where(free[[2, 4]], start[[2, 4]] + 0.3 * (gamma > 1.1), 0.0)
            starts.append(start)
        return starts

    def interval(
        self, index: int, free: NDArray[np.bool_], point: Array, squares: float, spare: int
    ) -> tuple[float, float]:
        """Return the interval of a parameter: values that do not fit significantly worse than the best."""
        from scipy.special import fdtri  # imported in a third of the time of `scipy.stats`

        level = max(squares, len(self.log) * RESOLUTION**2) * (1 + float(fdtri(1, spare, COVERAGE)) / spare)
        least, most = float(LEAST[index]), min(float(MOST[index]), BEYOND)
        low = self._end(index, free, point, level, least)
        high = self._end(index, free, point, level, most)
        unit = float(self.unit[index])
        return low * unit, float("inf") if high >= most else high * unit

    def _end(self, index: int, free: NDArray[np.bool_], point: Array, level: float, bound: float) -> float:
        """Return where, from the best value towards a bound, the fit becomes significantly worse; else the bound."""
        inside = float(point[index])
        start = point
        down = bound < inside

        def fits(value: float) -> bool:
            nonlocal start
            found, squares = self.solve(free, start, (index, value))
            if squares > level:
                found, squares = min(((found, squares), self.solve(free, point, (index, value))), key=lambda x: x[1])
            if squares <= level:
                start = found
            return squares <= level

        if abs(bound - inside) < 1e-9 or (down and fits(bound)):
            return bound
        step, outside = max(0.02 * inside, 1e-3), None
        while outside is None:
            value = max(inside - step, bound) if down else min(inside + step, bound)
            if not fits(value):
                outside = value
            elif value == bound:
                return bound
            inside, step = (value if outside is None else inside), 2 * step
        for _ in range(8):
            middle = (inside + outside) / 2
            if fits(middle):
                inside = middle
            else:
                outside = middle
        return outside
