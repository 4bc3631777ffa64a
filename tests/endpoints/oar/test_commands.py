"""OAR's commands, played by programs that are found first: what they answer, and how they fail."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest

from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.oar import commands
from gas.endpoints.oar.commands import CommandTransport
from gas.endpoints.oar.submission import batch_of
from gas.endpoints.sending import NotSent, RefusedAs, Unclear
from gas.endpoints.wording import tag_of
from gas.errors import BadInput, Conflict, Forbidden, NotFound, Unreachable

JOB = JobDescription("ocean", ("true",))


def batch(key="k", processors=2):
    return batch_of(Request(processors, 300), JOB, key=key, resource="core")


def test_the_chart_and_the_jobs_that_are_not_in_it_are_read(oar, endpoint):
    oar.publish(
        [{**one, "state": "Suspected"} if one["resource_id"] == 8 else one for one in resources_of(oar)],
        {"1": {"job_id": 1, "state": "Running", "start_time": int(time.time()) - 10, "walltime": 600,
               "resource_id": [1, 2, 3, 4], "user": "ann"}},
    )  # fmt: skip
    oar.put(Job_Id=1, state="Running", startTime=5)
    oar.put(Job_Id=2, state="Hold")
    made = endpoint(resource="core")
    found = made.availability()
    assert found.processors == 7
    start = int(found.anchors(np.array([4]), np.array([60]), 0)[0])
    assert start == int(found.now) + 600 - 10 + 61 or abs(start - found.now - 651) <= 1
    assert len(made.remarks) == 2
    assert "held" in made.remarks[0]


def resources_of(oar):
    import json

    return json.loads((oar.folder / "gantt.json").read_text())["resources"]


def test_the_chart_is_asked_for_from_the_past_on_in_utc(oar, endpoint, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    endpoint().availability()
    (call,) = [call for call in oar.calls if "--gantt" in call]
    first, last = call[-1].split(", ")
    begin = time.mktime(time.strptime(first, "%Y-%m-%d %H:%M:%S")) - time.timezone
    assert first < time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()) < last
    assert begin > 0
    assert CommandTransport("x").programs.environment["TZ"] == "UTC"


def test_resources_that_do_not_fulfil_the_condition_are_left_out_by_oar_itself(oar, endpoint):
    found = endpoint(properties="cluster = 'a' OR cluster = 'b'").availability()
    assert found.processors == 8
    assert ["oarnodes", "-J", "--sql", "cluster = 'a' OR cluster = 'b'"] in oar.calls


def test_a_job_is_submitted_and_found_by_its_number_and_its_tag(oar):
    transport = CommandTransport("oar")
    id = transport.submit(batch())
    assert transport.job(id).name == f"ocean.{tag_of('k')}"
    assert [job.id for job in transport.tagged_jobs(tag_of("k"))] == [id]
    assert transport.tagged_jobs(tag_of("other")) == ()
    assert transport.job(99) is None


def test_ended_jobs_are_asked_for_only_if_they_are_wanted(oar):
    transport = CommandTransport("oar")
    for id in range(1, 6):
        oar.put(Job_Id=id, state="Terminated" if id < 5 else "Running")
    assert [job.id for job in transport.ended_jobs(2)] == [3, 4]
    before = len(oar.calls)
    assert transport.ended_jobs(0) == ()
    assert len(oar.calls) == before
    assert [job.id for job in transport.active_jobs()] == [5]


def test_where_there_are_no_commands_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotSent, match=r"no oarstat here.*frontends.*`folder`.*`url`"):
        CommandTransport("oar").machine("oar")
    with pytest.raises(NotSent, match="no oarsub here"):
        CommandTransport("oar").submit(batch())


def test_commands_may_be_in_a_folder_that_is_named(oar, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert CommandTransport("oar", folder=str(oar.folder / "bin")).active_jobs() == ()


def test_a_program_that_cannot_be_run_is_said_to_be_so(oar, monkeypatch):
    monkeypatch.setenv("PATH", str(oar.folder / "bin"))
    (oar.folder / "bin" / "oarstat").chmod(0o644)
    with pytest.raises(NotSent, match="oarstat cannot be run: Permission denied"):
        CommandTransport("oar").active_jobs()


def test_a_command_that_hangs_is_given_up_and_ended(oar):
    oar.fail("oarstat", "hang")
    before = time.monotonic()
    with pytest.raises(Unreachable, match=r"oarstat has not answered for 0.5 s \(`timeout` in the endpoint.s table\)"):
        CommandTransport("oar", timeout=0.5).active_jobs()
    assert time.monotonic() - before < 20  # and not the 30 s for which it hangs


def test_one_that_belongs_to_another_user_is_left_alone(oar, monkeypatch):
    """As oarsub does, which runs as the user oar."""

    def refuse(group, number):
        killed.append(group)
        raise PermissionError

    killed = []
    kill = os.killpg
    monkeypatch.setattr(commands.os, "killpg", refuse)
    oar.fail("oarsub", "hang")
    with pytest.raises(Unclear, match="oarsub has not answered") as raised:
        CommandTransport("oar", timeout=0.5).submit(batch())
    assert not raised.value.over
    kill(killed[0], signal.SIGKILL)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("half", "cut off"),
        ("error", "something is wrong"),
        ("die", "ended by signal 9"),
        ("database", "Cannot connect"),
    ],
)
def test_an_answer_that_is_none_is_unreachable(oar, fault, problem):
    oar.put(Job_Id=1)
    oar.fail("oarstat", fault)
    with pytest.raises(Unreachable, match=problem):
        CommandTransport("oar").active_jobs()


@pytest.mark.parametrize(
    ("fault", "kind", "problem"),
    [
        ("refuse", BadInput, "oarsub refuses: There are not enough resources for your request$"),
        ("error", BadInput, "oarsub refuses: .*something is wrong"),
        ("database", NotSent, "Cannot connect to database"),
        ("die", Unclear, "ended by signal 9"),
        ("then-die", Unclear, "ended by signal 9"),
        ("then-half", Unclear, "does not say which job"),
        ("then-signal", RefusedAs, "made the job 1, and ended with.*Cannot connect to executor"),
        ("hang", Unclear, "has not answered"),
        ("then-hang", Unclear, "has not answered"),
    ],
)
def test_what_became_of_a_submission_is_told_apart(oar, fault, kind, problem):
    oar.fail("oarsub", fault)
    with pytest.raises(kind, match=problem) as raised:
        CommandTransport("oar", timeout=0.6).submit(batch())
    if kind is Unclear:
        assert raised.value.over is ("hang" not in fault)
    assert len(oar.jobs) == fault.startswith("then-")


@pytest.mark.parametrize(
    ("program", "kind", "problem"),
    [
        ("echo 'Cannot frag 5 ; You are not the right user.' >&2; exit 1", Forbidden, "job 5 is not yours"),
        ("echo 'cannot connect' >&2; exit 2", Conflict, "job 5 has been noted, but OAR's server does not"),
        ("exit 9", Unreachable, "exit status 9"),
    ],
)
def test_what_became_of_a_cancellation_is_told_apart(oar, program, kind, problem):
    (oar.folder / "bin" / "oardel").unlink()
    (oar.folder / "bin" / "oardel").write_text(f"#!/bin/sh\n{program}\n")
    (oar.folder / "bin" / "oardel").chmod(0o755)
    with pytest.raises(kind, match=problem):
        CommandTransport("oar").cancel(5)


def test_a_job_that_is_being_cancelled_already_is_no_error(oar):
    (oar.folder / "bin" / "oardel").unlink()
    script = "#!/bin/sh\necho 'Cannot frag 5 ; This job was already killed.' >&2\nexit 6\n"
    (oar.folder / "bin" / "oardel").write_text(script)
    (oar.folder / "bin" / "oardel").chmod(0o755)
    CommandTransport("oar").cancel(5)


def test_the_commands_do_not_inherit_what_is_of_another_job(oar, monkeypatch):
    """Within a job, OAR_JOB_KEY_FILE would make oarsub share its keys."""
    monkeypatch.setenv("OAR_JOB_KEY_FILE", "/x")
    assert not any(name.startswith("OAR") for name in CommandTransport("oar").programs.environment)


def test_nothing_is_left_running(oar):
    oar.fail("oarsub", "hang")
    with pytest.raises(Unclear):
        CommandTransport("oar", timeout=0.5).submit(batch())
    left = subprocess.run(["pgrep", "-f", str(oar.folder / "bin" / "oarsub")], capture_output=True, text=True).stdout
    assert left == ""


def test_there_is_no_job_of_a_number_that_there_is_not(endpoint, oar):
    with pytest.raises(NotFound, match="there is no job 7"):
        endpoint().job(7)
