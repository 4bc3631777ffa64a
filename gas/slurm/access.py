"""Access to partitions: who may use one, which jobs it accepts, and which it rejects regardless of QOS limits.

With EnforcePartLimits=NO, a job that exceeds a partition's limits stays pending forever; otherwise it is rejected
(slurm.conf(5); job_mgr.c, _part_access_check and job_limits_check).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from documents.fields import quoted
from gas.slurm.admission import admits_account, admits_qos
from gas.slurm.cluster import Job
from gas.slurm.demand import nodes_asked
from gas.slurm.extent import extent_of
from gas.slurm.levels import levels, usage_of, usage_per
from gas.slurm.order import NO_LIMIT
from gas.slurm.reasons import CLOSED_PARTITION
from gas.slurm.reservations import enough_licences_from, kept_licences, unseen_reserved
from gas.slurm.standing import Standing
from gas.slurm.verdict import NEVER, REJECTED, WAITS, Binding

__all__ = ["NO_NODES", "count_bindings", "partition_bindings", "submission_bindings"]

NO_ACCOUNT = "Invalid account or account/partition combination specified"
DENIED = "Access/permission denied"
NO_QOS = "Invalid qos specification"
NOT_IN_GROUP = "not in group permitted to use this partition"
NOT_OPEN_TO_QOS = "Job's QOS not permitted to use this partition"
NOT_OPEN_TO_ACCOUNT = "Job's account not permitted to use this partition"
"""The reason on 22.05; on 24.11 and 26.05 it is PartitionConfig."""

CLOSED = (NOT_IN_GROUP, NOT_OPEN_TO_QOS, NOT_OPEN_TO_ACCOUNT, CLOSED_PARTITION)
NO_NODES = "Requested node configuration is not available"


def submission_bindings(case: Standing) -> Iterator[Binding]:
    """Check that the account, QOS, licences and task numbers of a job exist, and that it may use them."""
    settings, accounting, job = case.settings, case.accounting, case.job
    if case.cluster.accounting is not None and settings.associations_enforced:
        if case.association is None and case.account:
            words = f"{case.user} may not use account {quoted(case.account)}"
            words += f" in partition {quoted(case.partition.name)}" if _has_other(case) else ""
            yield Binding(REJECTED, NO_ACCOUNT, words)
        elif case.association is None and accounting.associations and not accounting.own():
            yield Binding(REJECTED, NO_ACCOUNT, f"{case.user} has no account")
        allowed = case.association.qos if case.association is not None else None
        if settings.qos_enforced and allowed is not None and case.qos_name and case.qos_name not in allowed:
            words = f"{case.user} may not use QOS {quoted(case.qos_name)} with account {quoted(case.account)}"
            yield Binding(REJECTED, NO_QOS, words)
    if settings.with_accounting and case.qos_name and accounting.qos and case.qos_name not in accounting.qos:
        yield Binding(REJECTED, NO_QOS, f"there is no QOS {quoted(case.qos_name)}")
    yield from _threshold(case)
    yield from _licences(case, job)
    if job.id:
        return
    beyond = settings.most_tasks
    last = max((one[-1] for one in job.tasks.ranges if one), default=0) if job.tasks is not None else 0
    if beyond is not None and last >= beyond:
        words = f"the largest task number is {beyond - 1:,} (MaxArraySize), and {last:,} is requested"
        yield Binding(REJECTED, "Invalid job array specification", words, beyond - 1, last)
    if job.reboot and case.user != "root":
        case.unknown.append("whether you may have nodes rebooted (--reboot): sbatch refuses it to ordinary users")
    if job.nice < 0 and case.user != "root":
        case.unknown.append("whether you may raise priorities (--nice): sbatch refuses it to ordinary users")


def _threshold(case: Standing) -> Iterator[Binding]:
    """Check the fair share that a QOS requires of users (sacctmgr(1), UsageThreshold and EnforceUsageThreshold)."""
    own = next((one for one in case.qos if one.name == case.qos_name and one.has("EnforceUsageThreshold")), None)
    if own is None or own.usage_threshold is None or not case.counting:
        return
    share = case.association.fair_share if case.association is not None else None
    if share is None:
        case.unknown.append(f"whether your fair share is high enough for QOS {quoted(own.name)}")
    elif share < own.usage_threshold:
        words = f"QOS {quoted(own.name)} requires a fair share of at least {own.usage_threshold:g}; yours is {share:g}"
        yield Binding(WAITS, "QOSUsageThreshold", words, own.usage_threshold, share)


def _has_other(case: Standing) -> bool:
    return any(one.account == case.account and one.user == case.user for one in case.accounting.associations)


def _licences(case: Standing, job: Job) -> Iterator[Binding]:
    if not job.licences or case.cluster.licences is None:
        if job.licences:
            case.unknown.append("how many licences there are (not published)")
        return
    there = {one.name: one for one in case.cluster.licences}
    for name, wanted in job.licences.items():
        one = there.get(name)
        if one is None:
            yield Binding(REJECTED, "Invalid license specification", f"there are no licences {quoted(name)}")
            continue
        if wanted > one.total:
            words = f"there are {one.total:,} licences {quoted(name)}, and {wanted:,} are requested"
            yield Binding(REJECTED, "Invalid license specification", words, one.total, wanted, one.used)
            continue
        now, unseen = case.cluster.now, unseen_reserved(case.cluster, one)
        limit = NO_LIMIT if case.minutes is None else 60 * case.minutes
        taken = one.used + unseen + kept_licences(case.cluster, name, now, now + limit, job.reservation)
        if wanted + taken > one.total:
            if wanted + one.used + unseen > one.total:
                release = _when_less(case, f"license/{name}", wanted + taken - one.total, wanted)
            else:
                release = enough_licences_from(case.cluster, job, name, limit, one.total - one.used - unseen)
            words = f"of {one.total:,} licences {quoted(name)} {taken:,} are in use or reserved"
            words += f", and {wanted:,} are requested"
            yield Binding(WAITS, "Licenses", words, one.total, wanted, taken, release)


def _when_less(case: Standing, resource: str, by: float, own: float) -> int | None:
    return case.when(lambda job: bool(job.licences), lambda counted: counted.when_less(resource, by, own))


def partition_bindings(case: Standing, groups: frozenset[str] | None = None) -> list[Binding]:
    """Check a job against its partition's limits and access lists; `groups` are the user's groups, if known."""
    found = list(_partition(case, groups))
    early = case.settings.release() < (23, 2)  # seen on 22.05; not on 24.11 and 26.05
    if any(one.reason in CLOSED or (early and one.outcome == NEVER) for one in found):  # then nodes are not searched
        return [one for one in found if one.reason != NO_NODES]
    return found


def _partition(case: Standing, groups: frozenset[str] | None) -> Iterator[Binding]:
    job, partition = case.job, case.partition
    named = f"partition {quoted(partition.name)}"
    enforced = case.settings.partition_limits or "NO"
    if case.settings.partition_limits is None:
        case.unknown.append("whether limits of partitions reject jobs (EnforcePartLimits is not published)")
    strictly = enforced != "NO"
    if partition.state == "INACTIVE" or partition.state == "DRAIN":
        yield Binding(REJECTED, "Required partition not available (inactive or drain)", f"{named} is {partition.state}")
    elif "RootOnly=YES" in partition.closed_by and case.user != "root":
        yield Binding(REJECTED, DENIED, f"{named} accepts jobs of root only (RootOnly)")
    elif "ReqResv=YES" in partition.closed_by and not job.reservation:
        yield Binding(REJECTED, DENIED, f"{named} accepts only jobs that name a reservation (ReqResv)")
    elif partition.state not in ("UP", ""):
        yield Binding(WAITS, "PartitionDown", f"{named} is {partition.state}")
    case.unknown += [
        f"whether {named} accepts jobs from this host ({one})"
        for one in partition.closed_by
        if one.startswith("AllocNodes=")
    ]
    yield from _sizes(case, strictly)
    flags = next((one for one in case.qos if one.name == case.qos_name), None)

    def lifted(flag: str) -> bool:
        return flags is not None and flags.has(flag)

    least, most = nodes_asked(job, partition), job.most_nodes
    if partition.most_nodes is not None and least > partition.most_nodes and not lifted("PartitionMaxNodes"):
        words = f"{named} allows {partition.most_nodes:,} nodes per job (MaxNodes), and {least:,} are requested"
        outcome, reason = _enforced(strictly, "Node count specification invalid", "PartitionNodeLimit")
        yield Binding(outcome, reason, words, partition.most_nodes, least)
    if most is not None and most < partition.least_nodes and not lifted("PartitionMinNodes"):
        words = (
            f"{named} requires at least {partition.least_nodes:,} nodes per job (MinNodes), but {most:,} are requested"
        )
        outcome, reason = _enforced(strictly, "Node count specification invalid", "PartitionNodeLimit")
        yield Binding(outcome, reason, words, partition.least_nodes, most)
    elif strictly and not job.id and not lifted("PartitionMinNodes"):
        # the requested number counts, before MinNodes raises it (seen on 24.11 and 26.05; on 22.05 only with -N)
        wanted = nodes_asked(job, replace(partition, least_nodes=0))
        if wanted < partition.least_nodes and (case.settings.release() > (22, 5) or wanted > 1 or most is not None):
            words = f"{named} requires at least {partition.least_nodes:,} nodes per job (MinNodes, EnforcePartLimits)"
            yield Binding(REJECTED, "Node count specification invalid", words, partition.least_nodes, wanted)
    longest = None if partition.longest is None else partition.longest // 60
    if longest is not None and not lifted("PartitionTimeLimit") and (case.minutes is None or case.minutes > longest):
        asked = "no limit" if case.minutes is None else f"{case.minutes:,}"
        words = f"{named} allows {longest:,} minutes per job (MaxTime), and {asked} are requested"
        outcome, reason = _enforced(
            strictly, "Requested time limit is invalid (missing or exceeds some limit)", "PartitionTimeLimit"
        )
        yield Binding(outcome, reason, words, longest, case.minutes)
    yield from _allowed(case, strictly, groups)
    yield from _memory(case, strictly)


def _enforced(strictly: bool, refusal: str, reason: str) -> tuple[str, str]:
    return (REJECTED, refusal) if strictly else (NEVER, reason)


def _allowed(case: Standing, strictly: bool, groups: frozenset[str] | None) -> Iterator[Binding]:
    partition = case.partition
    named = f"partition {quoted(partition.name)}"
    closed = NOT_OPEN_TO_ACCOUNT if case.settings.release() < (23, 2) else CLOSED_PARTITION
    checks = (
        (
            "QOS", case.qos_name, admits_qos(partition, case.qos_name), partition.allowed_qos, partition.denied_qos,
            NO_QOS, NOT_OPEN_TO_QOS,
        ),
        (
            "account", case.account, admits_account(case.cluster, partition, case.account), partition.allowed_accounts,
            partition.denied_accounts, NO_ACCOUNT, closed,
        ),
    )  # fmt: skip
    for kind, value, is_open, allowed, denied, refusal, reason in checks:
        if case.settings.with_accounting is False:
            continue
        if is_open is None:
            what = f"your {kind} (which is not known)"
            if value:
                what = f"{kind} {quoted(value)}, which depends on accounts above it that are not shown"
            case.unknown.append(f"whether {named} is open to {what}")
        elif not is_open:
            outcome, name = _enforced(strictly, refusal, reason)
            list_ = f"only to {', '.join(allowed)}" if allowed is not None else f"not to {', '.join(denied or ())}"
            yield Binding(outcome, name, f"{named} is not open to {kind} {quoted(value)} ({list_})")
    if partition.allowed_groups is not None and case.user != "root":
        if groups is None:
            case.unknown.append(
                f"whether you are in a group to which {named} is open ({', '.join(partition.allowed_groups)})"
            )
        elif not groups & set(partition.allowed_groups):
            early = case.settings.release() < (23, 2)
            outcome, name = _enforced(
                strictly or early, "User's group not permitted to use this partition", NOT_IN_GROUP
            )
            yield Binding(outcome, name, f"{named} is open only to the groups {', '.join(partition.allowed_groups)}")


def _memory(case: Standing, strictly: bool) -> Iterator[Binding]:
    """Check MaxMemPerNode; a job above MaxMemPerCPU gets more CPUs instead (slurm.conf(5)).

    --mem=0 counts as the memory of the partition's first node (seen on 22.05, 24.11 and 26.05).
    """
    job, partition, settings = case.job, case.partition, case.settings
    most = partition.most_memory_per_node
    if most is None and partition.most_memory_per_cpu is None:
        most = settings.most_memory_per_node
    if most is None:
        return
    per_node = extent_of(case.cluster, partition).first_memory if job.memory_per_node == 0 else job.memory_per_node
    if job.memory_per_cpu is not None:
        per_node = job.memory_per_cpu * (job.tasks_per_node or 1) * job.cpus_per_task
    if per_node is not None and per_node > most:
        words = f"partition {quoted(partition.name)} allows {most:,} MB per node (MaxMemPerNode)"
        words += f", and {per_node:,} are requested"
        outcome, reason = _enforced(strictly, "Memory required by task is not available", "MaxMemPerLimit")
        yield Binding(outcome, reason, words, most, per_node)


def _sizes(case: Standing, strictly: bool) -> Iterator[Binding]:
    """Check for requests that the partition's nodes can never satisfy; they are always rejected."""
    job, partition = case.job, case.partition
    extent = extent_of(case.cluster, partition)
    if not extent.sizes:
        return
    named = f"partition {quoted(partition.name)}"
    cap = partition.most_cpus
    each = extent.sizes if cap is None else tuple(min(cpus, cap) for cpus in extent.sizes)
    tests: list[tuple[int, int, str, str]] = [
        (
            job.cpus,
            extent.cpus if cap is None else sum(each),
            "CPUs",
            "More processors requested than permitted" if strictly else NO_NODES,
        ),
        (
            nodes_asked(job, partition),
            len(each),
            "nodes",
            "Node count specification invalid" if strictly else NO_NODES,
        ),
        (max(job.cpus_per_task * (job.tasks_per_node or 1), job.cpus_per_node or 1), each[0], "CPUs a node", NO_NODES),
    ]
    bounds = [one for one in (job.most_nodes, partition.most_nodes) if one]
    if bounds and nodes_asked(job, partition) <= min(bounds):
        most = sum(each[: min(bounds)])
        of = "node" if min(bounds) == 1 else "nodes"
        tests.append((job.cpus, most, f"CPUs on {min(bounds):,} {of}", NO_NODES))
    if case.settings.release() > (24, 11) and not job.id and (job.tasks_asked or job.cpus) < partition.least_nodes:
        words = f"{named} requires {partition.least_nodes:,} or more nodes per job (MinNodes), more than its tasks"
        yield Binding(REJECTED, "Task count specification invalid", words, partition.least_nodes, job.tasks_asked)
    threads = max((node.core_cpus for node in extent.nodes.values()), default=1)
    tests.append((job.threads_per_core or 1, threads, "CPUs a core", NO_NODES))
    for asked, there, what, refusal in tests:
        if asked > there:
            words = f"{named} has {there:,} {what}, and {asked:,} are requested"
            yield Binding(REJECTED, refusal, words, there, asked)
    whole = job.exclusive or partition.whole_nodes
    if whole and cap is not None and extent.sizes[-1] > cap:
        words = f"{named} allows at most {cap:,} CPUs per node (MaxCPUsPerNode), so no job can get a whole node"
        yield Binding(REJECTED, NO_NODES, words, cap)
    memory = extent.memory
    if memory is not None and job.memory_per_node is not None and job.memory_per_node > memory:
        words = f"no node of {named} has {job.memory_per_node:,} MB of memory; the largest has {memory:,}"
        yield Binding(REJECTED, NO_NODES, words, memory, job.memory_per_node)


