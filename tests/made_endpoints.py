"""Endpoints as third parties might write them, for tests: they join as plug-ins (`install`)."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from gas.availability import NodeAvailability, Spans
from gas.endpoints.endpoint import Endpoint, JobEndpoint, limits_from
from gas.errors import NotFound, Unreachable
from gas.planner import Limits
from gas.times import iso_time

ENTRY_POINTS = """[gas.endpoints]
nodes = made_endpoints:Nodes.configured
hanging = made_endpoints:Hanging.configured
queue = made_endpoints:Queue.configured
"""


def install(folder: Path, monkeypatch) -> None:
    """Make the endpoints of this module types of the configuration, in this process and in processes it starts."""
    metadata = folder / "made_endpoints-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-endpoints\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), here, os.environ.get("PYTHONPATH", "")]))


def node_list(now: int, scheduler: str = "itself") -> NodeAvailability:
    """Return two nodes of one processor that swap after 100 s: one is free at each moment, but not always the same."""
    taken = Spans.of([(0, now + 100, now + 1000, 1), (1, now, now + 100, 1)])
    return NodeAvailability(scheduler, "estimate", now, "1", np.array([1, 1]), taken, ("n0", "n1"))


class Nodes(Endpoint):
    """Has plans with nodes, and messages; its limits are known once it was asked."""

    def __init__(self, name: str, limits: Limits, now: int, remarks: tuple[str, ...], most: int | None) -> None:
        self.name, self.address, self.limits = name, f"nodes:{name}", limits
        self.remarks: tuple[str, ...] = ()
        self._now, self._told, self._most = now, remarks, most

    @classmethod
    def configured(cls, name, fields):
        now, most = fields.integer("now"), fields.integer("narrows_to", None)
        remarks = tuple(fields.value("remarks", []))
        limits = limits_from(fields)
        fields.done()
        return cls(name, limits, now, remarks, most)

    def availability(self) -> NodeAvailability:
        self.remarks = self._told
        if self._most is not None:
            self.limits = Limits(self._most, speed=self.limits.speed)
        return node_list(self._now)


class Hanging(Endpoint):
    """Never answers; notes on standard error that it was asked."""

    def __init__(self, name: str, timeout: float) -> None:
        self.name, self.address, self.limits, self.timeout = name, f"hanging:{name}", Limits(), timeout

    @classmethod
    def configured(cls, name, fields):
        endpoint = cls(name, fields.number("timeout"))
        fields.done()
        return endpoint

    def availability(self):
        print("asked", file=sys.stderr, flush=True)
        while True:
            time.sleep(3600)


def job(id: int, state: str, *, expected: int | None = None, **more) -> dict:
    """Return a job as described by a scheduler whose starts are estimates."""
    found = {
        "id": id, "kind": "job", "user": "me", "mine": True, "name": f"j{id}", "state": state, "processors": 4,
        "walltime": 60, "actuator": "made", "command": [], "run_time": None, "exit_status": None, "signal": None,
        "message": None,
    }  # fmt: skip
    instants = dict.fromkeys(
        ("submitted", "not_before", "promise", "first_promise", "broken_promise", "start", "due", "finished")
    )
    instants["expected"] = expected
    instants |= {key: more.pop(key) for key in list(more) if key in instants}
    for key, instant in instants.items():
        found[key] = instant
        found[f"{key}_iso"] = None if instant is None else iso_time(instant)
    return found | more


class Queue(JobEndpoint):
    """Takes jobs, so it claims; a file holds its answers about them, a list for each time it is asked.

    A text in place of a list is an error to fail with; the last answer repeats.
    """

    limits = Limits()

    def __init__(self, name: str, path: str) -> None:
        self.name, self.address = name, f"queue:{path}"
        self._rounds = json.loads(Path(path).read_text())
        self.reserved: dict | None = None

    @classmethod
    def configured(cls, name, fields):
        endpoint = cls(name, fields.text("path"))
        fields.done()
        return endpoint

    def availability(self):
        raise Unreachable(f"{self.name}: shows no plans today")

    def _next(self) -> list[dict]:
        current = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        if isinstance(current, str):
            raise Unreachable(current)
        return current

    def job(self, id):
        for one in self._next():
            if one["id"] == id:
                self._latest = one
                return one
        raise NotFound(f"{self.name}: there is no job {id}")

    def jobs(self, ended):
        return self._next()

    def reserve(self, name, processors, start, walltime, key=None):
        return job(9, "reserved", name=name, processors=processors, walltime=walltime, expected=start,
                   due=start + walltime)  # fmt: skip

    def job_by_key(self, key):
        return None

    def in_doubt(self, key):
        return False

    def submit(self, request, job, key=None):
        raise NotImplementedError

    def output(self, id, stream, limit, after=None):
        """The last answer holds the output of a job."""
        text = self._latest.get("output")
        if text is None:
            raise NotFound(f"{self.name}: the output of job {id} is not here")
        return text.encode()[after:][:limit]

    def cancel(self, id):
        raise NotImplementedError
