"""One job of what slurmrestd answers, in the forms of its versions."""

import json

import pytest
from slurm_answers import changed, number

from gas.endpoints.slurm.json_answers import read_cluster, read_jobs


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (20, 1200),
        (None, None),
        ({"set": True, "infinite": False, "number": 20}, 1200),
        ({"set": False, "infinite": True, "number": 0}, None),
        ({"set": True, "infinite": True, "number": 0}, None),
        ({"set": False, "infinite": False, "number": 0}, None),
        (4294967295, None),
    ],
)
def test_a_time_limit_in_each_form(published, value, seconds):
    answers = changed(published, "jobs", lambda document: document["jobs"][0].update(time_limit=value))
    assert read_jobs(answers)[0].time_limit == seconds


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ("RUNNING", "RUNNING"),
        (["RUNNING"], "RUNNING"),
        (["COMPLETED", "COMPLETING"], "COMPLETING"),
        (["PENDING"], "PENDING"),
        (["RUNNING", "CONFIGURING"], "CONFIGURING"),
    ],
)
def test_a_state_is_a_word_or_several(published, states, state):
    answers = changed(published, "jobs", lambda document: document["jobs"][0].update(job_state=states))
    assert read_jobs(answers)[0].state == state


def test_a_job_of_nodes_that_was_cancelled_while_it_waited_has_no_cpus_any_more(published):
    """So slurmrestd v0.0.38 of Slurm 22.05, for as long as the job is remembered."""
    said = changed(published, "jobs", lambda it: it["jobs"][0].update(job_state="CANCELLED", cpus=None, nodes=""))
    assert (read_jobs(said)[0].state, read_jobs(said)[0].cpus) == ("CANCELLED", 0)


def test_a_running_task_of_an_array_is_one_task(published):
    task = {"array_job_id": number(17), "array_task_id": number(0), "array_task_string": ""}
    answers = changed(published, "jobs", lambda document: document["jobs"][0].update(task))
    found = read_jobs(answers)[0]
    assert (found.array, len(found.tasks), found.tasks.ranges[0][0]) == (17, 1, 0)


def test_allocated_cores_count_with_their_threads(published):
    def hyperthreads(document):
        for node in document["nodes"]:
            node |= {"threads": 2, "cpus": 16}

    found = read_cluster(changed(published, "nodes", hyperthreads), name="x")
    assert next(job for job in found.jobs if job.id == 2).cpus_on == {"n05": 16, "n06": 16, "n07": 8}


def test_cores_that_are_not_allocated_do_not_count(published):
    def release(document):
        job = next(job for job in document["jobs"] if job["job_id"] == 2)
        job["job_resources"]["allocated_nodes"][0]["sockets"]["0"]["cores"]["0"] = "unassigned"

    found = read_jobs(changed(published, "jobs", release))
    assert next(job for job in found if job.id == 2).cpus_on == {"n05": 7, "n06": 8, "n07": 4}


def wait_status(status, signal):
    return status << 8 | signal


@pytest.mark.parametrize(
    ("code", "status", "signal"),
    [
        (0, 0, None),
        (wait_status(3, 0), 3, None),
        (wait_status(0, 9), 0, 9),
        (wait_status(0, 11 | 0x80), 0, 11),  # with a core dump
        ({"status": "FAILED", "return_code": 3}, 3, None),
        ({"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": 9, "name": "KILL"}}, 0, 9),
        ({"status": ["FAILED"], "return_code": number(3), "signal": {"id": number(None), "name": ""}}, 3, None),
        ({"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(9), "name": "KILL"}}, 0, 9),
        (None, None, None),
    ],
)
def test_how_a_job_ended_in_each_form(published, code, status, signal):
    found = read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update(exit_code=code)))[0]
    assert (found.exit_status, found.signal) == (status, signal)


@pytest.mark.parametrize(
    ("out", "err", "stdout", "stderr"),
    [
        ("", "", "/home/u/slurm-1.out", "/home/u/slurm-1.out"),
        ("/tmp/a.txt", "", "/tmp/a.txt", "/tmp/a.txt"),
        ("logs/%x-%j.txt", "%8j.err", "/home/u/logs/ocean-1.txt", "/home/u/00000001.err"),
        ("%%j", "%A_%u", "/home/u/%j", "/home/u/1_ann"),
        ("on-%N.txt", "", "", ""),  # of the first node's name, which Slurm shortens
    ],
)
def test_where_the_output_of_a_batch_job_is(published, out, err, stdout, stderr):
    job = {"batch_flag": True, "current_working_directory": "/home/u", "name": "ocean", "user_name": "ann"}
    job |= {"standard_output": out, "standard_error": err}
    found = read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update(job)))[0]
    assert (found.stdout, found.stderr) == (stdout, stderr)


def test_new_versions_say_where_the_output_is_in_full(published):
    job = {"batch_flag": True, "standard_output": "%N", "stdout_expanded": "/o/n01", "stderr_expanded": "/e/n01"}
    found = read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update(job)))[0]
    assert (found.stdout, found.stderr) == ("/o/n01", "/e/n01")


def test_a_job_without_a_script_has_no_output(published):
    found = read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update(batch_flag=False)))[0]
    assert (found.stdout, found.stderr) == ("", "")


def test_a_cancelled_job_without_a_number_of_cpus_has_one_for_each_task(published):
    """So Slurm 22.05 shows one that asked for GPUs of the whole job and for no tasks."""
    document = json.loads(published["jobs"])
    document["jobs"][0] |= {"cpus": None, "tasks": 3, "job_state": "CANCELLED"}
    document["jobs"][1] |= {"cpus": None, "tasks": None, "job_state": "CANCELLED"}
    first, second, *_ = read_jobs({**published, "jobs": json.dumps(document).encode()})
    assert (first.cpus, second.cpus) == (3, 0)


def test_a_node_without_tasks_of_a_job_counts_by_its_cores(renewed_answers):
    """Seen on 24.11: one task on two nodes (MinNodes=2) shows no CPUs of the second, and all of its cores."""

    def on_two(document):
        job = next(one for one in document["jobs"] if one["job_state"][0] == "RUNNING")
        cores = [{"index": at, "cores": [{"index": 0, "status": ["ALLOCATED"]}]} for at in range(4)]
        job["nodes"] = "n[01-02]"
        job["job_resources"] = {"nodes": {"allocation": [
            {"name": "n01", "cpus": {"count": 1}, "sockets": cores[:1]},
            {"name": "n02", "cpus": {"count": 0}, "sockets": cores},
        ]}}  # fmt: skip

    found = read_jobs(changed(renewed_answers, "jobs", on_two))
    assert next(one for one in found if one.state == "RUNNING").cpus_on == {"n01": 1, "n02": 4}
