"""On a real Slurm, an agent in a plain script does the same as the commands: plan, submit, show, reshape, cancel."""

from pathlib import Path

import pytest
from private_slurm import PrivateSlurm

from gas import Agent, PlanOptions, ReshapeOptions, read_application
from gas.agent.cancelling import cancel
from gas.agent.schedulers import job_of
from gas.endpoints import load_configuration

pytestmark = [pytest.mark.live, pytest.mark.timeout(200)]

NODES, CPUS = 6, 4


@pytest.fixture(scope="module")
def slurm():
    """A real Slurm whose only job holds everything for half an hour."""
    with PrivateSlurm(NODES, CPUS) as cluster:
        blocker = cluster.submit("-n", str(NODES * CPUS), "-t", "30")
        assert cluster.planned_start(blocker) is not None
        yield cluster


@pytest.fixture
def config(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("gas.toml").write_text(f'[endpoints.here]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n')
    table = 'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 3 = 700, 6 = 400, 22 = 150 }\n'
    Path("app.toml").write_text(table)
    return "gas.toml"


@pytest.fixture
def agent(config):
    return lambda: Agent(read_application("app.toml"), [load_configuration(Path(config)).endpoint("here")])


@pytest.fixture
def command(gas, config):
    def run(name, *words):
        outcome = gas(name, "--config", config, "--json", *words)
        assert outcome.code == 0, outcome.err
        return outcome.json

    return run


CLOCK = ("now", "now_iso", "start", "start_iso", "finish", "finish_iso")


def without_clock(candidate):
    return {key: value for key, value in candidate.items() if key not in CLOCK}


def apart(ours, theirs):
    """Return where two jobs differ, but for their numbers and the moment of their submission."""
    moments = ("id", "name", "submitted", "start", "planned", "expected", "promise", "native_id", "schema")
    differ = {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
    return {key for key in differ if key.removesuffix("_iso") not in moments}


def test_an_agent_does_on_a_real_slurm_what_the_commands_do(slurm, agent, command):
    printed = command("plan", "app.toml")
    found = agent().plan(PlanOptions())
    pairs = zip(found.plan.candidates, printed["candidates"], strict=True)
    assert all(without_clock(ours.to_wire()) == without_clock(theirs) for ours, theirs in pairs)
    assert found.best.start == pytest.approx(printed["best"]["start"], abs=60)

    sleep = ("sleep", "100")
    submitted = command("submit", "app.toml", "--max-processor-hours", "0.7", "--", *sleep)["job"]
    made = agent().submit(list(sleep), PlanOptions(max_processor_hours=0.7)).job
    assert made["id"] == submitted["id"] + 1
    assert apart(made, submitted) == set()

    where, number = job_of(str(made["id"]), "here", Path("gas.toml"))
    shown = command("status", str(submitted["id"]), "-e", "here")
    assert apart(where.job(number), shown) == set()

    changed = command("reshape", f"here:{submitted['id']}", "app.toml", "--processors", "3")
    done = agent().reshape(made["id"], ReshapeOptions(), processors=3)
    assert done.changed is changed["changed"] is True
    assert (done.job["processors"], done.job["walltime"]) == (changed["job"]["processors"], changed["job"]["walltime"])

    ended = command("cancel", str(submitted["id"]), "-e", "here")
    cancelled = cancel(where, number)
    assert cancelled.had_ended is False
    assert cancelled.job["state"] == ended["state"]
    states = slurm.run("squeue", "-h", "-t", "all", "-j", f"{made['id']},{submitted['id']}", "-o", "%T").split()
    assert states == ["CANCELLED", "CANCELLED"]
