"""A Slurm that shows an ordinary user nobody's jobs but their own: that is said, and probes ask it all the same."""

import json
import os
import subprocess
import sys

import pytest
from private_slurm import PrivateSlurm

pytestmark = [pytest.mark.live, pytest.mark.timeout(200)]

APPLICATION = 'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 2 = 5000, 4 = 3000, 8 = 2000 }\n'


@pytest.fixture(scope="module")
def slurm():
    if os.getuid() != 0:
        pytest.skip("one user can hide jobs from another only where there are two: run as root, who asks as nobody")
    with PrivateSlurm(8, 1, "PrivateData=jobs") as cluster:
        for processors, minutes in ((3, 40), (5, 20), (6, 30)):
            last = cluster.submit("-n", str(processors), "-t", str(minutes))
        assert cluster.planned_start(last) is not None
        yield cluster


@pytest.fixture
def gas_as_nobody(slurm):
    """Run the program as somebody who owns nothing here."""
    nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-c", "import gas.cli.main"], cwd="/", check=True, **nobody)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"nobody may not run {sys.executable}, or not read Gas; put the checkout where everybody may")
    folder = slurm.folder / "nobody"
    folder.mkdir()
    (folder / "app.toml").write_text(APPLICATION)
    (folder / "gas.toml").write_text(f'[endpoints.here]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n')

    def gas(*words):
        command = [sys.executable, "-m", "gas", *words, "app.toml", "--json", "--config", "gas.toml"]
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, **nobody
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return gas


def test_what_is_hidden_is_said_and_probes_find_the_real_starts(slurm, gas_as_nobody):
    [answer] = gas_as_nobody("plan")["endpoints"]
    assert any("hidden jobs" in remark and "--probe" in remark for remark in answer["remarks"]), answer
    found = gas_as_nobody("plan", "--probe", "3")
    assert slurm.run("squeue", "-h", "-o", "%j").split() == ["wrap"] * 3  # and no probe
    starts = {one["processors"]: one["start"] for one in found["candidates"]}
    for one in found["candidates"]:
        assert abs(one["start"] - slurm.probe(one["processors"], -(-one["walltime"] // 60))) <= 60, starts
