"""What share of their walltimes jobs use, learnt from those that have ended, and drawn for those that have not.

The share is run time over walltime, at most 1 (R in Tang et al. 2013, equation 1). A job is taken to be like the last
ones of its user, processors and walltime; where few are known it is taken to be like those of its user and walltime,
of its user, of its walltime and of all users, step by step: n jobs of a class count as n, what is known of the next
wider one as `PRIOR`. So a user without a past is like all others, and one who always uses up a tenth soon like
himself.

Jobs of a user who submits many of a kind share their fate: they all crash, or all run on. So in each draw those who
wait and are of one class use the same share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gas.prediction.snapshot import Snapshot

__all__ = ["LAST", "PRIOR", "Usage"]

LAST = 40
"""Of how many jobs of a class the share is remembered, the last ones."""

PRIOR = 8.0
"""For how many jobs of its own a class takes what is known of the next wider one."""

_EVERYBODY = 500
"""The same as LAST for the class of all."""

_WALLTIME_STEPS = 4
"""Classes of walltimes to each doubling."""

_Class: TypeAlias = Hashable


class Usage:
    """Shares of their walltimes that jobs have used."""

    def __init__(self) -> None:
        self._shares: dict[_Class, deque[float]] = {}
        self._sorted: dict[_Class, NDArray[np.float64]] = {}

    def __len__(self) -> int:
        """Return how many jobs are remembered among all."""
        return len(self._shares.get((), ()))

    def ended(self, user: int, processors: int, walltime: int, run_time: int) -> None:
        """Learn from a job that has ended."""
        share = min(run_time / max(walltime, 1), 1.0)
        for one in _classes(user, processors, walltime):
            if one not in self._shares:
                self._shares[one] = deque(maxlen=LAST if one else _EVERYBODY)
            self._shares[one].append(share)
            self._sorted.pop(one, None)

    def draw(self, snapshot: Snapshot, samples: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Return run times for the jobs of a snapshot: a row for each sample, a column for each job.

        In seconds, from 1 to the walltime; for one that runs, more than it has run so far.
        """
        drawn = np.empty((samples, len(snapshot)), np.int64)
        together: dict[_Class, NDArray[np.float64]] = {}
        for i, elapsed in enumerate(snapshot.elapsed.tolist()):
            walltime = int(snapshot.walltime[i])
            if snapshot.fixed is not None and snapshot.fixed[i]:  # a reservation has its processors to its end
                drawn[:, i] = walltime
                continue
            classes = _classes(int(snapshot.user[i]), int(snapshot.processors[i]), walltime)
            if elapsed:
                shares = self._beyond(classes, elapsed / walltime, samples, generator)
            else:
                key = classes[0]
                if key not in together:
                    together[key] = self._mixed([self._pool(one) for one in classes], 0.0, samples, generator)
                shares = together[key]
            seconds = np.ceil(shares * walltime).astype(np.int64)
            drawn[:, i] = np.clip(seconds, min(elapsed + 1, walltime), walltime)
        return drawn

    def _pool(self, one: _Class) -> NDArray[np.float64]:
        if one not in self._sorted:
            self._sorted[one] = np.sort(np.array(self._shares.get(one, ()), np.float64))
        return self._sorted[one]

    def _beyond(
        self, classes: tuple[_Class, ...], share: float, samples: int, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return shares drawn for a job that has used up this one already."""
        pools = [pool[np.searchsorted(pool, share, side="right") :] for pool in map(self._pool, classes)]
        return self._mixed(pools, share, samples, generator)

    def _mixed(
        self, pools: list[NDArray[np.float64]], least: float, samples: int, generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return shares drawn from the classes of a job, of which the narrowest comes first."""
        drawn = least + (1 - least) * generator.random(samples)  # without a past: all are equally likely
        for pool in reversed(pools):
            if not pool.size:
                continue
            own = generator.random(samples) < pool.size / (pool.size + PRIOR)
            chosen = pool[generator.integers(pool.size, size=samples)]
            drawn = np.where(own, chosen, drawn)
        return drawn


def _classes(user: int, processors: int, walltime: int) -> tuple[_Class, ...]:
    """Return the classes of a job, the narrowest first."""
    step = int(_WALLTIME_STEPS * np.log2(walltime))
    if user < 0:
        return (("walltime", step), ())
    return ((user, processors, walltime), (user, step), (user,), ("walltime", step), ())
