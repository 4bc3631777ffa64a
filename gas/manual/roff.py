"""Pages of the manual in the language of man (roff): one of the program, and one of each command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gas.manual.description import Command

__all__ = ["command_page", "escaped", "program_page"]

ENVIRONMENT = {
    "GAS_ENDPOINT": "The scheduler, in place of -e: a name in the configuration, or the URL of an S³ service.",
    "GAS_CONFIG": "The configuration, in place of --config.",
    "GAS_TOKEN": "The token for that scheduler, or the only one that is configured.",
    "GAS_CA_FILE": "Certificate authority of an S³, if the system does not know it.",
    "GAS_CACHE": "Folder of compiled kernels, and of the unpacked one-file Gas (default: ~/.cache/gas).",
    "GAS_DEBUG": "If set, internal errors show a traceback.",
}
EXIT_CODES = {
    "0": "Success.",
    "1": "Any other error.",
    "2": "Usage, or bad input.",
    "3": "No request is possible.",
    "4": "No scheduler answered, or it is unknown whether a job was submitted.",
    "5": "The plan was stale.",
    "130": "Interrupted.",
}
FILES = {
    "./gas.toml, ~/.config/gas/config.toml": "Schedulers; the first file must be trusted (gas endpoints --trust).",
    "~/.local/state/gas": "State of S³, and submitted jobs.",
}


def escaped(text: str) -> str:
    """Return text without requests and escapes of roff."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", safe, flags=re.MULTILINE)


def _head(name: str, version: str, what: str) -> list[str]:
    return [
        f'.TH {escaped(name.upper())} 1 "" "Gas {escaped(version)}" "User Commands"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(what)}",
    ]


def _terms(entries: Mapping[str, str]) -> list[str]:
    return [line for term, text in entries.items() for line in (".TP", f"\\fB{escaped(term)}\\fR", escaped(text))]


def _text(paragraphs: Sequence[str]) -> list[str]:
    """Return paragraphs; commands are formatted as examples."""
    lines: list[str] = []
    for one in paragraphs:
        lines += [".P", ".RS 4", f".B {escaped(one)}", ".RE"] if one.startswith("gas ") else [".P", escaped(one)]
    return lines


def command_page(command: Command, version: str) -> str:
    """Return the page of a command."""
    name = f"gas-{command.name.replace(' ', '-')}"
    arguments = [one for one in command.entries if not one.is_option]
    options = [one for one in command.entries if one.is_option]
    usage = " ".join(escaped(one.names) for one in arguments)
    lines = _head(name, version, command.summary.rstrip("."))
    lines += [".SH SYNOPSIS", f".B gas {command.name}", f"[\\fIOPTIONS\\fR] {usage}".strip()]
    lines += [".SH DESCRIPTION", escaped(command.summary), *_text(command.paragraphs)]
    if arguments:
        lines += [".SH ARGUMENTS", *_terms({one.names: one.text for one in arguments})]
    lines += [".SH OPTIONS", *_terms({one.names: one.text for one in options} | {"--help": "Print this help."})]
    if command.more:
        lines += [".SH NOTES", ".nf", escaped(command.more), ".fi"]
    lines += [".SH SEE ALSO", ".BR gas (1)"]
    return "\n".join(lines) + "\n"


def program_page(groups: Mapping[str, Sequence[Command]], version: str) -> str:
    """Return the page of the program, which lists all other pages."""
    lines = _head("gas", version, "find the request to a supercomputer that finishes a moldable application first")
    lines += [".SH SYNOPSIS", ".B gas", "[\\fB\\-\\-version\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"]
    lines += [".SH DESCRIPTION", *_text(DESCRIPTION)]
    lines.append(".SH COMMANDS")
    for group, commands in groups.items():
        lines += [f".SS {escaped(group)}"]
        for one in commands:
            page = f"gas-{one.name.replace(' ', '-')}"
            lines += [".TP", f".BR {escaped(page)} (1)", escaped(one.summary)]
    lines += [".SH EXIT STATUS", *_terms(EXIT_CODES), ".SH ENVIRONMENT", *_terms(ENVIRONMENT)]
    lines += [".SH FILES", *_terms(FILES), ".SH SEE ALSO", ".B gas guide", "lists the pages of the guide."]
    return "\n".join(lines) + "\n"


DESCRIPTION = (
    "A moldable application waits longer for many processors and runs longer on few. Gas "
    "asks schedulers how many processors are free and when, combines that with the speed-up of the application, finds "
    "the request (scheduler, processors, walltime) that finishes first, explains it and submits it. It works with "
    "Slurm, OAR and S³, its own scheduler (gas serve).",
    "gas plan app.toml -e cluster",
    "gas submit app.toml -e cluster -- ./app -n {processors}",
    "gas demo",
)
