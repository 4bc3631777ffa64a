"""``gas availability`` and ``gas endpoints``: free processors and status of schedulers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gas.agent.schedulers import chosen_endpoints
from gas.availability import Availability, NodeAvailability
from gas.cli.options import AvailabilityFiles, ConfigFile, Endpoints, Json
from gas.cli.tables import draw_text, many, note, picture_width, print_json, print_table, say, wants_ascii, wants_colour
from gas.compiled import tell_of_compiling
from gas.endpoints import JobEndpoint, ask
from gas.endpoints.configuration import tables_of
from gas.endpoints.trust import allow, read_document, withdraw
from gas.errors import BadInput, Unreachable
from gas.planner import UNIT_NOUNS
from gas.times import duration_text, iso_time, relative_text

__all__ = ["availability_command", "endpoints_command"]

_NOUNS = {"gpus": UNIT_NOUNS["gpus"], "nodes": UNIT_NOUNS["nodes"], "tasks": "task"}
"""What a size of an endpoint counts, if not processors."""


def availability_command(
    endpoint: Endpoints = None,
    availability: AvailabilityFiles = None,
    frames: Annotated[
        int,
        typer.Option(
            "--frames",
            min=1,
            help="Print at most N frames (intervals in which the number of free processors is constant).",
            metavar="N",
        ),
    ] = 20,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the free processors: .png, .svg or .pdf.")
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Show free processors over time.

    gas availability -e kth --plot free.png

    With --json and one scheduler, the output is an availability list for `gas plan --availability`. It counts
    processors over all nodes; on Slurm, `gas plan -e` also considers which nodes are free.
    """
    tell_of_compiling(lambda text: note(f"gas: {text}"))
    chosen = chosen_endpoints(endpoint, availability, config)
    broken = [e for e in chosen if isinstance(e, tuple)]
    answers = ask([e for e in chosen if not isinstance(e, tuple)])
    problems = [error for _, error in broken] + [a.error for a in answers if a.error is not None]
    for problem in problems:
        if len(chosen) > 1:
            note(f"gas: {problem}")
    lists = [a.availability for a in answers if a.availability is not None]
    if not lists:
        if len(problems) == 1:
            raise problems[0]
        raise Unreachable("no scheduler answered")
    if plot is not None:
        from gas.pictures.plan import draw_availability

        draw_availability(lists[0], plot)
        note(f"{plot}: written")
    if json:
        wires = [one.counts.to_wire() for one in lists]
        print_json(wires[0] if len(wires) == 1 else {"schema": "gas.availabilities/1", "lists": wires})
        return
    units = [a.endpoint.unit for a in answers if a.availability is not None]
    for i, (one, unit) in enumerate(zip(lists, units, strict=True)):
        if i:
            say()
        show_availability(one, frames, unit)


def show_availability(availability: Availability, most: int, unit: str = "cpus") -> None:
    """Print free processors, or other units, over time as a picture and a table."""
    from gas.pictures.terminal import availability_picture

    one = availability.counts
    counted = ", counted over all nodes" if isinstance(availability, NodeAvailability) else ""
    size = many(one.processors, _NOUNS.get(unit, "processor"))
    say(f"{one.scheduler}: {size}, {one.kind}s, as of {iso_time(one.now)}{counted}")
    say()
    draw_text(availability_picture(one, width=picture_width(), colour=wants_colour(), ascii=wants_ascii()))
    say()
    shown = one.frames[:most]
    print_table(
        ["from", "until", "for", "free"],
        [
            (
                relative_text(f.start, one.now),
                "for ever" if f.end is None else relative_text(f.end, one.now),
                "" if f.end is None else duration_text(f.end - f.start),
                str(f.free),
            )
            for f in shown
        ],
    )
    if len(shown) < len(one.frames):
        say(f"({many(len(one.frames) - len(shown), 'more frame')}: --frames {len(one.frames)})")


