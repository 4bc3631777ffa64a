import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from drawn_schedules import DAY, HEADER, LOG, made, passing, svg_texts
from hypothesis import given
from hypothesis import strategies as st
from schedules import schedule_of

from gas import BadInput
from gas.pictures.canvas import SUFFIXES
from gas.pictures.distributions import draw_distributions, share_below
from gas.pictures.machine_use import draw_machine_use
from gas.pictures.schedule_gantt import draw_gantt
from gas.pictures.simulation import MOST_CHARTS, draw_simulation
from gas.simulation.schedule import NEVER_STARTED, POLICIES
from workloads import Log
from workloads.header import Header

matplotlib = pytest.importorskip("matplotlib")


def drawn(tmp_path, schedules, draw=draw_simulation, **options):
    draw(schedules, tmp_path / "x.svg", log=options.pop("log", LOG), **options)
    return svg_texts(tmp_path / "x.svg")


# ------------------------------------------------------------------------------------------------------------ files


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("draw", [draw_simulation, draw_gantt, draw_machine_use, draw_distributions])
def test_a_png_is_an_image_with_something_on_it(tmp_path, draw):
    from matplotlib.image import imread

    draw([made("s3")], tmp_path / "x.png", log=LOG)
    image = imread(tmp_path / "x.png")
    assert image.shape[1] == 1650
    blue = np.abs(image[:, :, :3] - np.array([0x00, 0x72, 0xB2]) / 255).max(axis=2) < 0.02
    assert blue.any()


@pytest.mark.thorough(but=[".svg"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_equal_schedules_give_equal_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        draw_simulation([made("easy", jobs=20)], tmp_path / f"{name}{suffix}", log=LOG)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.thorough
def test_the_same_bytes_in_another_process_and_no_pyplot_in_it(tmp_path):
    script = (
        f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}\n"
        "from test_simulation_shared import *\n"
        "draw_simulation([passing()], sys.argv[1], log=LOG)\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    (tmp_path / "test_simulation_shared.py").write_text(
        "import importlib.util as u, sys\n"
        f"spec = u.spec_from_file_location('shared', {__file__!r}); m = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(m); globals().update(vars(m))\n"
    )
    draw_simulation([passing()], tmp_path / "here.svg", log=LOG)
    environment = os.environ | {"PYTHONHASHSEED": "2", "MPLBACKEND": "svg", "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script, tmp_path / "there.svg"], check=True, env=environment, timeout=60)
    assert (tmp_path / "there.svg").read_bytes() == (tmp_path / "here.svg").read_bytes()


@pytest.mark.thorough
def test_a_matplotlibrc_changes_nothing_and_nothing_global_is_touched(tmp_path):
    draw_simulation([passing()], tmp_path / "a.svg", log=LOG)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "date.epoch": "0000-12-31"}):
        before = matplotlib.rcParams.copy()
        draw_simulation([passing()], tmp_path / "b.svg", log=LOG)
        assert matplotlib.rcParams.copy() == before
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_importing_the_pictures_does_not_import_matplotlib():
    script = "import sys, gas.pictures.simulation; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


# --------------------------------------------------------------------------------------------------------- contents


@pytest.mark.thorough
def test_the_heading_names_log_jobs_and_machine_and_the_foot_rules_and_thanks(tmp_path):
    texts = drawn(tmp_path, [made("easy", order="event")])
    assert "abacus: 60 jobs, 16 processors" in texts
    foot = " ".join(texts)
    assert "policy easy; order event; overrun kill" in foot
    assert "log: Abacus 4, Institute of Sums" in foot
    assert "acknowledgement: Ada and Charles" in foot


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("draw", [draw_gantt, draw_machine_use, draw_distributions])
def test_every_part_by_itself_names_policy_and_thanks(tmp_path, draw):
    texts = drawn(tmp_path, [made("s3")], draw)
    assert any(re.match(r"s3\b", text) for text in texts)
    assert "acknowledgement: Ada and Charles" in " ".join(texts)


@pytest.mark.thorough
def test_every_policy_has_a_chart_a_line_and_a_mean(tmp_path):
    pair = [made("easy"), made("conservative", seed=4)]
    texts = drawn(tmp_path, pair)
    assert any(text.startswith("easy: 23 Sep 1996") and text.endswith("(Europe/Stockholm)") for text in texts)
    assert any(text.startswith("conservative: 23 Sep 1996") for text in texts)
    assert {"easy", "conservative"} <= set(texts)
    assert sum(text.startswith("mean ") for text in texts) == 2 * 3


@pytest.mark.thorough
def test_every_policy_there_is_has_a_chart(tmp_path):
    texts = drawn(tmp_path, [made(policy, seed=seed, jobs=9) for seed, policy in enumerate(POLICIES)])
    assert sum("Sep 1996" in text and " to " in text for text in texts) == len(POLICIES)
    assert set(POLICIES) <= set(texts)


@pytest.mark.thorough
def test_schedules_without_a_chart_are_named(tmp_path):
    many = [made(policy, jobs=9, order=order) for order in ("instant", "event") for policy in POLICIES]
    texts = drawn(tmp_path, many[: MOST_CHARTS + 2])
    assert sum("Sep 1996" in text and " to " in text for text in texts) == MOST_CHARTS
    assert "without a Gantt chart: fcfs, event, easy, event" in " ".join(texts)


