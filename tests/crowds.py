"""Many concurrent clients of a service; run as a program, one user who behaves as badly as the limits allow.

    python crowds.py URL TOKEN SECONDS

The bad user's clients run in a separate process, so that they do not block other clients in the interpreter.
"""

from __future__ import annotations

import http.client
import json
import random
import sys
import threading
import time
from collections import defaultdict
from urllib.parse import urlsplit

from service_process import shell


class Client(threading.Thread):
    """Makes one request after the other on a connection of its own, until the end."""

    def __init__(self, url, token, until, act):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        self.headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self.until, self.act = until, act
        self.random = random.Random(id(self))
        self.took = defaultdict(list)
        self.answers = defaultdict(int)
        self.surprises = []
        self.mine = []

    def run(self):
        try:
            while time.monotonic() < self.until:
                self.act(self)
        except Exception as error:  # a thread's error must not go unnoticed
            self.surprises.append(repr(error))
        finally:
            self.connection.close()

    def ask(self, kind, method, path, body=None, allowed=(200, 201)):
        began = time.perf_counter()
        data = json.dumps(body) if isinstance(body, dict) else body
        self.connection.request(method, path, data, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        self.took[kind].append(time.perf_counter() - began)
        self.answers[kind, answer.status] += 1
        assert answer.status in allowed, f"{method} {path}: {answer.status} {text[:300]}"
        return json.loads(text)


def run_all(clients):
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert [surprise for client in clients for surprise in client.surprises] == []
    took = defaultdict(list)
    for client in clients:
        for kind, times in client.took.items():
            took[kind] += times
    return took


LARGE = {"kind": "process", "command": ["true", *["x" * 120_000] * 15]}  # 1.8 MB
BODIES = [json.dumps({"processors": n, "walltime": 3600, "actuator": LARGE}).encode() for n in (1, 3, 8)]
SMALL = shell(1, 600, "true")


def storm(client):
    """Fill the quota with large commands, and cancel them in a random order, which promotes all others."""
    answer = {}
    while "error" not in answer and len(client.mine) < 20:
        answer = client.ask("large", "POST", "/v1/jobs", client.random.choice(BODIES), allowed=(201, 403))
        if "id" in answer:
            client.mine.append(answer["id"])
    client.random.shuffle(client.mine)
    while len(client.mine) > 5:
        client.ask("withdraw", "DELETE", f"/v1/jobs/{client.mine.pop()}")


def many(client):
    """Submit small jobs, and cancel the first ones."""
    client.mine.append(client.ask("many", "POST", "/v1/jobs", SMALL)["id"])
    if len(client.mine) > 60:
        client.ask("withdraw", "DELETE", f"/v1/jobs/{client.mine.pop(0)}")


def lists(client):
    """Request a whole page again and again."""
    client.ask("list", "GET", "/v1/jobs?ended=10000")


def follow(client):
    """Follow the events."""
    client.connection.request("GET", "/v1/events", headers=client.headers)
    answer = client.connection.getresponse()
    while time.monotonic() < client.until and answer.readline():
        pass


def behave_badly(url, token, seconds):
    """Return the durations of each kind of request, and the answers to the large ones."""
    until = time.monotonic() + seconds
    clients = [Client(url, token, until, act) for act in [storm] * 4 + [many] * 4 + [lists] * 2 + [follow] * 4]
    took = run_all(clients)
    refused = sum(client.answers["large", 403] for client in clients)
    return {"took": took, "refused": refused}


if __name__ == "__main__":
    print(json.dumps(behave_badly(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
