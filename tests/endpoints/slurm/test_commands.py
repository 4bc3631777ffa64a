"""Slurm's commands are run, and what goes wrong with them is told apart: not sent, unclear, refused, not understood."""

import getpass
import os
import pwd
import re
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from slurm_answers import FOLDER

from gas.endpoints.sending import NotSent, Unclear
from gas.endpoints.slurm.command_line import NO_DETAILS
from gas.endpoints.slurm.commands import CommandTransport, sbatch_line, shown_line
from gas.endpoints.slurm.records import record_of
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput, Conflict, Forbidden, NotFound, Unreachable

BATCH = Batch("ocean.gas-0123456789abcdef", "#!/bin/sh\ntrue\n", Shape(16, None, 30))


def left(group, patience=30):
    """Return the processes of a group that go on, whether or not somebody has asked for the end of the others.

    One that is killed takes a moment to end on a busy machine, and nobody here can wait for what a program has started.
    """
    deadline = time.monotonic() + patience
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
                if int(its_group) == group and state not in "ZX":
                    found.append(path.parent.name)
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


@pytest.fixture
def transport(slurm):
    return CommandTransport("fake", timeout=30, folder=str(slurm.folder))


def test_everything_that_is_published_is_read(transport):
    cluster = transport.cluster("fake")
    assert (cluster.name, len(cluster.nodes), len(cluster.partitions)) == ("fake", 16, 2)


DENIED = "echo 'slurm_load_nodes error: Access/permission denied' >&2; exit 1"


def test_where_nodes_are_hidden_what_jobs_ask_for_is_read_without_what_they_have_of_each(slurm, transport):
    whole = {job.id: job for job in transport.cluster("fake").jobs}
    slurm.does("scontrol", f'case "$*" in *"-d show"*) {DENIED} ;; esac')
    found = transport.cluster("fake")
    assert [caution for caution in found.cautions if "nodes are hidden here" in caution]
    assert not [caution for caution in found.cautions if "cannot be read" in caution]
    assert {job.id: job.most_nodes for job in found.jobs} == {id: job.most_nodes for id, job in whole.items()}
    slurm.does("scontrol", f'case "$*" in *"show nodes"* | *"show partitions"*) {DENIED} ;; esac')
    with pytest.raises(Forbidden, match="neither nodes nor partitions are shown to you"):
        CommandTransport("fake", timeout=30, folder=str(slurm.folder)).cluster("fake")


@pytest.mark.parametrize(("kind", "told"), [("licenses", "licences cannot be read"), ("jobs", NO_DETAILS)])
def test_an_optional_answer_that_fails_costs_a_caution(slurm, transport, kind, told):
    transport.submit(BATCH)
    slurm.does("scontrol", f'case "$*" in *"show {kind}") {DENIED} ;; esac')
    [caution] = transport.cluster("fake").cautions
    assert told in caution
    assert "Access/permission denied" in caution


def test_what_changes_slowly_is_asked_for_once(slurm, transport):
    for _ in range(2):
        transport.cluster("fake")
    asked = slurm.lines("calls")
    assert {kind: len([line for line in asked if kind in line]) for kind in ("config", "partitions", "licenses")} == {
        "config": 1, "partitions": 1, "licenses": 1,
    }  # fmt: skip
    assert {kind: len([line for line in asked if kind in line]) for kind in ("squeue", "show nodes", "sdiag")} == {
        "squeue": 2, "show nodes": 2, "sdiag": 2,
    }  # fmt: skip


def test_a_submitted_job_is_found_by_its_user_and_its_number(transport):
    number = transport.submit(BATCH)
    [job] = transport.jobs(user=transport.user)
    assert (job.id, job.name, job.cpus, job.time_limit) == (number, BATCH.name, 16, 1800)


@pytest.mark.parametrize(("kinds", "gpus"), [("gpu", 3), ("(null)", None)])
def test_listed_jobs_have_their_gpus_where_there_are_any(slurm, transport, kinds, gpus):
    config = (FOLDER / "v22.05" / "config.txt").read_text() + f"GresTypes               = {kinds}\n"
    recorded = (FOLDER / "v24.11-gpus" / "details.txt").read_text().splitlines()
    one = next(line for line in recorded if "TresPerTask=gres/gpu=1" in line)
    record = re.sub(r"^JobId=\d+ JobName=\w+", f"JobId={transport.submit(BATCH)} JobName={BATCH.name}", one)
    answers = f'*"show config") echo "{config}"; exit 0 ;; *"show jobs") echo "{record}"; exit 0 ;;'
    slurm.does("scontrol", f'case "$*" in {answers} esac')
    [job] = transport.jobs()
    assert record_of(job, "tasks", "u").get("gpus") == gpus
    assert any("show jobs" in line for line in slurm.lines("calls")) == (gpus is not None)


def test_a_job_that_there_is_not_is_no_error_but_none(slurm, transport):
    slurm.does("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1")
    assert transport.jobs(ids=[999]) == ()
    with pytest.raises(NotFound, match="there is no job 999"):
        transport.cancel(999)


