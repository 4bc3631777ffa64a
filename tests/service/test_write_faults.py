"""The disk is full or refuses every write while the service works: it says so, and memory never differs from disk.

The disk is a small file system that is really filled; an operating system limit on file size refuses every write of the
running service; and the file system is really read-only while it starts.
"""

import time

import pytest
from service_process import TRACEBACK, FullDisk, NoWrites, Place, Service, check_records, directory_of, shell, simulated

PROCESSORS = 4
WEIGHT = {"actuator": {"kind": "process", "command": ["true"], "environment": {"WEIGHT": "x" * 3000}}}
"""A submission that needs more room than the store's earlier writes left over."""


ON_A_DISK_OF_ITS_OWN = pytest.mark.parametrize("place", [FullDisk], indirect=True, ids=["disk"])


@pytest.fixture(params=[FullDisk, NoWrites], ids=["disk full", "no writes"])
def place(request, tmp_path):
    place = request.param(tmp_path)
    yield place
    place.close()


@pytest.fixture
def start(place: Place, tmp_path):
    """Start the service, repeatedly."""
    services = []

    def begin(ready=True):
        for service in services:
            service.kill()
        service = Service(place, log=tmp_path / "log", processors=PROCESSORS)
        services.append(service)
        return service.ready() if ready else service

    yield begin
    for service in services:
        if service.process.poll() is None and service.url:
            for job in service.jobs(ended=0):
                service.request("DELETE", f"/v1/jobs/{job['id']}")
            service.until(lambda service=service: service.health()["running"] == 0)
        service.kill()
    assert TRACEBACK not in (tmp_path / "log").read_text()


def fill_schedule(service):
    """Submit jobs that run and wait for the whole test; return a running, a waiting and a reserved one."""
    blocker = service.simulated(PROCESSORS - 1, 5000)
    process = service.submit(shell(1, 4000, "sleep 4000")).json()
    waiting = [service.simulated(size, 100) for size in (1, 2, 4)]
    start = int(time.time()) + 20_000
    reservation = service.request("POST", "/v1/reservations", {"processors": 2, "start": start, "walltime": 50}).json()
    service.until(lambda: service.job(blocker["id"])["state"] == "running")
    service.until(lambda: (directory_of(service.place.state, process["id"]) / "started.json").exists())
    return process["id"], waiting[-1]["id"], reservation["id"]


def seen(service):
    """Return the visible schedule."""
    return service.jobs(), service.frames()


def refused(service, key):
    """Submit until refused: some may still fit in room from the store's earlier writes. Return the accepted jobs."""
    accepted = []
    for n in range(2000):
        before = seen(service)
        answer = service.submit({"processors": 1, "walltime": 60, "key": f"{key}-{n}", **WEIGHT})
        if answer.status_code == 503:
            assert answer.json()["error"]["kind"] == "StoreFailed"
            assert "store" in answer.json()["error"]["message"]
            assert seen(service) == before
            return accepted, f"{key}-{n}"
        assert answer.status_code == 201, answer.text
        accepted.append(answer.json()["id"])
    raise AssertionError("no write has failed")


@pytest.mark.thorough(but=1)
def test_what_cannot_be_written_is_answered_as_failed_and_does_not_happen(place, start):
    service = start()
    process, waiting, reservation = fill_schedule(service)
    assert service.get("/healthz").status_code == 200
    assert service.health()["status"] == "ok"
    with place.fault(service):
        accepted, key = refused(service, "fault")
        before = seen(service)
        for method, path, body in [
            ("POST", "/v1/jobs", {"processors": 4, "walltime": 9, "key": key, **WEIGHT}),
            ("POST", "/v1/reservations", {"processors": 1, "start": int(time.time()) + 9000, "walltime": 10}),
            ("DELETE", f"/v1/jobs/{waiting}", None),
            ("DELETE", f"/v1/jobs/{reservation}", None),
        ]:
            answer = service.request(method, path, body)
            assert (answer.status_code, answer.json()["error"]["kind"]) == (503, "StoreFailed"), (method, path)
            assert seen(service) == before
        health = service.get("/healthz")
        assert health.status_code == 503
        assert health.json()["status"] == "degraded"
        assert health.json()["problem"]
        assert service.job(process)["state"] == "running"
    assert seen(service) == before
    service.until(lambda: service.submit({"processors": 1, "walltime": 60, "key": key, **WEIGHT}).status_code == 201)
    assert len(service.jobs()) == len(before[0]) + 1
    health = service.get("/healthz")
    assert (health.status_code, health.json()["status"], health.json()["problem"]) == (200, "ok", None)
    after = seen(service)
    service = start()
    assert seen(service) == after
    assert set(accepted) <= {job["id"] for job in service.jobs()}


