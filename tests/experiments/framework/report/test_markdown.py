"""A report as Markdown."""

from dataclasses import replace

from made_report import REPORT

from experiments.framework.report.markdown import markdown


def test_it_says_the_same_as_the_page():
    lines = markdown(REPORT).splitlines()
    assert lines[0] == r"# A \<report\> & more"
    assert "| month | jobs: here | jobs: paper | agrees |" in lines
    assert "| :-- | --: | --: | --: |" in lines
    assert "| 1996-11 | 3 | 4 | no |" in lines
    assert r"5 \< 6 \| 7 \* 8 and `a_b|c`" in lines
    assert '![A "dot"](dot.svg)' in lines


def test_a_banner_stands_before_everything_else():
    lines = markdown(replace(REPORT, banner="Only a <look>.")).splitlines()
    assert lines[:3] == [r"# A \<report\> & more", "", r"> Only a \<look\>."]
