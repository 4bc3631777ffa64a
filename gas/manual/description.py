"""Descriptions of commands, arguments and options, read from the functions that typer would call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gas.manual.stand_ins import Application, Parameter

__all__ = ["Command", "Entry", "described", "listed"]

TYPES = {int: "INTEGER", float: "FLOAT", Path: "PATH", str: "TEXT"}


@dataclass(frozen=True)
class Entry:
    """An argument or option.

    Attributes
    ----------
    names
        Its spelling with its value: ``-e, --endpoint NAME|URL``.
    text
        Its description, with its default.
    """

    names: str
    text: str
    is_option: bool


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes
    ----------
    name
        Full name, without the program: ``token add``.
    summary, paragraphs
        The first paragraph of its text, and the others.
    more
        A preformatted text at the end.
    """

    name: str
    summary: str
    paragraphs: tuple[str, ...]
    entries: tuple[Entry, ...]
    more: str = ""


def listed() -> dict[str, list[Command]]:
    """Return the commands of Gas and of its studies, by the headings of its help."""
    from gas.cli.commands import GROUP_OF_PLUG_INS, GROUPS

    groups = {
        group: [
            one
            for name, place in places.items()
            for one in described(name, getattr(import_module(place.module), place.name), place.options())
        ]
        for group, places in GROUPS.items()
    }
    studies = import_module("experiments.cli")  # by name, like an entry point: Gas does not depend on it
    for name in ("replay", *studies.names()):
        program = studies.application(import_module(f"experiments.{name}.study").STUDY)
        words = name if name in GROUP_OF_PLUG_INS else f"experiment {name}"
        groups[GROUP_OF_PLUG_INS[words.split()[0]]] += described(words, program)
    return groups


def described(name: str, found: Any, options: dict[str, Any] | None = None) -> list[Command]:
    """Return a command, or the commands that an application groups under one name."""
    if isinstance(found, Application):
        parts = [(name if name.endswith(inner) else f"{name} {inner}", each) for inner, each in found.commands.items()]
        return [one for words, function in parts for one in described(words, function)]
    summary, *paragraphs = inspect.cleandoc(found.__doc__ or "").split("\n\n")
    return [
        Command(
            name,
            " ".join(summary.split()),
            tuple(" ".join(one.split()) for one in paragraphs),
            tuple(_entries(found)),
            str((options or {}).get("epilog", "")),
        )
    ]


def _entries(function: Callable[..., Any]) -> list[Entry]:
    hints = get_type_hints(function, include_extras=True)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        written = [one for one in getattr(hints.get(name), "__metadata__", ()) if isinstance(one, Parameter)]
        if written and not written[0].facts.get("hidden"):
            found.append(_entry(name, get_args(hints[name])[0], parameter.default, written[0]))
    return found


def _entry(name: str, kind: Any, default: Any, written: Parameter) -> Entry:
    facts, text = written.facts, " ".join(str(written.facts.get("help") or "").split())
    types = [one for one in get_args(kind) or (kind,) if one is not type(None)] if _is_union(kind) else [kind]
    inner = get_args(types[0])[0] if get_origin(types[0]) is list else types[0]
    shown = facts.get("metavar") or (
        "|".join(map(str, get_args(inner))) if get_origin(inner) is Literal else TYPES.get(inner, "")
    )
    if written.kind == "argument":
        dots = "..." if get_origin(types[0]) is list else ""
        return Entry(f"{facts.get('metavar') or name.upper()}{dots}", text, is_option=False)
    names = written.names or [f"--{name.replace('_', '-')}"]
    both = sorted(names, key=lambda one: one.startswith("--"))  # short ones first
    if default not in (None, False, inspect.Parameter.empty, "", ()) and facts.get("show_default", True) is not False:
        text = f"{text} Default: {default}." if text.endswith(".") else f"{text} (default: {default})"
    if variable := facts.get("envvar"):
        text += f" In the environment: {variable}."
    return Entry(", ".join(both) + (f" {shown}" if inner is not bool and shown else ""), text.strip(), is_option=True)


def _is_union(kind: Any) -> bool:
    return type(None) in get_args(kind)
