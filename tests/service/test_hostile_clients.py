"""One user, or somebody without a token, takes all that can be had; another user's submissions are still answered.

The attacks are those of ``tests/hostile_clients.py``, from a separate process; the service may open 1024 files, the
default of most systems. The other user's waits are shown with -s, beside those without an attack.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import hostile_clients
import pytest
from service_process import TRACEBACK, Place, Service, simulated

from gas.service.token_file import add_token

SECONDS = float(os.environ.get("GAS_LOAD_SECONDS", "0"))

ATTACKS = {
    "half_open": 2000,
    "dripping_heads": 700,
    "slow_bodies": 300,
    "deaf": 40,
    "slow_readers": 40,
    "streams": 300,
    "slow_streams": 300,
    "idle": 600,
    "pipelines": 20,
    "plans": 60,
    "lists": 30,
    "outputs": 30,
    "strangers": 100,
    "bodies": 20,
    "junk": 15,
}
"""The number of clients in each attack."""


class Site:
    """A service with two users: mallory, who attacks, and bob."""

    def __init__(self, directory):
        state = directory / "state"
        state.mkdir(mode=0o700)
        self.tokens = {user: add_token(state / "tokens", user)[0] for user in ("mallory", "bob")}
        place = Place(directory)
        place.prefix = ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh"]
        self.service = Service(place, log=directory / "log", processors=1000).ready()
        self.address = urlsplit(self.service.url).netloc
        writes = ["sh", "-c", "head -c 3000000 /dev/zero"]
        self.submit("mallory", {**simulated(1, 100), "actuator": {"kind": "process", "command": writes}})
        for _ in range(200):
            self.submit("mallory", simulated(1000, 10_000))
        self.undisturbed = self.took(0.5)

    def ask(self, user, method, path, body=None):
        """Return the status and the text of an answer, over a new connection."""
        connection = http.client.HTTPConnection(self.address, timeout=20)
        try:
            headers = {"Authorization": f"Bearer {self.tokens[user]}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def submit(self, user, body):
        status, text = self.ask(user, "POST", "/v1/jobs", body)
        assert status == 201, text
        return json.loads(text)["id"]

    def took(self, seconds):
        """Return, sorted, how long bob's submissions took, one by one, each on a new connection."""
        took, until = [], time.monotonic() + seconds
        while time.monotonic() < until or len(took) < 5:
            began = time.perf_counter()
            id = self.submit("bob", simulated(1, 100))
            took.append(time.perf_counter() - began)
            assert self.ask("bob", "DELETE", f"/v1/jobs/{id}")[0] == 200
        return sorted(took)

    def attack(self, what):
        port = self.address.rpartition(":")[2]
        command = [sys.executable, hostile_clients.__file__, what, port, self.tokens["mallory"], str(ATTACKS[what])]
        attacker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert attacker.stdout.readline().strip() == hostile_clients.BEGUN
        return attacker


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("hostile"))
    yield made
    made.service.kill()
    assert TRACEBACK not in made.service.said()


def quantile(took, share):
    return took[min(len(took) - 1, int(len(took) * share))]


def shown(took):
    return "   ".join(f"p{share * 100:.0f} {quantile(took, share) * 1e3:.1f} ms" for share in (0.5, 0.9, 0.99))


@pytest.mark.thorough
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("seconds", [SECONDS or 0.2, pytest.param(SECONDS or 20, marks=pytest.mark.long)])
def test_other_users_are_answered(site, attack, seconds):
    before = site.took(min(seconds, 3)) if seconds >= 1 else site.undisturbed
    attacker = site.attack(attack)
    try:
        during = site.took(seconds)
        assert site.service.health()["status"] == "ok", "who has no token can still ask that"
    finally:
        attacker.kill()
        attacker.wait()
        attacker.stdout.close()
    print(f"\n{attack:15} {ATTACKS[attack]:4} clients   before {shown(before)}   during {shown(during)}")
    if seconds >= 5:
        assert quantile(during, 0.9) < 0.5, "the rest is shown: the attacker shares these processors"
    memory = int(Path(f"/proc/{site.service.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert memory < 2**30
