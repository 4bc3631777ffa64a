"""A scheduler that allows changes to waiting jobs; a test writes its queue as a story. Joins as a plug-in."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from made_endpoints import job

from gas import AvailabilityList
from gas.endpoints import JobEndpoint, Standing
from gas.errors import Conflict, NotFound
from gas.planner import Limits
from gas.profile.flat import NEVER

NOW = 1_731_000_000
ENTRY_POINTS = "[gas.endpoints]\nmolding = made_reshaping:Molding.configured\n"
STORIES: dict[str, Story] = {}


def install(folder: Path, monkeypatch) -> None:
    """Make `Molding` a type of the configuration, in this process and in processes it starts."""
    metadata = folder / "made_reshaping-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-reshaping\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(Path(__file__).parent), *sys.path[:1]]))


class Story:
    """A queue with one job, number 7, which asks for 4 processors for 180 s, and a clock; instants count from 0.

    Attributes
    ----------
    frames
        What the job could get: instants, and the processors free from then on.
    late
        By size, how many seconds later than by the frames the scheduler plans it.
    lag
        Seconds from a change to the plan that reflects it.
    refusals
        By size, the error that a request for it raises.
    """

    def __init__(self) -> None:
        self.clock = 0
        self.frames: list[tuple[int, int]] = [(0, 0), (60, 4), (660, 16)]
        self.late: dict[int, int] = {}
        self.lag = 0
        self.refusals: dict[int, Exception] = {}
        self.asked: list[tuple[int, int, int]] = []
        self.events: list[tuple[int, Callable[[], None]]] = []
        self.record: dict[str, Any] = job(7, "queued", name="lu", processors=4, walltime=180)
        self.version = self.plan = 0
        self.failure: Exception | None = None
        self.replan()

    # what happens

    def at(self, instant: int, *actions: Callable[[], None]) -> None:
        """Have an event happen."""
        self.events += [(instant, action) for action in actions]
        self.events.sort(key=lambda event: event[0])

    def change(self, *frames: tuple[int, int]) -> None:
        """Change the queue; the plan follows later."""
        self.frames = list(frames) or self.frames
        self.version += 1
        self.at(self.clock + self.lag, self.replan)
        self._tell()

    def replan(self) -> None:
        """Let the scheduler plan."""
        self.plan += 1
        if self.record["state"] == "queued":
            size = self.record["processors"]
            start = self.availability().anchors(np.array([size]), np.array([self.record["walltime"]]), 0)[0]
            self.expect(None if start == NEVER else int(start) - NOW + self.late.get(size, 0))

    def expect(self, start: int | None) -> None:
        self.record["expected"] = None if start is None else NOW + start

    def becomes(self, state: str, **more: Any) -> None:
        """Let the job start, or end."""
        instants = {key: NOW + more.pop(key) for key in ("start", "finished") if key in more}
        self.record |= {"state": state, **more, **instants}
        self.record |= {f"{key}_iso": "" for key in instants}
        self.version += 1

    def fails(self, error: Exception | None) -> None:
        """Have the scheduler stop answering, or answer again."""
        self.failure = error

    # the program's view of time

    def time(self) -> float:
        return NOW + self.clock

    def monotonic(self) -> float:
        return 1000.0 + self.clock

    def sleep(self, seconds: float) -> None:
        end = self.clock + int(seconds)
        assert end < 100_000, "the program never ends"
        while self.clock < end:
            self.clock += 1
            self._tell()

    def _tell(self) -> None:
        while self.events and self.events[0][0] <= self.clock:
            self.events.pop(0)[1]()

    # the program's view of the queue

    def availability(self) -> AvailabilityList:
        now = max((start for start, _ in self.frames if start <= self.clock), default=0)
        kept = [(max(start, self.clock), free) for start, free in self.frames if start >= now]
        starts, free = zip(*kept, strict=True)
        return AvailabilityList.of(
            [NOW + start for start in starts], free, processors=16, scheduler="kth", kind="estimate",
            version=str(self.plan),
        )  # fmt: skip


class Molding(JobEndpoint):
    """The endpoint of a story."""

    limits = Limits()

    def __init__(self, name: str) -> None:
        self.name, self.address, self.story = name, f"molding:{name}", STORIES[name]

    @classmethod
    def configured(cls, name, fields):
        fields.done()
        return cls(name)

    def availability(self):
        return self.story.availability()

    def standing(self, id):
        self._answer(id)
        story = self.story
        seen = story.availability() if story.record["state"] == "queued" else None
        return Standing(dict(story.record), seen, f"{story.version} {story.record['expected']}")

    def reshape(self, id, processors, walltime, *, start_by=None):
        self._answer(id)
        story = self.story
        story.asked.append((story.clock, processors, walltime))
        if processors in story.refusals:
            raise story.refusals[processors]
        if story.record["state"] != "queued":
            raise Conflict(f"{self.name}: job {id} is no longer waiting ({story.record['state']})")
        story.record |= {"processors": processors, "walltime": walltime}
        story.change()
        return dict(story.record)

    def job(self, id):
        self._answer(id)
        return dict(self.story.record)

    def _answer(self, id):
        if self.story.failure is not None:
            raise self.story.failure
        if id != 7:
            raise NotFound(f"{self.name}: there is no job {id}")

    def jobs(self, ended):
        raise NotImplementedError

    submit = reserve = in_doubt = job_by_key = output = cancel = jobs
