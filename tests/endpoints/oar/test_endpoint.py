"""An OAR as an endpoint: planned with, submitted to once in spite of failures, queried and cancelled."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from thorough import examples

from documents.fields import FieldError, Fields
from gas import Agent, Application
from gas.endpoints.endpoint import InDoubt, JobDescription, JobEndpoint, Request
from gas.endpoints.oar.endpoint import OarEndpoint
from gas.endpoints.wording import tag_of
from gas.errors import BadInput, Conflict, Forbidden, GasError, NotFound, Unreachable, outcome_of
from gas.planner import Limits
from speedup_models import Table

REQUEST = Request(2, 300)
JOB = JobDescription("ocean", ("./lu",))


def configured(**table):
    return OarEndpoint.configured("oar", Fields(table, "gas.toml, [endpoints.oar]"))


def test_an_empty_table_is_the_oar_of_this_machine():
    made = configured()
    assert isinstance(made, JobEndpoint)
    assert made.limits == Limits()
    assert not made.moldable
    assert made.address.startswith("oar://")


def test_a_table_says_how_jobs_are_submitted(oar):
    made = configured(
        resource="core", queue="production", project="abc", properties="cluster='a'", options=["--type=deploy"],
        moldable=True, security_time=1, max_processors=8, max_walltime="2h", timeout=5, patience=1,
    )  # fmt: skip
    batch = made.batch(
        Request(2, 60, alternatives=((4, 40),)), JobDescription("x", ("true",), native=("--notify=none",)), "k"
    )
    assert batch.options == (
        ("queue", "production"), ("type", "deploy"), ("project", "abc"), ("property", "cluster='a'"), ("notify", "none")
    )  # fmt: skip
    assert batch.resource == "core"
    assert len(batch.shapes) == 2
    assert (made.limits.max_processors, made.limits.max_walltime) == (8, 7200)
    assert made.moldable
    assert made.address.endswith("#production")


@pytest.mark.parametrize(
    ("native", "problem"), [("--hold", "no start to plan"), ("--type=besteffort", "in the endpoint")]
)
def test_options_that_change_the_plan_are_named_before(oar, native, problem):
    with pytest.raises(BadInput, match=problem):
        configured().batch(REQUEST, JobDescription("x", ("true",), native=(native,)), "k")


def test_an_endpoint_of_besteffort_jobs_takes_that_option(oar):
    job = JobDescription("x", ("true",), native=("--type=besteffort",))
    assert ("type", "besteffort") in configured(queue="besteffort").batch(REQUEST, job, "k").options


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"resource": "core=4"}, "resource.*leaves 0 levels"), ({"policy": "random"}, "policy.*neither"),
        ({"queues": "admin"}, "queues.*list of queues"), ({"queues": ["a", "a"]}, "queues.*twice"),
        ({"options": "--hold"}, "options.*list of options"),
        ({"options": ["-t"]}, "options.*not a long option"), ({"moldable": "yes"}, "moldable"),
        ({"security_time": -1}, "security_time"), ({"moldible": True}, 'no key "moldible"; did you mean "moldable"'),
        ({"ident": "ann"}, 'no key "ident"'), ({"timeout": 0}, "timeout"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_refused(table, problem):
    with pytest.raises((FieldError, BadInput), match=problem):
        configured(**table)


def test_the_site_s_own_security_time_is_used(api, endpoint):
    def start(**table):
        made = endpoint(url=api.url, **table)
        return int(made.availability().anchors(np.array([8]), np.array([60]), 0)[0])

    api.add(state="Running", walltime=600, start_time=int(time.time()), resources=[{"id": 1}])
    assert start(security_time=60) - start(security_time=10) == 50


@pytest.fixture(params=["commands", "rest"])
def where(request, endpoint):
    """Return an endpoint by each transport, its jobs, and a function that lets a submission or a query fail."""
    if request.param == "commands":
        oar = request.getfixturevalue("oar")
        return (
            lambda **table: endpoint(timeout=0.6, **table),
            lambda: [(job["Job_Id"], job["name"], job["state"]) for job in oar.jobs],
            lambda *faults: oar.fail("oarsub", *faults),
            lambda *faults: oar.fail("oarstat", *faults),
        )
    api = request.getfixturevalue("api")
    names = {"die": "cut", "then-die": "then-cut", "then-half": "then-500", "database": "500", "error": "500"}
    return (
        lambda **table: endpoint(url=api.url, timeout=0.4, **table),
        lambda: [(job["id"], job["name"], job["state"]) for job in api.jobs],
        lambda *faults: api.fail("POST", *(names.get(fault, fault) for fault in faults)),
        lambda *faults: api.fail("GET", *(names.get(fault, fault) for fault in faults)),
    )


def test_a_job_is_submitted_once_for_each_key(where):
    make, jobs, _, _ = where
    made = make()
    first = made.submit(REQUEST, JOB, "k")
    assert (first["name"], first["state"], first["walltime"], first["promise"]) == ("ocean", "queued", 300, None)
    assert made.submit(Request(4, 60), JOB, "k")["id"] == first["id"]
    assert make().submit(REQUEST, JOB, "k")["id"] == first["id"]
    assert made.submit(REQUEST, JOB, "other")["id"] != first["id"]
    assert made.submit(REQUEST, JOB)["id"] != first["id"]
    assert len(jobs()) == 3
    assert not made.in_doubt("k")
    assert made.job_by_key("k")["id"] == first["id"]
    assert made.job_by_key("none") is None


def test_a_key_of_a_job_of_another_name_is_refused_as_far_as_oar_keeps_it(where):
    make, jobs, _, _ = where
    agent = Agent(Application(Table.of({2: 600.0}), name="n" * 300), [make()])
    first = agent.submit(["./lu"], key="k").job
    assert agent.submit(["./lu"], key="k").job["id"] == first["id"]
    with pytest.raises(Conflict, match=f"--key k: belongs to job {first['id']} \\(nnn"):
        agent.submit(JOB, key="k")
    assert len(jobs()) == 1


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("fault", ["then-die", "then-half", "then-hang"])
def test_a_job_that_was_made_without_an_answer_is_found_by_its_tag(where, fault):
    make, jobs, submissions, _ = where
    made = make()
    submissions(fault)
    job = made.submit(REQUEST, JOB, "k")
    assert [(job["id"], f"ocean.{tag_of('k')}", "Waiting")] == jobs()
    assert "checking whether the job exists" in made.told[0]
    assert not made.in_doubt("k")
    assert make().submit(REQUEST, JOB, "k")["id"] == job["id"]


def test_a_submission_that_got_no_answer_and_made_no_job_is_in_doubt(where):
    make, jobs, submissions, _ = where
    made = make()
    submissions("hang")
    with pytest.raises(InDoubt, match="may have arrived") as raised:
        made.submit(REQUEST, JOB, "k")
    assert raised.value.key == "k"
    assert made.in_doubt("k")
    assert jobs() == []
    job = made.submit(REQUEST, JOB, "k")  # a repeated submission looks for the job, and submits it if it is missing
    assert len(jobs()) == 1
    assert not made.in_doubt("k")
    assert made.job_by_key("k")["id"] == job["id"]


def test_what_became_of_it_is_not_known_while_nobody_answers(oar, endpoint):
    made = endpoint(timeout=0.6)
    oar.fail("oarsub", "then-hang")
    oar.fail("oarstat", *["error"] * 20)
    with pytest.raises(InDoubt, match="and the scheduler cannot be queried: oar: oarstat: .*something is wrong"):
        made.submit(REQUEST, JOB)
    assert len(oar.jobs) == 1


def test_nothing_is_sent_with_a_key_that_cannot_be_looked_for(oar, endpoint):
    made = endpoint()
    oar.fail("oarstat", "error")
    with pytest.raises(Unreachable, match="something is wrong"):
        made.submit(REQUEST, JOB, "k")
    assert oar.jobs == []
    assert not made.in_doubt("k")


def test_oarsub_that_has_ended_without_a_job_has_submitted_nothing(oar, endpoint):
    made = endpoint()
    oar.fail("oarsub", "die")
    with pytest.raises(Unreachable, match="killed by signal 9; nothing was submitted"):
        made.submit(REQUEST, JOB, "k")
    assert not made.in_doubt("k")
    assert oar.jobs == []


@pytest.mark.parametrize("fault", ["refuse", "error"])
def test_a_refusal_is_bad_input_and_leaves_no_doubt(oar, endpoint, fault):
    made = endpoint()
    oar.fail("oarsub", fault)
    with pytest.raises(BadInput, match="oarsub refuses") as raised:
        made.submit(REQUEST, JOB, "k")
    assert outcome_of(raised.value).exit_code == 2
    assert not made.in_doubt("k")


def test_an_error_after_the_job_was_written_is_not_a_refusal(oar, endpoint):
    """For example, a database that becomes unavailable while oarsub prints."""
    made = endpoint()
    oar.fail("oarsub", "then-error")
    job = made.submit(REQUEST, JOB, "k")
    assert [one["Job_Id"] for one in oar.jobs] == [job["id"]]
    assert "but the job exists" in made.told[0]


def test_an_error_that_comes_with_a_number_is_none_if_the_job_is_there(oar, endpoint):
    """The message is "Job is killed" if OAR's server could not be notified; but the job is not killed."""
    made = endpoint()
    oar.fail("oarsub", "then-signal")
    job = made.submit(REQUEST, JOB, "k")
    assert job["id"] == oar.jobs[0]["Job_Id"]
    assert "Cannot connect to executor" in made.told[0]
    assert made.submit(REQUEST, JOB, "k")["id"] == job["id"]
    assert len(oar.jobs) == 1


