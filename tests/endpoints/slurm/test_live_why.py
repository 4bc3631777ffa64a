"""`gas why` on a real Slurm: what it says of a waiting job, and that what it advises comes true."""

import re
import time

import pytest
from private_slurm import PrivateSlurm

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def slurm():
    with PrivateSlurm(4, 4) as cluster:
        yield cluster


@pytest.fixture
def job(slurm):
    """Return a job of two nodes and eight hours, behind one of all nodes that starts in an hour."""
    slurm.submit("-n", "8", "-t", "60")
    slurm.planned_start(slurm.submit("-n", "16", "-t", "60"))
    own = slurm.submit("-n", "8", "-t", "480", "-J", "ocean")
    slurm.planned_start(own)
    return own


def test_a_waiting_job_is_explained_and_the_shorter_one_that_is_advised_starts(gas, slurm, job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gas.toml").write_text(f'[endpoints.b]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n')
    done = gas("why", str(job), "-e", "b", "--config", "gas.toml")
    assert done.code == 0, done.err
    said = done.out
    assert "ahead in partition main: 1 job (1 of higher priority; 1 of them yours)" in said
    assert re.search(r"with a time limit of 5\dm00s it would start", said), said
    found = gas("why", str(job), "-e", "b", "--config", "gas.toml", "--json").json["why"]
    assert found["expected"] > found["now"] + 3600
    change = next(one for one in found["sooner"] if one["change"] == "time")
    minutes = re.fullmatch(r"a time limit of (\d+)m00s", change["words"])
    slurm.run("scontrol", "update", f"jobid={job}", f"TimeLimit={minutes[1]}")
    until = time.monotonic() + 20
    while (start := slurm.planned_start(job)) > change["start"] + 60 and time.monotonic() < until:
        time.sleep(0.5)  # the plan of before stays until the next cycle
    assert start <= change["start"] + 60
