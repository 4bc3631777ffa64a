"""Availability of a partition's nodes, with starts as Slurm would find them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from documents.fields import quoted
from gas.availability import NodeAvailability
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.requested import requested_job, within_memory
from gas.endpoints.slurm.sizing import gpus_on, units_on
from gas.errors import Infeasible
from gas.printable import many
from gas.profile.flat import NEVER
from gas.slurm.at_start import outlooks_at_start
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.forecast import Forecast, forecast
from gas.slurm.order import Limits
from gas.slurm.outlook import Outlook
from gas.slurm.preemption import in_the_way
from gas.slurm.priority import Priority, own_priority
from gas.slurm.why import Why
from gas.times import iso_time, relative_text
from speedup_models.model import Layout

__all__ = ["SlurmAvailability"]


_SHARES = {
    "same": "the same as that of all other users",
    "above": "that of the best user of your account who has jobs, since you have none",
}  # fmt: skip


def _of_priority(own: Priority) -> str:
    """Return what is unknown about a priority, and the consequence; empty if all of it is known."""
    if own.unknown and own.value is None:
        because = "; ".join(own.unknown)
        return f"the priority of your jobs is not known ({because}): they are planned behind all others of their tier"
    if own.unknown:
        missing = "; ".join(own.unknown)
        return f"the priority of your jobs is not known exactly; these factors are assumed to be 0: {missing}"
    if own.share:
        return f"the fair share of your jobs is not published; Gas assumes {_SHARES[own.share]}"
    if own.observed and not own.comes_last:
        return f"the priority of your jobs is derived from those of {own.observed:,} waiting jobs"
    return ""


HURRY_SECONDS = 10
"""A start that is lost this soon is pointed out: users take longer to read the plan."""

WAITING = (Why.LIMIT, Why.LICENCES)
NOWHERE = Outlook(None, words="the options exclude this size", never=True)
HELD = Outlook(
    None, why=Why.HELD, never=True,
    words="--hold: the job never starts until it is released (scontrol release); leave --hold out",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class SlurmAvailability(NodeAvailability):
    """Availability of each node, and the start that Slurm would give a job submitted now.

    Attributes
    ----------
    cluster
        The published state of Slurm.
    options
        The options of every job, apart from size and walltime.
    partitions
        The partitions of the submission: Slurm uses the one where a job starts first.
    user
        The submitting user.
    unseen_until
        Epoch second until which hidden jobs hold their CPUs; None if all jobs are shown.
    limits
        The limits of accounts and QOS; None if unknown.
    groups
        Names of the groups of the submitting user, if known.
    seen
        The forecast of the queue without the planned jobs, if available.
    doubted
        Number of Slurm's plans that Gas reproduces, and their total, if too few for a reliable plan.
    """

    cluster: Cluster | None = None
    options: Options = field(default_factory=Options)
    partitions: tuple[Partition, ...] = ()
    user: str = ""
    unseen_until: int | None = None
    limits: Limits | None = None
    groups: frozenset[str] | None = None
    seen: Forecast | None = field(default=None, repr=False)
    doubted: tuple[int, int] | None = None
    _found: dict[tuple[int, int, Layout | None], Outlook] = field(default_factory=dict, repr=False)

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the expected start of each request; walltimes are whole minutes as in Slurm."""
        if self.cluster is None:
            return super().anchors(processors, walltimes, first)
        return self.anchors_of(processors.tolist(), walltimes.tolist(), [None] * len(processors), first)

    def anchors_of(
        self, sizes: Sequence[int], walltimes: Sequence[int], layouts: Sequence[Layout | None], first: int
    ) -> NDArray[np.int64]:
        """Return the expected start of each request in its layout."""
        requests = list(zip(sizes, walltimes, layouts, strict=True))
        found = self.outlooks(requests, first)
        self._found.update(zip(requests, found, strict=True))
        # a job that waits for a limit starts just after its release: among equal starts, prefer one without a limit
        starts = [NEVER if one.expected is None else one.expected + (one.why in WAITING) for one in found]
        return np.array(starts, np.int64)

    def largest_node(self, device: str) -> int:
        """Return the units of the partitions' largest node; if a type of GPU is given, its number of these."""
        there = {name for one in self.partitions for name in one.nodes}
        nodes = [] if self.cluster is None else [one for one in self.cluster.nodes if one.name in there]
        resources = self.options.resources
        if device or (resources is not None and resources.unit == "nodes" and resources.gpus_per_node):
            return max((gpus_on(one, [device] if device else ()) for one in nodes), default=0)
        return max((units_on(one, self.options) for one in nodes), default=0)

    def outlooks(self, requests: Sequence[tuple[int, int, Layout | None]], first: int = 0) -> list[Outlook]:
        """Return the outlooks of jobs of these units and seconds that do not start before `first`.

        Slurm's next plan is too early if jobs ahead have no plan yet; expected starts take these into account.
        """
        if self.cluster is None:
            return [NOWHERE] * len(requests)
        if self.options.hold:
            return [HELD] * len(requests)
        jobs = [self.job(size, walltime, first, layout) for size, walltime, layout in requests]
        there = [job for job in jobs if job is not None]
        found = iter(
            outlooks_at_start(
                self.cluster, there, apply_limits=self.limits, groups=self.groups, unseen_until=self.unseen_until,
                known=self.seen,
            )
        )  # fmt: skip
        return [NOWHERE if job is None else next(found) for job in jobs]

    def outlook(self, size: int, walltime: int, first: int = 0) -> Outlook:
        """Return the outlook of one such job."""
        return self.outlooks([(size, walltime, None)], first)[0]

    def why_never(self, processors: int, walltime: int, layout: Layout | None = None) -> str:
        """Return in words why a request without an anchor never starts."""
        one = self._found.get((processors, walltime, layout))
        if one is NOWHERE:
            try:
                requested_job(self.options, processors, walltime, user=self.user, partitions=(), layout=layout)
            except Infeasible as problem:
                return str(problem)
        return "" if one is None else one.words or ("" if one.why is None else one.why.value)

    def said(self, processors: int, walltime: int, layout: Layout | None = None) -> str:
        """Return in words whether Slurm will plan a request, and when and how it starts."""
        one = self._found.get((processors, walltime, layout))
        if one is None or one.expected is None:
            return ""
        parts = [self._start_of(one)]
        if victims := self._preempted_for(one, processors, walltime, layout):
            names = ", ".join(f"{job.id} of {job.user or 'another user'}" for job in victims[:3])
            more = f" or {len(victims) - 3} more" if len(victims) > 3 else ""
            parts.append(f"it can start this early only by preempting running jobs: {names}{more}")
        if before := self._barely_before(one, walltime):
            parts.append(before)
        if self.doubted is not None:
            alike, total = self.doubted
            parts.append(
                f"this is uncertain: Gas reproduces {alike} of Slurm's {total} published plans; after a job has ended "
                "early or was cancelled, they are outdated until Slurm plans again, within about a minute"
            )
        return "; ".join(parts)

    def _barely_before(self, one: Outlook, walltime: int) -> str:
        """Return in words the reservation before which a job just ends if it is submitted at once; empty if none."""
        if self.cluster is None or one.planned is None or one.planned > self.now + HURRY_SECONDS:
            return ""
        end = one.planned + walltime
        for each in self.cluster.reservations:
            left = each.start - end
            if 0 <= left <= HURRY_SECONDS and not set(one.nodes).isdisjoint(each.nodes):
                within = f"within {many(left, 'second')}" if left else "at once"
                return (
                    f"only if it is submitted {within}: it just ends before "
                    f"reservation {quoted(each.name)} begins, and otherwise starts later or on other nodes"
                )
        return ""

    def _preempted_for(self, one: Outlook, size: int, walltime: int, layout: Layout | None) -> tuple[Job, ...]:
        """Return the running jobs that a job starting now may preempt, some of which must end; empty if none must."""
        partition = next((each for each in self.partitions if each.name == one.partition), None)
        job = self.job(size, walltime, 0, layout)
        soon = one.planned is not None and one.planned < self.now + 60
        if self.cluster is None or job is None or partition is None or not soon:
            return ()
        there = in_the_way(self.cluster, job, partition, one.nodes)
        if not there:
            return ()
        without = forecast(
            self.cluster, [job], limits=self.limits, preempts=lambda *_: False, unseen_until=self.unseen_until,
            beyond=False, rest=False,
        )  # fmt: skip
        planned = without.outlooks[0].planned
        return () if planned is not None and planned < self.now + 60 else there

    def _start_of(self, one: Outlook) -> str:
        assert one.expected is not None
        expected = relative_text(one.expected, self.now)
        if one.why is Why.DEPENDENCY:
            return f"it starts {expected} at the earliest, and only once its dependency is met: {one.words}"
        if one.planned is None:
            why = one.words or ("" if one.why is None else one.why.value)
            text = f"Slurm will not plan it at first{f': {why}' if why else ''}; it is expected to start {expected}"
            if not one.crowd:
                return text
            return f"{text}, roughly: {many(one.crowd, 'job')} ahead of it are too many to plan one by one"
        if abs(one.planned - one.expected) < 60:
            return f"Slurm will show {iso_time(one.planned)} as its planned start"
        before = relative_text(one.planned, self.now)
        return (
            f"Slurm will first plan its start {before}; with the jobs that Slurm has not planned yet, it is expected "
            f"{expected}"
        )

    def unknown(self) -> Iterator[str]:
        """Yield in sentences what is unknown about the jobs' place in the queue and about limits."""
        job = self.job(max(int(self.capacity.min(initial=1)), 1), 3600, 0)
        if self.cluster is None or job is None:
            return
        if any(one.pending for one in self.cluster.jobs):
            for text in dict.fromkeys(_of_priority(own_priority(self.cluster, job, one)) for one in self.partitions):
                if text:
                    yield text
        if self.cluster.accounting is not None:
            qos = self.cluster.accounting.qos_of(job.qos, job.account)
            if qos is not None and qos.has("NoReserve"):
                yield (
                    f"Slurm reserves nothing for jobs of QOS {quoted(qos.name)} (NoReserve): "
                    "other jobs may delay yours beyond the start that is shown"
                )
        if self.limits is not None:
            verdicts = [self.limits(job, one) for one in self.partitions]
            missing = dict.fromkeys(words for one in verdicts if one is not None for words in one.unknown)
            if missing:
                yield f"not known, and may delay a job: {'; '.join(missing)}"

    def job(self, size: int, walltime: int, first: int, layout: Layout | None = None) -> Job | None:
        """Return the job that a request would become; None if its size is impossible."""
        names = tuple(one.name for one in self.partitions)
        try:
            job = requested_job(
                self.options,
                size,
                walltime,
                user=self.user,
                partitions=names,
                first=max(first, self.now),
                layout=layout,
            )
        except Infeasible:
            return None
        if self.cluster is None:
            return job
        if self.partitions:
            job = within_memory(job, self.partitions[0], self.cluster)
        own = {one.name: own_priority(self.cluster, job, one) for one in self.partitions}
        values = {name: 0 if one.comes_last else one.value or 0 for name, one in own.items()}  # 0 means last
        return replace(job, priority=max(values.values(), default=0), priority_in=values)
