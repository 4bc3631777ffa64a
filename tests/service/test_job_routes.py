"""Jobs and reservations over HTTP: submitted, changed, cancelled, run; refusals name the field."""

import json
import time

import pytest
import requests


def wait_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return value


def ended(s3, id):
    return wait_for(lambda: (job := s3.job(id))["finished"] and job)


def test_submitting_answers_at_once_with_the_promised_start(s3):
    first = s3.simulated(10, 3600)
    second = s3.simulated(4, 100)
    assert (first["state"], second["state"]) == ("queued", "queued")
    assert first["promise"] == first["submitted"] + 1, "the next second, so that it has its whole walltime"
    assert second["promise"] == first["promise"] + 3600
    assert second["start"] is None
    assert second["promise_iso"].endswith("Z")


def test_start_by_refuses_with_412_and_the_new_list(s3):
    running = s3.simulated(10, 3600)
    actuator = {"kind": "simulated", "run_time": 1}
    body = {"processors": 1, "walltime": 10, "start_by": running["promise"] + 3599, "actuator": actuator}
    answer = s3.post("/v1/jobs", body)
    assert answer.status_code == 412
    assert min(frame["free"] for frame in answer.json()["availability"]["frames"]) == 0
    assert "plan again" in answer.json()["error"]["message"]
    assert len(s3.get("/v1/jobs").json()["jobs"]) == 1
    body["start_by"] += 1
    assert s3.post("/v1/jobs", body).status_code == 201


def test_a_process_runs_and_its_status_and_output_are_kept(s3):
    job = s3.process(
        2, 60, "sh", "-c", "echo $GAS_PROCESSORS $GAS_JOB_ID $X; echo oops >&2; exit 3", environment={"X": "é"}
    )
    done = ended(s3, job["id"])
    assert (done["state"], done["exit_status"], done["signal"]) == ("failed", 3, None)
    assert s3.get(f"/v1/jobs/{job['id']}/output").content.decode() == f"2 {job['id']} é\n"
    assert s3.get(f"/v1/jobs/{job['id']}/output?stream=stderr").content == b"oops\n"


def test_an_early_end_starts_the_next_job_before_its_promise(s3):
    s3.process(10, 3600, "true")
    second = s3.process(10, 3600, "true")
    assert ended(s3, second["id"])["finished"] < second["promise"]


def test_a_process_is_killed_at_its_walltime(s3):
    job = s3.process(1, 1, "sleep", "60")
    done = ended(s3, job["id"])
    assert done["state"] == "timeout"
    assert done["finished"] <= done["start"] + 1


def test_a_command_that_cannot_start_fails_and_says_why(s3):
    done = ended(s3, s3.process(1, 60, "/no/such/command")["id"])
    assert done["state"] == "failed"
    assert "/no/such/command" in done["message"]


def test_cancelling_ends_a_running_process_and_frees_its_processors(s3):
    job = s3.process(10, 3600, "sleep", "600")
    waiting = s3.simulated(10, 60)
    assert s3.delete(f"/v1/jobs/{job['id']}").status_code == 200
    assert ended(s3, job["id"])["state"] == "cancelled"
    assert wait_for(lambda: s3.job(waiting["id"])["state"] == "running")


def test_cancelling_is_repeatable_and_of_a_waiting_job_immediate(s3):
    s3.simulated(10, 3600)
    job = s3.simulated(10, 60)
    for _ in range(2):
        answer = s3.delete(f"/v1/jobs/{job['id']}")
        assert (answer.status_code, answer.json()["state"], answer.json()["start"]) == (200, "cancelled", None)


def test_a_reservation_holds_its_span_and_jobs_flow_around_it(s3):
    now = s3.get("/v1/availability").json()["now"]
    body = {"processors": 10, "start": now + 100, "walltime": 50}
    reserved = s3.post("/v1/reservations", body)
    assert reserved.status_code == 201
    assert reserved.json()["state"] == "reserved"
    assert s3.simulated(1, 3600)["promise"] >= now + 150
    clash = s3.post("/v1/reservations", {**body, "start": now + 120})
    assert clash.status_code == 412
    assert s3.delete(f"/v1/jobs/{reserved.json()['id']}").json()["state"] == "cancelled"


