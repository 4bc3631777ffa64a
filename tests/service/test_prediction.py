"""The prediction of a waiting job's start next to its promise: learnt here, near the truth, never in the way."""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gas.errors import NotFound
from gas.prediction import LEAST_ENDED
from gas.service import prediction
from gas.service.backup import back_up, restore
from gas.service.clock import Clock
from gas.service.jobs import Job, JobRequest, Predicted
from gas.service.live import LiveScheduler
from gas.service.prediction import MOST_ENDED, Experience, compile_predictions

KEYS = [f"predicted_{name}{iso}" for name in ("start", "low", "high") for iso in ("", "_iso")]
ANSWERED = {*KEYS, "predicted_coverage"}
SOON = 30  # time limit in seconds; these things take milliseconds


@pytest.fixture(scope="module", autouse=True)
def machine_code():
    compile_predictions()


@pytest.fixture(autouse=True)
def without_rest(monkeypatch):
    """Changes are seen at once, however recent."""
    monkeypatch.setattr(prediction, "REST_FACTOR", 0.0)


def again(live, tmp_path, hand):
    """A new life of the service, on the same store."""
    live.stop()
    return LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))


def submit(live, processors, walltime, run_time=None, user="ada", **more):
    lasts = walltime if run_time is None else run_time
    request = JobRequest("job", "job", processors, walltime, actuator="simulated", run_time=lasts, user=user, **more)
    return live.submit(request)[0]


def teach(live, hand, jobs=40, share=0.1, user="ada"):
    """Let a user's jobs end that used this share of their walltimes."""
    for i in range(jobs):
        submit(live, 1 + i % 10, walltime := 1000 + 100 * (i % 7), int(share * walltime), user=user)
    hand.time += jobs * 2000
    assert not live.jobs()


def told(live, id):
    """The answer about a job, with its promise."""
    job = live.job(id)
    found = live.predictions(id).result(SOON).get(id)
    return live.job(id).predicted_to_wire(found, live.clock.now()) | {"promise": job.promise, "state": job.state}


def is_null(answer):
    return all(answer[key] is None for key in KEYS)


# ------------------------------------------------------------------------------------------------------ what it says


def test_whoever_uses_a_tenth_is_predicted_near_the_true_start_and_well_before_the_promise(live, hand):
    teach(live, hand)
    queue = [submit(live, 10, 1000, 100) for _ in range(10)]
    hand.time += 1
    answers = {job.id: told(live, job.id) for job in queue[1:]}
    promised = {job.id: live.job(job.id).promise for job in queue[1:]}
    now = hand.time
    while live.jobs():
        hand.time += 1
    for id, answer in answers.items():
        truth = live.job(id).start
        assert answer["predicted_low"] <= truth <= answer["predicted_high"] + 1
        assert abs(answer["predicted_start"] - truth) < 0.2 * (truth - now)
        assert answer["predicted_high"] - now < 0.5 * (promised[id] - now)


def test_where_all_do_the_same_every_start_is_told_to_the_second(live, hand):
    for _ in range(60):
        submit(live, 10, 1000, 100)
    hand.time += 60 * 101
    queue = [submit(live, 10, 1000, 100) for _ in range(20)]
    hand.time += 1
    answers = {job.id: told(live, job.id) for job in queue[1:]}
    hand.time += 20 * 101
    live.jobs()
    assert {id: answer["predicted_low"] for id, answer in answers.items()} == {
        job.id: live.job(job.id).start for job in queue[1:]
    }


def test_whoever_uses_all_is_predicted_where_promised(live, hand):
    teach(live, hand, 100, share=1.0)
    queue = [submit(live, 10, 1000) for _ in range(4)]
    hand.time += 1
    answer = told(live, queue[-1].id)
    assert answer["promise"] - answer["predicted_start"] < 0.1 * 3000


def test_one_user_s_habit_is_not_another_s(live, hand):
    teach(live, hand, share=0.1, user="ada")
    teach(live, hand, share=1.0, user="bob")
    submit(live, 5, 1000, 100, user="ada")
    submit(live, 5, 1000, 1000, user="bob")
    hand.time += 1
    beside_ada, beside_bob = submit(live, 5, 5000), submit(live, 10, 5000)
    assert told(live, beside_ada.id)["predicted_start"] - hand.time < 350
    assert told(live, beside_bob.id)["predicted_start"] - hand.time > 650