def test_a_job_that_comes_with_an_error_and_has_ended_is_a_refusal(api, endpoint):
    def answer(api):
        api.add(state="Error")
        return 500, {"message": "Oarsub command exited with status 9: OAR_JOB_ID=1\n[ERROR] it failed"}

    made = endpoint(url=api.url)
    api.fail("POST", answer)
    with pytest.raises(BadInput, match="it failed; no part of the job will run"):
        made.submit(REQUEST, JOB)


def test_a_second_job_that_arrives_late_is_cancelled(oar, endpoint):
    """The first oarsub times out, continues after the second, and is detected at the next look."""
    made = endpoint(timeout=0.3, patience=0)
    oar.fail("oarsub", "late")
    with pytest.raises(InDoubt):
        made.submit(REQUEST, JOB, "k")
    deadline = time.monotonic() + 10
    while not oar.jobs and time.monotonic() < deadline:
        time.sleep(0.05)
    late = oar.jobs[0]["Job_Id"]
    assert made.submit(REQUEST, JOB, "k")["id"] == late
    assert len(oar.jobs) == 1


def test_of_two_jobs_of_one_key_the_one_that_waits_behind_is_cancelled(oar, endpoint):
    made = endpoint()
    made._doubtful.add("k")
    tag = tag_of("k")

    def arrive(batch):  # the earlier submission arrives during this one
        oar.put(Job_Id=1, name=f"ocean.{tag}")
        return submit(batch)

    submit = made.transport.submit
    made.transport.submit = arrive
    job = made.submit(REQUEST, JOB, "k")
    assert job["id"] == 1
    assert [(one["Job_Id"], one["state"]) for one in oar.jobs] == [(1, "Waiting"), (2, "Error")]
    assert "is a second job with the key k" in made.told[0]


