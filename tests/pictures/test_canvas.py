"""What pictures of schedules share: names and lines of policies, and writing a figure to a file."""

import re
import sys
from dataclasses import replace

import pytest
from drawn_schedules import LOG, made, passing

from documents.extras import way_to_install
from gas import BadInput
from gas.errors import Missing
from gas.pictures.canvas import (
    STYLE,
    one_line,
    picture_suffix,
    policy_handles,
    policy_labels,
    policy_lines,
    policy_styles,
    rules_text,
    write_picture,
)
from gas.pictures.distributions import draw_distributions
from gas.pictures.simulation import draw_simulation
from gas.simulation.schedule import POLICIES

matplotlib = pytest.importorskip("matplotlib")


def test_a_policy_has_its_colour_in_every_picture():
    every = [made(policy, jobs=3) for policy in POLICIES]
    styles = dict(zip(POLICIES, policy_styles(every), strict=True))
    assert len(set(styles.values())) == len({colour for colour, _ in styles.values()}) == len(POLICIES)
    for some in (every[2:], every[::-1], every[3:4]):
        assert policy_styles(some) == [styles[one.policy] for one in some]
    twice = policy_styles([every[0], every[0], every[0]])
    assert len({colour for colour, _ in twice}) == 1
    assert len(set(twice)) == 3


def test_schedules_of_one_policy_are_named_by_what_differs():
    one = made("easy", jobs=3)
    assert policy_labels([one, replace(one, order="event")]) == ["easy, instant", "easy, event"]
    assert policy_labels([one, replace(one, policy="s3")]) == ["easy", "s3"]
    assert policy_labels([one, one]) == ["easy #1", "easy #2"]


def test_equal_schedules_have_one_line_that_names_them_all():
    easy, s3, other = made("easy", jobs=3), made("s3", jobs=3), made("fcfs", seed=4, jobs=3)
    lines = policy_lines([easy, other, s3])
    assert [line.label for line in lines] == ["easy = s3", "fcfs"]
    assert [(line.colour, line.dashes) for line in lines] == policy_styles([easy, other, s3])[:2]
    assert [handle.get_label() for handle in policy_handles([easy, other, s3])] == ["easy = s3", "fcfs"]
    solid, dashed = policy_lines([s3, other])
    assert solid.over < dashed.over, "lines that run together for a while are both seen"


@pytest.mark.parametrize("name", ["x.jpg", "x", "x.png.gz"])
def test_an_unknown_suffix_is_refused_with_those_that_work(tmp_path, name):
    with pytest.raises(BadInput, match=r"must end in \.png, \.svg or \.pdf"):
        draw_simulation([passing()], tmp_path / name, log=LOG)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere/x\.png: cannot be written: No such file or directory"):
        draw_distributions([passing()], tmp_path / "nowhere" / "x.png", log=LOG)


def test_without_matplotlib_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Missing, match=re.escape(way_to_install("plot"))):
        draw_simulation([passing()], tmp_path / "x.png", log=LOG)


def test_the_line_of_a_single_schedule_is_solid_whatever_its_policy():
    for policy in POLICIES:
        assert policy_styles([made(policy)])[0][1] == (0, ())
    assert len({dashes for _, dashes in policy_styles([made("fcfs"), made("easy"), made("s3")])}) == 3


def test_a_name_is_one_line_of_bounded_width():
    assert one_line("a\nb", 10) == "a b"
    assert len(one_line("x" * 100, 10)) == 10


def test_a_suffix_is_compared_in_small_letters():
    assert picture_suffix("a.b/X.PNG") == ".png"
    with pytest.raises(BadInput, match=r"a\.gif: the name of a picture must end in \.png, \.svg or \.pdf"):
        picture_suffix("a.gif")


def test_a_file_stays_as_it_was_where_a_figure_cannot_be_made(tmp_path):
    (tmp_path / "x.svg").write_text("before")

    def broken():
        raise BadInput("no such figure")

    with pytest.raises(BadInput, match="no such figure"):
        write_picture(broken, tmp_path / "x.svg", STYLE)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_rules_that_schedules_share_are_said_once():
    easy = passing()
    others = replace(easy, policy="s3"), replace(easy, policy=None, order="event")
    assert rules_text([easy]) == "policy easy; order instant; overrun kill"
    assert rules_text([easy, *others]) == "policy easy, s3, unknown; order instant, event; overrun kill"
