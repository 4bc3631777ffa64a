"""S³ on a machine where time passes: what happens, at which instant, and in which order."""

import numpy as np
import pytest

from gas.errors import StalePlan
from gas.s3 import S3, Entry, Event, Machine


def machine(processors=10, now=0):
    return Machine(S3(processors, now))


def told(events):
    return [(e.time, e.kind, e.id) for e in events]


def test_jobs_end_when_their_run_time_is_over_and_the_next_one_starts_in_that_instant():
    m = machine()
    m.submit(10, 100, 40)
    m.submit(10, 100, 30)
    assert m.next_instant() == 40
    assert told(m.advance(1000)) == [(40, "ended", 1), (40, "started", 2), (70, "ended", 2)]
    assert m.schedule.now == 1000
    assert m.next_instant() is None


def test_a_job_that_can_start_at_once_does_when_it_is_submitted():
    m = machine()
    assert m.submit(10, 100, 40).state == "running"
    assert m.submit(10, 100, 40).state == "queued"


def test_a_job_is_killed_at_its_walltime():
    m = machine()
    m.submit(10, 50, 70)
    m.submit(10, 50, 50)
    assert told(m.advance(99)) == [(50, "ended", 1), (50, "started", 2)]


def test_a_job_without_a_known_run_time_ends_when_that_is_told():
    m = machine()
    job = m.submit(10, 100)
    m.submit(10, 100, 10)
    assert told(m.advance(30)) == []
    assert told(m.advance(60, [(40, job.id)])) == [(40, "ended", 1), (40, "started", 2), (50, "ended", 2)]


def test_a_reported_end_counts_at_the_nearest_instant_that_can_still_be_handled():
    m = machine()
    a, b = m.submit(5, 100), m.submit(5, 100)
    m.advance(30)
    assert told(m.advance(60, [(10, a.id), (70, b.id)])) == [(30, "ended", a.id), (60, "ended", b.id)]


def test_all_ends_of_an_instant_come_together_and_before_its_starts():
    # With only one of A and B gone, D would have been promoted into the hole, ahead of C.
    m = machine()
    for size, walltime, run_time in [(5, 100, 10), (5, 100, 10), (10, 50, 50), (5, 20, 20)]:
        m.submit(size, walltime, run_time)
    assert told(m.advance(10)) == [(10, "ended", 1), (10, "ended", 2), (10, "started", 3)]


def test_what_happens_is_told_in_order_of_time():
    m = machine()
    random = np.random.default_rng(3)
    for _ in range(60):
        walltime = int(random.integers(1, 50))
        m.submit(int(random.integers(1, 11)), walltime, int(random.integers(0, walltime + 1)))
        m.advance(m.schedule.now + int(random.integers(0, 9)))
    events = m.advance(10_000)
    assert [e.time for e in events] == sorted(e.time for e in events)
    assert not m.schedule.entries


def test_jobs_of_no_length_end_in_the_next_round_of_their_instant():
    m = machine()
    m.submit(10, 100, 20)
    for _ in range(3):
        m.submit(10, 100, 0)
    m.submit(10, 100, 5)
    assert told(m.advance(20)) == [
        (20, "ended", 1),
        (20, "started", 2),
        (20, "ended", 2),
        (20, "started", 3),
        (20, "ended", 3),
        (20, "started", 4),
        (20, "ended", 4),
        (20, "started", 5),
    ]


def test_one_round_alone_leaves_jobs_of_no_length_to_the_next():
    m = machine()
    m.submit(10, 100, 20)
    empty, other = m.submit(10, 100, 0), m.submit(10, 100, 5)
    assert told(m.advance(20, settle=False)) == [(20, "ended", 1), (20, "started", empty.id)]
    assert (m.next_instant(), other.start) == (20, 120)
    arrived = m.submit(10, 100, 1)  # before it is known that the job of no length is over
    assert arrived.start == 220
    assert told(m.advance(20)) == [(20, "ended", empty.id), (20, "started", other.id)]


