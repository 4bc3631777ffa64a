import json
import math
from dataclasses import replace
from datetime import UTC

import numpy as np
import pytest
from hypothesis import given
from schedules import rigid, schedule_of, schedules

from gas.errors import BadInput
from gas.simulation.metrics import (
    document,
    job_figures,
    loss_of_capacity,
    metrics,
    span,
    utilization,
    weighted_wait,
)
from gas.simulation.months import months
from gas.simulation.recorded import recorded
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED, Reservation
from gas.simulation.simulate import Simulation
from gas.simulation.timeline import left_queue, smallest_waiting, timeline
from workloads import offered_load
from workloads.header import Epoch

# A machine of 10. B and C wait for A; D, small and short, passes both; E is of no length; F gives up.
#             submit, processors, start, end
A = (0, 8, 0, 100)
B = (10, 10, 100, 120)
C = (20, 4, 120, 125)
D = (30, 2, 30, 50)
E = (40, 1, 50, 50)
F = (60, 9, None, 90)
STORY = schedule_of([A, B, C, D, E, F], machine=10, skipped={"no processors": 2, "no run time": 1})


# ------------------------------------------------------------------------------------------------------- by hand


def test_wait_and_response_are_averaged_over_the_jobs_that_ran():
    found = metrics(STORY)
    assert found.mean_wait == (0 + 90 + 100 + 0 + 10) / 5
    assert found.mean_response == (100 + 110 + 105 + 20 + 10) / 5
    assert found.median_wait == 10
    assert found.median_response == 100
    assert found.longest_wait == 100
    assert found.wait_95 == pytest.approx(98)  # of 0, 0, 10, 90, 100


def test_slowdown_leaves_jobs_of_no_length_out_and_counts_them():
    found = metrics(STORY)
    assert found.zero_length == 1
    assert found.mean_slowdown == pytest.approx((100 / 100 + 110 / 20 + 105 / 5 + 20 / 20) / 4)


def test_bounded_slowdown_takes_short_jobs_to_be_ten_seconds_long():
    found = metrics(STORY)
    assert found.mean_bounded_slowdown == pytest.approx((1 + 110 / 20 + 105 / 10 + 1 + 10 / 10) / 5)


def test_only_the_unclamped_bounded_slowdown_falls_below_one():
    quick = schedule_of([(0, 1, 0, 1)], machine=1)  # in the paper's form, a second without any wait scores 0.1
    assert metrics(quick).mean_bounded_slowdown_unclamped == 0.1
    assert metrics(quick).mean_bounded_slowdown == 1


def test_jobs_skipped_and_cancelled_are_counted():
    found = metrics(STORY)
    assert (found.jobs, found.cancelled, found.skipped) == (6, 1, 3)


def test_utilization_is_from_first_submission_to_last_finish():
    held = 8 * 100 + 10 * 20 + 4 * 5 + 2 * 20
    assert span(STORY) == (0, 125)
    assert utilization(STORY) == held / (10 * 125)


def test_offered_load_is_until_the_last_submission():
    ran = schedule_of([A, B, C, D, E], machine=10)
    assert metrics(ran).offered_load == (8 * 100 + 10 * 20 + 4 * 5 + 2 * 20) / (10 * 40)
    assert metrics(ran).offered_load == offered_load(ran.jobs)


def test_backfilled_are_those_that_start_while_an_earlier_one_waits():
    # D passes B and C, and E, which starts at 50, too. C starts after B, and B after A.
    assert job_figures(STORY).backfilled.tolist() == [False, False, False, True, True]
    assert metrics(STORY).backfilled == 2 / 5


def test_starting_in_the_same_second_is_not_passing():
    assert metrics(schedule_of([(0, 1, 5, 9), (0, 1, 5, 9)], machine=2)).backfilled == 0


def test_a_job_that_is_cancelled_later_waits_and_can_be_passed():
    passed = [(0, 2, None, 7), (1, 1, 5, 9), (2, 1, 7, 9)]
    assert job_figures(schedule_of(passed, machine=2)).backfilled.tolist() == [True, False]


def test_a_job_that_never_entered_the_queue_is_passed_by_nobody():
    assert metrics(schedule_of([(5, 2, None, 3), (5, 1, 5, 9)], machine=2)).backfilled == 0


