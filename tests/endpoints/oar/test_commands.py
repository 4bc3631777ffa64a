"""OAR's commands, as programs that are found first: their answers, and their failures."""

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
from gas.errors import BadInput, Conflict, Forbidden, Infeasible, NotFound, Unreachable
from gas.profile.flat import NEVER

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
    assert any("1 waiting job has no planned start (held)" in remark for remark in made.remarks)
    assert any("left out: 1 suspected" in remark for remark in made.remarks)


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
    monkeypatch.undo()
    time.tzset()  # mktime caches TZ: without it, this process would stay in New York


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
    assert time.monotonic() - before < 20  # not the 30 s for which the program hangs


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
        ("die", "killed by signal 9"),
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
        ("die", Unclear, "killed by signal 9"),
        ("then-die", Unclear, "killed by signal 9"),
        ("then-half", Unclear, "did not print the number"),
        ("then-signal", RefusedAs, "created job 1, but ended with.*Cannot connect to executor"),
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
        ("echo 'cannot connect' >&2; exit 2", Conflict, "job 5 is recorded, but OAR's server does not"),
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


def test_a_condition_that_the_database_does_not_understand_is_an_error(oar, endpoint):
    """Oarnodes answers it like one that no resource satisfies: with nothing, and no error."""
    with pytest.raises(BadInput, match=r"does not understand the condition .*core <> <.*texts in single quotes"):
        endpoint(properties="core <> <").availability()
    with pytest.raises(Infeasible, match="none that match the endpoint's `properties`; oarnodes lists"):
        endpoint(properties="cluster = 'none'").availability()


def put_in_fair_share(oar, *others):
    """Publish a machine with eight resources in use for ten minutes, and waiting jobs of others with a karma."""
    now = int(time.time())
    chart = {"1": {"job_id": 1, "state": "Running", "start_time": now, "walltime": 600,
                   "resource_id": list(range(1, 9)), "user": "zoe", "queue_name": "default"}}  # fmt: skip
    oar.put(Job_Id=1, state="Running", startTime=now, walltime=600, owner="zoe", queue="default", message="x")
    start = now + 661
    for id, (user, karma) in enumerate(others, 2):
        message = f"R=8,W=1:0:0,J=B (Karma={karma:.3f},quota_ok)"
        chart[str(id)] = {"job_id": id, "state": "Waiting", "start_time": start, "walltime": 3600,
                          "resource_id": list(range(1, 9)), "user": user, "queue_name": "default"}  # fmt: skip
        oar.put(Job_Id=id, owner=user, queue="default", message=message, walltime=3600, scheduledStart=start)
        start += 3661
    oar.publish(resources_of(oar), chart)
    return now


def first_start(made):
    return int(made.availability().anchors(np.array([8]), np.array([60]), 0)[0])


def test_a_user_who_has_used_less_comes_before_those_who_wait(oar, endpoint):
    """Of 1000 s used and requested, bob has 900: a karma of 2.7. The querying user has none, and is planned before."""
    oar.account({"bob": (900, 900), "cy": (100, 100)})
    made = endpoint(quotas=str(oar.folder / "none"))
    (oar.folder / "none").write_text("")
    now = put_in_fair_share(oar, ("cy", 0.3), ("bob", 2.7))
    assert first_start(made) - now == pytest.approx(661, abs=2)
    assert made.remarks == ()
    oar.account({"bob": (900, 900), "cy": (100, 100), oar.user: (500, 500)})
    now = put_in_fair_share(oar, ("cy", 0.2), ("bob", 1.8))
    assert first_start(made) - now == pytest.approx(661 + 3661, abs=2)
    (call,) = [call for call in oar.calls if "--accounting" in call][-1:]
    assert "queue_name = 'default'" in call[-1]


def test_accounting_that_is_none_is_an_error(oar, endpoint):
    put_in_fair_share(oar, ("bob", 2.7))
    (oar.folder / "accounting").write_text("Bad syntax for --accounting\n")
    with pytest.raises(Unreachable, match="not a line of OAR's accounting"):
        endpoint().availability()


