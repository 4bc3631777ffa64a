"""The descriptor of the executor `s3`, which PSI/J finds on the path.

The wheel installs this folder at the top level, where PSI/J looks for descriptors. Importing psij runs every file in
it; if one fails, psij cannot be imported. So Gas is imported only when an executor is created. The class is in the
descriptor's own file because PSI/J looks for its file next to this folder, where an editable install has no package.
"""

from __future__ import annotations

from packaging.version import Version
from psij import Job, JobExecutor, JobExecutorConfig
from psij.descriptor import Descriptor

__all__ = ["S3JobExecutor"]

__PSI_J_EXECUTORS__ = [
    Descriptor(
        name="s3", nice_name="S³", version=Version("1.0.0"), cls="psij-descriptors.gas_descriptors.S3JobExecutor"
    )
]


class S3JobExecutor(JobExecutor):
    """Submits to S³; see `gas.workflows.psij`.

    Parameters
    ----------
    url
        The address of the service, or its name in gas.toml; by default $GAS_ENDPOINT or the only one of gas.toml.
    """

    def __init__(self, url: str | None = None, config: JobExecutorConfig | None = None) -> None:
        from gas.workflows.psij import S3Jobs

        super().__init__(url=url, config=config or JobExecutorConfig())
        self._jobs = S3Jobs(url, self)

    def submit(self, job: Job) -> None:
        """Submit a job; see `S3Jobs.submit`."""
        spec = self._check_job(job)
        self._jobs.submit(job, spec, lambda: self._get_launcher(spec.launcher or "single").get_launch_command(job))

    def cancel(self, job: Job) -> None:
        """Request the end of a job; see `S3Jobs.cancel`."""
        self._jobs.cancel(job)

    def list(self) -> list[str]:
        """Return the numbers of the jobs in the schedule."""
        return self._jobs.native_ids()

    def attach(self, job: Job, native_id: str) -> None:
        """Follow a job that was submitted earlier; see `S3Jobs.attach`."""
        self._jobs.attach(job, native_id)
