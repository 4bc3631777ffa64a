"""The guide is true: the examples of its pages run, from top to bottom, and print what the pages say."""

import pytest
from page_examples import Reader

from gas.guide.contents import pages

PAGES = pages()

SLOW: dict[str, str] = {
    "fit": "each fit draws two hundred samples for its intervals",
    "gallery": "every picture is drawn",
    "policies": "each simulation takes a process or two, and the kernel is compiled",
    "terminal": "fifteen commands, jobs that are waited for",
    "python": "jobs of Python functions, pandas and matplotlib",
    "snakemake": "the real Snakemake starts, where it is installed",
    "simulate": "a replay is a study, with worker processes of its own",
}
"""Pages whose examples take more than two seconds, and why; they run with the thorough tests."""


def marked(name):
    marks = [pytest.mark.process, *([pytest.mark.thorough] if name in SLOW else [])]
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [marked(name) for name in PAGES])
def test_the_examples_of_a_page(name, tmp_path):
    with Reader(tmp_path) as reader:
        reader.read(PAGES[name])


def test_slow_pages_exist():
    assert set(SLOW) <= set(PAGES)
