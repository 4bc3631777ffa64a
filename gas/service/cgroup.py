"""A cgroup (version 2) for each job, if the system delegates a part of the tree to the service.

    Cgroups.found       the part of the tree that was delegated to the service; None if there is none
    Cgroups.make        the cgroup of a job, bound to its own processors if the tree supports this
    pids, kill, remove  the processes in a cgroup; kill all of them at once; remove the cgroup

A process cannot leave its job's cgroup by setsid, a double fork or a cleared environment, nor escape ``cgroup.kill`` by
forking. Under systemd the unit needs ``Delegate=yes``, and to bind processors also ``DelegateSubgroup=``: the kernel
binds processors only in a tree whose inner nodes hold no process. All access is through files, so that tests can use a
similar directory.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gas.errors import BadInput

__all__ = ["Cgroups", "choose", "kill", "listed", "pids", "remove", "written"]

_PREFIX = "job-"
_SERVICE = "service"


class Cgroups:
    """The part of the tree in which a service creates cgroups for its jobs.

    Parameters
    ----------
    root
        A cgroup that this process may change.

    Attributes
    ----------
    binds
        Whether jobs are bound to their own processors.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.binds = "cpuset" in _words(root / "cgroup.controllers") and _write(
            root / "cgroup.subtree_control", "+cpuset"
        )

    @classmethod
    def found(
        cls, own: Path = Path("/proc/self/cgroup"), mounts: Path = Path("/proc/self/mountinfo")
    ) -> Cgroups | None:
        """Return the part of the tree that was delegated to this process; None if there is none.

        This is its own cgroup, or the parent if that was delegated, with this process in a subgroup.
        """
        place = _place(own, mounts)
        if place is None:
            return None
        if _is_marked(place.parent) and (place.parent / "cgroup.procs").exists():
            return cls(place.parent)
        return cls(place) if _is_marked(place) or _is_ours(place) else None

    @classmethod
    def at(cls, root: Path) -> Cgroups:
        """Return the part of the tree below a cgroup that the operator names; this process moves into a subgroup.

        Raises
        ------
        BadInput
            It is not a cgroup of version 2, or jobs cannot have cgroups there.
        """
        if not (root / "cgroup.procs").exists():
            raise BadInput(f"--cgroup {root}: is not a cgroup of version 2; give a directory below its mount point")
        if not os.access(root, os.W_OK):
            raise BadInput(f"--cgroup {root}: cannot be changed by this service; delegate it, or omit the option")
        with suppress(OSError):
            (root / _SERVICE).mkdir(exist_ok=True)
            _write(root / _SERVICE / "cgroup.procs", str(os.getpid()))
        return cls(root)

    def give_to(self, uid: int, gid: int) -> None:
        """Delegate it to the user as which the service runs from now on."""
        for path in (self.root, self.root / "cgroup.procs", self.root / "cgroup.subtree_control"):
            with suppress(FileNotFoundError):
                os.chown(path, uid, gid)

    def of(self, name: str) -> Path | None:
        """Return the cgroup of a job by the name of its directory; None if it has none."""
        path = self.root / f"{_PREFIX}{name}"
        return path if path.is_dir() else None

    def make(self, name: str, processors: int) -> Path | None:
        """Return a cgroup for a job; None if the system refuses one, in which case the job runs without it."""
        path = self.root / f"{_PREFIX}{name}"
        try:
            path.mkdir(exist_ok=True)
        except OSError:
            return None
        if self.binds:
            taken = (listed(_text(each / "cpuset.cpus")) for each in self.root.glob(f"{_PREFIX}*"))
            free = listed(_text(self.root / "cpuset.cpus.effective")).difference(*taken)
            chosen = choose(free, processors)
            if chosen:
                _write(path / "cpuset.cpus", written(chosen))
        return path


def choose(free: Iterable[int], processors: int) -> list[int]:
    """Return the processors for a job, neighbours if possible; none if there are too few."""
    numbers = sorted(free)
    if len(numbers) < processors:
        return []
    for first in range(len(numbers) - processors + 1):
        run = numbers[first : first + processors]
        if run[-1] - run[0] == processors - 1:
            return run
    return numbers[:processors]


def listed(text: str) -> set[int]:
    """Return the numbers in a list of the kernel, like ``0-3,8``."""
    numbers: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def written(numbers: Iterable[int]) -> str:
    """Return numbers as a list for the kernel."""
    return ",".join(map(str, sorted(numbers)))


def pids(cgroup: Path) -> set[int]:
    """Return the processes in a cgroup."""
    return {int(word) for word in _words(cgroup / "cgroup.procs")}


def kill(cgroup: Path) -> None:
    """Kill all processes in a cgroup; kernels before 5.14 can only keep them from forking."""
    if not _write(cgroup / "cgroup.kill", "1") and _write(cgroup / "cgroup.freeze", "1"):
        with suppress(OSError):
            for pid in pids(cgroup):
                os.kill(pid, 9)
        _write(cgroup / "cgroup.freeze", "0")


def remove(cgroup: Path) -> None:
    """Remove an empty cgroup."""
    with suppress(OSError):
        cgroup.rmdir()


def _place(own: Path, mounts: Path) -> Path | None:
    """Return the directory of this process's cgroup."""
    within = next((line[3:] for line in _text(own).splitlines() if line.startswith("0::/")), None)
    if within is None:
        return None
    for line in _text(mounts).splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            _, _, _, shown, mounted = before.split()[:5]
            if within == shown or within.startswith(shown.rstrip("/") + "/"):
                return Path(mounted, within.removeprefix(shown).lstrip("/"))
    return None


def _is_marked(cgroup: Path) -> bool:
    """Return whether systemd has delegated a cgroup; in a desktop session, those above also belong to this user."""
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(cgroup, name) == b"1":
                return os.access(cgroup, os.W_OK)
    return False


def _is_ours(cgroup: Path) -> bool:
    """Return whether a cgroup was given to this user, who is not root (root may write to all of them)."""
    return os.geteuid() != 0 and all(os.access(each, os.W_OK) for each in (cgroup, cgroup / "cgroup.procs"))


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise
        return ""


def _write(path: Path, text: str) -> bool:
    """Write to a file of a cgroup; the kernel may refuse this."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(handle, text.encode())
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
