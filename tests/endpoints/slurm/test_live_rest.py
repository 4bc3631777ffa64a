"""A real slurmrestd is asked, understood and agreed with, and acts; skipped where there is none."""

import time
from dataclasses import fields, replace

import pytest
from private_slurm import PrivateSlurm, own_name

from gas.endpoints.sending import RefusedAs
from gas.endpoints.slurm.command_line import COMMANDS, DETAILS, ENVIRONMENT, read_cluster, with_details
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.interpretation import interpret
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput, Conflict, Forbidden, NotFound, Unauthorized

pytestmark = pytest.mark.live

VERSIONS = ("v0.0.36", "v0.0.37", "v0.0.38")
SLEEP = "#!/bin/sh\nexec sleep 1000\n"


@pytest.fixture(scope="module")
def slurm():
    debug = "PartitionName=debug Nodes=n01,n02 MaxNodes=2 MaxTime=30 State=UP"
    with PrivateSlurm(8, 2, debug, rest=True) as cluster:
        for processors, minutes in ((4, 20), (3, 35), (6, 12), (16, 15), (5, 40)):
            cluster.submit("-n", str(processors), "-t", str(minutes))
        cluster.submit("-n", "1", "-t", "5", "--begin=now+2days")
        cluster.submit("-n", "1", "-t", "5", "--hold", "-J", 'a | "name", é→Ω')
        cluster.submit("-n", "1", "-t", "5", "--array=1-3%2")
        last = cluster.submit("-p", "debug", "-N", "2", "-t", "10", "--exclusive", "-o", f"{cluster.folder}/%x.txt")
        assert cluster.planned_start(last) is not None
        yield cluster


def spoken(slurm, token=None, **more):
    token = slurm.token() if token is None else token
    return RestTransport(
        "private", slurm.rest_url, tokens=Tokens(slurm.rest_url, environment={"SLURM_JWT": token}), **more
    )


@pytest.fixture
def rest(slurm):
    return spoken(slurm)


@pytest.fixture
def commands(slurm):
    return CommandTransport("private", slurm.environment["SLURM_CONF"])


@pytest.fixture
def submitted(slurm, rest):
    """Submit jobs that are cancelled after the test."""
    made = []

    def submit(shape, *, through=rest, script=SLEEP, name="ocean.gas-1", directory="/tmp", **options):
        options = {key.replace("_", "-"): value for key, value in options.items()}
        batch = Batch(name, script, shape, {"output": "/dev/null", **options}, directory)
        made.append(through.submit(batch))
        return made[-1]

    yield submit
    if made:
        slurm.run("scancel", *map(str, made))


def one(transport, id):
    (found,) = transport.jobs(ids=[id])
    return found


def line(slurm, id, columns):
    return slurm.run("squeue", "-h", "-t", "all", "-j", str(id), "-o", columns).strip()


# -------------------------------------------------------------------------------------------------------- reading


def test_it_says_what_the_commands_say(slurm, rest):
    answers = {name: slurm.run(*command, **ENVIRONMENT) for name, command in COMMANDS.items()}
    there = read_cluster(answers, name="private")
    details = with_details(there.jobs, slurm.run(*DETAILS, **ENVIRONMENT))
    here = rest.cluster("private")
    assert (here.nodes, here.version, here.reservations) == (there.nodes, there.version, there.reservations)
    # up to v0.0.38 it says of no partition what becomes of its preempted jobs
    assert here.partitions == tuple(replace(one, preempt_mode="") for one in there.partitions)
    assert abs(here.now - there.now) <= 5
    jobs = {job.id: job for job in here.jobs}
    assert jobs.keys() == {job.id for job in details}
    # squeue says no eligible time of a held job; the ranges of node counts and the words of a reason are its own
    told_apart = {"planned_nodes", "cpus_on", "eligible", "reason", "most_nodes"}
    for job in details:
        differing = {
            each.name for each in fields(job) if getattr(job, each.name) != getattr(jobs[job.id], each.name)
        } - told_apart
        assert not differing, [(name, getattr(job, name), getattr(jobs[job.id], name)) for name in differing]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_that_it_offers_is_understood(slurm, version):
    found = spoken(slurm, version=version).cluster("x")
    assert len(found.nodes) == 8
    assert any(job.pending and job.start for job in found.jobs)
    assert interpret(found).availability.processors == 16


