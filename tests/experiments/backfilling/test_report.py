"""The report on backfilling: every published figure next to ours, verdicts, and how to reproduce it."""

import gzip
import hashlib
import re
from html.parser import HTMLParser
from importlib.metadata import version

from study_files import contents

from experiments.backfilling.models import CHANGES
from experiments.backfilling.report import form
from experiments.backfilling.results import Options
from experiments.published import SCHEMES, overall, table1

REPORT = ("backfilling.html", "backfilling.md", "backfilling-models.svg", "backfilling-amount.svg", "cells.csv",
          "results.csv")  # fmt: skip


def section(done, title):
    text = (done / "backfilling.md").read_text()
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_report_and_tables_are_written(done):
    assert set(REPORT) <= set(contents(done))


def test_the_page_needs_nothing_from_anywhere(done):
    references = []

    class Page(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert tag not in ("script", "link", "iframe", "object")
            references.extend(value for name, value in attributes if name in ("src", "href", "srcset", "data"))

    text = (done / "backfilling.html").read_text()
    Page().feed(text)
    assert all(reference.startswith(("#", "data:")) for reference in references)
    assert sum(reference.startswith("data:image/svg+xml") for reference in references) == 4  # Fig. 4 to 7
    assert "url(" not in text
    assert "@import" not in text


def test_every_published_cell_of_a_month_that_the_logs_have_appears_beside_ours(done):
    text = (done / "backfilling.md").read_text()
    missing = "; ".join(line for line in text.splitlines() if "of the paper are not in the logs" in line)
    for trace in ("CTC", "KTH", "CM5"):
        section = text.partition(f"## Table 1: {trace}\n")[2].partition("\n## ")[0]
        lines = [line for line in section.splitlines() if re.match(r"\| \d{4}-\d\d \|", line)]
        there = {line.split("|")[1].strip() for line in lines}
        all_rows = [row for row in table1() if row.trace == trace]
        rows = [row for row in all_rows if row.month in there]
        assert len(lines) == 2 * len(rows) > 0
        if absent := len(all_rows) - len(rows):
            assert missing.count(f"{trace}, ") == 2
            assert f"{absent} months of the paper are not in the logs" in section
        for line, row in zip(lines, [*rows, *rows], strict=True):
            cell = row.cells["response" if line in lines[: len(rows)] else "slowdown"]
            assert row.month in line
            assert f"{row.jobs:,} |" in line
            assert f"{cell.percent:+.1f}%" in line


def test_the_report_says_how_to_make_it_again(made_logs, done):
    text = section(done, "Reproducing this report")
    assert f"Gas {version('apples-gas')}, sources `" in text
    assert "`gas experiment backfilling --traces TRACES --seed 0 --jobs-per-point 2100 --quick`" in text
    assert "Seed of the models: 0." in text
    logs = section(done, "The logs")
    for path in made_logs.iterdir():
        data = gzip.decompress(path.read_bytes())
        assert f"{path.name}: `{hashlib.sha256(data).hexdigest()}`" in logs


def test_every_overall_mean_of_the_paper_appears_beside_ours(done):
    lines = [line for line in section(done, "Table 4: overall means").splitlines() if line.startswith("| ")]
    for row in (row for row in overall() if row.trace != "SDSC"):  # whose log is not there
        shown = [f"{mean:,.0f}" if row.measure == "response" else f"{mean:,.1f}" for mean in (row.mean, row.doubled)]
        (line,) = [
            line
            for line in lines
            if line.startswith(f"| {row.trace} | mean {'resp' if row.measure == 'response' else 'bounded'}")
            and f" {SCHEMES[row.policy]} " in line
            and all(f" {mean} |" in line for mean in shown)
        ]
        assert ("within" in line, line.count(" - |")) == (False, 0)
    assert not any(line.startswith("| SDSC") for line in lines)


def test_each_trace_tells_in_what_it_differs_from_the_papers(done):
    assert "512 processors" not in section(done, "Table 1: KTH")
    assert "Overruns: 0 jobs" in section(done, "Table 1: KTH")
    assert "Estimates: run times, as in the paper. 500 jobs also have a user's estimate" in section(
        done, "Table 1: CM5"
    )
    for absent in ("SDSC", "Par"):
        assert f"Table 1: {absent}" not in (done / "backfilling.md").read_text()


def test_model_f_is_run_with_each_change_beside_itself(done):
    lines = section(done, "Why model F differs").splitlines()
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| ")][2:] == [c.name for c in CHANGES]


def test_logs_are_acknowledged_in_the_reports_and_on_standard_error(reported):
    done, _, err = reported
    page, plain = (done / "backfilling.html").read_text(), (done / "backfilling.md").read_text()
    assert "Lars Made-Up" in page
    assert "Lars Made-Up" in plain
    assert "Dan &lt;Made&gt; &amp; Up" in page
    assert "KTH-SP2-1996-2.1-cln, by courtesy of Lars Made-Up" in err
    assert "logs not found: SDSC-SP2-1998-*.swf.gz" in " ".join(err.split())


def test_what_was_tested_is_printed_with_its_verdict(reported):
    first, *lines, last = reported[1].splitlines()
    assert first.startswith("Not the full study: ")
    assert last.startswith("Of 29 statements, ")
    assert len(lines) == 12 + 1 + 2 + 3 + 3 + 4 + 4  # Table 4 and its doubling, Table 1, Fig. 4 to 7
    assert all(line.split()[0] in ("yes:", "no:", "not") for line in lines)
    assert all("each run to its own end" in line for line in lines[15:20])  # those on models F and J
    signs, sizes = [line for line in lines if "42 cells" in line]
    assert all(line.split()[0] != "yes:" for line in (signs, sizes))  # a made-up log does not have all months
    assert all(line.split()[:2] == ["not", "tested:"] for line in lines if "SDSC" in line)


def test_a_short_study_says_so_before_everything_else_in_every_form(done):
    banner = (
        "Not the full study: models are run at 3 loads instead of 9; model F has 2,100 jobs instead of 350,000, in "
        "batches of 20 instead of 3,333; model J has 2,100 jobs instead of 100,000, in batches of 20 instead of 952."
    )
    lines = (done / "backfilling.md").read_text().splitlines()
    assert lines[0].endswith("not the full study")
    assert lines[2].startswith(f"> {banner}")
    page = (done / "backfilling.html").read_text()
    assert page.index(banner) < page.index('class="lead"')
    method = section(done, "How it was done")
    assert "in other batches than the full study: 20 jobs (F) and 20 jobs (J)" in method


def test_verdicts_stand_where_a_narrow_screen_shows_them(done):
    heads, _, *rows = [line for line in section(done, "What holds").splitlines() if line.startswith("|")][:23]
    assert heads.startswith("| paper | holds | statement |")
    verdicts = {row.split("|")[2].strip() for row in rows}
    assert verdicts <= {"yes", "no", "not resolved", "not tested", "reported"}


def test_the_full_study_has_no_such_banner():
    assert form(Options()) == ""
    assert "model J has 9,999 jobs instead of" in form(Options(jobs=9999))
    assert "3 loads instead of 9" in form(Options(loads=(0.5, 0.7, 0.9)))
