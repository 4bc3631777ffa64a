"""Measured times by layout."""

import numpy as np
import pytest

from documents.fields import FieldError, Fields
from gas.application import Application
from speedup_models import ModelError, model_from_table
from speedup_models.layouts import LayoutTable
from speedup_models.model import Layout

ROWS = [
    {"gpus_per_node": 4, "seconds": 800.0},
    {"nodes": 2, "gpus_per_node": 4, "seconds": 450.0},
    {"nodes": 4, "gpus_per_node": 2, "seconds": 500.0},
]


def made(rows):
    return model_from_table(Fields({"model": "layouts", "times": rows}, "a.toml [speedup]"))


def application(rows, **keys):
    document = {"unit": "gpus", "speedup": {"model": "layouts", "times": rows}, **keys}
    return Application.from_tables(document, "a.toml")


def test_there_is_a_time_on_what_was_measured_and_none_on_the_rest():
    times = made(ROWS).seconds_on(np.array([4, 8, 8, 8]), [Layout(1, 4), Layout(2, 4), Layout(4, 2), Layout(8, 1)])
    assert times[:3].tolist() == [800, 450, 500]
    assert np.isnan(times[3])


def test_an_application_has_the_sizes_and_layouts_that_were_measured():
    app = application(ROWS)
    assert app.sizes(16).tolist() == [4, 8]
    assert app.layouts(8, {"": 8}) == [Layout(2, 4), Layout(4, 2)]
    assert app.layouts(8, {"": 2}) == [Layout(4, 2)], "the machine's nodes have two GPUs"


def test_types_are_told_apart_where_they_were_measured():
    app = application([{**row, "type": kind} for row in ROWS for kind in ("a100", "h100")])
    assert app.devices == ("a100", "h100")
    assert app.layouts(4, {"a100": 4, "h100": 2}) == [Layout(1, 4, "a100")]


def test_a_type_that_the_application_wants_is_any_to_a_table_without_types():
    app = application(ROWS, resources={"gpu_type": "a100"})
    (layout,) = app.layouts(4, {"a100": 4})
    assert app.execution_times(np.array([4]), 1.0, [layout]).tolist() == [800]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "is empty"),
        ({}, "is not a list"),
        ([*ROWS, ROWS[0]], "1x4 occurs twice"),
        ([*ROWS, {"gpus_per_node": 8, "type": "a100", "seconds": 1}], "give it in all or in none"),
        ([{"gpus_per_node": 4}], "row 1 seconds"),
        ([{"gpus": 4, "seconds": 1}], 'row 1: has no key "gpus"'),
        ([{"nodes": 0, "seconds": 1}], "below 1"),
        ([4], "row 1"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(rows, message):
    with pytest.raises((FieldError, ModelError), match=message):
        made(rows)


def test_a_table_of_nothing_is_none():
    with pytest.raises(ModelError, match="0 layouts and 0 times"):
        LayoutTable((), ())
