"""Turns a job into a request of oarsub or of the REST API, with one shape or several.

If OAR receives several shapes, it chooses one, anew at every pass of its scheduler until the job starts. The job learns
the shape when it starts: from the list of its resources, which OAR puts into a file for it.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from documents.fields import quoted
from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.oar.hierarchy import Hierarchy, property_of
from gas.endpoints.wording import checked_name, long_options, shell_word, tag_of
from gas.errors import BadInput
from gas.placeholders import VARIABLES, variable

__all__ = ["Batch", "Shape", "arguments_of", "batch_of", "body_of", "name_before_tag", "options_from"]

LONGEST_NAME = 100
"""Characters of a job's name in OAR's database."""

OWN_OPTIONS = frozenset(
    {"array", "array-param-file", "connect", "directory", "dumper", "help", "interactive", "json", "name",
     "reservation", "resource", "resubmit", "scanscript", "version", "xml", "yaml"}
)  # fmt: skip
"""Options of oarsub that would change the planned job, or prevent finding it again."""

OWN_KEYS = {"property": "properties", "queue": "queue"}
"""Options that affect plans, with the keys of the endpoint's table for them."""

_UNSAFE = re.compile(r'["$`\\!\n\r\0]|~/')
"""Characters that the REST API's own shells would interpret on the way to oarsub."""


@dataclass(frozen=True)
class Shape:
    """A number of units and a number of seconds."""

    processors: int
    walltime: int


@dataclass(frozen=True)
class Batch:
    """A job as it is submitted, with any transport.

    Attributes
    ----------
    name
        The job's name with its tag.
    command
        The command line for the user's shell.
    shapes
        Of several, OAR takes the one that ends first.
    resource
        The unit of the shapes' processors.
    options
        Further options of oarsub by their long names without dashes; None for those without a value.
    """

    name: str
    command: str
    shapes: tuple[Shape, ...]
    resource: str
    directory: str | None = None
    options: tuple[tuple[str, str | None], ...] = ()


def options_from(words: Iterable[str], where: str) -> tuple[tuple[str, str | None], ...]:
    """Return options of oarsub from ``--project=abc`` or ``--hold``, one word each.

    Raises
    ------
    BadInput
        A word is not a long option, or is one that Gas sets.
    """
    options = []
    for name, value in long_options(words, where, "oarsub", "--project=abc"):
        if name in OWN_OPTIONS:
            raise BadInput(f"{where}: Gas sets --{name} itself; leave it out")
        if name in OWN_KEYS:
            raise BadInput(f"{where}: --{name} changes the plan; write {OWN_KEYS[name]} in the endpoint's table")
        options.append((name, value))
    return tuple(options)


def batch_of(
    request: Request,
    job: JobDescription,
    *,
    key: str,
    resource: str,
    options: tuple[tuple[str, str | None], ...] = (),
    moldable: bool = False,
) -> Batch:
    """Return the job that runs a command in the chosen shape, or only waits for `run_time` seconds.

    Parameters
    ----------
    moldable
        Whether to request all shapes, the chosen one first. Placeholders in the command then stand for OAR's choice.
    """
    if request.not_before is not None:
        raise BadInput("OAR cannot delay a job until a given time; leave --not-before out, or submit later")
    chosen = Shape(request.processors, request.walltime)
    shapes: tuple[Shape, ...] = (chosen,)
    words = job.command if job.run_time is None else ("sleep", str(job.run_time))
    if moldable:
        others = (Shape(processors, walltime) for processors, walltime in request.alternatives)
        shapes = tuple(dict.fromkeys((chosen, *others)))
        command = _deciding_command(job.template or words, job.environment, resource)
    else:
        settings = [f"{name}={value}" for name, value in sorted(job.environment.items())]
        command = shlex.join(["env", *settings, *words] if settings else words)
    return Batch(f"{name_before_tag(job.name)}.{tag_of(key)}", command, shapes, resource, job.directory, options)


def name_before_tag(name: str) -> str:
    """Return a job's name, cut to leave room for a tag."""
    return checked_name(name)[: LONGEST_NAME - len(tag_of("")) - 1]


def _deciding_command(words: Iterable[str], environment: Mapping[str, str], resource: str) -> str:
    """Return a command that first determines how many units it has.

    OAR_RESOURCE_PROPERTIES_FILE has a line per resource, without its number.
    """
    hierarchy = Hierarchy.of(resource)
    key = property_of(hierarchy.name)
    lines = '"$OAR_RESOURCE_PROPERTIES_FILE"'
    count = f"grep -c . {lines}"
    if key != "resource_id":
        count = f"grep -o \" {key} = '[^']*'\" {lines} | sort -u | grep -c ."
    if hierarchy.outside > 1:
        count = f"expr $({count}) / {hierarchy.outside}"
    settings = [f"{name}={shlex.quote(value)}" for name, value in sorted(environment.items()) if name not in VARIABLES]
    values = {
        "processors": f"$({count})", "walltime": "$OAR_JOB_WALLTIME_SECONDS", "tasks": "$GAS_PROCESSORS",
        "cpus_per_task": "1",
    }  # fmt: skip
    sets = "; ".join(f"{variable(name)}={value}" for name, value in values.items())
    command = [*(["env", *settings] if settings else []), *(shell_word(word, values) for word in words)]
    script = f"{sets}; export {' '.join(map(variable, values))}; exec {' '.join(command)}"
    return shlex.join(["sh", "-c", script])


def resource_text(batch: Batch, shape: Shape) -> str:
    """Return a shape as in oarsub's ``-l``."""
    hours, minutes, seconds = shape.walltime // 3600, shape.walltime // 60 % 60, shape.walltime % 60
    resources = Hierarchy.of(batch.resource).text(shape.processors)
    return f"{resources},walltime={hours}:{minutes:02}:{seconds:02}"


def arguments_of(batch: Batch) -> list[str]:
    """Return the command line that submits a job."""
    line = ["oarsub", f"--name={batch.name}"]
    for shape in batch.shapes:
        line += ["-l", resource_text(batch, shape)]
    if batch.directory is not None:
        line.append(f"--directory={batch.directory}")
    line += [f"--{name}" if value is None else f"--{name}={value}" for name, value in batch.options]
    return [*line, batch.command]


def body_of(batch: Batch) -> dict[str, Any]:
    """Return the body of ``POST jobs.json``.

    The API passes it through two shells. A command that they would change is sent in base64; anything else that they
    would change is refused.

    Raises
    ------
    BadInput
        A name, a directory or an option cannot be sent.
    """
    command = batch.command
    if _UNSAFE.search(command):
        command = f"echo {base64.b64encode(_alone(command).encode()).decode()} | base64 -d | sh"
    body: dict[str, Any] = {"resource": [resource_text(batch, shape) for shape in batch.shapes], "name": batch.name}
    if batch.directory is not None:
        body["directory"] = batch.directory
    for name, value in batch.options:
        if name in body and value is not None:
            body[name] = [*([body[name]] if isinstance(body[name], str) else body[name]), value]
        else:
            body[name] = 1 if value is None else value
    for name, value in body.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and _UNSAFE.search(one):
                raise BadInput(f'{name} {quoted(one)}: over REST it must not contain " $ ` \\ ! or ~/')
    return body | {"command": command}


def _alone(command: str) -> str:
    """Return a script with one command, which does not read the rest of the script as its input."""
    return f"{{ {command}\n}} </dev/null\n"