def count_bindings(case: Standing) -> Iterator[Binding]:
    """Check the limits on the number of submitted jobs; a job above one is always rejected (acct_policy_validate)."""
    if case.job.id:
        return
    done: set[str] = set()
    for level in levels(case):
        bounds, qos = level.bounds, level.qos
        tests: list[tuple[str, str, str, int | None, int, str]] = []
        if bounds.group_submitted is not None:
            reason = f"{level.prefix}GrpSubmitJobsLimit"
            tests.append(
                ("group", reason, "GrpSubmit", bounds.group_submitted, usage_of(case, level).submitted, level.name)
            )
        if qos is not None:
            for who, kind, bound in (
                ("account", "MaxSubmitPA", bounds.account_submitted), ("user", "MaxSubmitPU", bounds.user_submitted),
            ):  # fmt: skip
                if bound is not None:
                    used, _, whose = usage_per(case, qos, user=who == "user")
                    reason = "QOSMaxSubmitJobPerUserLimit" if who == "user" else "MaxSubmitJobsPerAccount"
                    tests.append((who, reason, kind, bound, used.submitted, f"{whose} in {level.name}"))
        elif level.is_user and bounds.submitted is not None and not done & {"user", "account"}:
            there = usage_of(case, level).submitted
            tests.append(("own", "AssocMaxSubmitJobLimit", "MaxSubmit", bounds.submitted, there, level.name))
        for key, reason, kind, bound, there, whose in tests:
            if key not in done and bound is not None and there + case.tasks > bound:
                words = f"{whose} may have {bound:,} jobs waiting or running ({kind}), and there are {there:,}"
                yield Binding(REJECTED, reason, words, bound, case.tasks, there)
        if qos is not None:
            done |= {test[0] for test in tests}
