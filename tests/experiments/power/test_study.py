"""``gas experiment power``: the whole study on made-up logs."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from study_files import contents

from experiments.framework.intervals import interval
from experiments.framework.logs import find_logs
from experiments.framework.sites import SITES
from experiments.moldable.months import Options, Results, month_runs
from experiments.moldable.terms import BASE, PERFECT, TERMS, chosen_terms, perfect
from experiments.power.claims import claims
from experiments.published import one_apples

SMALL = ("--runs", 6, "--seeds", 2)
SHORT = ("--runs", 8, "--seeds", 1, "--no-other-terms")


def study(gas, logs, output, *options):
    return gas("experiment", "power", "--traces", logs, "--output", output, *SHORT, *options)


def run_once(folder, logs, *options):
    """Run the study with one worker; return what it printed."""
    import io
    from contextlib import redirect_stderr, redirect_stdout

    from gas.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    arguments = ["--traces", logs, "--output", folder, "--workers", 1, *options]
    with redirect_stdout(out), redirect_stderr(err):
        assert run(["experiment", "power", *map(str, arguments)]) == 0, err.getvalue()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def reported(made_logs, tmp_path_factory):
    """The study on all terms: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("power")
    return folder, *run_once(folder, made_logs, *SMALL)


@pytest.fixture(scope="module")
def short(made_logs, tmp_path_factory):
    """The folder of the study on the paper's terms alone."""
    folder = tmp_path_factory.mktemp("short")
    run_once(folder, made_logs, *SHORT)
    return folder


def test_the_sites_are_the_papers():
    assert [(site.trace, site.processors, len(site.months)) for site in SITES] == [
        ("SDSC", 128, 4), ("CTC", 430, 11), ("KTH", 100, 11),
    ]  # fmt: skip
    assert (SITES[0].months[-1], SITES[1].months[0], SITES[1].months[-1]) == ("1999-04", "1996-07", "1997-05")
    assert (SITES[2].months[0], SITES[2].months[-1]) == ("1996-10", "1997-08")
    assert sum(site.paper_runs for site in SITES) == 4579


def test_the_published_tables_pool_to_the_first_one():
    everything, *rest = one_apples()
    sites = {table.of: table for table in rest[:3]}
    for who in ("gas", "static"):
        means = [getattr(sites[site.trace], who)["mean"] * site.paper_runs for site in SITES]
        assert sum(means) / 4579 == pytest.approx(getattr(everything, who)["mean"], rel=1e-4)


def test_terms_of_ones_own_are_named_by_what_differs_from_the_papers():
    assert chosen_terms() == BASE
    chosen = chosen_terms(opponent="own", accuracy=0.5, era=False)
    assert chosen.name == "as chosen: static request own, times as measured, accuracy 0.5"
    assert (chosen.opponent, chosen.form.accuracy, chosen.form.era, chosen.mix) == ("own", 0.5, False, "thirds")
    assert perfect(BASE) in TERMS


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [
        ("mix", "halves", "thirds"),
        ("opponent", "random", "own"),
        ("dataset", "cray", "jpfmm-2015"),
        ("policy", "easy", "s3-1999"),
    ],
)
def test_terms_that_are_not_known_are_refused_with_those_that_are(gas, made_logs, tmp_path, option, value, known):
    result = study(gas, made_logs, tmp_path, f"--{option}", value)
    assert result.code == 2
    assert f"--{option} {value}: is not known" in result.err
    assert known in result.err


