"""The availability list: what a scheduler says it has free, and until when (`gas guide formats`).

The paper's section 4.3 lists frames (from, to, free processors); here they adjoin, half-open, and the last one has no
end. `AvailabilityList` is what the planner reads; `read_availability` and `AvailabilityList.from_wire` refuse
everything that breaks the format, naming the frame.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gas.compiled import fastest
from gas.errors import BadInput
from gas.json_text import parsed
from gas.printable import first_control
from gas.profile import Profile, earliest_fits, profile_of
from gas.times import LATEST
from speedup_models.fields import FieldError, Fields, shown

__all__ = ["MOST_PROCESSORS", "SCHEMA", "AvailabilityList", "Frame", "Kind", "parse_json", "read_availability"]

SCHEMA = "gas.availability/1"

MOST_PROCESSORS = 2**31 - 1
"""The largest machine there is."""

Kind = Literal["promise", "estimate"]


class Frame(NamedTuple):
    """One time frame ``[start, end)``; the last one's end is None."""

    start: int
    end: int | None
    free: int


@dataclass(frozen=True, eq=False)
class AvailabilityList:
    """Free processors per future time frame of one scheduler.

    Attributes
    ----------
    kind
        "promise": a start that the list shows will not get later (S³); "estimate": it may.
    now
        The instant (epoch seconds) at which the list was made, and its first frame starts.
    version
        Changes with the schedule, never with the clock alone.
    starts, free
        int64, one entry a frame.
    """

    scheduler: str
    kind: Kind
    now: int
    processors: int
    version: str
    starts: NDArray[np.int64]
    free: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        starts: ArrayLike,
        free: ArrayLike,
        *,
        processors: int | None = None,
        scheduler: str = "machine",
        kind: Kind = "promise",
        version: str = "",
    ) -> AvailabilityList:
        """Return a list from the starts of its frames and what is free in each, checked like one from outside."""
        start_list, free_list = np.asarray(starts).tolist(), np.asarray(free).tolist()
        if len(start_list) != len(free_list):
            raise BadInput(f"availability: {len(start_list)} starts of frames, but free processors in {len(free_list)}")
        ends = [*start_list[1:], None][: len(start_list)]
        return cls.from_wire(
            {
                "schema": SCHEMA,
                "scheduler": scheduler,
                "kind": kind,
                "now": start_list[0] if start_list else 0,
                "processors": max(free_list, default=0) if processors is None else processors,
                "version": version,
                "frames": [
                    {"start": s, "end": e, "free": f} for s, e, f in zip(start_list, ends, free_list, strict=True)
                ],
            },
            "availability",
        )

    @property
    def counts(self) -> AvailabilityList:
        """The list itself: how much is free at each moment, as `gas.node_availability.NodeAvailability.counts`."""
        return self

    @property
    def profile(self) -> Profile:
        """The same steps as a `Profile` (a copy)."""
        return profile_of(self.starts, self.free)

    def anchors(self, processors: NDArray[np.int64], walltimes: NDArray[np.int64], first: int) -> NDArray[np.int64]:
        """Return the earliest start, not before `first`, of each request; `gas.profile.NEVER` where there is none.

        Processors ascend strictly.
        """
        found = np.empty(len(processors), np.int64)
        steps = len(self.starts) + len(processors)
        fastest(earliest_fits, steps)(self.profile, processors, walltimes, first, found)
        return found

    @property
    def frames(self) -> list[Frame]:
        """The frames one by one."""
        starts = self.starts.tolist()
        return [Frame(s, e, f) for s, e, f in zip(starts, [*starts[1:], None], self.free.tolist(), strict=True)]

    def to_wire(self) -> dict[str, Any]:
        """Return the list as the JSON object of the wire format."""
        return {
            "schema": SCHEMA,
            "scheduler": self.scheduler,
            "kind": self.kind,
            "now": self.now,
            "processors": self.processors,
            "version": self.version,
            "frames": [frame._asdict() for frame in self.frames],
        }

    @classmethod
    def from_wire(cls, document: object, place: str) -> AvailabilityList:
        """Read the JSON object of the wire format.

        Raises
        ------
        FieldError
            Anything that breaks the format; the message starts with `place` and names the frame.
        """
        fields = Fields(document, place)
        fields.text("schema", choices=[SCHEMA])
        scheduler = fields.text("scheduler")
        if (control := first_control(scheduler)) is not None:
            raise fields.fail("scheduler", f"{shown(scheduler)} holds {control}; a name is one line of plain text")
        kind = fields.text("kind", choices=["promise", "estimate"])
        now = fields.integer("now", minimum=0, maximum=LATEST)
        processors = fields.integer("processors", minimum=1, maximum=MOST_PROCESSORS)
        version = fields.value("version")
        if not isinstance(version, str):
            raise fields.fail("version", f"{shown(version)} is not a text; write it in quotes")
        frames = fields.value("frames")
        fields.done()
        if not isinstance(frames, list) or not frames:
            raise fields.fail("frames", "must be a list of at least one frame")
        starts, free = _frames(frames, now, processors, place)
        return cls(scheduler, kind, now, processors, version, starts, free)


