"""When both schedulers look at the queue: how often, after what, and what is due at an instant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gas.slurm.cluster import Cluster

__all__ = ["FULL_DEPTH", "Clock"]

FULL_DEPTH, DEPTH, INTERVAL, DELAY = 0, 100, 60, 3  # slurm.conf(5): default_queue_depth, sched_interval, ...


@dataclass
class Clock:
    """The present second, when each scheduler is due, and whether there is something to do.

    Attributes
    ----------
    backfill, full
        When a cycle may begin, and when the main scheduler looks at all of the queue.
    interval, every, delay
        Seconds from one cycle to the next (bf_interval), from one look at all of the queue to the next
        (sched_interval), and from one pass to the next that something has asked for (batch_sched_delay).
    depth, partition_depth
        How many records such a pass tries at the most, in all and of a partition; 0 means no limit.
    defers
        Whether a submitted job waits for a pass in any case.
    at_ends
        Whether a pass follows when an epilog has run, whatever was before.
    changed, asked
        Whether there is something for a cycle, and for a pass.
    last
        When the main scheduler looked last.
    """

    now: int
    backfill: int
    full: int
    interval: int = 30
    every: int = INTERVAL
    delay: int = DELAY
    depth: int = DEPTH
    partition_depth: int = 0
    defers: bool = False
    at_ends: bool = True
    changed: bool = True
    asked: bool = True
    last: int = -(1 << 60)

    @classmethod
    def of(cls, cluster: Cluster, first_cycle: int | None = None, first_pass: int | None = None) -> Clock:
        """Return the clock of a cluster now.

        Unless it is known when the first cycle begins, that is bf_interval after the last one, or now where that is
        over: then it looks every second whether something has changed (backfill.c, backfill_agent).
        """
        given, now = cluster.scheduling.parameters, cluster.now
        interval = _number(given, "bf_interval", 30)
        following = now if cluster.planned is None else min(max(now, cluster.planned + interval), now + interval)
        every = _number(given, "sched_interval", INTERVAL)
        defers = "defer" in given or "defer_batch" in given
        return cls(
            now, first_cycle or following, first_pass or now + every, interval, every,
            _number(given, "batch_sched_delay", DELAY), _number(given, "default_queue_depth", DEPTH),
            _number(given, "partition_job_depth", 0), defers, _has_epilog(cluster) and not defers,
        )  # fmt: skip

    def pass_due(self) -> int | None:
        """Return how deep a pass that is due now looks, which counts as made; None if none is."""
        if self.now >= self.full:
            self.full, self.asked, self.last = self.now + self.every, False, self.now
            return FULL_DEPTH
        if self.asked and self.now >= self.last + self.delay:
            self.asked, self.last = False, self.now
            return self.depth
        return None

    def cycle_due(self) -> bool:
        """Return whether the backfill scheduler runs now; bf_interval is counted from its end."""
        if not self.changed or self.now < self.backfill or self.interval <= 0:
            return False
        self.backfill = self.now + self.interval
        return True

    def due(self) -> list[int]:
        """Return when something is due of what has been asked for."""
        passes = [self.last + self.delay] if self.asked else []
        return [*passes, self.backfill] if self.changed and self.interval > 0 else passes


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, "")
    return int(text) if text.lstrip("-").isdecimal() else default


def _has_epilog(cluster: Cluster) -> bool:
    """Return whether nodes say when an epilog has run: a pass follows (proc_req.c, _slurm_rpc_epilog_complete).

    Where none is configured, a node with nothing left of the job says so when it is asked to end it (slurmd,
    _rpc_terminate_job), and a pass is only due (agent.c; seen on 22.05, 24.11 and 26.05: passes are batch_sched_delay
    apart, whatever ends). Most sites have one: where the configuration is not known, so is this.
    """
    values = {} if cluster.settings is None else cluster.settings.values
    configured = [value for name, value in values.items() if name == "Epilog" or name.startswith("Epilog[")]
    return not values or any(value not in ("", "(null)") for value in configured)