SAID = {
    "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)": NotSent,
    "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation": Unclear,
    "sbatch: error: Batch job submission failed: Unable to contact slurm controller (receive failure)": Unclear,
    "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received": Unclear,
    "sbatch: error: invalid partition specified: nope": BadInput,
    "sbatch: error: Batch job submission failed: Invalid account or account/partition combination": Forbidden,
    "sbatch: error: Batch job submission failed: Access/permission denied": Forbidden,
}


@pytest.mark.parametrize("words", SAID)
def test_what_sbatch_says_tells_whether_anything_was_sent(slurm, transport, words):
    slurm.does("sbatch", f'echo "{words}" >&2; exit 1')
    with pytest.raises(SAID[words]) as raised:
        transport.submit(BATCH)
    assert type(raised.value) is SAID[words]
    assert words.split("failed: ")[-1].removeprefix("sbatch: error: ") in str(raised.value)


def test_a_submission_is_unclear_if_sbatch_hangs_dies_or_says_no_number(slurm):
    transport = CommandTransport("fake", timeout=0.3, folder=str(slurm.folder))
    for does in ("sleep 60", "kill -9 $$", "echo what; exit 0"):
        slurm.does("sbatch", does)
        with pytest.raises(Unclear):
            transport.submit(BATCH)


def test_a_command_that_hangs_is_given_up_and_ended_with_what_it_started(slurm):
    transport = CommandTransport("fake", timeout=0.3, folder=str(slurm.folder))
    slurm.does("squeue", f"echo $$ > {slurm.folder}/pid; sleep 61.25; true")
    with pytest.raises(Unreachable, match=r"squeue has not answered for 0\.3 s"):
        transport.cluster("fake")
    assert not left(int((slurm.folder / "pid").read_text()))


def test_a_command_is_ended_by_an_interruption(slurm, transport):
    slurm.does("squeue", f"echo $$ > {slurm.folder}/pid; sleep 61.5; true")
    running = slurm.folder / "pid"

    def interrupt():
        while not (running.exists() and running.read_text()):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        transport.cluster("fake")
    assert not left(int(running.read_text()))


def test_an_answer_that_is_cut_off_is_named(slurm, transport):
    transport.submit(BATCH)
    slurm.does("squeue", f"head -c 40 {slurm.folder}/jobs; exit 0")
    with pytest.raises(Unreachable, match="squeue: the answer is cut off"):
        transport.cluster("fake")


@pytest.mark.process
def test_without_slurm_the_way_out_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotSent, match="there is no scontrol here.*login nodes"):
        CommandTransport("fake").cluster("fake")


def test_a_slurmctld_that_is_down_is_named(slurm, transport):
    slurm.does(
        "scontrol", "echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
    )
    with pytest.raises(Unreachable, match="fake: scontrol -a -o: .*connect failure.*is slurmctld up"):
        transport.cluster("fake")


def test_a_job_that_has_started_cannot_be_reshaped(slurm, transport):
    slurm.does("scontrol", "echo 'Job is no longer pending execution for job 7' >&2; exit 1")
    with pytest.raises(Conflict, match="no longer pending"):
        transport.reshape(7, Shape(4, None, 10))


def test_a_reshaped_job_is_told_all_its_counts(slurm, transport):
    transport.reshape(7, Shape(4, None, 10))
    transport.reshape(8, Shape(None, 3, 10))
    assert [line for line in slurm.lines("calls") if "update" in line] == [
        "scontrol update jobid=7 NumCPUs=4 NumTasks=4 TimeLimit=10",
        "scontrol update jobid=8 NumNodes=3-3 NumTasks=3 NumCPUs=3 TimeLimit=10",
    ]


GPUS = (("ntasks-per-node", "1"), ("gpus-per-node", "a100:4"))


def test_gpus_of_each_node_are_changed_with_the_nodes(slurm, transport):
    slurm.does("scontrol", 'case "$*" in *"show job"*) echo "JobId=7 NtasksPerN:B:S:C=1:0:*:* ReqB=0"; exit ;; esac')
    transport.reshape(7, Shape(2, 2, 10, False, GPUS))
    assert [line for line in slurm.lines("calls") if "update" in line] == [
        "scontrol update jobid=7 NumNodes=2-2 NumTasks=2 Gres=gpu:a100:4 TimeLimit=10"
    ]
    with pytest.raises(BadInput, match="job 7 has 1 task per node and cannot be given 4"):
        transport.reshape(7, Shape(8, 2, 10, False, (("ntasks-per-node", "4"), GPUS[1])))
    with pytest.raises(BadInput, match="requests GPUs and cannot"):
        transport.reshape(7, Shape(8, 2, 10, False, (("gpus", "8"),)))


WHY_NOT = {
    "HetJobId=7": "heterogeneous",
    "CPUs/Task=2": "several CPUs per task",
    "NumNodes=8-8": "requests a number of nodes",
}


