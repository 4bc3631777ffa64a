from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import schedule_of, schedules

from gas.simulation.metrics import metrics
from gas.simulation.months import month_bounds, month_documents, months
from workloads import Epoch, read_swf, rigid_jobs

STOCKHOLM = ZoneInfo("Europe/Stockholm")
HOUR, DAY = 3600, 86400


def second(year, month, day, hour=0, zone=STOCKHOLM):
    return int(datetime(year, month, day, hour, tzinfo=zone).timestamp())


def epoch(*date, zone=STOCKHOLM):
    return Epoch(second(*date, zone=zone), zone)


def labels(schedule, when, **more):
    return [(one.month, one.jobs) for one in months(schedule, when, **more)]


def jobs_at(*submit, length=10):
    return schedule_of([(at, 1, at, at + length) for at in submit], machine=4)


# ------------------------------------------------------------------------------------------------- which month


def test_a_job_belongs_to_the_month_of_its_submission():
    late = schedule_of([(DAY - 1, 1, DAY + 5, DAY + 9), (DAY, 1, DAY, DAY + 9)], machine=4)
    assert labels(late, epoch(1996, 10, 31)) == [("1996-10", 1), ("1996-11", 1)]


def test_or_of_its_end_where_that_is_asked_for():
    late = schedule_of([(DAY - 1, 1, DAY + 5, DAY + 9), (DAY, 1, DAY, DAY + 9)], machine=4)
    assert labels(late, epoch(1996, 10, 31), by="end") == [("1996-11", 2)]


def test_december_is_followed_by_january_of_the_next_year():
    assert labels(jobs_at(DAY - 1, DAY), epoch(1996, 12, 31)) == [("1996-12", 1), ("1997-01", 1)]
    assert month_bounds("1996-12", epoch(1996, 12, 1)) == (0, 31 * DAY)


def test_months_are_those_of_the_machines_zone():
    # In Stockholm midnight comes an hour before Greenwich's.
    assert labels(jobs_at(0, HOUR), epoch(1996, 12, 31, 23)) == [("1996-12", 1), ("1997-01", 1)]
    greenwich = Epoch(second(1996, 12, 31, 23), ZoneInfo("UTC"))
    assert labels(jobs_at(0, HOUR), greenwich) == [("1996-12", 2)]


def test_a_month_with_a_change_of_clocks_is_an_hour_shorter_or_longer():
    begin = epoch(1996, 3, 1)
    first, behind = month_bounds("1996-03", begin)
    assert behind - first == 31 * DAY - HOUR
    first, behind = month_bounds("1996-10", begin)
    assert behind - first == 31 * DAY + HOUR
    # The last second before midnight of summer's last month, counted from winter.
    assert labels(jobs_at(behind - 1, behind), begin) == [("1996-10", 1), ("1996-11", 1)]


def test_a_month_without_jobs_is_not_there():
    assert labels(jobs_at(0, 70 * DAY), epoch(1997, 1, 5)) == [("1997-01", 1), ("1997-03", 1)]


def test_no_jobs_no_months():
    assert months(schedule_of([], machine=1), epoch(1997, 1, 1)) == []


@given(schedules())
def test_the_months_together_are_the_log(schedule):
    # Three days a second: the schedule's half minute is a quarter of a year.
    stretched = schedule_of(
        [
            (int(a) * 3 * DAY, int(p), int(s) * 3 * DAY if ran else None, int(e) * 3 * DAY)
            for a, p, s, e, ran in zip(
                schedule.jobs.submit,
                schedule.jobs.processors,
                schedule.start,
                schedule.end,
                schedule.started,
                strict=True,
            )
        ],
        machine=schedule.jobs.machine,
    )
    found = months(stretched, epoch(1996, 9, 20))
    whole = metrics(stretched)
    assert [one.month for one in found] == sorted({one.month for one in found})
    assert sum(one.jobs for one in found) == whole.jobs
    assert sum(one.cancelled for one in found) == whole.cancelled
    assert sum(one.zero_length for one in found) == whole.zero_length
    ran = [one.jobs - one.cancelled for one in found]
    if any(ran):
        for name in ("mean_wait", "mean_response", "mean_bounded_slowdown", "backfilled"):
            of_months = [(getattr(one, name), n) for one, n in zip(found, ran, strict=True) if n]
            assert sum(value * n for value, n in of_months) / sum(ran) == pytest.approx(getattr(whole, name))


# -------------------------------------------------------------------------------------------------------- load


