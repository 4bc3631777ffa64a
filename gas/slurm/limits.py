"""Limits of QOS and associations applied to a job (sacctmgr(1); acct_policy.c).

A partition's QOS comes first, then the job's (the other way round with OverPartQOS), then the user's association and
all accounts above. For each kind of limit and resource, the first QOS that sets it overrides associations; the group
limits of all accounts apply, each to its own usage.

The checks are similar, but written out as in Slurm: they differ in what they count, in their reasons, and in what has
to end before the job fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import NamedTuple

from gas.slurm.access import NO_NODES, count_bindings, partition_bindings, submission_bindings
from gas.slurm.accounting import Amounts, Use
from gas.slurm.cluster import Cluster, Job, Partition
from gas.slurm.demand import Demand
from gas.slurm.extent import extent_of
from gas.slurm.levels import Level, levels, usage_of, usage_per
from gas.slurm.reasons import of_minutes, of_use, stem_of
from gas.slurm.release import decayed_to
from gas.slurm.standing import Standing
from gas.slurm.verdict import NEVER, REJECTED, WAITS, Binding, Verdict

__all__ = ["Access", "access_of", "bindings_of", "limits"]

_ORDER = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")


def limits(
    cluster: Cluster,
    job: Job,
    partition: Partition,
    *,
    qos: str = "",
    account: str = "",
    given: Demand | None = None,
    groups: frozenset[str] | None = None,
    tasks: int = 1,
    dated: bool = True,
) -> Verdict:
    """Return the verdict of all limits on a job, including those of its partition and licences.

    Parameters
    ----------
    job
        As requested; its user is the one with the accounts.
    qos, account
        By default those of the job, else the user's defaults.
    given
        Its allocation, if its nodes are known.
    groups
        Names of the user's groups.
    tasks
        Number of array tasks; each counts as a job.
    dated
        Whether to determine when limits release it.
    """
    case = Standing.of(cluster, job, partition, qos, account, given, tasks, dated=dated)
    found = bindings_of(case, access_of(case, groups))
    return Verdict(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(case.unknown)))


class Access(NamedTuple):
    """What keeps a job from a partition, by checks on the submission and on the partition; running jobs do not count.

    The only exceptions are licences (the reason `Licenses`).
    """

    submission: tuple[Binding, ...]
    partition: tuple[Binding, ...]


def access_of(case: Standing, groups: frozenset[str] | None = None) -> Access:
    """Return what keeps a job from its partition."""
    of_partition = partition_bindings(case, groups)
    return Access(tuple(submission_bindings(case)), tuple(of_partition))


def bindings_of(case: Standing, access: Access) -> list[Binding]:
    """Return all limits that a job exceeds, in the order in which Slurm tests them."""
    before = list(_before_nodes(case)) if case.counting else []
    # Slurm accepts a job under these limits before it looks at nodes
    of_partition = [one for one in access.partition if not before or one.reason != NO_NODES]
    found = [*access.submission, *of_partition]
    if case.counting:
        found += [*count_bindings(case), *before, *_after_nodes(case)]
    return found


# ------------------------------------------------------------------------------------------------ checks


def _jobs_binding(
    case: Standing, reason: str, kind: str, bound: int, running: int, counts: Callable[[Job], bool], whose: str
) -> Binding | None:
    if running < bound:
        return None
    words = f"{whose} may have {bound:,} running job{'' if bound == 1 else 's'} ({kind}) and {running:,} run"
    if bound == 0:
        return Binding(NEVER, reason, words, 0, 1, running)
    release = case.when(counts, lambda counted: counted.when_fewer(running - bound + 1))
    return Binding(WAITS, reason, words, bound, 1, running, release)


def _before_nodes(case: Standing) -> Iterator[Binding]:
    """Check the limits that Slurm checks before node selection (acct_policy_job_runnable_pre_select), in its order."""
    done: set[str] = set()
    limit = case.minutes
    for level in levels(case):
        use, bounds, qos = usage_of(case, level), level.bounds, level.qos
        tests: list[tuple[str, Binding | None]] = []
        if bounds.group_jobs is not None:
            reason = f"{level.prefix}GrpJobsLimit"
            one = _jobs_binding(case, reason, "GrpJobs", bounds.group_jobs, use.jobs, level.counts, level.name)
            tests.append(("group jobs", one))
        if bounds.group_wall is not None:
            tests.append(("group wall", _wall(case, level, use)))
        if qos is not None:
            for who, kind, most in (
                ("account", "MaxJobsPA", bounds.account_jobs),
                ("user", "MaxJobsPU", bounds.user_jobs),
            ):
                if most is not None:
                    used, counts, whose = usage_per(case, qos, user=who == "user")
                    reason = "QOSMaxJobsPerUserLimit" if who == "user" else "MaxJobsPerAccount"
                    whose = f"{whose} in {level.name}"
                    tests.append((f"{who} jobs", _jobs_binding(case, reason, kind, most, used.jobs, counts, whose)))
        elif level.is_user and bounds.jobs is not None and not done & {"user jobs", "account jobs"}:
            one = _jobs_binding(case, "AssocMaxJobsLimit", "MaxJobs", bounds.jobs, use.jobs, level.counts, level.name)
            tests.append(("jobs", one))
        if bounds.longest is not None and (qos is not None or level.is_user):
            bound = bounds.longest // 60
            over = limit is None or limit > bound
            words = f"{level.name} allows {bound:,} minutes per job (MaxWall), and {_minutes(limit)} are requested"
            reason = f"{level.prefix}MaxWallDurationPerJobLimit"
            outcome = REJECTED if case.strict else NEVER
            tests.append(("longest", Binding(outcome, reason, words, bound, limit) if over else None))
        silenced = done if qos is None else set(done)
        yield from (one for kind, one in tests if one is not None and kind not in silenced)
        if qos is not None:
            done |= {kind for kind, _ in tests}


def _minutes(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit:,}"


def _wall(case: Standing, level: Level, use: Use) -> Binding | None:
    bound, used = level.bounds.group_wall or 0, use.wall
    reason = f"{level.prefix}GrpWallLimit"
    asked = 60 * case.minutes if case.minutes is not None else None
    whole = f"{level.name} may run {bound // 60:,} minutes in all (GrpWall)"
    if case.settings.safe and (asked is None or asked > bound):
        return Binding(NEVER, reason, f"{whole}, and {_minutes(case.minutes)} are requested", bound, asked, used)
    if used >= bound or (case.settings.safe and asked is not None and used + asked > bound):
        room = bound - asked if case.settings.safe and asked is not None and used < bound else bound
        release = decayed_to(used, room, case.settings, case.cluster.now)
        return Binding(WAITS, reason, f"{whole}, and {used / 60:,.0f} are used up", bound, asked, used, release)
    return None


def _after_nodes(case: Standing) -> Iterator[Binding]:
    """Check the limits that Slurm checks against the allocation (acct_policy_job_runnable_post_select)."""
    done: set[tuple[str, str]] = set()
    for level in levels(case):
        found: list[tuple[str, str, Binding | None]] = []
        use, bounds, qos = usage_of(case, level), level.bounds, level.qos
        scaled = next((one.limit_factor for one in case.qos if one.limit_factor), 1.0) if qos is None else 1.0
        group = {name: bound * scaled for name, bound in bounds.group_tres.items()}
        own = {name: bound * scaled for name, bound in bounds.job_tres.items()}
        prefix, counts, name = level.prefix, level.counts, level.name
        found += _history(case, level, use)
        shared = _Shared("GrpTRES", f"{prefix}Grp", group, use, counts, name)
        found += _in_use(case, shared)
        found += _running_minutes(case, shared._replace(kind="GrpTRESRunMins", bounds=bounds.group_run_minutes))
        if qos is not None or level.is_user:
            found += _size_minutes(case, prefix, bounds.job_tres_minutes, name)
            found += _size(case, "MaxTRES", f"{prefix}Max", "PerJob", own, name)
            found += _size(case, "MaxTRESPerNode", f"{prefix}Max", "PerNode", bounds.node_tres, name)
        if qos is not None:
            found += _least(case, bounds.least_tres, name)
            for who in ("account", "user"):
                most = bounds.user_tres if who == "user" else bounds.account_tres
                if most:
                    used, counting, whose = usage_per(case, qos, user=who == "user")
                    stem, tail = ("QOSMax", "PerUser") if who == "user" else ("Max", "PerAccount")
                    kind = "MaxTRESPU" if who == "user" else "MaxTRESPA"
                    found += _in_use(case, _Shared(kind, stem, most, used, counting, f"{whose} in {name}", tail))
            for who in ("account", "user"):
                minutes = bounds.user_run_minutes if who == "user" else bounds.account_run_minutes
                if minutes:
                    used, counting, whose = usage_per(case, qos, user=who == "user")
                    tail = "PerUser" if who == "user" else "PerAccount"
                    kind = f"MaxTRESRunMins{'PU' if who == 'user' else 'PA'}"
                    of_part = _Shared(kind, "Max", minutes, used, counting, f"{whose} in {name}", tail)
                    found += _running_minutes(case, of_part)
        yield from (one for kind, resource, one in found if one is not None and (kind, resource) not in done)
        if qos is not None:
            done |= {(kind, resource) for kind, resource, _ in found}


def _when_less(case: Standing, counts: Callable[[Job], bool], name: str, by: float, own: float) -> int | None:
    return case.when(counts, lambda counted: counted.when_less(name, by, own))


def _when_remaining(case: Standing, counts: Callable[[Job], bool], name: str, most: float) -> int | None:
    return case.when(counts, lambda counted: counted.when_remaining(name, most))


_Found = list[tuple[str, str, Binding | None]]


def _ordered(bounds: Amounts) -> list[str]:
    return sorted(bounds, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def _sized(case: Standing, name: str) -> tuple[float, float]:
    """Return the requested and the allocated amount of a resource."""
    return case.asked.amounts.get(name, 0), case.given.amounts.get(name, 0)


def _outcome(case: Standing, asked: float, bound: float) -> str:
    """Return whether a job that exceeds a limit by itself is rejected, or stays pending forever."""
    return REJECTED if case.strict and asked > bound else NEVER


def _amount(name: str, value: float) -> str:
    return f"{value:,.0f} MB of memory" if name == "mem" else f"{value:,g} {'CPUs' if name == 'cpu' else name}"


class _Shared(NamedTuple):
    """A limit that the jobs of an account, user or QOS share.

    Attributes
    ----------
    kind, stem, tail
        Its name in messages, and the beginning and end of Slurm's reason.
    use, counts, whose
        The usage, which jobs count, and their name in messages.
    """

    kind: str
    stem: str
    bounds: Amounts
    use: Use
    counts: Callable[[Job], bool]
    whose: str
    tail: str = ""


def _in_use(case: Standing, limit: _Shared) -> _Found:
    """Check the job's resources plus usage: GrpTRES, MaxTRESPU, MaxTRESPA."""
    kind, stem, bounds, use, counts, whose, tail = limit
    found: _Found = []
    for name in _ordered(bounds):
        bound, used = bounds[name], use.tres.get(name, 0)
        asked, given = _sized(case, name)
        reason = f"{stem}{of_use(name, tail, memory='Memory' if tail else 'Mem')}"
        words = f"{whose} may have {_amount(name, bound)} ({kind})"
        one = None
        if given > bound:
            one = Binding(
                _outcome(case, asked, bound),
                reason,
                f"{words}, and {_amount(name, given)} are requested",
                bound,
                given,
                used,
            )
        elif given and (new := _new_nodes(case, counts) if name == "node" and used else given) and new + used > bound:
            release = _when_less(case, counts, name, new + used - bound, new)
            words = f"{words}; {_amount(name, used)} are in use and {_amount(name, given)} are requested"
            one = Binding(WAITS, reason, words, bound, given, used, release)
        found.append((kind, name, one))
    return found