@pytest.mark.thorough
def test_it_is_between_now_and_the_promise_at_every_moment(live, hand):
    random = np.random.default_rng(1)
    teach(live, hand, share=0.4)
    asked = 0
    for _ in range(60):
        walltime = int(random.integers(10, 2000))
        user = str(random.choice(["ada", "bob", "eve"]))
        submit(live, int(random.integers(1, 11)), walltime, int(walltime * random.random()), user=user)
        if random.random() < 0.1:
            start = int(hand.time) + 5000 + int(random.integers(10_000))
            request = JobRequest("reservation", "r", 5, 300, actuator="none", start=start, start_by=start + 10**7)
            live.submit(request)
        hand.time += float(random.integers(0, 300))
        for job in live.jobs():
            answer = told(live, job.id)
            if job.state != "queued":
                assert is_null(answer)
                continue
            asked += 1
            low, mean, high = (answer[f"predicted_{name}"] for name in ("low", "start", "high"))
            assert hand.time - 1 <= low <= mean <= high <= answer["promise"]
    assert asked > 200


def test_reservations_are_taken_to_hold_their_processors_to_the_end(live, hand):
    teach(live, hand)
    now = int(hand.time)
    live.submit(JobRequest("reservation", "r", 10, 1000, actuator="none", start=now + 5))
    job = submit(live, 10, 500)
    for _ in range(2):  # before it begins, and while it runs
        assert told(live, job.id)["predicted_start"] == live.job(job.id).promise == now + 1005
        hand.time += 100


def test_a_job_that_is_not_to_start_before_an_instant_is_not_predicted_to(live, hand):
    teach(live, hand)
    submit(live, 10, 5000, 500)
    at = int(hand.time) + 10_000
    then, behind = submit(live, 10, 1000, start=at), submit(live, 10, 1000, start=at)
    now = submit(live, 10, 2000)
    assert [told(live, then.id)[f"predicted_{name}"] for name in ("low", "start", "high")] == [at] * 3
    assert at <= told(live, behind.id)["predicted_low"] < at + 300 < behind.promise
    assert told(live, now.id)["predicted_start"] < now.promise < at


def test_the_same_state_has_the_same_answer_also_after_a_restart(live, tmp_path, hand):
    teach(live, hand, share=0.3)
    submit(live, 3, 1000, 500)
    cancelled = [submit(live, 10, 1000, user="eve"), submit(live, 3, 1000, 900, user="eve")]
    hand.time += 10
    assert [live.job(job.id).state for job in cancelled] == ["queued", "running"]
    for job in cancelled:
        live.cancel(job.id)
    queue = [submit(live, 8, 1000), submit(live, 9, 2000), submit(live, 1, 100)]
    answers = [told(live, job.id) for job in queue]
    assert not is_null(answers[0])
    new = again(live, tmp_path, hand)
    try:
        assert [told(new, job.id) for job in queue] == answers
    finally:
        new.stop()


def test_what_came_true_corrects_the_next_intervals_is_counted_and_survives_a_restart(live, tmp_path, hand):
    teach(live, hand, share=0.1)
    for share in (0.9, 0.9, 0.9):  # all suddenly use nine tenths
        queue = [submit(live, 10, 1000, int(1000 * share)) for _ in range(10)]
        hand.time += 1
        first = told(live, queue[-1].id)
        hand.time += 9_500
        assert not live.jobs()
    submit(live, 10, 1000)
    hand.time += 1
    waiting = submit(live, 10, 1000)
    later = told(live, waiting.id)
    coverage = live.coverage
    assert coverage["outcomes"] == 27, "all who waited, once each"
    assert coverage["held"] < 27
    assert f"gas_predictions_settled {coverage['outcomes']:.1f}" in live.metrics_text().decode()
    assert f"gas_predictions_held {coverage['held']:.1f}" in live.metrics_text().decode()
    assert first["predicted_high"] <= first["promise"]
    new = again(live, tmp_path, hand)
    try:
        assert told(new, waiting.id) == later
        assert new.coverage == coverage
        new.cancel(waiting.id)
        hand.time += 1_000
        new.jobs()
        new._ledger.settle()
        assert new.coverage == coverage, "what was cancelled is no outcome"
    finally:
        new.stop()


