"""gas plan --predict auto: each scheduler is queried for its own past."""

import time

import pytest
from fake_slurm import FakeSlurm

from gas.prediction import LEAST_SAMPLES
from gas.prediction.slurm import Queue

pytest.importorskip("numba")

HOUR = 3600
ENDED = 1_700_000_000
"""End of the last job of a synthetic history: years ago."""


@pytest.fixture
def slurm(tmp_path):
    """Return a Slurm of programs with an endpoint `busy` that is configured in ``gas.toml``."""
    found = FakeSlurm(tmp_path / "bin")
    (tmp_path / "gas.toml").write_text(f'[endpoints.busy]\ntype = "slurm"\nfolder = "{found.folder}"\n')
    return found


def on(plan, processors):
    return next(c for c in plan["candidates"] if c["processors"] == processors)


def accounted(path, jobs=200, wait=0):
    """Write sacct's output: jobs that waited, and used a tenth of their ten hours."""
    lines = ["JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|AllocNodes|State"]
    for n in range(jobs):
        submit = ENDED - (jobs - n) * HOUR
        lines.append(f"{n}|ann|10:00:00|{HOUR}|{submit - wait}|{submit}|{submit + HOUR}|1|1|COMPLETED")
    path.write_text("\n".join(lines) + "\n")


def test_an_s3_is_predicted_by_its_own_past(gas, app, s3):
    """Jobs of ten hours ended at once; another one will be in the way, so ten processors are promised after it."""
    for job in [s3.simulated(1, 10 * HOUR, 1)["id"] for _ in range(30)]:
        s3.until(job, "completed")
    cancelled = s3.simulated(10, 20 * HOUR)
    s3.delete(f"/v1/jobs/{cancelled['id']}")
    later = int(time.time()) + 1800
    s3.simulated(8, 10 * HOUR, not_before=later)
    result = gas("plan", app, "-e", s3.url, "--samples", "50", "--json", "--predict", "auto")
    assert result.code == 0, result.err
    plan = result.json
    assert on(plan, 10)["start"] - later == pytest.approx(10 * HOUR, abs=5)
    assert on(plan, 10)["predicted"]["start_high"] - later < 60
    (scheduler,) = plan["prediction"]["schedulers"]
    assert (plan["prediction"]["history"], scheduler["history"]) == ("auto", f"{s3.url}'s own past")
    assert (scheduler["history_jobs"], scheduler["unknown_users"]) == (30, 0)


def test_an_s3_where_nothing_has_ended_says_so(gas, app, s3):
    s3.simulated(8, 10 * HOUR)
    result = gas("plan", app, "-e", s3.url, "--predict", "auto")
    assert result.code == 2
    assert ": no job has ended there yet, so there is no history to learn from; give a file" in result.err


def test_a_slurm_is_predicted_by_its_accounting(gas, app, slurm, tmp_path):
    accounted(slurm.folder / "accounting")
    result = gas(
        "plan",
        app,
        "--config",
        str(tmp_path / "gas.toml"),
        "--stale-ok",
        "--samples",
        "5",
        "--predict",
        "auto",
        "--json",
    )
    assert result.code == 0, result.err
    (scheduler,) = result.json["prediction"]["schedulers"]
    assert (scheduler["history"], scheduler["history_jobs"]) == ("busy's accounting", 200)
    (called,) = [line for line in slurm.lines("calls") if line.startswith("sacct")]
    assert called.startswith("sacct -aXP -r main -S now-90days -o JobID,User,Timelimit,")


def test_a_plan_does_not_wait_for_machine_code(gas, app, slurm, tmp_path, monkeypatch):
    accounted(slurm.folder / "accounting")
    monkeypatch.setattr("gas.agent.prediction.compiled_beside", lambda endpoint: True)
    monkeypatch.setattr(Queue, "uncompiled", lambda queue, arrivals: True)
    config = str(tmp_path / "gas.toml")
    result = gas("plan", app, "--config", config, "--stale-ok", "--samples", "5", "--predict", "auto", "--json")
    (scheduler,) = result.json["prediction"]["schedulers"]
    assert (scheduler["predicted"], scheduler["samples"], result.code) == (True, 5, 0)
    assert "compiling" not in result.err