def test_the_newest_version_is_found(rest):
    assert rest.version() >= 38


def test_over_its_socket_everything_is_read_without_a_token(slurm, rest):
    there = RestTransport("private", f"unix:{slurm.rest_socket}")
    assert replace(there.cluster("x"), now=0, planned=0) == replace(rest.cluster("x"), now=0, planned=0)
    assert there.user in ("nobody", own_name())


# --------------------------------------------------------------------------------------------------------- acting


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_is_submitted_seen_reshaped_and_cancelled(slurm, submitted, version):
    rest = spoken(slurm, version=version)
    id = submitted(Shape(12, None, 30), through=rest, comment="hello", exclude="n08")
    job = one(rest, id)
    assert (job.name, job.state, job.cpus, job.time_limit) == ("ocean.gas-1", "PENDING", 12, 1800)
    assert id in {job.id for job in rest.jobs(user=own_name())}
    assert job.user == ("" if version == "v0.0.36" else own_name())
    assert (job.comment, job.excluded_nodes, job.stdout) == ("hello", ("n08",), "/dev/null")
    for shape in (Shape(3, None, 10), Shape(14, None, 20)):  # fewer and more
        rest.reshape(id, shape)
        assert line(slurm, id, "%C %l") == f"{shape.tasks} {shape.minutes}:00"
        assert slurm.planned_start(id) is not None
    rest.cancel(id)
    assert one(rest, id).state == "CANCELLED"
    rest.cancel(id)  # again


def test_whole_nodes_are_submitted_and_reshaped(slurm, submitted, rest, commands):
    id = submitted(Shape(None, 3, 30))
    job = one(rest, id)
    assert (job.least_nodes, job.exclusive) == (3, True)
    for nodes in (5, 2):
        rest.reshape(id, Shape(None, nodes, 20))
        assert slurm.planned_start(id) is not None
        assert line(slurm, id, "%D") == str(nodes)
        deadline = time.monotonic() + 10
        while len(one(commands, id).planned_nodes) != nodes:  # by the plan that there was before
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_both_transports_submit_the_same_job(slurm, submitted, rest, commands):
    options = {"exclusive": None, "mem": "100M", "ntasks_per_node": "2", "no_requeue": None, "hold": None, "nice": "7"}
    differing = {}
    for shape in (Shape(4, None, 7), Shape(None, 2, 7)):
        pair = [submitted(shape, through=each, **options) for each in (rest, commands)]
        shown = [slurm.run("scontrol", "-o", "show", "job", str(id)) for id in pair]
        wanted = ("NumNodes", "NumCPUs", "NumTasks", "CPUs/Task", "TimeLimit", "OverSubscribe", "MinMemoryNode",
                  "NtasksPerN:B:S:C", "Requeue", "Nice", "WorkDir", "StdOut", "JobName", "TRES")  # fmt: skip
        here, there = (
            {word.split("=", 1)[0]: word for word in text.split() if word.split("=", 1)[0] in wanted} for text in shown
        )
        differing |= {key: (here[key], there.get(key)) for key in here if here[key] != there.get(key)}
    assert differing == {}


