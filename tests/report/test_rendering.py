"""Reports as self-contained HTML and as Markdown, written into a folder."""

import base64
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_report import REPORT, SVG

from documents.extras import way_to_install
from gas.errors import BadInput, Missing
from gas.report.blocks import Bullets, Column, Report, Section, Table, Text
from gas.report.rendering import html, markdown, template, write


class Page(HTMLParser):
    """Tags, their references, and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.references, self.texts, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.references += [value for name, value in attributes if name in ("src", "href", "srcset", "action", "data")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_is_well_formed_and_needs_nothing_from_anywhere():
    page = Page(html(REPORT))
    assert page.open == []
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert all(value.startswith(("#", "data:image/svg+xml;base64,")) for value in page.references)
    assert "url(" not in html(REPORT)
    assert "@import" not in html(REPORT)


def test_pictures_are_in_the_page():
    (source,) = [value for value in Page(html(REPORT)).references if value.startswith("data:")]
    assert base64.b64decode(source.partition(",")[2]) == SVG


def test_browsers_do_not_break_a_line_within_an_option():
    text = html(Report("A report", "more jobs (--max-jobs N, a--b)", ()))
    assert "more jobs (<span class=option>--max-jobs</span> N, a--b)" in text


def test_text_is_text_whatever_it_holds():
    text = html(REPORT)
    assert "A &lt;report&gt; &amp; more" in text
    assert "<code>a_b|c</code>" in text
    assert 'alt="A &#34;dot&#34;"' in text
    assert "5 < 6 | 7 * 8 and " in "".join(Page(text).texts)


def test_contents_lead_to_sections():
    text = html(REPORT)
    for name, title in (("s1", "First"), ("s2", "Second")):
        assert f'<a href="#{name}">{title}</a>' in text
        assert f'<section id="{name}">' in text


def test_tables_have_shared_headings_and_marks():
    text = html(REPORT)
    assert '<th class="group" colspan="2" scope="colgroup">jobs</th>' in text
    assert '<td class="good">yes</td>' in text
    assert '<td class="bad">no</td>' in text
    assert '<td class="left">1996-10</td>' in text


def test_a_banner_stands_before_everything_else():
    page = html(replace(REPORT, banner="Only a <look>."))
    assert page.index("</h1>") < page.index("Only a &lt;look&gt;.") < page.index('class="lead"')
    assert "banner" not in html(REPORT).partition("</style>")[2]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_on_a_narrow_screen_tables_scroll_in_their_boxes_and_the_page_does_not(tmp_path):
    wide = Table(
        tuple(Column(f"column {i}") for i in range(30)), (("1234567",) * 30,), "A caption of some length. " * 9
    )
    code = Text(f"`{'0123456789abcdef' * 8}`")
    page = html(Report("Wide", "Wide.", (Section("Wide", (wide, code, Bullets((code.text,)))),)))
    measure = (
        "<script>const root = document.documentElement, box = document.querySelector('.wide');"
        "const caption = document.querySelector('caption span').getBoundingClientRect();"
        "root.dataset.found = [root.scrollWidth <= root.clientWidth, box.scrollWidth > box.clientWidth,"
        " getComputedStyle(box).overflowX, caption.right <= root.clientWidth].join(' ')</script>"
    )
    (tmp_path / "page.html").write_text(page.replace("</body>", f"{measure}</body>"))
    command = ["chromium", "--headless", "--no-sandbox", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--window-size=420,2000", "--dump-dom", (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert 'data-found="true true auto true"' in shown


def test_without_the_library_of_templates_the_error_says_what_to_install(monkeypatch):
    template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(Missing, match=f"reports need jinja2: {re.escape(way_to_install('plot'))}"):
        html(REPORT)


def test_markdown_says_the_same_as_the_page():
    lines = markdown(REPORT).splitlines()
    assert lines[0] == r"# A \<report\> & more"
    assert "| month | jobs: here | jobs: paper | agrees |" in lines
    assert "| :-- | --: | --: | --: |" in lines
    assert "| 1996-11 | 3 | 4 | no |" in lines
    assert r"5 \< 6 \| 7 \* 8 and `a_b|c`" in lines
    assert '![A "dot"](dot.svg)' in lines


def test_a_banner_stands_before_everything_else_in_markdown_too():
    lines = markdown(replace(REPORT, banner="Only a <look>.")).splitlines()
    assert lines[:3] == [r"# A \<report\> & more", "", r"> Only a \<look\>."]


def test_what_is_written_is_the_same_every_time(tmp_path):
    for folder in ("a", "b/c"):
        written = write(REPORT, tmp_path / folder, "study")
        assert [path.name for path in written] == ["study.html", "study.md", "dot.svg"]
        assert {path.name for path in (tmp_path / folder).iterdir()} == {"study.html", "study.md", "dot.svg"}
    for name in ("study.html", "study.md", "dot.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / "c" / name).read_bytes()


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"file/study.html: cannot be written"):
        write(REPORT, tmp_path / "file", "study")
