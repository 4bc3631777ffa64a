import itertools
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from made_endpoints import node_list

from documents.extras import way_to_install
from gas import Application, AvailabilityList, BadInput, Candidate, plan
from gas.errors import Missing
from gas.pictures.canvas import SUFFIXES
from gas.pictures.plan import MOST_DRAWN, draw_availability, draw_plan, selection
from speedup_models import Constraint
from speedup_models.downey import Downey
from speedup_models.table import Table

matplotlib = pytest.importorskip("matplotlib")

NOW = 1_731_000_000
PAPER = AvailabilityList.of([0, 1, 5, 6, 7, 11], [5, 10, 0, 10, 20, 40])
EXAMPLE = plan(Application(Table.of({10: 5, 20: 3, 30: 2}), safety=1, name="example"), PAPER)
LU = Application(Downey(20 * 3600, 60, 1.0), Constraint("power-of-two"), name="lu.C")


def machine(name, processors=100, kind="promise"):
    starts = NOW + np.array([0, 600, 1500, 4000, 9000])
    return AvailabilityList.of(starts, [4, 30, 12, 70, processors], processors=processors, scheduler=name, kind=kind)


def svg_texts(path):
    """Texts of a picture; the SVG writer draws letters as paths and leaves the text in comments."""
    parser = ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))
    root = ET.parse(path, parser).getroot()
    return [node.text.strip() for node in root.iter(ET.Comment)]


def svg_of(tmp_path, made, lists, **options):
    draw_plan(made, lists, tmp_path / "plan.svg", **options)
    return svg_texts(tmp_path / "plan.svg")


# ------------------------------------------------------------------------------------------------------------ files


def test_png_is_an_image_with_something_on_it(tmp_path):
    from matplotlib.image import imread

    draw_plan(EXAMPLE, [PAPER], tmp_path / "plan.png")
    image = imread(tmp_path / "plan.png")
    assert image.shape[1] > 1000
    orange = np.abs(image[:, :, :3] - np.array([0xE6, 0x9F, 0x00]) / 255).max(axis=2) < 0.02
    # The best candidate takes 3 of 15 seconds and half of the machine: a twentieth of the picture at least.
    assert 0.05 < orange.mean() < 0.2


