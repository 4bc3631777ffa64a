"""``gas experiment backfilling``: the whole study on made-up logs, and its expected results on real ones."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from study_files import contents

from experiments.backfilling.results import log_runs
from experiments.backfilling.run import log_run
from experiments.framework.logs import find_logs
from experiments.published import overall, table1


def study(gas, logs, output, *options):
    arguments = ("--quick", "--jobs-per-point", 2100, "--workers", 1, *options)
    return gas("experiment", "backfilling", "--traces", logs, "--output", output, *arguments)


def section(done, title):
    text = (done / "backfilling.md").read_text()
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


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
    os.killpg(process.pid, signal.SIGINT)  # to the workers too, as a terminal does
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "gas: interrupted"
    assert "Traceback" not in err
    assert 0 < len(list(runs.glob("*.json"))) < len(list((done / "runs").iterdir()))
    assert not (tmp_path / "backfilling.html").exists()
    assert study(gas, made_logs, tmp_path).code == 0
    assert contents(tmp_path) == contents(done)


def test_help_says_how_long_both_forms_take(gas):
    text = " ".join(gas("experiment", "backfilling", "--help").out.split())
    assert "take 30 to 60 s" in text
    assert "with --quick 8 to 25 s" in text


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
    said = " ".join(run.err.split())
    assert "logs not found: CTC-SP2-1996-*.swf.gz, KTH-SP2-1996-*.swf.gz, " in said
    assert (
        said.count("download logs (gas traces get -d DIR NAME) and name their folder (--traces DIR or GAS_TRACES), or")
        == 1
    )
    page = (tmp_path / "backfilling.md").read_text()
    assert "log not found" not in page
    assert "18 statements about logs that were not found are left out." in page
    assert not any(f"## Table {one}" in page for one in (1, 4))
    assert "No log of the paper was found, so its Table 1 and Table 4 are not tested. Of " in page


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
