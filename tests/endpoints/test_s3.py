import json

import pytest
from faulty_proxy import Proxy

from gas import AvailabilityList
from gas.endpoints import JobDescription, JobEndpoint, Request, ReshapingEndpoint, S3Endpoint
from gas.errors import (
    BadInput,
    Conflict,
    NotFound,
    StalePlan,
    TooMany,
    Unauthorized,
    Unreachable,
)

JOB = json.dumps({"id": 7, "state": "queued", "processors": 1, "walltime": 2, "promise": 3}).encode()


def refusal(kind, status):
    return status, json.dumps({"error": {"kind": kind.__name__, "message": "so it is"}}).encode()


ONE = Request(1, 2), JobDescription("a", run_time=1)


def test_it_is_an_endpoint_that_takes_jobs():
    assert isinstance(S3Endpoint("kth", "http://127.0.0.1:1"), JobEndpoint)


def test_everything_a_job_goes_through(s3):
    endpoint = S3Endpoint("kth", s3.url)
    list_before = endpoint.availability()
    assert (list_before.kind, list_before.processors) == ("promise", 10)
    job = endpoint.submit(Request(10, 60), JobDescription("a", ("sleep", "60")))
    assert job["promise"] == list_before.now
    waiting = endpoint.submit(Request(1, 5, start_by=job["due"]), JobDescription("b", run_time=5))
    assert waiting["promise"] == job["due"]
    with pytest.raises(StalePlan, match="plan again"):
        endpoint.submit(Request(10, 5, start_by=job["promise"]), JobDescription("c", run_time=5))
    assert [j["id"] for j in endpoint.jobs(0)] == [job["id"], waiting["id"]]
    assert endpoint.output(job["id"]) == b""
    assert endpoint.cancel(waiting["id"])["state"] == "cancelled"
    assert endpoint.job(waiting["id"])["state"] == "cancelled"
    assert endpoint.reserve("r", 2, list_before.now + 5000, 10)["state"] == "reserved"
    with pytest.raises(NotFound, match="kth: there is no job 99"):
        endpoint.job(99)
    with pytest.raises(BadInput, match="the machine has 10"):
        endpoint.submit(Request(11, 5), JobDescription("d", run_time=5))
    with pytest.raises(Conflict, match="no output"):
        endpoint.output(waiting["id"])


def test_a_job_is_found_by_its_key(s3):
    endpoint = S3Endpoint("kth", s3.url)
    assert endpoint.job_by_key("k") is None
    made = endpoint.submit(*ONE, "k")
    assert endpoint.submit(*ONE, "k")["id"] == endpoint.job_by_key("k")["id"] == made["id"]
    reserved = endpoint.reserve("r", 1, made["submitted"] + 5000, 10, "r")
    assert endpoint.job_by_key("r")["id"] == reserved["id"]


def test_a_service_that_knows_no_keys_is_no_proof_of_a_job(scripted):
    scripted.answers = [(200, b'{"jobs": [%s, %s]}' % (JOB, JOB))]
    with pytest.raises(Unreachable, match="returned 2 jobs for one key"):
        S3Endpoint("x", scripted.url).job_by_key("k")


def test_the_machine_is_shown_and_changed(s3):
    endpoint = S3Endpoint("kth", s3.url)
    assert (endpoint.machine()["processors"], endpoint.machine()["accepting"]) == (10, True)
    changed = endpoint.change_machine(processors=7)
    assert (changed["processors"], changed["accepting"], changed["broken"]) == (7, True, [])
    assert endpoint.change_machine(accepting=False)["accepting"] is False


def test_a_change_of_the_machine_is_not_repeated_once_it_may_have_got_through(scripted):
    scripted.answers = [("cut", b"")] * 3
    with pytest.raises(Unreachable, match="may have been changed: check with gas machine"):
        S3Endpoint("x", scripted.url).change_machine(processors=7)
    assert len(scripted.asked) == 1, "the second answer would name no broken promise"


# ---------------------------------------------------------------------------------------------------------- events


def first_events(endpoint, number):
    """The first events of a stream, and the stream."""
    stream = endpoint.events()
    return [next(stream) for _ in range(number)], stream


