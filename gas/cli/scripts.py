"""Reads the APP argument: an application file, or a Slurm job script with sizes and times."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gas.application import Application
from gas.cli.tables import remark
from gas.errors import BadInput
from gas.reading import contents, read_application
from gas.times import duration_text, parse_duration
from speedup_models.constraints import MOST_PROCESSORS
from speedup_models.model import SizeUnit

__all__ = ["Subject", "Work"]

ApplicationFile = Annotated[
    str | None,
    typer.Argument(metavar="APP", help="Application file (TOML; - for standard input), or a Slurm job script."),
]
ScriptFile = Annotated[
    str | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help="Slurm job script; its other #SBATCH options are kept (- for standard input).",
    ),
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="N,...", help="Sizes at which the script can run (default: the size in the script)."
    ),
]
Times = Annotated[
    str | None,
    typer.Option("--time", metavar="T,...", help="A walltime for each size, such as 8h,4h10m,2h20m."),
]
ScriptUnit = Annotated[
    Literal["tasks", "nodes", "gpus", "cpus"] | None,
    typer.Option("--unit", help="Unit of the sizes (default: the unit of the script's own size)."),
]


@dataclass(frozen=True)
class Work:
    """The work to run.

    Attributes
    ----------
    script
        The Slurm job script to submit; None for a command.
    unit
        The unit of its sizes; None for the unit in which the script gives its own size.
    counts
        The unit of a size, in words.
    """

    app: Application
    script: Any = None
    unit: str | None = None
    counts: str = "processors"


@dataclass(frozen=True)
class Subject:
    """The options for the work to run."""

    application: ApplicationFile = None
    script: ScriptFile = None
    sizes: Sizes = None
    times: Times = None
    unit: ScriptUnit = None

    def words(self) -> list[str]:
        """Return the options as they were given; none if one of them reads standard input, which is gone."""
        if "-" in (self.application, self.script):
            return []
        options = (("--script", self.script), ("--sizes", self.sizes), ("--time", self.times), ("--unit", self.unit))
        given = [word for option, value in options if value is not None for word in (option, str(value))]
        return given if self.application is None else [str(self.application), *given]

    def work(self) -> Work:
        """Return the work to run.

        A script may replace the application file. With both, the file gives the sizes and times of the script.
        """
        application, script = self.application, self.script
        if application is not None and script is None and application != "-" and _is_script(application):
            application, script = None, application
        if script is None:
            for option, value in (("--sizes", self.sizes), ("--time", self.times), ("--unit", self.unit)):
                if value is not None:
                    raise BadInput(f"{option} {value}: belongs to a job script; give it with --script FILE")
            if application is None:
                raise BadInput("what should run? Name an application file, or a Slurm job script with --script FILE")
            return Work(read_application(application))
        from gas.endpoints.slurm.directives import Script

        if application == script == "-":
            raise BadInput("--script -: standard input can be read only once")
        found = Script.of(_text_of(script), script).with_variables(os.environ)
        if application is not None:
            for option, value in (("--sizes", self.sizes), ("--time", self.times)):
                if value is not None:
                    raise BadInput(f"{option} {value}: {application} sets this too; leave one of the two out")
            app = read_application(application)
            if app.asks_for_more:
                raise BadInput(
                    f"{application}: sets what {script} sets itself (#SBATCH); with a job script, leave out the unit "
                    "and [resources] of the application, and name the unit of the sizes with --unit"
                )
        else:
            app = _application(found, self.sizes, self.times, self.unit)
        own = _options(found, self.unit)
        counted: SizeUnit = own.unit if own.unit in ("gpus", "nodes") else "processors"
        return Work(replace(app, unit=counted, in_script=True), found, self.unit, _counted(own))


def _is_script(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(2) == b"#!"
    except (OSError, ValueError):
        return False


def _text_of(path: str) -> str:
    """Return the text of a script, or of standard input; bytes that are not UTF-8 are kept for sbatch."""
    return contents(path)[0].decode(errors="surrogateescape")


def _application(script: Any, sizes: str | None, times: str | None, unit: Any) -> Application:
    """Return the application for a script, with sizes and walltimes from options or from the script."""
    from gas.endpoints.slurm.sizing import own_size

    own = _options(script, unit)
    counts = [own_size(own)] if sizes is None else [_size(word) for word in sizes.split(",")]
    if times is not None:
        seconds = [parse_duration(word, "--time") for word in times.split(",")]
    elif own.walltime is None:
        raise BadInput(f"{script.path}: has no time limit (#SBATCH --time); give one with --time")
    elif len(counts) > 1:
        raise BadInput(f"--sizes {sizes}: give a walltime for each size: --time 8h,4h10m")
    else:
        seconds, size = [own.walltime], own_size(own)
        if counts != [size]:
            unit = _counted(own)
            remark(
                f"{script.path}: its time limit, {duration_text(own.walltime)} for {size} {unit}, is also taken for "
                f"{counts[0]}; give another one with --time"
            )
    if len(seconds) != len(counts):
        raise BadInput(
            f"--sizes has {len(counts)} and --time has {len(seconds)} values: give one walltime for each size"
        )
    if len(set(counts)) < len(counts):
        raise BadInput(f"--sizes {sizes}: contains a size twice")
    from speedup_models import Table

    model = Table.of(dict(zip(counts, map(float, seconds), strict=True)))
    return Application(model, safety=1.0, name=own.name or ("sbatch" if script.path == "-" else Path(script.path).stem))


def _options(script: Any, unit: Any) -> Any:
    """Return the options of sbatch from a script and the environment."""
    from gas.endpoints.slurm.directives import from_variables
    from gas.endpoints.slurm.options import Options

    return Options.of([*script.directives, *from_variables(os.environ)], now=int(time.time()), unit=unit)


def _counted(own: Any) -> str:
    """Return in words the unit of a script's size."""
    if own.unit == "tasks" and (own.cpus_per_task or 1) > 1:
        return f"tasks of {own.cpus_per_task} CPUs"
    unit: str = own.unit
    return {"cpus": "CPUs", "gpus": "GPUs"}.get(unit, unit)


def _size(word: str) -> int:
    given = word.strip()
    if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= MOST_PROCESSORS):
        raise BadInput(f"--sizes {given!r}: must be integers from 1 to {MOST_PROCESSORS}, as in 1,2,4,8")
    return int(given)
