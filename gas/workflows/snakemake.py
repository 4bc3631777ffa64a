"""Snakemake on S³: resources of a rule planned by Gas, and commands that submit, follow and cancel its jobs.

In a Snakefile::

    from gas.workflows.snakemake import gas_resources

    rule solve:
        output: "solved/{n}.txt"
        resources: **gas_resources("lu.toml")
        shell: "mpirun -n {resources.tasks} lu > {output}"

and in its profile, for snakemake-executor-plugin-cluster-generic::

    executor: cluster-generic
    cluster-generic-submit-cmd: gas-snakemake-submit
    cluster-generic-status-cmd: gas-snakemake-status
    cluster-generic-cancel-cmd: gas-snakemake-cancel

A job is planned when Snakemake first requests its resources, that is, when its input exists; it is planned once, see
`memory`. It is submitted once to the scheduler of its plan, with a key made from its script. Its number is printed as
SCHEDULER:NUMBER, so that the other two commands find it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gas.endpoints import JobDescription, Request
from gas.errors import BadInput, NotFound, TooMany, Unreachable, outcome_of
from gas.reading import read_application
from gas.workflows.conversions import snakemake_resources
from gas.workflows.memory import VARIABLE, PlanMemory
from gas.workflows.scheduling import PATIENCE, job_endpoint, job_of, patiently, plan_now, submit_once
from speedup_models import Constraint, SpeedupModel

__all__ = ["gas_resources", "main", "request_of", "state_of"]

STARTUP = 30
"""Seconds added to the expected execution time: a job is a Snakemake process that starts the rule's command."""

RESOURCES = ("tasks", "cpus_per_task", "runtime", "gas_processors", "gas_walltime", "gas_scheduler")

STATES = {"queued": "running", "running": "running", "completed": "success"}
"""Snakemake's names for the states of S³; all others count as failed."""


