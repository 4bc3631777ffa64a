"""An agent in a plain script does the same as the command line, on an S³ and on a Slurm of recorded answers."""

import json
import logging
import os
import pwd
from pathlib import Path

import made_reshaping
import pytest
from fake_slurm import FakeSlurm
from made_histories import history

from gas import Agent, Application, PlanOptions, ReshapeOptions, read_application
from gas import plan as gas_plan
from gas.agent.cancelling import cancel
from gas.agent.offering import accept
from gas.agent.options import Run
from gas.agent.reserving import clock_of, reserve
from gas.endpoints import FileEndpoint, JobDescription, S3Endpoint, load_configuration
from gas.endpoints.slurm.directives import Script
from gas.errors import BadInput, Conflict, GasError, Infeasible, Unreachable, WithoutGpus
from speedup_models import Table

APP = 'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 2 = 240, 4 = 125, 8 = 68, 16 = 40 }\n'
AWAY = S3Endpoint("away", "http://127.0.0.1:9", patience=0, retries=0)


@pytest.fixture
def app(tmp_path):
    (tmp_path / "app.toml").write_text(APP)
    return str(tmp_path / "app.toml")


@pytest.fixture
def remarks():
    return []


@pytest.fixture
def agent(app, remarks):
    """Return the agent of the application: ``agent(scheduler, ...)``."""
    return lambda *schedulers: Agent(read_application(app), schedulers, remark=remarks.append)


@pytest.fixture
def full(s3):
    """An S³ whose processors are taken for an hour, so that starts do not move with the clock."""
    s3.until(s3.simulated(10, 3600)["id"], "running")
    return s3


def without_clock(plan):
    return {key: value for key, value in plan.items() if key not in ("now", "now_iso")}


# ------------------------------------------------------------------------------------------------ on an S³


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], PlanOptions()),
        (["--tolerance", "50%"], PlanOptions(tolerance=0.5)),
        (["--max-processor-hours", "0.15"], PlanOptions(max_processor_hours=0.15)),
        (["--algorithm", "walk"], PlanOptions(algorithm="walk")),
    ],
)
def test_a_script_plans_as_gas_plan_does(gas, agent, app, full, words, options):
    printed = gas("plan", app, "-e", full.url, "--json", *words).json
    found = agent(S3Endpoint(full.url, full.url)).plan(options)
    assert without_clock(found.to_wire()) == without_clock(printed)
    assert found.best.to_wire() == printed["best"]
    assert found.endpoint.address == full.url


def test_a_script_submits_as_gas_submit_does(gas, agent, app, full):
    run = Run(JobDescription("app"), simulate=True)
    printed = gas("submit", app, "-e", full.url, "--simulate", "--json").json["job"]
    made = agent(S3Endpoint(full.url, full.url)).submit(run)
    same = ("name", "processors", "walltime", "run_time", "actuator", "state", "user")
    assert {key: made.job[key] for key in same} == {key: printed[key] for key in same}
    assert made.job["id"] != printed["id"]
    assert made.attempts == 1
    assert gas("status", *made.reference.split()).code == 0


def test_a_script_prepares_what_gas_submit_shows_in_a_dry_run(gas, agent, app, full):
    printed = gas("submit", app, "-e", full.url, "--dry-run", "--json", "--", "./app", "{processors}").json
    found = agent(S3Endpoint(full.url, full.url)).prepare(["./app", "{processors}"])
    assert list(found.job.command) == printed["command"] == ["./app", "8"]
    assert dict(found.job.environment) == printed["environment"]
    assert found.job.directory == printed["directory"] == str(Path.cwd())
    assert (found.request.processors, found.request.walltime) == (8, printed["request"]["walltime"])
    assert found.request.start_by == pytest.approx(printed["request"]["start_by"], abs=1)
    assert found.preview is printed["submission"] is None
    assert full.get("/v1/jobs?ended=9").json()["jobs"][1:] == []


