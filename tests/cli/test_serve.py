import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import requests
import trustme
from eventually import until

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


def test_it_stops_on_a_signal_and_leaves_jobs_running(tmp_path, gas):
    options = ("--processors", "2", "--state", str(tmp_path / "state"))
    (tmp_path / "app.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 2 = 50 }\n')
    service, url = start(*options)
    for number in (signal.SIGTERM, signal.SIGINT):
        proof = tmp_path / f"proof of {number}"
        command = f"sleep 2; echo lived > '{proof}'"
        job = gas("submit", str(tmp_path / "app.toml"), "-e", url, "--json", "--", "sh", "-c", command).json["job"]
        deadline = time.monotonic() + 30
        while requests.get(f"{url}/v1/jobs/{job['id']}", timeout=30).json()["state"] != "running":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        code, said = stop(service, number)
        assert (code, said.splitlines()[-1].startswith("stopped; running jobs continue")) == (0, True), said
        while not proof.exists():
            assert time.monotonic() < deadline, "the job went on while nobody served"
            time.sleep(0.05)
        service, url = start(*options)
        ended = gas("wait", str(job["id"]), "-e", url, "--json", "--timeout", "20s").json
        assert (ended["state"], ended["exit_status"]) == ("completed", 0)
    stop(service)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_comes_as_soon_as_it_is_ready_stops_it_as_well(tmp_path, number):
    service, _ = start("--processors", "2", "--state", str(tmp_path / "state"))
    code, said = stop(service, number)
    assert (code, said.splitlines()[-1].startswith("stopped;"), "never awaited" in said) == (0, True, False), said


def test_jobs_and_promises_survive_kill_9(tmp_path, gas, lu):
    service, url = start("--processors", "10", "--state", str(tmp_path / "state"))
    for _ in range(3):
        assert gas("submit", lu, "-e", url, "--simulate", "--json").code == 0
    time.sleep(1.1)  # jobs that start at once have started
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
        ("no. 1 in the log", "running"),
        ("no. 2 in the log", "running"),
        ("no. 3 in the log", "queued"),
        ("no. 4 in the log", "queued"),
        ("no. 5 in the log", "queued"),
        ("no. 6 in the log", "queued"),
    ]
    assert json.loads(gas("availability", "-e", url, "--json").out)["scheduler"] == "made-up"
    _, err = stop(service)
    assert "log: log, by courtesy of Somebody" in err


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--state", "NEW"], "--processors: is required", 2),
        (["--processors", "4", "--state", ""], "is empty; give a directory", 2),
        (["--processors", "0"], "--processors", 2),
        (["--processors", "4", "--host", "0.0.0.0"], "not a loopback address", 2),
        (["--processors", "4", "--clock-speed", "0"], "--clock-speed 0", 2),
        (["--processors", "4", "--clock-speed", "nan"], "--clock-speed nan", 2),
        (["--processors", "4", "--at", "5d"], "give the log with --trace", 2),
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


def test_the_state_knows_the_size_but_not_the_classes_and_nobody_else_reads_it(gas, lu, tmp_path):
    service, url = start("--processors", "4", "--state", str(tmp_path / "state"), "--classes", "urgent,low")
    gas("submit", lu, "-e", url, "--simulate", "--class", "urgent")
    _, err = stop(service)
    assert "class" not in err
    service, url = start("--state", str(tmp_path / "state"))
    assert gas("availability", "-e", url, "--json").json["processors"] == 4
    _, err = stop(service)
    assert f"state: {tmp_path / 'state'}" in err
    assert "1 job has an unknown class (urgent), which counts as the default class: --classes names classes" in err
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def test_a_store_of_another_size_is_refused(gas, tmp_path, lu):
    service, url = start("--processors", "4", "--state", str(tmp_path / "state"))
    assert gas("submit", lu, "-e", url, "--simulate").code == 0
    busy = gas("serve", "--port", "0", "--processors", "4", "--state", str(tmp_path / "state"))
    assert (busy.code, "another S³ is using it" in busy.err) == (1, True)
    stop(service)
    other = gas("serve", "--port", "0", "--processors", "5", "--state", str(tmp_path / "state"))
    assert (other.code, "belongs to a machine of 4 processors" in other.err) == (1, True)


@pytest.mark.thorough
def test_a_running_service_is_drained_and_stops_when_its_last_job_has_ended(tmp_path, gas):
    state = str(tmp_path / "state")
    service, url = start("--processors", "2", "--state", state)
    (tmp_path / "app.toml").write_text('[speedup]\nmodel = "table"\ntimes = { 2 = 50 }\n')
    submit = ["submit", str(tmp_path / "app.toml"), "-e", url, "--json", "--"]
    for n in (1, 2):
        script = f"until [ -e {tmp_path}/go{n} ]; do sleep 0.1; done; echo {n} >> {tmp_path}/proof"
        assert gas(*submit, "sh", "-c", script).code == 0
    said = tmp_path / "said"
    with said.open("w") as file:
        pipes = {"stdout": subprocess.PIPE, "stderr": file, "text": True}
        drain = subprocess.Popen([*GAS, "serve", "--drain", "--state", state], **pipes)
    until(lambda: requests.get(url + "/healthz", timeout=5).json()["accepting"] is False)
    until(lambda: "job 2 (app)" in said.read_text())
    refused = gas(*submit, "true")
    assert refused.code == 1
    assert "accepts no new jobs" in refused.err
    (tmp_path / "go1").touch()
    until(lambda: "1 job remains" in said.read_text())
    (tmp_path / "go2").touch()
    _, err = service.communicate(timeout=30)
    assert (service.returncode, "drained" in err) == (0, True)
    assert drain.communicate(timeout=10)[0] == "drained\n"
    named = said.read_text()
    both, one = (
        named.index("2 jobs remain:\n  job 1 (app), 2 processors,"),
        named.index("1 job remains:\n  job 2 (app)"),
    )
    assert both < one, "what remains is named, and again when a job has ended"
    assert (tmp_path / "proof").read_text() == "1\n2\n", "what was promised was kept"


