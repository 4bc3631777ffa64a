"""The guide is true: the examples of its pages run from top to bottom, and print what the pages show."""

import pytest
from page_examples import Reader

from gas.guide.contents import pages

PAGES = pages()

SLOW: dict[str, str] = {
    "agent": "an S³ is started, as on the first page",
    "dask": "the real Dask starts, where it is installed",
    "fit": "each fit draws two hundred samples for its intervals",
    "gallery": "every picture is drawn",
    "gpus": "two fits, and a plan over three machines",
    "parsl": "the real Parsl starts, where it is installed",
    "policies": "each simulation takes a process or two, and the kernel is compiled",
    "python": "jobs of Python functions, pandas and matplotlib",
    "simulate": "a replay is a study, with worker processes of its own",
    "snakemake": "the real Snakemake starts, where it is installed",
    "terminal": "fifteen commands, jobs that are waited for",
    "workloads": "simulations of three policies, and of two branches",
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
