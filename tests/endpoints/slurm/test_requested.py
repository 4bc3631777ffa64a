"""The job that Slurm would have of a size, with what it derives at submission."""

import pytest
from made_clusters import MIDDLE, NEW, OLD, cluster, with_nodes

from gas.endpoints.slurm.directives import from_words
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.requested import requested_job, within_memory
from gas.errors import Infeasible
from gas.slurm.cluster import Gres, Job, Partition


def job(words, size, walltime=3600, *, unit=None, first=0, whole=None):
    options = Options.of(from_words(words.split(), "job.sh"), now=1000, unit=unit, whole=whole)
    return requested_job(options, size, walltime, user="ada", partitions=("main",), first=first)


def test_tasks_without_anything_else():
    assert job("", 16, 3601) == Job(
        0, "", "ada", "PENDING", ("main",), 16, 1, time_limit=3660, tasks_asked=16, tasks_stated=True
    )  # fmt: skip


def test_whole_nodes_are_exclusive_and_exactly_so_many():
    found = job("", 3, unit="nodes")
    assert found.tasks_stated is False  # one a node, by default
    assert (found.least_nodes, found.most_nodes, found.cpus, found.exclusive) == (3, 3, 3, True)


@pytest.mark.parametrize(
    ("words", "unit", "size", "cpus", "tasks", "least", "most"),
    [
        ("-n4 -c2", None, 8, 16, 8, 1, None),
        ("-c2", "cpus", 8, 8, 4, 1, None),
        ("-N2-4 -n8", "tasks", 8, 8, 8, 2, 4),
        ("-N2-4 -n1", "tasks", 1, 1, 1, 1, 1),
        ("-N2 --ntasks-per-node=8", None, 3, 24, 24, 3, 3),
        ("--ntasks-per-node=8", "tasks", 20, 20, 20, 3, None),
        ("--ntasks-per-gpu=2", "gpus", 4, 8, 8, 1, None),
        ("-O -n8 -N1", "tasks", 8, 1, 1, 1, 1),
        ("-O -n8 -c3", "tasks", 8, 3, 1, 1, None),
        ("-O -n8 -N2-3", "tasks", 8, 2, 2, 2, 3),
        ("-O -n8 --ntasks-per-node=4", "tasks", 8, 2, 2, 2, None),
        ("-G4", None, 4, 1, None, 1, None),
        ("-G4 --cpus-per-gpu=8", None, 4, 32, None, 1, None),
        ("--gpus-per-node=4 --cpus-per-gpu=8", None, 8, 64, 2, 2, 2),
        ("--ntasks-per-node=1 --gres=gpu:3 --cpus-per-gpu=3", "tasks", 2, 18, 2, 2, None),
        ("-n4 --gpus-per-task=1 --cpus-per-gpu=8", None, 4, 32, 4, 1, None),
    ],
)
def test_sizes_are_derived_as_at_submission(words, unit, size, cpus, tasks, least, most):
    found = job(words, size, unit=unit, whole=False)
    assert (found.cpus, found.tasks_asked, found.least_nodes, found.most_nodes) == (cpus, tasks, least, most)
    assert not found.exclusive


def test_cpus_of_gpus_in_all_are_not_those_of_a_task():
    """Seen: the GPUs of --gpus=8 --cpus-per-gpu=2 may be on several nodes, though there is one task."""
    found = job("-G8 --cpus-per-gpu=2", 8)
    assert (found.cpus, found.cpus_per_task) == (16, 1)


def test_gpus_stand_where_they_are_asked_for():
    assert job("-Ga100:4", 8).gres_per_job == (Gres("gpu", "a100", 8),)
    assert job("--gpus-per-node=4", 2).gres_per_node == (Gres("gpu", "", 2),)
    assert job("--gres=gpu:a100:4,shard:2", 8).gres_per_node == (Gres("gpu", "a100", 4), Gres("shard", "", 2))
    assert job("-n2 --gpus-per-task=2", 2).gres_per_task == (Gres("gpu", "", 2),)
    assert job("", 8, unit="gpus").gres_per_task == (Gres("gpu", "", 1),)


def test_everything_that_bears_on_the_start_is_handed_on():
    found = job("-Aacc -qhigh --mem-per-gpu=8G -Cib -Llic:2 -wn1 -xn2 --exclusive=user --contiguous --time-min=10", 4)
    assert (found.account, found.qos, found.memory_per_gpu, found.features) == ("acc", "high", 8192, "ib")
    assert (found.licences, found.required_nodes, found.excluded_nodes) == ({"lic": 2}, ("n1",), ("n2",))
    assert (found.shared_with, found.exclusive, found.contiguous, found.shortest) == ("user", False, True, 600)


