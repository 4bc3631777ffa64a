"""The machine over time: its curves are means of the seconds, on one machine."""

import itertools

import numpy as np
import pytest
from drawn_schedules import LOG, made, passing, svg_texts
from hypothesis import given
from hypothesis import strategies as st

from gas import BadInput
from gas.pictures.machine_use import step_means
from gas.pictures.simulation import draw_simulation


def drawn(tmp_path, schedules, draw=draw_simulation, **options):
    draw(schedules, tmp_path / "x.svg", log=options.pop("log", LOG), **options)
    return svg_texts(tmp_path / "x.svg")


def test_a_window_is_what_the_charts_and_the_machine_show(tmp_path):
    texts = drawn(tmp_path, [made("easy")], window=(3600, 7200))
    assert "easy: 23 Sep 1996 15:00 to 23 Sep 1996 16:00 (Europe/Stockholm)" in texts
    # The chart and the machine both have a tick at 15:30.
    assert texts.count("15:30") == 2


@given(st.lists(st.integers(0, 30), max_size=8, unique=True), st.lists(st.integers(-5, 40), min_size=2, unique=True))
def test_means_over_columns_are_those_of_the_seconds(times, edges):
    times, edges = np.array(sorted(times), dtype=np.int64), np.array(sorted(edges), dtype=np.int64)
    values = times * 3 % 7
    found = step_means(times, values, edges, before=2)

    def value(second):
        step = np.searchsorted(times, second, "right") - 1
        return 2 if step < 0 else values[step]

    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        assert found[k] == pytest.approx(np.mean([value(s) for s in range(a, b)]))


def test_schedules_on_different_machines_do_not_share_a_picture(tmp_path):
    with pytest.raises(BadInput, match="3 jobs on 4 processors and 60 jobs on 16 processors"):
        draw_simulation([passing(), made("easy")], tmp_path / "x.png", log=LOG)