@pytest.mark.thorough
def test_on_terms_of_ones_own_the_report_says_so_and_the_command_makes_it_again(gas, made_logs, tmp_path):
    options = ("--runs", 6, "--seeds", 1, "--opponent", "own", "--mix", "unrestricted", "--workers", 1)
    result = gas("experiment", "power", "--traces", made_logs, "-o", tmp_path, *options)
    assert result.code == 0
    text = (tmp_path / "power.md").read_text()
    assert "not on the paper's terms, but as chosen: mix unrestricted, static request own" in text
    assert "Static requests: the size of the job that gives way." in text
    assert "--mix unrestricted --opponent own" in text
    with (tmp_path / "power-outcomes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["benchmark"] for row in rows} == {"EP"}
    assert len({row["terms"] for row in rows}) == 2  # and with perfect estimates


def test_the_report_stands_beside_the_paper_and_says_what_it_is(reported):
    folder, out, err = reported
    text = (folder / "power.md").read_text()
    assert "> Not the full study" in text
    assert "SDSC-SP2-1998" in text  # a log that is not at hand
    for section in (
        "Does it hold?",
        "What cannot match",
        "Tables 5.1 to 5.7",
        "Why Gas loses",
        "Regret",
        "On other terms",
    ):
        assert f"## {section}" in text
    for figure in ("2,740", "15,174", "869", "13,935"):
        assert figure in text  # the paper's
    for terms in TERMS:
        assert terms.name in text
    assert "yes  with the run times as estimates Gas never loses" in out
    assert "Traceback" not in out + err


def test_the_tables_figures_are_those_of_the_outcomes(reported):
    with (reported[0] / "power-outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["terms"] == BASE.name]
    by_seed = {}
    for row in rows:
        by_seed.setdefault(row["seed"], []).append(int(row["gas"]))
    expected = str(interval([float(np.mean(times)) for times in by_seed.values()]))
    line = next(line for line in (reported[0] / "power.md").read_text().splitlines() if line.startswith("| 5.1 all"))
    assert expected in line
    assert len(by_seed) == 2


def test_on_a_true_log_with_true_estimates_nothing_is_lost(reported):
    with (reported[0] / "power-outcomes.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["terms"] == PERFECT.name]
    assert len(rows) >= 30
    assert all(row["gas"] == row["best"] == row["promised"] for row in rows)


@pytest.mark.thorough
def test_a_study_that_was_killed_goes_on_in_shards_and_ends_with_the_same_bytes(gas, made_logs, short, tmp_path):
    command = [sys.executable, "-m", "gas", "experiment", "power", "--traces", str(made_logs)]
    command += ["--output", str(tmp_path), *map(str, SHORT), "--workers", "2"]
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    while not list(tmp_path.glob("runs/*.json")) and child.poll() is None:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for part in ("2/2", "1/2"):
        assert study(gas, made_logs, tmp_path, "--workers", 1, "--shard", part).code == 0
        assert not (tmp_path / "power.md").exists()
    kept = sorted((tmp_path / "runs").iterdir())
    assert study(gas, made_logs, tmp_path, "--workers", 1).code == 0
    assert sorted((tmp_path / "runs").iterdir()) == kept  # nothing was left to compute
    assert contents(tmp_path) == contents(short)


@pytest.mark.thorough
def test_two_workers_give_the_same_bytes_as_one(gas, made_logs, short, tmp_path):
    assert study(gas, made_logs, tmp_path, "--workers", 2).code == 0
    assert contents(tmp_path) == contents(short)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_a_part_that_is_none_is_refused(gas, made_logs, tmp_path, shard):
    result = study(gas, made_logs, tmp_path, "--shard", shard)
    assert result.code == 2
    assert "must be I/N" in result.err


def test_without_a_log_there_is_nothing_to_study(gas, tmp_path):
    result = study(gas, tmp_path, tmp_path / "out")
    assert result.code == 2
    assert "--traces" in result.err


def outcome(gas, static, best, **more):
    other = {"promised": gas, "user": 1, "gas_size": 1, "best_size": 1, "load_ratio": 1.0, "benchmark": "EP"}
    return other | {"gas": gas, "static": static, "best": best, "still_loses": []} | more


def test_a_claim_fails_where_static_is_better(made_logs):
    runs, _ = month_runs(Options(seeds=1, runs=12, others=False), find_logs(made_logs)[0], (BASE, PERFECT))
    groups = ["MG", "SP", "EP"]
    better = [outcome(100, 10, 10, benchmark=name) for name in groups] * 2
    worse = [outcome(10 if name != "EP" else 2, 100 + i, 2, benchmark=name) for i, name in enumerate(groups)] * 2
    for rows, verdict in ((better, False), (worse, True)):
        results = [{"jobs": 9, "outcomes": rows} for _ in runs]
        found = claims(Results(Options(seeds=1, runs=12, others=False), runs, results))
        assert found[0].holds is verdict
        assert found[2].holds is verdict
        assert found[3].holds is None
        assert found[4].holds is False  # regret, or lost


@pytest.fixture
def dask_cluster(tmp_path):
    """The address of a Dask scheduler with two workers on this machine."""
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    described = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(described), "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path, "start_new_session": True}
    children = [subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common], **quiet)]
    try:
        while not (described.exists() and described.read_text().strip()):
            assert children[0].poll() is None
            time.sleep(0.05)
        children.append(subprocess.Popen([*dask, "worker", "--nworkers", "2", "--nthreads", "1", *common], **quiet))
        yield json.loads(described.read_text())["address"]
    finally:
        for child in children[::-1]:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


@pytest.mark.thorough
def test_two_workers_of_dask_give_the_same_bytes(made_logs, short, dask_cluster, tmp_path):
    command = [sys.executable, "-m", "gas", "experiment", "power", "--traces", str(made_logs), *map(str, SHORT)]
    command += ["--output", str(tmp_path / "out"), "--dask", dask_cluster]
    done = subprocess.run(command, capture_output=True, timeout=300, text=True)
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == contents(short)


@pytest.mark.thorough
def test_where_no_scheduler_of_dask_answers_nothing_is_computed(made_logs, tmp_path):
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    command = [sys.executable, "-m", "gas", "experiment", "power", "--traces", str(made_logs), *map(str, SHORT)]
    command += ["--output", str(tmp_path), "--dask", "tcp://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, timeout=100, text=True)
    assert done.returncode == 2
    assert "no scheduler answers there" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.process
@pytest.mark.parametrize("address", ["foo", "", "inproc://x", "tcp://127.0.0.1", "tcp://127.0.0.1:99999"])
def test_what_is_no_address_is_refused_in_a_line(gas, made_logs, tmp_path, address):
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    result = study(gas, made_logs, tmp_path, "--dask", address)
    assert result.code == 2
    assert f"--dask {address}: " in result.err
    assert "tcp://HOST:8786" in result.err
