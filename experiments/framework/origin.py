"""What a report was made from, and its section on reproducing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.framework.ledger import Result
from experiments.framework.logs import Found, without_request
from experiments.framework.sites import Site
from gas.printable import many
from gas.report.blocks import Block, Bullets, Section, Text

__all__ = ["Origin", "archive_notes", "origin_of", "origin_section", "remarks", "thanks", "version_of_log"]


@dataclass(frozen=True)
class Origin:
    """What a report was made from, to reproduce it."""

    gas: str
    """Version of Gas."""
    sources: str
    """Hash of the sources on which results depend (see `experiments.framework.dependencies`)."""
    libraries: tuple[str, ...]
    """Names and versions of the libraries on which the bytes depend."""
    command: str
    """The command, with TRACES for the folder of the logs, or LOG for a single one."""


def origin_of(command: str, of_configuration: Callable[..., Result]) -> Origin:
    """Return the origin of a report, from its command and the function that computes a result from a configuration."""
    from importlib.metadata import version

    from experiments.framework.dependencies import LIBRARIES, installed, version_of

    libraries = installed((*LIBRARIES, "matplotlib", "jinja2"))
    return Origin(version("apples-gas"), version_of(of_configuration), libraries, command)


def origin_section(logs: Sequence[tuple[Site, Found]], origin: Origin) -> Section:
    """Return the section on reproducing a report."""
    where = "TRACES is the folder of the logs" if "TRACES" in origin.command else "LOG is the log"
    where = f", where {where} below" if logs else ""
    facts = (
        f"Gas {origin.gas}, sources `{origin.sources}` (a hash of the modules on which this study's results depend); "
        f"{', '.join(origin.libraries)}.",
        f"`{origin.command}`{where}. Results depend neither on the number of worker processes nor on interruptions.",
        "Run time and memory depend on the machine and are in a separate file.",
        *(
            f"{site.trace}: `{log.name}`, sha256 `{log.sha256}`, {site.processors} processors.{archive_notes(log)}"
            for site, log in logs
        ),
    )
    blocks: tuple[Block, ...] = (Bullets(facts),)
    return Section("Reproducing this report", blocks)


def archive_notes(log: Found) -> str:
    """Return the archive's notes on a log in words: removed bursts, jobs without a request, partitions."""
    said = []
    if removed := log.header.removed:
        filters = "; ".join(f"{one.filter}: {one.jobs:,}" for one in removed)
        users = {one.user for one in removed if one.user is not None}
        bursts = f", most of them in bursts of {many(len(users), 'user')}" if users else ""
        said.append(f"The archive removed {many(sum(one.jobs for one in removed), 'job')}{bursts} ({filters})")
    if lacking := without_request(log):
        said.append(f"{lacking:.1%} of its jobs have no requested time; their run times replace it")
    if len(partitions := log.header.partitions) > 1:
        names = ", ".join(" ".join(name.split()) or str(number) for number, name in partitions.items())
        said.append(f"Its partitions ({names}) are simulated as one machine")
    return "".join(f" {text}." for text in said)


def version_of_log(log: Found) -> str:
    """Return the version of a log that was used."""
    return f"{log.name} ({'cleaned' if log.cleaned else 'not cleaned'})"


def remarks(logs: Sequence[Found]) -> list[str]:
    """Return remarks on logs: how they were simulated, and unused versions."""
    return [
        *(f"{log.source.trace}: {log.source.remark}" for log in logs if log.source.remark),
        *(f"{log.name} is used; also found, but not used: {', '.join(log.others)}." for log in logs if log.others),
    ]


def thanks(logs: Sequence[Found]) -> list[Block]:
    """Return acknowledgements that the headers of logs ask for."""
    asked = [f"{log.name}: {' '.join(text.split())}" for log in logs for text in log.header.acknowledgements]
    return [Text("Acknowledgements requested by the headers of the logs:"), Bullets(tuple(asked))] if asked else []
