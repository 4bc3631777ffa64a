"""Classes of jobs: their order, their permitted users, and their priorities.

Classes matter when processors become free: jobs of higher classes then move to earlier starts before others
(`gas.s3.placing`). No promise gets later because of them. A job keeps the name of its class, and the options of the
present service define its priority, so a site can change its classes between two runs. A removed class counts as the
default.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gas.errors import BadInput, Forbidden
from gas.printable import many

__all__ = ["CLASS_NAME", "CLASS_NAME_IN_WORDS", "MOST_CLASSES", "NO_CLASSES", "Classes"]

CLASS_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
CLASS_NAME_IN_WORDS = "up to 64 letters, digits, ., - and _, a letter or digit first"
"""Valid names of classes."""

MOST_CLASSES = 100


@dataclass(frozen=True)
class Classes:
    """The classes of a service.

    Parameters
    ----------
    names
        The names, highest class first; empty if there are no classes.
    default
        The class of jobs that name none; None for the lowest.
    users
        The permitted users of a class; classes that are not listed here are open to all.

    Raises
    ------
    BadInput
        A name is invalid or occurs twice, or the default or a list of users names an unknown class.
    """

    names: tuple[str, ...] = ()
    default: str | None = None
    users: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.names) > MOST_CLASSES:
            raise BadInput(f"--classes: names {len(self.names)} classes; the limit is {MOST_CLASSES}")
        for name in self.names:
            if not re.fullmatch(CLASS_NAME, name) or len(name) > 64:
                raise BadInput(f"--classes: {name!r} cannot be a class; use {CLASS_NAME_IN_WORDS}")
            if self.names.count(name) > 1:
                raise BadInput(f"--classes: names {name} twice; give each class once, highest first")
        for option, named in (
            ("--default-class", [] if self.default is None else [self.default]),
            ("--class-users", self.users),
        ):
            for name in named:
                if name not in self.names:
                    raise BadInput(f"{option} {name}: {self._known()}")

    @classmethod
    def read(cls, names: str | None, default: str | None, users: Sequence[str]) -> Classes:
        """Return the classes from options: ``urgent,normal,low``, ``normal`` and ``urgent=ann,bob``."""
        permitted: dict[str, frozenset[str]] = {}
        for text in users:
            name, _, listed = text.partition("=")
            permitted_users = frozenset(user.strip() for user in listed.split(","))
            if "" in permitted_users or name in permitted:
                raise BadInput(f"--class-users {text}: write CLASS=USER,USER, each class once")
            permitted[name] = permitted_users
        return cls(() if names is None else tuple(name.strip() for name in names.split(",")), default, permitted)

    def priority(self, name: str | None) -> int:
        """Return the priority of jobs in a class (None: in none): 0 for the default, more for higher classes."""
        if name is None or name not in self.names:
            return 0
        return self.names.index(self._default) - self.names.index(name)

    def missing(self, names: Iterable[str | None]) -> str:
        """Return a remark on jobs, given by their classes, whose class does not exist; empty if there are none."""
        gone = Counter(name for name in names if name is not None and name not in self.names)
        if not gone:
            return ""
        jobs, listed = many(gone.total(), "job"), ", ".join(sorted(gone))
        if gone.total() == 1:
            return f"{jobs} has an unknown class ({listed}), which counts as the default class: --classes names classes"
        return f"{jobs} have unknown classes ({listed}), which count as the default class: --classes names classes"

    def admit(self, name: str | None, user: str) -> None:
        """Raise `BadInput` for an unknown class, `Forbidden` if the user may not submit to it."""
        if name is not None and name not in self.names:
            raise BadInput(f"class {name}: {self._known()}")
        chosen = name or self._default
        if not self._permits(chosen, user):
            others = [each for each in self.names if self._permits(each, user)]
            way_out = f"; {user} may use {', '.join(others)}" if others else ""
            raise Forbidden(f"{user} may not submit in class {chosen}{way_out}")

    def to_wire(self, user: str) -> list[dict[str, Any]]:
        """Return the classes as JSON, highest first, and those that a user may use."""
        return [
            {
                "name": name,
                "priority": self.priority(name),
                "default": name == self._default,
                "permitted": self._permits(name, user),
            }
            for name in self.names
        ]

    @property
    def _default(self) -> str:
        return self.default or (self.names[-1] if self.names else "")

    def _permits(self, name: str, user: str) -> bool:
        return name not in self.users or user in self.users[name]

    def _known(self) -> str:
        if not self.names:
            return "this scheduler has no classes (gas serve --classes); leave it out"
        return f"is not known; the classes, highest first: {', '.join(self.names)}"


NO_CLASSES = Classes()
"""No classes: all jobs are equal."""
