"""The picture of run times by size, and the distributions it shows."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput, Missing
from gas.pictures.run_times import CLASSES, distributions, draw_run_times
from workloads import Header, Log
from workloads.jann import generate

SIZES = [1] * 40 + [2, 4, 3] * 20 + [16] * 50 + [64] * 10 + [65, 100] * 25


def log_of(processors, run_time, *, machine=100, thanks=("Somebody of Somewhere",), name="made.swf.gz"):
    columns = {"submit": np.arange(len(processors)), "allocated_processors": processors, "run_time": run_time}
    entries = [("Acknowledge", text) for text in thanks]
    header = Header.of([*entries, *([("MaxProcs", machine)] if machine else [])])
    return Log.from_columns(columns, header=header, name=name)


LOG = log_of(SIZES, np.arange(len(SIZES)) * 50)


@pytest.fixture
def texts(tmp_path):
    """The texts of the picture of some logs."""

    def draw(logs, **options):
        draw_run_times(logs, tmp_path / "x.svg", **options)
        return re.findall(r"<!-- (.*?) -->", (tmp_path / "x.svg").read_text(), re.S)

    return draw


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 10**6)), min_size=1, max_size=100))
def test_every_job_is_in_one_class_and_run_times_ascend(jobs):
    sizes, run_times = zip(*jobs, strict=True)
    found = distributions(log_of(sizes, run_times))
    assert sum(one.run_times.size for one in found) == len(jobs)
    assert sum(one.share for one in found) == pytest.approx(1)
    assert sorted(np.concatenate([one.run_times for one in found])) == sorted(run_times)
    for one in found:
        expected = sorted(seconds for size, seconds in jobs if one.first <= size <= (one.last or 100))
        assert one.run_times.tolist() == expected


def test_classes_are_those_of_the_papers_comparison_unless_named():
    assert [one.label for one in distributions(LOG)] == ["1", "2–4", "5–16", "17–64", "65 and more"]
    few = distributions(LOG, classes=[(1, 16), (17, None)])
    assert [(one.label, one.run_times.size) for one in few] == [("1–16", 150), ("17 and more", 60)]


def test_jobs_that_cannot_run_are_left_out():
    found = distributions(log_of([1, 1, 200], [5, -1, 5]))
    assert [one.run_times.tolist() for one in found if one.run_times.size] == [[5]]


def test_a_log_that_does_not_name_its_machine_shows_all_jobs():
    found = distributions(log_of([1, 300], [5, 6], machine=None))
    assert [one.run_times.size for one in found] == [1, 0, 0, 0, 1]


def test_legends_name_the_classes_with_their_share_and_panels_the_logs(texts):
    found = texts([LOG, generate(500, generator=np.random.default_rng(1))], title="Two")
    for text in ("made", "jann", "Two", "1 (19%)", "2–4 (29%)", "5–16 (24%)", "65 and more (24%)", "run time up to"):
        assert text in found, text
    assert "17–64 (5%, too few)" in found  # ten jobs are too few for a distribution
    assert found.count("processors (share of jobs)") == 2


def test_whoever_contributed_is_thanked_once_each(texts):
    found = " ".join(texts([LOG, LOG, log_of([1], [5], thanks=())], names=["a", "b", "c"]))
    assert "acknowledgements: a, b: Somebody of Somewhere" in found
    assert "c:" not in found


def test_without_anyone_to_thank_there_is_no_foot(texts):
    assert not any("acknowledgements" in text for text in texts([log_of([1], [5], thanks=())]))


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_picture_is_of_the_suffixs_kind_and_the_same_every_time(tmp_path, suffix):
    signature = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    for name in ("a", "b"):
        draw_run_times([LOG, LOG], tmp_path / f"{name}.{suffix}")
    first = (tmp_path / f"a.{suffix}").read_bytes()
    assert first.startswith(signature)
    assert first == (tmp_path / f"b.{suffix}").read_bytes()


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    "log",
    [
        log_of([1], [0]),
        log_of([5] * 40, [0] * 40),
        log_of([5] * 5000, np.arange(5000) * 1000),
        log_of([1, 1], [-1, -1]),
        log_of(SIZES, np.full(len(SIZES), 7), name="x" * 300, thanks=["y" * 900, "a $\\mathrm{b}$"]),
    ],
    ids=["one job", "no time at all", "many and long", "no usable job", "long names"],
)
def test_all_kinds_of_logs_can_be_drawn(log, tmp_path):
    draw_run_times([log, LOG], tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000


@pytest.mark.thorough
def test_the_curve_of_many_jobs_stays_small_in_a_file(tmp_path):
    log = log_of([1] * 100_000, np.arange(100_000))
    draw_run_times([log], tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size < 120_000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "x.gif"}, r"must end in \.png, \.svg or \.pdf"),
        ({"path": "nowhere/x.png"}, "nowhere/x.png: cannot be written: No such file"),
        ({"logs": []}, "no log"),
        ({"names": ["a", "b"]}, "2 names for 1 logs"),
        ({"classes": []}, "0 classes"),
        ({"classes": [(n, n) for n in range(1, 12)]}, "11 classes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=said):
        draw_run_times(**{"logs": [LOG], "path": "x.png", **options})
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Missing, match="pip install"):
        draw_run_times([LOG], tmp_path / "x.png")


def test_importing_the_picture_does_not_import_matplotlib():
    script = "import sys, gas.pictures.run_times; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def test_there_is_a_colour_for_every_class():
    from gas.pictures.run_times import _LINES

    assert len(CLASSES) <= len(_LINES) == len({colour for colour, _ in _LINES})


def test_legends_stand_below_the_panels_and_over_no_curve(tmp_path, monkeypatch):
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    figures, save = [], figure_class.savefig
    monkeypatch.setattr(figure_class, "savefig", lambda self, *a, **k: (figures.append(self), save(self, *a, **k)))
    draw_run_times([LOG, LOG, LOG, LOG], tmp_path / "x.png")
    (figure,) = figures
    renderer = figure._get_renderer()
    boxes = [ax.get_legend().get_window_extent(renderer) for ax in figure.axes]
    for ax in figure.axes:
        assert not any(box.overlaps(ax.get_window_extent(renderer)) for box in boxes)
