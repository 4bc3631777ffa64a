"""A request as arguments of other programs: sbatch, PSI/J, submitit, dask-jobqueue, Snakemake and Parsl.

Every conversion takes a result of the planner (a `Candidate`) or a request to a scheduler (a `Request`), and the job to
run. Processors are kept: if the other program counts in nodes or in workers' jobs, these hold at least as many.
Walltimes are kept to the second if the other program counts seconds, and rounded up to whole minutes if it counts
minutes; never down. The job finds its size in ``GAS_PROCESSORS`` and ``GAS_WALLTIME``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from documents.extras import way_to_install
from gas.endpoints import JobDescription, Request
from gas.errors import BadInput, Infeasible, Missing
from gas.planner import Plan
from gas.resources import Resources
from gas.times import iso_time
from gas.workflows import shapes

if TYPE_CHECKING:
    from psij import JobSpec

__all__ = [
    "BatchSystem",
    "DaskJobs",
    "Form",
    "ParslProvider",
    "Sized",
    "converted",
    "dask_jobs",
    "parsl_arguments",
    "psij_job_spec",
    "sbatch_arguments",
    "snakemake_resources",
]

Unit = Literal["tasks", "cpus", "nodes"]
BatchSystem = Literal["slurm", "oar", "pbs", "moab", "sge", "lsf"]
ParslProvider = Literal["slurm", "pbspro", "lsf", "torque", "gridengine", "local"]
Form = Literal["sbatch", "psij", "submitit", "dask", "snakemake", "parsl"]


class Sized(Protocol):
    """Anything with a size and a walltime: a `Candidate` of a plan, or a `Request`."""

    @property
    def processors(self) -> int:
        """Return the number of processors."""

    @property
    def walltime(self) -> int:
        """Return the walltime in seconds."""


def sbatch_arguments(
    request: Sized, job: JobDescription | None = None, *, unit: Unit = "tasks", parsable: bool = True
) -> list[str]:
    """Return the arguments of Slurm's ``sbatch`` (sbatch(1)).

    Parameters
    ----------
    job
        Its command becomes ``--wrap``; without a command, a script's name may follow the arguments.
    unit
        Slurm's unit for a processor: a task (``--ntasks``), a CPU of one task (``--cpus-per-task``) or a node.
    parsable
        Let sbatch print only the number of the job.
    """
    arguments = ["--parsable"] if parsable else []
    size = {"tasks": ["--ntasks={}"], "cpus": ["--ntasks=1", "--cpus-per-task={}"], "nodes": ["--nodes={}"]}
    if unit not in size:
        raise BadInput(f"unit {unit!r}: a processor is one of {', '.join(size)}")
    arguments += [one.format(request.processors) for one in size[unit]]
    arguments.append(f"--time={_days(request.walltime)}")
    if isinstance(request, Request) and request.not_before is not None:
        arguments.append(_begin(request.not_before))
    if job is not None:
        job = job.sized(request.processors, request.walltime)
        arguments += [f"--job-name={job.name}", *_wrapped(job)]
    return arguments


def psij_job_spec(
    request: Sized,
    job: JobDescription,
    *,
    stdout: str | Path | None = None,
    stderr: str | Path | None = None,
    launcher: str | None = None,
    threads: bool = False,
    shape: shapes.JobShape | None = None,
) -> JobSpec:
    """Return the ``JobSpec`` of PSI/J, for any of its executors.

    Parameters
    ----------
    stdout, stderr
        Output files; PSI/J's executors discard output without a file.
    launcher
        Launcher of the processes: "single" (PSI/J's default, once), "multiple", "mpirun", "srun" and so on.
    threads
        One process with this many cores, instead of this many processes.
    shape
        Tasks, nodes and GPUs if the request is more than a number of processors; the job has no placeholders then.

    Raises
    ------
    Missing
        psij-python is not installed.
    """
    try:
        from psij import JobAttributes, JobSpec, ResourceSpecV1
    except ImportError as error:
        raise _missing("psij-python", error) from None
    job = job if shape is not None else job.sized(request.processors, request.walltime)
    count = request.processors
    resources: dict[str, Any] = {"cpu_cores_per_process": count} if threads else {"process_count": count}
    own: dict[str, object] = {}
    if isinstance(request, Request):
        times = {"s3.start_by": request.start_by, "s3.not_before": request.not_before}
        own = {name: instant for name, instant in times.items() if instant is not None}
        if request.not_before is not None:  # S³'s attributes mean nothing to Slurm
            own["slurm.begin"] = _begin(request.not_before).partition("=")[2]
    if shape is not None:
        resources, more = shapes.psij_words(shape)
        own |= more
    return JobSpec(
        executable=job.command[0] if job.command else None,
        arguments=list(job.command[1:]),
        directory=job.directory,
        name=job.name,
        environment=dict(job.environment),
        stdout_path=stdout,
        stderr_path=stderr,
        launcher=launcher,
        resources=ResourceSpecV1(**resources),
        attributes=JobAttributes(duration=timedelta(seconds=request.walltime), custom_attributes=own or None),
    )


class DaskJobs(NamedTuple):
    """Workers as batch jobs: ``SLURMCluster(**arguments)``, then ``cluster.scale(jobs=jobs)``."""

    arguments: dict[str, Any]
    jobs: int


def dask_jobs(
    request: Sized,
    job: JobDescription | None = None,
    *,
    memory: str | None = None,
    cores: int | None = None,
    processes: int | None = None,
    system: BatchSystem = "slurm",
) -> DaskJobs:
    """Return the keyword arguments of a dask-jobqueue cluster, and the number of jobs that hold the request.

    Parameters
    ----------
    memory
        Memory of one job in dask-jobqueue's format: "16 GB". A plan does not contain it; dask-jobqueue needs it here
        or in its own configuration.
    cores
        Largest number of cores of one job, usually those of a node; by default the whole request is one job. Gas uses
        the fewest jobs that hold all processors, and the fewest cores in each.
    processes
        Workers per job; dask-jobqueue's default is about the square root of its cores.
    system
        The batch system of the cluster, which determines the format of the walltime.
    """
    _at_least_one(cores, "cores")
    if system not in get_args(BatchSystem):
        raise BadInput(f"system {system!r}: is not one of {', '.join(get_args(BatchSystem))}")
    jobs = -(-request.processors // (cores or request.processors))
    write: dict[str, Callable[[int], str]] = {"slurm": _days, "lsf": _minutes}
    arguments: dict[str, Any] = {
        "cores": -(-request.processors // jobs),
        "walltime": write.get(system, _clock)(request.walltime),
    }
    if memory is not None:
        arguments["memory"] = memory
    if processes is not None:
        arguments["processes"] = processes
    if job is not None:
        arguments["job_name"] = job.name
        arguments["job_script_prologue"] = _prologue(request, job)
    return DaskJobs(arguments, jobs)


def snakemake_resources(request: Sized, *, threads: bool = False) -> dict[str, int]:
    """Return the ``resources`` of a Snakemake rule.

    ``tasks``, ``cpus_per_task`` and ``runtime`` (minutes) are the standard ones; Gas's own submit command reads
    ``gas_processors`` and ``gas_walltime`` (seconds).

    Parameters
    ----------
    threads
        One task with this many CPUs, instead of this many tasks.
    """
    count = request.processors
    return {
        "tasks": 1 if threads else count,
        "cpus_per_task": count if threads else 1,
        "runtime": _whole_minutes(request.walltime),
        "gas_processors": count,
        "gas_walltime": request.walltime,
    }


def parsl_arguments(
    request: Sized,
    job: JobDescription | None = None,
    *,
    cores_per_node: int | None = None,
    provider: ParslProvider = "slurm",
) -> dict[str, Any]:
    """Return the keyword arguments of a Parsl provider: one block of the size of the request, started at once.

    Parameters
    ----------
    cores_per_node
        Largest number of cores of one node; by default the request is on one node. The block uses the fewest nodes that
        hold all processors, and the fewest cores of each.
    provider
        The provider; "local" has neither a walltime nor cores.
    """
    _at_least_one(cores_per_node, "cores_per_node")
    if provider not in get_args(ParslProvider):
        raise BadInput(f"provider {provider!r}: is not one of {', '.join(get_args(ParslProvider))}")
    nodes = -(-request.processors // (cores_per_node or request.processors))
    arguments: dict[str, Any] = {"nodes_per_block": nodes, "init_blocks": 1, "min_blocks": 0, "max_blocks": 1}
    cores = {"slurm": "cores_per_node", "lsf": "cores_per_node", "pbspro": "cpus_per_node"}
    if provider in cores:
        arguments[cores[provider]] = -(-request.processors // nodes)
    if provider != "local":
        # Parsl reads HH:MM:SS and drops the seconds
        arguments["walltime"] = f"{_minutes(request.walltime)}:00"
    if job is not None:
        arguments["worker_init"] = "\n".join(_prologue(request, job))
    return arguments


def converted(
    found: Plan,
    form: Form,
    job: JobDescription | None = None,
    resources: Resources | None = None,
    *,
    not_before: int | None = None,
) -> str | dict[str, Any]:
    """Return the best request of a plan in the form of another program, for printing.

    ``sbatch`` is a command line, the others are JSON objects: ``psij`` a JobSpec that PSI/J's serializer reads,
    ``submitit`` the parameters of its ``update_parameters``, ``dask`` an object with ``arguments`` and ``jobs``,
    ``snakemake`` and ``parsl`` keyword arguments.

    Parameters
    ----------
    job
        The job to run, if it is known already.
    resources
        Resources of each unit of its sizes; by default none.
    not_before
        Epoch second before which the job must not start (for ``sbatch`` and ``psij``).

    Raises
    ------
    BadInput
        The other program cannot express the request.
    Infeasible
        The plan has no possible request.
    Missing
        psij-python is not installed (for ``psij``).
    """
    best = found.best
    if best is None:
        raise Infeasible(f"{found.application}: no request is possible, so nothing can be converted")
    if not_before is not None and form not in ("sbatch", "psij"):
        raise BadInput(
            f"--as {form}: has no earliest start, so the job could start before {iso_time(not_before)} (--not-before); "
            "leave --not-before out, or use --as sbatch or gas submit"
        )
    job = job or JobDescription(found.application)
    request = Request(best.processors, best.walltime, not_before=not_before)
    shape = shapes.JobShape.of(best, resources)
    if form == "submitit":
        return {"name": job.name, **shapes.submitit_words(shape)}
    if resources not in (None, Resources()) or best.unit != "processors" or best.layout is not None:
        known = (resources or Resources(best.unit)).values(best.processors, best.layout)
        return _shaped(request, form, job.sized(best.processors, best.walltime, known), shape)
    if form == "sbatch":
        return shlex.join(["sbatch", *sbatch_arguments(request, job)])
    if form == "psij":
        return _psij_json(request, job.sized(best.processors, best.walltime), shape)
    if form == "dask":
        return dask_jobs(best, job)._asdict()
    if form == "snakemake":
        return dict(snakemake_resources(best))
    if form == "parsl":
        return parsl_arguments(best, job)
    raise BadInput(f"form {form!r}: is not one of {', '.join(get_args(Form))}")


def _shaped(request: Request, form: Form, job: JobDescription, shape: shapes.JobShape) -> str | dict[str, Any]:
    """Convert a request that is more than a number of processors; the job has no placeholders any more."""
    if form == "psij":
        return _psij_json(request, job, shape)
    if form == "snakemake":
        return dict(shapes.snakemake_words(shape))
    if form == "dask":
        arguments, jobs = shapes.dask_words(shape)
        named = {"job_name": job.name, "job_script_prologue": _lines(job)}
        return DaskJobs({**arguments, **named}, jobs)._asdict()
    if form == "parsl":
        return {**shapes.parsl_words(shape), "worker_init": "\n".join(_lines(job))}
    words = shapes.sbatch_words(shape).items()
    options = [f"--{name}" if value is None else f"--{name}={value}" for name, value in words]
    if request.not_before is not None:
        options.append(_begin(request.not_before))
    return shlex.join(["sbatch", "--parsable", f"--job-name={job.name}", *options, *_wrapped(job)])


def _wrapped(job: JobDescription) -> list[str]:
    """Return sbatch's options for the place and the command of a job."""
    words = [] if job.directory is None else [f"--chdir={job.directory}"]
    if job.command:
        settings = [f"{name}={value}" for name, value in job.environment.items()]
        words.append(f"--wrap={shlex.join(['env', *settings, *job.command])}")
    return words


def _psij_json(request: Request, job: JobDescription, shape: shapes.JobShape | None = None) -> dict[str, Any]:
    """Return a JobSpec as JSON; srun starts a launcher on each node.

    PSI/J 0.9 reads the fields of its resources back, but not the numbers of nodes and processes derived from them,
    which its scripts contain. For Slurm these are also among the attributes, which follow them in a script.
    """
    per_node = shape is not None and shape.tasks_per_node == 1
    spec = psij_job_spec(request, job, shape=shape, launcher="srun" if per_node else None)
    from psij.serialize import JSONSerializer

    wire: dict[str, Any] = json.loads(JSONSerializer().dumps(spec))
    # PSI/J 0.9 writes "90061.0 s", and reads this back as "0 s"
    attributes = {**wire.get("attributes", {}), "duration": _clock(request.walltime)}
    if shape is not None and shape.tasks > 1:
        attributes["custom_attributes"] = {
            **attributes.get("custom_attributes", {}),
            "slurm.nodes": str(shape.nodes or f"1-{shape.tasks}"),
            "slurm.ntasks": str(shape.tasks),
            "slurm.ntasks-per-node": str(shape.tasks_per_node or shape.tasks),
        }
    wire["attributes"] = attributes
    return wire


def _prologue(request: Sized, job: JobDescription) -> list[str]:
    """Return shell commands that set the directory and environment of a job."""
    return _lines(job.sized(request.processors, request.walltime))


def _lines(job: JobDescription) -> list[str]:
    """Return the shell commands of a job without placeholders."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in job.environment.items()]
    return lines if job.directory is None else [f"cd {shlex.quote(job.directory)}", *lines]


def _begin(instant: int) -> str:
    """Return sbatch's option for an earliest start; local time would be ambiguous when clocks are set back."""
    return f"--begin=uts{instant}"


def _whole_minutes(seconds: int) -> int:
    return -(-seconds // 60)


def _days(seconds: int) -> str:
    """Return D-HH:MM:SS in whole minutes, as Slurm counts minutes."""
    minutes = _whole_minutes(seconds)
    return f"{minutes // 1440}-{minutes // 60 % 24:02}:{minutes % 60:02}:00"


def _minutes(seconds: int) -> str:
    """Return HH:MM, with any number of hours."""
    minutes = _whole_minutes(seconds)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _clock(seconds: int) -> str:
    """Return HH:MM:SS, with any number of hours."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _at_least_one(value: int | None, what: str) -> None:
    if value is not None and value < 1:
        raise BadInput(f"{what} {value}: must be at least 1")


def _missing(package: str, error: ImportError) -> Missing:
    return Missing(f"needs {package} ({error}): {way_to_install('workflows')}")
