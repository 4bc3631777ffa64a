"""gas cancel: jobs by number, or all of one's own; one that cannot be cancelled does not stop the others."""

import json
import time

import pytest


@pytest.fixture
def jobs(s3):
    return [s3.simulated(6, 3600)["id"] for _ in range(3)]


def states(s3, jobs):
    return [s3.job(job)["state"] for job in jobs]


def test_several_jobs_at_once(gas, s3, jobs):
    result = gas("cancel", str(jobs[0]), str(jobs[2]), str(jobs[0]), "-e", s3.url)
    assert (result.code, result.err) == (0, "")
    assert result.out.count("cancelled") == 2
    s3.until(jobs[0], "cancelled")
    s3.until(jobs[1], "running")


def test_a_running_job_that_takes_a_moment_to_end_is_not_called_running(gas, s3):
    job = s3.process(1, 60, "sleep", "60")["id"]
    s3.until(job, "running")
    said = gas("cancel", str(job), "-e", s3.url).out
    assert "is being cancelled; it is still running, and ends in a moment" in said or ": cancelled" in said
    assert "at the latest" not in said


def test_a_bad_number_does_not_stop_the_others(gas, s3, jobs):
    result = gas("cancel", "99", str(jobs[1]), "x", str(jobs[2]), "-e", s3.url)
    assert result.code == 1
    assert "there is no job 99" in result.err
    assert "job 'x': is not a job" in result.err
    assert result.err.endswith("gas: 2 jobs of 4 not cancelled\n")
    assert states(s3, jobs)[1:] == ["cancelled", "cancelled"]


def test_as_json_one_is_a_job_and_several_are_a_list_with_what_failed(gas, s3, jobs):
    assert gas("cancel", str(jobs[2]), "-e", s3.url, "--json").json["schema"] == "gas.job/1"
    result = gas("cancel", str(jobs[1]), "99", "-e", s3.url, "--json")
    found = json.loads(result.out)
    assert (found["schema"], [j["id"] for j in found["jobs"]]) == ("gas.cancelled/1", [jobs[1]])
    assert [(f["job"], "no job 99" in f["error"]) for f in found["failed"]] == [("99", True)]


def test_all_of_ones_own_are_cancelled_with_yes_only_where_there_is_nobody_to_ask(gas, s3, jobs, monkeypatch):
    refused = gas("cancel", "--all", "-e", s3.url)
    assert refused.code == 2
    assert "would cancel 3 jobs on" in refused.err
    assert "add --yes" in refused.err
    assert "cancelled" not in states(s3, jobs)
    done = gas("cancel", "--all", "--yes", "-e", s3.url)
    assert done.code == 0
    for job in jobs:
        s3.until(job, "cancelled")
    assert "you have no queued or running jobs" in gas("cancel", "--all", "--yes", "-e", s3.url).err


def test_all_leaves_reservations_and_other_users_jobs(gas, endpoints, tmp_path):
    from made_endpoints import job as made_job

    mine, others, held = made_job(1, "queued"), made_job(2, "queued") | {"mine": False}, made_job(3, "reserved")
    (tmp_path / "queue.json").write_text(json.dumps([[mine, others, held]]))
    config = endpoints(hpc=f'type = "queue"\npath = "{tmp_path / "queue.json"}"')
    result = gas("cancel", "--all", "--config", config)
    assert "would cancel 1 job on hpc (1)" in result.err


def test_what_all_keeps_is_said(gas, s3):
    s3.post("/v1/reservations", {"processors": 1, "start": int(time.time()) + 3600, "walltime": 60})
    done = gas("cancel", "--all", "--yes", "-e", s3.url)
    assert (done.code, "1 reservation kept (1); gas cancel NUMBER cancels one" in done.err) == (0, True)


@pytest.mark.parametrize(("words", "said"), [([], "which job? Write its number"), (["1", "--all"], "leave out their")])
def test_which_jobs_is_to_be_clear(gas, words, said):
    result = gas("cancel", *words)
    assert (result.code, said in result.err) == (2, True)
