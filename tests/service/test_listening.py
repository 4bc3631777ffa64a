import os
import re
import socket
import subprocess
import sys

import pytest
import requests

from gas.errors import BadInput, Unreachable
from gas.service.listening import listen, passed_socket, url_of


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.53"])
def test_it_listens_on_loopback(host):
    with listen(host, 0) as listener:
        assert url_of(listener).startswith("http://")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "no such host", ""])
def test_without_access_control_it_listens_nowhere_else(host):
    with pytest.raises(BadInput, match="host"):
        listen(host, 0)


def test_with_access_control_or_when_told_to_it_listens_anywhere():
    with listen("0.0.0.0", 0, anywhere=True) as listener:
        assert url_of(listener, "https").startswith("https://0.0.0.0:")


def test_a_port_that_is_taken_is_named():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Unreachable, match=f"port {port} .*--port"):
            listen("127.0.0.1", port)


def test_without_systemd_nothing_is_passed(monkeypatch):
    monkeypatch.delenv("LISTEN_FDS", raising=False)
    assert passed_socket() is None


def test_what_was_passed_to_another_process_is_not_taken(monkeypatch):
    monkeypatch.setenv("LISTEN_FDS", "1")
    monkeypatch.setenv("LISTEN_PID", "1")
    assert passed_socket() is None
    assert "LISTEN_FDS" not in os.environ


STARTED_BY_SYSTEMD = 'fd=$1; shift; [ $fd = 3 ] || exec 3<&$fd; LISTEN_PID=$$ exec "$@"'


def start(tmp_path, passed, *options, count=1):
    """Start `gas serve` as systemd does: the socket is descriptor 3, and LISTEN_PID the process itself."""
    command = ["bash", "-c", STARTED_BY_SYSTEMD, "systemd", str(passed.fileno()), sys.executable, "-m", "gas", "serve"]
    return subprocess.Popen(
        [*command, "--processors", "4", "--state", str(tmp_path / "state"), *options],
        env={**os.environ, "LISTEN_FDS": str(count), "LISTEN_FDNAMES": "s3.socket"},
        pass_fds=[passed.fileno()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.thorough
def test_it_answers_on_a_socket_of_systemd_which_outlives_it(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as passed:
        url = url_of(passed)
        with start(tmp_path, passed) as service:
            # the request is made before the service is up: it waits in the socket
            body = {"processors": 1, "walltime": 60, "actuator": {"kind": "process", "command": ["env"]}}
            job = requests.post(f"{url}/v1/jobs", json=body, timeout=60).json()
            assert url in service.stdout.readline()
            with requests.get(f"{url}/v1/events", stream=True, timeout=60) as events:
                for line in events.iter_lines():
                    if re.search(rb'"state": ?"completed"', line):
                        break
                    if requests.get(f"{url}/v1/jobs/{job['id']}", timeout=10).json()["state"] == "completed":
                        break
            output = requests.get(f"{url}/v1/jobs/{job['id']}/output", timeout=10).text
            assert "PATH=" in output
            assert "LISTEN_" not in output
            service.terminate()
            service.communicate()
            assert service.returncode == 0
        with socket.create_connection(passed.getsockname(), timeout=10):
            pass  # nobody was turned away


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["udp", "unix", "two", "everywhere"])
def test_a_socket_that_it_cannot_use_is_refused_with_the_reason(kind, tmp_path):
    made = {
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix": lambda: socket.socket(socket.AF_UNIX),
        "two": lambda: socket.create_server(("127.0.0.1", 0)),
        "everywhere": lambda: socket.create_server(("0.0.0.0", 0)),
    }[kind]
    reason = {"two": "one ListenStream=", "everywhere": "not a loopback address"}.get(kind, "is not a TCP socket")
    with made() as passed, start(tmp_path, passed, count=2 if kind == "two" else 1) as service:
        _, said = service.communicate()
    assert service.returncode == 2
    assert reason in said
