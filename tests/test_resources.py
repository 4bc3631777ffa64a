"""The resources of a unit of size, and the number of nodes for a size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from gas.resources import Resources
from speedup_models.model import Layout

ANY = {"": 8}  # the largest node has eight


def of(unit, **keys):
    return Resources.of(unit, Fields(keys, "a.toml [resources]"))


def test_gpus_fill_nodes_and_come_out_even():
    four = of("gpus", gpus_per_node=4)
    assert four.layouts(2, ANY, free=False) == [Layout(1, 2)]
    assert four.layouts(8, ANY, free=False) == [Layout(2, 4)]
    assert four.layouts(6, ANY, free=False) == [Layout(2, 3)]
    assert four.layouts(5, ANY, free=False) == []
    assert four.why_uneven(5, 8) == "5 GPUs cannot be spread evenly over the fewest nodes of up to 4"
    assert four.why_uneven(4, 2) == "gpus_per_node is 4, and no node has more than 2 GPUs"


def test_more_gpus_a_node_than_any_has_is_said_to_be_that():
    eight = of("gpus", gpus_per_node=8, gpu_type="a100")
    assert eight.layouts(8, {"a100": 4}, free=False) == []
    assert eight.layouts(4, {"a100": 4}, free=False) == [Layout(1, 4, "a100")]
    assert eight.why_uneven(8, 4) == "gpus_per_node is 8, and no node has more than 4 GPUs of type a100"
    assert eight.why_uneven(8, 0) == "gpus_per_node is 8, and no node has GPUs of type a100"


def test_of_several_numbers_a_node_the_planner_chooses():
    several = of("gpus", gpus_per_node=[1, 2, 4])
    assert several.layouts(4, ANY, free=False) == [Layout(1, 4), Layout(2, 2), Layout(4, 1)]
    assert of("gpus", gpus_per_node=[2, 4]).why_uneven(3, 8) == "3 are not whole nodes of 2, 4 GPUs each"


def test_a_model_that_goes_by_layouts_is_asked_about_all_that_fit():
    assert of("gpus").layouts(4, {"a100": 4, "h100": 2}, free=True) == [
        Layout(1, 4, "a100"), Layout(2, 2, "a100"), Layout(4, 1, "a100"), Layout(2, 2, "h100"), Layout(4, 1, "h100"),
    ]  # fmt: skip


def test_nodes_have_what_each_of_them_has():
    assert of("nodes").layouts(3, ANY, free=False) == [Layout(3, 0)]
    assert of("nodes", gpus_per_node=4).layouts(3, ANY, free=False) == [Layout(3, 4)]


@given(st.integers(1, 64), st.sampled_from(["gpus", "nodes", "processors"]), st.integers(1, 8), st.booleans())
def test_every_layout_is_the_size_in_the_units_that_it_counts(size, unit, most, free):
    for layout in of(unit).layouts(size, {"": most}, free=free):
        units = layout.nodes if unit == "nodes" else layout.nodes * layout.per_node
        assert units == size
        assert unit == "nodes" or layout.per_node <= most


@pytest.mark.parametrize(
    ("unit", "keys", "layout", "known"),
    [
        ("processors", {}, None, {"processors": 8, "tasks": 8, "cpus_per_task": 1}),
        ("processors", {"cpus_per_task": 4}, None, {"processors": 8, "tasks": 2, "cpus_per_task": 4}),
        ("gpus", {}, None, {"gpus": 8, "tasks": 8}),
        (
            "gpus",
            {"gpus_per_node": 4, "tasks_per_node": 1, "cpus_per_gpu": 3},
            Layout(2, 4),
            {"gpus": 8, "nodes": 2, "gpus_per_node": 4, "tasks": 2, "processors": 24, "cpus_per_task": 12},
        ),
        ("nodes", {"gpus_per_node": 4}, Layout(8, 4), {"nodes": 8, "gpus_per_node": 4, "gpus": 32, "tasks": 8}),
    ],
)
def test_what_a_job_knows_of_itself(unit, keys, layout, known):
    assert of(unit, **keys).values(8, layout) == known


@pytest.mark.parametrize(("text", "megabytes"), [("500M", 500), ("32G", 32 << 10), ("1 TiB", 1 << 20)])
def test_memory_is_in_megabytes(text, megabytes):
    assert of("gpus", memory_per_gpu=text).memory == ("memory_per_gpu", megabytes)


@pytest.mark.parametrize(
    ("unit", "keys", "message"),
    [
        ("gpus", {"memory_per_gpu": "lots"}, 'not an amount of memory; write it like "500M"'),
        ("gpus", {"memory_per_gpu": "0G"}, "not an amount of memory"),
        ("gpus", {"memory_per_gpu": "1G", "memory_per_node": "1G"}, "and memory_per_gpu cannot be used together"),
        ("processors", {"gpu_type": "a100"}, 'belongs to unit = "gpus" or unit = "nodes"'),
        ("nodes", {"cpus_per_gpu": 2}, 'belongs to unit = "gpus"'),
        ("gpus", {"gpus_per_node": 0}, r"is not a number of GPUs; write 4, or \[1, 2, 4\]"),
        ("gpus", {"gpus_per_node": []}, "is empty"),
        ("gpus", {"gpu_type": "a 100"}, "is not a type of GPU"),
        ("gpus", {"gpu_typ": "a100"}, 'did you mean "gpu_type"'),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_way_out(unit, keys, message):
    with pytest.raises(FieldError, match=message):
        of(unit, **keys)