def test_how_a_job_ended_and_where_its_output_is(slurm, rest, commands, tmp_path_factory):
    with PrivateSlurm(1, 2, rest=True) as idle:  # where jobs start at once
        rest, commands = spoken(idle), CommandTransport("x", idle.environment["SLURM_CONF"])
        made = [
            rest.submit(Batch("x", f"#!/bin/sh\n{command}\n", Shape(1, None, 1), {}, str(idle.folder / "spool")))
            for command in ("echo $A hello", "exit 3", "kill -9 $$")
        ]
        deadline = time.monotonic() + 20
        while not all(job.state in ("COMPLETED", "FAILED") for job in rest.jobs(ids=made)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        here, there = rest.jobs(ids=made), commands.jobs(ids=made)
        kept = ("id", "state", "exit_status", "signal", "stdout", "stderr", "start", "end")
        for job, other in zip(here, sorted(there, key=lambda job: job.id), strict=True):
            assert [getattr(job, key) for key in kept] == [getattr(other, key) for key in kept]
        assert [(job.exit_status, job.signal) for job in here] == [(0, None), (3, None), (0, 9)]


def test_an_error_that_comes_with_a_job_names_it(slurm, submitted, rest):
    with pytest.raises(RefusedAs, match="partition configuration not available") as caught:
        submitted(Shape(100, None, 5))
    assert one(rest, caught.value.id).pending
    rest.cancel(caught.value.id)


def test_refusals(slurm, submitted, rest):
    with pytest.raises(BadInput, match="Invalid partition name"):
        submitted(Shape(1, None, 5), partition="no-such")
    with pytest.raises(NotFound, match="Invalid job id"):
        rest.cancel(999_999)
    with pytest.raises(NotFound, match="Invalid job id"):
        rest.reshape(999_999, Shape(1, None, 1))
    assert rest.jobs(ids=[999_999]) == ()
    running = next(job for job in rest.jobs() if job.state == "RUNNING")
    with pytest.raises(Conflict, match="no longer pending"):
        rest.reshape(running.id, Shape(1, None, 1))
    assert one(rest, running.id) == running  # nor is its time limit changed
    with pytest.raises(BadInput, match=r"has no /slurm/v0.0.46/diag .HTTP 404.: it offers v0.0.36"):
        spoken(slurm, version="v0.0.46").cluster("x")


def test_a_job_of_somebody_else(slurm, submitted):
    there = RestTransport("private", f"unix:{slurm.rest_socket}")
    if there.user == own_name():
        pytest.skip("slurmrestd runs as whoever runs this: there is nobody else")
    id = submitted(Shape(1, None, 5), hold=None)
    with pytest.raises(Forbidden):
        there.cancel(id)
    with pytest.raises(Forbidden):
        there.reshape(id, Shape(2, None, 5))


# --------------------------------------------------------------------------------------------------------- tokens


def test_tokens_that_are_not_accepted(slurm, rest):
    forged = slurm.token()[:-4] + "AAAA"
    expired = slurm.token(seconds=1)
    time.sleep(2.1)
    for token, told in ((forged, "was sent"), ("word", "was sent"), (expired, "expired")):
        there = spoken(slurm, token)
        for action in (
            lambda there=there: there.cluster("x"),
            lambda there=there: there.submit(Batch("never", SLEEP, Shape(1, None, 1))),
            lambda there=there: there.cancel(1),
            lambda there=there: there.reshape(1, Shape(1, None, 1)),
        ):
            with pytest.raises(Unauthorized, match=f"the token of SLURM_JWT {told}.*scontrol token") as caught:
                action()
            assert token not in str(caught.value).split()
    assert "never" not in {job.name for job in rest.jobs()}


def test_no_token(slurm):
    there = RestTransport("private", slurm.rest_url, tokens=Tokens(slurm.rest_url, environment={}))
    with pytest.raises(Unauthorized, match="no token was sent"):
        there.cluster("x")


def test_a_token_of_a_command(slurm, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    tokens = Tokens(slurm.rest_url, command=["scontrol", "token", "lifespan=100"])
    there = RestTransport("private", slurm.rest_url, tokens=tokens)
    assert len(there.cluster("x").nodes) == 8
    assert there.user == own_name()