@pytest.mark.process
def test_where_nothing_can_be_sent_nothing_was_submitted(endpoint, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    made = endpoint()
    with pytest.raises(Unreachable, match="no oarsub here.*nothing was submitted"):
        made.submit(REQUEST, JOB)
    assert not made._doubtful


FAULTS = ["", "", "cut", "then-cut", "500", "then-500", "refuse", "made"]


def _refuse(api):
    return 400, {"message": "Oarsub command exited with status 8: OAR_JOB_ID=-5\nThere are not enough resources"}


def _made(api):
    method, _, body = api.asked[-1]
    _, content = api.handle(method, "/oarapi/jobs.json", body)
    return 500, {"message": f"Oarsub command exited with status 9: OAR_JOB_ID={content['id']}\n[ERROR] no executor"}


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(FAULTS), min_size=1, max_size=4), st.lists(st.sampled_from(["", "cut", "500"])))
def test_whatever_fails_there_is_at_most_one_job_of_a_key(api, endpoint, posts, gets):
    """For any number of submissions and failing queries; and the statements about it are true."""
    api.jobs, api.faults = [], []
    api.fail("POST", *({"refuse": _refuse, "made": _made}.get(fault, fault) for fault in posts))
    api.fail("GET", "", *gets)
    made = endpoint(url=api.url, patience=0)
    for _ in range(len(posts) + len(gets) + 2):
        try:
            job = made.submit(REQUEST, JOB, "k")
            assert [one["id"] for one in api.jobs] == [job["id"]]
            assert not made.in_doubt("k")
        except InDoubt:
            assert made.in_doubt("k")
        except GasError as problem:
            untrue = api.jobs and "nothing was submitted" in str(problem)
            assert not untrue
        assert len(api.jobs) <= 1
    assert len(api.jobs) == 1


