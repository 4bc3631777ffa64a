"""Many clients at once submit, cancel and read: no errors, and never more processors in use than there are.

GAS_LOAD_SECONDS is the duration (3 s by default, two minutes in the long run). The 99th percentile of requests' waits
is shown with -s.
"""

import http.client
import json
import os
import random
import threading
import time
from collections import defaultdict
from urllib.parse import urlsplit

import pytest
from service_process import TRACEBACK, Place, Service, check_records, marked_processes, shell, simulated
from thorough import rounds

PROCESSORS = 16
SECONDS = float(os.environ.get("GAS_LOAD_SECONDS", "0"))

QUEUED = 300
"""Clients cancel rather than submit when more jobs wait."""


class Client(threading.Thread):
    """Sends one request after another on a connection of its own."""

    def __init__(self, number, url, until):
        super().__init__(name=f"client-{number}")
        self.number, self.until = number, until
        self.random = random.Random(number)
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        self.took = defaultdict(list)
        self.surprises = []
        self.mine = []
        self.queued = self.made = 0

    def run(self):
        try:
            if self.number % 16 == 0:
                self.follow()
            while time.monotonic() < self.until:
                self.act()
        except Exception as error:  # a thread's error must not go unnoticed
            self.surprises.append(repr(error))
        finally:
            self.connection.close()

    def act(self):
        dice = self.random.random()
        if dice < 0.4 and self.queued < QUEUED:
            self.submit()
        elif dice < (0.55 if self.queued < QUEUED else 0.9) and self.mine:
            id = self.mine.pop(self.random.randrange(len(self.mine)))
            self.ask("cancel", "DELETE", f"/v1/jobs/{id}")
        elif dice < 0.75 and self.mine:
            self.ask("job", "GET", f"/v1/jobs/{self.random.choice(self.mine)}")
        elif dice < 0.8:
            self.ask("jobs", "GET", "/v1/jobs")
        elif dice < 0.93:
            self.ask("availability", "GET", "/v1/availability")
        else:
            self.queued = self.ask("machine", "GET", "/v1/machine")["queued"]

    def submit(self):
        size, walltime = self.random.choice([1, 1, 2, 3, 5, PROCESSORS]), self.random.randint(2, 8)
        self.made += 1
        key = f"{self.number}-{self.made}"
        if self.random.random() < 0.3:
            body = shell(size, walltime, self.random.choice(["true", "sleep 0.3", "sleep 1"]), key=key)
        elif self.random.random() < 0.9:
            body = simulated(size, walltime, self.random.randint(0, 3), key=key)
        else:
            start = int(time.time()) + self.random.randint(30, 90)  # with this many clients, an answer takes seconds
            span = {"processors": 1, "start": start, "walltime": walltime, "start_by": start + 36_000, "key": key}
            self.mine.append(self.ask("reserve", "POST", "/v1/reservations", span)["id"])
            return
        self.mine.append(self.ask("submit", "POST", "/v1/jobs", body)["id"])

    def ask(self, kind, method, path, body=None):
        began = time.perf_counter()
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        answer = self.connection.getresponse()
        text = answer.read()
        self.took[kind].append(time.perf_counter() - began)
        assert answer.status in (200, 201), f"{method} {path} {body}: {answer.status} {text[:300]}"
        return json.loads(text)

    def follow(self):
        """Have a second thread read the event stream meanwhile."""
        self.events = threading.Thread(target=self.read_events, name=f"events-{self.number}")
        self.events.start()

    def read_events(self):
        connection = http.client.HTTPConnection(self.connection.host, self.connection.port, timeout=30)
        try:
            connection.request("GET", "/v1/events")
            answer = connection.getresponse()
            assert answer.status == 200
            names = set()
            while time.monotonic() < self.until:
                line = answer.readline()
                if line.startswith(b"event:"):
                    names.add(line.split(b":")[1].strip())
            assert b"machine" in names
            assert b"job" in names
        except Exception as error:
            self.surprises.append(f"events: {error!r}")
        finally:
            connection.close()


def shown(took):
    """Return a line for each kind of request: the count, and the median and the 99th percentile of the time taken."""
    lines = []
    for kind in sorted(took):
        times = sorted(took[kind])
        half, most = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
        lines.append(f"{kind:14}{len(times):7} requests   p50 {half * 1e3:6.1f} ms   p99 {most * 1e3:6.1f} ms")
    return lines


LONG = [pytest.param(SECONDS or 120, clients, marks=pytest.mark.long) for clients in (64, 200)]


@pytest.mark.thorough
@pytest.mark.parametrize(("seconds", "many"), [(SECONDS or rounds(3), 64), *LONG])
def test_many_clients_at_once(tmp_path, seconds, many):
    place = Place(tmp_path)
    service = Service(place, log=tmp_path / "log", processors=PROCESSORS).ready()
    try:
        until = time.monotonic() + seconds
        clients = [Client(n, service.url, until) for n in range(many)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
            if client.number % 16 == 0:
                client.events.join()
        took = defaultdict(list)
        for client in clients:
            for kind, times in client.took.items():
                took[kind] += times
        print("", f"{many} clients for {seconds:g} s", *shown(took), sep="\n")
        assert [s for client in clients for s in client.surprises] == []
        finish(service)
        known = {job["id"]: job for job in service.jobs()}
        answered = len(took["submit"]) + len(took["reserve"])
        assert service.job(answered)["id"] == answered, "one job for each submission"
        ran = check_records(place.state, known, PROCESSORS)
        assert ran > seconds / 3, "processes ran"
        assert [job for job in known.values() if job["state"] in ("failed", "lost")] == []
        assert marked_processes(place.inside) == {}
        assert service.health()["in_use"] == 0
        assert TRACEBACK not in service.said()
    finally:
        service.kill()


def finish(service):
    """Cancel waiting jobs, and wait for running ones."""
    for job in service.jobs(ended=0):
        if job["state"] != "running":
            assert service.request("DELETE", f"/v1/jobs/{job['id']}").status_code == 200
    service.until(lambda: not service.jobs(ended=0))
