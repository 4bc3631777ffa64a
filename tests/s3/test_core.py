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


def test_a_job_takes_the_place_of_a_reservation_and_starts_there_as_promised():
    s3 = S3(10, 0)
    first, r, later = s3.submit(10, 50), s3.reserve(6, 50, 20), s3.submit(10, 30)
    job = s3.use(r.id)
    assert (job.processors, job.walltime, job.start, job.promise) == (6, 20, 50, 50)
    assert (later.start, later.promise) == (70, 70)
    assert r.id not in s3.entries
    s3.step(0)
    assert s3.step(10, [first.id]) == [later]
    assert job.start == 50  # nothing moves it, as nothing moved the reservation
    s3.step(40, [later.id])
    assert s3.step(50) == [job]
    s3.check()


def test_only_a_reservation_that_has_not_begun_can_be_used():
    s3 = S3(10, 0)
    job, r = s3.submit(1, 10), s3.reserve(1, 5, 10)
    with pytest.raises(Conflict, match="is no reservation"):
        s3.use(job.id)
    s3.step(5)
    with pytest.raises(Conflict, match="is running"):
        s3.use(r.id)
    with pytest.raises(NotFound, match="no job 77"):
        s3.use(77)


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
    s3.step(111)  # A is expected to run until 122 now; before 120, four processors are free
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
        (99, None, r"1970-01-01T00:01:39Z \(99\): has passed; it is 1970-01-01T00:01:40Z \(100\) now"),
        (2**53, None, "the latest start"),
        (110, 109, "start_by 109: is before"),
    ],
)
def test_reservations_begin_in_the_future_that_there_is(start, start_by, message):
    s3 = S3(10, 100)
    with pytest.raises(BadInput, match=message):
        s3.reserve(1, start, 10, start_by=start_by)
    assert not s3.entries


def test_starts_missed_in_an_outage_come_before_all_others_and_keep_their_order():
    s3 = S3(10, 0)
    a, b, c, d = s3.submit(10, 10), s3.submit(10, 20), s3.submit(10, 30), s3.submit(10, 40)
    s3.step(0)
    assert (b.start, c.start, d.start) == (10, 30, 60)
    other = S3(10, 35)
    other.restore([b, c, d], version=s3.version, last_id=d.id)  # A ended before this was noticed
    other.check()
    starts = {e.id: e.start for e in other.queued}
    assert starts == {b.id: 35, c.id: 55, d.id: 85}
    assert [(x.id, x.promised, x.start) for x in other.broken] == [(b.id, 10, 35), (c.id, 30, 55), (d.id, 60, 85)]
    assert other.version > s3.version
    assert a.state == "running"


# ------------------------------------------------------------------------------------------- a machine of another size


def test_a_larger_machine_promotes_its_queue_and_breaks_no_promise():
    s3 = S3(10, 0)
    s3.submit(10, 100)
    b, c = s3.submit(6, 50), s3.submit(6, 50)
    s3.step(0)
    assert [e.start for e in (b, c)] == [100, 150]
    version = s3.version
    resized = s3.resize(16)
    assert [e.start for e in (b, c)] == [0, 50]
    assert (resized.broken, resized.evicted) == ([], [])
    assert s3.version > version
    assert s3.step(0) == [b]
    assert s3.submit(16, 1).start == 100
    s3.check()


def test_a_smaller_machine_keeps_the_starts_that_it_can_and_names_those_that_it_cannot():
    s3 = S3(10, 0)
    s3.submit(4, 100)
    s3.step(0)
    r = s3.reserve(6, 200, 50)
    b, c = s3.submit(10, 50), s3.submit(6, 90, not_before=250)
    d, e = s3.submit(4, 20, not_before=200), s3.submit(3, 20, not_before=200)
    assert [x.start for x in (r, b, c, d, e)] == [200, 100, 250, 200, 220]
    resized = s3.resize(6)
    assert resized.evicted == [b]
    assert [x.start for x in (r, c)] == [200, 250]
    # Beside the reservation there is no room any more, and C keeps its start; D and E do not fit beside each other.
    assert [(x.id, x.promised, x.start) for x in resized.broken] == [(d.id, 200, 340), (e.id, 220, 360)]
    assert (d.start, e.start) == (340, 360)
    assert resized.broken == s3.broken
    assert b.id not in s3.entries
    s3.check()


def test_what_runs_goes_on_and_nothing_starts_while_it_holds_more_than_there_is():
    s3 = S3(10, 0)
    a, b = s3.submit(6, 100), s3.submit(4, 50)
    c = s3.submit(2, 30)
    s3.step(0)
    assert c.start == 50
    resized = s3.resize(5)
    assert [(x.id, x.promised, x.start) for x in resized.broken] == [(c.id, 50, 100)]
    assert s3.in_use == 10
    assert [(f.start, f.free) for f in s3.availability().frames] == [(0, 0), (100, 3), (130, 5)]
    assert s3.step(50, [b.id]) == []
    s3.check()
    assert s3.in_use == 6
    assert s3.step(100, [a.id]) == [c]
    s3.check()


