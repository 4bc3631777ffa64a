"""``gas experiment``: studies on logs and models, each with a report."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

import experiments
from documents.fields import nearest

if TYPE_CHECKING:
    from experiments.framework.study import Study

__all__ = ["application", "command_for", "experiment_app", "names"]  # and replay_app, which is created on first use

_SHARED = ("framework", "moldable", "published", "replay")
"""Packages that are not studies of known logs."""

_KEPT = "A study can be interrupted: Gas keeps its results, and the same command continues from there."


def names() -> list[str]:
    """Return the names of all studies: each other package is one."""
    return [one.name for one in pkgutil.iter_modules(experiments.__path__) if one.ispkg and one.name not in _SHARED]


class _Studies(TyperGroup):
    """A command for each study; its module is imported when the command is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in names():
            return command_for(import_module(f"experiments.{cmd_name}.study").STUDY)
        return (
            None if ctx.resilient_parsing else ctx.fail(f'there is no study "{cmd_name}"{nearest(cmd_name, names())}')
        )


def __getattr__(name: str) -> typer.Typer:
    """Make the command ``gas replay``, which imports the simulator."""
    if name != "replay_app":
        raise AttributeError(name)
    return application(import_module("experiments.replay.study").STUDY)


def command_for(study: Study[Any, Any, Any]) -> Any:
    """Return the command of a study: its own options and the shared ones."""
    return typer.main.get_command(application(study))


def application(study: Study[Any, Any, Any]) -> typer.Typer:
    """Return a program of one command; see `command_for`."""
    from experiments.framework import options as of
    from experiments.framework.study import Chosen, Where, perform
    from gas.errors import BadInput

    own = inspect.signature(study.options, eval_str=True).parameters

    def command(context: typer.Context, **given: Any) -> None:
        if "seeds" not in own and (seeds := given.pop("seeds")) != 1:
            raise BadInput(f"--seeds {seeds}: this study takes one seed; leave the option out, or give 1")
        where = Where(*(given.pop(name, None) for name in ("traces", "output", "workers", "shard", "dask")))
        of_logs = () if study.program else (given.pop("log", ()), given.pop("month", ()), given.get("quick", False))
        if study.quick and given.pop("quick"):
            # An option that was given counts, even if its value is the default.
            source = {name: getattr(context.get_parameter_source(name), "name", "") for name in study.quick}
            given |= {name: value for name, value in study.quick.items() if source[name] == "DEFAULT"}
        perform(study, given, where, Chosen(*of_logs))

    def option(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)

    of_logs = [option(name, kind, []) for name, kind in of.of_logs(own=study.own_logs, by_month=study.by_month)]
    parameters = [
        option("context", typer.Context),
        *([option("traces", of.TracesOption, None), *of_logs] if study.traces and not study.program else []),
        option("output", of.OutputOption, Path(study.name)),
        *(option(name, parameter.annotation, parameter.default) for name, parameter in own.items()),
        *([] if "seeds" in own else [option("seeds", of.SeedsOption, 1)]),
        *([option("quick", of.QuickOption, False)] if study.quick else []),
        *map(option, ("workers", "shard", "dask"), (of.WorkersOption, of.ShardOption, of.DaskOption), [None] * 3),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    summary, _, rest = (inspect.getdoc(study.options) or "").partition("\n\n")
    example = "history.txt" if study.program else "--traces logs/ --quick" if study.traces else "--quick"
    command.__doc__ = "\n\n".join((summary, f"{study.command} {example}", rest, _KEPT))
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(study.name)(command)
    return app


experiment_app = typer.Typer(cls=_Studies, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@experiment_app.callback()
def _studies() -> None:
    """Run a study on logs or models, and write its report."""
