"""A job in the terms of a scheduler with scripts or command lines: its name with a tag, options, command.

Such a scheduler knows no keys, so the key of a submission goes into the job's name: ``ocean`` becomes ``ocean.gas-``
and sixteen hexadecimal digits of the key's hash. The key finds the job even if its submission was never answered.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Collection, Iterable, Iterator

from documents.fields import Fields, quoted
from gas.errors import BadInput
from gas.placeholders import pieces, variable

__all__ = ["checked_name", "long_options", "name_without_tag", "option_list", "shell_word", "tag_of"]

_TAG = re.compile(r"\.(gas-[0-9a-f]{16})$")


def tag_of(key: str) -> str:
    """Return the tag at the end of a job's name, for a submission with this key."""
    return f"gas-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def name_without_tag(name: str) -> tuple[str, str | None]:
    """Return a job's name as its user gave it, and its tag; None if it has no tag."""
    found = _TAG.search(name)
    return (name, None) if found is None else (name[: found.start()], found[1])


def checked_name(name: str) -> str:
    """Return the name of a job, or raise `BadInput` if it has more than one line."""
    if any(c in name for c in "\0\n\r"):
        raise BadInput(f"{quoted(name)} cannot be the name of a job: it has more than one line")
    return name


def option_list(fields: Fields, program: str, example: str) -> list[str]:
    """Return the key ``options`` of an endpoint's table: options of the program that submits, one word each."""
    words = fields.value("options", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise fields.fail("options", f'must be a list of options of {program}, as in ["{example}"]')
    return words


def long_options(words: Iterable[str], where: str, program: str, example: str) -> Iterator[tuple[str, str | None]]:
    """Yield name and value of long options, one word each; the value is None if there is none.

    Raises
    ------
    BadInput
        It is not a long option in one word.
    """
    for word in words:
        name, equals, value = word.partition("=")
        if not re.fullmatch(r"--[a-z][a-z0-9-]*", name) or "\n" in value or "\0" in value:
            raise BadInput(f"{where}: {quoted(word)} is not a long option of {program} in one word, as in {example}")
        yield name[2:], value if equals else None


def shell_word(word: str, known: Collection[str]) -> str:
    """Return a word of a command for a shell, with variables of the job in place of placeholders.

    Parameters
    ----------
    known
        Names of the placeholders with a variable in the job; others are not placeholders.
    """
    found = pieces(word)
    return "".join(f'"${variable(name)}"' if name in known else shlex.quote(text) for text, name in found) or "''"