# ---------------------------------------------------------------------------------------------------- afterwards


def test_jobs_are_those_there_are_after_the_latest_that_have_ended(where):
    make, _, _, _ = where
    made = make()
    for name in ("a", "b", "c"):
        made.submit(REQUEST, JobDescription(name, ("true",)), name)
    made.cancel(1)
    made.cancel(2)
    assert [job["name"] for job in made.jobs(0)] == ["c"]
    assert [(job["name"], job["state"]) for job in made.jobs(1)] == [("b", "cancelled"), ("c", "queued")]
    assert [job["id"] for job in made.jobs(5)] == [1, 2, 3]


def test_a_job_is_cancelled_and_one_that_has_ended_stays_as_it_is(where):
    make, _, _, _ = where
    made = make()
    id = made.submit(REQUEST, JOB, "k")["id"]
    assert made.cancel(id)["state"] == "cancelled"
    assert made.cancel(id)["state"] == "cancelled"
    with pytest.raises(NotFound, match="no job 99"):
        made.cancel(99)


def test_a_job_that_takes_its_time_to_end_is_said_to_be_cancelled(oar, endpoint):
    made = endpoint()
    id = made.submit(REQUEST, JOB, "k")["id"]
    (oar.folder / "bin" / "oardel").unlink()
    (oar.folder / "bin" / "oardel").write_text("#!/bin/sh\n")
    (oar.folder / "bin" / "oardel").chmod(0o755)
    oar.put(Job_Id=id, state="Running", events=[{"type": "FRAG_JOB_REQUEST", "date": 5}])
    assert made.cancel(id)["message"] == "being cancelled"


def test_output_is_read_from_the_file_that_oar_names(oar, endpoint):
    made = endpoint()
    id = made.submit(REQUEST, JOB, "k")["id"]
    with pytest.raises(NotFound, match=r"OAR\.1\.stdout: is not on this machine \(job 1 is Waiting\)"):
        made.output(id)
    (oar.folder / "OAR.1.stdout").write_bytes(b"0123456789")
    assert made.output(id) == b"0123456789"
    assert made.output(id, "stdout", 4) == b"6789"
    (oar.folder / "OAR.1.stderr").mkdir()
    with pytest.raises(Forbidden, match="cannot be read"):
        made.output(id, "stderr")


def test_reservations_are_left_to_oarsub(endpoint):
    with pytest.raises(BadInput, match="oarsub -r"):
        endpoint().reserve("x", 1, 5, 10)


def test_all_shapes_reach_oar_where_it_decides(where):
    make, _, _, _ = where
    made = make(moldable=True)
    job = made.submit(Request(16, 480, alternatives=((32, 300), (8, 900))), JOB, "k")
    shapes = made.transport.job(job["id"]).wanted
    assert [(dict(one.levels)["resource_id"], one.walltime) for one in shapes] == [(16, 480), (32, 300), (8, 900)]