@dataclass(frozen=True)
class _Started:
    """A speed-up model plus a start-up time in seconds."""

    model: SpeedupModel
    startup: float

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def constraint(self) -> Constraint | None:
        return self.model.constraint

    @property
    def sizes(self) -> tuple[int, ...] | None:
        return self.model.sizes

    def seconds(self, processors: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(self.model.seconds(processors), np.float64) + self.startup


def gas_resources(
    application: str | Path,
    endpoints: str | Sequence[str] = (),
    *,
    startup: float = STARTUP,
    threads: bool = False,
    patience: float = PATIENCE,
    **constraints: Any,
) -> dict[str, Callable[..., int | str]]:
    """Return the resources of a rule, each a callable that plans at job time: ``resources: **gas_resources(...)``.

    The resources are ``tasks``, ``cpus_per_task``, ``runtime`` (minutes) and, for Gas's submit command,
    ``gas_processors``, ``gas_walltime`` (seconds) and ``gas_scheduler``. Other executor plugins use the first three.

    Parameters
    ----------
    application
        The application file; ``{names}`` in it are replaced by the wildcards of the job.
    endpoints
        Schedulers by address or by name in gas.toml; by default that of $GAS_ENDPOINT, or all of gas.toml.
    startup
        Seconds that Snakemake itself needs to start in the job.
    threads
        Whether to request one task with several CPUs instead of several tasks.
    patience
        Seconds for which a scheduler may be unreachable.
    constraints
        Options of `gas.agent.options.PlanOptions`: `deadline`, `tolerance` and so on.

    Notes
    -----
    A job that is retried is planned again, and the safety of its walltime grows with the attempt: a job that did not
    finish within one walltime would not finish within another of the same length. Jobs that become ready together are
    planned with the same availability list.
    """
    named = [endpoints] if isinstance(endpoints, str) else list(endpoints)

    def made(path: str, attempt: int) -> dict[str, int | str]:
        app = read_application(path)
        started = replace(app, model=_Started(app.model, startup), safety=min(1000.0, app.safety * attempt))
        found = patiently(lambda: plan_now(started, named, **constraints), patience)
        return {**snakemake_resources(found.candidate, threads=threads), "gas_scheduler": found.endpoint}

    def resource(name: str) -> Callable[..., int | str]:
        def value(wildcards: Any, attempt: int, rulename: str) -> int | str:  # Snakemake passes these names
            own = {key: str(text) for key, text in wildcards.items()}
            path = str(application).format(**own)
            job = {"rule": rulename, "wildcards": own, "attempt": attempt, "application": path, "threads": threads}
            plans = PlanMemory(Path.cwd() / ".snakemake" / "gas")
            answer: int | str = plans.once(job, lambda: made(path, attempt))[name]
            return answer

        return value

    return {name: resource(name) for name in RESOURCES}


def job_properties(script: Path) -> dict[str, Any]:
    """Return Snakemake's description of a job, from the second line of its script.

    Raises
    ------
    BadInput
        The file is not the script of a Snakemake job.
    """
    mark = "# properties = "
    try:
        for line in script.read_text().splitlines():
            if line.startswith(mark):
                found: dict[str, Any] = json.loads(line.removeprefix(mark))
                return found
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInput(f"{script}: cannot be read as the script of a Snakemake job: {error}") from None
    raise BadInput(f"{script}: is not the script of a Snakemake job; it has no line '{mark}...'")


def request_of(properties: dict[str, Any]) -> Request:
    """Return the request of a job: as planned by Gas, or else from ``tasks``, ``threads`` and ``runtime``.

    For a group, Snakemake adds up ``runtime`` along its steps, but no resource that it does not know, so
    ``gas_walltime`` is meaningless there.
    """
    resources, threads = properties.get("resources", {}), int(properties.get("threads", 1))
    usual = max(threads, int(resources.get("tasks", 1)) * int(resources.get("cpus_per_task", 1)))
    is_group = properties.get("type") == "group"
    processors = int(resources.get("gas_processors", usual))
    if is_group:
        processors = max(processors, threads)
    runtime = resources.get("runtime")
    walltime = None if runtime is None else int(runtime) * 60
    if "gas_walltime" in resources and not is_group:
        walltime = int(resources["gas_walltime"])
    if walltime is None:
        raise BadInput(
            f"job {_name(properties)}: has no walltime; give its rule resources: **gas_resources(...) or "
            "runtime=MINUTES, or set default-resources: runtime=MINUTES in the profile"
        )
    return Request(processors, walltime)


def _name(properties: dict[str, Any]) -> str:
    rule = str(properties.get("rule") or properties.get("groupid") or "snakemake")
    wildcards = ",".join(f"{name}={value}" for name, value in (properties.get("wildcards") or {}).items())
    text = f"{rule}:{wildcards}" if wildcards else rule
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


def submit(script: str, *, endpoint: str | None, environment: dict[str, str], patience: float) -> str:
    """Submit the script of a job and return its identifier, SCHEDULER:NUMBER."""
    path = Path(script).absolute()
    properties = job_properties(path)
    request = request_of(properties)
    where = job_endpoint(properties.get("resources", {}).get("gas_scheduler") or endpoint)
    inherited = {name: os.environ[name] for name in ("PATH", VARIABLE) if name in os.environ}
    sized = JobDescription(_name(properties), (), {**inherited, **environment}, directory=str(Path.cwd())).sized(
        request.processors, request.walltime
    )
    job = replace(sized, command=("/bin/sh", str(path)))  # its braces are no placeholders
    # The directory of the script is new in every run of the workflow, and its text contains the attempt
    key = "snakemake-" + hashlib.sha256(f"{path}\0{path.read_text()}".encode()).hexdigest()[:40]
    return f"{where.name}:{submit_once(where, request, job, key, patience)['id']}"


def state_of(reference: str) -> str:
    """Return ``running``, ``success`` or ``failed``; jobs of an unreachable scheduler count as running."""
    where, number = job_of(reference)
    try:
        return STATES.get(where.job(number)["state"], "failed")
    except NotFound as error:
        logging.warning("%s", error)
        return "failed"
    except (Unreachable, TooMany) as error:
        logging.warning("%s; assumed to be running", error)
        return "running"


def cancel(references: Sequence[str]) -> None:
    """Cancel all jobs that can be cancelled, then raise the first error."""
    problem: Exception | None = None
    for reference in references:
        try:
            where, number = job_of(reference)
            where.cancel(number)
        except Exception as error:
            problem = problem or error
    if problem is not None:
        raise problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m gas.workflows.snakemake submit|status|cancel`` and return its exit code."""
    parser = argparse.ArgumentParser(prog="gas.workflows.snakemake", description="Snakemake's jobs on S³.")
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("submit", help="submit the script of a job and print SCHEDULER:NUMBER")
    new.add_argument("--endpoint", "-e", metavar="NAME", help="for jobs that Gas has not planned ($GAS_ENDPOINT)")
    new.add_argument(
        "--env", action="append", default=[], metavar="NAME[=VALUE]", help="for the job, in addition to PATH"
    )
    new.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS", help="for a scheduler that does not answer"
    )
    new.add_argument("script")
    state = commands.add_parser("status", help="print running, success or failed")
    state.add_argument("job", metavar="SCHEDULER:NUMBER")
    end = commands.add_parser("cancel", help="cancel jobs")
    end.add_argument("jobs", nargs="+", metavar="SCHEDULER:NUMBER")
    given = parser.parse_args(arguments)
    logging.basicConfig(format="gas: %(message)s")
    try:
        if given.command == "submit":
            environment = dict(_variable(text) for text in given.env)
            print(submit(given.script, endpoint=given.endpoint, environment=environment, patience=given.patience))
        elif given.command == "status":
            print(state_of(given.job))
        else:
            cancel(given.jobs)
    except Exception as error:
        outcome = outcome_of(error)
        if outcome is None:
            raise
        print(f"gas: {error}", file=sys.stderr)
        return outcome.exit_code
    return 0


def _variable(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not (separator or name in os.environ):
        raise BadInput(f"--env {text!r}: write NAME=VALUE, or the NAME of a variable that is set")
    return name, value if separator else os.environ[name]


def submit_command() -> None:
    """Entry point of ``gas-snakemake-submit``."""
    sys.exit(main(["submit", *sys.argv[1:]]))


def status_command() -> None:
    """Entry point of ``gas-snakemake-status``."""
    sys.exit(main(["status", *sys.argv[1:]]))


def cancel_command() -> None:
    """Entry point of ``gas-snakemake-cancel``."""
    sys.exit(main(["cancel", *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
