"""``gas experiment backfilling``: the whole study on made-up logs, and what it must show on real ones."""

import csv
import gzip
import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from importlib.metadata import version

import pytest
from study_files import contents

from experiments.backfilling.models import CHANGES
from experiments.backfilling.report import form
from experiments.backfilling.results import Options, log_runs
from experiments.backfilling.run import log_run
from experiments.framework.logs import find_logs
from experiments.published import overall, table1

REPORT = ("backfilling.html", "backfilling.md", "backfilling-models.svg", "backfilling-amount.svg", "cells.csv",
          "results.csv")  # fmt: skip


def study(gas, logs, output, *options):
    arguments = ("--quick", "--jobs-per-point", 2100, "--workers", 1, *options)
    return gas("experiment", "backfilling", "--traces", logs, "--output", output, *arguments)


def section(done, title):
    text = (done / "backfilling.md").read_text()
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def reported(made_logs, tmp_path_factory):
    """The study run once, with one worker: its folder, and what it printed."""
    from gas.cli.main import run

    folder, out, err = tmp_path_factory.mktemp("study"), io.StringIO(), io.StringIO()
    arguments = ["--traces", str(made_logs), "--output", str(folder), "--workers", "1"]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "backfilling", "--quick", "--jobs-per-point", "2100", *arguments]) == 0
    return folder, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def done(reported):
    return reported[0]


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
    assert sum(reference.startswith("data:image/svg+xml") for reference in references) == 2
    assert "url(" not in text
    assert "@import" not in text


def test_every_published_cell_appears_beside_ours(done):
    text = (done / "backfilling.md").read_text()
    for trace in ("CTC", "KTH", "SDSC", "Par", "CM5"):
        section = text.partition(f"## Table 1: {trace}\n")[2].partition("\n## ")[0]
        lines = [line for line in section.splitlines() if re.match(r"\| \d{4}-\d\d \|", line)]
        rows = [row for row in table1() if row.trace == trace]
        assert len(lines) == 2 * len(rows)
        for line, row in zip(lines, [*rows, *rows], strict=True):
            cell = row.cells["response" if line in lines[: len(rows)] else "slowdown"]
            assert row.month in line
            assert f"{row.jobs:,} |" in line
            assert f"{cell.percent:+.1f}%" in line


def test_the_table_of_cells_holds_every_published_figure(done):
    rows = list(csv.DictReader((done / "cells.csv").read_text().splitlines()))
    assert len(rows) == 2 * len(table1())
    published = [(row.trace, row.month, m, cell) for row in table1() for m, cell in row.cells.items()]
    for row, (trace, month, measure, cell) in zip(rows, published, strict=True):
        assert (row["trace"], row["month"], row["measure"]) == (trace, month, measure)
        assert (float(row["paper_easy"]), float(row["paper_conservative"])) == (cell.easy, cell.conservative)


def test_agreement_follows_from_the_figures_in_the_table(done):
    rows = list(csv.DictReader((done / "cells.csv").read_text().splitlines()))
    compared = [row for row in rows if row["easy"]]
    assert {row["trace"] for row in compared} == {"CTC", "KTH", "CM5"}
    assert all(not row["agrees"] and "no log" in row["reasons"] for row in rows if not row["easy"])
    agree = {"CTC": 0, "KTH": 0, "CM5": 0}
    for row in compared:
        ours = float(row["conservative"]) - float(row["easy"])
        paper = float(row["paper_conservative"]) - float(row["paper_easy"]) or float(row["paper_difference_percent"])
        same = (ours > 0) - (ours < 0) == (paper > 0) - (paper < 0)
        assert row["agrees"] == str(same)
        assert same or row["reasons"]
        agree[row["trace"]] += same
    text = (done / "backfilling.md").read_text()
    for trace, number in agree.items():
        cells = sum(row["trace"] == trace for row in compared)
        assert re.search(rf"\| {trace} \| \d+ \| {cells} \|.*\| {number} of {cells}, \d+% \|", text)


def test_the_report_says_how_to_make_it_again(made_logs, done):
    text = section(done, "To make this report again")
    assert f"Gas {version('apples-gas')}, sources `" in text
    assert "`gas experiment backfilling --traces TRACES --seed 0 --jobs-per-point 2100 --quick`" in text
    assert "Seed of the models: 0." in text
    logs = section(done, "The logs")
    for path in made_logs.iterdir():
        data = gzip.decompress(path.read_bytes())
        assert f"{path.name}: `{hashlib.sha256(data).hexdigest()}`" in logs


def test_every_overall_mean_of_the_paper_appears_beside_ours(done):
    lines = [line for line in section(done, "Table 4: overall means").splitlines() if line.startswith("| ")]
    for row in overall():
        shown = [f"{mean:,.0f}" if row.measure == "response" else f"{mean:,.1f}" for mean in (row.mean, row.doubled)]
        (line,) = [
            line
            for line in lines
            if line.startswith(f"| {row.trace} | mean {'resp' if row.measure == 'response' else 'bounded'}")
            and f" {row.policy} " in line
            and all(f" {mean} |" in line for mean in shown)
        ]
        assert ("within" in line, line.count(" - |")) == (False, 6 if row.trace == "SDSC" else 0)


