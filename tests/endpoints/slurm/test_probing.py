"""Probes are submitted one at a time, and none is left behind."""

import pickle
import signal
import subprocess
import sys

import pytest
import warm
from faulty_proxy import wait_until
from slurm_rest import Answer, slurmrestd

from gas.endpoints.sending import Unclear
from gas.endpoints.slurm import probing
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.probing import PREFIX, probe, sweep
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput, Missing, Unreachable

SHAPES = [Shape(4, None, 10), Shape(16, None, 5)]


@pytest.fixture
def transport(slurm):
    return CommandTransport("fake", timeout=1, folder=str(slurm.folder))


@pytest.fixture(autouse=True)
def no_sweeper_outlives_its_test():
    """Those that go on by themselves, for a minute, end with the test."""
    yield
    while probing._SWEEPING:
        sweeper = probing._SWEEPING.pop()
        sweeper.kill()
        sweeper.wait()


def test_each_probe_is_cancelled_before_the_next_is_submitted(slurm, transport):
    told = []
    starts = probe(transport, SHAPES, {"account": "abc"}, patience=0.3, tell=told.append)
    assert starts == [None, None]  # the fake plans nothing
    assert slurm.lines("jobs") == []
    calls = [line.split()[0] for line in slurm.lines("calls") if line.startswith(("sbatch", "scancel"))]
    assert calls == ["sbatch", "scancel", "sbatch", "scancel"]
    assert all("--account=abc" in line and PREFIX in line for line in slurm.lines("calls") if line.startswith("sbatch"))
    assert told == ["probe 1 of 2: 4 for 10 minutes", "probe 2 of 2: 16 for 5 minutes"]


def test_a_refused_probe_is_told_and_nothing_is_left(slurm, transport):
    slurm.does("sbatch", "echo 'sbatch: error: invalid partition specified: nope' >&2; exit 1")
    with pytest.raises(BadInput, match="invalid partition"):
        probe(transport, SHAPES, {}, patience=0.3)
    assert slurm.lines("submitted") == []


def test_a_probe_of_which_nobody_knows_is_found_and_cancelled_by_its_name(slurm, transport, monkeypatch):
    slurm.does("sbatch", 'before=none\nthen="submit; kill -9 $$"')
    with pytest.raises(Unclear):
        probe(transport, SHAPES, {}, patience=0.3)
    wait_until(lambda: slurm.lines("cancelled") == slurm.lines("submitted") == ["100"])


def test_a_probe_that_cannot_be_cancelled_is_cancelled_as_soon_as_slurm_is_back(slurm, transport):
    slurm.does("scancel", "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1")
    with pytest.raises(Unreachable):
        probe(transport, SHAPES, {}, patience=0.3)
    slurm.does("scancel", None)
    wait_until(lambda: slurm.lines("cancelled") == ["100"])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_probe_outlives_whoever_made_it(slurm, how):
    program = (
        "from gas.endpoints.slurm.commands import CommandTransport\n"
        "from gas.endpoints.slurm.probing import probe\n"
        "from gas.endpoints.slurm.transport import Shape\n"
        f"probe(CommandTransport('fake', folder={str(slurm.folder)!r}), [Shape(4, None, 10)], {{}}, patience=60)\n"
    )
    process = subprocess.Popen([sys.executable, warm.RUN, program], stderr=subprocess.DEVNULL)
    wait_until(lambda: slurm.lines("submitted"))
    process.send_signal(how)
    process.wait()
    wait_until(lambda: slurm.lines("cancelled") == ["100"])


def test_what_a_crash_of_the_machine_left_is_cancelled_by_the_next_who_probes(slurm, transport, monkeypatch):
    transport.submit(Batch(f"{PREFIX}0123", "", Shape(1, None, 1)))  # the fake's jobs are of long ago
    transport.submit(Batch("mine", "", Shape(1, None, 1)))
    probe(transport, [], {})
    assert slurm.lines("cancelled") == ["100"]


def test_sweeping_cancels_only_jobs_of_that_name(slurm, transport):
    for name in ("gas-probe-1", "gas-probe-2", "gas-probe-1"):
        transport.submit(Batch(name, "", Shape(1, None, 1)))
    assert sweep(transport, "gas-probe-1") == 2
    assert slurm.lines("cancelled") == ["100", "102"]


def test_a_plan_that_comes_late_is_waited_for(slurm, transport, monkeypatch):
    """Also one of a job that Slurm overlooks until something about it changes."""
    monkeypatch.setattr(probing, "PATIENCE_SECONDS", 5)
    slurm.does("scontrol", f'sed -i "s|main.N/A.N/A|main\\x1f1795290600\\x1fN/A|" {slurm.folder}/jobs')
    assert probe(transport, SHAPES[:1], {}, patience=9) == [1_795_290_600]


def test_both_transports_can_be_handed_to_the_process_that_sweeps(transport):
    rest = RestTransport("here", "http://127.0.0.1:9", user="me")
    for one in (transport, rest):
        again = pickle.loads(pickle.dumps(one))
        assert (again.address, again.user, again.timeout) == (one.address, one.user, one.timeout)


def test_modules_of_the_users_own_folder_do_not_stand_in_for_others(slurm, transport, monkeypatch, tmp_path):
    (tmp_path / "random.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    assert probe(transport, SHAPES[:1], {}, patience=0.3) == [None]


def test_without_the_process_that_sweeps_nothing_is_probed(slurm, transport, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Missing, match="nothing was probed"):
        probe(transport, SHAPES[:1], {}, patience=0.3)
    assert slurm.lines("submitted") == []


HOMELESS = {  # as 24.11 and 26.05 say it
    "errors": [
        {
            "description": "Batch job submission failed",
            "error_number": 2063,
            "error": "Job cannot be submitted without the current working directory specified.",
            "source": "slurm_submit_batch_job()",
        }
    ],
    "job_id": None,
}


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("version", ["v0.0.38", "v0.0.42", "v0.0.45"])
def test_probes_by_rest_say_where_they_run_since_slurm_takes_no_job_that_does_not(version):
    with slurmrestd() as server:
        server.offers(version)
        server.answers["GET", f"/slurm/{version}/jobs"] = Answer({"jobs": []})
        server.answers["POST", f"/slurm/{version}/job/submit"] = Answer({"errors": [], "job_id": 7})
        server.answers["*"] = Answer({"errors": [], "jobs": []})
        probe(RestTransport("deep", server.url, user="ann", tokens=Tokens("", environment={})), SHAPES[:1], {})
        [(_, body)] = [one for one in server.asked("POST") if "submit" in one[0]]
        assert body["job"]["current_working_directory"] == "/"


def test_a_job_without_a_directory_is_refused_with_the_way_out():
    with slurmrestd() as server:
        server.answers["*"] = Answer(HOMELESS, 500)
        transport = RestTransport("deep", server.url, user="ann", tokens=Tokens("", environment={}), version="v0.0.42")
        with pytest.raises(BadInput, match="without the current working directory.*--directory"):
            transport.submit(Batch("a", "#!/bin/sh\n", SHAPES[0]))