def test_draining_a_state_that_nobody_serves_finishes_what_is_left_there(tmp_path, gas, lu):
    state = str(tmp_path / "state")
    service, url = start("--processors", "16", "--state", state, "--clock-speed", "100")
    assert gas("submit", lu, "-e", url, "--simulate").code == 0
    os.kill(service.pid, signal.SIGKILL)
    service.communicate()
    service, url = start("--state", state, "--drain", "--clock-speed", "100")
    assert service.wait(30) == 0
    service.communicate()


def test_tokens_are_found_in_the_state_and_needed_from_then_on(tmp_path, gas, monkeypatch):
    state = tmp_path / "state"
    token = gas("token", "add", "alice", "--state", str(state)).out.strip()
    service, url = start("--processors", "2", "--state", str(state), "--host", "0.0.0.0")
    url = url.replace("0.0.0.0", "127.0.0.1")
    refused = gas("status", "-e", url)
    assert (refused.code, "token" in refused.err) == (1, True)
    monkeypatch.setenv("GAS_TOKEN", token)
    assert gas("status", "-e", url).code == 0
    _, err = stop(service)
    assert "unencrypted" in err
    assert token not in err


def test_beyond_this_machine_it_wants_tokens_or_insistence(tmp_path, gas):
    refused = gas("serve", "--processors", "2", "--state", str(tmp_path / "state"), "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 2
    assert "--insecure" in refused.err
    service, _ = start("--processors", "2", "--state", str(tmp_path / "state"), "--host", "0.0.0.0", "--insecure")
    _, err = stop(service)
    assert "every user who can reach this address" in err


def test_it_speaks_tls(tmp_path, gas, monkeypatch):
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    options = ["--processors", "2", "--state", str(tmp_path / "state"), "--ssl-certfile", str(tmp_path / "server.pem")]
    command = [*GAS, "serve", "--port", "0", *options]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = re.search(r"https://\S+", service.stdout.readline())[0]
    assert gas("status", "-e", url).code == 4, "an authority that nobody named is not trusted"
    monkeypatch.setenv("GAS_CA_FILE", str(tmp_path / "ca.pem"))
    assert gas("status", "-e", url).code == 0
    stop(service)


@pytest.mark.parametrize("options", [("--ssl-keyfile", "x"), ("--ssl-certfile", "/nowhere"), ("--keep", "x")])
def test_options_that_cannot_be_used_are_refused(tmp_path, gas, options):
    result = gas("serve", "--processors", "2", "--state", str(tmp_path / "state"), "--port", "0", *options)
    assert result.code == 2
    assert options[0].removeprefix("--") in result.err


def test_the_log_is_json_lines_when_asked_for(tmp_path, gas, lu):
    service, url = start(
        "--processors", "16", "--state", str(tmp_path / "state"), "--log-format", "json", "--log-level", "info"
    )
    gas("submit", lu, "-e", url, "--simulate")
    _, err = stop(service)
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [line["state"] for line in lines if line.get("event") == "job"][:1] == ["queued"]
    assert all({"time", "level", "message"} <= line.keys() for line in lines)


@pytest.mark.thorough
def test_the_clock_is_reset_only_while_nothing_is_scheduled(tmp_path, gas):
    state = str(tmp_path / "state")
    service, url = start("--processors", "16", "--state", state, "--clock-speed", "1000")
    body = {"processors": 1, "walltime": 10**7, "actuator": {"kind": "simulated", "run_time": 10**7}}
    job = requests.post(f"{url}/v1/jobs", json=body, timeout=30).json()
    time.sleep(1)
    stop(service)
    refused = gas("serve", "--state", state, "--port", "0", "--reset-clock")
    assert (refused.code, "--reset-clock: the schedule contains 1 job" in refused.err) == (1, True), refused.err
    service, url = start("--state", state)
    assert gas("availability", "-e", url, "--json").json["now"] > time.time() + 500
    gas("cancel", str(job["id"]), "-e", url)
    stop(service)
    service, url = start("--state", state, "--reset-clock")
    assert abs(gas("availability", "-e", url, "--json").json["now"] - time.time()) < 60
    stop(service)


@pytest.mark.thorough
def test_a_state_without_its_tokens_is_not_opened_to_everybody(tmp_path, gas):
    state = tmp_path / "state"
    gas("token", "add", "alice", "--state", str(state))
    service, _ = start("--processors", "2", "--state", str(state))
    stop(service)
    (state / "tokens").unlink()
    refused = gas("serve", "--processors", "2", "--state", str(state), "--port", "0")
    assert (refused.code, "used with tokens" in refused.err) == (2, True)
    service, _ = start("--processors", "2", "--state", str(state), "--insecure")
    stop(service)
    service, _ = start("--processors", "2", "--state", str(state))
    stop(service)
