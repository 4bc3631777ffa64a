import itertools
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.pictures.dates import calendar_ticks, dated, window_text
from workloads import Epoch
from workloads.header import Header

STOCKHOLM = ZoneInfo("Europe/Stockholm")
HOUR, DAY = 3600, 86400


def epoch(*date, zone=STOCKHOLM):
    return Epoch(int(datetime(*date, tzinfo=zone).timestamp()), zone)


def labels(first, last, when):
    return [tick.label for tick in calendar_ticks(first, last, when)]


def test_a_day_is_told_in_hours_and_the_date_where_it_changes():
    assert labels(0, 9 * HOUR, epoch(1996, 12, 31, 20)) == [
        *("20:00\n31 Dec 1996", "21:00", "22:00", "23:00"),
        *("00:00\n1 Jan 1997", "01:00", "02:00", "03:00", "04:00", "05:00"),
    ]


def test_a_week_is_told_in_days_and_the_year_where_it_changes():
    when = epoch(1996, 12, 29, 12)
    assert labels(0, 8 * DAY, when)[:4] == ["30 Dec\n1996", "31 Dec", "1 Jan\n1997", "2 Jan"]
    assert [tick.second for tick in calendar_ticks(0, 8 * DAY, when)][:2] == [DAY // 2, DAY // 2 + DAY]


def test_weeks_begin_on_monday():
    assert labels(0, 60 * DAY, epoch(1996, 10, 1))[:3] == ["7 Oct\n1996", "14 Oct", "21 Oct"]


def test_a_year_is_told_in_months_and_decades_in_years():
    assert labels(0, 350 * DAY, epoch(1996, 10, 1))[:5] == ["Oct\n1996", "Nov", "Dec", "Jan\n1997", "Feb"]
    assert labels(0, 3652 * DAY, epoch(1990, 1, 1))[:3] == ["1990", "1991", "1992"]


def test_midnight_stays_midnight_when_the_clocks_change():
    when = epoch(1996, 10, 25)  # the 27th has 25 hours
    ticks = calendar_ticks(0, 5 * DAY, when)
    for tick in (t for t in ticks if "00:00" in t.label):
        assert datetime.fromtimestamp(when.start + tick.second, STOCKHOLM).hour == 0
    days = [t.second for t in ticks if "00:00" in t.label]
    assert [b - a for a, b in itertools.pairwise(days)] == [DAY, DAY, DAY + HOUR, DAY]


def test_an_hour_that_the_clocks_repeat_is_told_once():
    when = epoch(1996, 10, 27)
    ticks = calendar_ticks(0, 3 * HOUR + 1800, when)  # until the second 02:30
    assert [tick.label for tick in ticks if tick.label.startswith("02:")] == ["02:00", "02:30"]
    assert ticks[-1].second == 2 * HOUR + 1800


def test_an_hour_that_the_clocks_leave_out_has_no_tick():
    assert "02:00" not in labels(0, 6 * HOUR, epoch(1997, 3, 30))
    assert "03:00" in labels(0, 6 * HOUR, epoch(1997, 3, 30))


def test_a_log_that_does_not_know_its_days_counts_them():
    nowhen = Header().epoch
    assert not dated(nowhen)
    assert labels(0, 4 * DAY, nowhen)[:3] == ["00:00\nday 0", "12:00", "00:00\nday 1"]
    assert labels(0, 100 * DAY, nowhen)[:3] == ["day 0", "day 14", "day 28"]
    assert labels(0, 900 * DAY, nowhen)[:2] == ["day 0", "day 100"]
    assert window_text(-60, DAY, nowhen) == "day -1 23:59 to day 1 00:00"


def test_a_window_in_words_names_the_zone():
    assert window_text(0, 7 * DAY, epoch(1996, 11, 4, 8)) == "4 Nov 1996 08:00 to 11 Nov 1996 08:00 (Europe/Stockholm)"


@given(
    st.integers(-(10**9), 10**9),
    st.integers(1, 2 * 10**9),
    st.sampled_from(["Europe/Stockholm", "US/Pacific", "Asia/Kathmandu", "Pacific/Apia"]),
)
def test_ticks_lie_within_increase_and_are_neither_none_nor_too_many(first, length, zone):
    when = Epoch(843480031, ZoneInfo(zone))
    ticks = calendar_ticks(first, first + length, when)
    seconds = [tick.second for tick in ticks]
    assert seconds == sorted(set(seconds))
    assert all(first <= second <= first + length for second in seconds)
    assert len(ticks) <= 14
    assert len(ticks) >= 1 or length < 3


@pytest.mark.parametrize("start", [-(2**53), 2**53])
def test_a_log_from_beyond_the_calendar_counts_days(start):
    assert labels(0, 4 * DAY, Epoch(start, STOCKHOLM))[0] == "00:00\nday 0"


def test_second_0_of_1970_is_no_date_even_if_a_log_says_so():
    header = Header.of([("UnixStartTime", 0), ("TimeZoneString", "UTC")])
    assert not dated(header.epoch)
    assert window_text(0, 9 * 86400, header.epoch) == "day 0 00:00 to day 9 00:00"
