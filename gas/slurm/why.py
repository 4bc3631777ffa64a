"""Why Slurm has no plan for a job at first, as shown to users."""

from __future__ import annotations

from enum import Enum

from gas.slurm import rows as states
from gas.slurm.order import Blocked, Record

__all__ = ["FINAL", "Why", "why_of"]


class Why(Enum):
    """Why Slurm has no plan for a job at first."""

    DEPTH = "Slurm plans no more jobs in a cycle (bf_max_job_test)"
    USER_DEPTH = "Slurm plans no more jobs per user in a cycle (bf_max_job_user)"
    PARTITION_DEPTH = "Slurm plans no more jobs per partition in a cycle (bf_max_job_part)"
    USER_PARTITION_DEPTH = "Slurm plans no more jobs per user and partition in a cycle (bf_max_job_user_part)"
    ACCOUNT_DEPTH = "Slurm plans no more jobs per user and account in a cycle (bf_max_job_assoc)"
    WINDOW = "it starts later than Slurm plans ahead (bf_window)"
    NOWHERE = "no further nodes become free while it would run, so Slurm's search ends"
    NOW_ONLY = "Slurm only checks whether it can start now (bf_min_prio_reserve and similar)"
    LATER_TASKS = "Slurm plans only the first tasks of an array"
    TABLE_FULL = "Slurm's table of plans is full (bf_node_space_size)"
    UNRESERVED = "its QOS reserves nothing for it (NoReserve)"
    LICENCES = "too few licences are free now"
    RESERVATION = "its reservation has not begun, or has ended"
    LIMIT = "a limit keeps it from starting now"
    BEGIN = "its begin time is in the future"
    DEPENDENCY = "it waits for another job"
    HELD = "it is held"
    PARTITION = "its partition does not accept it"
    CONSTRAINT = "no nodes meet its request"
    FORBIDDEN = "a limit forbids it"


_WHY = {
    states.DEPTH: Why.DEPTH, states.USER_DEPTH: Why.USER_DEPTH, states.PARTITION_DEPTH: Why.PARTITION_DEPTH,
    states.USER_PARTITION_DEPTH: Why.USER_PARTITION_DEPTH, states.ACCOUNT_DEPTH: Why.ACCOUNT_DEPTH,
    states.WINDOW: Why.WINDOW, states.NOWHERE: Why.NOWHERE, states.NOW_ONLY: Why.NOW_ONLY, states.UNHELD: Why.LIMIT,
    states.LATER_TASKS: Why.LATER_TASKS, states.REJECTED: Why.NOWHERE, states.TABLE_FULL: Why.TABLE_FULL,
    states.UNRESERVED: Why.UNRESERVED,
    states.LICENCES: Why.LICENCES, states.IN_RESERVATION: Why.RESERVATION,
}  # fmt: skip
_BLOCKED = {
    Blocked.HELD: Why.HELD, Blocked.DEPENDENCY: Why.DEPENDENCY, Blocked.BEGIN: Why.BEGIN, Blocked.LIMIT: Why.LIMIT,
    Blocked.PARTITION: Why.PARTITION, Blocked.CONSTRAINT: Why.CONSTRAINT, Blocked.TASKS: Why.LATER_TASKS,
    Blocked.RESERVATION: Why.RESERVATION, Blocked.FORBIDDEN: Why.FORBIDDEN, Blocked.ACCOUNT: Why.PARTITION,
}  # fmt: skip
FINAL = frozenset({Why.PARTITION, Why.CONSTRAINT, Why.FORBIDDEN})
"""With these a job never starts, unless a user or an administrator changes something."""


def why_of(record: Record, state: int) -> Why | None:
    """Return why a record has no plan, from its outcome in a cycle; None if it has one."""
    if record.blocked is not None:
        return _BLOCKED[record.blocked]
    return _WHY.get(state)