def endpoints_command(
    endpoint: Endpoints = None,
    availability: AvailabilityFiles = None,
    generate: Annotated[
        Literal["slurm"] | None,
        typer.Option("--generate", help="Print a configuration for the local Slurm (or that of $SLURM_CONF)."),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Trust the current contents of FILE (default: ./gas.toml).")
    ] = False,
    untrust: Annotated[bool, typer.Option("--untrust", help="Stop trusting FILE.")] = False,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Configuration for --trust and --untrust.")
    ] = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """List schedulers and their status.

    gas endpoints --generate slurm > gas.toml

    Shows for each scheduler whether it answers, whether its starts are promises or estimates (kind), its processors
    and those that are free now (or GPUs or nodes, if its sizes count these), whether it accepts jobs, its limits for a
    request, and how long the answer took (round trip). Remarks follow the table.

    A configuration (./gas.toml, ~/.config/gas/config.toml, $GAS_CONFIG or --config) names the schedulers:

    \b
    [endpoints.kth]
    type = "s3"
    url = "http://127.0.0.1:8642"
    max_processors = 64
    max_walltime = "12h"
    speed = 1.2

    Gas runs programs and sends jobs and tokens to services that a configuration names. It therefore uses a gas.toml in
    the current folder only after you accept it with --trust, and again after each change. If other users can write to
    a configuration, Gas uses only those of its schedulers that are availability lists in files (type = "file").
    """
    if trust or untrust or file is not None:
        _allow_or_withdraw(file, config, trust, untrust)
        return
    if generate is not None:
        from gas.endpoints.slurm.discovery import text_here

        say(text_here().rstrip())
        note("gas: save it as gas.toml in the current folder, then run gas endpoints --trust")
        return
    tell_of_compiling(lambda text: note(f"gas: {text}"))
    chosen = chosen_endpoints(endpoint, availability, config)
    asked = {id(a.endpoint): a for a in ask([e for e in chosen if not isinstance(e, tuple)])}
    entries: list[dict[str, Any]] = []
    for e in chosen:
        if isinstance(e, tuple):
            entries.append({"name": e[0], "address": None, "ok": False, "error": str(e[1])})
            continue
        answer = asked[id(e)]
        one = answer.availability
        entry: dict[str, Any] = {
            "name": answer.name,
            "address": e.address,
            "ok": answer.error is None,
            "error": None if answer.error is None else str(answer.error),
            "takes_jobs": isinstance(e, JobEndpoint),
            "round_trip_ms": round(answer.seconds * 1000, 1),
            "max_processors": answer.limits.max_processors,
            "max_walltime": answer.limits.max_walltime,
            "speed": answer.limits.speed,
            "remarks": list(answer.remarks),
        }
        if one is not None:
            counts = one.counts
            entry |= {
                "kind": one.kind,
                "processors": one.processors,
                "unit": e.unit,
                "free_now": int(counts.free[0]),
                "frames": len(counts.starts),
            }
        entries.append(entry)
    if json:
        print_json({"schema": "gas.endpoints/1", "endpoints": entries})
    else:
        print_table(
            ["name", "address", "answers", "kind", "processors", "free now", "accepts jobs", "limits", "round trip"],
            [_row(entry) for entry in entries],
            left=("name", "address", "answers", "kind", "accepts jobs", "limits"),
        )
        for entry in entries:
            for remark in entry.get("remarks", ()):
                say(f"{entry['name']}: {remark}")
        for entry in entries:
            if entry["error"]:
                note(f"gas: {entry['error']}")
    if not any(entry["ok"] for entry in entries):
        raise Unreachable("no scheduler answered")


def _allow_or_withdraw(file: Path | None, config: Path | None, trust: bool, untrust: bool) -> None:
    """Carry out ``--trust`` or ``--untrust``."""
    if trust == untrust:
        raise BadInput(
            "--trust and --untrust: cannot be used together"
            if trust
            else f"{file}: needs --trust or --untrust; to use a configuration once, write --config {file}"
        )
    path = file or config or Path("gas.toml")
    if untrust:
        count = withdraw(path)
        say(f"no longer trusted: {path}" + ("" if count == 1 else f" ({count} versions)"))
        return
    document = read_document(path)
    tables = tables_of(document)
    allow(document)
    say(f"trusted with its current contents: {document.location}")
    for name, table in tables.items():
        command = table.get("token_command")
        runs = f", runs {shlex.join(map(str, command))}" if isinstance(command, list) else ""
        where = table.get("url") or table.get("path") or table.get("slurm_conf") or table.get("folder") or ""
        say(f"  {name}: {table.get('type', 'of no type')} {where}".rstrip() + runs)


def _counted(number: int, unit: str) -> str:
    return many(number, _NOUNS[unit]) if unit in _NOUNS else str(number)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    limits = []
    if entry.get("max_processors"):
        limits.append(many(entry["max_processors"], "processor"))
    if entry.get("max_walltime"):
        limits.append(duration_text(entry["max_walltime"]))
    if entry.get("speed", 1.0) != 1:
        limits.append(f"speed {entry['speed']:g}")
    return (
        entry["name"],
        entry["address"] or "",
        "yes" if entry["ok"] else "no",
        entry.get("kind", ""),
        "" if "processors" not in entry else _counted(entry["processors"], entry["unit"]),
        str(entry.get("free_now", "")),
        "yes" if entry.get("takes_jobs") else "no",
        ", ".join(limits) or "none",
        f"{entry['round_trip_ms']} ms" if "round_trip_ms" in entry else "",
    )
