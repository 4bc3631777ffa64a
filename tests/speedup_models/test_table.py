import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.fields import FieldError, Fields
from speedup_models.model import ModelError, execution_times
from speedup_models.registry import model_from_table
from speedup_models.table import Table

TIMES = st.dictionaries(st.integers(1, 5000), st.floats(1e-3, 1e6), min_size=1, max_size=8)


@given(TIMES, st.booleans())
def test_measured_counts_give_the_measured_time_to_the_last_digit(times, interpolate):
    table = Table.of(times, interpolate=interpolate)
    assert table.seconds(np.array(list(times))).tolist() == list(times.values())


@given(TIMES, st.integers(1, 6000))
def test_without_interpolation_nothing_else_has_an_answer(times, n):
    assert np.isnan(Table.of(times).seconds(np.array([n]))[0]) == (n not in times)
    assert Table.of(times).sizes == tuple(sorted(times))


@given(TIMES, st.integers(1, 6000))
def test_interpolation_stays_between_the_neighbours_and_never_leaves_the_measured_range(times, n):
    table = Table.of(times, interpolate=True)
    assert table.sizes is None
    value = table.seconds(np.array([n]))[0]
    if not min(times) <= n <= max(times):
        assert np.isnan(value)
        return
    before = max(k for k in times if k <= n)
    after = min(k for k in times if k >= n)
    low, high = sorted((times[before], times[after]))
    assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9)


def test_interpolation_is_a_straight_line_on_log_log_axes():
    # perfect speed-up from 16 to 64, then a power of -1/2
    table = Table.of({16: 64.0, 64: 16.0, 256: 8.0}, interpolate=True)
    assert table.seconds(np.array([32, 40, 128])) == pytest.approx([32, 25.6, 16 / math.sqrt(2)])
    assert execution_times(table, [15, 16, 32, 40, 64, 257]).tolist() == [0, 64, 32, 26, 16, 0]


def test_times_may_rise_with_the_processors():
    table = Table.of({8: 17.7, 64: 36.12, 1: 80.0})
    assert execution_times(table, [1, 8, 64]).tolist() == [80, 18, 37]


def test_the_tables_of_the_counter_example_to_the_papers_walk():
    assert execution_times(Table.of({8: 4, 6: 5, 4: 6}), [4, 5, 6, 7, 8]).tolist() == [6, 0, 5, 0, 4]


def test_counts_below_one_are_refused():
    with pytest.raises(ModelError, match="-2 processors: a count is at least 1"):
        Table.of({8: 1.0}).seconds(np.array([-2]))


@pytest.mark.parametrize(
    ("counts", "times", "message"),
    [
        ((), (), "empty"),
        ((1, 2), (3.0,), "2 counts but 1 times"),
        ((2, 1), (3.0, 4.0), "do not ascend"),
        ((1, 1), (3.0, 4.0), "do not ascend"),
        ((0,), (3.0,), "processor count: 0 is below 1"),
        ((4,), (0.0,), "time on 4 processors: 0.0 must be more than 0"),
        ((4,), (math.nan,), "not a finite number"),
    ],
)
def test_impossible_tables_are_refused(counts, times, message):
    with pytest.raises(ModelError, match=message):
        Table(counts, times)


def read(**table):
    return model_from_table(Fields({"model": "table"} | table, "app.toml [speedup]"))


def test_it_is_read_from_a_table_of_text_keys():
    model = read(times={"32": 423.5, "16": 812})
    assert model == Table((16, 32), (812.0, 423.5))
    assert model.name == "table of 2 times, on 16 to 32 processors"
    assert model.constraint is None
    assert read(times={"16": 812}, interpolate=True).name == "table of one time, on 16 processors"
    assert read(times={"16": 8, "32": 4}, interpolate=True).sizes is None


@pytest.mark.parametrize(
    "key", ["0", "016", "-4", "+4", "4.0", "1_6", " 16", "", "sixteen", "٣", "9" * 5000, str(2**31 + 1)]
)
def test_keys_that_are_no_plain_count_are_refused(key):
    with pytest.raises(FieldError, match=r"\[times\]: .* is not a processor count"):
        read(times={key: 5.0})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "times: is missing"),
        ({"times": {}}, "is empty"),
        ({"times": [1, 2]}, "is not a table"),
        ({"times": {"16": 0}}, r"\[times\] 16: 0 must be more than 0"),
        ({"times": {"16": "fast"}}, "is not a number"),
        ({"times": {"16": 1.0}, "interpolate": 1}, "neither true nor false"),
        ({"times": {"16": 1.0}, "interpolat": True}, 'did you mean "interpolate"'),
    ],
)
def test_tables_that_cannot_be_used_are_refused_by_their_place(table, message):
    with pytest.raises(FieldError, match=message):
        read(**table)
