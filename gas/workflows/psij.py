"""The PSI/J executor `s3`: submitting, following and cancelling; the class that PSI/J loads delegates to this module.

PSI/J loads an executor's class by the path of its file, even if a module of the same name is imported already. So the
class is in a file of its own (``psij-descriptors/gas_descriptors.py``), has no state, and delegates to `S3Jobs` in this
module, which exists only once.

A job's processors are its processes times their cores; its walltime is its duration. PSI/J's own launchers start it, so
launchers, standard streams and scripts before and after work as in PSI/J's other executors; their scripts are in
``~/.psij/work``, which S³ must see. The job gets the environment that it declares, and PATH, HOME and LANG of the
service unless it declares them; not the environment of the submitting program, which S³ would have to store. S³ ignores
queue, account and memory. It has two attributes of its own, both epoch seconds: ``s3.start_by`` (refuse the job if it
would start later) and ``s3.not_before``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gas.endpoints import JobDescription, JobEndpoint, Request
from gas.errors import BadInput, Conflict, GasError, NotFound, OverLimit, StalePlan, TooLarge, TooMany, Unreachable
from gas.workflows.scheduling import job_endpoint

if TYPE_CHECKING:
    from psij import Job, JobExecutor, JobSpec, JobState, JobStatus

__all__ = ["S3Jobs", "request_of"]

POLL_SECONDS = 0.5
"""Seconds between polls of jobs."""

FEW = 16
"""Up to this many jobs are polled one by one; if there are more, the whole schedule is read."""

log = logging.getLogger("gas.workflows")


class S3Jobs:
    """Jobs of PSI/J on one S³.

    Parameters
    ----------
    url
        The address of the service, or its name in gas.toml; by default $GAS_ENDPOINT or the only one of gas.toml.
    executor
        The executor of these jobs; its `_set_job_status` is called with changes of their states.
    """

    def __init__(self, url: str | None, executor: JobExecutor) -> None:
        self._endpoint = job_endpoint(url)
        self._followed_by = job_endpoint(url)  # each thread has its own connection
        self._executor = executor
        self._followed: dict[int, list[Job]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def submit(self, job: Job, spec: JobSpec, command: Callable[[], list[str]]) -> None:
        """Submit a job once: its key is its PSI/J number.

        Parameters
        ----------
        command
            The command of its launcher.

        Raises
        ------
        psij.InvalidJobException
            S³ will never accept the job.
        psij.SubmitException
            S³ did not accept the job now; it may be submitted again.
        """
        from psij import InvalidJobException, SubmitException

        try:
            request = request_of(spec)
            size = {"GAS_PROCESSORS": str(request.processors), "GAS_WALLTIME": str(request.walltime)}
            description = JobDescription(
                (spec.name or "psij")[:200],
                tuple(command()),
                {**(spec.environment or {}), **size},
                None if spec.directory is None else str(spec.directory.absolute()),
            )
            answer = self._endpoint.submit(request, description, key=f"psij-{job.id}")
        except (BadInput, OverLimit, TooLarge) as error:
            job.executor = None
            raise InvalidJobException(str(error), error) from error
        except GasError as error:
            job.executor = None
            transient = isinstance(error, Unreachable | TooMany | StalePlan)
            raise SubmitException(str(error), error, transient) from error
        self._follow(job, answer)

    def attach(self, job: Job, native_id: str) -> None:
        """Follow a job submitted earlier, perhaps by another program."""
        from psij import InvalidJobException, JobState, SubmitException

        if job.status.state is not JobState.NEW:
            raise InvalidJobException(f"job {job.id}: is {job.status.state}; only a new one can be attached")
        try:
            answer = self._endpoint.job(int(native_id))
        except (ValueError, NotFound) as error:
            raise InvalidJobException(f"{native_id}: is not a job of {self._endpoint.name}: {error}") from error
        except GasError as error:
            raise SubmitException(str(error), error, isinstance(error, Unreachable | TooMany)) from error
        job.executor = self._executor
        self._follow(job, answer)

    def cancel(self, job: Job) -> None:
        """Request the end of a job; its end is reported like any other change."""
        from psij import SubmitException

        if job._native_id is None:
            raise SubmitException(f"job {job.id}: was not submitted, so it cannot be cancelled")
        try:
            self._endpoint.cancel(int(str(job.native_id)))
        except Conflict:
            return  # the job has ended
        except GasError as error:
            raise SubmitException(str(error), error, isinstance(error, Unreachable | TooMany)) from error
        with self._changed:
            self._changed.notify()

    def native_ids(self) -> list[str]:
        """Return the numbers of the jobs in the schedule."""
        return [str(job["id"]) for job in self._endpoint.jobs(0) if job["kind"] == "job"]

    def _follow(self, job: Job, answer: dict[str, Any]) -> None:
        job._native_id = int(answer["id"])
        status = status_of(answer)
        self._tell(job, _queued(answer))
        self._tell(job, status)
        if status.state.final:
            return
        with self._changed:
            self._followed.setdefault(int(answer["id"]), []).append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gas: jobs of PSI/J", daemon=True)
                self._thread.start()

    def _tell(self, job: Job, status: JobStatus) -> None:
        self._executor._set_job_status(job, status)

    def _run(self) -> None:
        """Poll jobs and report changes of their states, until none is left."""
        pause = POLL_SECONDS
        while True:
            with self._changed:
                if not self._followed:
                    self._thread = None
                    return
                self._changed.wait(pause)
                followed = {id: list(jobs) for id, jobs in self._followed.items()}
            try:
                self._poll(followed)
                pause = POLL_SECONDS
            except Exception as error:  # callers must not wait for ever for a dead thread
                pause = min(30.0, pause * 2)
                log.warning("%s; trying again in %.0f s", error, pause)

    def _poll(self, followed: dict[int, list[Job]]) -> None:
        endpoint = self._followed_by
        known = {job["id"]: job for job in endpoint.jobs(0)} if len(followed) > FEW else {}
        for id, jobs in followed.items():
            status = status_of(known.get(id) or _job(endpoint, id))
            if status.state.final:
                with self._changed:
                    self._followed.pop(id, None)
            for job in jobs:
                self._tell(job, status)


def request_of(spec: JobSpec) -> Request:
    """Return the request of a JobSpec.

    Raises
    ------
    BadInput
        The JobSpec requests something that S³ does not have.
    """
    from psij import ResourceSpecV1

    if not spec.executable:
        raise BadInput("executable: is missing; give the program to run")
    resources = spec.resources or ResourceSpecV1()
    if not isinstance(resources, ResourceSpecV1):
        raise BadInput(f"resources: of version {resources.version}; S³ reads version 1")
    if resources.gpu_cores_per_process:
        raise BadInput(f"gpu_cores_per_process {resources.gpu_cores_per_process}: S³ has processors only; leave it out")
    processors = resources.computed_process_count * (resources.cpu_cores_per_process or 1)
    duration = spec.attributes.duration
    walltime = duration.days * 86400 + duration.seconds + (duration.microseconds > 0)
    return Request(processors, walltime, _instant(spec, "s3.start_by"), _instant(spec, "s3.not_before"))


def _instant(spec: JobSpec, name: str) -> int | None:
    value = spec.attributes.get_custom_attribute(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise BadInput(f"custom attribute {name} {value!r}: write epoch seconds, a whole number")


def status_of(job: dict[str, Any]) -> JobStatus:
    """Return PSI/J's status of a job of S³."""
    from psij import JobState, JobStatus

    states: dict[str, tuple[JobState, str]] = {
        "queued": (JobState.QUEUED, "submitted"),
        "reserved": (JobState.QUEUED, "submitted"),
        "running": (JobState.ACTIVE, "start"),
        "completed": (JobState.COMPLETED, "finished"),
        "cancelled": (JobState.CANCELED, "finished"),
    }
    state, since = states.get(job["state"], (JobState.FAILED, "finished"))
    message = job.get("message")
    if state is JobState.FAILED:
        by = f" by {job['signal']}" if job.get("signal") else ""
        message = f"{job['state']}{by}: {message}" if message else f"{job['state']}{by}"
    return JobStatus(state, time=job.get(since), message=message, exit_code=job.get("exit_status"))


def _queued(job: dict[str, Any]) -> JobStatus:
    from psij import JobState, JobStatus

    return JobStatus(JobState.QUEUED, time=job["submitted"], metadata={"nativeId": str(job["id"])})


def _job(endpoint: JobEndpoint, id: int) -> dict[str, Any]:
    """Return a job; a job that the service no longer knows is lost."""
    try:
        return endpoint.job(id)
    except NotFound as error:
        return {"state": "lost", "message": str(error)}
