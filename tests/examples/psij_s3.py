"""A PSI/J program whose job Gas sizes and S³ runs: python psij_s3.py URL."""

import sys
from pathlib import Path

from psij import Job, JobExecutor

from gas import plan, read_application
from gas.endpoints import JobDescription, S3Endpoint
from gas.workflows.conversions import psij_job_spec

url = sys.argv[1]
application = read_application(Path(__file__).parent / "snakemake" / "fine.toml")
best = plan(application, S3Endpoint("s3", url).availability()).best

output = Path("fine.out").absolute()
command = ("sh", "-c", "echo solved on {processors} processors, at most $GAS_WALLTIME s")
job = Job(psij_job_spec(best, JobDescription("fine", command), stdout=output))

executor = JobExecutor.get_instance("s3", url=url)
executor.set_job_status_callback(lambda job, status: print(job.native_id, status.state))
executor.submit(job)
job.wait()
print(output.read_text(), end="")
