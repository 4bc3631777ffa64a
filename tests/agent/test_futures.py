"""A job is a future: it can be waited for, cancelled and inspected like those of `concurrent.futures`."""

import concurrent.futures
import threading
import time
from types import SimpleNamespace

import pytest

import gas
from gas.agent import futures
from gas.agent.futures import JobFuture
from gas.agent.submission import Submitted
from gas.endpoints import S3Endpoint
from gas.endpoints.access import Access
from gas.errors import Conflict, JobFailed, NotFound, Unreachable

APP = {2: "5m", 4: "3m"}
LONG = ["sleep", "100"]


@pytest.fixture
def submit(s3):
    """Submit a command to a real S³ of 10 processors: ``submit("echo", "{processors}")``."""
    return lambda *words, **more: gas.submit(APP, list(words), s3.url, **more)


def test_the_result_is_the_job_and_what_it_has_written(submit):
    job = submit("sh", "-c", "echo on {processors} as $WHO", environment={"WHO": "me"}, name="greeting")
    done = job.result(timeout=30)
    assert (job.done(), job.running(), job.cancelled(), job.exception()) == (True, False, False, None)
    assert done.output() == "on 4 as me\n"
    assert (done.exit_status, done.id, done.job["name"]) == (0, job.id, "greeting")
    assert job.plan.best.processors == 4
    assert "completed" in repr(job)
    assert "greeting" in repr(done)


def test_a_job_that_fails_says_its_status_and_what_it_wrote_last(submit):
    job = submit("sh", "-c", "echo so far; echo 'no such mesh' >&2; exit 7")
    error = job.exception(timeout=30)
    assert isinstance(error, JobFailed)
    assert isinstance(error, gas.GasError)
    assert error.exit_status == 7
    assert error.job["id"] == job.id
    assert "failed with exit status 7" in str(error)
    assert "the end of its stderr:\nno such mesh" in error.output
    assert "the end of its stdout:\nso far" in error.output
    with pytest.raises(JobFailed, match="no such mesh"):
        job.result()


def test_a_job_that_waits_can_be_cancelled_and_one_that_has_ended_cannot(s3, submit):
    s3.until(s3.simulated(10, 3600)["id"], "running")
    job = submit(*LONG)
    assert (job.done(), job.running(), job.state) == (False, False, "queued")
    assert job.cancel()
    assert (job.cancelled(), job.done(), job.cancel()) == (True, True, True)
    assert s3.job(job.id)["state"] == "cancelled"
    with pytest.raises(concurrent.futures.CancelledError):
        job.result(timeout=1)


def test_a_job_that_runs_can_be_cancelled(s3, submit):
    job = submit(*LONG)
    s3.until(job.id, "running")
    until(job.running)
    assert job.cancel()
    assert "cancelled" in repr(job)
    s3.until(job.id, "cancelled")
    assert not job.running()


def test_who_cancels_it_elsewhere_cancels_the_future(s3, submit):
    job = submit(*LONG)
    s3.delete(f"/v1/jobs/{job.id}")
    with pytest.raises(concurrent.futures.CancelledError):
        job.result(timeout=30)
    assert job.cancelled()


@pytest.mark.thorough
def test_several_are_waited_for_as_calls_are(submit):
    jobs = [submit("sh", "-c", f"echo {n}") for n in range(5)]  # more than are requested one by one
    done, waiting = concurrent.futures.wait(jobs, timeout=30)
    assert (len(done), waiting) == (5, set())
    in_order = list(concurrent.futures.as_completed(jobs, timeout=5))
    assert {job.result().output() for job in in_order} == {f"{n}\n" for n in range(5)}


def test_a_timeout_leaves_the_job_as_it_is(s3, submit):
    job = submit(*LONG)
    with pytest.raises(TimeoutError):
        job.result(timeout=0.05)
    assert not job.done()
    assert job.cancel()


def test_a_key_finds_the_job_that_there_is(submit):
    first, second = (submit("echo", "once", key="night-7") for _ in range(2))
    assert first.id == second.id
    assert second.plan is None
    assert first.result(30).output() == second.result(30).output() == "once\n"


def test_each_user_of_a_service_is_asked_for_by_a_connection_of_its_own():
    where = [Scripted(job_of(1, "completed", exit_status=0)) for _ in range(3)]
    for one, token in zip(where, ("ann's", "bob's", "bob's"), strict=True):
        one.name, one.target, one.credential = "kth", "http://kth", token
    assert all(future_of(where=one).result(timeout=10).id == 1 for one in where)
    assert [one.asked > 0 for one in where] == [True, True, False]


def test_the_credential_of_an_s3_is_its_token_and_is_not_shown():
    ann, bob, again = (S3Endpoint("kth", "http://127.0.0.1:9", access=Access(of)) for of in ("a-a", "b-b", "a-a"))
    assert ann.credential == again.credential != bob.credential
    assert "a-a" not in repr(ann.credential)


def test_two_threads_that_cancel_a_job_at_once_log_nothing(caplog):
    where = Scripted(job_of(1, "running"))
    both = threading.Barrier(2)

    def cancel(id):
        both.wait(10)
        return job_of(1, "cancelled")

    where.cancel = cancel
    for _ in range(20):
        job = future_of(where=where)
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            assert [one.result(10) for one in [threads.submit(job.cancel) for _ in range(2)]] == [True, True]
        assert job.cancelled()
    assert caplog.records == []


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --------------------------------------------------------------------------- what may go wrong while it is asked