def test_a_backup_leaves_outcomes_in_place_and_of_what_it_lost_nothing_is_awaited(live, tmp_path, hand):
    teach(live, hand)
    for _ in range(5):
        submit(live, 10, 1000, 100)
    hand.time += 1
    known = submit(live, 10, 1000, 100)
    told(live, known.id)
    hand.time += 450
    live.jobs()
    state, saved = tmp_path / "state", tmp_path / "saved"
    back_up(state, saved)
    lost = submit(live, 10, 1000, 100)
    told(live, lost.id)
    live.stop()
    before = live.coverage
    assert before["outcomes"] == 4
    restore(saved, state)
    new = LiveScheduler("test", 10, state, clock=Clock(real=hand))
    try:
        with pytest.raises(NotFound):
            new.job(lost.id)
        new._ledger.settle()
        assert new.coverage == before
        assert list(new._ledger._opened[1].open) == [str(known.id)]
    finally:
        new.stop()


# ------------------------------------------------------------------------------------------------- when it says nothing


def test_nothing_is_predicted_before_enough_jobs_have_ended(live, hand):
    teach(live, hand, LEAST_ENDED - 1)
    submit(live, 10, 1000, 100)
    waiting = submit(live, 10, 1000)
    assert is_null(told(live, waiting.id))
    hand.time += 102  # the first has ended
    waiting = submit(live, 10, 1000)
    assert not is_null(told(live, waiting.id))


def test_only_who_waits_in_the_queue_has_a_prediction(live, hand):
    teach(live, hand)
    running, reserved = (
        submit(live, 10, 1000, 10),
        JobRequest("reservation", "r", 1, 9, actuator="none", start=2_000_000),
    )
    reserved = live.submit(reserved)[0]
    ended = live.jobs(ended=1)[0]
    hand.time += 1
    for job, state in ((running, "running"), (reserved, "reserved"), (ended, "completed")):
        assert told(live, job.id)["state"] == state
        assert is_null(told(live, job.id))


def test_a_queue_that_would_take_too_long_is_not_predicted(live, hand, monkeypatch):
    teach(live, hand)
    for _ in range(30):
        submit(live, 10, 1000)
    waiting = submit(live, 10, 1000)
    assert not is_null(told(live, waiting.id))
    monkeypatch.setattr(prediction, "_samples", lambda waiting, arrivals: 10 if waiting > 30 else 20)
    last = submit(live, 10, 1000)
    assert is_null(told(live, last.id))


def test_the_longer_the_queue_the_fewer_samples():
    samples = [prediction._samples(waiting, 0) for waiting in range(0, 2000, 10)]
    assert samples[0] == prediction.MOST_SAMPLES
    assert samples == sorted(samples, reverse=True)
    assert prediction._samples(300, 0) > prediction.FEWEST_SAMPLES > prediction._samples(1000, 0)


def test_a_machine_that_was_made_smaller_than_what_runs_on_it_is_not_predicted(live, hand, caplog):
    teach(live, hand)
    submit(live, 5, 1000, 100)
    submit(live, 5, 1000, 100)
    hand.time += 1
    waiting = submit(live, 3, 1000)
    assert not is_null(told(live, waiting.id))
    live.resize(3)
    assert is_null(told(live, waiting.id))
    assert not [record for record in caplog.records if record.exc_info], "foreseen"
    hand.time += 100  # both have ended
    submit(live, 3, 1000, 100)
    last = submit(live, 3, 1000, 100)
    assert told(live, last.id)["predicted_start"] < live.job(last.id).promise


def test_without_numba_nothing_is_predicted(live, hand, monkeypatch):
    teach(live, hand)
    submit(live, 10, 1000)
    waiting = submit(live, 10, 1000)
    monkeypatch.setattr(prediction, "available", lambda: False)
    assert is_null(told(live, waiting.id))


@pytest.mark.thorough
def test_until_the_machine_code_is_made_answers_are_null_and_at_once(live, hand, monkeypatch):
    teach(live, hand)
    submit(live, 10, 1000)
    waiting = submit(live, 10, 1000)
    go_on = threading.Event()
    monkeypatch.setattr(prediction, "is_ready", lambda kernel: False)
    monkeypatch.setattr(prediction, "compile_predictions", go_on.wait)
    monkeypatch.setattr(prediction, "_compiling", [])
    assert is_null(told(live, waiting.id))
    go_on.set()
    prediction._compiling[0].join(SOON)
    assert not is_null(told(live, waiting.id))


