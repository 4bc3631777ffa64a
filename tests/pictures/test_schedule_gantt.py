"""A schedule as a Gantt chart: which jobs are coloured, which are marked, and which week is shown."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_schedules import DAY, LOG, passing, svg_texts
from schedules import schedule_of

from gas import BadInput
from gas.pictures.schedule_gantt import draw_gantt, gantt_users, queue_window
from gas.simulation.schedule import Reservation

matplotlib = pytest.importorskip("matplotlib")


def drawn(tmp_path, schedules, draw=draw_gantt, **options):
    draw(schedules, tmp_path / "x.svg", log=options.pop("log", LOG), **options)
    return svg_texts(tmp_path / "x.svg")


def test_users_who_hold_most_have_colours_of_their_own(tmp_path):
    big = schedule_of([(0, 1, 0, 10), (0, 4, 0, 90), (0, 2, 0, 50), (0, 1, 0, 9)], machine=9, user=[7, 8, 9, -1])
    assert gantt_users([big], (0, 100)) == [8, 9, 7]
    assert gantt_users([big], (60, 100)) == []  # only one left
    texts = drawn(tmp_path, [big])
    assert {"user 8", "user 9", "user 7", "other users"} <= set(texts)
    assert "other users" not in drawn(tmp_path, [passing()])


def test_jobs_of_unknown_users_are_just_jobs(tmp_path):
    texts = drawn(tmp_path, [schedule_of([(0, 1, 0, 10), (0, 2, 0, 20)], machine=4)])
    assert "job" in texts
    assert not any(text.startswith("user") for text in texts)


def test_backfilled_jobs_are_marked_in_the_chart(tmp_path):
    from matplotlib.image import imread

    def ink(schedule):
        draw_gantt([schedule], tmp_path / "x.png", log=LOG, window=(0, 100))
        image = imread(tmp_path / "x.png")[:, :, :3]
        # Inside the chart, without text and axis: pixels of this colour from the top of job 3 to its bottom.
        return (image[150:400, 150:1600].max(axis=2) < 0.2).sum(axis=0).max()

    in_order = replace(passing(), start=np.array([0, 100, 200]), end=np.array([100, 200, 250]))
    assert ink(in_order) == 0
    assert ink(passing()) > 50


def test_a_reservation_is_drawn_and_named(tmp_path):
    one = replace(passing(), reservations=(Reservation(0, 1, 70, 20),), reserved=np.array([70], np.int64))
    assert "reservation" in drawn(tmp_path, [one])
    assert "reservation" not in drawn(tmp_path, [passing()])


def test_the_week_of_the_longest_queue_is_shown():
    week = 7 * DAY
    rows = [(k * DAY, 1, k * DAY, k * DAY + 60) for k in range(40)]
    rows += [(20 * DAY, 1, 21 * DAY, 22 * DAY)]
    first, last = queue_window([schedule_of(sorted(rows), machine=5)])
    assert last - first == week
    assert first < 20 * DAY < last
    short = schedule_of([(5, 1, 5, DAY)], machine=1)
    assert queue_window([short]) == (5, DAY)
    later = schedule_of([(5, 1, 2 * DAY, 3 * DAY)], machine=1)
    assert queue_window([short, later]) == (5, 3 * DAY)


def test_an_impossible_schedule_is_an_error_that_names_the_job(tmp_path):
    too_many = schedule_of([(0, 3, 0, 10), (0, 3, 5, 10)], machine=4)
    with pytest.raises(BadInput, match="second 5: job 2 starts on 3 processors, but 1 of 4 are free"):
        draw_gantt([too_many], tmp_path / "x.png", log=LOG)