def test_the_same_key_returns_the_same_job(s3):
    body = {"processors": 1, "walltime": 60, "actuator": {"kind": "simulated", "run_time": 60}, "key": "abc"}
    first, second = s3.post("/v1/jobs", body), s3.post("/v1/jobs", body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    other = s3.post("/v1/jobs", {**body, "walltime": 61})
    assert other.status_code == 409
    assert "abc" in other.json()["error"]["message"]


def test_jobs_are_listed_in_submission_order_after_those_that_ended(s3):
    done = s3.simulated(1, 5, 0)
    ended(s3, done["id"])
    running, waiting = s3.simulated(10, 3600), s3.simulated(10, 60)
    assert [j["id"] for j in s3.get("/v1/jobs").json()["jobs"]] == [running["id"], waiting["id"]]
    assert [j["id"] for j in s3.get("/v1/jobs?ended=5").json()["jobs"]] == [done["id"], running["id"], waiting["id"]]


SIMULATED = {"kind": "simulated", "run_time": 1}
GOOD = {"processors": 1, "walltime": 5, "actuator": SIMULATED}


BAD_BODIES = [
    ("", "body"),
    ("[", "not JSON"),
    ("3", "body: 3"),
    ("null", "body"),
    ("{}", "body.processors: is missing"),
    (b"\xff\xfe{", "body"),
    ("[" * 100_000, "body"),
    ('{"processors": NaN}', "body.processors: nan"),
    ({**GOOD, "processors": 10**30}, "body.processors: 1000"),
    ('{"processors": ' + "9" * 5000 + "}", "body"),
    ({**GOOD, "processors": 11}, "the machine has 10"),
    ({**GOOD, "processors": 0}, "body.processors: 0"),
    ({**GOOD, "processors": -5}, "body.processors: -5"),
    ({**GOOD, "processors": "1"}, "body.processors: '1'"),
    ({**GOOD, "processors": 1.5}, "body.processors: 1.5"),
    ({**GOOD, "processors": True}, "body.processors: True"),
    ({**GOOD, "walltime": 0}, "body.walltime: 0"),
    ({**GOOD, "walltime": -1}, "body.walltime: -1"),
    ({**GOOD, "walltime": 2**63}, "body.walltime: 9223372036854775808"),
    ({**GOOD, "start_by": -1}, "body.start_by: -1"),
    ({**GOOD, "start_by": 2**60}, "body.start_by: 1152921504606846976"),
    ({**GOOD, "wall_time": 5}, 'did you mean "walltime"'),
    ({**GOOD, "clas": "low"}, 'did you mean "class"'),
    ({**GOOD, "job_class": "low"}, 'did you mean "class"'),
    ({"procesors": 1, "walltime": 5, "actuator": SIMULATED}, 'did you mean "processors"'),
    ("[]", "must be a JSON object"),
    ('{"processors": 1, "walltime": 5, "walltime": 6}', "the key 'walltime' occurs twice"),
    ('{"processors": 1, "actuator": {"kind": "simulated", "kind": "process"}}', "the key 'kind' occurs twice"),
    ({**GOOD, "name": ""}, "body.name"),
    ({**GOOD, "name": "a\nb"}, "body.name"),
    ({**GOOD, "key": "with space"}, "body.key"),
    ({**GOOD, "actuator": {}}, "body.actuator: has no kind"),
    ({**GOOD, "actuator": {"kind": "magic"}}, "neither process nor simulated"),
    ({**GOOD, "actuator": {**SIMULATED, "runtime": 1}}, 'did you mean "run_time"'),
    ({**GOOD, "actuator": {"kind": "simulated", "run_time": -1}}, "body.actuator.run_time: -1"),
    ({**GOOD, "actuator": {"kind": "process", "command": []}}, "body.actuator.command"),
    ({**GOOD, "actuator": {"kind": "process", "command": "ls -l"}}, "body.actuator.command"),
    ({**GOOD, "actuator": {"kind": "process", "command": ["a\0b"]}}, "body.actuator.command"),
    ({**GOOD, "actuator": {"kind": "process", "command": ["a"], "directory": "relative"}}, "body.actuator.directory"),
    ({**GOOD, "actuator": {"kind": "process", "command": ["a"], "environment": {"A=B": "1"}}}, "environment"),
]


@pytest.mark.parametrize(("body", "problem"), BAD_BODIES)
def test_a_bad_body_is_refused_with_the_place_and_changes_nothing(idle, body, problem):
    data = body if isinstance(body, (str, bytes)) else json.dumps(body)
    answer = requests.post(idle + "/v1/jobs", data=data, headers={"Content-Type": "application/json"}, timeout=30)
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert problem in message
    assert "\n" not in message
    assert requests.get(idle + "/v1/jobs?ended=10", timeout=30).json()["jobs"] == []


@pytest.mark.parametrize(
    ("start", "status"), [(-1, 422), (5, 422), (2**53, 422), (2**53 - 1, 422), ("soon", 422), (None, 422)]
)
def test_a_bad_reservation_is_refused(idle, start, status):
    body = {"processors": 1, "start": start, "walltime": 5}
    answer = requests.post(idle + "/v1/reservations", json=body, timeout=30)
    assert answer.status_code == status
    assert "start" in answer.json()["error"]["message"]


def patch(url, id, body):
    return requests.patch(f"{url}/v1/jobs/{id}", json=body, timeout=30)


def test_a_waiting_job_is_given_another_shape_and_the_schedule_a_new_version(s3):
    running = s3.simulated(8, 3600)
    waiting = s3.simulated(10, 3600, 1800)
    tag = s3.get("/v1/availability").headers["ETag"]
    without = s3.get(f"/v1/availability?without={waiting['id']}").json()["frames"]
    assert [frame["free"] for frame in without][-2:] == [2, 10]
    answer = patch(s3.url, waiting["id"], {"processors": 2, "walltime": 7200, "key": "r"})
    job = answer.json()
    assert (answer.status_code, job["processors"], job["walltime"], job["run_time"]) == (200, 2, 7200, 3600)
    assert job["promise"] == job["first_promise"] < waiting["promise"]
    assert (job["id"], job["submitted"], waiting["reshaped"]) == (waiting["id"], waiting["submitted"], None)
    assert job["reshaped"] >= job["submitted"]
    assert s3.get("/v1/availability", headers={"If-None-Match": tag}).status_code == 200
    assert patch(s3.url, waiting["id"], {"processors": 2, "walltime": 7200, "key": "r"}).json()["promise"]
    assert patch(s3.url, waiting["id"], {"processors": 3, "key": "r"}).status_code == 409
    s3.until(running["id"], "running")
    refused = patch(s3.url, running["id"], {"processors": 1})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "Conflict")
    assert s3.get(f"/v1/availability?without={running['id']}").status_code == 409


