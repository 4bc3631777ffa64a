"""Messages about users' policies: which one, and where its error happened."""

from __future__ import annotations

from pathlib import Path
from traceback import walk_tb

from gas.printable import as_line

__all__ = ["ARRIVE", "COMPLETE", "KERNEL", "MAKING", "METHODS", "NOTHING", "START", "in_words", "where_in"]

METHODS = ("making it", "arrive", "complete", "start", "kernel")
"""The methods of a policy; the first means loading it and creating an instance."""

MAKING, ARRIVE, COMPLETE, START, KERNEL = range(5)
"""The same as indices."""

NOTHING = -1
"""No job."""

_LONGEST = 300


def where_in(name: str, method: int, now: int, job: int) -> str:
    """Return where an error in a policy happened, as the beginning of a message."""
    begin = f"policy {name}: {METHODS[method]}"
    if method == MAKING:
        return begin
    after = f", after job {job}" if method in (START, KERNEL) else f", job {job}"
    return f"{begin} at second {now}{after if job != NOTHING else ''}"


def in_words(error: BaseException) -> str:
    """Return an error in a user's code as one line, with the line of the code where it happened."""
    try:
        text = as_line(str(error)).strip()
    except Exception:
        text = "an error that cannot be printed"
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    here = Path(__file__).parent
    theirs = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if Path(frame.f_code.co_filename).parent != here and not frame.f_code.co_filename.startswith("<frozen")
    ]
    # The last line of the file that was called, not of a library that it calls.
    lines = [line for file, line in theirs if file == theirs[0][0]]
    place = f" ({Path(theirs[0][0]).name}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"
