"""A disk that fails while a change is made durable: the answer is true, whatever happens to the service next."""

import pytest
from service_process import TRACEBACK, Place, Service, simulated

WAL = "*s3.sqlite-wal"


@pytest.fixture
def place(tmp_path, fsync_shim):
    place = Place(tmp_path)
    place.prefix = ["env", *(f"{name}={value}" for name, value in fsync_shim.variables.items())]
    return place


@pytest.fixture
def start(place, fsync_shim, tmp_path):
    services = []

    def begin():
        for service in services:
            service.kill()
        fsync_shim.rules()
        services.append(Service(place, log=tmp_path / "log"))
        return services[-1].ready()

    yield begin
    for service in services:
        service.kill()
    assert TRACEBACK not in (tmp_path / "log").read_text()


def kind_of(answer):
    assert answer.status_code == 503, answer.text
    return answer.json()["error"]["kind"]


def keys(service, *wanted):
    return {key for key in wanted if service.get(f"/v1/jobs?key={key}").json()["jobs"]}


@pytest.mark.thorough
def test_what_was_answered_as_not_done_is_not_done_after_a_kill(start, fsync_shim):
    service = start()
    kept = service.simulated(1, 1000, key="kept")["id"]
    service.until(lambda: service.job(kept)["state"] == "running")  # no write of its start meets the failure
    fsync_shim.rules(f"fail 5 fsync {WAL} 1 1")
    answer = service.submit(simulated(1, 1000, key="refused"))
    assert kind_of(answer) == "StoreFailed"
    assert "nothing was changed" in answer.json()["error"]["message"]
    service = start()
    assert keys(service, "kept", "refused") == {"kept"}
    fsync_shim.rules(f"fail 5 fsync {WAL} 1 1")
    assert kind_of(service.request("DELETE", f"/v1/jobs/{kept}")) == "StoreFailed"
    service = start()
    assert service.job(kept)["state"] == "running", "not cancelled, as was answered"


@pytest.mark.thorough
def test_what_may_be_on_disk_is_answered_as_in_doubt_and_the_same_key_finds_out(start, fsync_shim):
    service = start()
    fsync_shim.rules(f"fail 5 fsync {WAL}")
    answers = [service.submit(simulated(1, 1000, key="doubtful")) for _ in range(2)]
    assert {kind_of(answer) for answer in answers} == {"StoreInDoubt"}
    assert "same key" in answers[0].json()["error"]["message"]
    health = service.get("/healthz")
    assert (health.status_code, health.json()["status"]) == (503, "degraded")
    assert kind_of(service.get("/v1/jobs?key=doubtful")) == "StoreInDoubt", "nobody knows"
    service = start()
    found = keys(service, "doubtful")
    settled = service.submit(simulated(1, 1000, key="doubtful"))
    assert settled.status_code == (200 if found else 201)
    assert service.submit(simulated(1, 1000, key="doubtful")).json()["id"] == settled.json()["id"]


@pytest.mark.thorough
def test_doubt_ends_with_the_first_write_that_succeeds(start, fsync_shim):
    service = start()
    fsync_shim.rules(f"fail 5 fsync {WAL}")
    assert kind_of(service.submit(simulated(1, 1000, key="doubtful"))) == "StoreInDoubt"
    fsync_shim.rules()
    service.until(lambda: service.get("/healthz").status_code == 200)
    assert keys(service, "doubtful") == set()
    service = start()
    assert keys(service, "doubtful") == set(), "and no later life finds it"
