"""Trust in configurations: programs and addresses for secrets come only from files that the user controls.

A configuration is *the user's own* if it belongs to the user or to root and no one else can write it or the directories
above it. A file that merely lies in the current folder may have come with an archive, so it is used only after the user
has allowed it, as in direnv: its path and the hash of its contents are kept below ``$XDG_STATE_HOME``, and a changed
file has to be allowed again.

The check applies to what is read: owner and mode are those of the open file, and the hash is of the bytes read from it,
so nothing can be replaced between check and use.
"""

from __future__ import annotations

import grp
import hashlib
import json
import os
import pwd
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from documents.home import NoHome
from documents.whole_file import sync
from gas.endpoints.journal import state_directory
from gas.errors import BadInput, NotFound

__all__ = ["Document", "allow", "read_document", "withdraw"]

MOST_BYTES = 1 << 20
"""Largest configuration in bytes."""


@dataclass(frozen=True)
class Document:
    """A configuration file that was read.

    Attributes
    ----------
    path
        As named by the user.
    location
        Its real location, with symbolic links resolved; None for a pipe.
    flaw
        Why another user may have written the file, and the remedy; None if it is the user's own.
    exposed
        The same for the directories above it: they determine which file is found, not its contents.
    """

    path: Path
    location: str | None
    data: bytes
    flaw: str | None = None
    exposed: str | None = None

    def distrust(self, *, named: bool) -> str | None:
        """Return why its contents are not trusted, and the remedy; None if they are.

        Parameters
        ----------
        named
            Whether the user named the file, or it is the one in the user's home, not just any ``gas.toml``.
        """
        if self.flaw is not None:
            return self.flaw
        if (named and self.exposed is None) or self._is_allowed():
            return None
        way_out = f"check it, then run gas endpoints --trust {self.path}"
        if named:
            return f"{self.exposed}: {way_out}"
        if self._was_allowed():
            return f"has changed since you trusted it: {way_out}"
        return f"is from this folder and not trusted yet: {way_out}"

    def _is_allowed(self) -> bool:
        with suppress(NoHome):  # there is no place where it could have been noted
            return self.location is not None and _entry(self).is_allowed()
        return False

    def _was_allowed(self) -> bool:
        with suppress(NoHome):
            return self.location is not None and any(_directory().glob(f"{_of_path(self.location)}-*"))
        return False


def read_document(path: Path) -> Document:
    """Read a configuration and check who else could have written it; ``-`` is standard input.

    Raises
    ------
    BadInput
        It cannot be read.
    """
    if str(path) == "-":
        return Document(path, None, _within_limit(sys.stdin.buffer.read(MOST_BYTES + 1), path))
    try:
        with path.open("rb") as file:
            descriptor = file.fileno()
            found, location = os.fstat(descriptor), _location(descriptor, path)
            flaw = _flaw(found, path, with_list=_has_access_list(descriptor))
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:  # a null character in it
        raise BadInput(f"{str(path)!r}: cannot be read: not a valid file name") from None
    data = _within_limit(data, path)
    return Document(path, location, data, flaw, None if location is None else _exposed(path, location))


def _within_limit(data: bytes, path: Path) -> bytes:
    if len(data) > MOST_BYTES:
        raise BadInput(f"{path}: is larger than {MOST_BYTES:,} bytes, the limit of a configuration")
    return data


def allow(document: Document) -> None:
    """Allow a configuration with its present contents.

    Raises
    ------
    BadInput
        Another user can write it, or the note cannot be written.
    """
    if document.location is None:
        raise BadInput(f"{document.path}: is not a file, so it cannot be trusted")
    if document.flaw is not None:
        raise BadInput(f"{document.path}: {document.flaw}")
    _entry(document).write(document.location)


def withdraw(path: Path) -> int:
    """Withdraw trust in a configuration with any contents, and return the number of allowed versions.

    Raises
    ------
    NotFound
        It was not allowed.
    """
    found = 0
    for entry in _directory().glob(f"{_of_path(os.path.realpath(path))}-*"):
        with suppress(FileNotFoundError):
            entry.unlink()
            found += 1
    if not found:
        raise NotFound(f"{path}: was not trusted")
    return found


# ---------------------------------------------------------------------------------------------------- what is allowed


