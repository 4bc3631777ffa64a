"""A size becomes tasks, nodes and GPUs; what else the options say of the size keeps its proportion."""

from dataclasses import replace

import pytest

from gas.endpoints.slurm.directives import from_words
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.sizing import own_size, shape_of, size_of, units_on
from gas.endpoints.slurm.transport import Shape
from gas.errors import Infeasible
from gas.slurm.cluster import Gres, Job, Node


def options(*words, unit=None, whole=None):
    return Options.of(from_words(words, "job.sh"), now=0, unit=unit, whole=whole)


def test_time_limits_are_in_minutes_and_never_shorter_than_the_walltime():
    assert shape_of(Options(), 16, 3600) == Shape(16, None, 60, False)
    assert shape_of(Options(), 16, 3601) == Shape(16, None, 61, False)
    assert shape_of(Options("nodes", whole=True), 2, 1) == Shape(None, 2, 1, True)


@pytest.mark.parametrize(
    ("words", "unit", "size", "shape"),
    [
        ("-n4", None, 8, (8, None, {})),
        ("-n4 -c2", None, 8, (8, None, {})),
        ("-c2", "cpus", 8, (4, None, {})),
        ("-N2 -n32", None, 4, (64, 4, {})),
        ("-N2 -n32", "tasks", 64, (64, 4, {})),
        ("-N2 --ntasks-per-node=16", None, 4, (None, 4, {})),
        ("-N2-4", None, 3, (None, 3, {})),
        ("-N1-4 -n8", "tasks", 16, (16, None, {})),
        ("-G4", None, 8, (None, None, {"gpus": "8"})),
        ("-Ga100:4 -n4", None, 8, (8, None, {"gpus": "a100:8"})),
        ("-Ga100:2,v100:2 -N2 -n4", None, 8, (8, 4, {"gpus": "a100:4,v100:4"})),
        ("-n4 -G4", "tasks", 8, (8, None, {"gpus": "8"})),
        ("--gpus-per-node=a100:4", None, 2, (None, 1, {"gpus-per-node": "a100:2"})),
        ("--gpus-per-node=a100:4", None, 8, (None, 2, {"gpus-per-node": "a100:4"})),
        ("--gpus-per-node=4 --ntasks-per-node=4", None, 2, (None, 1, {"gpus-per-node": "2", "ntasks-per-node": "2"})),
        ("--gpus-per-node=4 -N2", None, 4, (None, 4, {})),
        ("--gres=gpu:a100:4,shard:1", None, 8, (None, 2, {"gres": "gpu:a100:4,shard:1"})),
        ("--gpus-per-task=2", "gpus", 8, (4, None, {})),
        ("--ntasks-per-gpu=2", "gpus", 8, (None, None, {"gpus": "8"})),
        ("", "gpus", 8, (8, None, {"gpus-per-task": "1"})),
    ],
)
def test_a_size_stands_in_place_of_what_the_options_say_of_it(words, unit, size, shape):
    found = shape_of(options(*words.split(), unit=unit, whole=False), size, 60)
    assert (found.tasks, found.nodes, dict(found.others)) == shape


@pytest.mark.parametrize(
    ("words", "unit", "size", "problem"),
    [
        ("-c4", "cpus", 6, "6 CPUs are not a multiple of 4 CPUs"),
        ("-N2 -n3", None, 3, "3 nodes does not give a whole number of tasks"),
        ("-N2 -n32", "tasks", 24, "24 tasks does not give a whole number of nodes"),
        ("--gpus-per-node=4", None, 6, None),
        ("--gpus-per-node=4", None, 7, "7 GPUs do not fill 2 nodes of up to 4 evenly"),
        ("--gpus-per-task=2", "gpus", 3, "3 GPUs are not a multiple of"),
        ("-Ga100:3,v100:1", None, 2, "in proportion"),
    ],
)
def test_a_size_that_does_not_come_out_even_is_refused(words, unit, size, problem):
    asked = options(*words.split(), unit=unit)
    if problem is None:
        assert dict(shape_of(asked, size, 60).others) == {"gpus-per-node": "3"}
        return
    with pytest.raises(Infeasible, match=problem):
        shape_of(asked, size, 60)


@pytest.mark.parametrize(
    ("words", "unit", "size"),
    [
        ("", None, 1), ("-n4 -c2", None, 4), ("-n4 -c2", "cpus", 8), ("-N3 -n6", None, 3), ("-N3", "tasks", 3),
        ("-N3 --ntasks-per-node=2", "tasks", 6), ("-G4", None, 4), ("-N2 --gpus-per-node=4", "gpus", 8),
        ("--gres=gpu:2", None, 2), ("-n4 --gpus-per-task=2", "gpus", 8),
    ],
)  # fmt: skip
def test_the_size_that_the_options_ask_for_themselves(words, unit, size):
    asked = options(*words.split(), unit=unit)
    assert own_size(asked) == size
    assert shape_of(asked, size, 60).minutes == 1


def test_how_many_units_a_node_has():
    node = Node("n1", 16, gres=(Gres("gpu", "a100", 4), Gres("gpu", "v100", 2), Gres("shard", "", 8)))
    assert units_on(node, options()) == 16
    assert units_on(node, options("-c4")) == 4
    assert units_on(node, options("-c4", "--ntasks-per-node=2")) == 2
    assert units_on(node, options("-N2")) == 1
    assert units_on(node, options("-G2")) == 6
    assert units_on(node, options("-Ga100:2")) == 4


def test_how_large_a_job_is():
    job = Job(1, "", "u", "PENDING", ("a",), 32, 1, least_nodes=2, tasks_asked=8, cpus_per_task=4)
    assert [size_of(job, unit) for unit in ("cpus", "nodes", "tasks", "gpus")] == [32, 2, 8, 0]
    of_gpus = Job(1, "", "u", "PENDING", ("a",), 8, 1, least_nodes=2, gres_per_node=(Gres("gpu", "a100", 4),))
    assert size_of(of_gpus, "gpus") == 8
    ended = replace(of_gpus, gres_on={"n1": (), "n2": ()})
    assert size_of(ended, "gpus") == 8, "a job that has ended holds nothing any more"