def test_a_shape_that_comes_too_late_is_refused_with_what_the_job_could_have(s3):
    running = s3.simulated(10, 3600)
    waiting = s3.simulated(10, 3600)
    answer = patch(s3.url, waiting["id"], {"processors": 5, "start_by": running["promise"]})
    assert answer.status_code == 412
    assert answer.json()["availability"]["frames"][-1]["start"] == running["promise"] + 3600
    assert "nothing was changed" in answer.json()["error"]["message"]
    assert s3.job(waiting["id"])["processors"] == 10


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "body: {}: must be an object with processors or walltime"),
        ({"start_by": 5}, "processors or walltime"),
        ({"processors": "4"}, "body.processors: '4'"),
        ({"processors": 0}, "body.processors: 0"),
        ({"processors": True}, "body.processors"),
        ({"walltime": 2**63}, "body.walltime: 9223372036854775808"),
        ({"processors": 1, "wall_time": 5}, 'did you mean "walltime"'),
        ({"processors": 1, "actuator": {"kind": "simulated", "run_time": 1}}, "body.actuator: cannot be given here"),
        ({"processors": 1, "class": "low"}, "body.class: cannot be given here; leave it out"),
        ({"processors": 1, "key": "with space"}, "body.key"),
        ({"run_time": -1}, "body.run_time: -1"),
        ([], "must be a JSON object"),
        ({str(n): n for n in range(100)}, "at most 64 keys"),
    ],
)
def test_a_bad_change_of_shape_is_refused_with_the_place(idle, body, problem):
    answer = patch(idle, 1, body)
    assert answer.status_code == 422
    assert problem in answer.json()["error"]["message"]


def test_only_a_process_has_output(s3):
    job = s3.simulated(1, 60)
    answer = s3.get(f"/v1/jobs/{job['id']}/output")
    assert answer.status_code == 409
    assert "no output" in answer.json()["error"]["message"]


