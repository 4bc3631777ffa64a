"""Instants and durations as people write them."""

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas import BadInput
from gas.times import (
    LATEST,
    LONGEST,
    clock_text,
    duration_text,
    has_passed_today,
    iso_time,
    parse_duration,
    parse_instant,
    parse_past_instant,
    relative_text,
)

NOW = 1_731_000_000


@pytest.fixture
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_time_zone_a_day_from_utc_is_no_reason_to_fail(utc, monkeypatch):
    monkeypatch.setenv("TZ", "ODD+24")
    time.tzset()
    assert clock_text("18:30", 0).startswith("1969-12-31T18:30:00 by the local clock, 1970-01-01T18:30:00Z")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1m", 60),
        ("30min", 1800),
        ("1h30min", 5400),
        ("12h30m", 12 * 3600 + 30 * 60),
        ("1d12h30m", 36 * 3600 + 30 * 60),
        ("2w", 14 * 86400),
        ("00:00:01", 1),
        ("12:30:00", 12 * 3600 + 30 * 60),
        ("100:00:00", 360000),
        ("1-12:30:00", 36 * 3600 + 30 * 60),
        (" 5m ", 300),
        ("4294967296s", LONGEST),
    ],
)
def test_durations_as_schedulers_write_them(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a duration"),
        ("90", "without a unit; write 90s, 90m or 90h"),
        ("1.5h", "not a duration"),
        ("-5m", "not a duration"),
        ("1h30", "not a duration"),
        ("12:60:00", "not a duration"),
        ("12:00:60", "not a duration"),
        ("1-12:30", "not a duration"),
        ("5 m", "not a duration"),
        ("5\nm", "not a duration"),
        ("\u0665m", "not a duration"),  # an Arabic five
        ("0s", "must be at least 1 s"),
        ("00:00:00", "must be at least 1 s"),
        ("4294967297s", "is above 4294967296 s"),
        ("99999999999w", "is above 4294967296 s"),
        ("9" * 5000 + "s", "too long for a duration"),
        ("\n" * 5 + "x\n" * 50, "too long for a duration"),
    ],
)
def test_what_is_no_duration_is_refused_with_a_way_out(text, message):
    with pytest.raises(BadInput, match=message) as caught:
        parse_duration(text, "max_walltime")
    assert str(caught.value).startswith("max_walltime ")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("12:30", {12 * 3600 + 30 * 60, 12 * 60 + 30}),
        ("90:05", {90 * 3600 + 5 * 60, 90 * 60 + 5}),
        ("1:5", {3600 + 5 * 60, 65}),
    ],
)
def test_a_colon_b_is_refused_with_both_readings_as_one_may_write_them(text, readings):
    with pytest.raises(BadInput) as caught:
        parse_duration(text)
    message = str(caught.value)
    assert message.startswith(f"walltime {text}: could mean ")
    written = re.findall(r"\b\d+h\d+m\b|\b\d+m\d+s\b|\b\d+:\d+:\d+\b", message)
    assert {parse_duration(one) for one in written} == readings


def test_a_minimum_of_0_allows_no_time_at_all():
    assert parse_duration("0s", minimum=0) == 0


@given(st.integers(1, LONGEST))
def test_all_spellings_of_a_duration_are_the_same(seconds):
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    assert parse_duration(f"{days}-{hours:02}:{minutes:02}:{rest:02}") == seconds
    assert parse_duration(f"{days * 24 + hours}:{minutes:02}:{rest:02}") == seconds
    assert parse_duration(f"{days}d{hours}h{minutes}m{rest}s") == seconds
    assert parse_duration(f"{seconds}s") == seconds


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-21T08:00Z", 1795248000),
        ("2026-11-21T08:00:30+01:00", 1795244430),
        ("2026-11-21 08:00", 1795248000),
        ("2026-11-21", 1795219200),
        ("@1731000000", NOW),
        ("@0", 0),
        ("+2h", NOW + 7200),
        ("+0s", NOW),
        (" +1-00:00:00 ", NOW + 86400),
        ("30min", NOW + 1800),
        ("1h30min", NOW + 5400),
        ("2h", NOW + 7200),
        ("2026-11-21 8:00", 1795248000),
        ("18:30", 1731004200),  # NOW is 17:20 of a Thursday
        ("17:20", NOW),
        ("17:19", NOW - 60 + 86400),
        ("17:20:01", NOW + 1),
        ("9:00", 1730970000 + 86400),
        ("today 9:00", 1730970000),
        ("Tomorrow  09:00", 1730970000 + 86400),
        ("tomorrow 18:30", 1731004200 + 86400),
        ("Thursday 18:30", 1731004200),
        ("thursday 17:20", NOW),
        ("thu 9:00", 1730970000 + 7 * 86400),
        ("MON 9:00", 1730970000 + 4 * 86400),
        ("wednesday 09:00:00", 1730970000 + 6 * 86400),
    ],
)
def test_instants(utc, text, instant):
    assert parse_instant(text, NOW) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2h", NOW - 7200),
        ("0s", NOW),
        ("17:19", NOW - 60),
        ("18:30", 1731004200 - 86400),  # NOW is 17:20
        ("today 9:00", 1730970000),
        ("thursday 9:00", 1730970000),
        ("thursday 18:30", 1731004200 - 7 * 86400),
        ("Fri 9:00", 1730970000 - 6 * 86400),
        ("2024-11-07", 1730937600),
        ("@5", 5),
    ],
)
def test_instants_that_are_over(utc, text, instant):
    assert parse_past_instant(text, NOW) == instant


