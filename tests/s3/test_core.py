import pytest

from gas.errors import BadInput, Conflict, NotFound, StalePlan
from gas.s3 import S3


def test_the_papers_figure_4_1_a_later_job_fits_before_an_earlier_one():
    s3 = S3(10, 0)
    a = s3.submit(6, 10)
    b = s3.submit(8, 10)  # does not fit beside A
    c = s3.submit(4, 10)  # does, without delaying B
    assert [e.start for e in (a, b, c)] == [0, 10, 0]
    s3.check()


def test_an_early_end_promotes_the_queue_in_submission_order_until_nothing_moves():
    s3 = S3(10, 0)
    a = s3.submit(10, 100)
    b = s3.submit(10, 100)
    c = s3.submit(5, 50)
    d = s3.submit(5, 50)
    assert [e.start for e in (b, c, d)] == [100, 200, 200]
    s3.step(0)
    assert s3.step(40, [a.id]) == [b]
    assert [e.start for e in (b, c, d)] == [40, 140, 140]
    s3.check()


def test_a_job_that_ends_on_time_moves_nobody_and_changes_no_version():
    s3 = S3(10, 0)
    a = s3.submit(10, 100)
    b = s3.submit(10, 100)
    s3.step(0)
    version = s3.version
    assert s3.step(100, [a.id]) == [b]
    assert s3.version == version


def test_the_clock_alone_does_not_change_the_version_of_the_list():
    s3 = S3(10, 0)
    s3.submit(4, 100)
    s3.step(0)
    before = s3.availability()
    s3.step(50)
    after = s3.availability()
    assert before.version == after.version
    assert (before.now, after.now) == (0, 50)
    assert [(f.start, f.free) for f in after.frames] == [(50, 6), (100, 10)]


def test_start_by_refuses_a_later_start_and_queues_nothing():
    s3 = S3(10, 0)
    s3.submit(10, 100)
    version = s3.version
    with pytest.raises(StalePlan, match="nothing was queued"):
        s3.submit(1, 10, start_by=99)
    assert (s3.version, len(s3.entries)) == (version, 1)
    assert s3.submit(1, 10, start_by=100).start == 100


def test_nothing_moves_a_reservation_and_jobs_flow_around_it():
    s3 = S3(10, 0)
    r = s3.reserve(10, 50, 20)
    short, long = s3.submit(10, 50), s3.submit(10, 51)
    assert (short.start, long.start) == (0, 70)
    s3.step(0)
    s3.step(10, [short.id])
    assert (r.start, long.start) == (50, 70)
    s3.check()


def test_a_reservation_that_does_not_fit_is_refused_unless_it_may_start_later():
    s3 = S3(10, 0)
    s3.submit(10, 100)
    with pytest.raises(StalePlan, match="nothing was reserved"):
        s3.reserve(1, 50, 10)
    assert s3.reserve(1, 50, 10, start_by=100).start == 100


def test_a_reservation_starts_by_itself():
    s3 = S3(10, 0)
    r = s3.reserve(3, 5, 10)
    assert s3.next_start() == 5
    assert s3.step(5) == [r]
    assert s3.in_use == 3


def test_cancelling_a_waiting_job_promotes_the_others():
    s3 = S3(10, 0)
    s3.submit(10, 100)
    b, c = s3.submit(10, 100), s3.submit(10, 100)
    s3.step(0)
    s3.cancel(b.id)
    assert c.start == 100
    s3.check()


def test_a_running_job_is_not_cancelled_here_and_an_unknown_one_not_found():
    s3 = S3(10, 0)
    a = s3.submit(1, 10)
    s3.step(0)
    with pytest.raises(Conflict, match="running"):
        s3.cancel(a.id)
    with pytest.raises(NotFound, match="no job 77"):
        s3.cancel(77)


@pytest.mark.parametrize(
    ("processors", "walltime", "message"),
    [
        (11, 1, "the machine has 10"),
        (0, 1, "processors 0"),
        (-1, 1, "processors -1"),
        (1, 0, "walltime 0"),
        (1, 2**60, "walltime"),
    ],
)
def test_impossible_requests_are_refused_with_the_limit(processors, walltime, message):
    s3 = S3(10, 0)
    with pytest.raises(BadInput, match=message):
        s3.submit(processors, walltime)
    with pytest.raises(BadInput, match=message):
        s3.reserve(processors, 5, walltime)
    assert not s3.entries


def test_what_is_due_waits_within_its_second_for_a_job_that_is_just_going():
    s3 = S3(10, 0)
    a, b = s3.submit(10, 100), s3.submit(10, 100)
    s3.step(0)
    assert s3.step(100) == []  # A has reached its walltime, but its processors are not back yet
    assert s3.step(100, [a.id]) == [b]
    assert (b.start, s3.broken) == (100, [])


def test_a_job_that_outlives_its_walltime_breaks_only_the_promises_it_must():
    s3 = S3(10, 0)
    a = s3.submit(6, 100)
    b = s3.submit(10, 50)  # needs A's processors
    c = s3.submit(4, 100)
    s3.step(0)
    later = s3.submit(10, 50)
    assert (b.start, c.start, later.start) == (100, 0, 150)
    s3.step(100, [c.id])
    s3.step(101)  # A should have gone a second ago
    assert [(x.id, x.promised, x.start) for x in s3.broken] == [(b.id, 100, 152)]
    assert (later.start, later.promise) == (102, 102)  # kept, and then promoted past B
    s3.check()
    assert s3.step(102, [a.id]) == [later]
    s3.check()
    s3.check()


def test_a_copy_goes_its_own_way():
    s3 = S3(10, 0)
    a, b = s3.submit(10, 100), s3.submit(10, 100)
    s3.step(0)
    other = s3.copy()
    other.step(10, [a.id])
    assert (b.start, other.entries[b.id].start) == (100, 10)
    s3.check()
    other.check()


def test_a_restored_schedule_gives_the_same_answers():
    s3 = S3(10, 0)
    for size, walltime in [(6, 100), (8, 50), (4, 30), (10, 10), (1, 500)]:
        s3.submit(size, walltime)
    s3.reserve(5, 300, 100)
    s3.step(0)
    other = S3(10, 0)
    other.restore(s3.entries.values(), version=s3.version, last_id=6)
    other.check()
    assert other.availability().to_wire() == s3.availability().to_wire()
    assert other.submit(7, 33).start == s3.submit(7, 33).start