def test_loss_of_capacity_is_what_idles_although_a_waiting_job_would_fit():
    # [10, 30): 2 idle, B needs 10. [20, 30): C needs 4. [30, 50): none idle. [40, 50): none idle, though E needs 1.
    # [50, 100): 2 idle, the smallest waiting is C. [100, 120): none idle. Nothing is lost.
    assert loss_of_capacity(STORY) == 0
    lazy = schedule_of([(0, 8, 0, 100), (10, 2, 100, 110), (20, 3, 110, 120)], machine=10)
    # From 10 to 100 two idle and two are requested; from 100 to 110 eight idle and three are asked for.
    assert loss_of_capacity(lazy) == (2 * 90 + 8 * 10) / (10 * 120)


def test_processors_of_a_reservation_are_neither_idle_nor_used():
    waiting = [(0, 4, 0, 10), (0, 5, 20, 30)]
    without = schedule_of(waiting, machine=10)
    assert loss_of_capacity(without) == (6 * 10 + 10 * 10) / (10 * 30)
    reserved = replace(
        without, reservations=(Reservation(0, 6, 5, 10),), reserved=np.array([5], dtype=np.int64)
    )  # 6 of 10 from 5 to 15
    assert loss_of_capacity(reserved) == (6 * 5 + 10 * 5) / (10 * 30)
    assert utilization(reserved) == utilization(without)


def test_a_job_cancelled_while_it_runs_ran_until_then():
    cut = schedule_of([(0, 1, 0, 100)], machine=1)
    cut = replace(cut, end=np.array([40], dtype=np.int64))
    assert metrics(cut).mean_response == 40
    assert utilization(cut) == 1


def test_weighted_wait_under_fcfs_counts_each_wait_as_often_as_it_is_long():
    assert weighted_wait(STORY, "fcfs") == pytest.approx((90**2 + 100**2 + 10**2) / (90 + 100 + 10))


def test_weighted_wait_under_wfp_counts_it_by_the_priority_at_the_start():
    # B has waited 4.5 times the 20 s that it asked for and has ten processors, C 20 times 5 s and four, E 10 times 1 s.
    b, c, e = 4.5**3 * 10, 20**3 * 4, 10**3 * 1
    assert weighted_wait(STORY, "wfp") == pytest.approx((90 * b + 100 * c + 10 * e) / (b + c + e))


def test_weighted_wait_of_some_jobs_is_by_their_priorities_alone():
    assert weighted_wait(STORY, "fcfs", rows=[1, 4]) == pytest.approx((90**2 + 10**2) / (90 + 10))
    assert weighted_wait(STORY, "wfp", rows=np.arange(6) == 2) == 100
    assert weighted_wait(STORY, "wfp", rows=[]) is None


@pytest.mark.parametrize("queue", ["fcfs", "wfp"])
def test_where_nobody_waits_nobody_has_a_priority_to_weight_by(queue):
    assert weighted_wait(schedule_of([A, (0, 2, 0, 50), F], machine=10), queue) is None


def test_weights_of_an_unknown_queue_are_refused():
    with pytest.raises(BadInput, match='queue "sjf" is not known; known: fcfs, wfp'):
        weighted_wait(STORY, "sjf")


def test_a_mean_of_nothing_is_none_and_a_share_of_an_empty_span_is_zero():
    for empty in (schedule_of([], machine=3), schedule_of([(0, 1, None, 5)], machine=3)):
        found = metrics(empty)
        assert found.mean_wait is found.mean_response is found.mean_slowdown is found.backfilled is None
        assert found.mean_bounded_slowdown is found.mean_bounded_slowdown_unclamped is found.longest_wait is None
        assert found.utilization == found.loss_of_capacity == found.offered_load == 0
    instant = metrics(schedule_of([(4, 1, 4, 4)], machine=3))
    assert instant.mean_slowdown is None
    assert instant.mean_wait == 0
    assert instant.utilization == 0


# -------------------------------------------------------------------------------------------- against brute force


def seconds_of(schedule):
    first, last = span(schedule)
    return range(first, last)


def running(schedule, second):
    return schedule.started & (schedule.start <= second) & (second < schedule.end)