def test_no_start_is_predicted_before_the_end_of_a_long_prediction(gas, app, slurm, tmp_path, monkeypatch):
    accounted(slurm.folder / "accounting")
    monkeypatch.setattr("gas.agent.choice.QUICK_SECONDS", 0)
    monkeypatch.setattr("gas.agent.choice.seconds_since", lambda answers: 12.5)
    config = str(tmp_path / "gas.toml")
    result = gas("plan", app, "--config", config, "--stale-ok", "--samples", "5", "--predict", "auto", "--json")
    assert result.code == 0, result.err
    starts = [one["predicted"]["start_low"] - result.json["now"] for one in result.json["candidates"]]
    assert min(starts) == 13
    assert len([line for line in slurm.lines("calls") if line.startswith("squeue")]) == 1, "it was read once"


def test_where_there_is_no_time_for_samples_similar_jobs_are_the_prediction(gas, slurm, tmp_path, monkeypatch):
    accounted(slurm.folder / "accounting", wait=1800)
    monkeypatch.setattr("gas.agent.prediction.compiled_beside", lambda endpoint: True)
    monkeypatch.setattr("gas.agent.prediction.seconds_left", lambda answer: 0.0)
    monkeypatch.setattr("gas.prediction.history.learning_is_ready", lambda: False)
    monkeypatch.setattr(Queue, "uncompiled", lambda queue, arrivals: True)
    alike = tmp_path / "alike.toml"
    alike.write_text('name = "alike"\n[speedup]\nmodel = "table"\ntimes = { 1 = 36000 }\n[walltime]\nsafety = 1\n')
    config = str(tmp_path / "gas.toml")
    result = gas("plan", str(alike), "--config", config, "--stale-ok", "--predict", "auto", "--json")
    assert result.code == 0, result.err
    assert "predicted by the waits of the last similar jobs, without its present queue" in result.err
    assert result.json["best"]["predicted"]["start"] - result.json["now"] == 1800
    assert result.json["prediction"]["schedulers"][0]["samples"] < LEAST_SAMPLES


def test_what_sacct_says_badly_is_left_out_and_counted(gas, app, slurm, tmp_path):
    path = slurm.folder / "accounting"
    accounted(path)
    path.write_text(path.read_text() + "200|ann\n")
    result = gas(
        "plan", app, "--config", str(tmp_path / "gas.toml"), "--stale-ok", "--samples", "5", "--predict", "auto"
    )
    assert "busy's accounting: 1 malformed line left out" in result.err
    assert "busy: learned from 200 jobs of busy's accounting that ended before now" in result.out


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    ("does", "told", "code"),
    [
        (None, "busy: its accounting is not available (sacct: Slurm accounting storage is disabled)", 2),
        ("exit 3", "busy: its accounting is not available (sacct: exit status 3)", 2),
        ("exit 0", "busy's accounting: is empty", 2),
        ("echo 'JobID|User|Timelimit|ElapsedRaw|Submit|Start|AllocCPUS'; exit 0", "busy's accounting: has no jobs", 2),
        ("sleep 60", "busy: sacct has not answered for 1 s", 4),
    ],
)
def test_a_slurm_without_accounting_says_so_and_what_helps(gas, app, slurm, tmp_path, does, told, code):
    config = tmp_path / "gas.toml"
    config.write_text(config.read_text() + "timeout = 1\n")
    slurm.does("sacct", does)
    result = gas("plan", app, "--config", str(config), "--stale-ok", "--predict", "auto")
    assert (result.code, result.out) == (code, "")
    assert told in result.err
    assert "give a file with its history (--predict FILE), or leave out --predict" in " ".join(result.err.split())


@pytest.mark.thorough
def test_who_cannot_be_asked_for_their_past_keep_their_planned_starts(gas, app, slurm, start_s3, tmp_path):
    accounted(slurm.folder / "accounting", jobs=30)  # so few that nothing has to be compiled first
    s3 = start_s3(10)
    config = tmp_path / "gas.toml"
    config.write_text(config.read_text() + f'[endpoints.new]\ntype = "s3"\nurl = "{s3.url}"\n')
    result = gas("plan", app, "--config", str(config), "--stale-ok", "--samples", "5", "--predict", "auto", "--json")
    assert result.code == 0, result.err
    assert "new: no job has ended there yet" in result.err
    assert "its planned starts are used" in result.err
    assert {c["scheduler"]: c["predicted"] is None for c in result.json["candidates"]} == {"busy": False, "new": True}


def test_a_file_of_that_name_is_named_with_its_folder(gas, app, s3, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    accounted(tmp_path / "auto")
    result = gas("plan", app, "-e", s3.url, "--samples", "5", "--predict", "./auto", "--json")
    assert result.code == 0, result.err
    assert result.json["prediction"]["schedulers"][0]["history_jobs"] == 200
