"""Optional parts of Gas (the extras of `pyproject.toml`), and how to install a missing one."""

from __future__ import annotations

__all__ = ["way_to_install"]


def way_to_install(extra: str) -> str:
    """Return how to install an extra, as the end of a message. Gas is in no package registry: pip needs its source."""
    return f'pip install ".[{extra}]" in the source directory of Gas'
