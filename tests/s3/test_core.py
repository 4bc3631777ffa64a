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


def test_a_reservation_that_must_move_never_moves_before_what_was_reserved():
    s3 = S3(10, 0)
    a = s3.submit(6, 100)
    first, second = s3.reserve(4, 120, 50), s3.reserve(4, 120, 5)
    s3.step(0)
    s3.step(100)
    s3.step(111)  # A is expected until 122 now; before 120, four processors are free
    assert (a.end, first.start, second.start) == (122, 120, 122)
    assert [(x.id, x.promised, x.start) for x in s3.broken] == [(second.id, 120, 122)]
    s3.check()


def test_a_job_that_must_move_never_moves_before_its_user_wants():
    s3 = S3(10, 0)
    s3.submit(6, 100)
    s3.reserve(4, 120, 50)
    job = s3.submit(4, 5, not_before=120)
    s3.step(0)
    s3.step(100)
    s3.step(111)
    assert job.start == 122
    s3.check()


def test_who_moves_earlier_in_a_repair_is_not_broken():
    s3 = S3(3, 0)
    a, short = s3.submit(1, 5), s3.submit(2, 5)
    c, k = s3.reserve(3, 5, 5), s3.reserve(1, 10, 10)
    b = s3.submit(2, 1)
    assert b.start == 10
    s3.step(0)
    s3.step(5, [short.id])  # A stays, so C cannot begin
    # At 9, A is expected until 13: C misses its time, B does not fit beside A and K at 10, but does at once.
    assert s3.step(9) == [b]
    assert (a.end, c.start, k.start) == (13, 20, 10)
    assert [(x.id, x.promised, x.start) for x in s3.broken] == [(c.id, 5, 20)]


def test_a_job_that_outlives_its_walltime_is_expected_to_need_as_long_again():
    s3 = S3(10, 0)
    a = s3.submit(1, 100)
    s3.step(0)
    ends = []
    for now in (100, 101, 102, 103, 150):
        s3.step(now)
        ends.append(a.end)
    assert ends == [100, 102, 102, 106, 200]
    assert s3.next_overrun() == 200


def test_a_job_is_not_started_before_its_user_wants_not_even_when_promoted():
    s3 = S3(10, 0)
    a = s3.submit(10, 100)
    b = s3.submit(5, 10, not_before=60)
    c = s3.submit(5, 10, not_before=200)
    assert [e.start for e in (b, c)] == [100, 200]
    s3.step(0)
    s3.step(10, [a.id])
    assert [e.start for e in (b, c)] == [60, 200]
    s3.check()
    assert s3.step(60) == [b]
    with pytest.raises(BadInput, match="start_by 50: is before not_before 60"):
        s3.submit(1, 1, not_before=60, start_by=50)


@pytest.mark.parametrize(
    ("start", "start_by", "message"),
    [
        (99, None, "must be between now"),
        (2**53, None, "must be between now"),
        (110, 109, "start_by 109: is before"),
    ],
)
def test_reservations_begin_in_the_future_that_there_is(start, start_by, message):
    s3 = S3(10, 100)
    with pytest.raises(BadInput, match=message):
        s3.reserve(1, start, 10, start_by=start_by)
    assert not s3.entries


def test_what_changed_is_told_once():
    s3 = S3(10, 0)
    a, b, c = s3.submit(10, 100), s3.submit(10, 10), s3.submit(10, 10)
    s3.step(0)
    assert s3.take_changed() == [a, b, c]
    assert s3.take_changed() == []
    s3.step(50, [a.id])  # B starts, C is promoted, A has left
    assert s3.take_changed() == [b, c]
    s3.cancel(c.id)
    assert s3.take_changed() == []


def test_starts_missed_in_an_outage_come_before_all_others_and_keep_their_order():
    s3 = S3(10, 0)
    a, b, c, d = s3.submit(10, 10), s3.submit(10, 20), s3.submit(10, 30), s3.submit(10, 40)
    s3.step(0)
    assert (b.start, c.start, d.start) == (10, 30, 60)
    other = S3(10, 35)
    other.restore([b, c, d], version=s3.version, last_id=d.id)  # A ended while nobody looked
    other.check()
    starts = {e.id: e.start for e in other.queued}
    assert starts == {b.id: 35, c.id: 55, d.id: 85}
    assert [(x.id, x.promised, x.start) for x in other.broken] == [(b.id, 10, 35), (c.id, 30, 55), (d.id, 60, 85)]
    assert other.version > s3.version
    assert a.state == "running"


def test_check_finds_a_schedule_that_contradicts_itself():
    s3 = S3(10, 0)
    a, b = s3.submit(10, 10), s3.submit(10, 10)
    s3.check()
    b.start = 5
    with pytest.raises(AssertionError, match="overlaps"):
        s3.check()
    b.start = 10
    s3.check()
    a.processors = 9
    with pytest.raises(AssertionError, match="free processors differ|frames differ|arrays differ"):
        s3.check()
