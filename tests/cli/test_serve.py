import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

GAS = [sys.executable, "-m", "gas"]


def start(*options):
    command = [*GAS, "serve", "--port", "0", *options]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = service.stdout.readline()
    found = re.search(r"http://\S+", line)
    assert found, service.stderr.read()
    return service, found[0]


def stop(service, number=signal.SIGTERM):
    service.send_signal(number)
    _, err = service.communicate(timeout=20)
    assert "Traceback" not in err
    return service.returncode, err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_on_a_signal_and_leaves_jobs_running(tmp_path, gas, number):
    service, url = start("--processors", "2", "--state", str(tmp_path / "state"))
    (tmp_path / "app.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 2 = 50 }\n')
    command = f"sleep 2; echo lived > {tmp_path}/proof"
    job = gas("submit", str(tmp_path / "app.toml"), "-e", url, "--json", "--", "sh", "-c", command).json["job"]
    stop(service, number)
    assert not (tmp_path / "proof").exists()
    deadline = time.monotonic() + 10
    while not (tmp_path / "proof").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    service, url = start("--processors", "2", "--state", str(tmp_path / "state"))
    ended = gas("wait", str(job["id"]), "-e", url, "--json", "--timeout", "20s").json
    assert (ended["state"], ended["exit_status"]) == ("completed", 0)
    stop(service)


def test_jobs_and_promises_survive_kill_9(tmp_path, gas, lu):
    service, url = start("--processors", "10", "--state", str(tmp_path / "state"))
    for _ in range(3):
        assert gas("submit", lu, "-e", url, "--simulate", "--json").code == 0
    time.sleep(1.1)  # what starts at once has started
    before = gas("status", "-e", url, "--json").json["jobs"]
    os.kill(service.pid, signal.SIGKILL)
    service.communicate()
    service, url = start("--processors", "10", "--state", str(tmp_path / "state"))
    after = gas("status", "-e", url, "--json").json["jobs"]
    assert [(j["id"], j["promise"], j["processors"]) for j in after] == [
        (j["id"], j["promise"], j["processors"]) for j in before
    ]
    stop(service)


def test_it_begins_with_the_jobs_of_a_log(tmp_path, gas):
    lines = ["; MaxProcs: 8", "; UnixStartTime: 1000000000", "; Acknowledge: Somebody"]
    lines += [f"{i + 1} {i * 60} -1 {5000} 4 -1 -1 4 6000 -1 1 1 1 1 1 -1 -1 -1" for i in range(6)]
    (tmp_path / "log.swf").write_text("\n".join(lines) + "\n")
    options = ("--at", "100%", "--state", str(tmp_path / "s"), "--name", "made-up")
    service, url = start("--trace", str(tmp_path / "log.swf"), *options)
    jobs = gas("status", "-e", url, "--json").json["jobs"]
    assert [(j["name"], j["state"]) for j in jobs] == [
        ("log job 1", "running"),
        ("log job 2", "running"),
        ("log job 3", "queued"),
        ("log job 4", "queued"),
        ("log job 5", "queued"),
        ("log job 6", "queued"),
    ]
    assert json.loads(gas("availability", "-e", url, "--json").out)["scheduler"] == "made-up"
    _, err = stop(service)
    assert "log: Somebody" in err


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--state", "NEW"], "--processors: say how large", 2),
        (["--processors", "0"], "--processors", 2),
        (["--processors", "4", "--host", "0.0.0.0"], "not a loopback address", 2),
        (["--processors", "4", "--clock-speed", "0"], "--clock-speed 0", 2),
        (["--processors", "4", "--clock-speed", "nan"], "--clock-speed nan", 2),
        (["--processors", "4", "--at", "5d"], "name the log with --trace", 2),
        (["--processors", "4", "--name", "a b"], "--name 'a b'", 2),
        (["--trace", "nowhere.swf"], "nowhere.swf", 2),
        (["--processors", "4", "--port", "70000"], "--port", 2),
        (["--processors", "4", "--state", "/proc/nowhere"], "--state /proc/nowhere", 2),
    ],
)
def test_what_it_refuses(gas, tmp_path, options, message, code):
    options = [str(tmp_path / "new") if option == "NEW" else option for option in options]
    result = gas("serve", "--port", "0", *options)
    assert (result.code, message in result.err) == (code, True), result.err


def test_the_state_knows_the_size_and_nobody_else_reads_it(gas, tmp_path):
    service, _ = start("--processors", "4", "--state", str(tmp_path / "state"))
    stop(service)
    service, url = start("--state", str(tmp_path / "state"))
    assert gas("availability", "-e", url, "--json").json["processors"] == 4
    _, err = stop(service)
    assert f"state: {tmp_path / 'state'}" in err
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def test_a_store_of_another_size_is_refused(gas, tmp_path):
    service, _ = start("--processors", "4", "--state", str(tmp_path / "state"))
    busy = gas("serve", "--port", "0", "--processors", "4", "--state", str(tmp_path / "state"))
    assert (busy.code, "another S³ is using it" in busy.err) == (1, True)
    stop(service)
    other = gas("serve", "--port", "0", "--processors", "5", "--state", str(tmp_path / "state"))
    assert (other.code, "belongs to a machine of 4 processors" in other.err) == (1, True)
