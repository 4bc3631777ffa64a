"""The parts of Slurm's configuration that affect when jobs start: priority, enforcement, preemption, defaults.

slurm.conf(5) describes each key. Unpublished values are None, and `Settings.absent` lists them: a default would be a
guess, as several have changed between releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["FACTORS", "Settings"]

FACTORS: Mapping[str, str] = MappingProxyType(
    {
        "age": "PriorityWeightAge",
        "association": "PriorityWeightAssoc",
        "fair share": "PriorityWeightFairShare",
        "size": "PriorityWeightJobSize",
        "partition": "PriorityWeightPartition",
        "QOS": "PriorityWeightQOS",
    }
)
"""The factors of a priority, and the keys of their weights; trackable resources (TRES) have weights of their own."""


@dataclass(frozen=True)
class Settings:
    """The configuration from ``scontrol show config``.

    Attributes
    ----------
    values
        All of it by key, verbatim.
    version
        The release.
    priority_type
        ``multifactor`` or ``basic``.
    weights
        By the names of `FACTORS`.
    tres_weights
        PriorityWeightTRES, by the name of the resource in lower case.
    priority_flags
        In capitals.
    favour_small
        PriorityFavorSmall.
    max_age, half_life, calculation_period
        Seconds: PriorityMaxAge, PriorityDecayHalfLife (0: no decay), and PriorityCalcPeriod.
    dampening
        FairShareDampeningFactor.
    usage_reset
        PriorityUsageResetPeriod, in capitals.
    site_factor
        The plugin that adds a site factor to priorities; empty if there is none.
    enforced
        AccountingStorageEnforce, in lower case.
    with_accounting
        Whether slurmdbd keeps accounts; without it there are no associations.
    partition_limits
        EnforcePartLimits: ``NO``, ``ANY`` or ``ALL``.
    preempt_type, preempt_mode, preempt_parameters, preempt_exempt
        ``qos``, ``partition_prio`` or ``none``; GANG and one of OFF, CANCEL, REQUEUE, SUSPEND, in capitals;
        PreemptParameters; PreemptExemptTime, in seconds.
    selection, selection_parameters
        SelectType without its ``select/``, and SelectTypeParameters in capitals.
    tracked
        AccountingStorageTRES: the resources that can have limits.
    complete_wait, kill_wait
        Seconds.
    overtime
        Seconds by which jobs may exceed their time limit (OverTimeLimit).
    memory_per_cpu, memory_per_node, most_memory_per_cpu, most_memory_per_node
        Default and largest MB that jobs may request.
    cpus_per_gpu, memory_per_gpu
        From JobDefaults; MB.
    most_tasks
        MaxArraySize: the largest task number of an array, plus one.
    private
        PrivateData, in lower case.
    absent
        Expected keys that are not published.
    unclear
        Keys with values that could not be read.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    priority_type: str | None = None
    weights: Mapping[str, int] = field(default_factory=dict)
    tres_weights: Mapping[str, float] = field(default_factory=dict)
    priority_flags: frozenset[str] = frozenset()
    favour_small: bool | None = None
    max_age: int | None = None
    half_life: int | None = None
    calculation_period: int | None = None
    dampening: int | None = None
    usage_reset: str | None = None
    site_factor: str | None = None
    enforced: frozenset[str] | None = None
    with_accounting: bool | None = None
    partition_limits: str | None = None
    preempt_type: str | None = None
    preempt_mode: frozenset[str] = frozenset()
    preempt_parameters: Mapping[str, str] = field(default_factory=dict)
    preempt_exempt: int | None = None
    selection: str | None = None
    selection_parameters: frozenset[str] = frozenset()
    tracked: tuple[str, ...] | None = None
    complete_wait: int | None = None
    kill_wait: int | None = None
    overtime: int | None = None
    memory_per_cpu: int | None = None
    memory_per_node: int | None = None
    most_memory_per_cpu: int | None = None
    most_memory_per_node: int | None = None
    cpus_per_gpu: int | None = None
    memory_per_gpu: int | None = None
    most_tasks: int | None = None
    private: frozenset[str] | None = None
    absent: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()

    @property
    def preempts(self) -> bool:
        """Whether jobs are preempted at all (slurm.conf(5), PreemptType; PreemptMode other than OFF)."""
        return self.preempt_type not in (None, "none") and bool(self.preempt_mode - {"OFF"})

    @property
    def limits_enforced(self) -> bool | None:
        """Whether limits of associations and QOS are enforced; None if not published."""
        if self.with_accounting is False:
            return False
        return None if self.enforced is None else bool(self.enforced & {"limits", "safe", "all"})

    @property
    def associations_enforced(self) -> bool | None:
        """Whether jobs need an association (slurm.conf(5), AccountingStorageEnforce; all other values imply it)."""
        if self.with_accounting is False:
            return False
        if self.enforced is None:
            return None
        return bool(self.enforced & {"associations", "limits", "qos", "safe", "wckeys", "all"})

    @property
    def qos_enforced(self) -> bool | None:
        """Whether a QOS must be in the association's list."""
        if self.with_accounting is False:
            return False
        return None if self.enforced is None else bool(self.enforced & {"qos", "all"})

    @property
    def safe(self) -> bool:
        """Whether a job starts only if the minutes left under its limits suffice until its time limit."""
        return bool((self.enforced or frozenset()) & {"safe", "all"})

    def release(self) -> tuple[int, int]:
        """Return the release as a pair to compare, (24, 11); (0, 0) if unknown."""
        first, _, rest = (self.version or "").partition(".")
        second = rest.partition(".")[0]
        return (int(first), int(second)) if first.isdecimal() and second.isdecimal() else (0, 0)
