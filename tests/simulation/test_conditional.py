"""Some jobs are asked before they are moved: all others, and all without notice, run as under s3."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, logs
from thorough import examples

from gas.errors import BadInput
from gas.simulation.conditional import Conditional, parse_conditional, simulate_conditional
from gas.simulation.simulate import simulate


@given(case=logs())
@examples(150)
def test_without_notices_it_is_s3(case):
    plain = simulate(case.jobs, "s3", machine_code=False)
    asked = simulate_conditional(case.jobs, np.zeros(len(case.jobs), np.int64))
    assert asked.start.tolist() == plain.start.tolist()
    assert asked.end.tolist() == plain.end.tolist()
    assert asked.promise.tolist() == plain.promise.tolist()


@given(case=logs(), notice=st.integers(2, 9), data=st.data())
@examples(150)
def test_no_start_is_later_than_its_promise_nor_sooner_than_there_was_time_to_answer(case, notice, data):
    jobs = case.jobs
    notices = np.array(data.draw(st.lists(st.sampled_from([0, notice]), min_size=len(jobs), max_size=len(jobs))))
    schedule = simulate_conditional(jobs, notices.astype(np.int64), data.draw(st.integers(0, notice - 1)))
    assert (schedule.start <= schedule.promise).all()
    moved = (notices > 0) & (schedule.start < schedule.promise)
    assert (schedule.start >= schedule.jobs.submit + notices)[moved].all()
    changes = sorted(
        (t, change)
        for start, end, size in zip(schedule.start, schedule.end, jobs.processors, strict=True)
        for t, change in ((start, size), (end, -size))
        if start < end
    )
    assert max(np.cumsum([change for _, change in changes]), default=0) <= jobs.machine


def test_a_hole_that_opens_too_soon_is_for_those_behind():
    jobs = Case(10, ((0, 10, 100, 20), (1, 10, 50, 50), (2, 10, 30, 30))).jobs
    plain = simulate_conditional(jobs, np.array([0, 0, 0]))
    asked = simulate_conditional(jobs, np.array([0, 30, 0]))
    late = simulate_conditional(jobs, np.array([0, 30, 0]), 10)
    assert plain.start.tolist() == [0, 20, 70]
    assert asked.start.tolist() == [0, 50, 20], "the second accepts 50 at once; the third fits before that"
    assert late.start.tolist() == [0, 50, 20]


def test_until_the_answer_nobody_else_gets_the_old_slot():
    # When the first job ends at 10, the second is offered 40, and holds its slot from 50 to 60 until it answers. Only
    # then is the third offered a start, 30 seconds ahead.
    jobs = Case(2, ((0, 1, 50, 10), (1, 2, 10, 10), (3, 2, 100, 100))).jobs
    notices = np.array([30, 30, 30])
    assert simulate_conditional(jobs, notices, 10).start.tolist() == [0, 40, 50]
    assert simulate_conditional(jobs, notices, 11).start.tolist() == [0, 40, 51]
    assert simulate_conditional(jobs, notices, 20).start.tolist() == [0, 40, 60]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("25%:10m", Conditional(0.25, 600)),
        ("100%:1h:2m", Conditional(1.0, 3600, 120)),
        ("0.5%:30s:0s", Conditional(0.005, 30, 0)),
    ],
)
def test_options_are_read(text, found):
    assert parse_conditional(text) == found


@pytest.mark.parametrize("text", ["25%", "25:10m", "101%:10m", "25%:2d", "25%:10m:10m", "x%:1m", "25%:soon"])
def test_others_are_refused(text):
    with pytest.raises(BadInput):
        parse_conditional(text)


def test_the_same_jobs_are_drawn_again():
    drawn = Conditional(0.3, 60).notices(1000)
    assert 250 < np.count_nonzero(drawn) < 350
    assert (drawn == Conditional(0.3, 60).notices(1000)).all()