def test_a_command_runs_where_the_script_does(agent, s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    endpoint = S3Endpoint(s3.url, s3.url)
    made = agent(endpoint).submit(["sh", "-c", "pwd; echo {processors} $GAS_PROCESSORS"])
    s3.until(made.job["id"], "completed")
    assert endpoint.output(made.job["id"], "stdout", 100).decode() == f"{tmp_path}\n8 8\n"


def test_one_key_is_one_job(agent, full):
    one = agent(S3Endpoint(full.url, full.url))
    run = Run(JobDescription("app"), simulate=True)
    first, second = (one.submit(run, key="night-7") for _ in range(2))
    assert first.job["id"] == second.job["id"]
    assert (first.planned is None, second.planned is None) == (False, True)
    with pytest.raises(BadInput, match="printable ASCII"):
        one.submit(run, key="two words")


def test_a_waiting_job_is_reshaped_on_an_s3(agent, full):
    waiting = full.simulated(4, 140)
    done = agent(S3Endpoint(full.url, full.url)).reshape(waiting["id"], processors=8)
    assert (done.changed, done.job["processors"], full.job(waiting["id"])["processors"]) == (True, 8, 8)


def test_a_script_spreads_over_machines_as_the_commands_do(gas, agent, app, start_s3):
    sites = [start_s3(8, name=name) for name in ("north", "south")]
    named = [word for site in sites for word in ("-e", site.url)]
    script = agent(*(S3Endpoint(site.url, site.url) for site in sites))
    printed = gas("plan", app, *named, "--coallocate", "--json").json
    found = script.plan_together()
    same = ("processors", "walltime", "execution_time")
    assert {key: found.best.to_wire()[key] for key in same} == {key: printed["best"][key] for key in same}
    assert (found.best.processors, len(found.best.parts)) == (16, 2)
    submitted = gas("submit", app, *named, "--coallocate", "--simulate", "--json").json["jobs"]
    made = script.submit_together(Run(JobDescription("app"), simulate=True)).jobs
    assert [one.job["processors"] for one in made] == [one["job"]["processors"] for one in submitted]
    assert [one.endpoint.address for one in made] == [one["endpoint"] for one in submitted]


def test_a_script_submits_to_several_queues_as_the_command_does(gas, agent, app, start_s3, tmp_path):
    sites = [start_s3(32, name=name) for name in ("north", "south")]
    named = [word for site in sites for word in ("-e", site.url)]
    printed = gas("submit", app, *named, "--redundant", "--shared", str(tmp_path), "--json", "--", "true").json
    endpoints = [S3Endpoint(site.url, site.url) for site in sites]
    made = agent(*endpoints).submit_redundantly(["true"], shared=tmp_path)
    won = made.settle(lambda one, job: None, print)
    assert [one.scheduler for one in made.jobs] == [one["scheduler"] for one in printed["jobs"]]
    assert won.job["processors"] == printed["jobs"][printed["runs"]]["job"]["processors"]
    assert made.planned.best.scheduler == printed["plan"]["best"]["scheduler"]
    assert [len(site.get("/v1/jobs?ended=9").json()["jobs"]) for site in sites] == [2, 0]


def test_a_script_reserves_as_gas_reserve_does(gas, full):
    words = ("-e", full.url, "-p", "4", "--start", "+3h", "-w", "30m", "--name", "night")
    printed = gas("reserve", *words, "--json").json
    where = S3Endpoint(full.url, full.url)
    made = reserve(where, "night", 4, lambda: clock_of(where) + 3 * 3600, 1800, remark=print).job
    same = ("kind", "name", "processors", "walltime", "state")
    assert {key: made[key] for key in same} == {key: printed[key] for key in same}
    assert made["start"] == pytest.approx(printed["start"], abs=60)


def test_a_script_answers_offers_and_cancels_as_the_commands_do(gas, full):
    first, second = full.simulated(10, 600), full.simulated(10, 600)
    waiting = [full.simulated(10, 60, notice=120)["id"] for _ in range(2)]
    full.delete(f"/v1/jobs/{first['id']}")
    full.delete(f"/v1/jobs/{second['id']}")
    where = S3Endpoint(full.url, full.url)
    offers = [full.job(job)["offer"] for job in waiting]
    printed = gas("offer", str(waiting[0]), "--accept", "-e", full.url, "--json").json
    made = accept(where, waiting[1])
    assert [printed["promise"], made["promise"]] == offers
    printed = gas("cancel", str(waiting[0]), "-e", full.url, "--json").json
    made = cancel(where, waiting[1]).job
    same = ("kind", "state", "user", "processors", "walltime", "notice", "actuator")
    assert {key: made[key] for key in same} == {key: printed[key] for key in same}
    assert made["state"] == "cancelled"


def test_a_script_predicts_as_gas_plan_does(gas, app, full, tmp_path):
    past = history(tmp_path / "past.swf", 0.1)
    words = ("--predict", past, "--samples", "20", "--risk", "90%")
    printed = gas("plan", app, "-e", full.url, *words, "--json").json
    found = gas_plan(app, full.url, predict=past, samples=20, risk="90%")
    assert found.best.to_wire() == {k: v for k, v in printed["best"].items() if k != "predicted"}
    likely = printed["best"]["predicted"]
    said = [likely[key] for key in ("start_low", "start", "start_high")]
    assert list(found.likely_starts[found.best]) == pytest.approx(said, abs=5), "a moment lies between the two"


def test_a_scheduler_that_does_not_answer_is_a_remark_as_long_as_one_does(agent, full, remarks):
    found = agent(AWAY, S3Endpoint("here", full.url), ("broken", BadInput("broken: has no url"))).plan()
    assert found.best.scheduler == "here"
    assert remarks[0].startswith("away: ")
    assert remarks[1:] == ["broken: has no url"]


def test_partitions_without_gpus_are_told_only_where_they_are_named_or_no_others_are_there(agent, full, remarks):
    class Bare(FileEndpoint):
        def availability(self):
            raise WithoutGpus(f"{self.name} has no node with GPUs")

    class Named(Bare):
        named = True

    here = S3Endpoint("here", full.url)
    assert agent(Bare("cpu", "cpu"), here).plan().best.scheduler == "here"
    assert remarks == []
    agent(Named("cpu", "cpu"), here).plan()
    assert remarks == ["cpu has no node with GPUs"]
    with pytest.raises(GasError):
        agent(Bare("one", "one"), Bare("two", "two")).plan()
    assert remarks[1:] == ["one has no node with GPUs", "two has no node with GPUs"]


@pytest.mark.process
def test_the_only_one_that_does_not_answer_is_an_error(agent, remarks):
    with pytest.raises(Unreachable, match="away"):
        agent(AWAY).plan()
    with pytest.raises(Unreachable, match="no scheduler answered"):
        agent().plan()
    assert remarks == []


def test_remarks_are_logged_where_nobody_takes_them(app, full, caplog):
    caplog.set_level(logging.WARNING, "gas.agent")
    Agent(read_application(app), [AWAY, S3Endpoint("here", full.url)]).plan()
    assert [record.name for record in caplog.records if record.getMessage().startswith("away: ")] == ["gas.agent"]


def test_nothing_possible_is_a_plan_without_a_best_request(agent, full):
    found = agent(S3Endpoint("here", full.url)).plan(PlanOptions(max_processor_hours=0.0001))
    assert found.plan.best is None
    with pytest.raises(Infeasible, match="app: no request is possible; .* 2 processors: would use"):
        _ = found.best


# ------------------------------------------------------------------------------------------------ on a Slurm


@pytest.fixture
def slurm(tmp_path):
    """The endpoint of a Slurm of programs, which replay recorded answers."""
    slurm = FakeSlurm(tmp_path / "bin", pwd.getpwuid(os.getuid()).pw_name)
    path = tmp_path / "gas.toml"
    path.write_text(f'[endpoints.fake]\ntype = "slurm"\nfolder = "{slurm.folder}"\ntimeout = 20\npatience = 3\n')
    return slurm, str(path)


def fresh(config):
    return load_configuration(Path(config)).endpoint("fake")


def test_a_script_plans_on_a_slurm_as_gas_plan_does(gas, agent, app, slurm):
    _, config = slurm
    printed = gas("plan", app, "--config", config, "--stale-ok", "--json").json
    assert agent(fresh(config)).plan(PlanOptions(stale_ok=True)).to_wire() == printed


def test_a_script_submits_to_a_slurm_and_reshapes_as_the_commands_do(gas, agent, app, slurm, tmp_path):
    fake, config = slurm
    words = ("--config", config, "--stale-ok", "--json")
    submitted = gas("submit", app, *words, "--max-processor-hours", "0.1334", "--", "./app").json["job"]
    options = PlanOptions(max_processor_hours=0.1334, stale_ok=True)
    made = agent(fresh(config)).submit(["./app"], options).job
    own = {"id", "name"}  # one per job; the job's name contains its tag
    assert {key: value for key, value in made.items() if key not in own} == {
        key: value for key, value in submitted.items() if key not in own
    }
    printed = gas("reshape", str(submitted["id"]), app, *words).json
    done = agent(fresh(config)).reshape(made["id"], ReshapeOptions(stale_ok=True))
    assert done.changed is printed["changed"] is True
    assert (done.why, done.to_wire()["chosen"]) == (printed["why"], printed["chosen"])
    updates = [line for line in fake.lines("calls") if line.startswith("scontrol update")]
    assert len({line.replace(str(made["id"]), "N").replace(str(submitted["id"]), "N") for line in updates}) == 1


def test_what_a_job_asks_for_besides_goes_to_a_slurm_from_a_script_as_from_the_command(gas, agent, app, slurm):
    fake, config = slurm
    gas("submit", app, "--config", config, "--stale-ok", "--native=--comment=here", "--", "./app")
    agent(fresh(config)).submit(
        JobDescription("app", ("./app",), native=("--comment=here",)), PlanOptions(stale_ok=True)
    )
    sent = [line for line in fake.lines("calls") if line.startswith("sbatch")]
    assert len(sent) == 2
    assert all("--comment=here" in line for line in sent)


def test_a_job_script_is_planned_and_submitted_by_a_script_as_by_the_command(gas, slurm, tmp_path, remarks):
    fake, config = slurm
    text = "#!/bin/bash\n#SBATCH --job-name=ocean -n 4 --chdir=/tmp\n#SBATCH --time=1:00:00\nsrun ./ocean\n"
    (tmp_path / "job.sh").write_text(text)
    words = ("--script", str(tmp_path / "job.sh"), "--sizes", "4,8", "--time", "4h,130m", "--config", config)
    printed = gas("plan", *words, "--stale-ok", "--json").json
    app = Application(Table.of({4: 14400.0, 8: 7800.0}), safety=1.0, name="ocean")
    script = Script.of(text, str(tmp_path / "job.sh"))
    one = Agent(app, [fresh(config)], script=script, remark=remarks.append)
    options = PlanOptions(stale_ok=True)
    assert one.plan(options).to_wire() == printed
    shown = gas("submit", *words, "--stale-ok", "--dry-run", "--json").json
    found = one.prepare(JobDescription("ocean"), options)
    assert (found.preview, found.job.directory) == (shown["submission"], None)
    assert f"{found.request.processors}" in {"4", "8"}
    fake.does("sbatch", f'cat > "{fake.folder}/script"')
    assert one.submit(JobDescription("ocean"), options).job["state"] == "queued"
    assert (fake.folder / "script").read_text() == text


# ------------------------------------------------------------------------------------------------ several schedulers


@pytest.fixture
def molding(tmp_path, monkeypatch):
    from gas.agent import reshaping, watching

    story = made_reshaping.STORIES["kth"] = made_reshaping.Story()
    for module in (reshaping, watching):
        monkeypatch.setattr(module, "time", story)
    return story


def test_a_job_is_looked_for_on_the_scheduler_that_is_named(agent, molding):
    kth = made_reshaping.Molding("kth")
    assert agent(kth).reshape(7).changed is False
    two = agent(AWAY, kth)
    assert two.reshape(7, on="kth").changed is False
    for name, words in ((None, "which scheduler."), ("ctc", "ctc: is not a scheduler of this agent;")):
        with pytest.raises(BadInput, match=f"{words.replace('?', '.')} name one of away, kth"):
            two.reshape(7, on=name)
    with pytest.raises(BadInput, match="has no url"):
        agent(("broken", BadInput("has no url"))).reshape(7)


def test_a_watch_tells_as_gas_watch_does(gas, agent, app, molding, tmp_path, monkeypatch):
    def story():
        made_reshaping.STORIES["kth"] = one = made_reshaping.Story()
        one.at(20, lambda: one.change((0, 0), (60, 16)))
        one.at(62, lambda: one.becomes("running", start=62))
        for module in ("reshaping", "watching"):
            monkeypatch.setattr(f"gas.agent.{module}.time", one)

    made_reshaping.install(tmp_path / "site", monkeypatch)
    (tmp_path / "kth.toml").write_text('[endpoints.kth]\ntype = "molding"\n')
    words = ("--config", str(tmp_path / "kth.toml"), "--least", "5s", "--every", "5s")
    events = []
    story()
    last = agent(made_reshaping.Molding("kth")).watch(7, events.append, ReshapeOptions(least=5), every=5)
    story()
    as_json = gas("watch", "7", app, *words, "--json")
    assert [event.to_wire() for event in events] == [json.loads(line) for line in as_json.out.splitlines()]
    story()
    as_text = gas("watch", "7", app, *words)
    assert [str(event) for event in events] == [line.split("  ", 1)[1] for line in as_text.out.splitlines()]
    assert [event.kind for event in events] == ["left", "changed", "planned", "left", "started"]
    assert (last["state"], last["processors"]) == ("running", 16)


def test_a_job_that_runs_is_not_reshaped(agent, molding):
    molding.becomes("running", start=0)
    with pytest.raises(Conflict, match="only waiting jobs can be reshaped"):
        agent(made_reshaping.Molding("kth")).reshape(7)