@pytest.mark.parametrize("words", WHY_NOT)
def test_a_job_whose_size_is_not_in_tasks_alone_is_not_reshaped(slurm, transport, words):
    slurm.does("scontrol", f'case "$*" in *"show job"*) echo "JobId=7 JobName=x {words} ReqB=0"; exit ;; esac')
    with pytest.raises(BadInput, match=WHY_NOT[words]):
        transport.reshape(7, Shape(4, None, 10))
    assert not [line for line in slurm.lines("calls") if "update" in line]


@pytest.mark.parametrize(
    ("words", "can"),
    [
        ("NumNodes=2-6 NumCPUs=6 NumTasks=6", True),
        ("NumNodes=1-6 NumCPUs=6 NumTasks=6", True),
        ("NumNodes=2-4 NumCPUs=6 NumTasks=6", False),
        ("NumNodes=6-6 NumCPUs=6 NumTasks=6", False),
    ],
)
def test_slurm_26_05_gives_every_job_a_range_of_nodes_up_to_its_tasks(slurm, transport, words, can):
    said = f"JobId=7 JobName=x SLUID=sCHNM82GVRX000 UserId=u(1) {words} CPUs/Task=1 ReqB=0"
    slurm.does("scontrol", f'case "$*" in *"show job"*) echo "{said}"; exit ;; esac')
    if can:
        transport.reshape(7, Shape(4, None, 10))
    else:
        with pytest.raises(BadInput, match="requests a number of nodes"):
            transport.reshape(7, Shape(4, None, 10))
    assert len([line for line in slurm.lines("calls") if "update" in line]) == can


def test_what_a_job_around_it_has_set_does_not_change_a_submission(slurm, monkeypatch):
    """Within a job, sbatch would take the size, the partition and the time from it."""
    monkeypatch.setenv("SLURM_NTASKS", "7")
    monkeypatch.setenv("SBATCH_TIMELIMIT", "9")
    monkeypatch.setenv("SBATCH_ACCOUNT", "abc")
    monkeypatch.setenv("SLURM_CONF", "/somewhere/slurm.conf")
    slurm.does("sbatch", f"env > {slurm.folder}/environment")
    CommandTransport("fake", folder=str(slurm.folder)).submit(BATCH)
    environment = slurm.lines("environment")
    assert not [line for line in environment if line.startswith(("SLURM_NTASKS", "SBATCH_T", "SLURM_TIME_FORMAT"))]
    assert "SBATCH_ACCOUNT=abc" in environment  # which is how some sites have it set
    assert "SLURM_CONF=/somewhere/slurm.conf" in environment


def test_sbatch_is_told_the_shape_the_place_and_the_time():
    batch = Batch(
        "a.gas-0",
        "",
        Shape(None, 4, 90),
        {"account": "x y", "requeue": None},
        directory="/data",
        not_before=1_800_000_000,
    )
    assert sbatch_line(batch) == [
        "sbatch", "--parsable", "--job-name=a.gas-0", "--time=90", "--nodes=4-4", "--exclusive", "--chdir=/data",
        "--begin=uts1800000000", "--account=x y", "--requeue",
    ]  # fmt: skip
    assert "--account=x y'" in shown_line(batch)


def test_accounting_is_asked_for_a_partition_and_says_so_if_there_is_none(slurm, monkeypatch):
    monkeypatch.setenv("SACCT_FEDERATION", "1")  # the user's own: the jobs of other clusters too
    asked = CommandTransport("fake", folder=str(slurm.folder))
    with pytest.raises(BadInput, match=r"fake: its accounting is not available \(sacct: Slurm account"):
        asked.accounting("main", 9)
    (slurm.folder / "accounting").write_text("JobID|User\n")
    slurm.does("sacct", f'env > "{slurm.folder}/environment"')
    assert asked.accounting("main", 9) == b"JobID|User\n"
    assert slurm.lines("calls")[-1].startswith("sacct -aXP -r main -S now-9days -o JobID,")
    environment = slurm.lines("environment")
    assert "SLURM_TIME_FORMAT=%s" in environment
    assert not [line for line in environment if line.startswith("SACCT_")]


def test_a_slurmdbd_that_is_down_is_told_once_in_each_of_sacct_s_words(slurm, transport):
    """What sacct of Slurm 22.05 says."""
    lines = [
        "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection to db:6819: Refused",
        "sacct: error: Sending PersistInit msg: Connection refused",
        "sacct: error: Sending PersistInit msg: Connection refused",
        "sacct: error: Problem talking to the database: Connection refused",
    ]
    slurm.does("sacct", "".join(f"echo '{line}' >&2\n" for line in lines) + "exit 1")
    with pytest.raises(BadInput) as caught:
        transport.accounting("main", 90)
    assert str(caught.value) == (
        "fake: its accounting is not available (sacct: slurm_persist_conn_open_without_init: failed to open persistent "
        "connection to db:6819: Refused; Sending PersistInit msg: Connection refused; Problem talking to the "
        "database: Connection refused)"
    )


def test_the_user_is_who_runs_it_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody")
    assert getpass.getuser() == "somebody"
    assert CommandTransport("fake").user == pwd.getpwuid(os.getuid()).pw_name
