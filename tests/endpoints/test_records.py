"""Jobs of other schedulers look like those of S³."""

from gas.endpoints.records import job_record, signal_name
from gas.endpoints.wording import tag_of
from gas.service.jobs import Job, JobRequest

FACTS = {
    "user": "ann", "viewer": "ann", "state": "running", "processors": 4, "walltime": 60, "actuator": "slurm",
    "exit_status": None, "message": None, "submitted": 0, "expected": 10, "start": 10, "due": 70, "finished": None,
}  # fmt: skip


def record(**more):
    return job_record(7, **{**FACTS, "tagged_name": "x", "signal": None, **more})


def test_it_has_all_the_keys_of_a_job_of_s3():
    keys = Job(1, JobRequest("job", "x", 1, 1, "none"), 0, "queued", 0, 0, 0, 0).to_wire().keys()
    assert record().keys() == keys | {"expected", "expected_iso"}


def test_instants_are_told_twice_and_promises_never():
    found = record()
    assert (found["start"], found["start_iso"]) == (10, "1970-01-01T00:00:10Z")
    assert (found["finished"], found["finished_iso"]) == (None, None)
    assert (found["promise"], found["promise_iso"]) == (None, None)


def test_the_tag_is_no_part_of_its_name():
    assert record(tagged_name=f"ocean.{tag_of('k')}")["name"] == "ocean"


def test_it_is_the_users_own_if_the_user_asks():
    assert [record(viewer=who)["mine"] for who in ("ann", "bob")] == [True, False]


def test_signals_have_their_names():
    import signal

    known = [number for number in range(1, 32) if not signal_name(number).startswith("signal ")]
    assert {9, 15} <= set(known)
    assert all(signal_name(number) == signal.Signals(number).name for number in known)
    assert record(signal=40)["signal"] == "signal 40"
