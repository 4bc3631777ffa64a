"""Options that several commands share are defined once, as a group."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from gas.cli.options import grouped


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width", help="Across.")] = 3
    height: Annotated[int, typer.Option("--height")] = 4


@dataclass(frozen=True)
class Box(Size):
    width: Annotated[int, typer.Option("--width", help="Of the box.")] = 5


@grouped
def measured(context: typer.Context, size: Size, *, times: int = 1) -> None:
    """Print an area."""
    typer.echo(f"{context.command.name} {size.width * size.height * times}")


@grouped
def packed(size: Box) -> None:
    typer.echo(str(size.width * size.height))


def run(command, *arguments):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_a_command_has_each_option_of_a_group_in_its_place():
    assert list(inspect.signature(measured).parameters) == ["context", "width", "height", "times"]
    assert run(measured, "--height", 10, "--times", 2).output == "measured 60\n"
    assert "Across." in run(measured, "--help").output
    assert "Print an area." in run(measured, "--help").output


def test_a_group_derived_from_another_may_say_otherwise_what_one_means():
    assert run(packed).output == "20\n"
    assert "Of the box." in run(packed, "--help").output
