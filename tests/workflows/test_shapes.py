"""What each manager is told about a job on nodes and GPUs: MPI ranks, and one launcher on each node."""

from dataclasses import replace

import pytest

from gas.errors import BadInput, Infeasible
from gas.planner import Candidate
from gas.resources import Resources
from gas.workflows.shapes import (
    JobShape,
    dask_words,
    parsl_words,
    psij_words,
    sbatch_words,
    snakemake_words,
    submitit_words,
)
from speedup_models import Layout


def shape(size, layout=None, unit="gpus", walltime=3601, **keys):
    best = Candidate("c", size, walltime, 3600, 0, "estimate", unit, layout)
    return JobShape.of(best, Resources(unit, **keys))


LAUNCHER = shape(
    8, Layout(2, 4, "a100"), tasks_per_node=1, cpus_per_gpu=2, memory=("memory_per_gpu", 1500), gpus_per_node=(4,)
)
RANKS = shape(8, Layout(2, 4), cpus_per_gpu=3, memory=("memory_per_node", 9000), gpus_per_node=(4,))
LOOSE = shape(8, cpus_per_gpu=2, memory=("memory_per_gpu", 3000), gpu_types=("a100",))
MPI = shape(16, unit="processors", memory=("memory_per_processor", 500))
NODES = shape(3, Layout(3, 4), unit="nodes", tasks_per_node=1, gpus_per_node=(4,))


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (LAUNCHER, "nodes=2 ntasks=2 ntasks-per-node=1 cpus-per-task=8 gpus-per-node=a100:4 mem=6000M"),
        (RANKS, "nodes=2 ntasks=8 ntasks-per-node=4 cpus-per-task=3 gpus-per-node=4 mem=9000M"),
        (LOOSE, "ntasks=8 cpus-per-task=2 gpus-per-task=a100:1 mem-per-cpu=1500M"),
        (MPI, "ntasks=16 mem-per-cpu=500M"),
        (NODES, "nodes=3 ntasks=3 ntasks-per-node=1 gpus-per-node=4 exclusive"),
    ],
    ids=["launcher", "ranks", "a task a GPU", "MPI", "nodes"],
)
def test_options_of_sbatch(one, words):
    options = sbatch_words(one)
    assert options.pop("time") == "61", "whole minutes, never fewer"
    assert " ".join(name if value is None else f"{name}={value}" for name, value in options.items()) == words


def test_psij_has_fields_and_for_the_rest_options_of_slurm():
    assert psij_words(LAUNCHER) == (
        {"node_count": 2, "processes_per_node": 1, "cpu_cores_per_process": 8},
        {"slurm.gpus-per-node": "a100:4", "slurm.mem": "6000M"},
    )
    fields, own = psij_words(RANKS)
    assert (fields["processes_per_node"], fields["gpu_cores_per_process"], own) == (4, 1, {"slurm.mem": "9000M"})
    assert psij_words(MPI) == ({"process_count": 16}, {"slurm.mem-per-cpu": "500M", "slurm.nodes": "1-16"})
    assert psij_words(NODES)[0]["exclusive_node_use"]


def test_submitit_has_parameters_and_for_the_rest_additional_ones():
    assert submitit_words(LAUNCHER) == {
        "timeout_min": 61, "nodes": 2, "tasks_per_node": 1, "cpus_per_task": 8,
        "slurm_additional_parameters": {"gpus_per_node": "a100:4", "mem": "6000M"},
    }  # fmt: skip
    assert submitit_words(RANKS)["gpus_per_node"] == 4
    assert submitit_words(MPI)["slurm_additional_parameters"]["nodes"] == "1-16"
    assert submitit_words(NODES)["slurm_exclusive"] is True


def test_dask_has_a_job_for_each_node_with_a_worker_for_each_task():
    arguments, jobs = dask_words(LAUNCHER)
    assert (jobs, arguments["processes"], arguments["cores"], arguments["memory"]) == (2, 1, 8, "6000 MiB")
    assert arguments["job_extra_directives"] == ["--nodes=1", "--gpus-per-node=a100:4"]
    arguments, jobs = dask_words(RANKS)
    assert (jobs, arguments["processes"], arguments["cores"], arguments["walltime"]) == (2, 4, 12, "01:01:00")
    arguments, jobs = dask_words(LOOSE)
    assert (jobs, arguments["memory"], arguments["job_extra_directives"]) == (8, "3000 MiB", ["--gpus-per-task=a100:1"])


def test_snakemake_has_resources_and_for_the_rest_slurm_extra():
    assert snakemake_words(LAUNCHER) == {
        "nodes": 2, "tasks": 2, "cpus_per_task": 8, "runtime": 61, "mem_mb": 6000,
        "slurm_extra": "--gpus-per-node=a100:4 --ntasks-per-node=1",
    }  # fmt: skip
    assert snakemake_words(MPI)["mem_mb_per_cpu"] == 500


def test_parsl_has_blocks_of_nodes():
    found = parsl_words(LAUNCHER)
    assert (found["nodes_per_block"], found["cores_per_node"], found["exclusive"]) == (2, 8, False)
    assert found["scheduler_options"] == "#SBATCH --gpus-per-node=a100:4\n#SBATCH --mem=6000M"
    assert (parsl_words(NODES)["exclusive"], parsl_words(NODES)["gpus_per_node"]) == (True, 4)
    with pytest.raises(BadInput, match="its blocks are nodes; write gpus_per_node"):
        parsl_words(LOOSE)


def test_a_task_is_of_one_type_of_gpu():
    with pytest.raises(Infeasible, match="allows one type of GPU, not a100, h100"):
        shape(4, gpu_types=("a100", "h100"))


def test_a_cpu_that_tasks_share_is_one_more_for_each():
    uneven = shape(3, Layout(1, 3), tasks_per_node=2, cpus_per_gpu=1, gpus_per_node=(3,))
    assert (uneven.cpus_per_task, psij_words(uneven)[1]) == (2, {"slurm.gpus-per-node": "3"})
    assert replace(uneven, gpus_per_node=4).gpus == {"gpus-per-node": "4"}
