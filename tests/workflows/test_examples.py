"""The examples run with the real packages, and do what they say."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def example(tmp_path, surroundings):
    def run(name, *arguments, python=sys.executable):
        done = subprocess.run(
            [str(python), str(EXAMPLES / name), *arguments],
            cwd=tmp_path,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_sbatch(example):
    words = shlex.split(example("sbatch_line.py"))
    assert words[:3] == ["sbatch", "--parsable", "--ntasks=32"]
    assert words[-1].endswith("srun ./ocean --ranks 32")


@pytest.mark.thorough
def test_psij(example, installed, service, tmp_path):
    pytest.importorskip("psij", reason="needs psij-python")
    out = example("psij_s3.py", service.url, python=installed / "python")
    (job,) = service.jobs()
    assert job["state"] == "completed"
    assert out.splitlines() == [
        "1 QUEUED",
        "1 ACTIVE",
        "1 COMPLETED",
        f"solved on {job['processors']} processors, at most {job['walltime']} s",
    ]


@pytest.mark.thorough
def test_dask(example):
    pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue")
    out = example("dask_slurm.py")
    assert "#SBATCH --cpus-per-task=16" in out
    assert re.search(r"#SBATCH -t 0-01:57:00", out)
    assert "cluster.scale(jobs=2)" in out
    assert "2 jobs of this machine have 32 threads; 1 + 1 is 2" in out


@pytest.mark.thorough
def test_parsl(example):
    pytest.importorskip("parsl", reason="needs parsl")
    assert example("parsl_blocks.py").splitlines() == [
        "Slurm: 2 nodes of 16 cores for 01:57:00",
        "this machine: a worker was told of 32 processors",
    ]


def test_importing_the_package_imports_no_workflow_manager():
    program = (
        "import sys, gas.workflows.conversions, gas.workflows.snakemake, gas.workflows.psij, gas.workflows.scheduling\n"
        "print([m for m in ('psij', 'snakemake', 'dask', 'parsl', 'requests', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