def test_the_load_of_a_month_is_what_jobs_held_of_the_machine_within_it():
    # From 29 October on 2 of 4 for 6 days, three of them in October and three in November; the second job is over on
    # 10 November, where the log's load ends too.
    made = schedule_of([(0, 2, 0, 6 * DAY), (4 * DAY, 4, 6 * DAY, 12 * DAY)], machine=4)
    october, november = months(made, epoch(1996, 10, 29))
    assert october.load == 0.5
    assert november.load == pytest.approx((2 * 3 + 4 * 6) / (4 * 9))


def test_the_offered_load_of_a_month_is_what_its_jobs_bring_along():
    made = schedule_of([(0, 2, 0, 6 * DAY), (4 * DAY, 4, 6 * DAY, 12 * DAY)], machine=4)
    october, november = months(made, epoch(1996, 10, 29))
    assert october.offered_load == 2 * 6 / (4 * 3)
    assert november.offered_load == pytest.approx(4 * 6 / (4 * 1))


def test_a_month_in_the_middle_is_as_long_as_in_the_calendar():
    made = schedule_of([(0, 4, 0, 10), (40 * DAY, 1, 40 * DAY, 50 * DAY), (90 * DAY, 1, 90 * DAY, 91 * DAY)], machine=4)
    found = {one.month: one for one in months(made, epoch(1997, 1, 1))}
    assert found["1997-02"].load == pytest.approx(10 / (4 * 28))
    assert found["1997-02"].offered_load == pytest.approx(10 / (4 * 28))


def test_a_single_instant_has_no_load():
    (only,) = months(schedule_of([(5, 1, 5, 5)], machine=4), epoch(1997, 1, 1))
    assert only.load == only.offered_load == 0


@given(st.integers(0, 40), st.integers(0, 100), st.integers(1, 60))
def test_loads_weighted_by_length_are_the_utilization(day, wait, length):
    last = day + wait + length
    empty = [(d * DAY, 1, d * DAY, d * DAY) for d in range(last + 1)]  # so that every month is there
    long = (day * DAY, 4, (day + wait) * DAY, last * DAY)
    made = schedule_of(sorted([*empty, long]), machine=4)
    when = epoch(1996, 6, 11)
    total = 0.0
    for one in months(made, when):
        first, behind = month_bounds(one.month, when)
        total += one.load * (min(behind, last * DAY) - max(first, 0))
    assert total == pytest.approx(metrics(made).utilization * last * DAY)


# --------------------------------------------------------------------------------------------------- documents


def test_documents_have_the_month_its_jobs_load_and_means():
    (only,) = month_documents(jobs_at(0, 5), epoch(1996, 10, 7))
    assert (only["month"], only["jobs"], type(only["jobs"])) == ("1996-10", 2, int)
    assert only["load"] == 2 * 10 / (4 * 15)
    assert only["mean_response"] == 10
    assert only["mean_bounded_slowdown_unclamped"] == 1


def test_a_month_whose_jobs_were_all_cancelled_has_nulls():
    (only,) = month_documents(schedule_of([(5, 1, None, 9)], machine=2), epoch(1997, 1, 1))
    assert only["jobs"] == 1
    assert only["mean_wait"] is None
    assert only["load"] == 0


# --------------------------------------------------------------------------------------------- the published table

# Mu'alem & Feitelson 2001, Table 1: KTH, October 1996 to July 1997.
PUBLISHED_JOBS = [2377, 2006, 2313, 2917, 2942, 2074, 2853, 4066, 2715, 2180]
PUBLISHED_LOAD = [0.669, 0.689, 0.689, 0.758, 0.798, 0.724, 0.720, 0.678, 0.743, 0.620]


def test_months_by_the_end_have_the_published_jobs_and_months_the_published_load(traces):
    simulate = pytest.importorskip("gas.simulation.simulate").simulate
    log = read_swf(traces / "KTH-SP2-1996-2.1-cln.swf.gz")
    schedule = simulate(rigid_jobs(log), "easy", overrun="extend")
    by_end, by_submission = months(schedule, log.epoch, "end")[1:11], months(schedule, log.epoch)[1:11]
    assert [one.month for one in by_end] == [one.month for one in by_submission]
    assert (by_end[0].month, by_end[-1].month) == ("1996-10", "1997-07")
    for here, there, jobs, load in zip(by_end, by_submission, PUBLISHED_JOBS, PUBLISHED_LOAD, strict=True):
        assert abs(here.jobs - jobs) <= 5
        assert here.load == there.load
        # All within 0.002 but July, the last one, which is 0.010 off.
        assert abs(here.load - load) < (0.011 if here.month == "1997-07" else 0.0025)
