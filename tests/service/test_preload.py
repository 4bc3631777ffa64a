import numpy as np
import pytest

from gas.errors import BadInput
from gas.s3.replay import replay
from gas.service.preload import log_instant, stood
from workloads import Header, Log, apply_overrun, rigid_jobs


@pytest.fixture
def log():
    """Ten jobs, one a day, each for half of the machine for two days: two run, the rest wait."""
    day = 86400
    count = 10
    columns = {
        "job": np.arange(1, count + 1) * 10,
        "submit": np.arange(count) * day // 2,
        "wait": np.full(count, -1),
        "run_time": np.full(count, 2 * day),
        "allocated_processors": np.full(count, 5),
        "requested_processors": np.full(count, 5),
        "requested_time": np.full(count, 3 * day),
    }
    header = Header.of([("UnixStartTime", 1_000_000_000), ("TimeZoneString", "Europe/Stockholm"), ("MaxProcs", 10)])
    return Log.from_columns(columns, header=header, name="made-up")


def test_instants_of_a_log_are_durations_shares_and_dates(log):
    assert log_instant(log, "1d") == 86400
    assert log_instant(log, "0%") == 0
    assert log_instant(log, "50%") == int(log.submit[-1]) // 2
    # second 0 is 2001-09-09T01:46:40Z, in Stockholm 03:46:40
    assert log_instant(log, "2001-09-09T04:46:40") == 3600
    assert log_instant(log, "2001-09-09T01:46:40+00:00") == 0


def test_crowded_is_when_most_jobs_wait_although_a_tenth_is_free(log):
    assert log_instant(log, "longest-queue") in set(log.submit.astype(int).tolist())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("101%", "outside made-up"),
        ("300d", "outside made-up, which goes from 2001-09-09T03:46:40"),
        ("1999-01-01T00:00", "outside made-up"),
        ("2001-99-01", "is not a date and time"),
        ("noon", "--at 'noon': is not a time in a log"),
        ("5", "is not a time in a log; write 120d"),
    ],
)
def test_instants_that_are_none(log, text, message):
    with pytest.raises(BadInput, match=message):
        log_instant(log, text)


def test_the_machine_stands_as_it_stood_moved_to_the_present(log):
    at, now = 3 * 86400, 1_800_000_000
    machine, jobs, rigid = stood(log, processors=None, at=at, now=now)
    then = replay(apply_overrun(rigid, "kill"), processors=10, until=at)
    assert machine.schedule.now == now
    assert {e.id: e.start - now + at for _, e, _ in jobs} == {e.id: e.start for e in then.schedule.entries.values()}
    assert all(name.endswith(" in the log") for name, _, _ in jobs)
    assert all(run_time == 2 * 86400 for _, _, run_time in jobs)
    machine.schedule.check()


def test_jobs_submitted_later_are_not_there(log):
    _, jobs, _ = stood(log, processors=10, at=0, now=1_800_000_000)
    assert [name for name, _, _ in jobs] == ["no. 10 in the log"]


def test_a_smaller_machine_leaves_larger_jobs_out(log):
    rigid = rigid_jobs(log, 4)
    assert len(rigid) == 0
    machine, jobs, _ = stood(log, processors=4, at=0, now=1_800_000_000)
    assert jobs == []
    assert machine.schedule.processors == 4