def held(s3, processors=4, seconds=3600, walltime=60, **more):
    """Reserve processors for a job."""
    start = s3.get("/v1/availability").json()["now"] + seconds
    body = {"processors": processors, "start": start, "walltime": walltime, "lapses": True, **more}
    answer = s3.post("/v1/reservations", body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def into(s3, reservation, run_time=5, **more):
    body = {name: reservation[name] for name in ("processors", "walltime")} | {"not_before": reservation["promise"]}
    actuator = {"kind": "simulated", "run_time": run_time}
    return s3.post("/v1/jobs", {**body, "actuator": actuator, "reservation": reservation["id"], **more})


def test_a_job_takes_the_place_of_a_reservation_once_and_moves_no_other_promise(s3):
    reservation = held(s3, 10)
    others = [s3.simulated(10, 3000), s3.simulated(10, 3000)]
    answer = into(s3, reservation, key="mine")
    assert (answer.status_code, answer.json()["state"]) == (201, "reserved")
    assert answer.json()["promise"] == reservation["promise"]
    gone = s3.job(reservation["id"])
    assert (gone["state"], gone["start"]) == ("cancelled", None)
    assert gone["message"] == f"job {answer.json()['id']} took its place"
    assert [s3.job(one["id"])["promise"] for one in others] == [one["promise"] for one in others]
    again = into(s3, reservation, key="mine")
    assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
    another = into(s3, reservation)
    assert another.status_code == 404
    assert "it may have lapsed" in another.json()["error"]["message"]


def test_a_job_that_asks_for_something_else_does_not_get_the_place_of_a_reservation(s3):
    reservation = held(s3)
    answer = into(s3, reservation, processors=5)
    assert answer.status_code == 409
    assert "reservation 1 holds 4 processors for 1m00s" in answer.json()["error"]["message"]
    job = s3.simulated(1, 10)
    assert into(s3, job).status_code == 404, "a job is no reservation"
    assert into(s3, reservation, notice=60).status_code == 422, "it is offered no other start"
    assert s3.job(reservation["id"])["state"] == "reserved"


def test_a_reservation_for_a_job_lapses_at_its_start(s3):
    reservation = held(s3, 10, seconds=1)
    waits = s3.simulated(10, 30)
    assert waits["promise"] == reservation["promise"] + 60
    gone = ended(s3, reservation["id"])
    assert (gone["state"], gone["start"], gone["finished"]) == ("cancelled", None, reservation["promise"])
    assert gone["message"] == "lapsed at its start: no job was submitted into it"
    s3.until(waits["id"], "running")
    assert s3.job(waits["id"])["start"] <= reservation["promise"] + 2


def test_a_process_in_the_place_of_a_reservation_starts_on_time(s3):
    reservation = held(s3, seconds=2)
    actuator = {"kind": "process", "command": ["sh", "-c", "echo $GAS_PROCESSORS"]}
    job = into(s3, reservation, actuator=actuator).json()
    done = ended(s3, job["id"])
    assert (done["state"], done["start"]) == ("completed", reservation["promise"])


def answer(url, id, body):
    return requests.post(f"{url}/v1/jobs/{id}/offer", json=body, timeout=30)


def test_an_offer_is_accepted_by_its_start_and_a_repeated_answer_has_no_further_effect(s3):
    first = s3.simulated(10, 600)
    s3.simulated(10, 5000)
    waiting = s3.simulated(10, 300, notice=60)
    assert (waiting["notice"], waiting["offer"]) == (60, None)
    requests.delete(f"{s3.url}/v1/jobs/2", timeout=30)
    offered = s3.job(waiting["id"])
    assert offered["offer"] == offered["promise"] - 5000 == first["promise"] + 600
    assert 60 < offered["answer_by"] - offered["submitted"] < offered["offer"] - offered["submitted"]
    body = {"answer": "accept", "start": offered["offer"], "key": "a"}
    accepted = answer(s3.url, waiting["id"], body)
    assert accepted.status_code == 200
    assert (accepted.json()["promise"], accepted.json()["offer"]) == (offered["offer"], None)
    assert answer(s3.url, waiting["id"], body).json()["promise"] == offered["offer"]
    late = answer(s3.url, waiting["id"], {**body, "key": "b"})
    assert late.status_code == 409
    assert "is not offered a start at" in late.json()["error"]["message"]
    declined = answer(s3.url, waiting["id"], {"answer": "decline"})
    assert declined.json()["offers_from"] is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, "body.answer: is missing"),
        ({"answer": "perhaps"}, "body.answer: 'perhaps'"),
        ({"answer": "accept"}, "must be an object that accepts a start, without not_before"),
        ({"answer": "accept", "start": 5, "not_before": 9}, "without not_before"),
        ({"answer": "decline", "start": "5"}, "body.start: '5'"),
        ({"answer": "decline", "not_befor": 5}, 'did you mean "not_before"'),
        ({"answer": "decline", "processors": 5}, "body.processors: cannot be given here"),
    ],
)
def test_a_bad_answer_is_refused_with_the_place(idle, body, problem):
    refused = answer(idle, 1, body)
    assert refused.status_code == 422
    assert problem in refused.json()["error"]["message"]


def test_an_answer_of_no_job_is_refused(idle):
    assert answer(idle, 7, {"answer": "decline"}).status_code == 404
