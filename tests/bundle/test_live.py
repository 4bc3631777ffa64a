"""The one file on bare Debian 11 and 13, without Python: it starts, plans on a file, and plans and submits on Slurm."""

import json
import resource
import tempfile
from pathlib import Path

import pytest
from bare_trees import bare_tree
from private_slurm import PrivateSlurm

from gas.bundle.executable import build

pytestmark = pytest.mark.live

EXAMPLES = Path(__file__).parent.parent / "examples"
SUITES = {"bullseye": "installed", "trixie": "24.11"}
"""Debian 11, whose Slurm speaks to the installed one, and Debian 13."""


@pytest.fixture(scope="module")
def folder():
    """A folder with the one file and its plans, visible in the trees too.

    It is beside the folders of private Slurms: no link to a socket of theirs leaves its file system.
    """
    with tempfile.TemporaryDirectory(prefix="one-") as made:
        yield filled(Path(made))


def filled(folder):
    assert build(folder / "gas") < 40e6
    for name in ("ocean.toml", "cluster.json", "small.swf"):
        (folder / name).write_bytes((EXAMPLES / name).read_bytes())
    output = f"#SBATCH -o {folder}/job.out\n"
    lines = f"echo begun; while [ ! -e {folder}/go ]; do sleep 0.1; done; echo ended\n"
    (folder / "job.sh").write_text(f"#!/bin/sh\n#SBATCH -n 4\n{output}{lines}")
    (folder / "times.csv").write_text("processors,seconds\n1,400\n2,210\n4,110\n8,60\n")
    return folder


@pytest.fixture(scope="module", params=SUITES)
def tree(request):
    return request.param, bare_tree(request.param)


def test_it_plans_without_python_and_without_network(tree, folder):
    _, bare = tree
    assert bare.run("sh", "-c", "command -v python3").returncode
    gas = f"{folder}/gas"
    cache = {"GAS_CACHE": f"{folder}/cache"}
    assert bare.run(gas, "--version", shows=folder, **cache).stdout.startswith("gas ")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    plan = [gas, "plan", f"{folder}/ocean.toml", "--availability", f"{folder}/cluster.json", "--stale-ok"]
    done = bare.run(*plan, shows=folder, **cache)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "ocean: 32 processors on cluster" in done.stdout, done.stderr
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"a warm plan takes {took:.2f} s of CPU, its mounts included")
    assert bare.run(gas, "guide", "glossary", shows=folder, **cache).stdout.startswith("# Glossary")
    converted = bare.run(gas, "convert", f"{folder}/small.swf", f"{folder}/small.csv", shows=folder, **cache)
    assert (folder / "small.csv").exists(), converted.stderr
    missing = bare.run(gas, "fit", f"{folder}/times.csv", shows=folder, **cache)
    assert "needs scipy; the one-file Gas does not contain it: install Gas with pip" in missing.stderr
    for command in ("submit", "status", "watch", "why", "logs", "cancel"):
        assert f"gas {command}" in bare.run(gas, command, "--help", shows=folder, **cache).stdout


def test_it_plans_and_submits_on_a_slurm_of_that_debian(tree, folder):
    suite, bare = tree
    with PrivateSlurm(2, 4, release=SUITES[suite]) as slurm:
        at = folder / "slurm"
        at.mkdir(exist_ok=True)
        lines = (slurm.folder / "slurm.conf").read_text().replace(str(slurm.folder), str(at)).splitlines()
        (at / "slurm.conf").write_text("\n".join(line for line in lines if not line.startswith("PluginDir=")) + "\n")
        (at / "munge.socket").unlink(missing_ok=True)
        (at / "munge.socket").hardlink_to(slurm.folder / "munge.socket")
        environment = {"SLURM_CONF": f"{at}/slurm.conf", "GAS_CACHE": f"{folder}/cache"}

        def gas(*words):
            return bare.run(f"{folder}/gas", *words, shows=folder, network=True, **environment)

        request = ("--script", f"{folder}/job.sh", "--sizes", "1,2,4,8", "--time", "8h,4h10m,2h20m,1h20m")
        planned = gas("plan", *request, "--json")
        assert planned.returncode == 0, planned.stderr
        assert json.loads(planned.stdout)["best"]["processors"] == 8
        submitted = gas("submit", *request, "--json")
        assert submitted.returncode == 0, submitted.stderr
        (job,) = slurm.run("squeue", "-h", "-o", "%i %C").splitlines()
        number, cpus = job.split()
        assert cpus == "8"
        assert f"job {number} (job), 8 processors" in gas("status", number).stdout
        (folder / "go").touch()
        followed = gas("logs", "--follow", number)
        assert (followed.returncode, followed.stdout) == (0, "begun\nended\n"), followed.stderr
        (folder / "go").unlink()
        second = json.loads(gas("submit", *request, "--json").stdout)["job"]["id"]
        assert gas("cancel", str(second)).returncode == 0
        assert "cancelled" in gas("status", str(second), "--json").stdout
