"""What the limits of QOS and associations say to a job: free, waits, never, rejected; by the order of Slurm's tests."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, NOW, a_cluster, an_accounting, job, running

from gas.slurm.accounting import Bounds
from gas.slurm.limits import limits

CPUS = {"cpu": 8.0}


def verdict(cluster, asked, **how):
    return limits(cluster, asked, cluster.partitions[0], **how)


def said(cluster, asked, **how):
    found = verdict(cluster, asked, **how)
    return found.outcome, found.reason


def with_flags(accounting, name, *flags):
    changed = replace(accounting.qos[name], flags=frozenset(flags))
    return replace(accounting, qos={**accounting.qos, name: changed})


def test_without_limits_a_job_is_free():
    found = verdict(a_cluster(), job(40))
    assert (found.outcome, found.reason, found.release, found.deciding) == ("free", "", None, None)


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"normal": Bounds(group_tres=CPUS)}, "QOSGrpCpuLimit"),
        ({"normal": Bounds(group_tres={"mem": 400.0})}, "QOSGrpMemLimit"),
        ({"normal": Bounds(user_tres=CPUS)}, "QOSMaxCpuPerUserLimit"),
        ({"normal": Bounds(user_tres={"mem": 400.0})}, "QOSMaxMemoryPerUser"),
        ({"normal": Bounds(account_tres=CPUS)}, "MaxCpuPerAccount"),
        ({"mine": Bounds(group_tres=CPUS)}, "AssocGrpCpuLimit"),
        ({"lab": Bounds(group_tres=CPUS)}, "AssocGrpCpuLimit"),
        ({"root": Bounds(group_tres={"mem": 400.0})}, "AssocGrpMemLimit"),
    ],
)
def test_what_is_in_use_counts_until_it_is_given_back(bounds, reason):
    jobs = [running(1, 4, 600), running(2, 3, 1200)]
    accounting = an_accounting(**bounds)
    assert said(a_cluster(accounting, jobs=jobs), job(1)) == ("free", "")
    waits = verdict(a_cluster(accounting, jobs=jobs), job(4))
    assert (waits.outcome, waits.reason, waits.release) == ("waits", reason, NOW + 600)
    assert verdict(a_cluster(accounting, jobs=jobs), job(7)).release == NOW + 1200
    never = verdict(a_cluster(accounting, jobs=jobs), job(9))
    assert (never.outcome, never.reason, never.release) == ("never", reason, None)


def test_a_clause_names_the_limit_what_is_in_use_and_whose():
    jobs = [running(1, 6, 600)]
    found = verdict(a_cluster(an_accounting(normal=Bounds(user_tres=CPUS)), jobs=jobs), job(4))
    assert found.deciding.words == (
        'you in QOS "normal" may have 8 CPUs (MaxTRESPU); 6 CPUs are in use and 4 CPUs are requested'
    )


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"normal": Bounds(group_jobs=2)}, "QOSGrpJobsLimit"),
        ({"normal": Bounds(user_jobs=2)}, "QOSMaxJobsPerUserLimit"),
        ({"normal": Bounds(account_jobs=2)}, "MaxJobsPerAccount"),
        ({"mine": Bounds(jobs=2)}, "AssocMaxJobsLimit"),
        ({"lab": Bounds(group_jobs=2)}, "AssocGrpJobsLimit"),
    ],
)
def test_so_many_jobs_run_at_once(bounds, reason):
    jobs = [running(1, 1, 600), running(2, 1, 1200)]
    assert said(a_cluster(an_accounting(**bounds), jobs=jobs[:1]), job()) == ("free", "")
    found = verdict(a_cluster(an_accounting(**bounds), jobs=jobs), job())
    assert (found.outcome, found.reason, found.release) == ("waits", reason, NOW + 600)


def test_a_limit_of_no_jobs_is_for_ever():
    assert said(a_cluster(an_accounting(mine=Bounds(jobs=0))), job()) == ("never", "AssocMaxJobsLimit")


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"normal": Bounds(job_tres=CPUS)}, "QOSMaxCpuPerJobLimit"),
        ({"mine": Bounds(job_tres=CPUS)}, "AssocMaxCpuPerJobLimit"),
        ({"normal": Bounds(job_tres={"mem": 400.0})}, "QOSMaxMemoryPerJob"),
        ({"mine": Bounds(job_tres={"mem": 400.0})}, "AssocMaxMemPerJob"),
        ({"normal": Bounds(longest=1800)}, "QOSMaxWallDurationPerJobLimit"),
        ({"mine": Bounds(longest=1800)}, "AssocMaxWallDurationPerJobLimit"),
        ({"normal": Bounds(job_tres_minutes={"cpu": 480.0})}, "QOSMaxCpuMinutesPerJobLimit"),
        ({"normal": Bounds(least_tres={"cpu": 16.0})}, "QOSMinCpuNotSatisfied"),
        ({"normal": Bounds(group_run_minutes={"cpu": 480.0})}, "QOSGrpCPURunMinutesLimit"),
    ],
)
def test_a_job_too_large_by_itself_never_starts_and_is_rejected_where_limits_deny(bounds, reason):
    accounting = an_accounting(**bounds)
    assert said(a_cluster(accounting), job(9)) == ("never", reason)
    strict = a_cluster(with_flags(accounting, "normal", "denyonlimit"))
    assert said(strict, job(9)) == ("rejected", reason)


def test_a_limit_of_a_node_may_be_met_on_more_nodes():
    accounting = an_accounting(normal=Bounds(node_tres={"cpu": 2.0}))
    assert said(a_cluster(accounting), job(8)) == ("waits", "QOSMaxCpuPerNode")
    assert said(a_cluster(accounting), job(8, least_nodes=2, most_nodes=2)) == ("never", "QOSMaxCpuPerNode")
    assert said(a_cluster(accounting), job(8, least_nodes=4)) == ("free", "")


def test_limits_do_not_count_unless_they_are_enforced():
    accounting = an_accounting(normal=Bounds(job_tres=CPUS))
    assert said(a_cluster(accounting, enforced=frozenset({"associations"})), job(9)) == ("free", "")
    assert said(a_cluster(accounting, enforced=frozenset({"safe"})), job(9)) == ("never", "QOSMaxCpuPerJobLimit")
    unpublished = replace(a_cluster(accounting), settings=None)
    found = verdict(unpublished, job(9))
    assert found.outcome == "never"
    assert "which limits are enforced (the configuration is not published)" in found.unknown


def test_the_first_qos_that_sets_a_limit_replaces_it_everywhere_else():
    part = replace(MAIN, qos="part")
    bounds = {"part": Bounds(job_tres={"cpu": 6.0}), "normal": Bounds(job_tres=CPUS)}
    accounting = an_accounting(mine=Bounds(job_tres={"cpu": 2.0}), **bounds)
    assert said(a_cluster(accounting, partitions=[part]), job(6)) == ("free", "")
    assert said(a_cluster(accounting, partitions=[part]), job(7)) == ("never", "QOSMaxCpuPerJobLimit")
    over = with_flags(accounting, "normal", "overpartqos")
    assert said(a_cluster(over, partitions=[part]), job(7)) == ("free", "")
    assert said(a_cluster(over, partitions=[part]), job(9)) == ("never", "QOSMaxCpuPerJobLimit")


def test_a_limit_of_another_resource_stays_the_associations():
    accounting = an_accounting(mine=Bounds(job_tres={"mem": 100.0}), normal=Bounds(job_tres=CPUS))
    assert said(a_cluster(accounting), job(4)) == ("never", "AssocMaxMemPerJob")


def test_a_limit_of_jobs_of_each_user_in_a_qos_silences_the_associations():
    jobs = [running(1, 1, 600)]
    accounting = an_accounting(mine=Bounds(jobs=1), normal=Bounds(user_jobs=5))
    assert said(a_cluster(accounting, jobs=jobs), job()) == ("free", "")


def test_all_accounts_up_to_root_count():
    jobs = [running(1, 8, 600, user="other")]
    accounting = an_accounting(mine=Bounds(group_tres={"cpu": 100.0}), root=Bounds(group_tres={"cpu": 10.0}))
    found = verdict(a_cluster(accounting, jobs=jobs), job(4))
    assert (found.outcome, found.reason, found.release) == ("waits", "AssocGrpCpuLimit", NOW + 600)
    assert 'account "root"' in found.deciding.words


def test_minutes_that_run_shrink_second_by_second():
    jobs = [running(1, 1, 3600)]
    accounting = an_accounting(normal=Bounds(group_run_minutes={"cpu": 100.0}))
    assert said(a_cluster(accounting, jobs=jobs), job(1, minutes=40)) == ("free", "")
    found = verdict(a_cluster(accounting, jobs=jobs), job(1, minutes=60))
    assert (found.outcome, found.reason, found.release) == ("waits", "QOSGrpCPURunMinutesLimit", NOW + 20 * 60)


def test_what_was_used_comes_back_as_it_decays_or_not_at_all():
    def cluster(used, **changes):
        found = a_cluster(an_accounting(normal=Bounds(group_tres_minutes={"cpu": 100.0})), **changes)
        normal = found.accounting.qos["normal"]
        normal = replace(normal, use=replace(normal.use, tres_minutes={"cpu": used}))
        return replace(found, accounting=replace(found.accounting, qos={**found.accounting.qos, "normal": normal}))

    assert said(cluster(99.0), job(4, minutes=600)) == ("free", "")
    found = verdict(cluster(200.0), job())
    assert (found.outcome, found.reason) == ("waits", "QOSGrpCPUMinutesLimit")
    assert found.release == pytest.approx(NOW + 86400, abs=300 + 20)  # a half-life, to the next calculation
    assert verdict(cluster(200.0, half_life=0), job()).release is None
    safe = frozenset({"safe"})
    assert said(cluster(99.0, enforced=safe), job(4, minutes=600))[0] == "never"
    assert said(cluster(50.0, enforced=safe), job(1, minutes=60))[0] == "waits"


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"normal": Bounds(user_submitted=2)}, "QOSMaxSubmitJobPerUserLimit"),
        ({"normal": Bounds(account_submitted=2)}, "MaxSubmitJobsPerAccount"),
        ({"normal": Bounds(group_submitted=2)}, "QOSGrpSubmitJobsLimit"),
        ({"mine": Bounds(submitted=2)}, "AssocMaxSubmitJobLimit"),
        ({"lab": Bounds(group_submitted=2)}, "AssocGrpSubmitJobsLimit"),
    ],
)
def test_more_jobs_than_may_be_submitted_are_rejected(bounds, reason):
    accounting = an_accounting(**bounds)
    assert said(a_cluster(accounting, jobs=[running(1, 1, 600)]), job()) == ("free", "")
    assert said(a_cluster(accounting, jobs=[running(1, 1, 600)]), job(), tasks=2) == ("rejected", reason)
    two = [running(1, 1, 600), running(2, 1, 600)]
    assert said(a_cluster(accounting, jobs=two), job()) == ("rejected", reason)
    assert said(a_cluster(accounting, jobs=two), replace(job(), id=7)) == ("free", "")  # it is submitted already


def test_what_is_not_published_is_said():
    cluster = a_cluster(an_accounting())
    hidden = [one for one in cluster.accounting.associations if one.user == "me"]
    found = verdict(replace(cluster, accounting=replace(cluster.accounting, associations=tuple(hidden))), job())
    assert found.unknown == ('limits of the accounts above "lab" (not shown)',)
    found = verdict(replace(cluster, accounting=None), job())
    assert found.unknown == ("limits of accounts and QOS (not published)",)


def test_a_job_that_waits_for_others_is_accepted_before_nodes_are_looked_for():
    wide = job(5, least_nodes=1, most_nodes=1)
    assert said(a_cluster(), wide) == ("rejected", "Requested node configuration is not available")
    busy = a_cluster(an_accounting(lab=Bounds(group_jobs=1)), jobs=[running(1, 1, 600)])
    assert said(busy, wide) == ("waits", "AssocGrpJobsLimit")


def test_minutes_that_were_used_may_be_all_that_is_published():
    cluster = a_cluster(an_accounting(lab=Bounds(group_tres_minutes={"cpu": 100.0})))

    def with_lab(**changes):
        associations = tuple(
            replace(one, **changes) if (one.account, one.user) == ("lab", "") else one
            for one in cluster.accounting.associations
        )
        return replace(cluster, accounting=replace(cluster.accounting, associations=associations))

    assert said(with_lab(use=None, used_minutes={"cpu": 120.0}), job()) == ("waits", "AssocGrpCPUMinutesLimit")
    found = verdict(with_lab(use=None), job())
    assert found.unknown == ('how many of its minutes account "lab" has used (not published)',)
