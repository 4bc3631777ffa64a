"""Pages as PDF: printed by a real browser if there is one; otherwise a sentence says why there is none."""

import shutil

import pytest

from gas.errors import Missing
from gas.report.blocks import Report, Section, Text
from gas.report.printing import print_page
from gas.report.rendering import write

REPORT = Report("A report", "What it says.", (Section("One", (Text("Some words."),)),))


def browser(folder, script):
    program = folder / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_page_is_printed_beside_it(tmp_path):
    page = write(REPORT, tmp_path, "report")[0]
    printed = print_page(page)
    assert printed == tmp_path / "report.pdf"
    assert printed.read_bytes().startswith(b"%PDF-")


def test_without_a_browser_the_error_says_what_to_install(tmp_path, monkeypatch):
    page = write(REPORT, tmp_path, "report")[0]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match=r"report\.pdf not written: install Chromium or Chrome"):
        print_page(page)


def test_a_browser_that_prints_nothing_is_named_with_its_words_and_leaves_the_earlier_file(tmp_path, monkeypatch):
    page = write(REPORT, tmp_path, "report")[0]
    (tmp_path / "report.pdf").write_text("of an earlier run")
    browser(tmp_path, "echo no display >&2; exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(Missing, match=r"chromium did not print report\.html \(exit 3: no display\)"):
        print_page(page)
    assert (tmp_path / "report.pdf").read_text() == "of an earlier run"
