"""Hypothesis strategies shared by the tests of the pure parts of planner and scheduler.

Everything is small (machines of a few processors, spans of some seconds), so that a brute force over every second stays
cheap. Instants begin at 0 as often as at a recent date.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gas import AvailabilityList
from speedup_models import Amdahl, Constraint, ConstraintError, Downey, Table

TODAY = 1_731_000_000


instants = st.sampled_from([0, 1, TODAY])


@st.composite
def frames(draw, most_processors=8, most_frames=7, longest=8, first=instants):
    """Return (starts, free): contiguous frames, neighbours different, the last one rarely the whole machine."""
    count = draw(st.integers(1, most_frames))
    lengths = draw(st.lists(st.integers(1, longest), min_size=count - 1, max_size=count - 1))
    levels = draw(st.lists(st.integers(0, most_processors), min_size=count, max_size=count))
    now = draw(first)
    starts, free = [now], [levels[0]]
    end = now
    for length, level in zip(lengths, levels[1:], strict=True):
        end += length
        if level != free[-1]:
            starts.append(end)
            free.append(level)
    return starts, free


@st.composite
def availability_lists(draw, name="machine", most_processors=8, **options):
    """Return a valid list; the machine has at least as many processors as any frame."""
    starts, free = draw(frames(most_processors, **options))
    processors = draw(st.integers(max(1, *free), most_processors)) if len(free) > 1 else max(1, free[0])
    return AvailabilityList.of(starts, free, processors=processors, scheduler=name)


@st.composite
def constraints(draw, most=10):
    """Return a constraint of any kind that at least one count up to `most` meets."""
    kind = draw(st.sampled_from(["any", "any", "power-of-two", "perfect-square", "multiple", "list"]))
    minimum = draw(st.sampled_from([1, 1, 2, 3]))
    maximum = draw(st.sampled_from([None, None, 4, 7]))
    multiple = draw(st.integers(1, 4)) if kind == "multiple" else None
    sizes = tuple(draw(st.sets(st.integers(1, most), min_size=1))) if kind == "list" else None
    try:
        return Constraint(kind, minimum, maximum, multiple, sizes)
    except ConstraintError:
        return Constraint(kind, 1, None, multiple, sizes)


@dataclass(frozen=True)
class Choosy:
    """A model with a constraint of its own, and without an answer for some counts."""

    times: tuple[float, ...]
    constraint: Constraint
    name: str = "choosy"
    sizes: None = None

    def seconds(self, processors):
        known = np.array([np.nan, *self.times])
        return known[np.minimum(processors, len(self.times))]


@st.composite
def models(draw, most=10, longest=12.0):
    """Return a speed-up model with times of seconds to tens of seconds; tables need not decrease."""
    kind = draw(st.sampled_from(["table", "table", "interpolated", "downey", "amdahl", "choosy"]))
    # Halves and quarters, so that rounding up is at work; 1e-7 more than a whole number is that number.
    times = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 3.0000001, 4.0, 5.75, 7.0, 9.0, longest])
    if kind in ("table", "interpolated"):
        given = draw(st.dictionaries(st.integers(1, most), times, min_size=1))
        return Table.of(given, interpolate=kind == "interpolated")
    if kind == "choosy":
        some = st.one_of(times, st.just(float("nan")))
        return Choosy(tuple(draw(st.lists(some, min_size=most, max_size=most))), draw(constraints(most)))
    sequential = draw(st.sampled_from([1.0, 5.0, 24.0, 30.0]))
    if kind == "amdahl":
        return Amdahl(sequential, draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])))
    return Downey(sequential, draw(st.sampled_from([1.0, 3.0, 8.0])), draw(st.sampled_from([0.0, 0.5, 1.0, 2.5])))


class Seconds:
    """Free processors of a machine second by second: the oracle for placing jobs."""

    def __init__(self, processors, now, until):
        self.processors, self.now = processors, now
        self.free = [processors] * max(1, until - now)

    def hold(self, start, end, processors):
        """Take processors from `start` to `end` (excluded), ignoring the past."""
        for t in range(max(start, self.now) - self.now, end - self.now):
            self.free[t] -= processors

    def copy(self):
        other = Seconds(self.processors, self.now, self.now)
        other.free = list(self.free)
        return other

    def fits(self, start, end, processors):
        """Return whether processors are free in each second; the machine is idle after the last one kept."""
        return all(level >= processors for level in self.free[start - self.now : max(end - self.now, 0)])

    def first_fit(self, processors, walltime, not_before):
        """Return the first second from which processors are free for this long."""
        lasted = 0
        for t in range(not_before - self.now, len(self.free)):
            lasted = lasted + 1 if self.free[t] >= processors else 0
            if lasted == walltime:
                return self.now + t - walltime + 1
        return max(not_before, self.now + len(self.free) - lasted)

    def steps(self):
        """Return (second, free processors) at every change."""
        levels = [*self.free, self.processors]
        return [(self.now + t, level) for t, level in enumerate(levels) if t == 0 or level != levels[t - 1]]
