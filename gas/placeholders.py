"""Placeholders in commands, such as ``{gpus}``, and the environment variables with the same values.

A plan replaces ``{name}`` with the value that it has chosen; the job also finds the value in ``GAS_NAME``. Braces that
are not placeholders are left unchanged: those of a shell's ``${VAR}``, and all that contain more than one word
(``{"a": 1}``, ``{print $1}``, ``{a,b}``). ``{{name}}`` becomes the text ``{name}``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from documents.fields import nearest
from gas.errors import BadInput

__all__ = ["NAMES", "VARIABLES", "check", "filled", "literal", "pieces", "variable", "without_value"]

NAMES: Final = ("processors", "gpus", "nodes", "gpus_per_node", "tasks", "cpus_per_task", "walltime")


def variable(name: str) -> str:
    """Return the environment variable with the value of a placeholder."""
    return f"GAS_{name.upper()}"


VARIABLES: Final = frozenset(variable(name) for name in NAMES)
"""Environment variables that tell a command its size."""

_PIECE: Final = re.compile(r"\{\{(\w+)\}\}|(?<!\$)\{([A-Za-z]\w*)\}")


_FORMATTED: Final = re.compile(rf"(?<![${{])\{{({'|'.join(NAMES)})[:!][^{{}}\s]*\}}")
"""A placeholder with a format, in Python's syntax."""


def pieces(text: str) -> list[tuple[str, str]]:
    """Return the pieces of a text, each with the name of its placeholder; the name is empty for ordinary text."""
    found, end = [], 0
    for one in _PIECE.finditer(text):
        found.append((text[end : one.start()], ""))
        found.append((f"{{{one[1]}}}", "") if one[1] else (one[0], one[2]))
        end = one.end()
    found.append((text[end:], ""))
    return [piece for piece in found if piece[0]]


def check(words: Iterable[str]) -> None:
    """Raise `BadInput` for an unknown placeholder."""
    for word in words:
        if found := _FORMATTED.search(word):
            raise BadInput(f"{found[0]}: a placeholder is a name alone, without a format; write {{{found[1]}}}")
        for _, name in pieces(word):
            if name and name not in NAMES:
                raise BadInput(
                    f"{{{name}}}: is not a placeholder (for literal braces write {{{{{name}}}}}; ${{{name}}} is "
                    f"left to the shell of sh -c){nearest(name, NAMES)}"
                )


def literal(text: str) -> str:
    """Return a text escaped for a command, so that none of its braces is a placeholder."""
    return _PIECE.sub(lambda one: f"{{{one[0]}}}" if one[2] else one[0], text)


def filled(text: str, values: Mapping[str, int], later: Collection[str] = ()) -> str:
    """Return a text with its placeholders replaced by values.

    Parameters
    ----------
    later
        Names that are known only when the job starts; without a value they are left unchanged.

    Raises
    ------
    BadInput
        A placeholder has no value, or is unknown.
    """
    check([text])
    done = []
    for piece, name in pieces(text):
        if name and name not in values and name not in later:
            raise BadInput(f"{{{name}}}: {without_value(name)}")
        done.append(str(values[name]) if name in values else piece)
    return "".join(done)


def without_value(name: str) -> str:
    """Return in words why a placeholder has no value, and the way out."""
    ways = {
        "gpus": 'the application does not count GPUs; set unit = "gpus" in its file',
        "nodes": "the number of nodes is not known; on Slurm, set gpus_per_node or tasks_per_node in the [resources] "
        "of the application",
        "gpus_per_node": "set gpus_per_node in the [resources] of the application",
        "processors": "the application does not count processors; set cpus_per_gpu in its [resources]",
        "cpus_per_task": "set cpus_per_gpu in the [resources] of the application",
    }
    return ways.get(name, "has no value here; leave it out")