def _size(case: Standing, kind: str, stem: str, tail: str, bounds: Amounts, whose: str) -> _Found:
    """Check the size of one job, or its part on a node: MaxTRES, MaxTRESPerNode."""
    found: _Found = []
    for name in _ordered(bounds):
        asked, given = _sized(case, name)
        if tail == "PerNode":
            asked, given = asked // case.asked.least_nodes, given // case.given.least_nodes
        memory = "Memory" if stem.startswith("QOS") else "Mem"
        words = f"{whose} allows {_amount(name, bounds[name])} per {tail[3:].lower()} ({kind})"
        words += f", and {_amount(name, given)} are requested"
        reason = f"{stem}{of_use(name, tail, memory=memory)}"
        one = None
        if given > bounds[name]:
            outcome = _outcome(case, asked, bounds[name])
            if tail == "PerNode" and case.given.amounts.get(name, 0) // _most_nodes(case) <= bounds[name]:
                outcome = WAITS  # it may be spread over more nodes
            one = Binding(outcome, reason, words, bounds[name], given)
        found.append((kind, name, one))
    return found


def _most_nodes(case: Standing) -> int:
    """Return the number of nodes over which a job may be spread."""
    if case.given.nodes or case.given.whole:
        return case.given.least_nodes
    limits_ = (case.job.most_nodes, case.partition.most_nodes, case.job.tasks_asked or case.job.cpus)
    return max(min(len(case.partition.nodes), *(one for one in limits_ if one)), case.given.least_nodes, 1)