def test_it_starts_neither_before_what_the_user_nor_what_the_options_say():
    assert job("", 1).eligible is None
    assert job("", 1, first=1500).eligible == 1500
    assert job("--begin=now+1hour", 1, first=1500).eligible == 4600
    assert job("--begin=now+1hour", 1, first=9000).eligible == 9000


def test_it_is_as_nice_as_it_says():
    assert [job(words, 1).nice for words in ("", "--nice", "--nice=7")] == [0, 100, 7]


def test_a_held_job_is_one():
    assert job("-H", 1).held
    assert not job("", 1).held


def test_a_size_that_the_options_do_not_leave_is_refused():
    with pytest.raises(Infeasible):
        job("-c4", 6, unit="cpus")


def test_fewer_gpus_in_all_than_nodes_are_refused():
    with pytest.raises(Infeasible, match=r"2 GPUs \(--gpus\) are fewer than 3 nodes, which sbatch refuses"):
        job("--gpus=2 -N3", 2, unit="gpus")


@pytest.mark.parametrize(
    ("words", "threads", "tasks"),
    [
        ("--hint=nomultithread", 1, None), ("--hint=multithread", None, None), ("--threads-per-core=2", 2, None),
        ("--ntasks-per-core=1", None, 1), ("", None, None),
    ],
)  # fmt: skip
def test_threads_and_tasks_of_a_core_are_handed_on(words, threads, tasks):
    found = job(words, 8)
    assert (found.threads_per_core, found.tasks_per_core) == (threads, tasks)


@pytest.mark.parametrize(
    ("words", "size", "per_task", "memory", "cpus"),
    [
        ("--mem-per-cpu=600", 3, 2, 300, 6), ("--mem-per-cpu=900 -c 2", 1, 6, 300, 6),
        ("--mem-per-cpu=400", 3, 1, 400, 3),
        ("--mem=1000", 1, 3, None, 3), ("--mem=1000 --ntasks-per-node=1", 3, 3, None, 9),
        ("--mem=1000", 3, 1, None, 3),
        ("", 3, 2, 250, 6), ("--mem-per-gpu=900", 3, 1, None, 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_more_memory_of_a_cpu_than_there_may_be_is_that_of_several(words, size, per_task, memory, cpus, version):
    """Seen on 22.05, 24.11 and 26.05 (MaxMemPerCPU=400)."""
    limited = Partition("main", (), memory_per_cpu=500, most_memory_per_cpu=400)
    found = within_memory(job(words, size, unit="tasks"), limited, cluster(version=version))
    assert (found.cpus_per_task, found.memory_per_cpu, found.cpus) == (per_task, memory, cpus)
    assert within_memory(job(words, size), Partition("main", ()), cluster()) == job(words, size)


@pytest.mark.parametrize(
    ("words", "size", "before", "since"),
    [
        ("--mem=1700", 3, (1, 5, 3), (2, 6, 6)), ("--mem=1000 -c 2", 4, (2, 3, 8), (1, 4, 4)),
        ("--mem=1000 -c 3", 4, (3, None, 12), (3, None, 12)), ("--mem=1000 -N 2", 4, (1, 3, 4), (2, 4, 8)),
        ("--mem=0", 2, (1, 6, 2), (3, 6, 6)), ("--mem=0 --ntasks-per-node=2", 4, (3, 6, 12), (3, 6, 12)),
        ("--mem=1000", 18, (1, 3, 18), (1, 18, 18)), ("--mincpus=3", 5, (1, 3, 5), (1, 3, 5)),
    ],
)  # fmt: skip
def test_the_memory_of_a_node_has_cpus_of_each_node_and_from_24_11_on_its_tasks_share_them(words, size, before, since):
    """CPUs of a task, of a node, and in all, as seen (MaxMemPerCPU=400, and 2,400 MB of the first node)."""
    limited = Partition("p", ("n1", "n0"), memory_per_cpu=200, most_memory_per_cpu=400)
    for version, seen in ((OLD, before), (MIDDLE, since), (NEW, since)):
        made = with_nodes(cluster(version=version), memory=[8000, 2400])
        found = within_memory(job(words, size, unit="tasks"), limited, made)
        assert (found.cpus_per_task, found.cpus_per_node, found.cpus) == seen, version