def test_events_tell_what_becomes_of_jobs(s3):
    [start], stream = first_events(S3Endpoint("x", s3.url), 1)
    assert (start.kind, start.data["processors"], start.data["queued"]) == ("machine", 10, 0)
    job = s3.simulated(2, 3600)
    event = next(stream)
    assert (event.kind, event.data["id"], event.data["mine"]) == ("job", job["id"], True)
    s3.delete(f"/v1/jobs/{job['id']}")
    for event in stream:
        if event.kind == "job" and event.data["state"] == "cancelled":
            break
    stream.close()


def test_a_stream_that_is_lost_goes_on_where_it_ended(s3):
    with Proxy(s3.url) as proxy:
        endpoint, told = S3Endpoint("x", proxy.url), []
        endpoint.tell = told.append
        _, stream = first_events(endpoint, 1)
        first = s3.simulated(1, 3600)
        seen = [next(stream), next(stream)]
        proxy.cut_streams()
        second = s3.simulated(1, 3600)
        while seen[-1].kind != "job" or seen[-1].data["id"] != second["id"]:
            seen.append(next(stream))
        stream.close()
    assert {e.data["id"] for e in seen if e.kind == "job"} == {first["id"], second["id"]}
    assert "reset" not in [e.kind for e in seen]
    assert len(told) == 1


def test_a_service_of_another_life_says_that_events_were_missed(start_s3, tmp_path):
    first = start_s3(4, state=tmp_path / "a")
    with Proxy(first.url) as proxy:
        _, stream = first_events(S3Endpoint("x", proxy.url), 1)
        proxy.upstream = start_s3(8, state=tmp_path / "b").url
        proxy.cut_streams()
        kinds = [next(stream).kind for _ in range(3)]
        assert "reset" in kinds
        stream.close()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((200, b"{}", {"Content-Type": "application/json"}), Unreachable),
        ((404, b"nothing"), Unreachable),
        (refusal(Unauthorized, 401), Unauthorized),
        (refusal(TooMany, 429), TooMany),
        ((200, b"data: x\n\n", {"Content-Type": "text/event-stream"}), Unreachable),
        (("cut", b""), Unreachable),
    ],
)
def test_what_is_no_stream_of_events(scripted, answer, kind):
    scripted.answers = [answer] * 5
    with pytest.raises(kind):
        next(S3Endpoint("x", scripted.url).events())


def test_a_stream_that_is_not_chunked_is_read_as_it_comes(scripted):
    text = b'event: machine\ndata: {"now": 1}\n\n'
    scripted.answers = [(200, text, {"Content-Type": "text/event-stream; charset=utf-8"})]
    assert next(S3Endpoint("x", scripted.url).events()).data == {"now": 1}


@pytest.mark.parametrize("url", ["", "kth", "ftp://x", "http://", "http://x:99999", "http://x:port", "http://[::1"])
def test_an_address_that_is_none(url):
    with pytest.raises(BadInput, match="is not the address of a service"):
        S3Endpoint("x", url)


