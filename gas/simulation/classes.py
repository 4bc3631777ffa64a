"""Classes of a log's jobs, by user, group, queue or partition, highest first; and the metrics of each class.

``urgent=user:3,17`` is the class of the jobs of users 3 and 17. A name alone, ``others``, is the position of all jobs
without a class, by default after all classes. A job belongs to the first class that names it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from gas.errors import BadInput
from gas.simulation.metrics import job_figures, means
from gas.simulation.schedule import Schedule
from workloads import Log, RigidJobs

__all__ = ["JobClass", "class_documents", "parse_classes", "priorities_of"]

Field = Literal["user", "group", "queue", "partition"]

OTHERS = "others"


@dataclass(frozen=True)
class JobClass:
    """A class: jobs whose field in the log has one of some numbers; without a field, all jobs without a class."""

    name: str
    field: Field | None = None
    numbers: tuple[int, ...] = ()


def parse_classes(texts: Sequence[str]) -> tuple[JobClass, ...]:
    """Return the classes from options, highest first; none without options.

    Raises
    ------
    BadInput
        A text is not of the form ``NAME=FIELD:NUMBER,NUMBER`` or ``NAME``, or a name occurs twice.
    """
    found = [_parsed(text) for text in texts]
    if any(each.name == OTHERS and each.field is not None for each in found):
        raise BadInput(f"--class {OTHERS}: is the name of all other jobs; use another one")
    if found and all(each.field is not None for each in found):
        found.append(JobClass(OTHERS))
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"--class {name}: occurs twice; give each class once, highest first")
    if sum(each.field is None for each in found) > 1:
        rest = " and ".join(each.name for each in found if each.field is None)
        raise BadInput(f"--class: {rest} both take all other jobs; give one of them a field")
    return tuple(found)


def _parsed(text: str) -> JobClass:
    match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:=([a-z]+):(\d{1,15}(?:,\d{1,15})*))?", text, re.ASCII)
    if match is None or match[2] not in (None, *get_args(Field)):
        raise BadInput(
            f"--class {text}: write NAME=FIELD:NUMBER,NUMBER, for example urgent=user:3,17; FIELD is one of "
            f"{', '.join(get_args(Field))}; a NAME alone takes all other jobs"
        )
    numbers = tuple(int(number) for number in match[3].split(",")) if match[3] else ()
    return JobClass(match[1], cast("Field | None", match[2]), numbers)


def priorities_of(classes: Sequence[JobClass], jobs: RigidJobs, log: Log) -> NDArray[np.int64]:
    """Return the priority of each job: 0 for all others, 1 and more for the classes before them.

    Raises
    ------
    BadInput
        A class has no job, or the log has no such field.
    """
    rest = next(place for place, each in enumerate(classes) if each.field is None)
    place = np.full(len(jobs), rest, np.int64)
    for number, each in reversed(list(enumerate(classes))):
        if each.field is None:
            continue
        of_class = np.isin(getattr(log, each.field)[jobs.row], each.numbers)
        if not of_class.any():
            known = np.unique(getattr(log, each.field)[jobs.row])
            few = ", ".join(map(str, known[known >= 0][:10].tolist()))
            shown = f"the log has {few}{' and more' if len(known) > 10 else ''}" if few else "the log has none"
            raise BadInput(f"--class {each.name}: no simulated job has such a {each.field}; {shown}")
        place[of_class] = number
    return rest - place


def class_documents(
    classes: Sequence[JobClass], priorities: NDArray[np.int64], schedule: Schedule
) -> list[dict[str, Any]]:
    """Return the metrics of each class as JSON, also under a policy that ignores classes."""
    rest = next(place for place, each in enumerate(classes) if each.field is None)
    figures = job_figures(schedule)
    found = []
    for number, each in enumerate(classes):
        chosen = priorities == rest - number
        if chosen.any():
            found.append({"class": each.name, "jobs": int(np.count_nonzero(chosen)), **vars(means(figures.of(chosen)))})
    return found
