"""Outcomes of the study of predictions as its runs return them, and options that are soon computed."""

from experiments.prediction.results import Options
from experiments.prediction.run import SHARES

__all__ = ["SMALL", "outcome", "predicted"]

SMALL = Options(jobs=5, samples=20, runs=8)


def predicted(start, low, high, promise=1000, processors=10):
    row = {"now": 0, "promise": promise, "start": start, "processors": processors, "rank": 0.5}
    row |= {"mean": (low + high) / 2, "median": (low + high) / 2}
    return row | {f"{end}_{share:g}": at for share in SHARES for end, at in (("low", low), ("high", high))}


def outcome(static, gas, predicting, best=1):
    row = {"static": static, "gas": gas, "predicting": predicting, "best": best, "promised": gas, "user": 1}
    return row | {"gas_size": 2, "best_size": 1, "predicting_size": 4, "load_ratio": 1.0, "benchmark": "EP"}
