"""Text that comes from files and file names, made fit for a terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """Return text in which nothing moves the cursor, changes colours or the order of letters; line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one == "\n" else " " if one.isspace() and one not in "\x1c\x1d\x1e\x1f\x85" else "?"
        for one in text
    )