def _frames(frames: list[Any], now: int, processors: int, place: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check the frames one by one and return their starts and free processors."""
    starts, free = [], []
    expected, before = now, None
    last = len(frames) - 1
    for i, frame in enumerate(frames):
        here = f"{place} frames[{i}]"
        if not isinstance(frame, Mapping) or len(frame) != 3 or not {"start", "end", "free"} <= frame.keys():
            fields = Fields(frame, here)
            for key in ("start", "end", "free"):
                fields.value(key)
            fields.done()
        start, end, count = frame["start"], frame["end"], frame["free"]
        if type(start) is not int or type(count) is not int:
            key = "start" if type(start) is not int else "free"
            raise FieldError(f"{here} {key}", f"{shown(frame[key])} is not a whole number")
        if start != expected:
            if i == 0:
                raise FieldError(f"{here} start", f"{shown(start)} is not now ({now}); the first frame starts at now")
            word = "a gap" if start > expected else "an overlap"
            raise FieldError(
                f"{here} start",
                f"{shown(start)} leaves {word}: frames[{i - 1}] ends at {expected}; they must adjoin",
            )
        if not 0 <= count <= processors:
            raise FieldError(f"{here} free", f"{shown(count)} is outside 0 to {processors}, the machine's processors")
        if count == before:
            raise FieldError(
                f"{here} free", f"is {count} like in frames[{i - 1}]; neighbours differ, so make them one frame"
            )
        if i == last:
            if end is not None:
                raise FieldError(f"{here} end", f"{shown(end)}: the last frame has no end; write null")
        else:
            if type(end) is not int:
                problem = "only the last frame may be without an end" if end is None else "is not a whole number"
                raise FieldError(f"{here} end", f"{shown(end)}: {problem}")
            if end <= start:
                raise FieldError(f"{here} end", f"{shown(end)} is not after its start {start}")
            if end > LATEST:
                raise FieldError(f"{here} end", f"{shown(end)} is above {LATEST}, the last instant possible")
            expected = end
        starts.append(start)
        free.append(count)
        before = count
    return np.array(starts, np.int64), np.array(free, np.int64)


def parse_json(text: str | bytes, place: str) -> Any:
    """Return a JSON document, or raise `BadInput` that says where it breaks."""
    try:
        return parsed(text)
    except json.JSONDecodeError as error:
        raise BadInput(f"{place}: not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: not JSON: not UTF-8 text at byte {error.start}") from None
    except ValueError as error:
        raise BadInput(f"{place}: not usable JSON: {str(error).split(';')[0]}") from None


MOST_FILE_BYTES = 2**26
"""64 MiB: a list of a million frames has some 60."""


def _bytes_of(path: Path, place: str) -> bytes:
    """Return what is in a file that has an end; a pipe waits until its writer has begun."""
    with path.open("rb") as file:
        text = file.read(MOST_FILE_BYTES + 1)
    if len(text) > MOST_FILE_BYTES:
        raise BadInput(f"{place}: has more than {MOST_FILE_BYTES >> 20} MiB, the limit for a list")
    return text


def read_availability(path: str | Path) -> AvailabilityList:
    """Return the availability list in a file, or on standard input for ``-``."""
    place = "standard input" if str(path) == "-" else str(path)
    try:
        text = sys.stdin.buffer.read() if str(path) == "-" else _bytes_of(Path(path), place)
    except OSError as error:
        raise BadInput(f"{place}: cannot be read: {error.strerror}") from None
    except BadInput:
        raise
    except ValueError:  # a null character in it
        raise BadInput(f"{str(path)!r}: cannot be read: not a valid file name") from None
    if not text.strip():
        raise BadInput(f"{place}: is empty; an availability list is a JSON object with schema {SCHEMA}")
    return AvailabilityList.from_wire(parse_json(text, place), place)
