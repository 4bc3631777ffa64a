"""Jobs of Slurm's as the commands show them."""

from dataclasses import replace

import pytest

from gas.cli.states import describe
from gas.endpoints.slurm.records import record_of
from gas.slurm.cluster import Gres, Job

RAN = Job(
    7, "ocean", "ann", "COMPLETED", ("main",), cpus=4, priority=1, start=60, end=90, time_limit=600,
    nodes=("n1",), exit_status=0,
)  # fmt: skip


def test_how_a_job_that_ran_has_ended_is_its_exit_status():
    for state, status, told in (("COMPLETED", 0, "completed"), ("FAILED", 3, "failed"), ("CANCELLED", 0, "cancelled")):
        found = record_of(replace(RAN, state=state, exit_status=status), "cpus", "ann")
        assert (found["state"], found["exit_status"], found["start"]) == (told, status, 60)


def test_a_job_that_a_signal_ended_has_no_exit_status():
    found = record_of(replace(RAN, state="CANCELLED", signal=15), "cpus", "ann")
    assert (found["exit_status"], found["signal"]) == (None, "SIGTERM")


def test_a_job_whose_output_cannot_be_opened_was_ended_by_no_signal():
    """Slurm's code for it is 0:53."""
    found = record_of(replace(RAN, state="FAILED", signal=53), "cpus", "ann")
    assert (found["state"], found["exit_status"], found["signal"]) == ("failed", None, None)
    assert "could not open its output file" in describe(found)
    assert record_of(replace(RAN, state="CANCELLED", signal=53), "cpus", "ann")["signal"] == "signal 53"


@pytest.mark.parametrize("start", [None, 90], ids=["no start", "a start that is the end"])
def test_a_job_that_was_cancelled_while_it_waited_has_none_either(start):
    """Slurm has 0 for it, and the second in which it was cancelled as its start and end."""
    found = record_of(replace(RAN, state="CANCELLED", nodes=(), start=start, end=90), "cpus", "ann")
    assert (found["state"], found["exit_status"], found["signal"], found["start"]) == ("cancelled", None, None, None)
    assert describe(found).endswith(": cancelled, at 1970-01-01T00:01:30Z")


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETED"])
def test_gpus_of_a_job_are_the_same_in_each_state(state):
    gpus, other = Gres("gpu", "a100", 4), Gres("shard", "", 8)
    held = {"gres_on": {"n1": (gpus, other), "n2": (gpus, other)}, "nodes": ("n1", "n2")} if state == "RUNNING" else {}
    one = replace(RAN, state=state, gres_per_node=(gpus, other), least_nodes=2, **{"nodes": (), **held})
    assert record_of(one, "cpus", "ann")["gpus"] == 8
    assert "gpus" not in record_of(replace(RAN, state=state), "cpus", "ann")


@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_a_job_that_goes_on_has_none_yet(state):
    found = record_of(replace(RAN, state=state), "cpus", "ann")
    assert (found["exit_status"], found["finished"]) == (None, None)
