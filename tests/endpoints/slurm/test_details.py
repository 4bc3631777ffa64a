"""What scontrol adds to each job, in an answer into which users may have written anything."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_answers import MARK, recorded, understood, written
from thorough import examples

from gas.endpoints.slurm.command_line import (
    RS,
    US,
    detailed,
    read_cluster,
    read_jobs,
    unclear_shares,
    with_details,
)
from gas.errors import Unreachable
from gas.slurm.cluster import Gres


def test_shares_of_nodes_come_from_the_details(said):
    cluster = read_cluster(said, name="x")
    assert unclear_shares(cluster) == (2, 4, 16)  # 1 has all of its nodes, 3 and 8 have one
    jobs = {job.id: job for job in with_details(cluster.jobs, said["details"])}
    assert jobs[2].cpus_on == {"n05": 8, "n06": 8, "n07": 4}
    assert jobs[16].cpus_on == {"n12": 1, "n14": 1, "n15": 1}
    assert sum(jobs[4].cpus_on.values()) == jobs[4].cpus == 40


def test_jobs_are_in_the_order_of_the_controller_and_not_as_squeue_sorts_them(said):
    """It decides which of two that end in the same second ends first; those that came in between are the last."""
    lines = said["details"].splitlines(keepends=True)
    named = [int(line.split()[0].removeprefix("JobId=")) for line in lines[:0:-1]]  # without the first one
    cluster = read_cluster(said, name="x")
    found = [job.id for job in detailed(cluster, "".join(lines[:0:-1])).jobs]
    known = [job.id for job in cluster.jobs]
    first = [one for one in named if one in known]
    assert len(first) > 3
    assert found == first + [one for one in known if one not in first]


def test_jobs_that_the_details_do_not_name_stay_as_they_are(said):
    jobs = read_cluster(said, name="x").jobs
    assert with_details(jobs, "") == jobs


def test_garbage_as_details_is_refused(said):
    with pytest.raises(Unreachable, match=r'-d show jobs, line 1: "nonsense" is not a job'):
        with_details((), "nonsense\n" + said["details"])


def others(cluster, id):
    return {job.id: job for job in cluster.jobs if job.id != id}


FORGED = (
    "JobId=5 JobName=wrap UserId=root(0) GroupId=root(0) ExitCode=0:0 EligibleTime=5 NumNodes=1 Nodes=n01 CPU_IDs=0 "
)


SAID = recorded("v22.05")


FRAGMENTS = [
    "\n", "\r", US, RS, RS + "\n", f"777{US}", "\nJobId=5 ", "\n" + FORGED, f"{FORGED}\n{FORGED}\n", "JobId=16 ",
    " UserId=a(1) GroupId=b(2) ", " UserId=a(1) GroupId=b(2) NumNodes=9 ", " Comment=", " Command=", " NumNodes=9 ",
    " Nodes=n99 CPU_IDs=0-7 Mem=0 ", " TresPerNode=gres:gpu:9 ", " WorkDir=/x MemPerTres=gres:gpu:9", " Exclusive=NODE",
    " Nodes=n05 CPU_IDs=0 Mem=5 GRES=gpu:4 ", " Features=x DelayBoot=", " Account=x QOS=y ", " HetJobId=3 ",
    "StdErr=/x StdIn=/x StdOut=/x", SAID["details"], SAID["jobs"],
    "\0", "\x85", "\u2028",
]  # fmt: skip


TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.characters(max_codepoint=0x9F)),
    st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=6).map("".join),
)


@examples(200, deadline=None)
@given(st.sampled_from([1, 2, 4, 5, 16]), TEXTS, TEXTS)
def test_nothing_in_a_name_or_a_comment_changes_anything_of_other_jobs(id, name, comment):
    plain, odd = understood(written(SAID, id)), understood(written(SAID, id, name=name, comment=comment))
    assert others(odd, id) == others(plain, id)
    assert odd.cautions == ()
    (before,), (after,) = ([job for job in one.jobs if job.id == id] for one in (plain, odd))
    assert after.name == name
    assert after.comment == ("" if comment in ("(null)", "N/A") else comment)
    assert replace(after, name="", comment="") == replace(before, name="", comment="")


def test_directories_and_files_with_line_ends_belong_to_their_job():
    plain = understood(written(SAID, 2))
    odd = understood(written(SAID, 2, details=[(" WorkDir=/tmp ", " WorkDir=/tmp/a\nb UserId=a(1) GroupId=b(2) ")]))
    assert odd == plain
    odd = understood(written(SAID, 2, details=[(" StdOut=/dev/null ", " StdOut=/tmp/a\nJobId=5 d ")]))
    assert others(odd, 2) == others(plain, 2)
    assert odd.cautions == ()


def test_a_job_with_two_records_that_differ_is_as_squeue_gives_it_and_that_is_said():
    answers = written(SAID, 2, details=[(" WorkDir=/tmp ", f" WorkDir=/tmp\n{FORGED}")])
    bare, found = read_cluster(answers, name="x", mark=MARK), understood(answers)
    (before,), (after,) = ([job for job in one.jobs if job.id == 5] for one in (bare, found))
    assert after == before
    plain = understood(written(SAID, 2))
    assert {id: job for id, job in others(found, 5).items() if id != 2} == {
        id: job for id, job in others(plain, 5).items() if id != 2
    }
    (caution,) = found.cautions
    assert "details of 1 job could not be read (5)" in caution


def test_details_that_cannot_be_read_are_skipped_and_said():
    answers = written(SAID, 2, details=[("NumNodes=3", "NumNodes=many")])
    found = understood(answers)
    assert [job.cpus_on for job in found.jobs if job.id == 2] == [None]
    assert others(found, 2) == others(understood(written(SAID, 2)), 2)
    assert "details of 1 job could not be read (2)" in found.cautions[0]


def test_a_job_cannot_say_that_it_has_more_than_its_nodes():
    found = understood(written(SAID, 2, details=[("Account=(null)", "Account=x Nodes=n01 CPU_IDs=0-7 ")]))
    assert [job.cpus_on for job in found.jobs if job.id == 2] == [{"n05": 8, "n06": 8, "n07": 4}]


@pytest.mark.parametrize(
    ("old", "new", "attribute", "value"),
    [
        ("Features=(null)", "Features=a&(b|c)", "features", "a&(b|c)"),
        ("Licenses=(null)", "Licenses=matlab:1", "licences", {"matlab": 1}),
        ("Licenses=(null)", "Licenses=matlab:1|octave:1", "unclear", ("licences matlab:1|octave:1",)),
        (" CoreSpec=*", " CoreSpec=* TresPerNode=gres:gpu:2", "gres_per_node", (Gres("gpu", "", 2),)),
        (" StdOut=/dev/null ", " StdOut=/dev/null TresPerTask=gres/gpu=2 ", "gres_per_task", (Gres("gpu", "", 2),)),
        (" StdOut=/dev/null ", " StdOut=/a b CpusPerTres=gres/gpu:2 MemPerTres=gres/gpu:1500 ", "stdout", "/a b"),
        (" StdOut=/dev/null ", " StdOut=/dev/null TresPerJob=gres/gpu:8 ", "stdout", "/dev/null"),
        (" StdOut=/dev/null ", " StdOut=/a b GresEnforceBind=Yes TresPerNode=gres:gpu:1 ", "stdout", "/a b"),
        (" StdOut=/dev/null ", " StdOut=/a GresEnforceBind=Yes ", "unclear", ("gres-flags=enforce-binding",)),
        (" StdOut=/dev/null ", " StdOut=/a Switches=1@00:05:00 ", "unclear", ("switches=1@00:05:00",)),
        ("JobId=5 ", "JobId=5 HetJobId=5 HetJobOffset=0 ", "leader", 5),
        ("WorkDir=/tmp", "WorkDir=/tmp Features=gpu Licenses=x", "features", ""),
    ],
)
def test_what_a_job_asks_for_is_read(old, new, attribute, value):
    found = understood(written(SAID, 5, details=[(old, new)]))
    assert found.cautions == ()
    assert [getattr(job, attribute) for job in found.jobs if job.id == 5] == [value]


def test_slurm_26_05_says_how_jobs_ended_and_where_their_output_is():
    """It prints an identity between the names of a job and of its user, and who submitted it how before its files."""
    said = recorded("v26.05")
    jobs = {job.id: job for job in with_details(read_jobs(said["jobs"]), said["details"])}
    assert (jobs[1].name, jobs[1].exit_status, jobs[1].stdout) == ("fails", 3, "/tmp/slurm-1.out")
    assert jobs[1].stderr == jobs[1].stdout, "which it names once"
    assert (jobs[2].name, jobs[2].exit_status) == ("JobName=x SLUID=y UserId=z(1)", 4)
    assert (jobs[3].exit_status, jobs[3].stdout, jobs[3].stderr) == (0, "/tmp/own.out", "/tmp/own.err")
    assert jobs[4].cpus_on == {"n02": 4, "n03": 4}
    assert jobs[7].leader == jobs[8].leader == 7


@pytest.mark.parametrize(("cpus", "held"), [(8, 6), (4, 3)], ids=["threads are CPUs", "only cores are CPUs"])
def test_of_nodes_of_which_only_cores_are_cpus_the_numbers_in_cpu_ids_are_threads(said, cpus, held):
    """Seen on 22.05, 24.11 and 26.05: three CPUs of a node of four cores with two threads each are CPU_IDs=0-5."""
    cluster = read_cluster(said, name="x")
    nodes = tuple(replace(node, cpus=cpus, sockets=1, cores=4, threads=2) for node in cluster.nodes)
    answer = re.sub(r"( Nodes=n\[05\S* CPU_IDs=)\S+", r"\g<1>0-5", said["details"])
    (found,) = (job for job in detailed(replace(cluster, nodes=nodes), answer).jobs if job.id == 2)
    assert found.cpus_on["n05"] == held


def test_threads_and_tasks_of_a_core_are_read(said):
    cluster = read_cluster(said, name="x")
    answer = said["details"].replace("ReqB:S:C:T=0:0:*:*", "ReqB:S:C:T=0:0:*:1")
    answer = answer.replace(" NtasksPerN:B:S:C=0:0:*:*", " NtasksPerN:B:S:C=0:0:*:2")
    assert {(job.threads_per_core, job.tasks_per_core) for job in detailed(cluster, answer).jobs} >= {(1, 2)}
    assert {(job.threads_per_core, job.tasks_per_core) for job in detailed(cluster, said["details"]).jobs} == {
        (None, None)
    }
