"""The service is killed at random moments under a load of clients, and started again on the same state."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import requests

PROCESSORS = 4


class Service:
    """`gas serve` as a process that can be killed."""

    def __init__(self, state: Path, port: int = 0):
        command = [sys.executable, "-m", "gas", "serve", "--processors", str(PROCESSORS), "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, "--state", str(state)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found, "the service did not start"
        self.url = found[0]

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Client(threading.Thread):
    """Submits short jobs, each with a key of its own, and remembers which were answered."""

    def __init__(self, number: int, proofs: Path, seed: int):
        super().__init__()
        self.random = random.Random(f"{seed}-{number}")
        self.number, self.proofs = number, proofs
        self.url = ""
        self.halt = threading.Event()
        self.answered: dict[str, dict] = {}
        self.tried: list[str] = []

    def run(self):
        while not self.halt.is_set():
            key = f"{self.number}-{len(self.tried)}"
            self.tried.append(key)
            script = f"echo x >> {self.proofs / key}; sleep {self.random.choice(['0', '0.2', '0.6'])}"
            body = {
                "processors": self.random.randint(1, PROCESSORS),
                "walltime": self.random.randint(2, 6),
                "key": key,
                "actuator": {"kind": "process", "command": ["sh", "-c", script]},
            }
            try:
                answer = requests.post(f"{self.url}/v1/jobs", json=body, timeout=5)
                if answer.status_code == 201:
                    self.answered[key] = answer.json()
            except requests.RequestException:
                pass
            time.sleep(self.random.uniform(0.05, 0.3))


def check_usage(state: Path, jobs: dict[int, dict]) -> None:
    """The processes' own records: at no instant more processors in use than exist."""
    changes = []
    for id, job in jobs.items():
        directory = state / "jobs" / str(id)
        if not (directory / "started.json").exists():
            continue
        started = json.loads((directory / "started.json").read_text())
        ended = json.loads((directory / "ended.json").read_text())
        changes += [(started["start"], job["processors"]), (ended["end"], -job["processors"])]
    in_use = 0
    for _, change in sorted(changes):
        in_use += change
        assert in_use <= PROCESSORS


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_answered_is_lost_and_nothing_runs_twice(tmp_path, seed):
    chance = random.Random(seed)
    state, proofs = tmp_path / "state", tmp_path / "proofs"
    proofs.mkdir()
    service = Service(state)
    port = int(service.url.rpartition(":")[2])
    clients = [Client(n, proofs, seed) for n in range(4)]
    for client in clients:
        client.url = service.url
        client.start()
    for _ in range(4):
        time.sleep(chance.uniform(0.5, 2.0))
        service.kill()
        service = Service(state, port)
    for client in clients:
        client.halt.set()
    for client in clients:
        client.join()

    answered = {key: job for client in clients for key, job in client.answered.items()}
    assert len(answered) > 10, "the clients got through"
    deadline = time.monotonic() + 60
    while (active := requests.get(f"{service.url}/v1/jobs", timeout=10).json()["jobs"]) and time.monotonic() < deadline:
        for job in active[:-3]:  # not all of them need to run for this
            if job["state"] == "queued":
                requests.delete(f"{service.url}/v1/jobs/{job['id']}", timeout=10)
        time.sleep(0.2)
    known = requests.get(f"{service.url}/v1/jobs?ended=10000", timeout=10).json()["jobs"]
    health = requests.get(f"{service.url}/healthz", timeout=10).json()
    service.kill()

    by_id = {job["id"]: job for job in known}
    assert active == []
    assert len(by_id) == len(known)
    assert {job["id"] for job in answered.values()} <= by_id.keys()
    for key, job in answered.items():
        state_then = by_id[job["id"]]["state"]
        lines = (proofs / key).read_text().splitlines() if (proofs / key).exists() else []
        assert len(lines) <= 1, f"job {job['id']} ran twice"
        if state_then == "completed":
            assert lines == ["x"]
        assert state_then in ("completed", "cancelled", "timeout"), by_id[job["id"]]
    check_usage(state, by_id)
    late = [j for j in known if j["start"] is not None and j["start"] > j["first_promise"]]
    assert len(late) <= health["promises_broken"], "what the outages broke is counted, and nothing else is late"
    assert health["in_use"] == 0
