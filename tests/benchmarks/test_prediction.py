"""Duration of a forecast, by the length of the queue and the number of candidates, and the error of the fast method.

Not collected by default; -s shows the tables:

    pytest tests/benchmarks/test_prediction.py -s -o addopts="--import-mode=importlib"

The queues are synthetic: 512 processors, sizes of powers of two up to 64, walltimes from ten minutes to a day, uniform
in the logarithm, of which jobs use any share. Candidates have sizes uniform in the logarithm and take two hours.
Seconds are wall-clock, with two threads, the least of GAS_BENCHMARK_REPEATS (3); no figure fails. With
GAS_BENCHMARK_SMALL=1, as in CI, only the two shortest queues are used.

The second table has the error of simulating all candidates in one simulation per sample (`gas.prediction.together`):
the mean start by it divided by the mean start of the same candidate simulated separately, with the same run times.
"""

from __future__ import annotations

import os
import time

import numpy as np

from gas.prediction.forecast import SAMPLES, forecast
from gas.prediction.forward import starts_of_each
from gas.prediction.past import Past
from gas.prediction.snapshot import UNPLANNED, Snapshot
from gas.prediction.together import starts_of_all

REPEATS = int(os.environ.get("GAS_BENCHMARK_REPEATS", "3"))
SMALL = os.environ.get("GAS_BENCHMARK_SMALL") == "1"
MACHINE, HOUR = 512, 3600


def queue(waiting: int, seed: int = 1) -> Snapshot:
    """Return a busy machine with a number of waiting jobs."""
    random = np.random.default_rng(seed)
    count = 60 + waiting
    processors = 2 ** random.integers(0, 7, count)
    running = np.arange(count) < np.searchsorted(np.cumsum(processors[:60]), MACHINE, side="right")
    walltime = np.exp(random.uniform(np.log(600), np.log(86_400), count)).astype(np.int64)
    start = np.where(running, -(walltime * random.random(count)).astype(np.int64), UNPLANNED)
    kept = running | (np.arange(count) >= 60)
    user = random.integers(0, 30, count)
    columns = (processors, walltime, start, running, user)
    return Snapshot(0, MACHINE, *(column[kept] for column in columns))


def past() -> Past:
    """Return the past of thirty users whose jobs use any share of their walltimes."""
    random = np.random.default_rng(2)
    submit = np.sort(random.integers(-90 * 86_400, -86_400, 3000))
    walltime = random.integers(600, 86_400, submit.size)
    run_time = np.maximum((walltime * random.random(submit.size)).astype(np.int64), 1)
    user = random.integers(0, 30, submit.size)
    return Past(submit, 2 ** random.integers(0, 7, submit.size), walltime, run_time, submit + run_time, user)


def candidates(count: int) -> np.ndarray:
    sizes = np.geomspace(1, MACHINE, count).round().astype(np.int64)
    return np.array([sizes, np.full(count, 2 * HOUR)])


def seconds(waiting: int, count: int) -> float:
    asked = candidates(count)
    snapshot, before = queue(waiting), past()

    def once() -> float:
        began = time.perf_counter()
        forecast(snapshot, before, asked[0], asked[1], asked[1] - 60, threads=2)
        return time.perf_counter() - began

    return min(once() for _ in range(REPEATS))


def test_seconds_of_a_forecast():
    forecast(queue(5), past(), [1], [60], [50], samples=2, alone=0)
    forecast(queue(5), past(), [1], [60], [50], samples=2, alone=1)
    print(f"\n{SAMPLES} samples, two threads, seconds\n{'waiting':>8} {'1 candidate':>12} {'8':>8} {'50':>8}")
    for waiting in (10, 30) if SMALL else (10, 30, 100, 300, 1000):
        took = [seconds(waiting, count) for count in (1, 8, 50)]
        print(f"{waiting:8,} {took[0]:12.2f} {took[1]:8.2f} {took[2]:8.2f}")
        assert all(one > 0 for one in took)


def test_what_the_short_way_gets_wrong():
    print("\nmean start in one simulation for all / by itself, by processors")
    asked = candidates(7)
    print(f"{'waiting':>8} " + " ".join(f"{size:>7}" for size in asked[0].tolist()))
    for waiting, samples in ((10, 100), (100, 40), (300, 20)):
        snapshot = queue(waiting)
        before = past()
        before.learn(0)
        run_times = before.usage.draw(snapshot, samples, np.random.default_rng(0))
        alone = starts_of_each(snapshot, run_times, asked, threads=2).mean(axis=0)
        together = starts_of_all(snapshot, run_times, asked, threads=2).mean(axis=0)
        ratio = np.where(alone > 0, together / np.maximum(alone, 1), 1)
        print(f"{waiting:8,} " + " ".join(f"{one:7.2f}" for one in ratio))
        assert np.isfinite(ratio).all()
