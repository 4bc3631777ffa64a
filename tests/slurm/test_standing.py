"""A job with all that its limits depend on: its size, its time, and what others of its user have."""

from dataclasses import replace

from slurm_standing import MAIN, a_cluster, an_accounting, job, running

from gas.slurm.accounting import Bounds
from gas.slurm.limits import limits

CPUS = {"cpu": 8.0}


def verdict(cluster, asked, **how):
    return limits(cluster, asked, cluster.partitions[0], **how)


def said(cluster, asked, **how):
    found = verdict(cluster, asked, **how)
    return found.outcome, found.reason


def test_nodes_that_are_had_already_do_not_count_twice():
    accounting = an_accounting(normal=Bounds(group_tres={"node": 1.0}))
    jobs = [running(1, 2, 600, nodes=("n1",))]
    assert said(a_cluster(accounting, jobs=jobs), job(2)) == ("free", "")
    assert said(a_cluster(accounting, jobs=jobs), job(2, exclusive=True)) == ("waits", "QOSGrpNodeLimit")


def test_whole_nodes_count_whole():
    accounting = an_accounting(normal=Bounds(group_tres=CPUS))
    assert said(a_cluster(accounting), job(3, exclusive=True, least_nodes=2)) == ("free", "")
    assert said(a_cluster(accounting), job(3, exclusive=True, least_nodes=3)) == ("never", "QOSGrpCpuLimit")


def test_a_job_without_a_time_limit_gets_the_partitions_or_what_limits_allow():
    none = replace(job(), time_limit=None)
    accounting = an_accounting(normal=Bounds(longest=1800))
    assert said(a_cluster(accounting), none)[1] == "QOSMaxWallDurationPerJobLimit"  # DefaultTime is an hour
    open_end = replace(MAIN, default_time=None)
    assert said(a_cluster(accounting, partitions=[open_end]), none) == ("free", "")
    tight = replace(MAIN, default_time=None, longest=600)
    assert said(a_cluster(accounting, partitions=[tight]), none) == ("never", "PartitionTimeLimit")


def test_use_that_is_not_published_is_counted_from_the_jobs_that_are_shown():
    jobs = [running(1, 6, 600)]
    cluster = a_cluster(an_accounting(normal=Bounds(group_tres=CPUS)), jobs=jobs)
    normal = replace(cluster.accounting.qos["normal"], use=None)
    accounting = replace(cluster.accounting, qos={**cluster.accounting.qos, "normal": normal})
    assert said(replace(cluster, accounting=accounting), job(4)) == ("waits", "QOSGrpCpuLimit")
    blind = verdict(replace(cluster, accounting=accounting, others_visible=False), job(4))
    assert "the usage of other users (their jobs are hidden)" in blind.unknown