def test_each_trace_tells_in_what_it_differs_from_the_papers(done):
    assert "512 processors" not in section(done, "Table 1: KTH")
    assert "Overruns: 0 jobs" in section(done, "Table 1: KTH")
    assert "Estimates: run times, as the paper says; 500 jobs have one of their user" in section(done, "Table 1: CM5")
    assert "no log at hand" in section(done, "Table 1: Par")


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
    assert "no log SDSC-SP2-1998-*.swf.gz" in err


def test_what_was_tested_is_printed_with_its_verdict(reported):
    first, *lines, last = reported[1].splitlines()
    assert first.startswith("Not the full study: ")
    assert last.startswith("Of the statements on logs, ")
    assert len(lines) == 12 + 1 + 1 + 3 + 3  # Table 4 and its doubling, Table 1, Fig. 4, Fig. 5
    assert all(line.split()[0] in ("yes", "no", "mixed", "not", "reported") for line in lines)
    for line in lines[-6:-1]:  # those on models
        own, _, shared = line.partition("over the same batches: ")
        verdicts = {own.partition("each run at its own end: ")[2].split(",")[0].split(";")[0], shared.split(",")[0]}
        assert line.split()[0] == ("mixed" if verdicts == {"yes", "no"} else own.split()[0])
    (cells,) = [line for line in lines if "42 cells" in line]
    assert cells.split()[:2] == ["not", "tested"]  # a made-up log does not have all months
    assert all(line.split()[:2] == ["not", "tested"] for line in lines if "SDSC" in line)
    assert sum(line.split()[0] == "reported" for line in lines) == 4  # slowdowns of KTH and CTC


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_workers(gas, made_logs, done, tmp_path):
    assert study(gas, made_logs, tmp_path / "two", "--workers", 2).code == 0
    assert contents(tmp_path / "two") == contents(done)


@pytest.mark.thorough
def test_another_seed_gives_other_models_and_the_same_logs(gas, made_logs, done, tmp_path):
    shutil.copytree(done / "runs", tmp_path / "runs")  # those of the logs are found there
    assert study(gas, made_logs, tmp_path, "--seed", 1).code == 0
    here, there = contents(tmp_path), contents(done)
    assert here["cells.csv"] == there["cells.csv"]
    assert here["backfilling-models.svg"] != there["backfilling-models.svg"]


@pytest.mark.thorough
def test_what_is_kept_is_not_computed_again(gas, made_logs, done):
    before = {path: path.stat().st_mtime_ns for path in (done / "runs").iterdir()}
    first = contents(done)
    assert study(gas, made_logs, done).code == 0
    assert {path: path.stat().st_mtime_ns for path in (done / "runs").iterdir()} == before
    assert contents(done) == first


