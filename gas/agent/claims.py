"""The claim of a job that was submitted to several machines: the first of its jobs to start takes it and runs.

A claim is a folder that all machines see. A job writes its name into a file of its own and links that file to `WINNER`;
of several links to one name the file system makes one, also on NFS, where mkdir and rename may report failure for what
they have done. The job then reads who has won, so a job that is requeued after it has won runs again. If a machine does
not see the folder, its job ends without running anything: a job may run too rarely, but never twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from documents.whole_file import whole_file
from gas.errors import BadInput
from gas.placeholders import literal

if TYPE_CHECKING:
    from gas.endpoints import Endpoint
    from gas.endpoints.slurm.directives import Script

__all__ = ["KEPT", "LOST", "WINNER", "Claim"]

WINNER: Final = "winner"
"""The file with the name of the job that runs."""

LOST: Final = 75
"""Exit status of the claim in a job script if another job has it."""

# $1 the folder, $2 the job, then its command; without a command, the exit status says who has won. Names are set in a
# subshell, since the command may have variables with these names in its environment.
_TAKE: Final = "; ".join(
    (
        "(PATH=$PATH:/usr/bin:/bin",
        "claim=$1 job=$2 winner=",
        "mine=$claim/$job.$(uname -n).$$",
        'if ! [ -s "$claim/winner" ]',
        'then echo "$job" > "$mine" && ln "$mine" "$claim/winner" 2> /dev/null',
        'rm -f "$mine"',
        "fi",
        'read -r winner < "$claim/winner"',
        'if [ "$winner" = "$job" ]',
        "then exit 0",
        "fi",
        'if [ -n "$winner" ]',
        'then echo "gas: another job of this submission has started; nothing was run"',
        f"exit {LOST}",
        "fi",
        'echo "gas: $claim: cannot be used on this machine; nothing was run" >&2',
        "exit 1)",
        'set -- $? "$@"',
        "if [ $# = 3 ]",
        "then exit $1",
        "fi",
        f"if [ $1 = {LOST} ]",
        "then exit 0",
        "fi",
        "if [ $1 != 0 ]",
        "then exit 1",
        "fi",
        "shift 3",
        'exec "$@"',
    )
)
"""In one line, since schedulers pass commands on in their own ways."""

_SHELL: Final = "/bin/sh"
"""With its path, since the PATH of the job may not have it."""

KEPT: Final = 365 * 24 * 3600
"""Seconds after its last change for which a claim is kept: no job waits, or runs until it is requeued, for so long."""

_TITLE: Final = "gas-claim"
_SENT: Final = "sent-"

_SHELLS: Final = ("sh", "bash", "dash", "ksh", "zsh")


@dataclass(frozen=True)
class Claim:
    """A claim; `folder` must be on a file system that all machines share."""

    folder: Path

    @classmethod
    def of(cls, shared: Path, key: str) -> Claim:
        """Return the claim of the jobs with a key, in a folder of such claims."""
        return cls(shared / hashlib.sha256(key.encode()).hexdigest()[:32])

    @staticmethod
    def name_of(target: str) -> str:
        """Return the name under which the job of a scheduler takes the claim."""
        return hashlib.sha256(target.encode()).hexdigest()[:16]

    def make(self) -> None:
        """Create the folder, unless an earlier call has.

        Raises
        ------
        BadInput
            It cannot be created, or cannot hold a claim.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise BadInput(
                f"{self.folder}: cannot be created ({error.strerror}); give another folder with --shared"
            ) from None
        first, second = (self.folder / f"trial.{uuid4().hex}" for _ in range(2))
        try:
            first.touch()
            second.hardlink_to(first)
        except OSError as error:
            raise BadInput(
                f"{self.folder}: cannot hold a claim ({error.strerror}); give a folder with --shared that can be "
                "written and whose file system has hard links"
            ) from None
        finally:
            for path in (first, second):
                with contextlib.suppress(OSError):
                    path.unlink()

    def exists(self) -> bool:
        """Whether the folder is there, so that jobs can take the claim."""
        with contextlib.suppress(OSError):
            return self.folder.is_dir()
        return False

    def delete_old(self) -> None:
        """Delete this user's other claims in the same folder that have not changed for `KEPT` seconds."""
        with contextlib.suppress(OSError):
            now = _changed(self.folder)  # just made: the clock is that of the file system
            for other in self.folder.parent.iterdir():
                if other != self.folder and _is_claim(other):
                    with contextlib.suppress(OSError):
                        _delete_if_before(other, now - KEPT)

    def command(self, target: str, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command of the job of a scheduler, which runs if the job takes the claim."""
        return (_SHELL, "-c", _TAKE, _TITLE, str(self.folder), self.name_of(target), *command)

    def template(self, target: str, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the same for a command whose placeholders are still to be replaced."""
        taking = self.command(target, ())
        return (*map(literal, taking), *command)

    @staticmethod
    def without(command: Sequence[str]) -> tuple[str, ...]:
        """Return the command of a job without the claim before it."""
        return tuple(command[6:] if list(command[:2]) == [_SHELL, "-c"] and list(command[3:4]) == [_TITLE] else command)

    def script(self, target: str, script: Script) -> Script:
        """Return the job script for a scheduler, which runs its commands if the job takes the claim.

        Raises
        ------
        BadInput
            It is no shell script, so nothing can be inserted.
        """
        from shlex import quote

        lines = script.text.split("\n")
        words = lines[0].removeprefix("#!").split()
        if words[:1] == ["/usr/bin/env"]:
            words = [word for word in words[1:] if not word.startswith("-")]
        name = Path(words[0] if words else "").name
        if name not in _SHELLS:
            raise BadInput(
                f"{script.path}: is run by {name or 'nothing'}; redundant requests need a script for a shell "
                f"({', '.join(_SHELLS[:2])}), into which Gas writes the claim"
            )
        at = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), len(lines))
        take = f"{_SHELL} -c {quote(_TAKE)} {_TITLE} {quote(str(self.folder))} {self.name_of(target)} ||"
        lost = f"  case $? in {LOST}) exit 0 ;; *) exit 1 ;; esac"  # not after it: the shell may run with -e
        text = "\n".join([*lines[:at], take, lost, *lines[at:]])
        return replace(script, text=text)

    def winner(self) -> str | None:
        """Return the name of the job that runs, or ran; None if none has started yet."""
        with contextlib.suppress(OSError):
            # NFS remembers for a while that a file is missing, but no listing
            if any(path.name == WINNER for path in self.folder.iterdir()):
                return (self.folder / WINNER).read_text().strip() or None
        return None

    def note(self, facts: dict[str, Any]) -> None:
        """Keep facts about the submission; durable when this returns."""
        self._write("submission", facts)

    def noted(self) -> dict[str, Any]:
        """Return what was kept last; {} for nothing."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads((self.folder / "submission").read_text())
            return found if isinstance(found, dict) else {}
        return {}

    def note_sent(self, where: Endpoint) -> None:
        """Record that a further request, whose job may take the claim, is about to be sent to a scheduler."""
        target = self.target_of(where)
        self._write(f"{_SENT}{self.name_of(target)}", {"endpoint": where.address, "target": target})

    def target_of(self, where: Endpoint) -> str:
        """Return the target of a scheduler, by which its job takes the claim: as recorded, if a request was sent there.

        The identity of a Slurm includes settings of its table, such as the source of the token, which may have changed.
        Raises the errors of `Endpoint.identity`.
        """
        for fact in (self.noted(), *self._records()):
            if fact.get("endpoint") == where.address and isinstance(target := fact.get("target"), str):
                return target
        return where.identity()

    def unsent(self, name: str) -> None:
        """Delete that record: the scheduler has refused the request."""
        with contextlib.suppress(OSError):
            (self.folder / f"{_SENT}{name}").unlink()

    def sent(self) -> dict[str, str]:
        """Return the schedulers to which further requests were sent: their names and addresses."""
        return {fact["name"]: str(fact.get("endpoint", "another scheduler")) for fact in self._records()}

    def _records(self) -> list[dict[str, Any]]:
        """Return the records of further requests, each with the name of its job."""
        found: list[dict[str, Any]] = []
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob(f"{_SENT}*")):
                fact: dict[str, Any] = {}
                with contextlib.suppress(OSError, ValueError, TypeError):
                    fact = dict(json.loads(path.read_text()))
                found.append({**fact, "name": path.name.removeprefix(_SENT)})
        return found

    def _write(self, name: str, facts: dict[str, Any]) -> None:
        try:
            with whole_file(self.folder / name) as file:
                file.write(json.dumps(facts).encode())
        except OSError as error:
            raise BadInput(
                f"{self.folder}: cannot be written ({error.strerror}); give another folder with --shared"
            ) from None


_FILES: Final = re.compile(rf"submission|{WINNER}|{_SENT}.*|trial\..*|[0-9a-f]{{16}}\..*|\..*\.part")
"""All that a claim may contain."""


def _is_claim(folder: Path) -> bool:
    """Whether a folder is a claim of this user, by its name and by all that is in it."""
    if not re.fullmatch(r"[0-9a-f]{32}(\.old)?", folder.name) or folder.is_symlink():
        return False
    with contextlib.suppress(OSError):
        return folder.stat().st_uid == os.geteuid() and all(_FILES.fullmatch(path.name) for path in folder.iterdir())
    return False


def _changed(folder: Path) -> float:
    """Return the epoch second at which a claim last changed."""
    return max(path.stat().st_mtime for path in (folder, *folder.iterdir()))


def _delete_if_before(folder: Path, instant: float) -> None:
    """Delete a claim that has not changed since an epoch second; raise `OSError` if that fails."""
    if _changed(folder) < instant:
        away = folder.with_suffix(".old")  # at once: a job that finds the folder without its winner would run
        folder.rename(away)
        shutil.rmtree(away)
