"""The service is killed at random moments under load by clients, and restarted on the same state.

Some kills come while it starts, some wrappers are killed too, and in the second half of the tests writes fail at times
for a while. GAS_CRASHES is the number of kills in each test: some by default, hundreds in the long run.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from eventually import until
from service_process import (
    TRACEBACK,
    FullDisk,
    NoWrites,
    Place,
    Service,
    Standing,
    check_records,
    directory_of,
    ended_record,
    marked_processes,
    running_wrappers,
    shell,
    simulated,
    standing,
)
from strategies import Seconds
from thorough import rounds

from gas.service import processes, wrapper
from gas.service.jobs import Job, JobRequest
from gas.service.live import LiveScheduler
from gas.service.runner import Runner

PROCESSORS = 6
PRIORITIES = {"urgent": 1, "normal": 0, "low": -1}
CLIENTS = 6
CRASHES = int(os.environ.get("GAS_CRASHES", "0"))

CANCELLED_WITHIN = 5.0
"""Seconds after its answer until a running job has ended: 2 s from TERM to KILL, and some for a busy machine."""

NEVER_STARTED = "cancelled before the command was started"

SCRIPTS = (
    "true",
    "sleep 0.2",
    "sleep 0.6",
    "exec sleep 3",
    "trap '' TERM; sleep 2; sleep 2",  # has to be killed
    "sleep 4 & sleep 0.1",  # leaves something behind
    "setsid sleep 4 & sleep 0.1",  # that is not even in its group
    "exit 3",
)


# ------------------------------------------------------------------------------------------------------------ clients


class Client(threading.Thread):
    """Submits, reserves, reshapes, accepts offers and cancels, and remembers the answers.

    Most of the time, a request without an answer is sent again with the same key.
    """

    def __init__(self, number: int, seed: int, proofs: Path, where: Callable[[], str]) -> None:
        super().__init__(name=f"client-{number}")
        self.random = random.Random(f"{seed}-{number}")
        self.number, self.proofs, self.where = number, proofs, where
        self.session = requests.Session()
        self.halt = threading.Event()
        self.requests = 0
        self.answered: dict[str, dict[str, Any]] = {}
        self.cancelled: dict[int, tuple[float, dict[str, Any]]] = {}
        self.shapes: dict[int, set[tuple[int, int]]] = {}  # a job's allowed values: the last answer, or a later request
        self.accepted: dict[int, int] = {}  # offered starts, by job, of which the service said that they are promised
        self.refused: list[str] = []
        self.surprises: list[str] = []
        self.failed_writes = 0

    def run(self) -> None:
        with self.session:
            while not self.halt.wait(self.random.uniform(0.02, 0.25)):
                if not self.where():
                    continue
                try:
                    self.act()
                except requests.RequestException:
                    pass
                except Exception as error:  # a thread's error must not go unnoticed
                    self.surprises.append(repr(error))

    def act(self) -> None:
        queued = self.ask("GET", "/healthz").json().get("queued", 0)
        active = [job["id"] for job in self.answered.values() if job["id"] not in self.cancelled]
        if queued and self.random.random() < 0.3:
            self.accept()
        dice = self.random.random()
        if active and dice < (0.2 if queued < 8 else 0.7):
            self.cancel(self.random.choice(active[-12:]))
        elif active and dice < (0.4 if queued < 8 else 0.9):
            self.reshape(self.random.choice(active[-12:]))
        elif dice < 0.85:
            self.make()
        else:
            self.ask("GET", self.random.choice(["/v1/availability", "/v1/jobs", "/v1/jobs?ended=5"]))

    def make(self) -> None:
        key = f"{self.number}-{self.requests}"
        self.requests += 1
        path, body = self.wanted(key)
        unanswered = False
        while not self.halt.is_set():
            try:
                answer = self.ask("POST", path, body)
            except requests.RequestException:
                unanswered = True
                if self.random.random() < 0.3:
                    return
                self.halt.wait(0.1)
                continue
            if answer.status_code in (200, 201):
                self.answered[key] = answer.json()
            elif not unanswered:
                self.refused.append(key)
            return

    def wanted(self, key: str) -> tuple[str, dict[str, Any]]:
        dice, now = self.random.random(), int(time.time())
        size, walltime = self.random.choice([1, 1, 2, 3, PROCESSORS]), self.random.randint(2, 5)
        if dice < 0.1:
            start = now + self.random.randint(2, 12)
            span = {"processors": min(size, 2), "start": start, "walltime": min(walltime, 4), "start_by": start + 30}
            return "/v1/reservations", {**span, "key": key, "name": key}
        more: dict[str, Any] = {"key": key, "name": key}
        if (of_class := self.random.choice([None, *PRIORITIES])) is not None:
            more["class"] = of_class
        if (notice := self.random.choice([None, 1, 3])) is not None:
            more["notice"] = notice
        if dice < 0.3:
            more["not_before"] = now + self.random.randint(-2, 8)
        elif dice < 0.4:
            more["start_by"] = now + self.random.randint(1, 20)
        if dice > 0.9:
            return "/v1/jobs", simulated(size, walltime, self.random.randint(0, 7), **more)
        script = f"echo $GAS_PROCESSORS $GAS_WALLTIME >> {self.proofs / key}; {self.random.choice(SCRIPTS)}"
        return "/v1/jobs", shell(size, walltime, script, **more)

    def reshape(self, id: int) -> None:
        told = next(job for job in self.answered.values() if job["id"] == id)
        self.requests += 1
        shape = self.random.choice([1, 1, 2, 3, PROCESSORS]), self.random.randint(2, 5)
        body = {"processors": shape[0], "walltime": shape[1], "key": f"{self.number}-{self.requests}"}
        known = self.shapes.setdefault(id, {(told["processors"], told["walltime"])})
        before = set(known)
        known.add(shape)
        self.accepted.pop(id, None)
        while not self.halt.is_set():
            try:
                answer = self.ask("PATCH", f"/v1/jobs/{id}", body)
            except requests.RequestException:
                if self.random.random() < 0.3:
                    return
                self.halt.wait(0.1)
                continue
            if answer.status_code == 200:
                self.shapes[id] = {shape}
            elif "StoreInDoubt" not in answer.text:
                self.shapes[id] = before
            return

    def accept(self) -> None:
        """Accept an offer to one of the jobs, whoever owns it."""
        listed = self.ask("GET", "/v1/jobs?state=queued&fields=offer").json().get("jobs", [])
        offers = {job["id"]: job["offer"] for job in listed if job["offer"] is not None}
        if not offers:
            return
        id, start = self.random.choice(sorted(offers.items()))
        self.requests += 1
        body = {"answer": "accept", "start": start, "key": f"{self.number}-{self.requests}"}
        while not self.halt.is_set():
            try:
                answer = self.ask("POST", f"/v1/jobs/{id}/offer", body)
            except requests.RequestException:
                self.halt.wait(0.1)
                continue
            if answer.status_code == 200:
                self.accepted[id] = start
            return

    def cancel(self, id: int) -> None:
        answer = self.ask("DELETE", f"/v1/jobs/{id}")
        if answer.status_code == 200:
            self.cancelled[id] = (time.time(), answer.json())

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        url = self.where()
        if not url:
            raise requests.ConnectionError
        answer = self.session.request(method, url + path, json=body, timeout=10)
        if answer.status_code == 503:
            self.failed_writes += 1
        elif method == "PATCH" and answer.status_code == 409:
            assert "only waiting jobs" in answer.text, answer.text
        elif path.endswith("/offer") and answer.status_code == 409:
            assert "offered" in answer.text, answer.text
        elif answer.status_code not in (200, 201, 412) and "has passed; it is" not in answer.text:
            self.surprises.append(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer


# ------------------------------------------------------------------------------------------------------------ outages


@dataclass
class Outage:
    """A time in which nothing could start: the service was dead, or could not write."""

    begin: float
    end: float


@dataclass
class Run:
    """One service after another on the same state, with clients throughout."""

    place: Place
    directory: Path
    seed: int
    faults: bool = False
    outages: list[Outage] = field(default_factory=list)
    broken: int = 0
    lost: set[int] = field(default_factory=set)
    crashes: int = 0
    shown: dict[int, Any] = field(default_factory=dict)  # its jobs when it had last come back

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.proofs = self.directory / "proofs"
        self.proofs.mkdir()
        self.url = ""
        self.service = self.start().ready()
        self.clients = [Client(n, self.seed, self.proofs, lambda: self.url) for n in range(CLIENTS)]

    def start(self) -> Service:
        classes = ["--classes", ",".join(PRIORITIES), "--default-class", "normal"]
        return Service(self.place, *classes, log=self.directory / "log", processors=PROCESSORS)

    # ------------------------------------------------------------------------------------------------- the run

    def crash_again_and_again(self, times: int) -> None:
        self.url = self.service.url
        for client in self.clients:
            client.start()
        try:
            for _ in range(times):
                self.live()
                self.crash()
        finally:
            for client in self.clients:
                client.halt.set()
            for client in self.clients:
                client.join()

    def live(self) -> None:
        """Let the service work for a while."""
        until = time.monotonic() + self.random.choice(
            [2.0] if self.faults else [0.05, 0.5, 1.0, 2.0]
        ) * self.random.uniform(0.5, 1.5)
        while time.monotonic() < until:
            if self.random.random() < 0.02:
                self.kill_a_wrapper()
            if self.faults and self.random.random() < 0.04:
                self.fail_to_write()
            time.sleep(0.05)

    def kill_a_wrapper(self) -> None:
        alive = running_wrappers(self.place.state)
        if alive:
            id = self.random.choice(sorted(alive))
            self.lost.add(id)
            with contextlib.suppress(ProcessLookupError):
                os.kill(alive[id], signal.SIGKILL)

    def fail_to_write(self) -> None:
        begin = time.time()
        with self.place.fault(self.service):
            time.sleep(self.random.uniform(0.1, 1.5))
            if self.random.random() < 0.4:  # it dies while it cannot write, and still cannot after its restart
                self.crash(look=False)
        self.outages.append(Outage(begin, time.time()))

    def crash(self, *, look: bool = True) -> None:
        self.crashes += 1
        self.service.kill()
        begin, self.url = time.time(), ""
        before = self.standing()
        self.check_normal_life(before)
        self.service = self.start()
        while self.random.random() < 0.2:  # it is killed again while it starts
            time.sleep(self.random.uniform(0, 1.2))
            self.service.kill()
            found = self.standing()
            if found != before:
                promises = {id: job.promise for id, job in found.jobs.items()}
                self.check_promises(Outage(begin, time.time()), before, promises, found.broken)
                before, begin = found, time.time() - 1
            self.service = self.start()
        if not look:  # a service that cannot write may give up at once
            with contextlib.suppress(AssertionError):
                self.service.ready()
                self.url = self.service.url
            return
        if self.faults and self.service.process.poll() is not None:
            self.service = self.start()
        self.service.ready()
        self.outages.append(Outage(begin, time.time()))
        self.look_around(before)
        self.url = self.service.url

    def standing(self) -> Standing:
        return standing(self.place.state, self.directory / "copy")

    # --------------------------------------------------------------------------- what must hold after a restart

    def look_around(self, before: Standing) -> None:
        """Verify the schedule with which the service came back, before clients send other requests."""
        came = time.time()
        self.shown = first = {job["id"]: job for job in self.service.jobs()}
        processes = marked_processes(self.place.inside)
        second = {job["id"]: job for job in self.service.jobs()}
        self.broken = int(self.service.health()["promises_broken"])
        for id, pids in processes.items():
            running = "running" in (first[id]["state"], second[id]["state"])
            record = ended_record(self.place.state, id)
            assert running or (record and record.end >= came), f"processes {pids} of {first[id]} are not known"
        for id, job in before.jobs.items():
            assert (first[id]["first_promise"], first[id]["name"]) == (job.first_promise, job.request.name)
        self.check_accepted(before)
        promises = {id: job["promise"] for id, job in first.items()}
        self.check_promises(self.outages[-1], before, promises, self.broken)

    def check_accepted(self, before: Standing) -> None:
        """Verify that the acceptance of each offer that was answered is on disk."""
        for client in self.clients:
            for id, start in list(client.accepted.items()):
                job = before.jobs.get(id)
                reshaped = any(id in other.shapes for other in self.clients)
                if job is not None and job.broken_promise is None and not reshaped:
                    assert job.promise <= start, f"job {id} was given {start}, and is promised {job.promise}"

    def check_promises(self, outage: Outage, before: Standing, promises: dict[int, int], broken: int) -> None:
        """Verify that exactly the promises that the outage made impossible are broken and counted."""
        late = {id for id, job in before.jobs.items() if promises[id] > job.promise}
        count = broken - before.broken
        for id in late:
            # The start of a job that was noted as running had not been made.
            assert before.jobs[id].state in ("queued", "reserved", "running")
            assert before.jobs[id].state != "running" or self.started(id) >= outage.begin
        if self.faults:  # changes that it made and undid while it could not write are invisible here
            return
        # The instant at which it read the store is not known, but it was one of these.
        waiting = [job for job in before.jobs.values() if job.state in ("queued", "reserved") or job.id in late]
        fates = [self.fate(waiting, before, instant) for instant in self.instants(outage)]
        fitting = [(missed, displaced) for missed, displaced in fates if missed <= late <= missed | displaced]
        missed, _ = fates[-1]
        assert fitting, (
            f"late are {late}, {count} were counted; that could have been {fates}; otherwise than at the end of the "
            f"outage: {[(before.jobs[id], promises[id], self.shown.get(id)) for id in missed ^ late]}"
        )
        # A displaced job may have been moved back since by one that ended early.
        assert any(len(late) <= count <= len(missed | displaced) for missed, displaced in fitting), (late, count, fates)

    def instants(self, outage: Outage) -> list[float]:
        """Return one instant from each stretch of an outage with the same outcome."""
        edges = {outage.begin, outage.end, *range(int(outage.begin) + 1, int(outage.end) + 1)}
        with contextlib.suppress(FileNotFoundError):
            records = [
                ended_record(self.place.state, int(d.name.partition(".")[0]))
                for d in (self.place.state / "jobs").iterdir()
            ]
            edges |= {record.end for record in records if record and outage.begin <= record.end <= outage.end}
        return [edge + 1e-5 for edge in sorted(edges)]

    def fate(self, waiting: list[Job], before: Standing, instant: float) -> tuple[set[int], set[int]]:
        """Return the jobs whose start a service back at an instant would have missed, and those that they displace.

        Missed jobs start as soon as they can, in queue order; of all others, reservations first, a job that still fits
        at its promised start is not moved (`gas guide design`).
        """

        def turn(job: Job) -> tuple[int, int]:
            return -PRIORITIES.get(job.request.job_class or "normal", 0), job.id

        now = int(instant)
        until = max([now + 100, *(job.due for job in before.jobs.values())]) + 100
        free = Seconds(PROCESSORS, now, until)
        for job in before.jobs.values():
            if job.state == "running" and job not in waiting and (end := self.held_until(job, instant)) is not None:
                free.hold(now, end, job.request.processors)
        missed = [job for job in waiting if job.promise < now]
        for job in sorted(missed, key=turn):
            earliest = job.promise if job.state == "reserved" else job.request.start or 0
            start = free.first_fit(job.request.processors, job.request.walltime, max(now + 1, earliest))
            free.hold(start, start + job.request.walltime, job.request.processors)
        displaced = set()
        for job in sorted(waiting, key=lambda job: (job.state != "reserved", turn(job))):
            if job.promise >= now:
                end = job.promise + job.request.walltime
                if free.fits(job.promise, end, job.request.processors):
                    free.hold(job.promise, end, job.request.processors)
                else:
                    displaced.add(job.id)
        return {job.id for job in missed}, displaced

    def started(self, id: int) -> float:
        """Return when the process of a job started, by its record; infinity without one."""
        record = directory_of(self.place.state, id) / "started.json"
        return float(json.loads(record.read_text())["start"]) if record.exists() else float("inf")

    def held_until(self, job: Job, instant: float) -> int | None:
        """Return until when a job that ran must be expected to hold its processors, None if it has ended."""
        now, lasts = int(instant), job.request.run_time
        if job.request.actuator == "process":
            record = ended_record(self.place.state, job.id)
            if record is not None and record.end <= instant:
                return None
        elif job.start + min(job.request.walltime if lasts is None else lasts, job.request.walltime) <= now:
            return None
        return job.due if job.due >= now else now + max(1, now - job.start - job.request.walltime)

    def check_normal_life(self, found: Standing) -> None:
        """Verify that a running service broke no promise, except because of a process that could not be killed."""
        if self.faults or found.broken == self.broken:
            return
        records = {id: ended_record(self.place.state, id) for id in found.jobs}
        overran = [
            id
            for id, job in found.jobs.items()
            if (r := records[id]) and r.end > job.start + job.request.walltime + 0.8
        ]
        assert overran, f"{found.broken - self.broken} promises were broken without an outage"

    # --------------------------------------------------------------------------------- what must hold at the end

    def finish(self) -> dict[int, dict[str, Any]]:
        """Let the remaining jobs end, and return all jobs."""
        service = self.service
        for job in service.jobs(ended=0)[:-6]:  # not all of them need to run for this
            if job["state"] in ("queued", "reserved"):
                self.clients[0].cancel(job["id"])  # it may have started since it was listed: then the answer says so
                assert job["id"] in self.clients[0].cancelled
        service.until(lambda: not service.jobs(ended=0), 90)
        health = service.health()
        known = service.jobs()
        frames = service.frames()
        left = marked_processes(self.place.inside)
        service.kill()
        assert (health["in_use"], health["queued"], health["running"]) == (0, 0, 0)
        assert [free for _, free in frames] == [PROCESSORS], "no processor is lost"
        assert left == {}, "no process is left"
        assert len({job["id"] for job in known}) == len(known)
        self.health = health
        return {job["id"]: job for job in known}

    def check_all(self, jobs: dict[int, dict[str, Any]]) -> None:
        assert [s for client in self.clients for s in client.surprises] == []
        answered = {key: job for client in self.clients for key, job in client.answered.items()}
        assert len(answered) > self.crashes, "the clients got through"
        ids = [job["id"] for job in answered.values()]
        assert len(set(ids)) == len(ids), "one job for two keys"
        for key, told in answered.items():
            assert told["id"] in jobs, f"the submission {key} was answered and is missing"
            self.check_job(key, told, jobs[told["id"]])
        names = [job["name"] for job in jobs.values()]
        assert len(set(names)) == len(names), "one request made two jobs"
        assert {key for client in self.clients for key in client.refused}.isdisjoint(names), "refused, and there"
        for client in self.clients:
            for id, (instant, told) in client.cancelled.items():
                self.check_cancelled(jobs[id], instant, told)
            for id, shapes in client.shapes.items():
                shape = jobs[id]["processors"], jobs[id]["walltime"]
                assert shape in shapes, f"it has the shape {shape}, and may have {shapes}: {jobs[id]}"
        sizes = {job["name"]: f"{job['processors']} {job['walltime']}\n" for job in jobs.values()}
        for proof in self.proofs.iterdir():
            assert proof.read_text() == sizes[proof.name], f"{proof.name} ran twice, or in another shape"
        ran = check_records(self.place.state, jobs, PROCESSORS)
        assert ran >= len(list(self.proofs.iterdir())) - len(self.lost)
        lost = {id for id, job in jobs.items() if job["state"] == "lost"}
        assert lost <= self.lost, "lost is only what left no trace"
        assert TRACEBACK not in self.service.said()
        late = [job for job in jobs.values() if job["start"] is not None and job["start"] > job["first_promise"]]
        assert len(late) <= self.health["promises_broken"]
        for job in late:
            # Its start was missed in an outage, or a job missed in an earlier outage came before it.
            assert any(outage.begin < job["start"] for outage in self.outages), f"late before any outage: {job}"
        print(
            f"\n{self.crashes} crashes, {len(jobs)} jobs, {ran} processes ran, {len(lost)} lost with their wrappers, "
            f"{self.health['promises_broken']} promises broken, {sum(c.failed_writes for c in self.clients)} refused, "
            f"{sum(job['reshaped'] is not None for job in jobs.values())} reshaped"
        )

    def check_job(self, key: str, told: dict[str, Any], job: dict[str, Any]) -> None:
        same = ["kind", "name", "class", "actuator", "submitted"]
        if job["reshaped"] is None:
            same += ["processors", "walltime", "first_promise"]
        assert job["reshaped"] is None or any(job["id"] in client.shapes for client in self.clients)
        assert {k: told[k] for k in same} == {k: job[k] for k in same}
        proof = self.proofs / key
        states = {"completed", "cancelled", "timeout", "failed"} | ({"lost"} if job["id"] in self.lost else set())
        assert job["state"] in states, f"{job}"
        if job["actuator"] == "process":
            if job["state"] == "completed":
                assert proof.exists(), f"{job} left no proof"
            if job["state"] == "failed" and not self.faults:
                assert job["exit_status"] == 3, f"{job}"
        else:
            assert job["state"] != "failed"
            assert not proof.exists()

    def check_cancelled(self, job: dict[str, Any], instant: float, told: dict[str, Any]) -> None:
        if told["state"] == "cancelled":
            assert job["state"] == "cancelled", job
            if told["start"] is None:
                assert job["start"] is None, f"it was cancelled before it started, as was told: {told}, and yet: {job}"
                assert not (directory_of(self.place.state, job["id"]) / "started.json").exists()
        elif told["state"] == "running" and job["actuator"] == "process":
            record = ended_record(self.place.state, job["id"])
            if record is None and job["id"] not in self.lost:
                # While nothing can be written, a job holds its processors before its process can be started.
                assert self.faults, f"it left no record of its end: {job}"
                assert self.started(job["id"]) == float("inf"), f"it started and left no record of its end: {job}"
                assert not (self.proofs / job["name"]).exists(), f"it ran without a record: {job}"
            if record is not None and record.message == NEVER_STARTED:
                # The service died before there was a process, and reported this after its restart.
                assert self.started(job["id"]) == float("inf"), f"it started, and its record denies it: {job}"
                assert not (self.proofs / job["name"]).exists(), f"it ran, and its record denies it: {job}"
                return
            assert record is None or record.end <= instant + CANCELLED_WITHIN or job["id"] in self.lost, (
                f"it went on for long: {job}"
            )


# -------------------------------------------------------------------------------------------------------------- tests


@pytest.mark.thorough
def test_a_start_that_was_noted_and_not_made_is_planned_again_with_its_whole_walltime(tmp_path, monkeypatch):
    """The service dies between the two, and stays away for longer than the walltime."""

    def die(runner, job):
        raise Died

    command = ("sh", "-c", "echo x >> proof; sleep 1.5")
    request = JobRequest("job", "job", 2, 3, actuator="process", command=command, directory=str(tmp_path), user="ada")
    first = LiveScheduler("s3", 4, tmp_path / "state")
    job, _ = first.submit(request)
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "begin", die)
        until(lambda: first.clock.now() >= job.promise)
        with pytest.raises(Died):
            first.jobs()
    first.stop()
    time.sleep(3)
    second = LiveScheduler("s3", 4, tmp_path / "state")
    try:
        assert second.job(job.id).state == "queued"
        assert second.health()["promises_broken"] == 1
        until(lambda: not second.job(job.id).active)
        done = second.job(job.id)
        assert (done.state, done.exit_status) == ("completed", 0)
        assert done.start > done.first_promise
        assert (tmp_path / "proof").read_text() == "x\n"
    finally:
        second.stop()


class Died(BaseException):
    """The service dies here."""


class Lives:
    """One job, the successive services that manage it, and its wrappers, which stay unseen until they come up."""

    def __init__(self, directory, monkeypatch):
        self.state, self.proof, self.patch = directory / "state", directory / "proof", monkeypatch
        self.made = []  # directories of wrappers that are still to start
        self.dying = ""
        self.patch.setattr(processes, "_start_wrapper", self._make)
        write = wrapper.write_record

        def write_record(path, record, **more):
            write(path, record, **more)
            if path.endswith("job.json") and self.dying == "the order is written":
                raise Died

        self.patch.setattr(wrapper, "write_record", write_record)
        self.live = LiveScheduler("s3", 4, self.state)
        command = ("sh", "-c", f"echo x >> {self.proof}; sleep 30")
        job, _ = self.live.submit(JobRequest("job", "job", 2, 60, actuator="process", command=command, user="ada"))
        self.id = job.id

    @property
    def job(self):
        """The job as stored, without bringing the service up to the present: looking starts nothing."""
        return self.live._book.jobs[self.id]

    def _make(self, directory):
        if self.dying == "the claim is lifted":
            raise Died
        self.made.append(directory)
        if self.dying == "the wrapper is made":
            raise Died

    def die_when(self, what):
        """Let the job's start come, and the service die in the middle of it."""
        self.dying = what
        with pytest.raises(Died):
            until(lambda: not self.live.jobs())
        promise = self.job.promise
        self.live.stop()
        until(lambda: self.live.clock.now() > promise)  # it is late by then, whatever the fraction of the second
        self.dying = ""

    def restart(self):
        self.live = LiveScheduler("s3", 4, self.state)

    def come_up(self):
        """Let all wrappers come up, and wait until each runs the job or has found it taken."""
        late = [subprocess.Popen([*wrapper.program(), str(place)], start_new_session=True) for place in self.made]
        self.made.clear()
        until(lambda: self.proof.exists() or all(each.poll() is not None for each in late))
        return late

    def runs(self):
        return self.proof.read_text() if self.proof.exists() else ""


