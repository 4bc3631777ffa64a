"""Duration of planning and submitting.

Not collected by default; pytest-benchmark prints the table:

    pytest tests/benchmarks -o addopts="--import-mode=importlib" --benchmark-columns=min,median,rounds

Plans are of 1,000 allowed sizes (1 to 1,000 processors, Amdahl's law) against lists of 10,000 and 100,000 frames on a
machine of 1,000 processors. Before the last frame, the lists are

    random        frames drawn independently, so that there are holes of all sizes
    alternating   nothing and nearly everything free in turn: each frame opens or closes the holes of all sizes
    staircase     up and down one processor at a time: holes nest a thousand deep
"""

from __future__ import annotations

import numpy as np
import pytest

from gas import Application, AvailabilityList
from gas import compiled as compiling
from gas.availability import Kind
from gas.compiled import compiled
from gas.planner import plan
from gas.profile.flat import earliest_fits
from gas.s3 import S3
from speedup_models import Amdahl

NOW = 1_731_000_000
MACHINE = 1000
SIZES = np.arange(1, MACHINE + 1)
APPLICATION = Application(Amdahl(3_000_000, 0.001))  # 35 days on one processor, 2 hours on 1,000


def availability(shape: str, frames: int) -> AvailabilityList:
    random = np.random.default_rng(1)
    starts = NOW + np.concatenate([[0], np.cumsum(random.integers(60, 600, frames - 1))])
    steps = np.arange(frames)
    if shape == "random":
        free = random.integers(0, MACHINE + 1, frames)
        free[1:] += free[1:] == free[:-1]
        free = np.minimum(free, MACHINE)
    elif shape == "alternating":
        free = np.where(steps % 2, MACHINE - 1, 0)
    else:
        free = np.abs(steps % (2 * MACHINE) - MACHINE)
    free[-1] = MACHINE
    keep = np.concatenate([[True], np.diff(free) != 0])
    kind: Kind = "promise"
    return AvailabilityList("machine", kind, NOW, MACHINE, "1", starts[keep], free[keep].astype(np.int64))


@pytest.fixture(params=["compiled", "plain"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether kernels are compiled and warm, or in Python."""
    if request.param == "plain":
        monkeypatch.setattr(compiling, "_compiled", {})
        monkeypatch.setattr(compiling, "WORTH_COMPILING", float("inf"))
    else:
        compiled(earliest_fits)
    return str(request.param)


SHAPES = pytest.mark.parametrize("shape", ["random", "alternating", "staircase"])
FRAMES = pytest.mark.parametrize("frames", [10_000, 100_000])


@SHAPES
@FRAMES
def test_the_kernel_alone(benchmark, shape: str, frames: int, form: str) -> None:
    profile = availability(shape, frames).profile
    walltimes = APPLICATION.walltimes(APPLICATION.execution_times(SIZES))
    anchors = np.empty(MACHINE, np.int64)
    kernel = compiled(earliest_fits) if form == "compiled" else earliest_fits
    benchmark.group = f"kernel, {frames} frames, {shape}"
    kernel(profile, SIZES, walltimes, NOW, anchors)  # loads the machine code for these types
    benchmark(kernel, profile, SIZES, walltimes, NOW, anchors)
    assert (anchors >= NOW).all()


@SHAPES
@FRAMES
def test_planning_as_a_whole(benchmark, shape: str, frames: int, form: str) -> None:
    known = availability(shape, frames)
    benchmark.group = f"plan(), {frames} frames, {shape}"
    plan(APPLICATION, known)
    result = benchmark(plan, APPLICATION, known)
    assert len(result.candidates) == MACHINE


@pytest.mark.parametrize("queued", [10, 100, 1_000, 10_000])
@pytest.mark.parametrize("machine_code", [True, False], ids=["compiled", "plain"])
def test_submitting_to_s3_with_jobs_waiting(benchmark, queued: int, machine_code: bool) -> None:
    random = np.random.default_rng(2)
    s3 = S3(MACHINE, NOW, machine_code=True)
    for size, walltime in zip(random.integers(1, 500, queued), random.integers(60, 86_400, queued), strict=True):
        s3.submit(int(size), int(walltime))
    wanted = iter(random.integers([1, 60], [500, 86_400], (100_000, 2)).tolist())

    s3._machine_code = machine_code  # of the copies; without it, the queue itself would take minutes to build

    benchmark.group = f"S3.submit, {queued} jobs waiting"
    entry = benchmark.pedantic(
        S3.submit, setup=lambda: ((s3.copy(), *next(wanted)), {}), rounds=200 if queued < 10_000 else 50
    )
    assert entry.start >= NOW


@pytest.mark.parametrize("queued", [10, 100, 1_000, 10_000])
def test_an_early_end_with_jobs_waiting(benchmark, queued: int) -> None:
    """A job of half the machine ends early, and the whole queue is promoted until nothing moves (compiled)."""
    random = np.random.default_rng(3)
    s3 = S3(MACHINE, NOW, machine_code=True)
    first = s3.submit(MACHINE // 2, 86_400)
    for size, walltime in zip(random.integers(1, 500, queued), random.integers(60, 86_400, queued), strict=True):
        s3.submit(int(size), int(walltime))
    s3.step(NOW)
    s3.copy().step(NOW + 60, [first.id])
    benchmark.group = f"S3.step with an early end, {queued} jobs waiting"
    benchmark.pedantic(
        lambda other: other.step(NOW + 60, [first.id]),
        setup=lambda: ((s3.copy(),), {}),
        rounds=20 if queued < 10_000 else 3,
    )
