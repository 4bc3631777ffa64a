"""``gas experiment clusters`` as a whole: the same bytes here and on a Dask cluster, whatever happens to that."""

import os
import signal
import subprocess
import sys
import time

import pytest
from dask_cluster import dask_cluster
from study_files import contents

pytestmark = pytest.mark.thorough

SMALL = ("--clusters", 12, "--most", 6)


def study(folder, *options, **more):
    command = [sys.executable, "-m", "gas", "experiment", "clusters", "--output", folder, *SMALL, *options]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def ended(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def kept(folder):
    return list((folder / "runs").glob("*.json"))


def until_kept(folder, count, process):
    while len(kept(folder)) < count:
        assert process.poll() is None, "over before anything happened"
        time.sleep(0.002)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    assert ended(study(folder, "--workers", 1))[0] == 0
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    with dask_cluster(tmp_path_factory.mktemp("dask")) as found:
        yield found


def test_the_report_says_what_choosing_gains(here):
    text = (here / "clusters.md").read_text()
    assert "12 clusters," in text
    assert "> Not the full study: 12 clusters instead of 200." in text
    assert "`gas experiment clusters --seed 0 --clusters 12 --most 6`. Results depend" in text


def test_a_worker_that_is_killed_changes_nothing(here, cluster, tmp_path):
    process = study(tmp_path, "--dask", cluster.address)
    until_kept(tmp_path, 1, process)
    before = cluster.workers
    os.kill(before[0], signal.SIGKILL)
    code, _, err = ended(process)
    assert code == 0, err
    assert before[0] not in cluster.workers
    assert contents(tmp_path) == contents(here)


def test_a_study_that_is_interrupted_on_a_cluster_continues_there(here, cluster, tmp_path):
    process = study(tmp_path, "--dask", cluster.address)
    until_kept(tmp_path, 2, process)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130, err
    assert "repeat the command to continue" in err
    assert not (tmp_path / "clusters.md").exists()
    first = {path: path.stat().st_mtime_ns for path in kept(tmp_path)}
    code, _, err = ended(study(tmp_path, "--dask", cluster.address))
    assert code == 0, err
    assert contents(tmp_path) == contents(here)
    assert {path: path.stat().st_mtime_ns for path in first} == first, "nothing is computed twice"


def test_parts_computed_one_by_one_give_the_same_bytes(here, tmp_path):
    for part in ("2/2", "1/2"):
        assert ended(study(tmp_path, "--workers", 1, "--shard", part))[0] == 0
    assert ended(study(tmp_path, "--workers", 1))[0] == 0
    assert contents(tmp_path) == contents(here)


def test_a_scheduler_that_goes_away_ends_the_study_in_a_line_and_nothing_is_lost(here, tmp_path):
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    folder = tmp_path / "out"
    with dask_cluster(tmp_path, 1) as short:
        process = study(folder, "--dask", short.address)
        until_kept(folder, 2, process)
        os.kill(short.scheduler, signal.SIGKILL)
        code, _, err = ended(process)
    assert code != 0
    assert "the scheduler is gone" in err
    assert "Traceback" not in err
    assert len(kept(folder)) >= 2
    assert ended(study(folder, "--workers", 1))[0] == 0
    assert contents(folder) == contents(here)