ORDERS = ["the order is written", "the wrapper is made"]


@pytest.mark.parametrize("comes_up", ["before the restart", "before the cancellation", "after it", "after a restart"])
@pytest.mark.parametrize("dies", ORDERS)
def test_the_answer_to_a_cancellation_holds_whenever_a_wrapper_comes_up(tmp_path, monkeypatch, dies, comes_up):
    """The service dies while it starts the job, perhaps with a wrapper that the next service cannot see yet."""
    lives = Lives(tmp_path, monkeypatch)
    # planned again, it comes after this one: what is left before is too short
    everything = JobRequest("reservation", "all", 4, 60, actuator="simulated", start=lives.job.promise + 60, user="ada")
    lives.live.submit(everything)
    lives.made = [lives.live._book.runner.directory_of(lives.job)]  # whatever died, there may be one
    lives.die_when(dies)
    lives.made = lives.made[:1]
    late = lives.come_up() if comes_up == "before the restart" else []
    lives.restart()
    try:
        assert lives.live.job(lives.id).state == ("running" if comes_up == "before the restart" else "queued")
        late += lives.come_up() if comes_up == "before the cancellation" else []
        answered = lives.live.cancel(lives.id)
        late += lives.come_up() if comes_up == "after it" else []
        if comes_up == "after a restart":
            lives.live.stop()
            lives.restart()
            late += lives.come_up()
        until(lambda: lives.live.job(lives.id).state == "cancelled")
        assert [each.wait(10) for each in late] == [0]
        assert (answered.state, lives.runs()) == (
            ("running", "x\n") if comes_up == "before the restart" else ("cancelled", "")
        )
        assert (answered.to_wire()["start"] is None) == (lives.live.job(lives.id).to_wire()["start"] is None)
    finally:
        lives.live.stop()


