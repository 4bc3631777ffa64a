"""The folders of a user's files, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path

from documents.fields import Unusable

__all__ = ["NoHome", "cache_folder", "user_folder"]

_BELOW_HOME = {"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state"}


class NoHome(Unusable, OSError):
    """The user has no home directory, as in many containers; callers treat it like an unreadable folder."""


def user_folder(variable: str) -> Path:
    """Return the folder that ``XDG_CACHE_HOME``, ``XDG_CONFIG_HOME`` or ``XDG_STATE_HOME`` names, or its default.

    Raises
    ------
    NoHome
        The variable is not set, and the default is below a home directory, which the user does not have.
    """
    try:
        return Path(os.environ.get(variable) or Path.home() / _BELOW_HOME[variable])
    except RuntimeError:
        raise NoHome(f"there is no home directory; set HOME or {variable} to a folder that Gas may use") from None


def cache_folder() -> Path:
    """Return ``$GAS_CACHE``, else ``gas`` in ``$XDG_CACHE_HOME``; raise `NoHome` as `user_folder` does."""
    return Path(os.environ.get("GAS_CACHE") or user_folder("XDG_CACHE_HOME") / "gas")
