"""What a notebook shows: a sentence, a picture and a table; text from elsewhere has no effect in it."""

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from shown_things import ALL, HOSTILE, HOSTILE_PLAN, IMPOSSIBLE, LIST, PLAN, PREDICTED, PREDICTION, SCHEDULE

from gas.simulation.schedule import NEVER_STARTED


class Page(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", ALL)
def test_a_card_has_a_sentence_a_picture_and_a_table(name):
    page = Page(ALL[name]._repr_html_())
    assert {"strong", "img", "table"} <= set(page.tags)
    assert page.texts[0] == repr(ALL[name]).strip("<>")


@pytest.mark.parametrize(("name", "most"), [(name, 400 if name == "prediction" else 130) for name in ALL])
def test_what_a_line_shows_is_short(name, most):
    assert len(repr(ALL[name])) < most
    assert "\n" not in repr(ALL[name])


@pytest.mark.thorough
def test_the_sentence_of_a_plan_is_its_best_request():
    assert repr(PLAN) == (
        "<Plan of ocean: 32 processors on cluster, starts in 27m36s, finishes in 2h13m (6 candidates, 1 rejected)>"
    )
    assert "predicted to start in 1m40s" in repr(PREDICTED)
    assert {"predicted to start", "predicted to finish"} <= set(Page(PREDICTED._repr_html_()).texts)
    careful = replace(PREDICTED, risk=0.9, predictions={PLAN.best: replace(PREDICTION, finish_at_risk=PLAN.now + 60)})
    assert "90% sure to finish in 1m00s" in repr(careful)
    assert "90% sure to finish" in Page(careful._repr_html_()).texts
    assert "no request is possible" in repr(IMPOSSIBLE)


def test_a_plan_without_a_request_says_why():
    texts = Page(IMPOSSIBLE._repr_html_()).texts
    assert "impossible because" in texts
    assert any("4096" in text for text in texts)


def test_names_of_others_are_text():
    html = HOSTILE_PLAN._repr_html_()
    assert "<script" not in html
    assert HOSTILE in Page(html).texts
    assert set(Page(html).tags) == set(Page(PLAN._repr_html_()).tags)
    assert "<script" not in HOSTILE_PLAN.lists[0]._repr_html_()


def test_a_long_table_says_how_much_more_there_is():
    assert f"{len(LIST.starts) - 10} more: to_frame() has all" in Page(LIST._repr_html_()).texts


def test_a_simulation_that_is_not_over_says_so():
    page = Page(replace(SCHEDULE, end=np.full(4, NEVER_STARTED))._repr_html_())
    assert "img" not in page.tags
    assert any("stands before its end" in text for text in page.texts)
    assert "4 unfinished" in repr(replace(SCHEDULE, end=np.full(4, NEVER_STARTED)))


def test_without_matplotlib_there_is_the_table(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib.")] + ["matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    page = Page(PLAN._repr_html_())
    assert "table" in page.tags
    assert "img" not in page.tags


@pytest.mark.thorough
def test_a_plan_that_is_not_shown_imports_neither_matplotlib_nor_pandas():
    program = (
        "import sys, gas\n"
        "found = gas.plan({4: '1h'}, gas.AvailabilityList.of([0], [8]))\n"
        "assert repr(found).startswith('<Plan')\n"
        "assert not {'matplotlib', 'pandas', 'gas.notebook'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
