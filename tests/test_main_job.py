"""The main job on real input: S³ in a separate process, loaded with a log, planned with and submitted to."""

import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from workloads import estimates, lublin, write_swf

GAS = [sys.executable, "-m", "gas"]


@pytest.fixture
def asked(gas):
    """A command's JSON output, when all goes well."""

    def asked(*arguments):
        done = gas(*arguments[:1], "--json", *arguments[1:])
        assert done.code == 0, done.err
        return done.json

    return asked


@contextmanager
def serving(state: Path, *options):
    """A service in a separate process; its address."""
    command = [*GAS, "serve", "--state", str(state), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as service:
        try:
            line = service.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, service.stderr.read()
            yield found[0]
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(20)
    assert "Traceback" not in service.stderr.read() if not service.stderr.closed else True


@pytest.fixture(params=["made up", "KTH-SP2"])
def log(request, tmp_path):
    """A log file: one of the Lublin-Feitelson model, and the real one if at hand."""
    if request.param == "KTH-SP2":
        return request.getfixturevalue("traces") / "KTH-SP2-1996-2.1-cln.swf.gz", "100"
    generator = np.random.default_rng(2)
    generated = lublin.generate(1500, 100, generator=generator, load=0.8)
    requested = estimates.uniform_factor(generated.run_time, 5.0, generator)
    path = tmp_path / "made-up.swf.gz"
    write_swf(generated.with_columns(requested_time=requested), path)
    return path, "100"


@pytest.mark.thorough(but=["made up"])
def test_a_job_is_planned_submitted_and_run_no_later_than_promised(log, lu, tmp_path, asked):
    path, size = log
    with serving(tmp_path / "state", "--trace", str(path), "--at", "longest-queue", "--processors", size) as url:
        health = asked("endpoints", "-e", url)["endpoints"][0]
        assert (health["processors"], health["kind"]) == (100, "promise")
        queued = [j for j in asked("status", "-e", url)["jobs"] if j["state"] == "queued"]
        assert len(queued) >= 5, "the machine is meant to be crowded"

        plan = asked("plan", lu, "-e", url)
        assert [c["finish"] for c in plan["candidates"]] == sorted(c["finish"] for c in plan["candidates"])
        proof = tmp_path / "proof"
        script = f"echo {{processors}} $GAS_PROCESSORS > {proof}; date +%s >> {proof}"
        submission = asked("submit", lu, "-e", url, "--", "sh", "-c", script)
        job, best = submission["job"], submission["plan"]["best"]
        assert job["promise"] <= best["start"] + 2, "the promise is what was planned with"
        # Jobs under the log's load must start soon, or this test would wait for hours.
        assert job["promise"] - job["submitted"] < 20

        ended = asked("wait", str(job["id"]), "-e", url, "--timeout", "60s")
        assert ended["state"] == "completed"
        assert ended["start"] <= ended["first_promise"]
        sizes, began = proof.read_text().splitlines()
        assert sizes == f"{best['processors']} {best['processors']}"
        assert int(began) <= ended["first_promise"] + 1


@pytest.mark.thorough(but=["made up"])
def test_nobody_in_the_log_is_started_later_than_promised(log, lu, tmp_path, asked):
    path, size = log
    options = ("--trace", str(path), "--at", "longest-queue", "--processors", size, "--clock-speed", "20000")
    with serving(tmp_path / "state", *options) as url:
        promised = {j["id"]: j["first_promise"] for j in asked("status", "-e", url)["jobs"]}
        mine = asked("submit", lu, "-e", url, "--simulate")["job"]
        promised[mine["id"]] = mine["first_promise"]
        deadline = time.monotonic() + 40
        while asked("status", "-e", url)["jobs"] and time.monotonic() < deadline:
            time.sleep(0.5)
        ended = asked("status", "-e", url, "--ended", "9999")["jobs"]
        started = {j["id"]: j["start"] for j in ended if j["start"] is not None}
        assert len(set(started) & set(promised)) > len(promised) // 2
        late = [id for id, start in started.items() if id in promised and start > promised[id]]
        assert late == []
