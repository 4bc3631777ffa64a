"""The commands of the program `gas`, and those of other distributions.

They join through the entry points ``gas.commands``; a broken one disturbs no other.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from gas.cli.audit import audit_command
from gas.cli.backup import backup_command, check_command, restore_command
from gas.cli.demo import demo_command
from gas.cli.fit import fit
from gas.cli.guide import guide_command
from gas.cli.jobs import cancel_command, logs_command, reserve_command, status_command, wait_command
from gas.cli.machine import machine_command
from gas.cli.plan import plan_command
from gas.cli.reshape import reshape_command, watch_command
from gas.cli.schedulers import availability_command, endpoints_command
from gas.cli.serve import serve_command
from gas.cli.simulate import simulate_command
from gas.cli.simulation_table import EXPLANATION
from gas.cli.submit import submit_command
from gas.cli.token import token_app
from gas.cli.traces import traces_app
from gas.cli.why import why_command
from gas.cli.workload import workload_command
from gas.cli.workload_estimates import WorkloadCommand
from gas.errors import Missing
from speedup_models.fields import nearest

__all__ = ["app"]

PLUG_INS = "gas.commands"


class _Commands(TyperGroup):
    """The commands of Gas, then those of plug-ins, which are loaded when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return [*own, *sorted({point.name for point in entry_points(group=PLUG_INS)} - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        points = [point for point in entry_points(group=PLUG_INS) if point.name == cmd_name]
        if own is not None or not points:
            return own
        try:
            return typer.main.get_command(points[0].load())
        except Exception as error:  # whatever a plug-in does wrong is its own
            return _broken(f'the command "{cmd_name}" of {points[0].value} cannot be loaded: {error!r}')

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f'there is no command "{args[0]}"{nearest(args[0], self.list_commands(ctx))}')
        return super().resolve_command(ctx, args)


def _broken(why: str) -> Any:
    """Return a command that says why it is none."""
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
    help="Which request, to which supercomputer, finishes first?",
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


app.command("demo")(demo_command)
app.command("plan")(plan_command)
app.command("submit", context_settings={"allow_extra_args": True, "ignore_unknown_options": False})(submit_command)
app.command("status")(status_command)
app.command("why")(why_command)
app.command("wait")(wait_command)
app.command("logs")(logs_command)
app.command("cancel")(cancel_command)
app.command("reserve")(reserve_command)
app.command("reshape")(reshape_command)
app.command("watch")(watch_command)
app.command("availability")(availability_command)
app.command("endpoints")(endpoints_command)
app.command("serve")(serve_command)
app.command("machine")(machine_command)
app.add_typer(token_app, name="token")
app.command("backup")(backup_command)
app.command("restore")(restore_command)
app.command("check")(check_command)
app.command("guide")(guide_command)
app.command("fit")(fit)
app.command("simulate", epilog=EXPLANATION)(simulate_command)
app.command("audit")(audit_command)
app.command("workload", cls=WorkloadCommand)(workload_command)
app.add_typer(traces_app, name="traces")
