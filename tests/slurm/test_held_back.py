"""What limits say to any job: Slurm's own words of those that wait, and the test of one that is not submitted."""

from dataclasses import replace

from slurm_standing import MAIN, a_cluster, an_accounting, job

from gas.slurm.accounting import Bounds
from gas.slurm.held_back import limits_in
from gas.slurm.verdict import REJECTED, WAITS


def said(one, jobs=(), groups=None, partition=MAIN, accounting=None):
    made = replace(a_cluster(accounting or an_accounting(), partitions=(partition,)), jobs=jobs)
    return limits_in(made, groups=groups)(one, partition)


def test_a_waiting_job_is_held_by_what_slurm_says_of_it():
    waits = replace(job(account="lab"), id=7, reason="QOSGrpCpuLimit", priority=1)
    found = said(waits, (waits,))
    assert (found.outcome, found.reason) == (WAITS, "QOSGrpCpuLimit")
    other = replace(waits, id=8, reason="Priority", start=5)
    assert said(other, (waits, other)) is None


def test_one_that_is_thought_of_is_tested():
    assert said(job(2, account="lab")).outcome == "free"
    few = an_accounting(mine=Bounds(submitted=0))
    assert said(job(2, account="lab"), accounting=few).outcome == REJECTED


def test_the_groups_of_who_asks_count():
    closed = replace(MAIN, allowed_groups=("chem",))
    assert said(job(account="lab"), groups=frozenset({"chem"}), partition=closed).outcome == "free"
    assert said(job(account="lab"), groups=frozenset({"bio"}), partition=closed).outcome != "free"
    assert any("chem" in words for words in said(job(account="lab"), partition=closed).unknown)
