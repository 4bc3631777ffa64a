"""The pages of the guide, in groups and in the order of reading: those of `gas guide` and of the site."""

from __future__ import annotations

import re
from importlib.resources import files

__all__ = ["GROUPS", "files_of", "for_readers", "for_terminal", "grouped", "pages", "title_of"]

GROUPS = {
    "First steps": (
        "first-plan",
        "how",
        "slurm",
        "gpus",
        "fit",
        "predictions",
        "reshape",
        "coallocation",
        "terminal",
        "python",
        "agent",
        "login-nodes",
    ),
    "Workflows": ("snakemake", "psij", "dask", "parsl", "submitit"),
    "Simulation": ("simulate", "workloads", "policies", "studies", "gallery", "rules"),
    "Running S³": ("operation", "security", "performance"),
    "Extending Gas": ("endpoints", "design", "profile", "formulas"),
    "Reference": ("formats", "glossary", "citation", "changes"),
}
"""Each page once; a page that is in no group is listed last."""

_TITLE = re.compile(r'^(```\w+) title="(.+)"$', re.MULTILINE)
_FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_NEEDS = re.compile(r'^(```\w+) needs=".+"$', re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the pages of the guide by name, in Markdown."""
    found = {each.name: each for each in files(__package__).iterdir()}
    return {
        name.removesuffix(".md"): found[name].read_text(encoding="utf-8")
        for name in sorted(found)
        if name.endswith(".md")
    }


def grouped(known: dict[str, str]) -> dict[str, list[str]]:
    """Return the names of pages by group, in the order of reading."""
    listed = {group: [name for name in names if name in known] for group, names in GROUPS.items()}
    others = sorted(set(known) - {name for names in listed.values() for name in names})
    return {group: names for group, names in {**listed, "Other pages": others}.items() if names}


def title_of(text: str) -> str:
    """Return the title of a page: its first line."""
    return text.partition("\n")[0].lstrip("# ")


def for_terminal(text: str) -> str:
    """Return a page with the name of each file above it, which the site shows in its frame."""
    return _TITLE.sub(r"File `\2`:\n\n\1", for_readers(text))


def files_of(text: str) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    return dict(_FILE.findall(text))


def for_readers(text: str) -> str:
    """Return a page without what only its test reads: what an example needs to run."""
    return _NEEDS.sub(r"\1", text)