def _new_nodes(case: Standing, counts: Callable[[Job], bool]) -> float:
    """Return the number of a job's nodes that no job under the same limit uses yet, as Slurm counts a node once.

    If its nodes are unknown, the job is assumed to fill nodes of those jobs first, as in Slurm.
    """
    theirs = {name for job, _ in case.counted(counts).jobs for name in job.nodes}
    if case.given.nodes:
        return len(case.given.nodes - theirs)
    if case.given.whole or not theirs:
        return case.given.least_nodes
    extent = extent_of(case.cluster, case.partition)
    there = [extent.nodes[name] for name in theirs if name in extent.nodes]
    room = sorted((node.cpus - (node.allocated or 0) for node in there), reverse=True)
    left, filled = case.given.amounts["cpu"], 0
    for free in room:
        if left > 0 and free > 0:
            left, filled = left - free, filled + 1
    return max(ceil(left / extent.largest) if left > 0 else 0, case.asked.least_nodes - filled)


def _least(case: Standing, bounds: Amounts, whose: str) -> _Found:
    found: _Found = []
    for name in _ordered(bounds):
        asked, given = _sized(case, name)
        reason = {"cpu": "QOSMinCpuNotSatisfied", "mem": "QOSMinMemory"}.get(name, f"QOSMin{stem_of(name)}")
        words = (
            f"{whose} requires at least {_amount(name, bounds[name])} (MinTRES), and {_amount(name, given)} are "
            "requested"
        )
        outcome = REJECTED if case.strict and asked < bounds[name] else NEVER
        found.append(
            (("MinTRES"), name, Binding(outcome, reason, words, bounds[name], given) if given < bounds[name] else None)
        )
    return found


