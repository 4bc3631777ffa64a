"""The times at which both schedulers run: intervals, triggers, and whether a run is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gas.slurm.cluster import Cluster

__all__ = ["Clock"]

FULL_DEPTH, DEPTH, INTERVAL, DELAY = 0, 100, 60, 3  # slurm.conf(5): default_queue_depth, sched_interval, ...


@dataclass
class Clock:
    """The current second, the times at which each scheduler is due, and whether there is work for it.

    Attributes
    ----------
    backfill, full
        Earliest next cycle, and the main scheduler's next pass over the whole queue.
    interval, every, delay
        Seconds between cycles (bf_interval), between passes over the whole queue (sched_interval), and between passes
        triggered by events (batch_sched_delay).
    depth, partition_depth
        Most records that a triggered pass tries, in all and per partition; 0 means no limit.
    at_ends
        Whether the end of an epilog always triggers a pass.
    changed, asked
        Whether there is work for a cycle, and for a pass.
    last
        The main scheduler's last pass.
    """

    now: int
    backfill: int
    full: int
    interval: int = 30
    every: int = INTERVAL
    delay: int = DELAY
    depth: int = DEPTH
    partition_depth: int = 0
    at_ends: bool = True
    changed: bool = True
    asked: bool = True
    last: int = -(1 << 60)

    @classmethod
    def of(cls, cluster: Cluster, first_cycle: int | None = None, first_pass: int | None = None) -> Clock:
        """Return the current clock of a cluster.

        If the first cycle is not given, it is bf_interval after the last one, or now if that has passed: from then on
        Slurm checks every second whether something has changed (backfill.c, backfill_agent).
        """
        given, now = cluster.scheduling.parameters, cluster.now
        interval = _number(given, "bf_interval", 30)
        following = now if cluster.planned is None else min(max(now, cluster.planned + interval), now + interval)
        every = _number(given, "sched_interval", INTERVAL)
        defers = "defer" in given or "defer_batch" in given
        return cls(
            now, first_cycle or following, first_pass or now + every, interval, every,
            _number(given, "batch_sched_delay", DELAY), _number(given, "default_queue_depth", DEPTH),
            _number(given, "partition_job_depth", 0), _has_epilog(cluster) and not defers,
        )  # fmt: skip

    def pass_due(self) -> int | None:
        """Return the depth of the pass that is due now, and count it as done; None if none is due."""
        if self.now >= self.full:
            self.full, self.asked, self.last = self.now + self.every, False, self.now
            return FULL_DEPTH
        if self.asked and self.now >= self.last + self.delay:
            self.asked, self.last = False, self.now
            return self.depth
        return None

    def cycle_due(self) -> bool:
        """Return whether the backfill scheduler runs now; bf_interval counts from the end of its cycle."""
        if not self.changed or self.now < self.backfill or self.interval <= 0:
            return False
        self.backfill = self.now + self.interval
        return True

    def due(self) -> list[int]:
        """Return when triggered cycles and passes are due."""
        passes = [self.last + self.delay] if self.asked else []
        return [*passes, self.backfill] if self.changed and self.interval > 0 else passes


def _number(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, "")
    return int(text) if text.lstrip("-").isdecimal() else default


def _has_epilog(cluster: Cluster) -> bool:
    """Return whether nodes report the end of an epilog, which triggers a pass (proc_req.c, _slurm_rpc_epilog_complete).

    Without an epilog, a node that has no processes of the job left reports so when it is asked to end the job (slurmd,
    _rpc_terminate_job). That only requests a pass (agent.c; seen on 22.05, 24.11 and 26.05: passes are then
    batch_sched_delay apart). Most sites have an epilog, so one is assumed if the configuration is unknown.
    """
    configured = [value for name, value in cluster.values.items() if name == "Epilog" or name.startswith("Epilog[")]
    return not cluster.values or any(value not in ("", "(null)") for value in configured)
