"""The program of a Python function's job, ``python -m gas.workflows.call``: makes one call and writes its outcome.

``GAS_CALL`` names the folder of the call and its outcome. The outcome is written atomically, and the job fails if the
function does. An argument that is a placeholder, ``"{processors}"``, becomes the chosen number.
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

from documents.whole_file import whole_file
from gas.placeholders import NAMES, variable

__all__ = ["CALL", "FOLDER", "OUTCOME", "Call", "Outcome", "dumped", "run", "with_sizes"]

FOLDER = "GAS_CALL"
"""The variable that names the folder of the call."""

CALL, OUTCOME = "call.pickle", "outcome.pickle"


class Call(NamedTuple):
    """A function call; pickled as a plain tuple, so that it can be read before the user's modules are imported."""

    path: list[str]
    """Python's search path when the call was submitted."""
    pickled: bytes
    """Function, arguments and keywords."""


class Outcome(NamedTuple):
    """The outcome of a call."""

    value: bytes | None
    """The return value, pickled; None if an exception was raised."""
    error: bytes | None
    """The exception, pickled, if possible."""
    text: str
    """The traceback as text."""


def dumped(thing: object) -> bytes:
    """Return a pickled object, by cloudpickle if it is installed."""
    try:
        from cloudpickle import dumps
    except ImportError:
        return pickle.dumps(thing)
    found: bytes = dumps(thing)
    return found


def with_sizes(given: Any, environment: dict[str, str]) -> Any:
    """Return an argument with the chosen number in place of a placeholder; ``{{name}}`` becomes the text ``{name}``."""
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
    with whole_file(folder / OUTCOME) as file:
        pickle.dump(tuple(outcome), file)
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
    except BaseException as error:  # any exception is the outcome
        text = _text(error)
        try:
            return Outcome(None, dumped(error), text)
        except BaseException:  # the exception may be impossible to pickle, or of an odd type
            return Outcome(None, None, text)


def _text(error: BaseException) -> str:
    """Return the traceback of an exception, even of one that cannot be printed."""
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:
        return f"{type(error).__name__} (it cannot be printed)\n"


if __name__ == "__main__":
    sys.exit(run(Path(os.environ[FOLDER])))
