"""What Slurm's availability says of a request: planned, not planned at first and why, or never and why."""

from dataclasses import replace

import numpy as np
import pytest

from gas.endpoints.slurm.directives import from_words
from gas.endpoints.slurm.interpretation import interpret
from gas.endpoints.slurm.options import Options
from gas.profile.flat import NEVER
from gas.slurm.cluster import Cluster, Job, Licence, Node, Partition, Reservation, Scheduling
from gas.slurm.settings import Settings

NODES = tuple(Node(f"n{k}", 4, memory=1000, partitions=("main",)) for k in range(2))
MAIN = Partition("main", ("n0", "n1"), longest=86400, default=True)
NOW = 1_800_000_000


def started(id, minutes, cpus):
    return Job(id, "j", "bob", "RUNNING", ("main",), cpus, 10, NOW - 60, NOW + 60 * minutes, 60 * minutes + 60,
               nodes=("n0", "n1"), cpus_on={"n0": cpus // 2, "n1": cpus // 2})  # fmt: skip


def waiting(id, minutes, cpus):
    return Job(id, "j", f"u{id}", "PENDING", ("main",), cpus, 100 - id, time_limit=60 * minutes, submitted=NOW - 60)


def availability(*jobs, words="", **scheduling):
    cluster = Cluster(
        "ada", NOW, "24.11.5", NODES, jobs, (), (MAIN,), Scheduling(**scheduling), planned=NOW, others_visible=True
    )  # fmt: skip
    options = Options.of(from_words(words.split(), "here"), now=NOW)
    return interpret(cluster, options=options, user="ada").availability


def start(found, size, minutes):
    return int(found.anchors(np.array([size]), np.array([60 * minutes]), 0)[0])


def test_what_slurm_will_plan_is_said_with_its_time():
    found = availability(started(1, 30, 8))
    assert NOW + 1800 <= start(found, 4, 10) < NOW + 1920
    assert found.said(4, 600).startswith("Slurm will show 2027-01-15T08:3")
    assert found.why_never(4, 600) == ""


@pytest.mark.parametrize(
    ("margin", "said"), [(2, "within 2 seconds"), (1, "within 1 second"), (0, "at once"), (60, "")]
)
def test_a_start_that_depends_on_being_submitted_at_once_is_said_to(margin, said):
    """A job that must end before a reservation begins, and would just do so."""
    found = availability()
    assert found.cluster is not None
    kept = Reservation("repair", NOW + 600 + margin, NOW + 7200, ("n0", "n1"))
    late = interpret(replace(found.cluster, reservations=(kept,)), options=found.options, user="ada").availability
    assert start(late, 4, 10) == NOW
    words = f'only if it is submitted {said}: it just ends before reservation "repair" begins, and otherwise starts'
    assert (words in late.said(4, 600)) == bool(said)
    assert ("only if" in late.said(4, 600)) == bool(said)
    assert start(late, 4, 20) > NOW + 7000
    assert "only if" not in late.said(4, 1200)


def test_what_slurm_will_not_plan_at_first_is_said_with_the_reason():
    jobs = [waiting(2 + k, 60, 8) for k in range(3)]
    found = availability(started(1, 30, 8), *jobs, depth=2)
    assert start(found, 4, 10) > NOW + 1800
    full = "Slurm's table of plans is full (bf_node_space_size)"  # which is by default as large as the depth
    assert f"Slurm will not plan it at first: {full}" in found.said(4, 600)


@pytest.mark.parametrize(
    ("words", "size", "problem"),
    [
        ("-N2 -n3", 1, "1 nodes does not give a whole number of tasks"),
        ("-n2 --mem=2000", 2, ""),
        ("-n2 -C gpu", 2, ""),
    ],
)
def test_a_request_that_never_starts_has_a_reason(words, size, problem):
    found = availability(words=words)
    assert start(found, size, 10) == NEVER
    assert problem in found.why_never(size, 600)
    assert found.why_never(size, 600) != ""
    assert found.said(size, 600) == ""


def test_of_a_request_that_was_not_asked_for_nothing_is_said():
    found = availability()
    assert (found.said(3, 60), found.why_never(3, 60)) == ("", "")
    assert replace(found, scheduler="x").said(3, 60) == ""


def test_who_waits_for_a_limit_starts_after_who_does_not():
    """Of two accounts with which a job would start at the same time, that without the limit is taken."""
    running = replace(started(1, 30, 8), licences={"l": 2})
    found = availability(running, words="--licenses=l:1")
    assert found.cluster is not None
    cluster = replace(found.cluster, licences=(Licence("l", 2, used=2),))
    limited = interpret(cluster, options=found.options, user="ada").availability
    assert (limited.outlook(4, 600).planned, limited.outlook(4, 600).expected) == (None, NOW + 1800)
    assert start(limited, 4, 10) == NOW + 1801


# -- plans that are out of date


def published(id, at, hours=1):
    """Return a waiting job that wants the whole machine, and the plan that Slurm has published for it."""
    return replace(waiting(id, 60 * hours, 8), start=NOW + at, planned_nodes=("n0", "n1"))


def test_plans_that_slurm_has_outgrown_are_made_anew():
    """A running job was cancelled: what it leaves goes to those that wait, as soon as Slurm plans again."""
    queue = [published(2 + k, (5 + k) * 3600) for k in range(3)]
    found = availability(*queue)
    assert start(found, 8, 60) >= NOW + 2 * 3600  # by the published plans it could start now
    assert "uncertain" not in found.said(8, 3600)
    kept = availability(started(1, 300, 8), *queue)  # the same plans, as they should be
    assert start(kept, 8, 60) >= NOW + 7 * 3600


def test_where_some_plans_are_others_than_gas_makes_a_start_is_said_to_be_uncertain():
    queue = [published(2 + k, 1800 + 3600 * k) for k in range(3)]
    found = availability(started(1, 30, 8), *queue, published(5, 90_000))
    start(found, 4, 10)
    assert "this is uncertain: Gas reproduces 3 of Slurm's 4 published plans" in found.said(4, 600)
    sure = availability(started(1, 30, 8), *queue)
    start(sure, 4, 10)
    assert "uncertain" not in sure.said(4, 600)


# -- jobs of others that have to end


@pytest.mark.parametrize(
    ("cpus", "said"), [(8, "it can start this early only by preempting running jobs: 1 of bob"), (2, "")]
)  # fmt: skip
def test_whose_running_jobs_end_for_a_start_is_said(cpus, said):
    partitions = (replace(MAIN, tier=1), Partition("urgent", ("n0", "n1"), longest=86400, tier=5))
    cluster = Cluster(
        "ada", NOW, "24.11.5", NODES, (started(1, 300, cpus),), (), partitions, Scheduling(), planned=NOW,
        others_visible=True, settings=Settings(preempt_type="partition_prio", preempt_mode=frozenset({"REQUEUE"})),
    )  # fmt: skip
    options = Options.of(from_words(["-p", "urgent"], "here"), now=NOW)
    found = interpret(cluster, "urgent", options=options, user="ada").availability
    assert start(found, 4, 10) <= NOW + 1
    assert (said or "Slurm will show ") in found.said(4, 600)
    assert bool(said) == ("preempting" in found.said(4, 600))


def test_a_held_job_never_starts_and_that_is_said():
    found = availability(words="--hold")
    assert start(found, 4, 10) == NEVER
    assert found.why_never(4, 600).startswith("--hold: the job never starts until it is released")


def test_a_job_that_waits_for_another_starts_then_at_the_earliest():
    found = availability(words="--dependency=afterok:99")
    assert start(found, 4, 10) == NOW
    assert found.said(4, 600) == "it starts now at the earliest, and only once its dependency is met: afterok:99"
