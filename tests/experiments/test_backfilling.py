"""``gas experiment backfilling``: the whole study on made-up logs, and what it must show on real ones."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.backfilling import LogRun, Options, Study, log_runs, model_runs, variants
from experiments.logs import SOURCES, Found, find_logs
from experiments.published import table1
from workloads import Header

REPORT = ("backfilling.html", "backfilling.md", "backfilling-models.svg", "backfilling-amount.svg", "cells.csv",
          "results.csv")  # fmt: skip


def study(gas, logs, output, *options):
    arguments = ("--quick", "--jobs-per-point", 2100, "--workers", 1, *options)
    return gas("experiment", "backfilling", "--traces", logs, "--output", output, *arguments)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def done(made_logs, tmp_path_factory):
    """The study run once, with one worker."""
    from gas.cli.main import run

    folder = tmp_path_factory.mktemp("study")
    arguments = ["--traces", str(made_logs), "--output", str(folder), "--workers", "1"]
    assert run(["experiment", "backfilling", "--quick", "--jobs-per-point", "2100", *arguments]) == 0
    return folder


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


def test_logs_are_acknowledged_in_the_reports_and_on_standard_error(gas, made_logs, done, tmp_path):
    page, plain = (done / "backfilling.html").read_text(), (done / "backfilling.md").read_text()
    assert "Lars Made-Up" in page
    assert "Lars Made-Up" in plain
    assert "Dan &lt;Made&gt; &amp; Up" in page
    again = study(gas, made_logs, done)
    assert "KTH-SP2-1996-2.1-cln: Lars Made-Up" in again.err
    assert "no log SDSC-SP2-1998-*.swf.gz" in again.err


def test_what_was_tested_is_printed_with_its_verdict(gas, made_logs, done):
    lines = study(gas, made_logs, done).out.splitlines()
    assert len(lines) == 11
    assert all(line.split()[0] in ("yes", "no", "not") for line in lines)
    (cells,) = [line for line in lines if "42 cells" in line]
    assert cells.split()[:2] == ["not", "tested"]  # a made-up log does not have all months
    (sdsc,) = [line for line in lines if "SDSC" in line]
    assert sdsc.split()[:2] == ["not", "tested"]


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_workers(gas, made_logs, done, tmp_path):
    assert study(gas, made_logs, tmp_path / "two", "--workers", 2).code == 0
    assert contents(tmp_path / "two") == contents(done)


def test_another_seed_gives_other_models_and_the_same_logs(gas, made_logs, done, tmp_path):
    assert study(gas, made_logs, tmp_path, "--seed", 1).code == 0
    here, there = contents(tmp_path), contents(done)
    assert here["cells.csv"] == there["cells.csv"]
    assert here["backfilling-models.svg"] != there["backfilling-models.svg"]


def test_what_is_kept_is_not_computed_again(gas, made_logs, done):
    before = {path: path.stat().st_mtime_ns for path in (done / "runs").iterdir()}
    first = contents(done)
    assert study(gas, made_logs, done).code == 0
    assert {path: path.stat().st_mtime_ns for path in (done / "runs").iterdir()} == before
    assert contents(done) == first


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


def test_without_logs_the_models_are_run_and_the_rest_is_said(gas, tmp_path, monkeypatch):
    monkeypatch.delenv("GAS_TRACES", raising=False)
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


def test_logs_run_as_the_paper_did_and_under_other_rules(made_logs):
    by_trace = {log.source.trace: variants(log) for log in find_logs(made_logs)[0]}
    assert [v.name for v in by_trace["KTH"]] == [
        "", "order event", "months by end", "overrun extend", "overrun extend, months by end",
    ]  # fmt: skip
    assert (by_trace["CTC"][0].processors, by_trace["CM5"][0].estimates) == (512, "perfect")
    assert {"users' estimates", "users' estimates, overrun extend"} <= {v.name for v in by_trace["CM5"]}


def test_variants_that_differ_only_in_their_months_share_a_run(made_logs):
    runs = log_runs(find_logs(made_logs)[0])
    distinct = {json.dumps(dict(run.configuration), sort_keys=True) for run in runs}
    assert len(distinct) == sum(not run.variant.by_end for run in runs)


def test_batches_are_those_of_the_paper():
    batches = {run.model: run.configuration["batch"] for run in model_runs(Options())}
    assert batches["F"] == 3333
    assert 900 < batches["J"] < 1000


def claims(easy, conservative):
    """The claims of a study of one log, KTH, with these overall means."""
    kth = next(source for source in SOURCES if source.trace == "KTH")
    log = Found(kth, "KTH", Path("KTH.swf"), "0" * 64, Header())
    overall = {
        policy: {"response": mean, "slowdown": 1.0, "backfilled": 0.5}
        for policy, mean in (("easy", easy), ("conservative", conservative))
    }
    result = {"jobs": 1, "skipped": {}, "load": 0.7, "overall": overall, "months": [], "by_end": []}
    return Study(Options(), [], [LogRun(log, variants(log)[0])], [result], [], []).claims


def test_overall_means_hold_within_five_per_cent():
    easy, conservative = (claim for claim in claims(15568 * 1.049, 16288 * 0.949) if "of KTH under" in claim.text)
    assert (easy.holds, conservative.holds) == (True, False)
    assert "+4.9%" in easy.here
    assert "-5.1%" in conservative.here


def test_what_is_not_at_hand_is_not_tested():
    untested = [claim for claim in claims(15568, 16288) if "of KTH under" not in claim.text]
    assert len(untested) == 9
    assert [claim.holds for claim in untested] == [None] * 9


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
    published = {("KTH", "easy"): 15568, ("KTH", "conservative"): 16288, ("CTC", "easy"): 12053,
                 ("CTC", "conservative"): 12495}  # fmt: skip
    sizes = {"KTH": "100", "CTC": "512"}
    tested = 0
    for row in results:
        key = (row["workload"], row["policy"])
        as_paper = (row["order"], row["overrun"], row["months_by"], row["month"]) == (
            "instant",
            "kill",
            "submission",
            "",
        )
        if key in published and as_paper and row["processors"] == sizes[key[0]]:
            assert float(row["response"]) == pytest.approx(published[key], rel=0.05)
            tested += 1
    assert tested == 4
