"""Jobs of real Slurms, of three releases, as futures, and Python functions as their jobs."""

import concurrent.futures
import time

import pytest
from private_slurm import RELEASES, PrivateSlurm

import gas

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

APP = {2: "10m", 4: "3m"}


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    with PrivateSlurm(2, 4, release=request.param) as cluster:
        yield cluster


@pytest.fixture
def where(slurm, tmp_path, monkeypatch):
    """Return how calls name this Slurm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_CONF", raising=False)
    config = tmp_path / "own.toml"
    config.write_text(f'[endpoints.private]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n')
    for name, value in slurm.environment.items():
        if name == "PATH":
            monkeypatch.setenv(name, value)
    return {"schedulers": "private", "config": config}


def test_a_command_ends_well_or_says_how_it_did_not(slurm, where):
    jobs = [
        gas.submit(APP, ["sh", "-c", "echo on {processors}"], **where),
        gas.submit(APP, ["sh", "-c", "echo no such mesh >&2; exit 7"], **where),
    ]
    concurrent.futures.wait(jobs, timeout=100)
    good, bad = jobs
    assert good.result(timeout=1).output() == f"on {good.plan.best.processors}\n"
    error = bad.exception(timeout=1)
    assert isinstance(error, gas.JobFailed)
    assert error.exit_status == 7
    assert "no such mesh" in error.output


def test_a_job_is_cancelled_while_it_runs(slurm, where):
    job = gas.submit(APP, ["sleep", "600"], **where)
    deadline = time.monotonic() + 60
    while not job.running():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert job.cancel()
    assert job.cancelled()


def test_functions_are_jobs(slurm, where, tmp_path):
    def solve(mesh, processors):
        if mesh == "none":
            raise ValueError("no such mesh")
        return mesh, processors

    with gas.Executor({4: "3m"}, folder=tmp_path / "calls", **where) as executor:
        jobs = [executor.submit(solve, mesh, "{processors}") for mesh in ("coast", "none")]
        assert jobs[0].result(timeout=100) == ("coast", 4)
        with pytest.raises(ValueError, match="no such mesh"):
            jobs[1].result(timeout=100)
    assert list((tmp_path / "calls").iterdir()) == []
