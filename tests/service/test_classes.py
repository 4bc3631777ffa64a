"""Classes of jobs: their order, who may submit in them, and their effect in another life of the service."""

import pytest
import requests
from eventually import until

from gas.errors import BadInput, Conflict, Forbidden
from gas.service.classes import NO_CLASSES, Classes
from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler
from gas.service.server import Embedded

SITE = Classes.read("urgent,normal,low", "normal", ["urgent=ann,bob"])


def request(walltime=100, run_time=100, processors=10, **more):
    return JobRequest(
        "job", "job", processors, walltime, actuator="simulated", run_time=run_time, **{"user": "ann"} | more
    )


@pytest.fixture
def begin(hand, tmp_path):
    """Return a function that begins a life of the service with some classes, after ending the last one."""
    lives = []

    def life(classes=SITE):
        for each in lives:
            each.stop()
        lives[:] = [LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand), classes=classes)]
        return lives[0]

    yield life
    for each in lives:
        each.stop()


# ---------------------------------------------------------------------------------------------------------- the names


def test_the_default_class_has_priority_0_and_a_class_that_is_gone_counts_as_it():
    assert [SITE.priority(name) for name in ("urgent", "normal", "low", None, "gone")] == [1, 0, -1, 0, 0]
    assert [Classes(("a", "b")).priority(name) for name in ("a", "b")] == [1, 0], "by default the lowest"


def test_jobs_of_classes_that_are_gone_are_counted_by_name():
    assert SITE.missing(["urgent", None, "low"]) == ""
    assert SITE.missing(["b", None, "a", "b"]).startswith(
        "3 jobs have unknown classes (a, b), which count as the default"
    )


@pytest.mark.parametrize(
    ("names", "default", "users", "message"),
    [
        ("a,b,a", None, [], "names a twice"),
        ("a,,b", None, [], "'' cannot be a class"),
        ("a,b c", None, [], "'b c' cannot be a class"),
        ("x" * 65, None, [], "use up to 64 letters"),
        (",".join(f"c{n}" for n in range(101)), None, [], "names 101 classes; the limit is 100"),
        ("a,b", "c", [], "--default-class c: is not known; the classes, highest first: a, b"),
        ("a,b", None, ["c=ann"], "--class-users c: is not known; the classes"),
        ("a,b", None, ["a"], "write CLASS=USER,USER"),
        ("a,b", None, ["a=ann", "a=bob"], "each class once"),
        (None, "a", [], "--default-class a: this scheduler has no classes"),
        ("a,b", "", [], "--default-class : is not known; the classes"),
        ("a,b", None, ["a="], "write CLASS=USER,USER"),
        ("a,b", None, ["a=ann,,bob"], "write CLASS=USER,USER"),
        ("-a", None, [], "a letter or digit first"),
    ],
)
def test_classes_that_cannot_be_are_refused(names, default, users, message):
    with pytest.raises(BadInput, match=message):
        Classes.read(names, default, users)


def test_users_submit_where_they_may():
    SITE.admit("urgent", "bob")
    SITE.admit(None, "cyd")
    with pytest.raises(Forbidden, match="cyd may not submit in class urgent; cyd may use normal, low"):
        SITE.admit("urgent", "cyd")
    with pytest.raises(BadInput, match="class fast: is not known; the classes, highest first: urgent, normal, low"):
        SITE.admit("fast", "ann")
    with pytest.raises(BadInput, match="this scheduler has no classes"):
        NO_CLASSES.admit("urgent", "ann")
    closed = Classes(("a", "b"), "b", {"a": frozenset({"ann"}), "b": frozenset({"ann"})})
    with pytest.raises(Forbidden, match=r"cyd may not submit in class b$"):
        closed.admit(None, "cyd")


# ------------------------------------------------------------------------------------------------------------- living


def fill(live):
    """Submit a job that runs for 20 of 100 s, and after it one of each class; return their numbers."""
    live.submit(request(run_time=20))
    return [live.submit(request(job_class=name))[0].id for name in ("low", None, "urgent")]


def promises(live, ids):
    return [live.job(id).promise - 1_000_001 for id in ids]


def test_when_processors_come_free_higher_classes_move_up_first_and_no_promise_gets_later(begin, hand):
    live = begin()
    low, usual, urgent = ids = fill(live)
    assert promises(live, ids) == [100, 200, 300], "who came first was promised first"
    small = live.submit(request(walltime=50, run_time=50, job_class="urgent"))[0].id
    hand.time += 21
    assert promises(live, [*ids, small]) == [71, 171, 271, 21], "the last one fits before the others, which slide"
    live.cancel(low)
    assert promises(live, [usual, urgent]) == [171, 71], "its place is for the urgent one, which came later"
    with live.frozen() as machine:
        machine.schedule.check()
        assert [entry.id for entry in machine.schedule.queued] == [urgent, small, usual]
    assert live.health()["promises_broken"] == 0


