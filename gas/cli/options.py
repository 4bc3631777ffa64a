"""Options that several commands share: schedulers, jobs, idempotency keys."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from gas.errors import BadInput

__all__ = [
    "INSTANTS",
    "LARGEST_MACHINE",
    "AvailabilityFiles",
    "ConfigFile",
    "Endpoints",
    "Json",
    "KeyOption",
    "OneEndpoint",
    "StateDirectory",
    "grouped",
    "named_directory",
    "only",
    "processors_option",
]

INSTANTS = "18:30, tomorrow 9:00, Monday 9:00, 30min, +2h, 2026-11-21T08:00 or @EPOCH"
"""The forms of an instant (`gas.times.parse_instant`), for the help of options."""

LARGEST_MACHINE = 2**31 - 1
"""Largest number of processors of a machine."""


def processors_option(help: str) -> Any:
    """Return the option ``--processors`` for the size of a machine."""
    return typer.Option("--processors", "-p", metavar="N", min=1, max=LARGEST_MACHINE, help=help)


def _configured_names(incomplete: str) -> list[str]:
    from gas.cli.completion import configured_names

    return configured_names(incomplete)


def _named(ctx: typer.Context, value: list[str] | None) -> list[str] | None:
    """Return the schedulers of -e; `$GAS_ENDPOINT` is used instead only if no availability list is named."""
    source = ctx.get_parameter_source("endpoint")
    from_environment = source is not None and source.name == "ENVIRONMENT"
    return None if from_environment and ctx.params.get("availability") else value


Endpoints = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint",
        "-e",
        metavar="NAME|URL",
        envvar="GAS_ENDPOINT",
        callback=_named,
        autocompletion=_configured_names,
        help="Scheduler: a name in the configuration, or the URL of an S³ service.",
    ),
]
AvailabilityFiles = Annotated[
    list[str] | None,
    typer.Option("--availability", "-a", metavar="FILE", help="Availability list in a file; - for standard input."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="Configuration (default: $GAS_CONFIG, ./gas.toml, ~/.config/gas/config.toml)."
    ),
]
OneEndpoint = Annotated[
    list[str] | None,
    typer.Option(
        "--endpoint",
        "-e",
        metavar="NAME|URL",
        envvar="GAS_ENDPOINT",
        autocompletion=_configured_names,
        help="Scheduler: a name in the configuration, or the URL of an S³ service (default: the only one configured).",
    ),
]


def only(endpoint: list[str] | None) -> str | None:
    """Return the scheduler of -e for commands that take only one; None without -e.

    Parameters
    ----------
    endpoint
        All that were given (`OneEndpoint`): of several, click would use the last without a word.
    """
    if endpoint and len(endpoint) > 1:
        raise BadInput(f"-e {' -e '.join(endpoint)}: give one scheduler")
    return endpoint[0] if endpoint else None


def named_directory(text: str) -> Path:
    """Return the directory that an option names; an empty value (an unset variable) is not the current directory."""
    if not text:
        raise typer.BadParameter("is empty; give a directory (the current one is .)")
    return Path(text)


StateDirectory = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        parser=named_directory,
        help="State directory of the service (default: ~/.local/state/gas/NAME).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key", metavar="KEY", help="Idempotency key: repeating the command with the same key creates nothing twice."
    ),
]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command in which each parameter that is a group of options is replaced by the group's options.

    A group is a dataclass whose fields are options with defaults; it defines options that several commands share.
    """
    groups: dict[str, Any] = {}
    flat: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            flat.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind))
            continue
        groups[name] = kind
        own = get_type_hints(kind, include_extras=True)
        for one in fields(kind):
            option = inspect.Parameter(one.name, parameter.KEYWORD_ONLY, default=one.default, annotation=own[one.name])
            flat.append(option)

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
        command(**given)

    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in flat} | {"return": None}
    return called