def test_processors_that_are_there_no_more_are_not_given_back_when_a_job_ends_early():
    s3 = S3(10, 0)
    a, b = s3.submit(6, 100), s3.submit(4, 50)
    c = s3.submit(2, 30)
    s3.step(0)
    s3.resize(5)
    assert s3.step(10, [b.id]) == []  # 6 are still in use, and there are 5
    assert [(f.start, f.free) for f in s3.availability().frames] == [(10, 0), (100, 3), (130, 5)]
    s3.check()
    assert s3.step(20, [a.id]) == [c]
    s3.check()


def test_a_machine_that_grows_again_while_it_holds_too_much_gives_back_what_there_is():
    s3 = S3(10, 0)
    a = s3.submit(8, 100)
    b = s3.submit(3, 30)
    s3.step(0)
    s3.resize(4)
    assert b.start == 100
    s3.resize(11)
    assert b.start == 0
    s3.check()
    s3.resize(9)
    assert s3.step(0) == []
    assert (a.state, b.start) == ("running", 100)
    s3.check()


def test_a_size_that_the_machine_has_already_changes_nothing_and_none_is_refused():
    s3 = S3(10, 0)
    s3.submit(10, 10)
    version = s3.version
    assert s3.resize(10).broken == []
    assert s3.version == version
    for processors in (0, -3):
        with pytest.raises(BadInput, match=f"processors {processors}: a machine has at least 1"):
            s3.resize(processors)
    assert s3.processors == 10


def test_requests_are_measured_by_the_machine_as_it_is_now():
    s3 = S3(10, 0)
    s3.resize(4)
    with pytest.raises(BadInput, match="the machine has 4"):
        s3.submit(5, 1)
    s3.resize(12)
    assert s3.submit(12, 1).start == 0


def test_a_job_that_outlives_its_walltime_on_a_machine_made_smaller_is_planned_around():
    s3 = S3(10, 0)
    a, b = s3.submit(8, 100), s3.submit(2, 10)
    s3.step(0)
    s3.resize(4)
    c = s3.submit(4, 10)
    assert c.start == 100
    assert s3.step(10, [b.id]) == []
    s3.step(103)  # A is expected to run for another 3 seconds, and holds more than the machine has
    assert (a.end, c.start) == (106, 106)
    assert [(x.id, x.promised, x.start) for x in s3.broken] == [(c.id, 100, 106)]
    s3.check()
    assert s3.step(106, [a.id]) == [c]
    s3.check()


def test_a_schedule_restored_on_a_larger_machine_moves_up_before_anybody_new_comes():
    before = S3(4, 0)
    for _ in range(2):
        before.submit(4, 1000)
    before.step(0)
    after = S3(8, 10)
    after.restore(before.entries.values(), version=before.version, last_id=2)
    assert (after.version, [e.id for e in after.take_changed()]) == (before.version + 1, [2])
    assert [(e.id, e.start) for e in after.step(10)] == [(2, 10)]


def test_a_schedule_restored_on_a_smaller_machine_is_planned_anew():
    s3 = S3(10, 0)
    s3.submit(7, 100)
    b, c, d = s3.submit(9, 50), s3.submit(3, 100), s3.submit(4, 10)
    s3.step(0)
    assert [e.state for e in (b, c, d)] == ["queued", "running", "queued"]
    assert (b.start, d.start) == (100, 150)
    other = S3(5, 0)
    assert [e.id for e in other.restore(s3.entries.values(), version=s3.version, last_id=d.id)] == [b.id]
    assert other.in_use == 10
    assert [(e.id, e.start) for e in other.queued] == [(d.id, 100)]
    assert [e.id for e in other.entries.values()] == [1, c.id, d.id]
    other.check()
    copied = other.copy()
    copied.step(10, [1])
    copied.check()
    assert [(e.id, e.start) for e in copied.queued] == [(d.id, 100)]  # C leaves two of five


def test_who_waited_beside_a_promotion_is_promoted_after_a_restart_too():
    # A schedule in which an earlier process left a hole: the hole is not recorded, so all jobs are considered.
    s3 = S3(10, 0)
    a, b = s3.submit(10, 100), s3.submit(10, 100)
    c, d = s3.submit(10, 5), s3.submit(10, 5)
    s3.step(0)
    other = S3(10, 0)
    other.restore([a, b, d], version=1, last_id=d.id)  # C was lost
    assert (d.start, [e.start for e in other.queued]) == (205, [100, 200])
    assert c.start == 200


