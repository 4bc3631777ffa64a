"""A block of Parsl of the size that finishes first: what Slurm would get, and the same block on this machine."""

from pathlib import Path

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider, SlurmProvider

from gas import plan, read_application, read_availability
from gas.endpoints import JobDescription
from gas.workflows.conversions import parsl_arguments


@parsl.python_app
def told() -> str:
    import os

    return os.environ["GAS_PROCESSORS"]


def main() -> None:
    here = Path(__file__).parent
    best = plan(read_application(here / "ocean.toml"), read_availability(here / "cluster.json")).best
    job = JobDescription("ocean")

    slurm = SlurmProvider(**parsl_arguments(best, job, cores_per_node=16))
    print(f"Slurm: {slurm.nodes_per_block} nodes of {slurm.cores_per_node} cores for {slurm.walltime}")

    local = LocalProvider(**parsl_arguments(best, job, provider="local"))
    executor = HighThroughputExecutor(provider=local, max_workers_per_node=2, address="127.0.0.1", encrypted=False)
    with parsl.load(Config(executors=[executor], run_dir="runinfo")):
        print(f"this machine: a worker was told of {told().result()} processors")


if __name__ == "__main__":
    main()