@pytest.mark.thorough
def test_the_machine_code_is_made_by_a_process_of_its_own_or_else_in_this_one(live, hand, monkeypatch):
    assert prediction._compile_elsewhere()
    teach(live, hand)
    submit(live, 10, 1000)
    waiting = submit(live, 10, 1000)
    monkeypatch.setattr(prediction, "is_ready", lambda kernel: False)
    monkeypatch.setattr(prediction, "_compiling", [])
    monkeypatch.setattr("gas.service.aside.sys.executable", "/nowhere/python")
    assert not prediction._compile_elsewhere()
    assert is_null(told(live, waiting.id))
    prediction._compiling[0].join(SOON)
    assert not is_null(told(live, waiting.id))


def test_what_was_predicted_a_while_ago_is_told_as_it_can_still_be():
    request = JobRequest("job", "x", 2, 80, actuator="simulated", run_time=80)
    job = Job(1, request, 50, "queued", start=200, promise=200, first_promise=900, due=280)
    wire = job.predicted_to_wire(Predicted(160, 100, 300), 150)
    assert [wire[f"predicted_{name}"] for name in ("low", "start", "high")] == [150, 160, 200]
    job.state = "running"  # meanwhile
    assert is_null(job.predicted_to_wire(Predicted(160, 100, 300), 150))


# ------------------------------------------------------------------------------------------------------ what it learns


def ended(state, start=100, finished=150, kind="job", walltime=80):
    request = JobRequest(kind, "x", 2, walltime, actuator="process" if kind == "job" else "none", user="ada")
    return Job(1, request, 50, state, start, start, start, start + walltime, finished=finished)


@pytest.mark.parametrize("state", ["completed", "failed"])
def test_a_job_that_ended_by_itself_teaches_how_long_it_ran(state):
    (run,) = Experience([ended(state)]).runs
    assert (run.walltime, run.run_time, run.submitted, run.finished) == (80, 50, 50, 150)


def test_one_that_was_killed_at_its_walltime_used_all_of_it():
    (run,) = Experience([ended("timeout", finished=179)]).runs  # told to end a little early, it did
    assert run.run_time == run.walltime == 80


@pytest.mark.parametrize("job", [ended("cancelled"), ended("lost"), ended("completed", kind="reservation")])
def test_what_was_cut_off_or_lost_or_only_held_processors_teaches_nothing(job):
    assert Experience([job]).runs == ()


def test_only_the_last_ones_are_remembered():
    experience = Experience()
    for i in range(MOST_ENDED + 10):
        experience.add([ended("completed", finished=100 + i)])
    assert len(experience) == MOST_ENDED
    assert experience.runs[0].finished == 110


# ------------------------------------------------------------------------------------------ over HTTP, in nobody's way


def learnt(start_s3):
    """A service with enough ended jobs, one running and one waiting: return it and the waiting job's number."""
    s3 = start_s3(10, clock_speed=1000.0)
    jobs = [s3.simulated(1, 1000, 100) for _ in range(30)]
    for job in jobs:
        s3.until(job["id"], "completed")
    running = s3.simulated(10, 1_000_000, 100_000)  # 100 s of ours, of 1000
    s3.until(running["id"], "running")
    return s3, s3.simulated(10, 1000)["id"]


def test_one_job_s_answer_has_it_and_the_list_has_not(start_s3):
    s3, waiting = learnt(start_s3)
    job = s3.job(waiting)
    assert job["submitted"] < job["predicted_low"] <= job["predicted_start"] <= job["predicted_high"] <= job["promise"]
    assert job["predicted_coverage"]["in_words"].startswith("how often 90% intervals hold is not yet known")
    assert all(job[f"{key}_iso"].endswith("Z") for key in ("predicted_start", "predicted_low", "predicted_high"))
    documented = s3.get("/openapi.json").json()["components"]["schemas"]["OneJobAnswer"]
    assert job.keys() == documented["properties"].keys() == set(documented["required"])
    running, listed = s3.get("/v1/jobs").json()["jobs"]
    assert listed.keys() == job.keys() - ANSWERED
    assert is_null(still := s3.job(running["id"]))
    assert still["predicted_coverage"] is None
    assert s3.get("/metrics").text.count("gas_prediction_seconds_count 1.0") == 1


