"""What the job of a Python function runs, ``python -m gas.workflows.call``: one call, of which it writes what came.

Where both stand is said by ``GAS_CALL``. The outcome is written whole or not at all, and the job fails if the function
does. An argument that is a placeholder, ``"{processors}"``, is the number that was chosen.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gas.placeholders import NAMES, variable

__all__ = ["CALL", "FOLDER", "OUTCOME", "Call", "Outcome", "dumped", "run", "with_sizes"]

FOLDER = "GAS_CALL"
"""The variable that names the folder of the call."""

CALL, OUTCOME = "call.pickle", "outcome.pickle"


class Call(NamedTuple):
    """What is to be called; a plain tuple when pickled, so that it is read before anything of the user is imported."""

    path: list[str]
    """Where Python looked for modules when the call was made."""
    pickled: bytes
    """Function, arguments and keywords."""


class Outcome(NamedTuple):
    """What came of a call."""

    value: bytes | None
    """What was returned, pickled; None if something was raised."""
    error: bytes | None
    """What was raised, pickled, if that was possible."""
    text: str
    """The traceback, in words."""


def dumped(thing: object) -> bytes:
    """Return something pickled, by cloudpickle if that is installed."""
    try:
        from cloudpickle import dumps
    except ImportError:
        return pickle.dumps(thing)
    found: bytes = dumps(thing)
    return found


def with_sizes(given: Any, environment: dict[str, str]) -> Any:
    """Return an argument: of a placeholder the number that was chosen, of ``{{name}}`` the text ``{name}``."""
    if type(given) is not str or not (given.startswith("{") and given.endswith("}")):
        return given
    if re.fullmatch(r"\{\{\w+\}\}", given):
        return given[1:-1]
    return int(environment[variable(given[1:-1])]) if given[1:-1] in NAMES else given


def run(folder: Path) -> int:
    """Make the call in a folder, and return the exit status."""
    path, pickled = pickle.loads((folder / CALL).read_bytes())
    sys.path += [one for one in path if one not in sys.path]
    outcome = _outcome(pickled, dict(os.environ))
    whole = folder / f"{OUTCOME}.part"
    with whole.open("wb") as file:
        pickle.dump(tuple(outcome), file)
        file.flush()
        os.fsync(file.fileno())
    whole.rename(folder / OUTCOME)
    if outcome.value is None:
        sys.stderr.write(outcome.text)
    return int(outcome.value is None)


def _outcome(pickled: bytes, environment: dict[str, str]) -> Outcome:
    function: Callable[..., object]
    try:
        function, arguments, keywords = pickle.loads(pickled)
        value = function(
            *(with_sizes(one, environment) for one in arguments),
            **{name: with_sizes(one, environment) for name, one in keywords.items()},
        )
        return Outcome(dumped(value), None, "")
    except BaseException as error:  # whatever ends it is what came of it
        text = _text(error)
        try:
            return Outcome(None, dumped(error), text)
        except BaseException:  # it may hold what cannot be pickled, or be of a strange kind
            return Outcome(None, None, text)


def _text(error: BaseException) -> str:
    """Return the traceback of an error, of one too that cannot be printed."""
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:
        return f"{type(error).__name__} (it cannot be printed)\n"


if __name__ == "__main__":
    sys.exit(run(Path(os.environ[FOLDER])))