@pytest.mark.thorough
def test_killed_in_the_fault_it_comes_back_with_everything_that_it_had_answered(place, start):
    service = start()
    process, _, _ = fill_schedule(service)
    with place.fault(service):
        accepted, _ = refused(service, "fault")
        before = seen(service)
        service.kill()
    service = start()
    assert seen(service) == before
    assert set(accepted) <= {job["id"] for job in before[0]}
    assert service.job(process)["state"] == "running"
    assert service.simulated(1, 10)["id"] not in {job["id"] for job in before[0]}


@pytest.mark.thorough
@ON_A_DISK_OF_ITS_OWN
def test_started_on_a_full_disk_it_says_so_or_serves(place, start, tmp_path):
    """Either way, there is no traceback and no loss."""
    service = start()
    fill_schedule(service)
    before = seen(service)
    service.kill()
    with place.fault(service):
        service = start(ready=False)
        first = service.process.stdout.readline()
        if "http" not in first:
            assert service.process.wait(20) not in (0, None)
            assert "internal error" not in service.said()
            assert "full" in service.said().splitlines()[-1]
    service = start()
    assert seen(service) == before


@pytest.mark.thorough
def test_what_falls_due_in_the_fault_happens_after_it_once(place, start, tmp_path):
    proofs = tmp_path / "proofs"
    proofs.mkdir()
    service = start()
    runs = service.submit(shell(1, 60, f"echo x >> {proofs}/runs; sleep 2; exit 3")).json()["id"]
    service.until(lambda: (proofs / "runs").exists())
    due = int(time.time()) + 3
    waits = service.submit(shell(2, 60, f"echo x >> {proofs}/waits", not_before=due)).json()["id"]
    with place.fault(service):
        refused(service, "fault")
        service.until(lambda: time.time() > due + 2)
        answer = service.get(f"/v1/jobs/{waits}")  # it may be unable to say so, as it cannot record a start
        assert answer.status_code in (200, 503)
        if isinstance(place, NoWrites):
            assert answer.status_code == 503 or answer.json()["state"] == "queued"
            assert not (proofs / "waits").exists(), "a start that is not on disk has not happened"
    service.until(lambda: service.job(waits)["state"] == "completed")
    service.until(lambda: service.job(runs)["state"] == "failed")
    assert service.job(runs)["exit_status"] == 3
    assert (proofs / "runs").read_text() == (proofs / "waits").read_text() == "x\n"
    job = service.job(waits)
    assert (job["start"] > job["first_promise"]) == (service.health()["promises_broken"] > 0)
    service.until(lambda: not service.jobs(ended=0))
    check_records(place.state, {job["id"]: job for job in service.jobs()}, PROCESSORS)


@pytest.mark.thorough
@ON_A_DISK_OF_ITS_OWN
def test_a_store_on_a_read_only_file_system_is_refused_and_stays_as_it_is(tmp_path, start, place):
    service = start()
    running, *_ = [service.simulated(size, 5000)["id"] for size in (3, 4, 1)]
    service.until(lambda: service.job(running)["state"] == "running")
    before = seen(service)
    service.kill()
    with place.read_only():
        service = start(ready=False)
        assert service.process.wait(30) not in (0, None)
        last = service.said().strip().splitlines()[-1].lower()
        assert "read-only" in last or "readonly" in last
    service = start()
    assert seen(service) == before
    assert service.submit(simulated(1, 10)).status_code == 201
