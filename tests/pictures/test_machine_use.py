"""The machine over time: its curves are means of the seconds, on one machine."""

import pytest
from drawn_schedules import LOG, made, passing, svg_texts

from gas import BadInput
from gas.pictures.simulation import draw_simulation


def drawn(tmp_path, schedules, draw=draw_simulation, **options):
    draw(schedules, tmp_path / "x.svg", log=options.pop("log", LOG), **options)
    return svg_texts(tmp_path / "x.svg")


def test_a_window_is_what_the_charts_and_the_machine_show(tmp_path):
    texts = drawn(tmp_path, [made("easy")], window=(3600, 7200))
    assert "easy: 23 Sep 1996 15:00 to 23 Sep 1996 16:00 (Europe/Stockholm)" in texts
    # The chart and the machine both have a tick at 15:30.
    assert texts.count("15:30") == 2


def test_schedules_on_different_machines_do_not_share_a_picture(tmp_path):
    with pytest.raises(BadInput, match="3 jobs on 4 processors and 60 jobs on 16 processors"):
        draw_simulation([passing(), made("easy")], tmp_path / "x.png", log=LOG)
