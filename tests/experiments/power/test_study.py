"""``gas experiment power``: the whole study on made-up logs."""

import os
import signal
import subprocess
import sys
import time

import pytest
from study_files import contents
from study_runs import run_study

from experiments.framework.sites import SITES
from experiments.moldable.terms import BASE, TERMS, chosen_terms, perfect
from experiments.published import one_apples

SHORT = ("--runs", 8, "--seeds", 1, "--no-other-terms")


def study(gas, logs, output, *options):
    return gas("experiment", "power", "--traces", logs, "--output", output, *SHORT, *options)


@pytest.fixture(scope="module")
def short(made_logs, tmp_path_factory):
    """The folder of the study on the paper's terms alone."""
    folder = tmp_path_factory.mktemp("short")
    run_study("power", folder, made_logs, *SHORT)
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


@pytest.mark.thorough(but=1)
@pytest.mark.process
@pytest.mark.parametrize("address", ["foo", "", "inproc://x", "tcp://127.0.0.1", "tcp://127.0.0.1:99999"])
def test_what_is_no_address_is_refused_in_a_line(gas, made_logs, tmp_path, address):
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    result = study(gas, made_logs, tmp_path, "--dask", address)
    assert result.code == 2
    assert f"--dask {address}: " in result.err
    assert "tcp://HOST:8786" in result.err