@pytest.mark.thorough
def test_an_interrupted_study_goes_on_and_ends_with_the_same_bytes(gas, made_logs, done, tmp_path):
    command = [sys.executable, "-m", "gas", "experiment", "backfilling", "--traces", str(made_logs)]
    command += ["--output", str(tmp_path), "--quick", "--jobs-per-point", "2100", "--workers", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    runs = tmp_path / "runs"
    deadline = time.monotonic() + 60
    while not (runs.exists() and any(runs.glob("*.json"))):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "gas: interrupted"
    assert "Traceback" not in err
    assert 0 < len(list(runs.glob("*.json"))) < len(list((done / "runs").iterdir()))
    assert not (tmp_path / "backfilling.html").exists()
    assert study(gas, made_logs, tmp_path).code == 0
    assert contents(tmp_path) == contents(done)


def test_a_short_study_says_so_before_everything_else_in_every_form(done):
    banner = (
        "Not the full study: models are run at 3 loads instead of 9; 2,100 jobs of model F where the full study has "
        "350,000, in batches of 20 instead of 3,333; 2,100 jobs of model J where the full study has 100,000, in "
        "batches of 20 instead of 952."
    )
    lines = (done / "backfilling.md").read_text().splitlines()
    assert lines[0].endswith("not the full study")
    assert lines[2].startswith(f"> {banner}")
    page = (done / "backfilling.html").read_text()
    assert page.index(banner) < page.index('class="lead"')
    method = section(done, "How it was done")
    assert "batches of another size than in the full study: 20 jobs (F) and 20 jobs (J)" in method


def test_both_verdicts_stand_where_a_narrow_screen_shows_them(done):
    heads, _, *rows = [line for line in section(done, "What holds").splitlines() if line.startswith("|")][:22]
    assert heads.startswith("| paper | holds: own end | holds: same batches | statement |")
    pairs = [[cell.strip() for cell in row.split("|")[2:4]] for row in rows if "| model " in row]
    assert len(pairs) == 5
    assert all(own in ("yes", "no", "not tested") and shared in ("yes", "no") for own, shared in pairs)


def test_the_full_study_has_no_such_banner():
    assert form(Options()) == ""
    assert "9,999 jobs of model J where" in form(Options(jobs=9999))
    assert "3 loads instead of 9" in form(Options(loads=(0.5, 0.7, 0.9)))


def test_help_says_how_long_both_forms_take(gas):
    text = " ".join(gas("experiment", "backfilling", "--help").out.split())
    assert "takes 20 to 40 s" in text
    assert "with --quick 6 to 20 s" in text


@pytest.mark.thorough
def test_a_simulated_schedule_beside_the_real_log_is_left_out_and_that_is_said(gas, made_logs, done, tmp_path):
    name = "KTH-SP2-1996-2.1-cln"
    shutil.copytree(made_logs, tmp_path / "logs")
    shutil.copytree(done / "runs", tmp_path / "out" / "runs")
    simulated = tmp_path / "logs" / f"{name}-easy.swf.gz"
    assert gas("simulate", made_logs / f"{name}.swf.gz", "--policy", "easy", "--output", simulated).code == 0
    run = study(gas, tmp_path / "logs", tmp_path / "out")
    assert run.code == 0
    assert f"left out: {simulated.name}: not a name of the archive" in run.err
    assert f"Left out: {simulated.name}: not a name of the archive" in section(tmp_path / "out", "The logs")
    assert (tmp_path / "out" / "cells.csv").read_bytes() == (done / "cells.csv").read_bytes()


def test_without_logs_the_models_are_run_and_the_rest_is_said(gas, done, tmp_path, monkeypatch):
    monkeypatch.delenv("GAS_TRACES", raising=False)
    shutil.copytree(done / "runs", tmp_path / "runs")
    arguments = ("--quick", "--jobs-per-point", 2100, "--workers", 1, "--output", tmp_path)
    run = gas("experiment", "backfilling", *arguments)
    assert run.code == 0
    assert "name a folder with --traces or GAS_TRACES" in run.err
    assert "no log at hand" in (tmp_path / "backfilling.md").read_text()


def test_bad_logs_and_folders_are_errors_without_a_traceback(gas, made_logs, tmp_path):
    assert study(gas, tmp_path / "none", tmp_path / "out").code == 2
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "KTH-SP2-1996-2.swf").write_text("; MaxProcs: 100\n1 2 3\n")
    refused = study(gas, tmp_path / "logs", tmp_path / "out")
    assert refused.code == 2
    assert "KTH-SP2-1996-2.swf, line 2" in refused.err
    (tmp_path / "file").write_text("")
    refused = study(gas, made_logs, tmp_path / "file")
    assert refused.code in (1, 2)
    assert str(tmp_path / "file") in refused.err


@pytest.mark.thorough
@pytest.mark.parametrize("trace", ["KTH", "CTC"])
def test_months_of_real_logs_have_the_published_numbers_of_jobs(traces, trace):
    log = next((log for log in find_logs(traces)[0] if log.source.trace == trace), None)
    if log is None:
        pytest.skip(f"needs the log of {trace}")
    (own,) = [run for run in log_runs([log]) if run.variant.name == ""]
    result = log_run(own.configuration, files={log.sha256: str(log.path)})
    months = {by: {month["month"]: month["jobs"] for month in result[by]} for by in ("months", "by_end")}
    rows = [row for row in table1() if row.trace == trace and (trace, row.month) != ("CTC", "1997-01")]
    for row in rows:  # in that month the archive took out 2,080 jobs of CTC
        assert months["months"][row.month] == pytest.approx(row.jobs, rel=0.02)
        assert months["by_end"][row.month] == pytest.approx(row.jobs, rel=0.01)
    off = {by: sum(abs(ours[row.month] - row.jobs) for row in rows) for by, ours in months.items()}
    assert off["by_end"] < off["months"]
    if trace == "KTH":  # jobs are distinguished by their end under EASY: half of the months match to the job
        assert sum(months["by_end"][row.month] == row.jobs for row in rows) >= 5
        assert off["by_end"] < 0.001 * sum(row.jobs for row in rows)


@pytest.mark.long
def test_on_real_logs_kth_and_ctc_come_out_as_published(gas, traces, tmp_path):
    found = {log.source.trace for log in find_logs(traces)[0]}
    if not {"KTH", "CTC"} <= found:
        pytest.skip("needs the logs KTH-SP2-1996 and CTC-SP2-1996")
    assert study(gas, traces, tmp_path).code == 0
    rows = list(csv.DictReader((tmp_path / "cells.csv").read_text().splitlines()))
    sp2 = [row for row in rows if row["trace"] in ("KTH", "CTC")]
    assert len(sp2) == 42
    assert sum(row["agrees"] == "True" for row in sp2) >= 0.8 * 42
    results = list(csv.DictReader((tmp_path / "results.csv").read_text().splitlines()))
    sizes, tested = {"KTH": "100", "CTC": "512"}, 0
    for row in results:
        rules = (row["order"], row["overrun"], row["months_by"], row["month"], row["estimates"], row["processors"])
        if rules == ("instant", "kill", "submission", "", "users", sizes.get(row["workload"])):
            published = next(
                one.mean
                for one in overall()
                if (one.trace, one.measure, one.policy) == (row["workload"], "response", row["policy"])
            )
            assert float(row["response"]) == pytest.approx(published, rel=0.05)
            tested += 1
    assert tested == 4
