"""A machine's history: a log of its past, and the numbers of its users in this log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.prediction.past import Past, queues_of
from gas.prediction.present import Request, from_now, learning_is_ready, waits_now
from gas.prediction.recorded import UNLIMITED
from gas.prediction.similar import ANY, Similar
from gas.prediction.snapshot import Snapshot
from gas.times import iso_time
from workloads import Log
from workloads.sacct import Accounting
from workloads.sacct_header import Unit

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    """A log of a machine's past, and the numbers of its users in this log.

    Attributes
    ----------
    name
        Its name in messages.
    log
        Returns the log, given the unit of processors; most logs are the same for both.
    users, names
        Number of each user by name, and of each job name.
    remarks
        Remarks for the user.
    """

    name: str
    log: Callable[[Unit], Log]
    users: Mapping[str, int]
    names: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @classmethod
    def of_log(cls, log: Log, users: Mapping[str, int] | None = None, *, name: str | None = None) -> History:
        """Return the history of a log; in logs of other machines, users are named by number."""
        if users is None:
            users = {str(number): number for number in set(log.user.tolist()) if number >= 0}
        return cls(log.name if name is None else name, lambda unit: log, users)

    @classmethod
    def of_accounting(cls, found: Accounting) -> History:
        """Return the history in the output of sacct; jobs without a time limit get the limit `UNLIMITED`."""

        def log(unit: Unit) -> Log:
            whole = found.log(unit, unlimited=True)
            limit = np.where(whole.requested_time < 0, UNLIMITED, whole.requested_time)
            return whole.with_columns(requested_time=np.minimum(limit, UNLIMITED))

        return cls(found.name, cache(log), found.users, found.names, found.remarks)

    def past(self, snapshot: Snapshot, unit: Unit = "cpus") -> Past:
        """Return the past of a machine, as known at the instant of a snapshot.

        Raises
        ------
        BadInput
            Nothing was known by then.
        LogError
            The log does not give the jobs' processors in this unit.
        """
        log = self.log(unit)
        self._check(log)
        past = Past.of_log(log, processors=snapshot.machine)
        past.learn(snapshot.now)
        if not len(past.usage):
            jobs = f"{len(log):,} job{'' if len(log) == 1 else 's'}"
            raise BadInput(
                f"{self.name}: none of its {jobs} fits {snapshot.machine} processors and had ended by "
                f"{iso_time(snapshot.now)}, so there is no history to learn from"
            )
        return past

    def waits(self, snapshot: Snapshot, requests: Sequence[Request | None], processors: int) -> list[NDArray[np.int64]]:
        """Return for each request the sorted waits of past jobs in a similar situation; none for None.

        These jobs found a similar queue (`gas.prediction.present`). If too little is known for that, or the code is not
        compiled yet, they are the last jobs of similar size and walltime.

        Parameters
        ----------
        snapshot
            Running and waiting jobs, with the numbers of `queues`.
        processors
            Processors of the part of the machine that the queues of the requests share.

        Raises
        ------
        BadInput, LogError
            The log does not give the jobs' processors.
        """
        log, none = self.log("cpus"), np.zeros(0, np.int64)
        asked = [one for one in requests if one is not None]
        if not asked or processors < 1:
            return [none] * len(requests)
        by_queue = all(one.queue != ANY for one in asked)
        known = iter(
            waits_now(log, snapshot, asked, processors=processors) if learning_is_ready() else [none] * len(asked)
        )
        found = [none if one is None else next(known) for one in requests]

        @cache
        def like() -> Similar:
            return Similar.of_log(log, snapshot.machine, by_queue=by_queue)

        def alike(one: Request) -> NDArray[np.int64]:
            now = snapshot.now - log.start_time
            waits = like().waits(now, one.processors, one.walltime, one.queue if by_queue else ANY)
            return from_now(waits, 0 if one.submitted is None else max(0, snapshot.now - one.submitted))

        return [waits if waits.size or one is None else alike(one) for waits, one in zip(found, requests, strict=True)]

    def queues(self, unit: Unit = "cpus") -> Mapping[str, int]:
        """Return the numbers of its queues, or partitions, by name."""
        return {name: number for number, name in queues_of(self.log(unit))[1].items()}

    def of_queues(self, past: Past, names: Iterable[str]) -> Past:
        """Return the history with arrivals of these queues only, or with all if it lacks these queues."""
        numbers = self.queues()
        known = sorted(numbers[name] for name in names if name in numbers)
        return past.of_queue(*known) if known else past

    def checked(self) -> History:
        """Return it if it has usable jobs, or raise `BadInput`."""
        self._check(self.log("cpus"))
        return self

    def _check(self, log: Log) -> None:
        """Raise for a log without usable jobs, for any machine."""
        if not len(log):
            raise BadInput(f"{self.name}: has no jobs")
        if not (log.wait >= 0).any():
            raise BadInput(
                f"{self.name}: its wait times are unknown, and therefore the ends of jobs; gas simulate {self.name} "
                "--output hist.swf writes a log with them"
            )
        if not (log.run_time >= 0).any():
            raise BadInput(f"{self.name}: its run times are unknown, so nothing can be learned from it")
        if not (log.requested_time > 0).any():
            raise BadInput(f"{self.name}: has no requested walltimes, so nothing can be learned from it")