def test_a_job_keeps_its_class_over_lives_and_its_priority_is_what_the_class_is_worth_now(begin, hand):
    live = begin()
    low, usual, urgent = ids = fill(live)
    hand.time += 2
    known = live.jobs()
    live = begin()
    assert live.jobs() == known
    found = [(job.request.job_class, job.priority) for job in map(live.job, ids)]
    assert found == [("low", -1), (None, 0), ("urgent", 1)]
    live = begin(Classes(("low", "normal"), "normal"))
    assert [live.job(id).priority for id in ids] == [1, 0, 0]
    assert promises(live, ids) == [100, 200, 300]
    with live.frozen() as machine:
        machine.schedule.check()
        assert [entry.id for entry in machine.schedule.queued] == [low, usual, urgent]
    live = begin(NO_CLASSES)
    assert [live.job(id).priority for id in ids] == [0, 0, 0]
    hand.time += 1000
    ended = {job.id: job for job in live.jobs(ended=10)}
    assert [ended[id].request.job_class for id in ids] == ["low", None, "urgent"]


def test_a_key_is_of_one_class(begin):
    live = begin()
    job, _ = live.submit(request(key="k", job_class="urgent"))
    assert live.submit(request(key="k", job_class="urgent"))[0].id == job.id
    with pytest.raises(Conflict, match="different request"):
        live.submit(request(key="k"))


def test_a_retry_is_answered_whatever_the_classes_are_by_now(begin):
    live = begin()
    job, _ = live.submit(request(key="k", job_class="low"))
    live = begin(Classes(("urgent", "normal"), "normal", {"normal": frozenset({"bob"})}))
    assert live.submit(request(key="k", job_class="low")) == (live.job(job.id), False)
    with pytest.raises(BadInput, match="class low"):
        live.submit(request(key="new", job_class="low"))


def test_a_reservation_is_of_no_class(begin):
    live = begin(Classes(("normal",), "normal", {"normal": frozenset({"ann"})}))
    kept = JobRequest("reservation", "kept", 4, 60, "reservation", start=1_000_600, user="cyd")
    assert live.submit(kept)[0].state == "reserved"
    with pytest.raises(Forbidden):
        live.submit(request(user="cyd"))


def test_a_refused_class_queues_nothing(begin):
    live = begin()
    for refused, kind in ((request(job_class="urgent", user="cyd"), Forbidden), (request(job_class="fast"), BadInput)):
        with pytest.raises(kind):
            live.submit(refused)
    assert live.jobs() == []


# --------------------------------------------------------------------------------------------------------------- HTTP


def test_clients_see_the_classes_and_those_of_jobs(tmp_path):
    live = LiveScheduler("test", 10, tmp_path / "state", classes=SITE)
    with Embedded(live) as service:
        url = service.url
        machine = requests.get(f"{url}/v1/machine", timeout=10).json()
        assert [(each["name"], each["priority"], each["default"]) for each in machine["classes"]] == [
            ("urgent", 1, False), ("normal", 0, True), ("low", -1, False)
        ]  # fmt: skip
        assert [each["permitted"] for each in machine["classes"]] == [False, True, True]
        body = {"processors": 10, "walltime": 60, "actuator": {"kind": "simulated", "run_time": 60}}
        jobs = [
            requests.post(f"{url}/v1/jobs", json={**body, **more}, timeout=10).json()
            for more in ({}, {"class": "low"}, {"class": "normal"}, {})
        ]
        assert [(job["class"], job["priority"]) for job in jobs] == [(None, 0), ("low", -1), ("normal", 0), (None, 0)]
        listed = requests.get(f"{url}/v1/jobs?fields=class,priority", timeout=10).json()["jobs"]
        assert listed[1] == {"id": 2, "class": "low", "priority": -1}
        requests.delete(f"{url}/v1/jobs/2", timeout=10)
        until(lambda: requests.get(f"{url}/v1/jobs/2", timeout=10).json()["state"] == "cancelled")
        assert requests.get(f"{url}/v1/jobs/2", timeout=10).json()["priority"] is None
        for more, status, said in (
            ({"class": "urgent"}, 403, "may not submit in class urgent"),
            ({"class": "fast"}, 422, "is not known; the classes"),
            ({"class": "no/name"}, 422, "class"),
            ({"job_class": "low"}, 422, "job_class"),
        ):
            answer = requests.post(f"{url}/v1/jobs", json={**body, **more}, timeout=10)
            assert (answer.status_code, said in answer.text) == (status, True), answer.text
