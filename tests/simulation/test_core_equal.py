"""One S³: the simulator's schedules equal those of the live core, driven through the same log by a plain loop."""

import heapq
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import Recorded
from small_logs import Case, logs, prioritized, random_log
from thorough import examples

from gas.s3.machine import Machine
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED
from gas.simulation.simulate import simulate
from workloads import read_swf, rigid_jobs

WHENEVER = 10**9
LATER = 10
"""Shift of a log that makes all instants nonnegative: the core takes no others."""


def drive(jobs, cancellations=(), reservations=(), priorities=None, machine_code=False):
    """Return (starts, promises, starts of reservations) by the live core.

    No two cancellations may share an instant with each other or with anything else.
    """
    events = [(r.submit, 0, k) for k, r in enumerate(reservations)]
    events += [(submit, 1, k) for k, submit in enumerate(jobs.submit.tolist())]
    events += [(instant, 2, k) for k, instant in enumerate(cancellations) if instant != NOT_CANCELLED]
    heapq.heapify(events)
    rows = list(zip(*(c.tolist() for c in (jobs.processors, jobs.estimate, jobs.run_time)), strict=True))
    schedule = Recorded(jobs.machine, events[0][0], machine_code=machine_code)
    machine = Machine(schedule)
    job_ids, reservation_ids = {}, {}
    while events:
        now, kind, k = heapq.heappop(events)
        if now > schedule.now:
            # A job of no length ends in the round after the arrivals of this instant.
            machine.advance(now, settle=False)
        if kind == 0:
            _, processors, start, walltime = reservations[k]
            entry = machine.reserve(processors, max(start, now), walltime, start_by=WHENEVER)
            reservation_ids[k] = entry.id
        elif kind == 1 and not (len(cancellations) and cancellations[k] <= now):
            job_ids[k] = machine.submit(*rows[k], priority=0 if priorities is None else priorities[k]).id
        elif kind == 2 and job_ids.get(k) in schedule.entries:
            if schedule.entry(job_ids[k]).state == "running":
                machine.end(job_ids[k])
            else:
                schedule.cancel(job_ids[k])
                machine.advance(now)
    while (instant := machine.next_instant()) is not None:
        machine.advance(instant)
    schedule.check()
    assert schedule.broken == []
    assert not schedule.entries
    starts = [schedule.starts.get(job_ids.get(k), NEVER_STARTED) for k in range(len(jobs))]
    promises = [schedule.promises.get(job_ids.get(k)) for k in range(len(jobs))]
    return starts, promises, [schedule.starts[reservation_ids[k]] for k in range(len(reservations))]


def assert_same(case, machine_code):
    """Raise unless the simulator and the core agree on a case."""
    jobs, beside = case.jobs, case.beside
    starts, promises, reserved = drive(
        jobs, case.cancellations or (), beside["reservations"], case.priorities, machine_code
    )
    schedule = simulate(jobs, "s3", machine_code=machine_code, **beside)
    assert schedule.start.tolist() == starts
    assert schedule.reserved.tolist() == reserved
    there = [k for k, promise in enumerate(promises) if promise is not None]
    assert schedule.promise[there].tolist() == [promises[k] for k in there]


@examples(150)
@given(case=st.one_of(logs(), prioritized(logs())))
def test_small_logs(case):
    rows = tuple((submit + LATER, *rest) for submit, *rest in case.rows)
    assert_same(replace(case, rows=rows), machine_code=False)


@st.composite
def cancelled_and_reserved(draw):
    """Return a case with nonnegative instants whose cancellations have instants of their own.

    The core handles a cancellation at once, the simulator with whatever else ends at its instant. To keep the k-th
    cancellation's instant unique, everything else is at multiples of 100, or at those plus the k of an earlier one.
    """
    case = draw(logs(most_jobs=10))
    rows = tuple((100 * (s + LATER), p, 100 * e, 100 * r) for s, p, e, r in case.rows)
    after = st.one_of(st.none(), st.integers(0, 25))
    drawn = draw(st.lists(after, min_size=len(rows), max_size=len(rows)))
    cancellations = [
        NOT_CANCELLED if steps is None else row[0] + 100 * steps + k + 1
        for k, (row, steps) in enumerate(zip(rows, drawn, strict=True))
    ]
    first = case.rows[0][0] + LATER
    reservation = st.tuples(
        st.integers(first - 2, first + 15),
        st.integers(1, case.machine),
        st.integers(first - 2, first + 25),
        st.integers(1, 8),
    )
    reservations = [
        (100 * submit, size, 100 * start, 100 * walltime)
        for submit, size, start, walltime in draw(st.lists(reservation, max_size=3))
    ]
    return Case(case.machine, rows, tuple(cancellations), tuple(reservations))


@examples(200)
@given(case=st.one_of(cancelled_and_reserved(), prioritized(cancelled_and_reserved())))
def test_small_logs_with_cancellations_and_reservations(case):
    assert_same(case, machine_code=False)


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("seed", range(4))
def test_some_hundred_jobs(seed):
    case = random_log(seed, jobs=(300, 300), most_processors=60)
    assert_same(case, machine_code=True)
    priorities = tuple(np.random.default_rng(seed).integers(0, 3, 300).tolist())
    assert_same(replace(case, priorities=priorities), machine_code=True)


@pytest.mark.thorough
def test_the_whole_kth_log(traces):
    jobs = rigid_jobs(read_swf(traces / "KTH-SP2-1996-2.1-cln.swf.gz"), 100)
    starts, promises, _ = drive(jobs, machine_code=True)
    schedule = simulate(jobs, "s3", machine_code=True)
    assert len(jobs) > 28_000
    assert np.array_equal(schedule.start, starts)
    assert np.array_equal(schedule.promise, promises)