def test_a_prediction_that_breaks_leaves_the_answer_whole_and_a_line_in_the_log(start_s3, monkeypatch, caplog):
    s3, waiting = learnt(start_s3)
    monkeypatch.setattr(prediction, "predictions_for", lambda *_: 1 / 0)
    with caplog.at_level(logging.WARNING, "gas.s3"):
        answer = s3.get(f"/v1/jobs/{waiting}")
    assert answer.status_code == 200
    assert is_null(answer.json())
    assert answer.json()["promise"] > 0
    assert [r.getMessage() for r in caplog.records] == ["starts cannot be predicted: division by zero"]


@pytest.mark.thorough
def test_many_who_ask_share_one_computation_and_nobody_else_waits(start_s3, monkeypatch):
    s3, waiting = learnt(start_s3)
    predict, begun, go_on, times = prediction.predictions_for, threading.Event(), threading.Event(), []

    def slow(*given):
        times.append(1)
        begun.set()
        assert go_on.wait(SOON)
        return predict(*given)

    monkeypatch.setattr(prediction, "predictions_for", slow)
    monkeypatch.setattr(prediction, "LASTS_SECONDS", 10**9)
    with ThreadPoolExecutor(60) as pool:  # more than the service has threads for requests
        asked = [pool.submit(s3.job, waiting) for _ in range(60)]
        assert begun.wait(SOON)
        time.sleep(0.2)
        behind = s3.simulated(10, 1000)["id"]  # meanwhile, everything else works as usual
        assert s3.delete(f"/v1/jobs/{behind}").json()["state"] == "cancelled"
        assert s3.get("/v1/availability").status_code == 200
        assert not any(answer.done() for answer in asked)
        go_on.set()
        answers = [answer.result(SOON) for answer in asked]
    assert not any(is_null(answer) for answer in answers)
    assert len(times) <= 2, "one for the schedule as it was, one for that after the changes"


def test_after_work_there_is_rest_in_which_who_is_known_is_told_what_was_found(live, hand, monkeypatch):
    predict, times = prediction.predictions_for, []
    monkeypatch.setattr(prediction, "predictions_for", lambda *given: times.append(1) or predict(*given))
    monkeypatch.setattr(prediction, "REST_FACTOR", 1e6)
    teach(live, hand)
    submit(live, 10, 1000)
    waiting = submit(live, 10, 1000)
    before = told(live, waiting.id)
    newer = submit(live, 10, 1000)
    assert told(live, waiting.id) == before
    assert len(times) == 1
    assert not is_null(told(live, newer.id))
    assert len(times) == 2


def test_who_runs_on_is_looked_at_again_even_if_nothing_changes(live, hand):
    teach(live, hand)
    submit(live, 10, 1000, 900)
    waiting = submit(live, 10, 1000)
    hand.time += 2
    soon = told(live, waiting.id)["predicted_start"]
    hand.time += 500  # it has run longer than all earlier jobs
    assert told(live, waiting.id)["predicted_start"] > soon + 400


def test_a_prediction_that_took_longer_than_it_lasts_is_made_again(live, hand, monkeypatch):
    teach(live, hand)
    queue = [submit(live, 10, 10_000, 9_000) for _ in range(3)]
    looked_at = []

    def slow(standing, predict):
        looked_at.append(standing.machine["now"])
        if len(looked_at) == 1:
            hand.time += 600
        return predictions_for(standing, predict)

    predictions_for = prediction.predictions_for
    monkeypatch.setattr(prediction, "predictions_for", slow)
    answer = told(live, queue[-1].id)
    assert looked_at == [looked_at[0], looked_at[0] + 600]
    assert answer["predicted_start"] > live.clock.now()


def test_a_service_stops_while_it_predicts(live, hand, monkeypatch):
    teach(live, hand)
    submit(live, 10, 1000)
    waiting = submit(live, 10, 1000)
    begun = threading.Event()
    monkeypatch.setattr(prediction, "predictions_for", lambda *_: begun.set() or time.sleep(0.3) or {})
    asked = live.predictions(waiting.id)
    assert begun.wait(SOON)
    live.stop()
    assert asked.done()
    assert live.predictions(waiting.id).result(0) == {}