@dataclass(frozen=True)
class _Entry:
    """A file named by the hash of a path and its contents; it exists if the configuration is allowed."""

    path: Path

    def is_allowed(self) -> bool:
        """Whether it exists and only the user can have created it."""
        try:
            found = (os.lstat(self.path), os.lstat(self.path.parent))
        except OSError:
            return False
        own = all(one.st_uid == os.geteuid() and not stat.S_IMODE(one.st_mode) & 0o022 for one in found)
        return own and stat.S_ISREG(found[0].st_mode)

    def write(self, location: str) -> None:
        """Create it, durably and atomically."""
        directory = self.path.parent
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile("w", dir=directory, prefix=".", delete=False, encoding="utf-8") as file:
                json.dump({"path": location, "allowed": int(time.time())}, file)  # its mode is 0600
                file.flush()
                os.fsync(file.fileno())
            Path(file.name).replace(self.path)
            sync(directory)
        except OSError as error:
            raise BadInput(
                f"{directory}: cannot be written ({error.strerror}); give another place in XDG_STATE_HOME"
            ) from None
        if not self.is_allowed():
            raise BadInput(f"{directory}: can be written by other users, so it is not used; run: chmod 700 {directory}")


def _directory() -> Path:
    return state_directory() / "allowed"


def _of_path(location: str) -> str:
    return hashlib.sha256(os.fsencode(location)).hexdigest()[:32]


def _entry(document: Document) -> _Entry:
    assert document.location is not None
    return _Entry(_directory() / f"{_of_path(document.location)}-{hashlib.sha256(document.data).hexdigest()}")


# ------------------------------------------------------------------------------------------------- who else can write


def _location(descriptor: int, path: Path) -> str | None:
    """Return the location of an open file, even if it was renamed; None for a pipe."""
    try:
        found = str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:  # not a Linux
        found = os.path.realpath(path)
    return found if found.startswith("/") else None


def _flaw(found: os.stat_result, path: Path, *, with_list: bool) -> str | None:
    """Return why another user may have written a file, and the remedy; None if only the user or root can."""
    others = _others(found, with_list=with_list)
    if others is None:
        return None
    foreign = found.st_uid not in (os.geteuid(), 0)
    return f"{others}{'; copy what you want of it into a file of your own' if foreign else f': chmod go-w {path}'}"


def _others(found: os.stat_result, *, with_list: bool = False) -> str | None:
    """Return who besides the user and root can write a file or a directory; None if nobody."""
    if found.st_uid not in (os.geteuid(), 0):
        return f"belongs to {_user(found.st_uid)}"
    mode = stat.S_IMODE(found.st_mode)
    if mode & stat.S_IWOTH:
        return f"can be written by all users (mode {mode:04o})"
    if mode & stat.S_IWGRP and (with_list or not _is_private(found.st_gid)):
        return f"can be written by the group {_group(found.st_gid)} (mode {mode:04o})"
    return None


def _exposed(path: Path, location: str) -> str | None:
    """Return a directory in which others can replace files; directories above the user's home are the site's."""
    for directory in _reached_through(path, location):
        try:
            found = directory.stat()
        except OSError:
            continue
        if found.st_mode & stat.S_ISVTX and found.st_uid in (os.geteuid(), 0):  # entries are safe there, as in /tmp
            continue
        if others := _others(found):
            return f"lies in {directory}, which {others}"
    return None


def _reached_through(path: Path, location: str) -> Iterator[Path]:
    """Yield the directories of a path and of its link targets, each up to the user's home."""
    homes: tuple[Path, ...] = ()
    with suppress(RuntimeError):
        homes = (Path.home(), Path.home().resolve())
    for name in dict.fromkeys((location, os.path.abspath(path))):  # noqa: PTH100  # resolves no symbolic links
        for directory in Path(name).parents:
            yield directory
            if directory in homes:
                break


def _is_private(group: int) -> bool:
    """Whether a group is the user's own and has no other members, as many systems make one for each user."""
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return group == user.pw_gid and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _has_access_list(descriptor: int) -> bool:
    """Whether the group bits also stand for single users (an access control list)."""
    try:
        return "system.posix_acl_access" in os.listxattr(descriptor)
    except (AttributeError, OSError):
        return False


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the user id {uid}"


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