def test_svg_is_xml(tmp_path):
    draw_plan(EXAMPLE, [PAPER], tmp_path / "plan.svg")
    assert ET.parse(tmp_path / "plan.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.thorough
def test_pdf_is_whole(tmp_path):
    draw_plan(EXAMPLE, [PAPER], tmp_path / "plan.pdf")
    data = (tmp_path / "plan.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert data.rstrip().endswith(b"%%EOF")
    table = int(data.rsplit(b"startxref", 1)[1].split()[0])
    assert data[table:].startswith(b"xref")
    assert data.count(b"/Type /Page ") == 1


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_plan_gives_the_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        draw_plan(EXAMPLE, [PAPER], tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.thorough
def test_the_same_bytes_in_another_process_and_no_pyplot_in_it(tmp_path):
    script = (
        "from gas import *; from gas.pictures.plan import *; import sys\n"
        "draw_availability(AvailabilityList.of([0, 1, 5], [5, 10, 0]), sys.argv[1])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    for seed, suffix in (("1", ".svg"), ("2", ".pdf")):
        draw_availability(AvailabilityList.of([0, 1, 5], [5, 10, 0]), tmp_path / f"here{suffix}")
        path = tmp_path / f"there{suffix}"
        environment = os.environ | {"PYTHONHASHSEED": seed, "MPLBACKEND": "svg"}
        subprocess.run([sys.executable, "-c", script, path], check=True, env=environment, timeout=60)
        assert path.read_bytes() == (tmp_path / f"here{suffix}").read_bytes()


def test_a_matplotlibrc_changes_nothing_and_nothing_global_is_touched(tmp_path):
    draw_plan(EXAMPLE, [PAPER], tmp_path / "a.png")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
        before = matplotlib.rcParams.copy()
        draw_plan(EXAMPLE, [PAPER], tmp_path / "b.png")
        assert matplotlib.rcParams.copy() == before
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_suffix_in_capitals_will_do(tmp_path):
    draw_plan(EXAMPLE, [PAPER], tmp_path / "PLAN.PNG")
    assert (tmp_path / "PLAN.PNG").read_bytes().startswith(b"\x89PNG")


# --------------------------------------------------------------------------------------------------------- contents


def test_the_best_candidate_is_labelled_in_words_and_the_others_by_their_processors(tmp_path):
    texts = svg_of(tmp_path, EXAMPLE, [PAPER])
    assert "20 processors, starts in 7s, finishes in 10s" in texts
    ids = {node.get("id") for node in ET.parse(tmp_path / "plan.svg").iter()}
    assert {"machine/10", "machine/30"} <= ids
    assert "machine/20" not in ids


def test_of_gpus_the_machine_is_counted_in_gpus(tmp_path):
    one = machine("train")
    made = plan(LU, one)
    on_gpus = replace(made, candidates=[replace(each, unit="gpus") for each in made.candidates])
    assert "train: 100 GPUs, starts are promises" in svg_of(tmp_path, on_gpus, [one])


def test_the_axis_is_relative_and_its_label_absolute(tmp_path):
    one = machine("kth")
    texts = svg_of(tmp_path, plan(LU, one), [one])
    assert "time from now (2024-11-07 17:20:00 UTC)" in texts
    assert "now" in texts
    assert "+30m" in texts


def test_every_scheduler_has_a_panel_that_names_its_machine_and_kind(tmp_path):
    lists = [machine("kth"), machine("ctc", 430, "estimate"), machine("sdsc", 128)]
    texts = svg_of(tmp_path, plan(LU, lists), lists)
    assert "kth: 100 processors, starts are promises" in texts
    assert "ctc: 430 processors, starts are estimates" in texts
    assert "sdsc: 128 processors, starts are promises" in texts
    assert sum("finishes" in text for text in texts) == 1
    assert {"100", "430", "128"} <= set(texts)


def test_the_rest_of_the_walltime_is_in_the_legend_if_there_is_any(tmp_path):
    safe = plan(Application(Table.of({20: 300}), safety=1.5), machine("kth"))
    assert "rest of its walltime" in svg_of(tmp_path, safe, [machine("kth")])
    assert "rest of its walltime" not in svg_of(tmp_path, EXAMPLE, [PAPER])


def test_a_plan_without_candidates_is_drawn_and_says_so(tmp_path):
    texts = svg_of(tmp_path, plan(Application(Table.of({400: 9}), name="big"), PAPER), [PAPER])
    assert "big: no request is possible" in texts
    assert "best request, start to finish" not in texts


def test_a_title_takes_the_place_of_the_applications_name(tmp_path):
    texts = svg_of(tmp_path, EXAMPLE, [PAPER], title="Fig. 4.6")
    assert "Fig. 4.6" in texts
    assert "example" not in texts


def test_names_are_text_and_not_formulas(tmp_path):
    strange = AvailabilityList.of([0], [8], scheduler="a$b$_{ 日本--x")
    made = plan(Application(Table.of({8: 5}), name=r"$\frac{x}$" + "W" * 300), strange)
    texts = svg_of(tmp_path, made, [strange])
    assert any(re.fullmatch(r"a\$b\$_\{ 日本- ?-x: 8 processors, starts are promises", text) for text in texts)
    assert any(text.startswith(r"$\frac{x}$WWW") and text.endswith("…") for text in texts)


def test_a_panel_that_leaves_candidates_out_says_how_many(tmp_path):
    one = machine("kth", 1000)
    texts = svg_of(tmp_path, plan(Application(Downey(10**6, 400, 1.0)), one), [one])
    (note,) = [text for text in texts if text.endswith("candidates shown")]
    shown = int(note.split()[0])
    assert note == f"{shown} of 1000 candidates shown"
    assert 1 <= shown <= MOST_DRAWN


def test_too_many_frames_become_columns_and_the_legend_says_so(tmp_path):
    starts = np.arange(20_000)
    free = np.where(starts % 2, 50, 60)
    draw_availability(AvailabilityList.of(starts * 30, free, processors=100), tmp_path / "many.svg")
    assert any(text.startswith("free (least in each ") for text in svg_texts(tmp_path / "many.svg"))
    assert (tmp_path / "many.svg").stat().st_size < 200_000


def test_an_availability_list_alone_has_no_candidates(tmp_path):
    draw_availability(PAPER, tmp_path / "list.svg", title="Tonight")
    texts = svg_texts(tmp_path / "list.svg")
    assert "Tonight" in texts
    assert "free" in texts
    assert not any("candidates" in text or "best" in text for text in texts)


def test_a_list_older_than_the_plan_is_drawn_from_the_plans_instant(tmp_path):
    old = AvailabilityList.of([NOW - 5000, NOW - 1000, NOW + 600], [3, 20, 100], scheduler="old")
    new = machine("new")
    texts = svg_of(tmp_path, plan(LU, [old, new]), [old, new])
    assert "time from now (2024-11-07 17:20:00 UTC)" in texts


# -------------------------------------------------------------------------------------------------------- selection


def candidate(processors, start, execution_time, scheduler="machine"):
    return Candidate(scheduler, processors, execution_time, execution_time, start, "promise")


def test_few_candidates_are_all_drawn_but_those_that_start_behind_the_panel():
    few = [candidate(p, 10 * p, 100) for p in range(1, MOST_DRAWN + 1)]
    assert selection(few, few[0], 0, 1000) == few
    assert selection(few, few[0], 0, 100) == few[:9]


def test_of_many_the_best_and_a_part_of_the_pareto_front_is_drawn():
    made = plan(Application(Downey(10**6, 400, 1.0)), machine("kth", 1000))
    span = 20_000
    drawn = selection(made.candidates, made.best, made.now, span)
    assert drawn[0] == made.best
    for one in drawn[1:]:
        assert one.finish - made.now <= span
        assert not any(c.finish <= one.finish and c.processors < one.processors for c in made.candidates)
    for a, b in itertools.combinations(drawn, 2):
        assert abs(a.finish - b.finish) > 0.05 * span or abs(a.processors - b.processors) > 0.05 * 1000
    assert 2 <= len(drawn) <= MOST_DRAWN


def test_a_best_candidate_chosen_by_tolerance_is_drawn_though_others_finish_sooner():
    many = [candidate(p, 0, 2000 - p) for p in range(1, 200)]
    best = many[100]
    assert best in selection(sorted(many, key=lambda c: c.finish), best, 0, 3000)


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("name", ["plan.jpg", "plan", "plan.png.gz"])
def test_an_unknown_suffix_is_refused_with_those_that_work(tmp_path, name):
    with pytest.raises(BadInput, match=r"must end in \.png, \.svg or \.pdf"):
        draw_plan(EXAMPLE, [PAPER], tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere/plan\.png: cannot be written: No such file or directory"):
        draw_plan(EXAMPLE, [PAPER], tmp_path / "nowhere" / "plan.png")


def test_without_matplotlib_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Missing, match=re.escape(way_to_install("plot"))):
        draw_plan(EXAMPLE, [PAPER], tmp_path / "plan.png")


def test_importing_the_pictures_does_not_import_matplotlib():
    script = "import sys, gas.pictures.plan, gas.pictures.terminal; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


def test_a_plan_needs_the_lists_that_it_was_made_of(tmp_path):
    with pytest.raises(BadInput, match="no availability list"):
        draw_plan(EXAMPLE, [], tmp_path / "plan.png")
    with pytest.raises(BadInput, match='candidates on "machine", but its availability list is missing'):
        draw_plan(EXAMPLE, [machine("kth")], tmp_path / "plan.png")


def test_of_nodes_the_counts_are_drawn_and_it_is_said_that_more_was_planned_with(tmp_path):
    nodes = node_list(NOW, "hpc")
    made = plan(Application(Table.of({1: 150, 2: 90}), safety=1, name="long"), nodes)
    texts = svg_of(tmp_path, made, [nodes])
    assert "hpc: 2 processors, starts are estimates, planned node by node" in texts
    assert "1 processor, starts in 1m40s, finishes in 4m10s" in texts
    draw_availability(nodes, tmp_path / "nodes.svg")
    draw_availability(nodes.counts, tmp_path / "counts.svg")
    by_nodes, by_counts = svg_texts(tmp_path / "nodes.svg"), svg_texts(tmp_path / "counts.svg")
    assert [text.replace(", planned node by node", "") for text in by_nodes] == by_counts != by_nodes