def job_of(id, state, **more):
    return {
        **dict.fromkeys(("promise", "start", "due", "finished", "exit_status", "signal", "message", "walltime")),
        "id": id, "name": f"j{id}", "processors": 4, "state": state, **more,
    }  # fmt: skip


class Scripted:
    """Returns the given answers, one after another; the last one stays. Errors are raised."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.target, self.credential = f"scripted:{id(self)}", None
        self.asked = 0
        self.name = f"scripted {id(self)}"

    def job(self, id):
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return {**answer, "id": id}

    def jobs(self, ended):
        return []

    def cancel(self, id):
        return self.job(id)

    def output(self, id, stream, limit):
        raise Unreachable("scripted: away")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(futures, "WAITING_PAUSES", (0.01, 0.05))


def future_of(*answers, id=1, remark=lambda text: None, where=None):
    where = where or Scripted(*answers)
    return JobFuture(Submitted(where, where.name, job_of(id, "queued"), "key"), remark=remark)


def test_an_answer_that_fails_to_come_is_waited_for():
    remarks = []
    away = Unreachable("scripted: away")
    job = future_of(
        away, job_of(1, "running"), away, away, job_of(1, "completed", exit_status=0), remark=remarks.append
    )
    assert job.result(timeout=10).exit_status == 0
    assert len(remarks) == 2
    assert "asking again" in remarks[0]


def test_one_that_stays_away_ends_the_future(monkeypatch):
    monkeypatch.setattr(futures, "WAITING_PATIENCE", -1)
    error = future_of(Unreachable("scripted: away")).exception(timeout=10)
    assert isinstance(error, Unreachable)


def test_what_a_failed_job_wrote_may_be_out_of_reach():
    error = future_of(job_of(1, "timeout")).exception(timeout=10)
    assert isinstance(error, JobFailed)
    assert error.exit_status is None
    assert "its stderr cannot be read: scripted: away" in str(error)


class Sealed(Exception):
    """An error to which nothing can be added."""

    def add_note(self, note):
        raise RuntimeError("sealed")


@pytest.mark.parametrize(
    "error", [NotFound("there is no job 1"), Sealed("odd"), KeyError("state"), SystemExit(3)], ids=repr
)
def test_whatever_is_raised_ends_the_future(error):
    job = future_of(error)
    assert job.exception(timeout=10) is error


def test_an_answer_that_makes_no_sense_ends_the_future():
    assert isinstance(future_of({"id": 1}).exception(timeout=10), KeyError)


def test_what_is_called_at_the_end_disturbs_no_other(caplog):
    called = threading.Event()
    where = Scripted(job_of(1, "running"))
    one, other = future_of(where=where), future_of(where=where, id=2)

    def leave(future):
        raise SystemExit

    one.add_done_callback(leave)
    other.add_done_callback(lambda future: called.set())
    where.answers[:] = [job_of(1, "completed", exit_status=0)]
    assert one.result(timeout=10).id == 1
    assert other.result(timeout=10).id == 2
    assert called.wait(10)
    assert "a function called at the end of job 1 failed" in caplog.text


def test_a_job_that_is_not_known_any_more_is_not_asked_for():
    where = Scripted(job_of(1, "running"))
    forgotten = SimpleNamespace(**vars(Submitted(where, "scripted", {"id": 1, "state": "forgotten"}, "key")))
    error = JobFuture(forgotten, remark=print).exception(timeout=10)
    assert isinstance(error, NotFound)
    assert where.asked == 0


def test_one_that_ended_just_before_it_was_cancelled_is_not_cancelled():
    where = Scripted(job_of(1, "running"))
    job = future_of(where=where)
    where.cancel = lambda id: job_of(1, "completed", exit_status=0)
    assert not job.cancel()
    where.cancel = lambda id: (_ for _ in ()).throw(Conflict("it has ended"))
    assert not job.cancel()
    where.answers[:] = [job_of(1, "completed", exit_status=0)]
    assert job.result(timeout=10).exit_status == 0
    assert not job.cancel()


def test_one_thread_asks_one_scheduler_and_ends_with_the_last_job():
    where = Scripted(job_of(1, "running"))
    jobs = [future_of(where=where, id=n) for n in range(1, 5)]
    named = [thread for thread in threading.enumerate() if thread.name == f"jobs on {where.name}"]
    assert len(named) == 1
    where.answers[:] = [job_of(1, "completed", exit_status=0)]
    concurrent.futures.wait(jobs, timeout=10)
    named[0].join(10)
    assert not named[0].is_alive()
    again = future_of(where=where, id=9)
    assert again.result(timeout=10).id == 9


def test_two_endpoints_of_one_service_are_asked_by_one_thread(s3):
    s3.until(s3.simulated(10, 3600)["id"], "running")
    jobs = [gas.submit(APP, LONG, S3Endpoint("here", s3.url)) for _ in range(2)]
    assert len([thread for thread in threading.enumerate() if thread.name == "jobs on here"]) == 1
    assert all(job.cancel() for job in jobs)
