"""A profile in two forms, in two arrays and in blocks (`gas.profile`), for tests of the latter."""

from __future__ import annotations

from functools import cache

import numpy as np

import gas.compiled as compiling
from gas.compiled import compiled
from gas.profile import blocks as in_blocks
from gas.profile import changes, holes, staircase
from gas.profile import flat as arrays
from gas.s3 import placing

FORMS = {"plain": lambda kernel: kernel, "compiled": compiled}


def make_blocks_small(monkeypatch, width=4, fill=3, ring=16, few=0):
    """Make a handful of frames fill several blocks, so that a few jobs suffice to exercise the whole index.

    Compiled kernels read these constants at compilation, so kernels are compiled anew from now on.
    """
    for made in ("_compiled", "_inner"):
        monkeypatch.setattr(compiling, made, {})
    for module in (in_blocks, changes):
        monkeypatch.setattr(module, "WIDTH", width)
    monkeypatch.setattr(in_blocks, "_FILL", fill)
    for module in (in_blocks, changes, holes, placing):
        monkeypatch.setattr(module, "RING", ring, raising=module is not in_blocks)
    monkeypatch.setattr(holes, "_FEW", few)
    monkeypatch.setattr(staircase, "MOST_STEPS", 2)
    monkeypatch.setattr(placing, "MANY", 3)


@cache
def in_arrays(kernel):
    """Return a kernel on arrays as machine code, for any form of those on blocks; it has separate tests."""
    return compiled(kernel)


class Both:
    """A profile in arrays and in blocks, changed together, and the spans held in it.

    Attributes
    ----------
    flat, blocks
        The same profile. `flat` has enough room for tests.
    held
        (start, end, processors) taken by `hold` and not given back.
    """

    def __init__(self, processors, now, *, form="plain", walltime=50, starts=None, free=None, room=4000):
        self.form = FORMS[form]
        self.processors = processors
        starts, free = ([now], [processors]) if starts is None else (starts, free)
        self.flat = arrays.profile_of(starts, free, room)
        self.blocks = in_blocks.blocks_of(
            np.array(starts, np.int64), np.array(free, np.int64), processors, walltime=walltime
        )
        self.held = []

    @property
    def begin(self):
        return int(self.flat.starts[0])

    def take(self, start, end, processors):
        self.blocks = in_blocks.with_rows(self.blocks, 2)
        in_arrays(arrays.take)(self.flat, start, end, processors)
        self.form(changes.take)(self.blocks, start, end, processors)

    def give_back(self, start, end, processors):
        self.blocks = in_blocks.with_rows(self.blocks, 2)
        in_arrays(arrays.give_back)(self.flat, start, end, processors)
        self.form(changes.give_back)(self.blocks, start, end, processors)

    def forget(self, now):
        in_arrays(arrays.forget)(self.flat, now)
        self.form(changes.forget)(self.blocks, now)
        self.held = [span for span in self.held if span[1] > now]

    def hold(self, start, end, processors):
        """Take processors if they are free, and return whether they were."""
        free = end > start >= self.begin and in_arrays(arrays.free_during)(self.flat, start, end) >= processors
        if free:
            self.take(start, end, processors)
            self.held.append((start, end, processors))
        return free

    def let_go(self, span, since=None):
        """Give a held span back, or its part after an instant."""
        start, end, processors = span
        since = start if since is None else min(max(start, since), end)
        self.held.remove(span)
        self.give_back(since, end, processors)
        if since > start:
            self.held.append((start, since, processors))

    def frames_in_arrays(self):
        count = int(self.flat.used[0])
        return self.flat.starts[:count].tolist(), self.flat.free[:count].tolist()

    def frames_in_blocks(self):
        found = in_blocks.profile_in(self.blocks)
        return found.starts.tolist(), found.free.tolist()

    def assert_same(self):
        in_blocks.check(self.blocks, self.processors)
        assert self.frames_in_blocks() == self.frames_in_arrays()