def test_a_proxy_is_not_asked_for_services_of_this_machine(s3, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert S3Endpoint("x", s3.url).availability().processors == 10


def test_the_command_is_told_its_size():
    job = JobDescription("a", ("mpirun", "-n", "{processors}", "--time={walltime}", "{{other}}"), {"X": "1"})
    sized = job.sized(16, 60)
    assert sized.command == ("mpirun", "-n", "16", "--time=60", "{other}")
    assert sized.environment == {
        "X": "1", "GAS_PROCESSORS": "16", "GAS_TASKS": "16", "GAS_CPUS_PER_TASK": "1", "GAS_WALLTIME": "60",
    }  # fmt: skip


LIST = json.dumps(AvailabilityList.of([0], [4], scheduler="kth").to_wire()).encode()


@pytest.mark.parametrize("age", [{}, {"Age": "0"}, {"Age": "60"}, {"Age": "soon"}])
def test_a_list_is_of_the_present_minute(scripted, age):
    scripted.answers = [(200, LIST, age)]
    assert S3Endpoint("kth", scripted.url).availability().processors == 4
    assert scripted.headers[0]["Cache-Control"] == "no-cache"


def test_one_that_something_in_between_has_kept_for_longer_is_refused(scripted):
    scripted.answers = [(200, LIST, {"Age": "600"})]
    with pytest.raises(Unreachable, match="answered with a list that is 10m00s old"):
        S3Endpoint("kth", scripted.url).availability()


def test_what_it_cannot_do_is_said_as_for_any_other_endpoint():
    kth = S3Endpoint("kth", "http://127.0.0.1:1")
    with pytest.raises(BadInput, match="kth: is not a Slurm scheduler; gas status 7 says when the job starts"):
        kth.why(7)
    assert (kth.line(None, "x"), kth.preview(None, None), kth.choices(), kth.target) == (None, None, (), kth.address)


def test_a_waiting_job_is_seen_beside_the_plans_of_others_and_given_another_shape(s3):
    endpoint = S3Endpoint("kth", s3.url)
    assert isinstance(endpoint, ReshapingEndpoint)
    first, waiting = s3.simulated(8, 3600), s3.simulated(10, 3600)
    seen = endpoint.standing(waiting["id"])
    assert (seen.job["expected"], seen.version) == (waiting["promise"], seen.availability.version)
    assert [frame.free for frame in seen.availability.frames][-2:] == [2, 10]
    latest = first["promise"] + 60  # free processors stay free, and the machine may be busy
    with pytest.raises(StalePlan, match="kth: job 2: the first slot"):
        endpoint.reshape(waiting["id"], 10, 60, start_by=latest)
    job = endpoint.reshape(waiting["id"], 2, 60, start_by=latest)
    assert (job["id"], job["processors"], job["walltime"]) == (2, 2, 60)
    assert first["promise"] <= job["promise"] <= latest
    s3.until(first["id"], "running")
    seen = endpoint.standing(first["id"])
    assert (seen.job["state"], seen.availability) == ("running", None)
    with pytest.raises(Conflict, match="only waiting jobs"):
        endpoint.reshape(first["id"], 1, 60)
    with pytest.raises(NotFound, match="no job 99"):
        endpoint.standing(99)


def test_a_change_of_shape_whose_answer_is_lost_is_repeated_with_its_key(scripted):
    scripted.answers = [("cut", b""), (503, b"{}"), (200, JOB)]
    assert S3Endpoint("x", scripted.url).reshape(7, 1, 2)["id"] == 7
    assert {(method, path) for method, path, _ in scripted.asked} == {("PATCH", "/v1/jobs/7")}
    assert len({body["key"] for _, _, body in scripted.asked}) == 1
    scripted.answers = [("cut", b"")] * 9
    with pytest.raises(Unreachable, match="job 7 may have been changed: check with gas status 7"):
        S3Endpoint("x", scripted.url).reshape(7, 1, 2)
    with pytest.raises(Unreachable, match="cannot be reached"):
        S3Endpoint("x", "http://127.0.0.1:9").reshape(7, 1, 2)


@pytest.mark.parametrize(
    ("job", "sent"),
    [
        (JobDescription("a", ("run", "{processors}", "{{x}}")).sized(8, 60), ["run", "{processors}", "{{x}}"]),
        (JobDescription("a", ("run", "8")).sized(8, 60), None),
        (JobDescription("a", ("run", "{gpus}")).sized(8, 60, {"gpus": 2, "processors": 8}), None),
        (JobDescription("a", ("run", "{processors}")), None),
    ],
)
def test_placeholders_are_left_to_the_service_where_it_knows_them(scripted, job, sent):
    scripted.answers = [(201, JOB)]
    S3Endpoint("x", scripted.url).submit(Request(8, 60), job)
    actuator = scripted.asked[0][2]["actuator"]
    assert actuator["command"] == (list(job.command) if sent is None else sent)
    assert actuator.get("cpus_per_task") == (None if sent is None else 1)


def test_an_answer_to_an_offer_that_is_lost_is_repeated_with_its_key(scripted):
    scripted.answers = [("cut", b""), (200, JOB)]
    assert S3Endpoint("x", scripted.url).answer(7, accepts=True, start=9)["id"] == 7
    assert {(method, path) for method, path, _ in scripted.asked} == {("POST", "/v1/jobs/7/offer")}
    first, second = (body for _, _, body in scripted.asked)
    assert first == second
    assert first == {"answer": "accept", "start": 9, "not_before": None, "key": first["key"]}