@pytest.mark.parametrize("again", ["the order is written", "the claim is lifted", "the wrapper is made"])
def test_a_job_planned_again_runs_once_though_the_service_dies_again_in_its_start(tmp_path, monkeypatch, again):
    """Its second start revokes the withdrawal; if the service dies at any of these writes, the job stays withdrawn."""
    lives = Lives(tmp_path, monkeypatch)
    lives.die_when("the wrapper is made")
    lives.restart()
    lives.die_when(again)
    lives.restart()
    try:
        assert lives.job.state == "queued"
        assert {each.wait(10) for each in lives.come_up()} == {0}
        assert lives.runs() == "", "it waits, so that no wrapper may start it"
        until(lambda: lives.live.job(lives.id).state == "running" and lives.made)
        lives.made *= 2  # an earlier one and this one, at once
        late = lives.come_up()
        until(lives.runs)
        assert lives.live.cancel(lives.id).state == "running"
        until(lambda: not lives.live.job(lives.id).active)
        assert (lives.live.job(lives.id).state, lives.runs()) == ("cancelled", "x\n")
        assert [each.wait(10) for each in late] == [0, 0]
    finally:
        lives.live.stop()


def test_a_wrapper_that_died_before_it_took_its_job_is_replaced(tmp_path, monkeypatch):
    request = JobRequest("job", "job", 2, 30, actuator="process", command=("true",), user="ada")
    live = LiveScheduler("s3", 4, tmp_path / "state")
    try:
        begun = []

        def write_and_die(directory, *_, **__):
            begun.append((directory / "job.json").write_text("{}"))

        with monkeypatch.context() as patch:
            patch.setattr(processes, "start_process", write_and_die)
            job, _ = live.submit(request)
            until(lambda: live.job(job.id) and begun)
        until(lambda: not live.job(job.id).active)
        assert live.job(job.id).state == "completed"
    finally:
        live.stop()


def run(place: Place, directory: Path, seed: int, crashes: int, *, faults: bool) -> None:
    run = Run(place, directory, seed, faults)
    try:
        run.crash_again_and_again(crashes)
        run.check_all(run.finish())
    finally:
        run.service.kill()
        place.close()


def test_nothing_answered_is_lost_and_nothing_runs_twice(tmp_path):
    run(Place(tmp_path), tmp_path, 1, CRASHES or rounds(5), faults=False)


@pytest.mark.thorough
@pytest.mark.parametrize("place", [NoWrites, FullDisk])
def test_nothing_is_lost_when_writes_fail_too(tmp_path, place):
    run(place(tmp_path), tmp_path, 2, CRASHES or rounds(6), faults=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 8))
def test_hundreds_of_crashes(tmp_path, seed):
    run(Place(tmp_path), tmp_path, seed, CRASHES or 100, faults=False)
