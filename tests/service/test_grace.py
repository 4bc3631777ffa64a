from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from gas.errors import StoreDamaged
from gas.service.grace import GRACE_SECONDS, JUMP_SECONDS, Grace
from gas.service.retention import Retention
from gas.times import iso_time

DAY = 86400
KEEP = 90 * DAY
NOW = 1_000 * DAY


def test_without_a_jump_jobs_are_forgotten_by_their_age():
    assert Grace().oldest(NOW, KEEP) == NOW - KEEP
    assert Grace().after(JUMP_SECONDS, NOW) == Grace(), "a weekday's outage is no jump"


def test_a_jump_counts_after_a_week_of_service():
    grace = Grace().after(100 * DAY, NOW)
    assert grace.oldest(NOW, KEEP) == NOW - 190 * DAY
    assert grace.lasts(NOW + GRACE_SECONDS - 1, KEEP)
    assert grace.oldest(NOW + GRACE_SECONDS, KEEP) == NOW + GRACE_SECONDS - KEEP


def test_what_was_old_without_the_jump_is_forgotten_within_the_grace():
    grace = Grace().after(100 * DAY, NOW)
    ended = NOW - 100 * DAY - KEEP + 1  # due a day later, counting only days on which the service ran
    assert grace.oldest(NOW, KEEP) < ended < grace.oldest(NOW + DAY, KEEP)


@pytest.mark.parametrize(("keep", "lasts"), [(0, 0), (3600, 3600), (30 * DAY, GRACE_SECONDS)])
def test_it_lasts_no_longer_than_jobs_are_kept(keep, lasts):
    grace = Grace().after(100 * DAY, NOW)
    assert not grace.lasts(NOW + lasts, keep)
    assert grace.lasts(NOW + max(0, lasts - 1), keep) == (lasts > 0)


def test_restarts_neither_end_nor_extend_it():
    """Only time while the service runs uses it up, however often it is restarted."""
    grace, now = Grace().after(100 * DAY, NOW), NOW
    for _ in range(14):
        now += DAY // 2  # it runs
        assert grace.lasts(now - 1, KEEP)
        now += DAY  # it is away
        grace = grace.after(DAY, now)
    assert not grace.lasts(now, KEEP)


def test_jumps_that_follow_each_other_add_up():
    grace = Grace().after(100 * DAY, NOW).after(50 * DAY, NOW + 51 * DAY)
    assert grace.oldest(NOW + 51 * DAY, KEEP) == NOW + 51 * DAY - KEEP - 150 * DAY
    later = NOW + 100 * DAY
    assert grace.after(2 * DAY, later).jumped == 2 * DAY, "the first ones count by then"


def test_it_is_written_and_read():
    grace = Grace().after(100 * DAY, NOW)
    assert Grace.read(grace.text()) == grace
    with pytest.raises(StoreDamaged, match="grace 'x'"):
        Grace.read("x")


def test_the_log_says_until_when_old_jobs_are_kept_after_a_jump(caplog):
    grace = Grace().after(100 * DAY, NOW)
    store, clock = SimpleNamespace(ended_before=lambda instant, limit: []), SimpleNamespace(now=lambda: NOW)
    Retention(KEEP, store, None, clock, lambda: grace, nullcontext()).delete_old()
    assert caplog.messages[0].endswith(f"are kept at least until {iso_time(NOW + GRACE_SECONDS)}")
