"""What made a report, and the section of it that says how to make it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.framework.ledger import Result
from experiments.framework.logs import Found
from experiments.framework.report import Block, Bullets, Section
from experiments.framework.sites import Site

__all__ = ["Origin", "origin_of", "origin_section"]


@dataclass(frozen=True)
class Origin:
    """What made a report, so that it can be made again."""

    gas: str
    """Version of Gas."""
    sources: str
    """Hash of the sources on which results depend (see `experiments.framework.dependencies`)."""
    libraries: tuple[str, ...]
    """Names and versions of libraries on which bytes depend."""
    command: str
    """With TRACES for the folder of the logs."""


def origin_of(command: str, of_configuration: Callable[..., Result]) -> Origin:
    """Return what makes a report: a command, and the function that computes a result from a configuration."""
    from importlib.metadata import version

    from experiments.framework.dependencies import LIBRARIES, installed, version_of

    libraries = installed((*LIBRARIES, "matplotlib", "jinja2"))
    return Origin(version("apples-gas"), version_of(of_configuration), libraries, command)


def origin_section(logs: Sequence[tuple[Site, Found]], origin: Origin) -> Section:
    """Return how to make a report again."""
    facts = (
        f"Gas {origin.gas}, sources `{origin.sources}` (a hash of the modules on which this study's results depend); "
        f"{', '.join(origin.libraries)}.",
        f"`{origin.command}`, TRACES being a folder with the logs below. Neither the number of worker processes nor an "
        "interruption changes anything.",
        "What it cost in time and memory, and how that grows, stands in a file of its own, as it depends on the "
        "machine.",
        *(f"{site.trace}: `{log.name}`, sha256 `{log.sha256}`, {site.processors} processors." for site, log in logs),
    )
    blocks: tuple[Block, ...] = (Bullets(facts),)
    return Section("To make this report again", blocks)