def test_a_lead_that_is_taken_back_lets_jobs_start_at_once():
    s3 = S3(10, 0, lead=1)
    a, b = s3.submit(10, 100), s3.submit(10, 100)
    assert [e.start for e in (a, b)] == [1, 101]
    s3.step(1)
    s3.step(10, [a.id])
    assert b.start == 11
    s3.lead = 0
    s3.cancel(s3.reserve(1, 1000, 1).id)
    assert b.start == 10


def reshaping():
    """Return a machine of 10: A runs until 100, and B (10 for 100 s) and C (4 for 50 s) wait."""
    s3 = S3(10, 0)
    a, b, c = s3.submit(8, 100), s3.submit(10, 100), s3.submit(4, 50)
    s3.step(0)
    assert [e.start for e in (a, b, c)] == [0, 100, 200]
    return s3, b, c


def test_a_waiting_job_gets_the_first_slot_of_its_new_shape_and_the_others_move_up():
    s3, b, c = reshaping()
    version = s3.version
    assert s3.reshape(b.id, 2, 300) is b
    assert (b.start, b.promise, b.end, b.processors, b.walltime) == (0, 0, 300, 2, 300)
    assert (c.start, c.promise) == (100, 100)  # into the hole that B has left
    assert s3.version > version
    assert s3.take_changed() == [s3.entry(1), b, c]
    s3.check()


def test_a_new_shape_delays_nobody_so_the_job_itself_may_start_later():
    s3, b, c = reshaping()
    r = s3.reserve(10, 250, 10)
    s3.reshape(b.id, 10, 200)
    assert (b.start, b.promise, r.start) == (260, 260, 250)
    assert c.start == 100  # and then moves up
    s3.check()


def test_a_reshaped_job_keeps_its_place_in_the_queue():
    s3 = S3(10, 0)
    a, b, c = s3.submit(10, 100), s3.submit(10, 50), s3.submit(10, 50)
    s3.step(0)
    s3.reshape(b.id, 10, 60)
    assert (c.start, b.start) == (100, 150)  # it does not fit any more where it was
    s3.step(40, [a.id])
    assert (b.start, c.start) == (40, 100)  # of two that may move up, it is considered first


def test_a_shape_that_would_start_later_than_asked_is_refused_and_nothing_changes():
    s3, b, c = reshaping()
    before, version = s3.availability().to_wire(), s3.version
    with pytest.raises(StalePlan, match="job 2: .* delays no other job starts 2m30s after start_by 100"):
        s3.reshape(b.id, 10, 101, start_by=100)
    assert (b.start, b.walltime, c.start, s3.version) == (100, 100, 200, version)
    assert s3.availability().to_wire() == before
    s3.check()
    assert s3.reshape(b.id, 10, 101, start_by=250).start == 150  # C has moved up, and made room


def test_the_shape_that_a_job_has_changes_nothing():
    s3, b, _ = reshaping()
    version = s3.version
    s3.take_changed()
    s3.reshape(b.id, 10, 100)
    assert (s3.version, s3.take_changed()) == (version, [])


def test_only_a_job_that_waits_is_reshaped():
    s3, b, _ = reshaping()
    r = s3.reserve(1, 500, 10)
    for id, kind, message in ((1, Conflict, "job 1 is running"), (r.id, Conflict, "reservation"), (77, NotFound, "77")):
        with pytest.raises(kind, match=message):
            s3.reshape(id, 1, 10)
        with pytest.raises(kind, match=message):
            s3.availability(without=id)
    for processors, walltime, message in (
        (11, 10, "the machine has 10"),
        (0, 10, "processors 0"),
        (1, 0, "walltime 0"),
    ):
        with pytest.raises(BadInput, match=message):
            s3.reshape(b.id, processors, walltime)
    s3.check()


def test_a_job_that_is_not_to_start_before_an_instant_is_not_reshaped_to_before_it():
    s3 = S3(10, 0)
    a = s3.submit(10, 100, not_before=50)
    s3.reshape(a.id, 1, 10)
    assert a.start == 50


def test_a_smaller_shape_never_puts_off_a_job_that_is_due():
    s3 = S3(10, 0, lead=1)
    a, b = s3.submit(10, 100), s3.submit(10, 100)
    s3.step(1)
    s3.step(a.end)  # its processors are not back yet, and B waits for them in this instant
    s3.reshape(b.id, 5, 50)
    assert b.start == a.end
    assert s3.step(a.end, [a.id]) == [b]


def test_a_list_without_a_job_is_what_the_job_can_choose_from():
    s3, b, _ = reshaping()
    frames = [(f.start, f.free) for f in s3.availability(without=b.id).frames]
    assert frames == [(0, 2), (100, 10), (200, 6), (250, 10)]
