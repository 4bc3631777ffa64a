"""Waits predicted by scikit-learn from the state of the queue: gradient boosting, and a two-stage network."""

from __future__ import annotations

import warnings
from collections import deque
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from experiments.prediction.methods import LEVELS, Seen
from gas.prediction.queue_state import FEATURES

__all__ = ["Boosting", "Network"]

_STATE: Final = [i for i, name in enumerate(FEATURES) if not name.startswith("start: ")]
"""Starts in several orders are part of Gas's own prediction; published methods use only the state of the queue."""

_FEWEST: Final = 60
_LAST: Final = 8_000
_UNIT: Final = 60.0


def _one_thread() -> Any:
    """Return a context with a single thread: a study already computes several methods in parallel.

    The libraries with threads are looked up once, after scikit-learn has loaded them.
    """
    return _threads().limit(limits=1)


@cache
def _threads() -> Any:
    import sklearn.ensemble
    import sklearn.neural_network  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Trained:
    """A model that is trained again whenever the known waits have grown by a fifth."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._seen: deque[NDArray[np.float32]] = deque(maxlen=_LAST)
        self._waits: deque[int] = deque(maxlen=_LAST)
        self._known = self._trained = 0

    def learn(self, seen: Seen, wait: int) -> None:
        """See `Method`."""
        self._seen.append(seen[_STATE])
        self._waits.append(wait)
        self._known += 1

    def predict(self, seen: Seen) -> tuple[float, float, float] | None:
        """See `Method`."""
        if self._known < _FEWEST:
            return None
        if not self._trained or self._known - self._trained >= max(200, self._trained // 5):
            with _one_thread():
                self._train(np.array(self._seen), np.log1p(np.array(self._waits) / _UNIT))
            self._trained = self._known
        with _one_thread():
            low, middle, high = np.maximum(np.sort(self._says(seen[None, _STATE])), 0.0).tolist()
        return tuple(float(_UNIT * np.expm1(one)) for one in (low, middle, high))  # type: ignore[return-value]

    def _train(self, seen: NDArray[np.float32], wait: NDArray[np.float64]) -> None:
        raise NotImplementedError

    def _says(self, seen: NDArray[np.float32]) -> NDArray[np.float64]:
        raise NotImplementedError


class Boosting(_Trained):
    """Gradient boosting of each quantile (scikit-learn's histograms, after LightGBM)."""

    def _train(self, seen: NDArray[np.float32], wait: NDArray[np.float64]) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        self._models: list[Any] = [
            HistGradientBoostingRegressor(
                loss="quantile", quantile=level, max_iter=80, learning_rate=0.1, min_samples_leaf=15,
                early_stopping=False, random_state=self._seed,
            ).fit(seen, wait)
            for level in LEVELS
        ]  # fmt: skip

    def _says(self, seen: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.array([model.predict(seen)[0] for model in self._models])


class Network(_Trained):
    """A network that tells whether a job starts within a minute, and one that predicts the wait of all other jobs.

    Two stages as in TROUT, for Purdue's Anvil. The interval comes from the errors of the second stage in training.
    """

    def _train(self, seen: NDArray[np.float32], wait: NDArray[np.float64]) -> None:
        from sklearn.neural_network import MLPClassifier, MLPRegressor

        self._mean, self._spread = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-3)
        scaled, waits = self._scaled(seen), wait > np.log1p(1.0)
        options = {
            "hidden_layer_sizes": (64, 32),
            "max_iter": 40,
            "batch_size": 64,
            "random_state": self._seed,
            "alpha": 1e-3,
        }
        self._waits_long: Any = bool(waits.mean() > 0.5)
        self._second: Any = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of training that has not converged
            if 0 < waits.mean() < 1:
                self._waits_long = MLPClassifier(**options).fit(scaled, waits)
            if waits.sum() >= _FEWEST:
                self._usual = float(wait[waits].mean())
                self._second = MLPRegressor(**options).fit(scaled[waits], wait[waits] - self._usual)
        if self._second is not None:
            errors = wait[waits] - self._usual - self._second.predict(scaled[waits])
            self._errors = np.quantile(errors, LEVELS)

    def _says(self, seen: NDArray[np.float32]) -> NDArray[np.float64]:
        scaled = self._scaled(seen)
        share = float(self._waits_long) if isinstance(self._waits_long, bool) else self._share(scaled)
        if self._second is None:
            return np.zeros(len(LEVELS))
        later = self._usual + float(self._second.predict(scaled)[0]) + self._errors - self._errors[1]
        return np.where(1 - share >= np.array(LEVELS), 0.0, later)

    def _share(self, scaled: NDArray[np.float64]) -> float:
        return float(self._waits_long.predict_proba(scaled)[0, 1])

    def _scaled(self, seen: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(np.clip((seen - self._mean) / self._spread, -5, 5), np.float64)
