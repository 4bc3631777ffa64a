"""Which schedulers are used, planning with them, and time-outs."""

import json

import pytest

from gas import Application, AvailabilityList, BadInput, Infeasible, Unreachable
from gas.endpoints import JobDescription, Request
from gas.errors import TooMany
from gas.workflows import scheduling
from gas.workflows.scheduling import job_endpoint, job_of, patiently, plan_now, submit_once

AWAY = "http://127.0.0.1:9"


@pytest.fixture
def application():
    tables = {"speedup": {"model": "amdahl", "sequential_time": 100, "serial_fraction": 0.1}}
    return Application.from_tables(tables, "here", name="app")


@pytest.fixture
def configured(tmp_path, monkeypatch):
    def write(**urls):
        text = "".join(
            f'[endpoints.{n}]\ntype = "s3"\nurl = "{u}"\npatience = 0\nretries = 0\n' for n, u in urls.items()
        )
        (tmp_path / "gas.toml").write_text(text)
        monkeypatch.setenv("GAS_CONFIG", str(tmp_path / "gas.toml"))

    monkeypatch.delenv("GAS_ENDPOINT", raising=False)
    monkeypatch.chdir(tmp_path)
    return write


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    pauses = []
    monkeypatch.setattr(scheduling.time, "sleep", pauses.append)
    return pauses


@pytest.mark.process
def test_the_one_named_the_one_of_the_environment_or_the_only_one(configured, monkeypatch):
    with pytest.raises(BadInput, match="which scheduler"):
        job_endpoint()
    configured(kth=AWAY)
    assert job_endpoint().name == "kth"
    configured(kth=AWAY, ctc=AWAY)
    with pytest.raises(BadInput, match=r"which scheduler.*kth, ctc"):
        job_endpoint()
    monkeypatch.setenv("GAS_ENDPOINT", "ctc")
    assert job_endpoint().name == "ctc"
    assert job_endpoint("http://127.0.0.1:9/").address == AWAY
    with pytest.raises(BadInput, match="there is no endpoint"):
        job_endpoint("sdsc")


def test_a_job_without_a_scheduler_is_the_environments(configured, monkeypatch):
    configured(kth=AWAY, ctc=AWAY)
    monkeypatch.setenv("GAS_ENDPOINT", "ctc")
    assert [(e.name, n) for e, n in map(job_of, ("12", "kth:3"))] == [("ctc", 12), ("kth", 3)]
    with pytest.raises(BadInput, match="is not a job"):
        job_of("kth:x")


def test_the_plan_names_the_scheduler_as_one_names_it(start_s3, application, configured):
    small, large = start_s3(2, name="small"), start_s3(8, name="large")
    assert plan_now(application, [small.url, large.url]).endpoint == large.url
    configured(a=small.url, b=large.url)
    found = plan_now(application)
    assert (found.endpoint, found.candidate.processors) == ("b", 8)


def test_schedulers_that_do_not_answer_are_left_out_as_long_as_one_does(start_s3, application, configured):
    configured(away=AWAY, here=start_s3(4).url)
    assert plan_now(application).endpoint == "here"
    configured(away=AWAY)
    with pytest.raises(Unreachable, match="app: no scheduler answered: away"):
        plan_now(application)


def test_constraints_are_the_planners(start_s3, application):
    s3 = start_s3(8)
    assert plan_now(application, [s3.url], max_processor_hours=120 / 3600).candidate.processors < 8
    with pytest.raises(Infeasible, match="app: no request is possible"):
        plan_now(application, [s3.url], deadline=0)


def test_one_waits_for_an_answer_as_long_as_patience_lasts(no_pause):
    answers = [Unreachable("away"), TooMany("slowly", retry_after=7.0), "yes"]

    def call():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert patiently(call) == "yes"
    assert no_pause == [1.0, 7.0]
    answers += [Unreachable("away"), "yes"]
    with pytest.raises(Unreachable):
        patiently(call, patience=0)
    answers[:] = [BadInput("never"), "yes"]
    with pytest.raises(BadInput):
        patiently(call)


def test_one_key_is_one_job(start_s3):
    s3 = start_s3(4)
    submitted = [
        submit_once(job_endpoint(s3.url), Request(2, 60), JobDescription("x", run_time=30), "one-key") for _ in range(3)
    ]
    assert len({job["id"] for job in submitted}) == 1 == len(s3.get("/v1/jobs").json()["jobs"])


def test_a_list_of_another_hour_is_not_planned_with_unless_that_is_meant(application, tmp_path, monkeypatch):
    (tmp_path / "list.json").write_text(json.dumps(AvailabilityList.of([0], [40], scheduler="disk").to_wire()))
    (tmp_path / "gas.toml").write_text(f'[endpoints.disk]\ntype = "file"\npath = "{tmp_path / "list.json"}"\n')
    monkeypatch.setenv("GAS_CONFIG", str(tmp_path / "gas.toml"))
    with pytest.raises(Unreachable, match=r"disk: as of 1970-01-01.*behind this machine's clock"):
        plan_now(application, ["disk"])
    assert plan_now(application, ["disk"], stale_ok=True).endpoint == "disk"
