"""The request that finishes first, as a command line for Slurm."""

import shlex
from pathlib import Path

from gas import plan, read_application, read_availability
from gas.endpoints import JobDescription
from gas.workflows.conversions import sbatch_arguments

here = Path(__file__).parent
best = plan(read_application(here / "ocean.toml"), read_availability(here / "cluster.json")).best
job = JobDescription("ocean", ("srun", "./ocean", "--ranks", "{processors}"), {"OMP_NUM_THREADS": "1"})
print(shlex.join(["sbatch", *sbatch_arguments(best, job)]))
