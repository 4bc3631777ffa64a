"""The effect of an outage on starts: a job's reservation has lapsed, other missed jobs are planned again."""

import pytest

from gas.service.clock import Clock
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler

NOW = 1_000_001


def reservation(start, run_time=0):
    return JobRequest("reservation", "held", 10, 50, actuator="none", start=start, run_time=run_time)


@pytest.mark.parametrize("away", [0, 1, 1000])
def test_a_reservation_for_a_job_that_nobody_used_has_lapsed_at_its_start(live, hand, tmp_path, away):
    live.submit(reservation(NOW + 30))
    waiting, _ = live.submit(JobRequest("job", "job", 10, 40, actuator="simulated", run_time=40))
    assert waiting.promise == NOW + 80
    live.stop()
    hand.time = NOW + 30 + away
    found = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    hand.time += 1
    lapsed, next = found.job(1), found.job(2)
    assert (lapsed.state, lapsed.finished) == ("cancelled", NOW + 30)
    assert "lapsed at its start" in lapsed.message
    assert (next.state, next.start - NOW) == ("running", 31 + away)
    assert found.health()["promises_broken"] == (away > 50), "only that of a start that was missed itself"
    assert "reservation" not in {job.request.kind for job in found.jobs()}
    found.stop()
    again = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    assert again.job(1).to_wire() == lapsed.to_wire(), "that is durable"
    again.stop()


def test_one_to_hold_processors_is_planned_again(live, hand, tmp_path):
    live.submit(reservation(NOW + 30, None))
    live.stop()
    hand.time = NOW + 40
    found = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    assert (found.job(1).state, found.job(1).start) == ("reserved", NOW + 41)
    assert found.health()["promises_broken"] == 1
    found.stop()


def test_a_start_in_the_very_second_of_reading_is_not_missed_if_the_next_second_comes_first(live, hand, tmp_path):
    for _ in range(2):
        live.submit(JobRequest("job", "job", 10, 40, actuator="simulated", run_time=40))
    hand.time += 2
    assert (live.job(1).state, live.job(2).promise) == ("running", NOW + 40)
    live.stop()
    hand.time = NOW + 40
    found = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    hand.time += 1
    assert (found.job(2).state, found.job(2).start) == ("running", NOW + 40)
    assert found.health()["promises_broken"] == 0
    found.stop()
