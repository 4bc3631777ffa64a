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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gas.errors import BadInput
from gas.placeholders import literal

if TYPE_CHECKING:
    from gas.endpoints.slurm.directives import Script

__all__ = ["LOST", "WINNER", "Claim"]

WINNER: Final = "winner"
"""The file with the name of the job that runs."""

LOST: Final = 75
"""Exit status of the claim in a job script if another job has it."""

# $1 the folder, $2 the job, then its command; without a command, the exit status says who has won.
_TAKE: Final = "; ".join(
    (
        "claim=$1 job=$2",
        "shift 2",
        "mine=$claim/$job.$$",
        'if ! echo "$job" > "$mine"',
        'then echo "gas: $claim: cannot be written on this machine; nothing was run" >&2',
        "exit 1",
        "fi",
        'ln "$mine" "$claim/winner" 2> /dev/null',
        'rm -f "$mine"',
        'read -r winner < "$claim/winner"',
        'if [ "$winner" = "$job" ]',
        "then if [ $# = 0 ]",
        "then exit 0",
        "fi",
        'exec "$@"',
        "fi",
        'echo "gas: job $winner has started; nothing was run"',
        "if [ $# = 0 ]",
        f"then exit {LOST}",
        "fi",
        "exit 0",
    )
)
"""In one line, since schedulers pass commands on in their own ways."""

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
            It cannot be created.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise BadInput(f"{self.folder}: cannot be created ({error.strerror}); give another folder") from None

    def command(self, target: str, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command of the job of a scheduler, which runs if the job takes the claim."""
        return ("sh", "-c", _TAKE, "gas-claim", literal(str(self.folder)), self.name_of(target), *command)

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
        name = Path(words[-1] if words[:1] == ["/usr/bin/env"] else words[0] if words else "").name
        if name not in _SHELLS:
            raise BadInput(
                f"{script.path}: is run by {name or 'nothing'}; redundant requests need a script for a shell "
                f"({', '.join(_SHELLS[:2])}), into which Gas writes the claim"
            )
        at = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), len(lines))
        take = f"sh -c {quote(_TAKE)} gas-claim {quote(str(self.folder))} {self.name_of(target)}"
        lost = f"case $? in 0) ;; {LOST}) exit 0 ;; *) exit 1 ;; esac"
        text = "\n".join([*lines[:at], take, lost, *lines[at:]])
        return replace(script, text=text)

    def winner(self) -> str | None:
        """Return the name of the job that runs, or ran; None if none has started yet."""
        try:
            return (self.folder / WINNER).read_text().strip() or None
        except OSError:
            return None

    def note(self, facts: dict[str, Any]) -> None:
        """Keep facts about the submission; durable when this returns."""
        from gas.endpoints.journal import write_through

        with (self.folder / "submission").open("w") as file:
            write_through(file, facts)

    def noted(self) -> dict[str, Any]:
        """Return what was kept last; {} for nothing."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads((self.folder / "submission").read_text())
            return found if isinstance(found, dict) else {}
        return {}

    def remove(self) -> None:
        """Remove the folder; a job that is still somewhere in a queue then ends without running anything."""
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
