"""Following schedulers that must be polled; tests/cli/test_jobs.py follows an S³, which sends events."""

import json
import signal
import subprocess
import sys

import pytest
from made_endpoints import job

PLANNED, LATER = job(1, "queued", expected=100), job(1, "queued", expected=160)
RUNS, DONE = job(1, "running", start=160, due=220), job(1, "completed", start=160, finished=200, exit_status=0)
FAILED = job(1, "failed", start=160, finished=200, exit_status=3)


@pytest.fixture
def queue(endpoints, tmp_path, monkeypatch):
    """Return a function that writes a configuration with a scheduler that answers these lists of jobs in turn."""
    monkeypatch.setattr("gas.agent.following.PAUSES", (0.01, 0.02))

    def write(*rounds):
        (tmp_path / "queue.json").write_text(json.dumps(rounds))
        return endpoints(hpc=f'type = "queue"\npath = "{tmp_path / "queue.json"}"')

    return write


def words(result):
    return [line.partition(": ")[2] for line in result.out.splitlines()]


def test_a_job_is_told_of_whenever_it_changes_until_it_has_ended(gas, queue):
    config = queue([PLANNED], [PLANNED], [LATER], [LATER], [RUNS], [RUNS], [DONE])
    result = gas("status", "--follow", "1", "--config", config)
    assert (result.code, result.err) == (0, "")
    assert words(result) == [
        "queued; expected to start 1970-01-01T00:01:40Z",
        "queued; expected to start 1970-01-01T00:02:40Z",
        "running since 1970-01-01T00:02:40Z, ends 1970-01-01T00:03:40Z at the latest",
        "completed with exit status 0 after 40s, at 1970-01-01T00:03:20Z",
    ]


def test_its_end_is_the_exit_code_and_with_json_each_line_is_an_event(gas, queue):
    result = gas("status", "--follow", "1", "--config", queue([RUNS], [RUNS], [FAILED]), "--json")
    assert result.code == 1
    assert "failed with exit status 3" in result.err
    events = [json.loads(line) for line in result.out.splitlines()]
    assert [(e["schema"], e["scheduler"], e["event"], e["data"]["state"]) for e in events] == [
        ("gas.event/1", "hpc", "job", "running"),
        ("gas.event/1", "hpc", "job", "failed"),
    ]


def test_a_scheduler_that_is_away_for_a_while_is_asked_again(gas, queue):
    result = gas("status", "--follow", "1", "--config", queue([RUNS], "hpc: away", "hpc: away", [DONE]))
    assert result.code == 0
    assert result.err == "gas: hpc: away; asking again\n"
    assert len(words(result)) == 2


def test_one_that_stays_away_is_exit_4(gas, queue, monkeypatch):
    monkeypatch.setattr("gas.agent.following.PATIENCE", 0.05)
    result = gas("status", "--follow", "1", "--config", queue([RUNS], "hpc: away"))
    assert (result.code, result.err.splitlines()[-1]) == (4, "gas: hpc: away")
    assert gas("status", "--follow", "1", "--config", queue("hpc: never there")).code == 4


def test_a_job_that_there_is_not_is_said_at_once(gas, queue):
    result = gas("status", "--follow", "2", "--config", queue([RUNS]))
    assert (result.code, result.err) == (1, "gas: hpc: there is no job 2\n")


def test_a_schedule_is_followed_by_what_happens_not_by_what_is_expected(queue, tmp_path):
    old, other = job(5, "completed", start=1, finished=2), job(2, "running", start=1, due=900)
    gone, new = job(3, "running", start=1, due=900), job(4, "queued", expected=500)
    config = queue(
        [old, PLANNED, other, gone],
        [old, LATER, other],  # 3 is not listed, so the client asks for it ...
        [old],  # ... and the service does not know it
        [old, RUNS, other, new],
    )
    command = [sys.executable, "-m", "gas", "status", "--follow", "--config", config]
    call = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [call.stdout.readline() for _ in range(3)]
    call.send_signal(signal.SIGINT)
    out, err = call.communicate(timeout=60)
    assert (call.returncode, out) == (130, "")
    assert lines[0] == "hpc: 2 jobs run on 8, 1 wait\n"
    assert lines[1].startswith("job 1 (j1), 4 processors, walltime 1m00s: running")
    assert lines[2].startswith("job 4 (j4), 4 processors, walltime 1m00s: queued")
    assert "gas: job 3 has left the schedule" in err
    assert err.endswith("gas: interrupted\n")
