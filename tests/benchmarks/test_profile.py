"""Duration of a search for an earliest fit in the profile of S³, from any instant, among 100,000 change points.

Not collected by default; -s shows the tables:

    pytest tests/benchmarks/test_profile.py -s -o addopts="--import-mode=importlib" --benchmark-columns=min,rounds

A machine of 1,000 processors. Every query has a random instant in the profile, a random number of processors, and a
walltime of a minute to two days, uniform in the logarithm (the index knows the lengths of holes up to one day). Each is
a separate call of machine code, timed separately, minus the cost of an empty call. Everything is repeated five times,
and the best time of each query counts, so that the longest is that of the query and not of the machine. The profiles
are

    random        frames drawn independently
    alternating   nothing and nearly everything free in turn
    ups and downs up and down one processor at a time: holes nest a thousand deep
    planned       jobs placed one after the other, each in its earliest fit, as in a long queue

A new profile does not know its holes yet (*new*); after the same query it does (*warm*); *changed* means that between
two queries one job was added and another one removed, which is not timed. The *walk* reads every frame from the instant
on, in two flat arrays (`gas.profile.flat`); its answers must be equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from gas.compiled import compiled
from gas.profile.blocks import FRAMES, Blocks, blocks_of, empty_blocks, profile_in, with_rows
from gas.profile.changes import give_back, take
from gas.profile.flat import earliest_fit
from gas.profile.holes import first_fit, given_since
from gas.s3.placing import place

MACHINE = 1_000
DAY = 86_400
SHAPES = ["random", "alternating", "ups and downs", "planned"]
STATES = ["new", "warm", "changed", "walk"]

Query = tuple[int, int, int]


def wanted(count: int, until: int, seed: int) -> list[Query]:
    """Return processors, walltimes and instants."""
    random = np.random.default_rng(seed)
    walltimes = np.exp(random.uniform(np.log(60), np.log(2 * DAY), count)).astype(np.int64)
    columns = random.integers(1, MACHINE + 1, count), walltimes, random.integers(0, until, count)
    return [(int(p), int(w), int(t)) for p, w, t in zip(*columns, strict=True)]


@cache
def made(shape: str, frames: int) -> Blocks:
    """Return a profile of a number of frames, which must not be changed."""
    if shape == "planned":
        blocks, put = with_rows(empty_blocks(MACHINE, 0), 2 * frames), compiled(place)
        for processors, walltime, _ in wanted(4 * frames, 1, 5):
            if blocks.numbers[FRAMES] >= frames:
                break
            put(blocks, processors, walltime, 0)
        flat = profile_in(blocks)
        starts, free = flat.starts, flat.free
    else:
        random = np.random.default_rng(1)
        starts = np.concatenate([[0], np.cumsum(random.integers(60, 600, frames - 1))])
        steps = np.arange(frames)
        if shape == "random":
            free = random.integers(0, MACHINE, frames)
            free[1:] += free[1:] == free[:-1]
        elif shape == "alternating":
            free = np.where(steps % 2, MACHINE - 1, 0)
        else:
            free = np.abs(steps % (2 * MACHINE) - MACHINE)
        free[-1] = MACHINE
    return blocks_of(starts, free, MACHINE, frames=2 * frames)


def timed(call: Callable[[int, int, int], int], queries: list[Query], between: Iterator[None] | None = None):
    """Return the answer to each query, and its nanoseconds."""
    answers, took = [], []
    for query in queries:
        if between is not None:
            next(between)
        began = time.perf_counter_ns()
        answer = call(*query)
        took.append(time.perf_counter_ns() - began)
        answers.append(answer)
    return answers, np.array(took)


def changes(blocks: Blocks, until: int) -> Iterator[None]:
    """Add a job somewhere and remove the one that was added ten changes ago, on request."""
    fit, put, back = compiled(first_fit), compiled(take), compiled(give_back)
    spans: list[tuple[int, int, int]] = []
    for processors, walltime, instant in wanted(1_000_000, until, 7):
        start = fit(blocks, processors, walltime, instant)
        put(blocks, start, start + walltime, processors)
        spans.append((start, start + walltime, processors))
        if len(spans) > 10:
            back(blocks, *spans.pop(0))
        yield


def cost_of_a_call(*arrays: NDArray[np.int64]) -> float:
    """Return the nanoseconds of calling machine code with as many arrays, and of timing that."""
    blocks, nothing = Blocks(*arrays), compiled(given_since)
    return float(np.median(timed(lambda p, w, t: nothing(blocks, p, w), wanted(2_000, DAY, 9))[1]))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_earliest_fit_from_any_instant_on(benchmark, shape, state):
    frames, count = (2_000, 100) if benchmark.disabled else (100_000, 3_000)
    flat = profile_in(made(shape, frames), 2 * frames)
    until = int(flat.starts[flat.used[0] - 1])
    queries = wanted(count, until, 3)
    fit, walk = compiled(first_fit), compiled(earliest_fit)
    fit(made("random", 10), 1, 1, 0)
    walk(flat, 1, 1, 0)  # both are loaded now
    passes: list[NDArray[np.int64]] = []
    free_calls = cost_of_a_call(*made(shape, frames))

    def queried() -> tuple[tuple[Blocks, Iterator[None] | None], dict[str, object]]:
        blocks = Blocks(*(array.copy() for array in made(shape, frames)))
        between = None
        if state in ("warm", "changed"):
            timed(lambda p, w, t: fit(blocks, p, w, t), queries)
        if state == "changed":
            between = changes(blocks, until)
            next(between)
        return (blocks, between), {}

    def ask(blocks: Blocks, between: Iterator[None] | None) -> list[int]:
        asked = (lambda p, w, t: walk(flat, p, w, t)) if state == "walk" else (lambda p, w, t: fit(blocks, p, w, t))
        answers, took = timed(asked, queries, between)
        passes.append(took)
        return answers

    benchmark.group = f"{count} queries, {shape}"
    answers = benchmark.pedantic(ask, setup=queried, rounds=5)
    took = (np.min(passes, axis=0) - free_calls) / 1e3
    figures = {"median": np.median(took), "mean": took.mean(), "99%": np.quantile(took, 0.99), "max": took.max()}
    benchmark.extra_info |= {f"{name}, us": round(float(figure), 2) for name, figure in figures.items()}
    print(f"\n{shape}, {state}: {benchmark.extra_info}")
    if state != "changed":
        assert answers == [walk(flat, *query) for query in queries]
