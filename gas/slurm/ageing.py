"""Priorities that change with time: they grow with age, and depend on usage (priority_multifactor.c).

Slurm recalculates the priorities of all waiting jobs every PriorityCalcPeriod, counted from its own start; a new job
gets its priority with the fair share of the last calculation. Calculations run up to a second after the full period
(measured on 22.05, 24.11 and 26.05: 0.6 to 1.3 s after BOOT_TIME, constant for hours). A scheduler that runs at the
beginning of a second, like the main scheduler from 24.11 on, still uses the old priorities.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gas.slurm.accounting import Association
from gas.slurm.cluster import Cluster, Job
from gas.slurm.demand import held
from gas.slurm.fair_share import classic, factor, fair_tree, is_classic
from gas.slurm.order import HOLDING, Record
from gas.slurm.priority import own_priority
from gas.slurm.settings import Settings

__all__ = ["Ageing"]

PERIOD, HALF_LIFE, OLDEST = 300, 7 * 24 * 3600, 7 * 24 * 3600  # slurm.conf(5), PriorityCalcPeriod and the like
STARTING = 1
ALMOST = 1e-6
UNTRIED = ("BeginTime", "Dependency", "JobHeldAdmin", "JobHeldUser", "PartitionDown", "PartitionInactive")
Key = tuple[int, int | None]


class Ageing:
    """The priorities of all records.

    Attributes
    ----------
    values
        By record.
    remarks
        What Slurm takes into account and Gas does not.
    """

    def __init__(self, cluster: Cluster, records: Sequence[Record], later: NDArray[np.bool_]) -> None:
        """Begin; `later` marks records of jobs submitted later: without a priority, or with a given one."""
        self.cluster, self.records = cluster, records
        settings = cluster.settings or Settings()
        self.settings, self.multifactor = settings, settings.priority_type == "multifactor"
        self.period, self.oldest = settings.calculation_period or PERIOD, settings.max_age or OLDEST
        booted = settings.values.get("BOOT_TIME", "")
        self.next = cluster.now + self.period
        if booted.isdecimal():
            self.next = cluster.now + self.period - (cluster.now - int(booted) - STARTING) % self.period
        self.last = self.next - self.period
        self.weight = settings.weights.get("age", 0) if self.multifactor else 0
        self.remarks: list[str] = []
        self._begin_fair_share()
        count = len(records)
        self.values, self._base, self._new = np.zeros(count), np.zeros(count), np.zeros(count)
        self._rounded = np.zeros(count)
        self._place(later)

    def _place(self, later: NDArray[np.bool_]) -> None:
        """Take the published priorities, and calculate those of later jobs.

        Once a scheduler has tried a job and priorities have been recalculated, its size factor counts the CPUs that it
        would get; until then, those that it requests (seen on 22.05, 24.11 and 26.05: whole nodes).
        """
        now = self.cluster.now
        unknown: set[str] = set()
        known: dict[int, int] = {}
        published = [one.job.priority for one, new in zip(self.records, later, strict=True) if not new]
        lowest = min((one for one in published if one), default=1 << 31)
        sized = self.multifactor and self.settings.weights.get("size", 0) > 0
        untried = {job.id for job in self.cluster.jobs if (job.submitted or 0) >= self.last or job.reason in UNTRIED}
        for at, record in enumerate(self.records):
            job = record.job
            value: float = job.priority_in.get(record.partition.name, job.priority)
            own = None
            if not value and later[at]:
                own = own_priority(self.cluster, job, record.partition)
                unknown.update(own.unknown)
                if own.value is None:  # in the order of submission
                    known.setdefault(job.id, lowest - 1 - len(known))
                value = known[job.id] if own.value is None else own.value
            elif value and sized and (later[at] or job.id in untried):
                own = own_priority(self.cluster, job, record.partition)
            if own is not None and own.value is not None and own.later is not None:
                self._rounded[at] = own.later - own.value
            waited = 0 if later[at] else max(now - (job.eligible or job.submitted or now), 0)
            fair = self._share(at)
            self.values[at] = value
            self._new[at] = value - fair
            self._base[at] = value - fair - self.weight * min(waited, self.oldest) / self.oldest
        self.remarks += [f"priorities without {one}" for one in sorted(unknown)]

    @property
    def depends_on_usage(self) -> bool:
        """Whether priorities depend on running jobs."""
        return bool(self._fair)

    def bases(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each record's priority without age, and at submission, with the current fair share."""
        shares = np.array([self._share(at) for at in range(len(self.records))]) if self._fair else 0.0
        arriving = np.maximum(np.floor(self._new + shares + ALMOST), 1.0) if self.multifactor else self.values.copy()
        return self._base + self._rounded + shares, arriving

    def copied(self) -> Ageing:
        """Return an independent copy."""
        other = copy.copy(self)
        other.values, other._used, other._runs = self.values.copy(), self._used.copy(), self._runs.copy()
        return other

    # -- fair share

    def _begin_fair_share(self) -> None:
        accounting = self.cluster.accounting
        # acct_policy_job_fini adds the usage of ended jobs, but not if limits are not enforced (seen on 22.05, 26.05)
        self._loses = self.settings.limits_enforced is False
        self._fair = self.settings.weights.get("fair share", 0) if self.multifactor else 0
        self._of: list[tuple[str, str, str] | None] = [None] * len(self.records)
        self._factors: Mapping[tuple[str, str, str], float] = {}
        self._used: dict[tuple[str, str, str], float] = {}
        self._runs: dict[Key, tuple[tuple[str, str, str], float, int]] = {}
        if not self._fair:
            return
        if accounting is None or not accounting.shares_complete:
            self.remarks.append("fair share stays as it was")
            self._fair = 0
            return
        for at, record in enumerate(self.records):
            self._of[at] = self._association(record.job, record.partition.name)
        self._factors = {
            (one.account, one.user, one.partition): factor(accounting, one, self.settings) or 0.0
            for one in accounting.associations
            if one.user
        }
        self._used = {(one.account, one.user, one.partition): one.usage or 0.0 for one in accounting.associations}
        for job in self.cluster.jobs:
            if job.state in HOLDING:
                self.began((job.id, None), job, max(job.start or self.last, self.last))

    def _association(self, job: Job, partition: str) -> tuple[str, str, str] | None:
        """Return the key of a job's association; a job that is not submitted yet may leave the account to Slurm."""
        accounting = self.cluster.accounting
        if accounting is None:
            return None
        found = accounting.association(accounting.account_of(job.account, job.user), partition, job.user)
        return None if found is None else (found.account, found.user, found.partition)

    def _share(self, at: int) -> float:
        """Return the points that fair share adds to a priority."""
        key = self._of[at]
        return 0.0 if key is None else self._fair * self._factors.get(key, 0.0)

    def began(self, key: Key, job: Job, now: int) -> None:
        """Record that a job has started."""
        if self._fair and job.partitions and (own := self._association(job, job.partitions[0])) is not None:
            qos = {} if self.cluster.accounting is None else self.cluster.accounting.qos
            rate = held(self.cluster, job).get("billing", job.cpus)
            rate *= qos[job.qos].usage_factor if job.qos in qos else 1.0
            self._runs[key] = own, rate, now

    def ended(self, key: Key, now: int) -> None:
        """Record that a job has ended."""
        if key in self._runs:
            own, rate, since = self._runs.pop(key)
            if not self._loses:
                self._use(own, rate * max(now - since, 0))

    def _use(self, own: tuple[str, str, str], amount: float) -> None:
        """Add to the usage of a user and of all accounts above."""
        accounting = self.cluster.accounting
        association = None if accounting is None else accounting.association(own[0], own[2], own[1])
        self._used[own] = self._used.get(own, 0.0) + amount
        if accounting is not None and association is not None:
            for one in accounting.above(association):
                account = one.account, one.user, one.partition
                self._used[account] = self._used.get(account, 0.0) + amount

    def _recalculate_shares(self, now: int, waits: NDArray[np.bool_]) -> None:
        """Add the usage since the last calculation, with decay, and rank the users again (decay_thread)."""
        accounting = self.cluster.accounting
        if not self._fair or accounting is None:
            return
        half_life = HALF_LIFE if self.settings.half_life is None else self.settings.half_life
        if half_life:
            left = (1 - 0.693 / half_life) ** (now - self.last)
            self._used = {key: value * left for key, value in self._used.items()}
        if is_classic(self.settings):
            self._factors = self._classic(now, waits)
            return
        for key in self._runs:
            self._use_until(key, now)
        self._factors = fair_tree(self._associations(), self.settings)

    def _use_until(self, key: Key, now: int) -> None:
        own, rate, since = self._runs[key]
        self._use(own, rate * max(now - since, 0))
        self._runs[key] = own, rate, now

    def _associations(self) -> list[Association]:
        """Return the associations with their current usage."""
        accounting = self.cluster.accounting
        return [
            replace(one, usage=self._used.get((one.account, one.user, one.partition), 0.0), level=None, fair_share=None)
            for one in (() if accounting is None else accounting.associations)
        ]

    def _classic(self, now: int, waits: NDArray[np.bool_]) -> dict[tuple[str, str, str], float]:
        """Return the factors without Fair Tree: for accounts, from the usage before this calculation.

        Slurm goes through the jobs by number: a running one adds its usage, and a user's first waiting one sets the
        user's factor, so running jobs with higher numbers do not count for it (priority_multifactor.c,
        decay_apply_new_usage and _decay_apply_new_usage_and_weighted_factors; seen on 22.05).
        """
        before, found = dict(self._used), dict[tuple[str, str, str], float]()
        jobs: list[tuple[int, Key | None, tuple[str, str, str]]]
        jobs = [(key[0], key, own) for key, (own, _, _) in self._runs.items()]
        jobs += [
            (self.records[at].job.id, None, own) for at, own in enumerate(self._of) if waits[at] and own is not None
        ]
        for _, key, own in sorted(jobs, key=lambda one: (one[0], one[1] is None)):
            if key is not None:
                self._use_until(key, now)
            elif own not in found:
                found[own] = classic(self._associations(), self.settings, before)[own]
        return classic(self._associations(), self.settings, before) | found

    # -- time

    @property
    def due(self) -> int:
        """The time of the next calculation; far in the future if priorities do not change."""
        return self.next if self.multifactor else 1 << 60

    def arrives(self, records: NDArray[np.int64]) -> None:
        """Set the priority of a job that is submitted now."""
        for at in records.tolist():
            self.values[at] = self._whole(self._new[at] + self._share(at)) if self.multifactor else self.values[at]

    def calculate(self, now: int, since: NDArray[np.int64], waits: NDArray[np.bool_] | None = None) -> None:
        """Recalculate all priorities if it is time.

        Parameters
        ----------
        since
            When each record became eligible; 0 if it has not yet.
        waits
            Which records are waiting; by default all.
        """
        if now < self.next:
            return
        instant = now - (now - self.next) % self.period
        self._recalculate_shares(instant, np.ones(len(self.records), np.bool_) if waits is None else waits)
        self.last, self.next = instant, instant + self.period
        if not self.multifactor:
            return
        waited = np.where(since > 0, np.clip(now - since, 0, self.oldest), 0)
        shares = np.array([self._share(at) for at in range(len(self.records))]) if self._fair else 0.0
        values = self._base + np.where(since > 0, self._rounded, 0) + self.weight * waited / self.oldest + shares
        self.values = np.maximum(np.floor(values + ALMOST), 1.0)

    @staticmethod
    def _whole(value: float) -> float:
        return max(float(np.floor(value + ALMOST)), 1.0)
