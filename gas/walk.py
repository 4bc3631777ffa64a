"""The paper's own walk over the availability list (Fig. 4.3), kept to reproduce the paper and to show its misses.

For each frame with n processors free it finds d, the end of the time for which n stay free, and tries the allowed sizes
k ≤ n inside [s, d). As d depends on n and not on k, the walk misses a smaller size that fits beyond d, and with it
sometimes the optimum (`gas guide formulas`, "Planning"). `gas.profile.flat.earliest_fits` answers the same question
exactly.

"If the application can run on n processors in time (d - s)" has three readings: any allowed size k ≤ n (`EVERY`), the
largest of them (`LARGEST`), or n alone (`EQUAL`). The paper's example (Fig. 4.4 to 4.7) finds 30 processors where 40
are free, so it excludes the third; the first two give its three candidates.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gas.compiled import kernel
from gas.profile.flat import ENDLESS, NEVER, Profile, frame_at

__all__ = ["EQUAL", "EVERY", "LARGEST", "walk"]

EVERY: Final = 0
LARGEST: Final = 1
EQUAL: Final = 2
"""Readings of the walk's condition: the allowed sizes that it tries in a frame."""


@kernel
def walk(
    profile: Profile,
    processors: NDArray[np.int64],
    walltimes: NDArray[np.int64],
    not_before: int,
    anchors: NDArray[np.int64],
    reading: int = EVERY,
) -> None:
    """Write into `anchors` the first start at which the walk finds each request, `NEVER` where it finds none.

    O(frames · requests) at worst; a request that has its start is not tried again. Processors ascend.
    """
    starts, free, count = profile.starts, profile.free, profile.used[0]
    begin = frame_at(profile, not_before)

    # lasts[i] is d: the start of the first later frame with fewer processors. Computed from the end, skipping frames
    # that are no smaller.
    smaller = np.empty(count, np.int64)
    for i in range(count - 1, begin - 1, -1):
        j = i + 1
        while j < count and free[j] >= free[i]:
            j = smaller[j]
        smaller[i] = j

    anchors[:] = NEVER
    waiting = np.arange(len(processors))
    left = len(processors)
    for i in range(begin, count):
        start = max(not_before, starts[i])
        end = starts[smaller[i]] if smaller[i] < count else ENDLESS
        kept = 0
        largest = np.searchsorted(processors, free[i], "right") - 1
        alone = reading != EVERY
        none = reading == EQUAL and (largest < 0 or processors[largest] != free[i])
        for position in range(left):
            k = waiting[position]
            tried = not none and (k == largest or not alone)
            if tried and processors[k] <= free[i] and start + walltimes[k] <= end:
                anchors[k] = start
            else:
                waiting[kept] = k
                kept += 1
        left = kept
        if left == 0:
            return
