"""The command of a job, checked against the limits of the operating system, and its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from gas.errors import BadInput

__all__ = ["Command", "job_environment"]

_STRING_LIMIT = 128 * 1024  # bytes of one string for execve, with its NUL (MAX_ARG_STRLEN)
_STRINGS_LIMIT = 6 * 1024 * 1024  # of all strings together, for any limit of the stack (3/4 of _STK_LIM)
_STRINGS_RESERVE = 64 * 1024  # for additions: PATH, HOME, LANG, the mark, the program's full path, its #! line


@dataclass(frozen=True)
class Command:
    """The command of a job.

    Parameters
    ----------
    arguments
        The program and its arguments, without a shell.
    environment
        The variables that the job declares; `job_environment` adds defaults.
    directory
        The working directory.

    Raises
    ------
    BadInput
        The operating system can never run this command.
    """

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str

    def __post_init__(self) -> None:
        if not self.arguments or not self.arguments[0]:
            raise BadInput("command: is empty; give the program to run")
        for i, argument in enumerate(self.arguments):
            if "\0" in argument:
                raise BadInput(f"command[{i}]: contains a NUL character, which cannot be passed to a program")
        for name, value in self.environment.items():
            if not name or "=" in name or "\0" in name + value:
                raise BadInput(
                    f"environment {name!r}: a name must not be empty or contain '='; names and values "
                    f"must not contain NUL"
                )
        if not self.directory or "\0" in self.directory:
            raise BadInput(
                f"directory {self.directory!r}: is empty or holds a NUL character; give the working directory"
            )
        self._check_size()

    def _check_size(self) -> None:
        """Refuse a command that exceeds the limit of execve, which also counts a pointer to each string."""
        strings = {f"command[{i}]": argument for i, argument in enumerate(self.arguments)}
        strings |= {f"environment {name!r}": f"{name}={value}" for name, value in self.environment.items()}
        total = 0
        for place, text in strings.items():
            size = len(text.encode(errors="surrogatepass")) + 1
            if size > _STRING_LIMIT:
                raise BadInput(
                    f"{place}: has {size} bytes, but the operating system passes at most {_STRING_LIMIT} in one "
                    "string; put it into a file and pass the file's name"
                )
            total += size + 8
        # A quarter of the stack's limit, which this process shares with the job's wrapper.
        limit = min(os.sysconf("SC_ARG_MAX"), _STRINGS_LIMIT) - _STRINGS_RESERVE
        if total > limit:
            raise BadInput(
                f"command and environment: have {total} bytes together, but the operating system passes at most "
                f"{limit} to a program; put long lists into a file and pass the file's name"
            )


def job_environment(declared: Mapping[str, str], service: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a job: its own variables, and by default the service's PATH, HOME and LANG.

    Nothing else is handed on, since the service's environment may hold secrets and would make a job depend on how the
    service happened to be started. The wrapper adds ``GAS_JOB_DIRECTORY``.
    """
    inherited = {name: service[name] for name in ("PATH", "HOME", "LANG") if name in service}
    return {"PATH": os.defpath, **inherited, **declared}
