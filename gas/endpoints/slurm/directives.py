"""Options of sbatch as written: in ``#SBATCH`` lines of a script, on a command line, and in variables.

A script is parsed as by sbatch (sbatch(1), DESCRIPTION; opt.c, _opt_batch_script): lines that begin with ``#SBATCH``,
up to the first line that is neither empty nor a comment; words end at blanks, quotation marks and backslashes quote,
and an unquoted ``#`` begins a comment. Options are written as for getopt_long(3): long names may be abbreviated if
unambiguous, and values follow after ``=``, as the next word, or directly after a letter.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from documents.fields import quoted
from gas.errors import BadInput

__all__ = [
    "CHOSEN",
    "VARIABLES",
    "Directive",
    "Script",
    "directives",
    "from_variables",
    "from_words",
    "is_script",
    "refuse_unknown",
    "unknown",
]

MAGIC = "#SBATCH"

FLAGS = frozenset(
    {"consolidate-segments", "contiguous", "help", "hold", "ignore-pbs", "no-requeue", "overcommit", "oversubscribe",
     "parsable", "quiet", "reboot", "reset", "share", "spread-job", "spread-segments", "stepmgr", "test-only", "usage",
     "use-min-nodes", "verbose", "version", "wait"}
)  # fmt: skip
"""Options without a value."""

PERHAPS = frozenset({"exclusive", "get-user-env", "nice", "no-kill", "oom-kill-step", "propagate", "requeue", "x11"})
"""Options with an optional value, after ``=`` or directly after the letter."""

VALUED = frozenset(
    {"account", "acctg-freq", "array", "batch", "bb", "bbf", "begin", "chdir", "cluster", "cluster-constraint",
     "clusters", "comment", "constraint", "container", "container-id", "core-spec", "cores-per-socket", "cpu-freq",
     "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "error", "exclude",
     "export", "export-file", "extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node",
     "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "input", "job-name", "kill-on-invalid-dep",
     "licenses", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus",
     "network", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node",
     "ntasks-per-socket", "open-mode", "output", "partition", "power", "prefer", "priority", "profile", "qos",
     "reservation", "segment", "signal", "sockets-per-node", "switches", "tasks-per-node", "thread-spec",
     "threads-per-core", "time", "time-min", "tmp", "tres-bind", "tres-per-task", "uid", "umask", "wait-all-nodes",
     "wckey", "wrap"}
)  # fmt: skip

LETTERS: Mapping[str, str] = {
    "a": "array", "A": "account", "b": "begin", "B": "extra-node-info", "c": "cpus-per-task", "C": "constraint",
    "d": "dependency", "D": "chdir", "e": "error", "F": "nodefile", "G": "gpus", "h": "help", "H": "hold",
    "i": "input", "J": "job-name", "k": "no-kill", "L": "licenses", "m": "distribution", "M": "clusters",
    "n": "ntasks", "N": "nodes", "o": "output", "O": "overcommit", "p": "partition", "q": "qos", "Q": "quiet",
    "s": "oversubscribe", "S": "core-spec", "t": "time", "v": "verbose", "V": "version", "w": "nodelist", "W": "wait",
    "x": "exclude",
}  # fmt: skip

SYNONYMS = {"tasks-per-node": "ntasks-per-node", "share": "oversubscribe", "cluster": "clusters"}

VARIABLES: Mapping[str, str] = {
    "SBATCH_ACCOUNT": "account", "SBATCH_ARRAY_INX": "array", "SBATCH_BATCH": "batch", "SBATCH_BURST_BUFFER": "bb",
    "SBATCH_CLUSTERS": "clusters", "SBATCH_CLUSTER_CONSTRAINT": "cluster-constraint",
    "SBATCH_CONSTRAINT": "constraint", "SBATCH_CORE_SPEC": "core-spec", "SBATCH_CPUS_PER_GPU": "cpus-per-gpu",
    "SBATCH_DELAY_BOOT": "delay-boot", "SBATCH_DISTRIBUTION": "distribution", "SBATCH_EXCLUSIVE": "exclusive",
    "SBATCH_GPUS": "gpus", "SBATCH_GPUS_PER_NODE": "gpus-per-node", "SBATCH_GPUS_PER_SOCKET": "gpus-per-socket",
    "SBATCH_GPUS_PER_TASK": "gpus-per-task", "SBATCH_GRES": "gres", "SBATCH_GRES_FLAGS": "gres-flags",
    "SBATCH_HINT": "hint", "SBATCH_MEM_PER_CPU": "mem-per-cpu", "SBATCH_MEM_PER_GPU": "mem-per-gpu",
    "SBATCH_MEM_PER_NODE": "mem", "SBATCH_NETWORK": "network", "SBATCH_NO_REQUEUE": "no-requeue",
    "SBATCH_OVERCOMMIT": "overcommit", "SBATCH_POWER": "power", "SBATCH_QOS": "qos", "SBATCH_REQUEUE": "requeue",
    "SBATCH_REQ_SWITCH": "switches", "SBATCH_RESERVATION": "reservation", "SBATCH_SPREAD_JOB": "spread-job",
    "SBATCH_THREADS_PER_CORE": "threads-per-core", "SBATCH_THREAD_SPEC": "thread-spec",
    "SBATCH_TRES_PER_TASK": "tres-per-task", "SBATCH_USE_MIN_NODES": "use-min-nodes", "SBATCH_WAIT": "wait",
    "SBATCH_WCKEY": "wckey", "SLURM_CLUSTERS": "clusters", "SLURM_HINT": "hint",
}  # fmt: skip
"""The variables that are passed on to sbatch and affect when or where a job starts (sbatch(1), INPUT ENVIRONMENT
VARIABLES)."""

CHOSEN: Mapping[str, str] = {"SBATCH_PARTITION": "partition", "SBATCH_TIMELIMIT": "time"}
"""Variables that count as options of a script; for other jobs, Gas chooses these values."""


ALIKE = 0.85
"""Similarity above which an unknown name counts as a misspelt option, not as one of a newer sbatch."""


class Directive(NamedTuple):
    """One option as it was written.

    Attributes
    ----------
    name
        Its long name, without dashes.
    value
        None if it has none.
    place
        Its location in messages.
    """

    name: str
    value: str | None
    place: str

    @property
    def shown(self) -> str:
        """Return it as the user would write it."""
        return f"--{self.name}" if self.value is None else f"--{self.name}={self.value}"


@dataclass(frozen=True)
class Script:
    """A batch script.

    Attributes
    ----------
    path
        Its name as given by the user.
    text
        Its full text, as submitted.
    directives
        Its options for sbatch, in order.
    """

    path: str
    text: str
    directives: tuple[Directive, ...] = ()

    @classmethod
    def of(cls, text: str, path: str) -> Script:
        """Return a script with its options.

        Raises
        ------
        BadInput
            It is not a script, or one of its ``#SBATCH`` lines is invalid; the message names the line.
        """
        if not is_script(text):
            first = text.splitlines()[0][:60] if text.strip() else ""
            raise BadInput(
                f"{path}: begins with {quoted(first)}; sbatch accepts scripts that begin with #!, like #!/bin/sh"
            )
        if "\0" in text:
            raise BadInput(f"{path}: contains a null character, which sbatch refuses")
        if "\r\n" in text:
            raise BadInput(f"{path}: has DOS line ends, which sbatch refuses; run: dos2unix {path}")
        return cls(path, text, tuple(directives(text, path)))

    def with_variables(self, variables: Mapping[str, str]) -> Script:
        """Return the script with partition and time from environment variables, which sbatch prefers."""
        return replace(self, directives=(*self.directives, *from_variables(variables, CHOSEN)))

    def has(self, name: str) -> bool:
        """Return whether it has an option."""
        return any(one.name == name for one in self.directives)

    def value(self, name: str) -> str | None:
        """Return the value of an option, the last if there are several; None if there is none."""
        return next((one.value for one in reversed(self.directives) if one.name == name), None)


def is_script(text: str) -> bool:
    """Return whether sbatch would accept a text as a script."""
    return text.startswith("#!")


def directives(text: str, path: str) -> Iterator[Directive]:
    """Yield the options of a script's ``#SBATCH`` lines.

    Raises
    ------
    BadInput
        A line is invalid; the message names it.
    """
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{path}, line {number}"
        if line.startswith(MAGIC):
            if re.search("(het|pack)job", line, re.IGNORECASE):
                raise BadInput(
                    f"{place}: begins another part of a heterogeneous job, which Gas cannot plan; use sbatch"
                )
            yield from from_words(_split(line.removeprefix(MAGIC), place), place)
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def refuse_unknown(found: Iterable[Directive], usage: str) -> None:
    """Refuse an option that is neither Slurm's own nor listed by ``sbatch --help``, as those of plugins are.

    Raises
    ------
    BadInput
        There is one; the message names the most similar known option.
    """
    known = FLAGS | PERHAPS | VALUED
    there = known | set(re.findall(r"--([A-Za-z0-9][\w-]*)", usage))
    for one in found:
        if one.name not in there:
            nearest = difflib.get_close_matches(one.name, sorted(there), n=1, cutoff=0.0)
            raise BadInput(f"{one.place}: --{one.name} is not an option of sbatch here; the nearest is --{nearest[0]}")


def unknown(found: Iterable[Directive]) -> bool:
    """Return whether an option is unknown to Slurm itself."""
    return any(one.name not in FLAGS | PERHAPS | VALUED for one in found)


def from_variables(variables: Mapping[str, str], names: Mapping[str, str] = VARIABLES) -> Iterator[Directive]:
    """Yield the options in sbatch's environment variables; they precede those of a script.

    A flag is set by an empty value, ``yes``, or a number that is not 0 (sbatch(1), INPUT ENVIRONMENT VARIABLES).
    """
    for variable, name in names.items():
        if (value := variables.get(variable)) is None:
            continue
        takes = _takes(name)
        if takes != "nothing":
            yield Directive(name, value if value or takes == "value" else None, f"${variable}")
        elif value.lower() in ("", "yes") or re.fullmatch(r"[+-]?0*[1-9]\d*", value):
            yield Directive(name, None, f"${variable}")


def from_words(words: Iterable[str], place: str) -> Iterator[Directive]:
    """Yield the options of a command line, or of one line of a script.

    Unknown options are kept: a newer sbatch may know them.

    Raises
    ------
    BadInput
        A word is not an option, its name is ambiguous, or its value is missing.
    """
    rest = iter(words)
    for word in rest:
        if re.match(r"--[A-Za-z0-9]", word):
            written, equals, value = word[2:].partition("=")
            name = _long_name(written, place)
            takes = _takes(name)
            if takes == "nothing" and equals:
                raise BadInput(f"{place}: --{name} takes no value, but {quoted(word)} gives one")
            if takes == "value" and not equals:
                value = _following(rest, f"--{name}", place)
                equals = "="
            yield Directive(name, value if equals else None, place)
        elif re.match(r"-[A-Za-z]", word):
            yield from _of_letters(word, rest, place)
        else:
            raise BadInput(f"{place}: {quoted(word)} is not an option of sbatch; options begin with - or --")


def _of_letters(word: str, rest: Iterator[str], place: str) -> Iterator[Directive]:
    """Yield the options in a word such as ``-n16`` or ``-HO``."""
    at = 1
    while at < len(word):
        letter, after = word[at], word[at + 1 :]
        at += 1
        if letter not in LETTERS:
            raise BadInput(f"{place}: {quoted(word)} has -{letter}, which is not an option of sbatch")
        name = LETTERS[letter]
        takes = _takes(name)
        if takes == "nothing":
            yield Directive(name, None, place)
            continue
        if takes == "value":
            yield Directive(name, after or _following(rest, f"-{letter}", place), place)
        else:
            yield Directive(name, after or None, place)
        return


def _takes(name: str) -> str:
    return "nothing" if name in FLAGS else "perhaps" if name not in VALUED else "value"


def _following(rest: Iterator[str], option: str, place: str) -> str:
    value = next(rest, None)
    if value is None:
        raise BadInput(f"{place}: {option} needs a value")
    return value


def _long_name(written: str, place: str) -> str:
    known = FLAGS | PERHAPS | VALUED
    if written in known:
        return SYNONYMS.get(written, written)
    short_for = {SYNONYMS.get(name, name) for name in known if name.startswith(written)}
    if len(short_for) > 1:
        several = ", ".join(f"--{name}" for name in sorted(short_for))
        raise BadInput(f"{place}: --{written} could mean any of {several}; write it in full")
    if short_for:
        return short_for.pop()
    if meant := difflib.get_close_matches(written, known, n=1, cutoff=ALIKE):
        raise BadInput(f"{place}: --{written} is not an option of sbatch; did you mean --{meant[0]}?")
    return written


def _split(line: str, place: str) -> list[str]:
    """Return the words of a line after ``#SBATCH``."""
    words: list[str] = []
    word, quote, escaped, begun = "", "", False, False
    for c in line:
        if escaped:
            word, escaped, begun = word + c, False, True
        elif c == "\\":
            escaped = True
        elif quote:
            if c == quote:
                quote = ""
            else:
                word += c
        elif c in "\"'":
            quote, begun = c, True
        elif c == "#":
            break
        elif c.isspace():
            if begun:
                words.append(word)
            word, begun = "", False
        elif c == ":" and not begun:
            raise BadInput(f"{place}: a word that begins with : is not an option of sbatch")
        else:
            word, begun = word + c, True
    if quote:
        raise BadInput(f"{place}: the quotation mark {quote} is not closed on this line")
    return [*words, word] if begun else words
