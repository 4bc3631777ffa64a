"""Duration for which S³ holds its lock: submissions, cancellations and early ends, with up to 100,000 waiting jobs.

Not collected by default; pytest-benchmark prints the table:

    pytest tests/benchmarks/test_scheduling.py -o addopts="--import-mode=importlib" --benchmark-columns=min,median,max

A full machine of 1,024 processors, and a queue of jobs of 1 to 512 processors (powers of two) and walltimes from a
minute to a day (uniform in the logarithm; half of them in whole quarters of an hour, as users request). Every round
begins with a fresh copy of the same schedule and another job. The number of moved jobs differs from job to job by
orders of magnitude, hence the spread. With GAS_BENCHMARK_SMALL=1, as in CI, at most ten thousand jobs wait.
"""

from __future__ import annotations

import os
from itertools import cycle

import numpy as np
import pytest

from gas.s3 import S3, Entry, Machine
from gas.s3.core import warm_up

NOW = 1_731_000_000
MACHINE = 1024
SMALL = os.environ.get("GAS_BENCHMARK_SMALL") == "1"


def requests(count: int, seed: int) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    sizes = 2 ** random.integers(0, 10, count)
    walltimes = np.exp(random.uniform(np.log(60), np.log(86_400), count)).astype(np.int64)
    quarters = np.maximum(walltimes // 900, 1) * 900
    walltimes = np.where(random.random(count) < 0.5, quarters, walltimes)
    return list(zip(sizes.tolist(), walltimes.tolist(), strict=True))


known: dict[int, S3] = {}


def schedule(queued: int) -> S3:
    """Return a schedule with a number of waiting jobs, which must not be changed."""
    if queued not in known:
        warm_up()
        machine = Machine(S3(MACHINE, NOW, machine_code=True))
        for size, walltime in requests(queued + 400, 1):
            machine.submit(size, walltime)
            if machine.schedule.counts[0] == queued:
                break
        known[queued] = machine.schedule
    return known[queued]


QUEUED = pytest.mark.parametrize("queued", [100, 1_000, 10_000])


@QUEUED
def test_cancelling_a_waiting_job(benchmark, queued: int) -> None:
    s3 = schedule(queued)
    chosen = cycle(np.random.default_rng(2).permutation([e.id for e in s3.queued]).tolist())
    benchmark.group = f"S3.cancel, {queued} jobs waiting"
    gone = benchmark.pedantic(S3.cancel, setup=lambda: ((s3.copy(), next(chosen)), {}), rounds=40)
    assert isinstance(gone, Entry)


@QUEUED
def test_an_early_end(benchmark, queued: int) -> None:
    s3 = schedule(queued)
    chosen = cycle(e.id for e in s3.running)
    benchmark.group = f"S3.step with an early end, {queued} jobs waiting"
    benchmark.pedantic(
        lambda other, id: other.step(NOW + 30, [id]),
        setup=lambda: ((s3.copy(), next(chosen)), {}),
        rounds=len(s3.running),
    )


@pytest.mark.parametrize("queued", [100, 1_000, 10_000] if SMALL else [100, 1_000, 10_000, 100_000])
def test_submitting(benchmark, queued: int) -> None:
    """One submission as in the service: placed, promised, and started if possible."""
    s3 = schedule(queued)
    wanted = cycle(requests(1000, 3))
    machine = Machine(s3.copy())
    benchmark.group = f"Machine.submit, {queued} jobs waiting"
    entry = benchmark.pedantic(machine.submit, setup=lambda: (next(wanted), {}), rounds=200)
    assert entry.start >= NOW


@pytest.mark.parametrize("queued", [100, 1_000, 10_000] if SMALL else [100, 1_000, 10_000, 100_000])
def test_an_instant_in_which_nothing_happens(benchmark, queued: int) -> None:
    machine = Machine(schedule(queued).copy())
    benchmark.group = f"Machine.advance and next_instant, {queued} jobs waiting"

    def look() -> int | None:
        machine.advance(NOW)
        return machine.next_instant()

    assert benchmark(look) > NOW


@pytest.mark.parametrize("queued", [100, 1_000, 10_000])
@pytest.mark.parametrize("processors", [MACHINE // 2, 2 * MACHINE])
def test_resizing(benchmark, queued: int, processors: int) -> None:
    """A smaller machine (all jobs are planned anew) or a larger one (all jobs are promoted)."""
    s3 = schedule(queued)
    benchmark.group = f"S3.resize to {processors}, {queued} jobs waiting"
    benchmark.pedantic(lambda other: other.resize(processors), setup=lambda: ((s3.copy(),), {}), rounds=5)
