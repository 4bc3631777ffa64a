"""A real service, real processes, and clocks that are set, sleep or stop while it runs."""

import os
import signal
import sys
import time

import pytest
from service_process import Place, Service, shell

HOUR = 3600

HURRIED = """
import runpy, sys
import gas.service.clock
gas.service.clock.SETTLE_SECONDS = 1.0
sys.argv = ["gas", *sys.argv[sys.argv.index("serve"):]]
runpy.run_module("gas", run_name="__main__")
"""


@pytest.fixture
def serve(tmp_path):
    """Start a service that follows a step after a second, on the same state each time."""
    program = tmp_path / "hurried.py"
    program.write_text(HURRIED)
    services = []

    def serve(*options):
        place = Place(tmp_path)
        place.prefix = [sys.executable, str(program)]
        services.append(Service(place, *options, log=tmp_path / "log"))
        return services[-1].ready()

    yield serve
    for job in services[-1].jobs(ended=0):
        services[-1].request("DELETE", f"/v1/jobs/{job['id']}")
    services[-1].until(lambda: not services[-1].health()["running"])
    services[-1].kill()


def accepted(service, body):
    answer = service.submit(body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def offset(service):
    return service.get("/v1/machine").json()["clock_offset"]


def state_of(service, job):
    return service.job(job["id"])["state"]


@pytest.mark.thorough
def test_a_step_ahead_is_followed_and_no_walltime_shortened(clock_shim, serve):
    service = serve()
    job = accepted(service, shell(4, 10, "sleep 600"))
    behind = service.simulated(4, 100)
    service.until(lambda: state_of(service, job) == "running")
    clock_shim.set(HOUR)
    service.until(lambda: offset(service) <= -HOUR + 5)
    assert service.health()["status"] == "degraded"
    service.until(lambda: offset(service) == 0)
    assert service.health()["status"] == "ok"
    moved = service.job(job["id"])
    assert abs(moved["due"] - (job["due"] + HOUR)) <= 1
    assert service.job(behind["id"])["broken_promise"] == behind["promise"]
    service.until(lambda: state_of(service, job) == "timeout", seconds=60)
    ended = service.job(job["id"])
    assert ended["finished"] - ended["start"] >= 9, "all of its walltime"


@pytest.mark.thorough
def test_a_step_back_breaks_no_promise_also_over_a_kill(clock_shim, serve):
    service = serve()
    job = accepted(service, shell(3, 600, "sleep 600"))
    behind = service.simulated(4, 100)
    service.until(lambda: state_of(service, job) == "running")
    clock_shim.set(-24 * HOUR)
    before = service.get("/v1/availability").json()["now"]
    service.until(lambda: service.health()["status"] == "degraded")
    assert "ahead of the machine's" in service.health()["problem"]
    service.kill()
    after = serve()
    assert after.get("/v1/availability").json()["now"] >= before
    assert after.frames()[0][1] == 1
    assert after.job(behind["id"])["promise"] == behind["promise"]
    assert after.health()["promises_broken"] == 0


@pytest.mark.thorough
def test_a_wall_clock_set_ahead_deletes_no_output(clock_shim, serve):
    service = serve("--keep", "30d")
    job = accepted(service, shell(4, 10, "echo kept"))
    service.until(lambda: state_of(service, job) == "completed")
    service.kill()
    clock_shim.set(100 * 24 * HOUR)
    after = serve("--keep", "30d")
    after.until(lambda: after.health()["status"] == "ok" and offset(after) == 0)
    assert any("the clock has jumped by 100d" in remark for remark in after.health()["remarks"])
    after.kill()
    again = serve("--keep", "30d")
    time.sleep(0.5)
    assert again.get(f"/v1/jobs/{job['id']}/output").text == "kept\n"


@pytest.mark.thorough
def test_a_machine_that_has_slept_is_where_it_should_be(clock_shim, serve):
    service = serve()
    service.simulated(4, 10)
    missed = accepted(service, shell(4, 600, "sleep 600"))
    clock_shim.set(HOUR, HOUR)
    service.until(lambda: state_of(service, missed) == "running")
    late = service.job(missed["id"])
    assert late["broken_promise"] == missed["promise"]
    assert late["start"] >= missed["promise"] + HOUR - 60
    assert (offset(service), service.health()["status"]) == (0, "ok")


@pytest.mark.thorough
def test_a_walltime_counts_the_machine_s_sleep(clock_shim, serve):
    """Both the service's and the wrapper's clocks count it, so both see the same end."""
    service = serve()
    job = accepted(service, shell(4, 600, "touch begun; sleep 600"))
    service.until(lambda: any(service.place.state.glob("jobs/*/*/begun")))
    clock_shim.set(HOUR, HOUR)
    service.until(lambda: state_of(service, job) == "timeout")
    assert service.job(job["id"])["finished"] - job["promise"] > HOUR - 60


@pytest.mark.thorough
def test_a_stopped_service_says_that_it_was(serve):
    service = serve()
    service.simulated(4, 2)
    missed = accepted(service, shell(4, 600, "sleep 600"))
    service.until(lambda: state_of(service, missed) in ("queued", "running"))
    os.kill(service.pid, signal.SIGSTOP)
    time.sleep(4)
    os.kill(service.pid, signal.SIGCONT)
    service.until(lambda: state_of(service, missed) == "running")
    text = service.get("/metrics").text
    paused = next(float(line.split()[1]) for line in text.splitlines() if line.startswith("gas_paused_seconds_total"))
    assert paused > 2
    assert "the service did not run for" in service.said()