def test_instants_before_the_last_are_handled_whole_in_any_case():
    m = machine()
    m.submit(10, 100, 20)
    m.submit(10, 100, 0)
    assert told(m.advance(30, settle=False)) == [(20, "ended", 1), (20, "started", 2), (20, "ended", 2)]


def test_a_reservation_begins_and_ends_by_itself():
    m = machine()
    r = m.reserve(10, 50, 20)
    job = m.submit(10, 100, 10)
    assert job.start == 70
    assert told(m.advance(100)) == [
        (50, "started", r.id),
        (70, "ended", r.id),
        (70, "started", job.id),
        (80, "ended", job.id),
    ]


def test_a_reservation_for_a_job_lapses_at_its_start_and_who_waits_moves_up():
    m = machine()
    r = m.reserve(10, 50, 20, lasts=0)
    waits = m.submit(10, 60)
    assert waits.start == 70
    events = m.advance(50)
    assert [(e.kind, e.id) for e in events] == [("started", r.id), ("ended", r.id), ("started", waits.id)]
    assert waits.start == 50


def test_a_job_that_took_the_place_of_a_reservation_that_would_lapse_runs_there():
    m = machine()
    r = m.reserve(10, 50, 20, lasts=0)
    job = m.use(r.id, 15)
    assert [(e.time, e.kind, e.id) for e in m.advance(100)] == [(50, "started", job.id), (65, "ended", job.id)]


def test_a_reservation_from_now_on_begins_at_once():
    assert machine().reserve(10, 0, 20).state == "running"


def test_a_simulated_job_can_be_ended_and_does_not_end_twice():
    m = machine()
    a, b = m.submit(10, 100, 50), m.submit(10, 100, 50)
    m.advance(20)
    assert told(m.end(a.id)) == [(20, "ended", a.id), (20, "started", b.id)]
    assert told(m.advance(200)) == [(70, "ended", b.id)]


def test_the_others_end_at_their_time_when_one_was_ended():
    m = machine()
    for run_time in (1, 5, 2, 6, 7, 3, 4):
        m.submit(1, 10, run_time)
    m.end(1)
    assert told(m.advance(9)) == [
        (2, "ended", 3),
        (3, "ended", 6),
        (4, "ended", 7),
        (5, "ended", 2),
        (6, "ended", 4),
        (7, "ended", 5),
    ]


def test_refusals_leave_no_trace():
    m = machine()
    m.submit(10, 100, 50)
    with pytest.raises(StalePlan):
        m.submit(10, 100, 50, start_by=99)
    with pytest.raises(StalePlan):
        m.reserve(10, 50, 10)
    assert list(m.schedule.entries) == list(m.run_times) == [1]


def test_starts_made_late_are_counted_from_when_they_happen():
    # The process of A is still there at 100; it goes within that second, and B starts in it.
    m = machine()
    a, b = m.submit(10, 100), m.submit(10, 100, 30)
    assert told(m.advance(100)) == []
    assert told(m.advance(100, [(100, a.id)])) == [(100, "ended", a.id), (100, "started", b.id)]
    assert m.next_instant() == 130
    assert m.schedule.broken == []


def test_an_unkillable_job_moves_starts_and_is_waited_for():
    m = machine()
    a, b = m.submit(10, 100), m.submit(10, 100, 30)
    m.advance(105)
    assert [(x.id, x.promised) for x in m.schedule.broken] == [(b.id, 100)]
    events = told(m.advance(107, [(107, a.id)]))
    assert events == [(107, "ended", a.id), (107, "started", b.id)]
    m.schedule.check()


def test_a_copy_goes_its_own_way():
    m = machine()
    m.submit(10, 100, 50)
    m.submit(10, 100, 50)
    other = m.copy()
    other.submit(1, 1, 1)
    other.advance(1000)
    assert not other.schedule.entries
    assert [e.state for e in m.schedule.entries.values()] == ["running", "queued"]
    assert told(m.advance(60)) == [(50, "ended", 1), (50, "started", 2)]


