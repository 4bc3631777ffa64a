"""The commands of the program `gas`, and those of plug-ins.

Plug-ins register at the entry point group ``gas.commands``; a broken one does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from documents.fields import nearest
from gas.errors import Missing

__all__ = ["app"]

PLUG_INS = "gas.commands"


@dataclass(frozen=True)
class _Place:
    """The module and name of a command: a function, or a typer application of several commands."""

    module: str
    name: str
    options: Callable[[], dict[str, Any]] = dict

    def load(self, command: str) -> Any:
        """Import the module and return typer's command."""
        found = getattr(import_module(self.module), self.name)
        if isinstance(found, typer.Typer):
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.callback()(lambda: None)
            app.add_typer(found, name=command)
            return typer.main.get_group(app).commands[command]
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(command, **self.options())(found)
        return typer.main.get_command(app)


def _of_submit() -> dict[str, Any]:
    return {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": False}}


def _of_simulate() -> dict[str, Any]:
    from gas.cli.simulation_table import EXPLANATION

    return {"epilog": EXPLANATION}


def _of_workload() -> dict[str, Any]:
    from gas.cli.workload_estimates import WorkloadCommand

    return {"cls": WorkloadCommand}


GROUPS: dict[str, dict[str, _Place]] = {
    "Plan and submit": {
        "demo": _Place("gas.cli.demo", "demo_command"),
        "plan": _Place("gas.cli.plan", "plan_command"),
        "submit": _Place("gas.cli.submit", "submit_command", _of_submit),
        "fit": _Place("gas.cli.fit", "fit"),
        "reserve": _Place("gas.cli.jobs", "reserve_command"),
    },
    "Jobs": {
        "status": _Place("gas.cli.jobs", "status_command"),
        "why": _Place("gas.cli.why", "why_command"),
        "wait": _Place("gas.cli.jobs", "wait_command"),
        "logs": _Place("gas.cli.job_output", "logs_command"),
        "cancel": _Place("gas.cli.cancel", "cancel_command"),
        "reshape": _Place("gas.cli.reshape", "reshape_command"),
        "watch": _Place("gas.cli.reshape", "watch_command"),
        "offer": _Place("gas.cli.offer", "offer_command"),
    },
    "Schedulers": {
        "availability": _Place("gas.cli.schedulers", "availability_command"),
        "endpoints": _Place("gas.cli.schedulers", "endpoints_command"),
    },
    "Running S³": {
        "serve": _Place("gas.cli.serve", "serve_command"),
        "machine": _Place("gas.cli.machine", "machine_command"),
        "token": _Place("gas.cli.token", "token_app"),
        "backup": _Place("gas.cli.backup", "backup_command"),
        "restore": _Place("gas.cli.backup", "restore_command"),
        "check": _Place("gas.cli.backup", "check_command"),
    },
    "Logs and simulations": {
        "convert": _Place("gas.cli.convert", "convert_command"),
        "simulate": _Place("gas.cli.simulate", "simulate_command", _of_simulate),
        "audit": _Place("gas.cli.audit", "audit_command"),
        "backtest": _Place("gas.cli.backtest", "backtest_command"),
        "workload": _Place("gas.cli.workload", "workload_command", _of_workload),
        "traces": _Place("gas.cli.traces", "traces_app"),
    },
    "Help": {
        "guide": _Place("gas.cli.guide", "guide_command"),
    },
}
"""In the order of ``gas --help``. Modules are imported when their command runs: home directories are often on NFS."""

COMMANDS = {name: place for places in GROUPS.values() for name, place in places.items()}

MEANT = {
    **dict.fromkeys(["list", "ls", "jobs", "queue", "ps", "squeue", "sacct"], "status"),
    **dict.fromkeys(["kill", "stop", "delete", "scancel"], "cancel"),
    **dict.fromkeys(["run", "sbatch", "srun"], "submit"),
    **dict.fromkeys(["sinfo", "machines"], "availability"),
    **dict.fromkeys(["help", "man", "docs"], "guide"),
}
"""Commands by what other programs call them."""

GROUP_OF_PLUG_INS = dict.fromkeys(["replay", "experiment"], "Logs and simulations")
"""Headings for plug-ins of these names; other plug-ins are listed under their own heading."""


@cache
def _loaded(command: str) -> Any:
    """Return a command of Gas, which is built only once: building takes longer than most commands run."""
    return COMMANDS[command].load(command)


class _Commands(TyperGroup):
    """The commands of Gas, then those of plug-ins; each is loaded when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *sorted({point.name for point in entry_points(group=PLUG_INS)} - set(COMMANDS))]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        listed: dict[str, list[str]] = {group: list(places) for group, places in GROUPS.items()}
        for name in self.list_commands(ctx)[len(COMMANDS) :]:
            listed.setdefault(GROUP_OF_PLUG_INS.get(name, "Plug-ins"), []).append(name)
        width = max(len(name) for names in listed.values() for name in names)
        for group, names in listed.items():
            with formatter.section(group):
                loaded = [(name, self.get_command(ctx, name)) for name in names]
                limit = formatter.width - 6 - width
                rows = [(name.ljust(width), one.get_short_help_str(limit)) for name, one in loaded if not one.hidden]
                formatter.write_dl(rows)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            return _loaded(cmd_name)
        points = [point for point in entry_points(group=PLUG_INS) if point.name == cmd_name]
        if not points:
            return None
        try:
            return typer.main.get_command(points[0].load())
        except Exception as error:  # a faulty plug-in must not break other commands
            return _broken(f'the command "{cmd_name}" of {points[0].value} cannot be loaded: {error!r}')

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        named = args and not args[0].startswith("-") and args[0] not in COMMANDS
        if named and args[0] not in self.list_commands(ctx):
            hint = nearest(args[0], self.list_commands(ctx), otherwise="")
            if args[0].lower() in MEANT:
                hint = f"; did you mean gas {MEANT[args[0].lower()]}?"
            ctx.fail(f'there is no command "{args[0]}"{hint}')
        return super().resolve_command(ctx, args)


_Formatter: Any = TyperGroup.context_class.formatter_class


class _Help(_Formatter):  # type: ignore[misc]
    """Help whose lines break only at spaces (an option cut at a hyphen is misread), without the types of arguments."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(self, rows: Sequence[tuple[str, str]], *given: Any, **named: Any) -> None:
        kept = [(_TYPE.sub("", first), second.replace("-", _UNBROKEN)) for first, second in rows]
        super().write_dl(kept, *given, **named)

    def getvalue(self) -> str:
        return str(super().getvalue()).replace(_UNBROKEN, "-")


_UNBROKEN = "\N{NON-BREAKING HYPHEN}"
_TYPE = re.compile(r" <(?:str|path|list\[str\])>$")

TyperGroup.context_class.formatter_class = _Help


def _broken(why: str) -> Any:
    """Return a command that reports why the real one cannot be loaded."""
    stub = typer.Typer()

    @stub.command(
        help="(cannot be loaded)", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
    )
    def fail() -> None:
        raise Missing(why)

    return typer.main.get_command(stub)


app = typer.Typer(
    name="gas",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Find the request (which machine, how many processors, which walltime) that finishes first.\n\n"
    "gas demo shows an example on a simulated machine; gas guide explains how it works. Gas works with Slurm, OAR "
    "and S³, its own scheduler (gas serve).",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from gas.cli.tables import say

        say(f"gas {version('apples-gas')}")
        raise typer.Exit


@app.callback()
def _program(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass
