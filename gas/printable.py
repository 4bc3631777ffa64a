"""Makes text from servers, files and other users safe for a terminal, for a line of a log, and for JSON.

A terminal obeys more than escape sequences: U+009B begins one, U+202E reverses the order of letters, U+200B makes two
names look alike. All of Unicode's control and format characters are replaced, and so are lone surrogates.

It also has `Shown`, the common base of everything that notebooks display.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; `typing` is not imported, as the command line loads this module first
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from typing import Any

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Shown", "as_line", "escaped_json", "first_control", "in_other_words", "many", "printable"]

_CONTROL = (
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
"""Control and format characters (Cc, Cf), line and paragraph separators (Zl, Zp), surrogates (Cs)."""


def printable(text: str) -> str:
    """Return text without characters that move the cursor, set colours or reorder letters; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one == "\n" else " " if one.isspace() and one not in "\x1c\x1d\x1e\x1f\x85" else "?"
        for one in text
    )


def as_line(text: str) -> str:
    """Return `printable` text as one line, so that no part of it looks like a separate line."""
    return printable(text).replace("\n", " ")


_IN_ASCII = {
    "±": "+-", "≤": "<=", "≥": ">=", "→": "->", "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "³": "3",
    "“": '"', "”": '"', "‘": "'", "’": "'", "·": "*", "σ": "sigma",
}  # fmt: skip


def in_other_words(error: UnicodeError) -> tuple[str, int]:
    """Return a replacement for characters that an encoding lacks, and where to continue: a handler of `codecs`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_IN_ASCII.get(one, "?") for one in error.object[error.start : error.end]), error.end


def many(count: int, thing: str) -> str:
    """Return a number with its noun, plural unless the number is 1: 1 job, 1,200 jobs."""
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def first_control(text: str) -> str | None:
    """Return the first control or format character of a text, such as ``U+202E``; None if there is none."""
    import re

    found = None if text.isprintable() else re.search(_CONTROL, text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def escaped_json(text: str) -> str:
    """Return equivalent JSON with all unprintable characters escaped, except line breaks of its layout."""
    import re

    return re.sub("[^\n -~]", _escape, text)


def _escape(found: re.Match[str]) -> str:
    if found[0].isprintable():
        return found[0]
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"


class Shown:
    """An object with a picture and a table in notebooks, a pandas frame and a matplotlib figure, by `gas.notebook`."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame; instants have time zones, durations are timedeltas.

        Raises
        ------
        Missing
            pandas is not installed.
        """
        return _above("frames").frame_of(self)

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> Figure:
        """Draw the object into a new figure, or into the given axes, and return the figure.

        Parameters
        ----------
        axes
            One for each panel, from the top; a single one need not be in a list.

        Raises
        ------
        BadInput
            The numbers of axes and panels differ.
        Missing
            matplotlib is not installed.
        """
        found: Figure = _above("plots").plotted(self, axes)
        return found

    def _repr_html_(self) -> str:
        found: str = _above("cards").card_of(self)
        return found


def _above(name: str) -> Any:
    """Return a module of `gas.notebook`, imported on demand: it imports this one, and heavy packages."""
    from importlib import import_module

    return import_module(f"gas.notebook.{name}")