def waiting(schedule, second):
    gone = np.where(schedule.started, schedule.start, schedule.end)
    return (schedule.jobs.submit <= second) & (second < gone)


@given(schedules())
def test_utilization_and_loss_counted_second_by_second(schedule):
    used = idle = 0
    for second in seconds_of(schedule):
        held = schedule.jobs.processors[running(schedule, second)].sum()
        free = schedule.jobs.machine - held
        used += held
        if (schedule.jobs.processors[waiting(schedule, second)] <= free).any():
            idle += free
    total = schedule.jobs.machine * len(seconds_of(schedule))
    assert utilization(schedule) == (pytest.approx(used / total) if total else 0)
    assert loss_of_capacity(schedule) == (pytest.approx(idle / total) if total else 0)


@given(schedules())
def test_backfilled_counted_pair_by_pair(schedule):
    count = 0
    for j in np.flatnonzero(schedule.started):
        count += any(waiting(schedule, schedule.start[j])[i] for i in range(j))
    ran = schedule.started.sum()
    assert metrics(schedule).backfilled == (pytest.approx(count / ran) if ran else None)


@given(schedules())
def test_the_timeline_says_what_is_free_and_who_waits_in_every_second(schedule):
    line = timeline(schedule)
    smallest = smallest_waiting(schedule, line.times)
    for second in range(-10, 80):
        step = int(np.searchsorted(line.times, second, "right")) - 1
        queue = waiting(schedule, second)
        work = (schedule.jobs.processors * schedule.jobs.run_time)[queue].sum()
        free = schedule.jobs.machine - schedule.jobs.processors[running(schedule, second)].sum()
        if step < 0:
            assert not queue.any()
            assert free == schedule.jobs.machine
            continue
        assert line.free[step] == free
        assert line.waiting[step] == queue.sum()
        assert line.queued_work[step] == work
        assert smallest[step] == schedule.jobs.processors[queue].min(initial=schedule.jobs.machine + 1)


@given(schedules(cancelled=False))
def test_means_are_those_of_plain_arithmetic(schedule):
    found = metrics(schedule)
    jobs = list(zip(schedule.jobs.submit.tolist(), schedule.start.tolist(), schedule.end.tolist(), strict=True))
    if not jobs:
        assert found.mean_wait is None
        return
    n = len(jobs)
    assert found.mean_wait == pytest.approx(sum(s - at for at, s, _ in jobs) / n)
    assert found.mean_response == pytest.approx(sum(e - at for at, _, e in jobs) / n)
    slow = [(e - at) / (e - s) for at, s, e in jobs if e > s]
    assert found.mean_slowdown == (pytest.approx(math.fsum(slow) / len(slow)) if slow else None)
    assert found.zero_length == n - len(slow)
    bounded = [(e - at) / max(e - s, 10) for at, s, e in jobs]
    assert found.mean_bounded_slowdown_unclamped == pytest.approx(math.fsum(bounded) / n)
    assert found.mean_bounded_slowdown == pytest.approx(math.fsum(max(1, b) for b in bounded) / n)


def test_a_long_queue_of_long_waits_has_its_smallest_job_found():
    # Powers of two of every size are needed to cover waits of 1 to 3000 steps.
    rng = np.random.default_rng(5)
    submit = np.sort(rng.integers(0, 5000, 1500))
    wait = rng.integers(0, 3000, 1500)
    processors = rng.integers(1, 90, 1500)
    jobs = list(zip(submit, processors, submit + wait, submit + wait, strict=True))
    schedule = schedule_of(jobs, machine=100)
    line = timeline(schedule)
    found = smallest_waiting(schedule, line.times)
    for step in range(0, len(line.times), 37):
        queue = waiting(schedule, line.times[step])
        assert found[step] == schedule.jobs.processors[queue].min(initial=101)


# ------------------------------------------------------------------------------------------------- some of the jobs


def test_figures_of_some_jobs_stay_those_that_they_had_among_all():
    some = metrics(STORY, [1, 3, 5])
    assert (some.jobs, some.cancelled) == (3, 1)
    assert some.mean_wait == (90 + 0) / 2
    assert some.backfilled == 1 / 2  # D passed C, which is not among them
    assert some == metrics(STORY, np.array([False, True, False, True, False, True]))


