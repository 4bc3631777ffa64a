"""Parts of a log."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import Epoch, Header, Log, LogError, months_of, read_swf
from workloads.selection import between, first_jobs, in_months, month_before, noted

STOCKHOLM = ZoneInfo("Europe/Stockholm")
START = int(datetime(1996, 9, 23, 14, tzinfo=STOCKHOLM).timestamp())
LINES = (
    "; Version: 2.2",
    "; Acknowledge: somebody",
    "; MaxJobs: 99",
    "; MaxRecords: 99",
    f"; UnixStartTime: {START}",
    "; TimeZoneString: Europe/Stockholm",
)


def at(*when):
    """Return the second of the log at which clocks in Stockholm show this."""
    return int(datetime(*when, tzinfo=STOCKHOLM).timestamp()) - START


def log_of(**columns):
    return Log.from_columns(columns, header=Header(LINES), name="made-up.swf")


AUTUMN = [
    at(1996, 9, 23, 14),
    at(1996, 9, 30, 23, 59, 59),
    at(1996, 10, 1),
    at(1996, 10, 31, 23, 59, 59),
    at(1996, 12, 1),
]


def test_months_are_those_of_the_clock_on_the_machines_wall():
    labels, index = months_of(AUTUMN, log_of(submit=AUTUMN).epoch)
    assert labels == ["1996-09", "1996-10", "1996-12"]  # nobody came in November
    assert index.tolist() == [0, 0, 1, 1, 2]
    # The same seconds seen from Greenwich: the first of October is still September there.
    assert months_of(AUTUMN, Epoch(START, UTC))[1].tolist() == [0, 0, 0, 1, 2]


def test_no_instants_have_no_months():
    labels, index = months_of([], Epoch(0, UTC))
    assert (labels, index.tolist()) == ([], [])


ZONES = ["Europe/Stockholm", "US/Pacific", "US/Eastern", "Asia/Jerusalem", "America/Sao_Paulo", "Africa/Cairo", "UTC"]


@given(
    st.lists(st.integers(-(10**9), 2 * 10**9), min_size=1, max_size=20),
    st.sampled_from(ZONES),
    st.integers(0, 10**9),
)
def test_every_instant_has_the_month_that_the_calendar_gives_it(times, zone, start):
    epoch = Epoch(start, ZoneInfo(zone))
    labels, index = months_of(times, epoch)
    assert [labels[i] for i in index] == [f"{datetime.fromtimestamp(start + t, epoch.zone):%Y-%m}" for t in times]
    assert labels == sorted(set(labels))


@pytest.mark.parametrize("second", [2**53, -(2**53)])
def test_an_instant_outside_of_the_calendar_is_refused(second):
    with pytest.raises(LogError, match=f"x.swf: second {second} is outside of the calendar, .*--until DATE"):
        months_of([0, second], Epoch(0, UTC), name="x.swf")


def test_the_jobs_of_months_are_those_submitted_in_them():
    log = log_of(submit=AUTUMN)
    assert in_months(log, "1996-10").job.tolist() == [3, 4]
    assert in_months(log, ["1996-12", "1996-09"]).job.tolist() == [1, 2, 5]


def test_a_selection_keeps_the_header_counts_anew_and_says_what_was_selected():
    header = in_months(log_of(submit=AUTUMN), "1996-10").header
    assert header.lines[:6] == tuple(line.replace("99", "2") if "Max" in line else line for line in LINES)
    assert header.notes == ("Selected jobs: submitted in 1996-10 (2 of 5)",)


def test_the_month_before_january_is_december():
    assert (month_before("1997-01"), month_before("1996-10")) == ("1996-12", "1996-09")


def test_a_month_without_jobs_is_refused_with_the_months_that_have_some():
    with pytest.raises(
        LogError, match=r"made-up.swf: no job was submitted in 1996-11; its months are 1996-09, 1996-10, 1996-12"
    ):
        in_months(log_of(submit=AUTUMN), ["1996-10", "1996-11"])
    years = [at(year, 1, 2) for year in range(1997, 2020)]
    with pytest.raises(LogError, match="its months are 1997-01 to 2019-01"):
        in_months(log_of(submit=years), "1996-11")


@pytest.mark.parametrize("month", ["1996", "1996-13", "1996-1", "96-10", "oct", "", "1996-10-01", "١٩٩٦-10"])
def test_what_is_no_month_is_refused_with_an_example(month):
    with pytest.raises(LogError, match="is not a month; write one like 1996-10"):
        in_months(log_of(submit=AUTUMN), month)


@pytest.mark.parametrize(
    ("since", "until", "jobs"),
    [
        ("1996-10-01", None, [3, 4, 5]),
        (None, "1996-10-01", [1, 2]),
        ("1996-10-01", "1996-11-01", [3, 4]),
        ("1996-09-30T23:59:59", "1996-10-01T00:00:01", [2, 3]),
        ("1996-09-30T23:59:59.5", None, [3, 4, 5]),
        ("1996-09-30T22:00Z", None, [3, 4, 5]),  # midnight in Stockholm
        (date(1996, 10, 1), datetime(1996, 12, 1, tzinfo=STOCKHOLM), [3, 4]),
        (None, None, [1, 2, 3, 4, 5]),
    ],
)
def test_dates_take_in_the_first_and_leave_out_the_second(since, until, jobs):
    assert between(log_of(submit=AUTUMN), since, until).job.tolist() == jobs


@pytest.mark.parametrize(
    ("since", "until", "said"),
    [
        ("yesterday", None, '"yesterday" is not a date; write one like 1996-10-01'),
        ("1996-10-31", "1996-10-01", "from 1996-10-31 until 1996-10-01 is an empty span"),
        ("1996-10-01", "1996-10-01", "is an empty span"),
        (
            "1996-11-01",
            "1996-11-02",
            r"no job was submitted from 1996-11-01 until 1996-11-02; its jobs were, from "
            r"1996-09-23T14:00:00\+02:00 to 1996-12-01T00:00:00\+01:00",
        ),
    ],
)
def test_dates_that_leave_nothing_are_refused_with_what_there_is(since, until, said):
    with pytest.raises(LogError, match=said):
        between(log_of(submit=AUTUMN), since, until)


def test_jobs_are_selected_by_number():
    log = log_of(submit=range(10))
    assert first_jobs(log, 3).job.tolist() == [1, 2, 3]
    assert len(first_jobs(log, 30)) == 10


def test_the_first_none_jobs_are_refused():
    with pytest.raises(LogError, match="first 0: must be 1 or more"):
        first_jobs(log_of(submit=[0]), 0)


def test_partial_executions_are_records_of_one_job():
    log = noted(log_of(job=[1, 1, 1, 2], status=[1, 2, 3, 1]), "four lines")
    assert (log.header.max_jobs, log.header.max_records) == (2, 4)


def test_a_log_without_header_is_selected_from_too():
    part = first_jobs(Log.from_columns({"submit": [0, 1]}), 1)
    assert part.header.lines == ("; MaxJobs: 1", "; MaxRecords: 1", "; Note: Selected jobs: the first 1 (1 of 2)")


def test_parts_of_parts_say_both():
    part = first_jobs(in_months(log_of(submit=AUTUMN), "1996-10"), 1)
    assert part.header.notes == (
        "Selected jobs: submitted in 1996-10 (2 of 5)",
        "Selected jobs: the first 1 (1 of 2)",
    )


def test_the_months_of_a_real_log_cover_it_and_are_those_of_the_calendar(traces):
    log = read_swf(traces / "KTH-SP2-1996-2.1-cln.swf.gz")
    labels, index = months_of(log.submit, log.epoch)
    assert labels[0] == "1996-09"
    assert labels[-1] == "1997-08"
    assert len(labels) == 12
    assert (np.diff(index) >= 0).all()
    assert sum(len(in_months(log, month)) for month in labels) == len(log)