def test_quotas_that_cannot_be_read_are_said_where_the_scheduler_has_them(oar, endpoint):
    made = endpoint()
    put_in_fair_share(oar)
    oar.put(Job_Id=2, owner=oar.user, state="Running", queue="default", message="R=1 (Karma=0.000,quota_ok)")
    made.availability()
    assert any("may have quotas, which cannot be read here" in remark for remark in made.remarks)


def test_at_a_quota_a_start_is_behind_the_own_jobs(oar, endpoint):
    """The user has two of eight resources, and may have four at a time."""
    now = int(time.time())
    there = {"job_id": 1, "state": "Running", "start_time": now, "walltime": 600, "queue_name": "default"}
    oar.publish(resources_of(oar), {"1": there | {"user": oar.user, "resource_id": [1, 2]}})
    oar.put(Job_Id=1, state="Running", startTime=now, walltime=600, queue="default", message="(Karma=0.000,quota_ok)")
    (oar.folder / "quotas").write_text(f"$Gantt_quotas->{{'*'}}->{{'*'}}->{{'*'}}->{{'{oar.user}'}} = [4, -1, -1];")
    made = endpoint(quotas=str(oar.folder / "quotas"))
    found = made.availability()
    starts = found.anchors(np.array([2, 3, 4, 5]), np.array([60] * 4), 0)
    assert [int(start) - now for start in starts[:3]] == pytest.approx([0, 661, 661], abs=2)
    assert int(starts[3]) == NEVER
    assert "now 1 jobs have 2 resources of it" in made.remarks[0]


def test_quotas_that_are_not_understood_are_said_and_those_that_are_named_must_be_there(oar, endpoint):
    (oar.folder / "quotas").write_text("foreach my $user (@users) { ... }")
    made = endpoint(quotas=str(oar.folder / "quotas"))
    made.availability()
    assert any("are not understood" in remark for remark in made.remarks)
    with pytest.raises(BadInput, match="quotas cannot be read from /nonexistent"):
        endpoint(quotas="/nonexistent").availability()


def test_besteffort_jobs_are_planned_at_five_minutes_whatever_they_ask_for(oar, endpoint):
    now = int(time.time())
    oar.publish(resources_of(oar), {"1": {"job_id": 1, "state": "Waiting", "start_time": now + 301, "walltime": 600,
                                          "resource_id": list(range(1, 9)), "user": "bob"}})  # fmt: skip
    made = endpoint(queue="besteffort")
    found = made.availability()
    assert int(found.anchors(np.array([8]), np.array([86400]), 0)[0]) - now == pytest.approx(0, abs=2)
    assert any("planned with 5 minutes" in remark for remark in made.remarks)


def test_what_would_be_submitted_has_all_shapes(oar, endpoint):
    made = endpoint(moldable=True, resource="host/core=2", queue="night")
    shown = made.preview(Request(2, 300, alternatives=((4, 200),)), JOB)
    assert "-l /host=2/core=2,walltime=0:05:00 -l /host=4/core=2,walltime=0:03:20" in shown
    assert "--queue=night" in shown
    assert oar.calls == []


def test_a_job_of_several_shapes_is_watched_by_oar_itself(oar, endpoint):
    made = endpoint(resource="core")
    shapes = """-l "{type = 'default'}/core=4,walltime=0:5:0" -l "{type = 'default'}/core=2,walltime=0:9:0" """
    oar.put(Job_Id=3, wanted_resources=shapes, scheduledStart=1795219410)
    assert "has 2 shapes (4 core for 5m00s, 2 core for 9m00s)" in made.why_unchanged(3)
    oar.put(Job_Id=4)
    assert "cancel job 4 and submit another" in made.why_unchanged(4)
    with pytest.raises(NotFound, match="no job 5"):
        made.why_unchanged(5)