def test_figures_of_the_machine_are_not_given_for_some_jobs():
    some = metrics(STORY, [0])
    assert some.utilization is some.loss_of_capacity is some.offered_load is None


def test_none_of_the_jobs_has_no_means():
    assert metrics(STORY, []).mean_wait is None
    assert metrics(STORY, []).jobs == 0


def test_figures_of_single_jobs_name_their_rows():
    figures = job_figures(STORY)
    assert figures.rows.tolist() == [0, 1, 2, 3, 4]
    assert figures.wait.tolist() == [0, 90, 100, 0, 10]
    assert np.isnan(figures.slowdown[4])
    assert figures.bounded_slowdown[2] == 10.5


def test_a_cancelled_job_left_the_queue_at_its_cancellation_but_not_before_it_came():
    assert left_queue(STORY).tolist() == [0, 100, 120, 30, 50, 90]
    assert left_queue(schedule_of([(5, 1, None, 3)], machine=1)).tolist() == [5]
    assert STORY.start[5] == NEVER_STARTED


# -------------------------------------------------------------------------------------------- documents and rows

KEYS = [
    *("policy", "order", "overrun", "processors", "jobs", "skipped", "zero_length"),
    *(
        "mean_wait",
        "median_wait",
        "wait_95",
        "longest_wait",
        "mean_response",
        "mean_slowdown",
        "mean_bounded_slowdown",
        "mean_bounded_slowdown_unclamped",
    ),
    *("load", "offered_load", "utilization", "backfilled", "loss_of_capacity", "engine_seconds", "months"),
]


def test_a_document_has_the_keys_of_a_simulation_and_is_json_without_nan():
    made = document(replace(STORY, policy="easy", order="event"), [{"month": "1996-10", "jobs": 6}])
    assert list(made) == KEYS
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert (made["policy"], made["order"], made["overrun"], made["processors"]) == ("easy", "event", "kill", 10)
    assert type(made["jobs"]) is type(made["skipped"]) is type(made["zero_length"]) is int
    assert made["months"] == [{"month": "1996-10", "jobs": 6}]


def test_a_document_of_nothing_has_nulls():
    made = document(schedule_of([], machine=4))
    assert made["mean_response"] is None
    assert json.loads(json.dumps(made, allow_nan=False)) == made


# ------------------------------------------------------------------------------------------- before the end


def standing(jobs=((0, 4, 100, 100), (5, 4, 50, 50)), before=10, **beside):
    """What a stopped simulation knows: the first job runs, the second waits for it."""
    submit, processors, estimate, run_time = zip(*jobs, strict=True)
    simulation = Simulation(rigid(submit, processors, estimate, run_time, machine=4), "easy", **beside)
    simulation.run(before=before)
    return simulation.schedule()


@pytest.mark.parametrize(
    "figure",
    [
        metrics,
        document,
        job_figures,
        span,
        utilization,
        loss_of_capacity,
        recorded,
        lambda schedule: months(schedule, Epoch(0, UTC)),
        lambda schedule: metrics(schedule, rows=[0]),
    ],
)
def test_a_simulation_that_stands_before_its_end_has_no_figures(figure):
    with pytest.raises(BadInput, match="stands before its end: 2 jobs have not ended; run it to the end"):
        figure(standing())


def test_when_it_is_over_it_has():
    whole = standing(before=None)
    assert whole.unfinished == 0
    assert metrics(whole).mean_response == (100 + 145) / 2


def test_a_job_cancelled_while_it_waited_has_ended_though_it_never_started():
    so_far = standing(before=20, cancellations=[NOT_CANCELLED, 8])
    assert so_far.start[1] == NEVER_STARTED
    assert so_far.unfinished == 1
    with pytest.raises(BadInput, match="1 job has not ended"):
        metrics(so_far)


def test_a_reservation_still_to_be_asked_for_leaves_a_simulation_unfinished():
    so_far = standing(jobs=((0, 4, 5, 5),), before=30, reservations=[Reservation(50, 2, 60, 10)])
    assert so_far.end.tolist() == [5]
    with pytest.raises(BadInput, match="1 reservation has no start yet"):
        metrics(so_far)
