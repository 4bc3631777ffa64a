"""Workloads of Batsim: which files of others are read, and which cannot be."""

import json

import pytest

from workloads import Log, LogError
from workloads.batsim import format_batsim, parse_batsim

PROFILES = {
    "short": {"type": "delay", "delay": 10},
    "long": {"type": "DelayProfile", "delay": 60.5},
    "both": {"type": "composed", "seq": ["short", "long"], "repeat": 2},
    "work": {"type": "parallel", "cpu": [1e9], "com": [0]},
    "loop": {"type": "composed", "seq": ["loop"]},
    "fails": {"type": "delay", "delay": 3, "ret": 1},
}


def job(**changed):
    return {"id": 1, "subtime": 0, "res": 4, "profile": "short", **changed}


def read(*jobs, lenient=False, **others):
    document = {"nb_res": 64, "jobs": list(jobs), "profiles": PROFILES, **others}
    return parse_batsim(json.dumps(document).encode(), name="w.json", lenient=lenient)


def test_a_job_runs_as_long_as_its_profile():
    log = read(job(), job(id=2, profile="long"), job(id=3, profile="both", walltime=200))
    assert log.run_time.tolist() == [10, 60.5, 141]
    assert log.requested_time.tolist() == [-1, -1, 200]
    assert log.header.max_procs == 64


def test_a_profile_that_fails_is_a_failed_job():
    assert read(job(profile="fails")).status.tolist() == [0]


@pytest.mark.parametrize(("ids", "numbers"), [(["w0!17", "w0!4"], [17, 4]), (["a", "7"], [1, 2])])
def test_jobs_are_numbered_by_their_ids_where_these_are_numbers(ids, numbers):
    assert read(*(job(id=each) for each in ids)).job.tolist() == numbers


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"profile": "work"}, "how long it takes depends on a platform"),
        ({"profile": "none"}, "there is no profile 'none'"),
        ({"profile": "loop"}, "is of type 'composed'"),
        ({"res": 0}, "0 is not a whole number of resources"),
        ({"res": 1.5}, "not a whole number of resources"),
        ({"subtime": "soon"}, '"subtime": \'"soon"\' is not a number'),
        ({"subtime": None}, "is not a number"),
    ],
)
def test_a_job_that_cannot_be_read_is_refused_or_left_out_and_counted(changed, message):
    with pytest.raises(LogError, match=message) as refused:
        read(job(), job(**changed))
    assert refused.value.line == 2
    log = read(job(), job(**changed), lenient=True)
    assert len(log) == 1
    assert sum(log.skipped.values()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[]", "an object"), ('{"jobs": []}', 'has no "profiles"'), ("[" * 10**5, "is not JSON")],
)
def test_other_json_is_refused_in_words(text, message):
    with pytest.raises(LogError, match=message):
        parse_batsim(text.encode())


def test_for_slurm_output_as_json_the_error_says_how_to_read_it():
    with pytest.raises(LogError, match="what Slurm prints as JSON.*print it as text: sacct -aXP -o JobID,User,Acc"):
        parse_batsim(b'{"meta": {}, "jobs": [{"job_id": 7, "time": {"elapsed": 3}}], "errors": []}')


def test_others_extra_data_is_not_taken_for_fields():
    log = read(job(extra_data="not json"), job(extra_data={"user": "ann", "wait": True, "run_time": [1]}))
    assert log.user.tolist() == [-1, -1]
    assert log.wait.tolist() == [-1, -1]
    assert log.run_time.tolist() == [10, 10]


def test_a_log_without_a_job_for_it_is_refused():
    log = Log.from_columns({"submit": [0], "run_time": [-1], "requested_processors": [1]}, name="made")
    with pytest.raises(LogError, match="has no job for Batsim: 1 without a run time"):
        format_batsim(log)