def _size_minutes(case: Standing, prefix: str, bounds: Amounts, whose: str) -> _Found:
    found: _Found = []
    for name in _ordered(bounds):
        asked, given = _sized(case, name)
        minutes, small = _times(case, given), _times(case, asked)
        stem = stem_of(name, "Memory" if prefix == "QOS" else "Mem")
        reason = f"{prefix}Max{stem}MinutesPerJob{'Limit' if name == 'cpu' else ''}"
        words = f"{whose} allows {bounds[name]:,g} {name} minutes per job (MaxTRESMins), and {minutes:,g} are requested"
        over = minutes > bounds[name]
        found.append(
            (
                "MaxTRESMins",
                name,
                Binding(_outcome(case, small, bounds[name]), reason, words, bounds[name], minutes) if over else None,
            )
        )
    return found


def _times(case: Standing, amount: float) -> float:
    """Return an amount times the minutes of the job's time limit, times UsageFactor if UsageFactorSafe is set."""
    minutes = case.minutes if case.minutes is not None else 2**32 - 1
    own = next((one for one in case.qos if one.name == case.qos_name), None)
    return amount * minutes * (own.usage_factor if own is not None and own.has("UsageFactorSafe") else 1.0)


def _running_minutes(case: Standing, limit: _Shared) -> _Found:
    """Check the minutes of running jobs until their limits: GrpTRESRunMins, MaxTRESRunMinsPU, MaxTRESRunMinsPA."""
    kind, stem, bounds, use, counts, whose, tail = limit
    found: _Found = []
    for name in _ordered(bounds):
        asked, given = _sized(case, name)
        bound, used, minutes = bounds[name], use.run_minutes.get(name, 0), _times(case, given)
        reason = f"{stem}{stem_of(name, 'Memory')}RunMins{tail}" if tail else of_minutes(stem, name, "RunMinutes")
        words = f"running jobs of {whose} may have {bound:,g} {name} minutes left ({kind})"
        one = None
        if minutes > bound:
            outcome = _outcome(case, _times(case, asked), bound)
            one = Binding(outcome, reason, f"{words}, and {minutes:,g} are requested", bound, minutes, used)
        elif minutes and minutes + used > bound:
            release = _when_remaining(case, counts, name, bound - minutes)
            words = f"{words}; they have {used:,g} and {minutes:,g} are requested"
            one = Binding(WAITS, reason, words, bound, minutes, used, release)
        found.append((kind, name, one))
    return found


