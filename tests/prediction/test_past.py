"""Nothing that happens after an instant is known at it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.prediction.forecast import forecast
from gas.prediction.past import STREAMS, Past
from gas.prediction.snapshot import UNPLANNED, Snapshot
from workloads import Header, Log

DAY = 86_400
WEEK = 7 * DAY
COLUMNS = ("submit", "processors", "walltime", "run_time", "end", "user")


def made(seed, count=400, days=70):
    """Return the columns of a made-up log."""
    random = np.random.default_rng(seed)
    submit = np.sort(random.integers(0, days * DAY, count))
    walltime = random.integers(600, 2 * DAY, count)
    run_time = np.maximum((walltime * random.random(count)).astype(np.int64), 1)
    end = submit + random.integers(0, DAY, count) + run_time
    end[random.random(count) < 0.05] = -1
    return {
        "submit": submit,
        "processors": random.integers(1, 33, count),
        "walltime": walltime,
        "run_time": run_time,
        "end": end,
        "user": random.integers(0, 9, count),
    }


def shuffled_after(columns, now, seed):
    """Return a log that differs in all that is unknown at an instant."""
    random = np.random.default_rng(seed)
    other = {name: column.copy() for name, column in columns.items()}
    later = np.flatnonzero(columns["submit"] > now)
    order = random.permutation(later)
    for name in ("processors", "walltime", "user"):
        other[name][later] = columns[name][order]
    other["submit"][later] = np.sort(now + 1 + random.integers(0, 30 * DAY, later.size))
    unended = np.flatnonzero((columns["end"] > now) | (columns["end"] == -1))
    other["run_time"][unended] = random.integers(1, 5 * DAY, unended.size)
    other["end"][unended] = np.maximum(now, other["submit"][unended]) + random.integers(1, 9 * DAY, unended.size)
    return other


def snapshot_at(now):
    running = np.array([True, True, False, False, False])
    start = np.array([now - 5000, now - 100, UNPLANNED, UNPLANNED, UNPLANNED])
    processors, walltime = np.array([20, 12, 30, 5, 32]), np.array([DAY, 7000, 40_000, 600, DAY])
    return Snapshot(now, 32, processors, walltime, start, running, np.arange(5))


@pytest.mark.thorough
@examples(60)
@given(seed=st.integers(0, 10**6), day=st.integers(0, 69))
def test_what_happens_after_an_instant_changes_nothing_at_it(seed, day):
    columns, now = made(seed), day * DAY + 4321
    told = []
    for each in (columns, shuffled_after(columns, now, seed + 1)):
        past = Past(*(each[name] for name in COLUMNS))
        made_of = forecast(
            snapshot_at(now), past, [1, 16, 32], [600, 7200, 7200], [500, 7000, 7000], samples=20, machine_code=False
        )
        told.append((made_of, past.arrivals(now, 3 * DAY).jobs, past.usage.draw(snapshot_at(now), 30,
                     np.random.default_rng(0))))  # fmt: skip
    (one, arrivals, drawn), (other, other_arrivals, other_drawn) = told
    assert (one.starts == other.starts).all()
    assert (one.latest == other.latest).all()
    assert arrivals.shape == other_arrivals.shape
    assert (arrivals == other_arrivals).all()
    assert (drawn == other_drawn).all()


def test_what_happens_before_it_does_change_something():
    columns, now = made(3), 40 * DAY
    shares = []
    for factor in (1, 3):
        each = {**columns, "walltime": columns["walltime"] * factor}
        past = Past(*(each[name] for name in COLUMNS))
        past.learn(now)
        shares.append(past.usage.draw(snapshot_at(now), 500, np.random.default_rng(0)).mean())
    assert shares[1] < 0.7 * shares[0]


def test_going_forward_step_by_step_is_going_there_at_once():
    columns, now = made(7), 60 * DAY
    slow, fast = (Past(*(columns[name] for name in COLUMNS)) for _ in range(2))
    for day in range(0, 61, 3):
        slow.learn(day * DAY)
    fast.learn(now)
    draws = [past.usage.draw(snapshot_at(now), 50, np.random.default_rng(0)) for past in (slow, fast)]
    assert (draws[0] == draws[1]).all()
    with pytest.raises(ValueError, match="is no longer available after"):
        slow.learn(now - 1)


def test_arrivals_are_those_of_past_weeks_at_this_hour():
    columns, now, horizon = made(1), 65 * DAY + 77, 2 * DAY
    arrivals = Past(*(columns[name] for name in COLUMNS)).arrivals(now, horizon).jobs
    assert len(arrivals) == STREAMS
    for back, stream in enumerate(arrivals, 1):
        first, last = now - back * WEEK, now - back * WEEK + horizon
        there = (columns["submit"] > first) & (columns["submit"] <= last)
        real = stream[:, stream[0] != UNPLANNED]
        assert (real[0] - back * WEEK).tolist() == columns["submit"][there].tolist()
        assert real[1].tolist() == columns["processors"][there].tolist()
        assert (real[0] > now).all()
        assert (real[3] <= real[2]).all()


def test_a_log_that_ended_long_ago_still_tells_who_arrives():
    columns = made(1)
    past = Past(*(columns[name] for name in COLUMNS))
    arrivals = past.arrivals(int(columns["submit"][-1]) + 1000 * DAY, DAY).jobs
    assert arrivals.shape[2] > 0


@pytest.mark.parametrize(("days", "streams"), [(0.5, 1), (3, 2)])
def test_a_short_log_tells_of_days_or_of_nobody(days, streams):
    columns = made(1, count=50, days=5)
    kept = columns["submit"] < days * DAY
    arrivals = Past(*(columns[name][kept] for name in COLUMNS)).arrivals(int(days * DAY), 3600).jobs
    assert (arrivals.shape[0] >= streams) == (days > 1 or streams == 1)
    if days < 1:
        assert arrivals.shape[2] == 0


def test_a_log_is_read_with_what_its_header_says_second_0_is():
    log = Log.from_columns(
        {"submit": [0, 100], "wait": [50, -1], "run_time": [30, 10], "allocated_processors": [4, 4],
         "requested_time": [60, 60], "user": [1, 2]},
        header=Header(("; UnixStartTime: 1000", "; MaxProcs: 8")),
    )  # fmt: skip
    past = Past.of_log(log)
    past.learn(1079)
    assert len(past.usage) == 0
    past.learn(1080)
    assert len(past.usage) == 1
    past.learn(10**6)
    assert len(past.usage) == 1, "of the second it is not known when it ended"


def test_jobs_without_a_walltime_are_left_out():
    """Elsewhere their run times replace it, which were unknown while they ran."""
    log = Log.from_columns(
        {"submit": [0, 100], "wait": [0, 0], "run_time": [30, 10], "allocated_processors": [4, 4],
         "requested_time": [-1, 60], "user": [1, 2]},
        header=Header(("; UnixStartTime: 1000", "; MaxProcs: 8")),
    )  # fmt: skip
    past = Past.of_log(log)
    past.learn(10**6)
    assert len(past.usage) == 1


def test_of_very_many_arrivals_the_first_count():
    columns = made(1, count=5000, days=30)
    arrivals = Past(*(columns[name] for name in COLUMNS)).arrivals(29 * DAY, 14 * DAY).jobs
    assert arrivals.shape[2] == 1000
