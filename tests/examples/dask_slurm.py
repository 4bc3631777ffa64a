"""Dask workers of the size that finishes first: what Slurm would get, and the same workers on this machine."""

from pathlib import Path

from dask.distributed import Client
from dask_jobqueue import SLURMCluster
from dask_jobqueue.local import LocalCluster

from gas import plan, read_application, read_availability
from gas.endpoints import JobDescription
from gas.workflows.conversions import dask_jobs


def main() -> None:
    here = Path(__file__).parent
    best = plan(read_application(here / "ocean.toml"), read_availability(here / "cluster.json")).best
    job = JobDescription("ocean")

    arguments, jobs = dask_jobs(best, job, cores=16, memory="8 GB")
    with SLURMCluster(**arguments, dashboard_address=None) as cluster:
        print(cluster.job_script())
        print(f"cluster.scale(jobs={jobs})")

    arguments, jobs = dask_jobs(best, job, cores=16, memory="200 MB", processes=1)
    del arguments["job_script_prologue"]  # LocalCluster runs one command, no script
    with LocalCluster(**arguments, dashboard_address=None) as cluster, Client(cluster) as client:
        cluster.scale(jobs=jobs)
        client.wait_for_workers(jobs, timeout=60)
        threads = sum(client.nthreads().values())
        print(f"{jobs} jobs of this machine have {threads} threads; 1 + 1 is {client.submit(sum, [1, 1]).result()}")


if __name__ == "__main__":
    main()
