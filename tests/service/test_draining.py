"""A draining service's remaining work is read from its store, also while it runs."""

from gas.service.draining import remaining, until_drained


def test_what_has_not_ended_remains_the_first_to_start_first(start_s3, tmp_path):
    assert remaining(tmp_path / "state") == []
    service = start_s3(4, state=tmp_path / "state")
    first = service.simulated(4, 3600)["id"]
    wide, narrow = service.simulated(4, 3600)["id"], service.simulated(2, 60)["id"]
    service.delete(f"/v1/jobs/{wide}")
    service.until(first, "running")
    assert [job.id for job in remaining(tmp_path / "state")] == [first, narrow]


def test_a_state_that_no_service_uses_is_drained(tmp_path):
    (tmp_path / "state").mkdir()
    assert list(until_drained(tmp_path / "state")) == []


def test_a_damaged_store_does_not_end_the_wait(tmp_path):
    (tmp_path / "s3.sqlite").write_bytes(b"nothing that SQLite knows" * 100)
    assert remaining(tmp_path) == []
