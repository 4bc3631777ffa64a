"""How a study was done: the text next to it, ``method.md``, as a section of its report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files

from gas.report.blocks import Bullets, Section

__all__ = ["method_section"]


def method_section(package: str, title: str = "How it was done", more: Iterable[str] = (), **values: object) -> Section:
    """Return the section.

    Parameters
    ----------
    package
        Package of the study. The text is a list, with names of values in braces.
    more
        Further items.
    """
    text = files(package).joinpath("method.md").read_text(encoding="utf-8").format(**values)
    items = [" ".join(item.split()) for item in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]
    return Section(title, (Bullets((*items, *more)),))
