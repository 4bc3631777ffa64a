"""The Unix users whose jobs S³ may run, if each job runs as the user that its token names.

Account         a Unix user, with what a process needs to run as this user
Accounts.of     the account of a user, or why no job may run as that user
Accounts.write, Accounts.read    the rule, kept in the state directory for `gas token add`
"""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gas.errors import BadInput

__all__ = ["FILE", "LOWEST", "Account", "Accounts", "lowest_uid"]

LOWEST = 1000
"""The first uid of an ordinary user if /etc/login.defs does not define it."""

FILE = "accounts.json"

_PATH = "/usr/local/bin:/usr/bin:/bin"
_OVERFLOW = (65534, 2**32 - 1)  # uid of the user "nobody", and the value by which setresuid changes nothing


@dataclass(frozen=True)
class Account:
    """A Unix user, with the groups that a login would give."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str

    @property
    def environment(self) -> dict[str, str]:
        """The default environment of a job of this user; the job may override it."""
        names = {"USER": self.name, "LOGNAME": self.name}
        return {"PATH": _PATH, "HOME": self.home, "SHELL": self.shell or "/bin/sh", **names}

    def to_text(self) -> str:
        """Return the numbers in the form for a wrapper: ``UID:GID:GROUP,GROUP``."""
        return f"{self.uid}:{self.gid}:{','.join(map(str, self.groups))}"


class Accounts:
    """The users that jobs may run as: ordinary ones.

    Parameters
    ----------
    service
        The account of the service itself; no job runs as this account, since it could read all other jobs.
    lowest
        The first uid of an ordinary user.
    """

    def __init__(self, service: str, lowest: int, lookup: Callable[[str], pwd.struct_passwd] = pwd.getpwnam) -> None:
        self.service = service
        self.lowest = lowest
        self._lookup = lookup

    def of(self, user: str) -> Account:
        """Return the account of a user.

        Raises
        ------
        BadInput
            There is none, or jobs may not run as this account.
        """
        try:
            found = self._lookup(user)
        except (KeyError, ValueError, UnicodeError):
            raise BadInput(
                f"user {user}: is not a Unix user of this machine, and this service runs each job as the user named "
                "by its token; create that account, or a token for an existing user"
            ) from None
        uid, way_out = found.pw_uid, "use a token of an ordinary user"
        if uid == 0 or user == "root":
            raise BadInput(f"user {user}: has uid {uid}; jobs never run as root; {way_out}")
        if user == self.service or uid == self._uid_of_service():
            raise BadInput(f"user {user}: is the account of this service, which can read all jobs; {way_out}")
        if uid < self.lowest or uid in _OVERFLOW:
            raise BadInput(
                f"user {user}: has uid {uid}, which is a system user (ordinary users begin at {self.lowest}, UID_MIN "
                f"of /etc/login.defs); {way_out}"
            )
        if found.pw_gid == 0:
            raise BadInput(f"user {user}: has root's group as its primary group, which jobs may not use; {way_out}")
        groups = tuple(sorted({*os.getgrouplist(found.pw_name, found.pw_gid)} - {0}))
        return Account(found.pw_name, uid, found.pw_gid, groups, found.pw_dir or "/", found.pw_shell)

    def _uid_of_service(self) -> int:
        try:
            return self._lookup(self.service).pw_uid
        except KeyError:
            return -1

    def write(self, directory: Path) -> None:
        """Keep the rule in a state directory."""
        (directory / FILE).write_text(json.dumps({"service": self.service, "lowest_uid": self.lowest}))

    @classmethod
    def read(cls, directory: Path) -> Accounts | None:
        """Return the rule in a state directory; None if all jobs run as the service's user."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads((directory / FILE).read_text())
            return cls(str(kept["service"]), int(kept["lowest_uid"]))
        return None


def lowest_uid(definitions: Path = Path("/etc/login.defs")) -> int:
    """Return the first uid of an ordinary user of this machine."""
    with suppress(OSError, UnicodeDecodeError):
        if found := re.search(r"^\s*UID_MIN\s+(\d+)", definitions.read_text(), re.MULTILINE):
            return max(1, int(found[1]))
    return LOWEST