@pytest.mark.parametrize("text", ["+2h", "tomorrow 9:00", "today 18:30", "2099-01-01", "yore"])
def test_what_is_still_to_come_is_not_over(utc, text):
    with pytest.raises(BadInput, match="--since"):
        parse_past_instant(text, NOW, "--since")


def test_what_is_no_instant_at_all_is_answered_with_those_that_are_over(utc):
    with pytest.raises(BadInput, match=r"--since 'yore': not a time; write 2h or 30min \(ago\), 18:30"):
        parse_past_instant("yore", NOW, "--since")


@pytest.mark.parametrize(("text", "passed"), [("0:01", True), ("23:59", False), ("today 0:01", False), ("+1h", False)])
def test_a_time_of_day_that_has_passed_is_tomorrows(utc, text, passed):
    assert has_passed_today(text, 1_800_014_400) is passed  # noon


def test_a_date_without_a_zone_is_local(monkeypatch, utc):
    monkeypatch.setenv("TZ", "EST+5")
    time.tzset()
    assert parse_instant("2026-11-21T08:00", NOW) == 1795248000 + 5 * 3600
    assert parse_instant("2026-11-21T08:00Z", NOW) == 1795248000


@pytest.mark.parametrize(
    ("now", "text", "instant"),
    [
        (1792888000, "2:30", 1792893600 - 5400),  # clocks go back at 3:00: 2:30 is yet to come, for the first time
        (1792889999, "3:00", 1792893600),
        (1792890300, "2:30", 1792893600 - 1800),  # and for the second
        (1774746000 - 3600, "2:30", 1774746000 + 86400 - 1800),  # clocks skip it: the next is that of tomorrow
        (1774746000 - 3600, "tomorrow 2:30", 1774746000 + 86400 - 1800),
        (1774746000 - 3 * 86400, "monday 2:30", 1774746000 + 86400 - 1800),
    ],
)
def test_the_next_time_that_a_clock_shows_it_when_clocks_are_changed(monkeypatch, utc, now, text, instant):
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    assert datetime.fromtimestamp(instant).strftime("%-H:%M") == text.split()[-1]
    assert parse_instant(text, now) == instant


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a time"),
        ("tomorrow 24:00", "not a time"),
        ("18:60", "not a time"),
        ("yesterday 9:00", "not a time"),
        ("30mins", "not a time"),
        ("tomorrow", "not a time"),
        ("monday", "not a time"),
        ("mond 9:00", "not a time"),
        ("1731000000", "not a time"),
        ("2026-02-30", "not a time"),
        ("2026-11-21T25:00", "not a time"),
        ("@-1", "not a time"),
        ("@99999999999999999", "not a time"),
        ("@9999999999999999", "is outside 0 to"),
        ("1969-12-31T23:00Z", "is outside 0 to"),
        ("1969-12-31\n23:00Z", "is outside 0 to"),
        ("0001-01-01T00:00+23:00", "not a time|is outside 0 to"),
        ("+12:30", "could mean 12h30m or 12m30s"),
        ("+5", "without a unit"),
        ("+-5m", "not a duration"),
    ],
)
def test_what_is_no_instant_is_refused(utc, text, message):
    with pytest.raises(BadInput, match=message) as caught:
        parse_instant(text, NOW, "deadline")
    assert str(caught.value).startswith("deadline ")
    assert len(str(caught.value).splitlines()) == 1


near = st.text(st.sampled_from("0123456789:-+@.dhmswTZ \n\t\u0665"), max_size=25) | st.lists(
    st.sampled_from(["today", "tomorrow", "Monday", "sun", " ", "9", "18", ":30", "min", "h", "+"]), max_size=6
).map("".join)


@examples(500)
@given(near | st.text(max_size=60))
def test_any_text_at_all_is_read_or_refused_in_one_line(text):
    for parse in (parse_duration, lambda t: parse_instant(t, NOW)):
        try:
            assert 0 <= parse(text) <= LATEST
            continue
        except BadInput as error:
            said = str(error)
        assert len(said.splitlines()) == 1


@given(st.integers(0, 253_402_300_799))  # the end of the year 9999
def test_iso_times_are_read_as_the_same_instant(instant):
    assert int(datetime.fromisoformat(iso_time(instant)).timestamp()) == instant
    assert parse_instant(iso_time(instant), NOW) == instant
    assert iso_time(instant).endswith("Z")


def test_after_the_year_9999_instants_are_epoch_seconds():
    assert iso_time(LATEST) == f"@{LATEST}"
    assert parse_instant(iso_time(LATEST), NOW) == LATEST
    assert iso_time(0) == datetime.fromtimestamp(0, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (36, "36s"),
        (59, "59s"),
        (60, "1m00s"),
        (330, "5m30s"),
        (3599, "59m59s"),
        (3600, "1h00m"),
        (7559, "2h05m"),
        (86399, "23h59m"),
        (86400, "1d00h"),
        (3 * 86400 + 4 * 3600 + 59, "3d04h"),
        (-330, "-5m30s"),
    ],
)
def test_durations_in_their_two_largest_units(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59, "59s"),
        (330, "5m30s"),
        (3600, "1h00m"),
        (3601, "1h00m01s"),
        (7559, "2h05m59s"),
        (86400, "1d00h"),
        (3 * 86400 + 4 * 3600 + 59, "3d04h00m59s"),
        (-3601, "-1h00m01s"),
    ],
)
def test_exact_durations_differ_where_the_seconds_do(seconds, text):
    assert duration_text(seconds, exact=True) == text


def test_instants_as_seen_from_now():
    assert relative_text(NOW, NOW) == "now"
    assert relative_text(NOW + 7500, NOW) == "in 2h05m"
    assert relative_text(NOW - 300, NOW) == "5m00s ago"