@pytest.mark.thorough
def test_pictures_that_are_to_be_laid_beside_each_other_show_the_same_stretch_of_time(tmp_path):
    busy = schedule_of([(0, 1, 0, 60), (20 * DAY, 1, 21 * DAY, 22 * DAY)], machine=5, policy="easy", user=[1, 2])
    other = schedule_of(
        [(0, 1, 10 * DAY, 30 * DAY), (20 * DAY, 1, 30 * DAY, 31 * DAY)], machine=5, policy="s3", user=[1, 2]
    )
    pictures = [drawn(tmp_path, [one], beside=[busy, other]) for one in (busy, other)]
    windows = [{text.partition(": ")[2] for text in texts if re.match(r"(easy|s3): \d", text)} for texts in pictures]
    assert windows[0] == windows[1]
    assert windows[0]
    alone = drawn(tmp_path, [other])
    assert windows[0] != {text.partition(": ")[2] for text in alone if text.startswith("s3: ")}
    assert "time of the Gantt chart" in alone


def test_pictures_side_by_side_end_with_the_longest_schedule(tmp_path):
    short = schedule_of([(0, 1, 0, 60)], machine=1, policy="easy")
    long = schedule_of([(0, 1, DAY, DAY + 60)], machine=1, policy="s3")
    texts = drawn(tmp_path, [short], log=Log.from_columns({"submit": [0.0]}, name="model"), beside=[short, long])
    assert "easy: day 0 00:00 to day 1 00:01" in texts
    assert "time of the Gantt chart" not in texts  # it is that of the other panels


@pytest.mark.thorough
def test_thousands_of_jobs_make_a_picture_of_bounded_size(tmp_path):
    many = made("easy", jobs=9000)
    draw_simulation([many], tmp_path / "x.svg", log=LOG, window=(0, 4_000_000))
    assert (tmp_path / "x.svg").stat().st_size < 3_000_000
    assert any("means over" in text for text in svg_texts(tmp_path / "x.svg"))


@pytest.mark.thorough
def test_a_log_without_dates_or_thanks_is_drawn_in_days(tmp_path):
    texts = drawn(tmp_path, [passing()], log=Log.from_columns({"submit": [0.0]}, name="model"))
    assert "easy: day 0 00:00 to day 0 00:03" in texts
    assert not any("acknowledgement" in text for text in texts)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    "jobs", [[], [(0, 1, None, 5)], [(3, 1, 3, 3)], [(0, 1, 0, 10**9)]], ids=["none", "cancelled", "instant", "long"]
)
def test_odd_schedules_are_drawn(tmp_path, jobs):
    for draw in (draw_simulation, draw_gantt, draw_machine_use, draw_distributions):
        draw([schedule_of(jobs, machine=1)], tmp_path / "x.svg", log=LOG)


@pytest.mark.thorough
def test_names_are_text_and_not_formulas(tmp_path):
    header = Header.of([("Computer", "$\\frac$ $x$"), ("Acknowledge", "A$_$B")])
    texts = drawn(tmp_path, [passing()], log=Log.from_columns({"submit": [0.0]}, header=header, name="$x_\n$.swf"))
    assert any(text.startswith("$x_ $: 3 jobs") for text in texts)
    assert "A$_$B" in " ".join(texts)


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(2, 12))
def test_points_of_a_distribution_lie_on_it(values, most):
    x, share = share_below(np.array(values), most)
    assert len(x) <= max(most, 1)
    assert (np.diff(x) > 0).all()
    assert share[-1] == 1
    for one, part in zip(x, share, strict=True):
        assert part == pytest.approx(np.mean(np.array(values) <= one))


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("draw", [draw_simulation, draw_gantt, draw_machine_use])
def test_an_empty_window_is_refused(tmp_path, draw):
    with pytest.raises(BadInput, match="window 50 to 50: must end after it begins"):
        draw([passing()], tmp_path / "x.png", log=LOG, window=(50, 50))


@pytest.mark.parametrize("draw", [draw_simulation, draw_gantt, draw_machine_use, draw_distributions])
def test_nothing_to_draw_is_an_error(tmp_path, draw):
    with pytest.raises(BadInput, match="schedule"):
        draw([], tmp_path / "x.png", log=LOG)


@pytest.mark.parametrize("draw", [draw_simulation, draw_gantt, draw_machine_use, draw_distributions])
def test_a_simulation_that_stands_before_its_end_is_not_drawn(tmp_path, draw):
    so_far = passing()
    so_far = replace(so_far, end=np.array([100, NEVER_STARTED, 60]))
    with pytest.raises(BadInput, match="1 job has not ended"):
        draw([passing(), so_far], tmp_path / "x.png", log=LOG)
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------ what a picture shows


@pytest.mark.thorough
def test_charts_and_curves_begin_at_one_line(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
    draw_simulation([made("easy"), made("s3")], tmp_path / "x.png", log=LOG)
    panels = figures[0].axes[:5]  # two charts, three of curves
    assert len({ax.get_position().x0 for ax in panels}) == 1
    assert len({ax.get_position().x1 for ax in panels}) == 1


@pytest.mark.thorough
def test_a_picture_says_which_part_of_a_log_it_shows_and_how_the_load_was_scaled(tmp_path):
    part = LOG.with_header(
        HEADER.with_note("Selected jobs: submitted in 1996-10 (60 of 99)").with_note("Load scaled from 0.7 to 0.8: x")
    )
    texts = drawn(tmp_path, [made("easy")], log=part)
    assert "abacus: 60 jobs, 16 processors, a part of the log, load scaled" in texts
    foot = " ".join(texts)
    assert "only jobs submitted in 1996-10 (60 of 99)" in foot
    assert "load scaled from 0.7 to 0.8" in foot
    assert not any("part of" in text for text in drawn(tmp_path, [made("easy")]))