def test_a_simulated_job_that_ended_while_nobody_looked_ends_as_soon_as_somebody_does():
    m = machine()
    a, b = m.submit(10, 100, 20), m.submit(10, 100, 20)
    late = machine(now=50)
    late.restore([a, b], m.run_times, version=m.schedule.version, last_id=b.id)
    assert told(late.advance(50)) == [(50, "ended", a.id), (50, "started", b.id)]
    assert late.next_instant() == 70


def test_a_restored_machine_goes_on_as_the_first_would_have():
    random = np.random.default_rng(8)
    m = machine()
    for _ in range(40):
        walltime = int(random.integers(1, 50))
        m.submit(int(random.integers(1, 11)), walltime, int(random.integers(0, walltime + 1)))
        m.advance(m.schedule.now + int(random.integers(0, 5)))
    now = m.schedule.now
    other = machine(now=now)
    entries = [Entry(**{name: getattr(e, name) for name in Entry.__slots__}) for e in m.schedule.entries.values()]
    other.restore(entries, m.run_times, version=m.schedule.version, last_id=40)
    assert len(entries) > 10
    assert other.schedule.availability().to_wire() == m.schedule.availability().to_wire()
    events = m.advance(10_000)
    assert sorted(told(other.advance(10_000))) == sorted(told(events))  # the order within an instant is free
    assert all(isinstance(e, Event) for e in events)


def test_a_larger_machine_starts_at_once_what_waited_for_it():
    m = machine()
    m.submit(10, 100, 50)
    b = m.submit(6, 30, 20)
    assert m.resize(16).broken == []
    assert b.state == "running"
    assert told(m.advance(60)) == [(20, "ended", b.id), (50, "ended", 1)]


def test_jobs_on_a_machine_made_smaller_end_at_their_time_and_who_is_too_large_never_starts():
    m = machine()
    a, b, c = m.submit(10, 100, 50), m.submit(6, 30, 20), m.submit(3, 30, 20)
    resized = m.resize(5)
    assert (resized.evicted, resized.broken) == ([b], [])
    assert (m.next_instant(), c.start) == (50, 100)
    assert told(m.advance(200)) == [(50, "ended", a.id), (50, "started", c.id), (70, "ended", c.id)]
    assert b.id not in m.run_times


def test_a_reservation_that_gets_later_because_the_machine_got_smaller_begins_and_ends_by_itself():
    m = machine()
    m.submit(6, 100, 80)
    r = m.reserve(4, 20, 30)
    assert [(x.id, x.promised, x.start) for x in m.resize(8).broken] == [(r.id, 20, 100)]
    assert told(m.advance(200)) == [(80, "ended", 1), (100, "started", r.id), (130, "ended", r.id)]


def test_a_machine_restored_smaller_tells_who_is_too_large():
    m = machine()
    a, b, c = m.submit(10, 100, 50), m.submit(6, 30, 20), m.submit(3, 30, 20)
    smaller = machine(5)
    assert [e.id for e in smaller.restore([a, b, c], m.run_times, version=3, last_id=3)] == [b.id]
    assert set(smaller.run_times) == {a.id, c.id}
    assert told(smaller.advance(60)) == [(50, "ended", a.id), (50, "started", c.id)]


def test_a_simulation_may_change_the_machine_at_any_time():
    random = np.random.default_rng(11)
    m = machine()
    for _ in range(150):
        walltime = int(random.integers(1, 50))
        size = int(random.integers(1, m.schedule.processors + 1))
        m.submit(size, walltime, int(random.integers(0, walltime + 1)))
        m.advance(m.schedule.now + int(random.integers(0, 9)))
        if random.random() < 0.2:
            m.resize(int(random.integers(1, 14)))
        m.schedule.check()
    assert m.schedule.broken
    m.advance(100_000)
    assert not m.schedule.entries
