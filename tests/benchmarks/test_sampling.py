"""Duration of a sample of a Slurm queue, by the length of the queue, and the number of samples in ten seconds.

Not collected by default; -s shows the table:

    pytest tests/benchmarks/test_sampling.py -s -o addopts="--import-mode=importlib"

The queues are synthetic (`made_queues`): whole nodes, or CPUs of shared nodes with their memory. CPU seconds of one
sample in which all jobs start, and of one that ends when the first tenth of the queue has started. With
GAS_BENCHMARK_SMALL=1, as in CI, only the shortest queue is used.
"""

from __future__ import annotations

import os
import time

import numpy as np
from made_queues import long_queue

from gas.prediction.slurm_samples import COARSE, LARGE, PLANS
from gas.slurm.beginning import Beginning
from gas.slurm.sampler import Sampler

SMALL = os.environ.get("GAS_BENCHMARK_SMALL") == "1"
SIZES = ((20, 40), (100, 200), (300, 500), (1000, 2000))
NOBODY = np.zeros(0, np.int64)


def seconds(kinds: str, nodes: int, waiting: int) -> tuple[float, float]:
    """Return the duration of a sample, to its end and to the start of the first tenth."""
    made = long_queue(kinds, nodes=nodes, waiting=waiting)
    begin = Beginning.of(made.cluster, made.later)
    coarse, most_plans = (COARSE, PLANS) if nodes * waiting > LARGE else (0.0, 0)
    sampler = Sampler(begin, coarse, most_plans)
    took = np.array([made.seconds[one.id] for one in begin.waiting.jobs])
    ends = sampler.ends(np.array([made.seconds[one.id] for one in begin.state.running_jobs]))
    first = np.argsort([-one.priority for one in begin.waiting.jobs])[: waiting // 10]
    found, room = [], sampler.room()
    for awaited in (np.arange(waiting), first):
        sampler.run(room, ends, took, awaited, NOBODY, begin.cluster.now)  # compiles
        began = time.process_time()
        begun = sampler.run(room, ends, took, awaited, NOBODY, begin.cluster.now + 10**8)
        found.append(time.process_time() - began)
        assert (begun[awaited] >= 0).all()
    return found[0], found[1]


def test_seconds_of_a_sample():
    print(f"\n{'nodes':>6} {'waiting':>8} {'':16} {'all':>8} {'a tenth':>8} {'in 20 s of the processor':>26}")
    for nodes, waiting in SIZES[:1] if SMALL else SIZES:
        for kinds in ("", "shared,memory"):
            whole, part = seconds(kinds, nodes, waiting)
            print(f"{nodes:6,} {waiting:8,} {kinds or 'whole nodes':16} {whole:8.3f} {part:8.3f} {20 / part:26,.0f}")