def _history(case: Standing, level: Level, use: Use) -> _Found:
    """Check the minutes of all past usage: GrpTRESMins."""
    found: _Found = []
    for name in _ordered(level.bounds.group_tres_minutes):
        bound, used = level.bounds.group_tres_minutes[name], use.tres_minutes.get(name, 0)
        asked, given = _sized(case, name)
        minutes, running = _times(case, given), use.run_minutes.get(name, 0)
        reason = of_minutes(f"{level.prefix}Grp", name, "Minutes")
        words = f"{level.name} may use {bound:,g} {name} minutes (GrpTRESMins)"
        one = None
        if case.settings.safe and minutes > bound:
            one = Binding(
                _outcome(case, _times(case, asked), bound),
                reason,
                f"{words}, and {minutes:,g} are requested",
                bound,
                minutes,
                used,
            )
        elif given and used >= bound:
            release = decayed_to(used, bound, case.settings, case.cluster.now)
            one = Binding(WAITS, reason, f"{words}, and {used:,g} are used up", bound, minutes, used, release)
        elif given and case.settings.safe and minutes + running > bound - used:
            words += f"; {used:,g} are used up, running jobs may need {running:,g} more"
            words += f", and {minutes:,g} are requested"
            release = None
            if minutes <= bound - used:
                release = _when_remaining(case, level.counts, name, bound - used - minutes)
            one = Binding(WAITS, reason, words, bound, minutes, used, release)
        elif case.strict and _times(case, asked) > bound:
            one = Binding(REJECTED, reason, f"{words}, and {minutes:,g} are requested", bound, minutes, used)
        found.append(("GrpTRESMins", name, one))
    return found
