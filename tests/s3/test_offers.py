"""Conditional backfilling: which slots are offered, held and released, also against a schedule second by second."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import Seconds
from thorough import examples

from gas.errors import BadInput, Conflict, NotFound
from gas.s3 import MOST_NOTICE, NO_OFFERS, S3


@pytest.fixture
def offered():
    """Return a schedule, and a job planned from 100 to 150 that is offered a start at 30."""
    s3 = S3(10, 0)
    s3.submit(10, 100)
    job = s3.submit(10, 50, notice=20)
    s3.step(0)
    s3.step(10, [1])
    assert (job.start, job.promise, job.offer, job.answer_by) == (100, 100, 30, 30)
    return s3, job


def held(s3):
    return [(frame.start, s3.processors - frame.free) for frame in s3.availability().frames]


def test_a_job_keeps_its_slot_beside_the_earlier_one_that_it_is_offered(offered):
    s3, _ = offered
    assert held(s3) == [(10, 0), (30, 10), (80, 0), (100, 10), (150, 0)]
    assert s3.submit(10, 15).start == 10, "what is not held is free for all"
    assert s3.submit(10, 30).start == 150, "what is held is not"
    s3.check()


def test_an_accepted_offer_is_the_promise_and_the_old_slot_is_free(offered):
    s3, job = offered
    other = s3.submit(10, 40)
    assert other.start == 150
    s3.accept(job.id, 30)
    assert (job.start, job.end, job.promise, job.offer, job.answer_by) == (30, 80, 30, None, None)
    assert other.start == 80, "it is promoted into what was released"
    assert s3.step(30) == [job]


def test_a_declined_offer_is_free_and_nothing_more_is_offered(offered):
    s3, job = offered
    s3.decline(job.id, 30)
    assert (job.start, job.offer, job.offers_from) == (100, None, NO_OFFERS)
    assert held(s3) == [(10, 0), (100, 10), (150, 0)]
    assert s3.submit(10, 90).start == 10


def test_who_declines_says_from_when_on_starts_are_of_use(offered):
    s3, job = offered
    s3.decline(job.id, 30, not_before=45)
    assert (job.offer, job.answer_by, job.offers_from) == (45, 30, 45)
    with pytest.raises(BadInput, match="must be after the declined start, 45"):
        s3.decline(job.id, not_before=45)
    s3.decline(job.id)
    s3.decline(job.id, not_before=0)
    assert job.offer == 30, "it asks again"


def test_an_offer_lapses_when_the_notice_is_over_and_its_job_is_offered_nothing_more(offered):
    s3, job = offered
    assert s3.next_lapse() == 30
    s3.submit(1, 1000)  # begins at 150
    s3.step(29)
    assert job.offer == 30
    assert s3.step(30) == []
    assert (job.start, job.offer, job.offers_from, s3.next_lapse()) == (100, None, NO_OFFERS, None)
    assert s3.step(100) == [job]


def test_the_offer_is_held_for_the_notice_and_not_until_it_would_begin():
    s3 = S3(10, 0)
    s3.reserve(10, 1, 500)
    early = s3.submit(10, 300)
    job = s3.submit(10, 300, notice=20)
    s3.cancel(early.id)
    assert (job.start, job.offer, job.answer_by) == (801, 501, 20)
    s3.step(20)
    assert (job.start, job.offer) == (801, None)


def test_a_better_offer_takes_the_place_of_the_first_with_its_own_time_to_answer():
    s3 = S3(10, 0)
    first, second = s3.submit(10, 100), s3.submit(10, 100)
    job = s3.submit(10, 100, notice=10)
    s3.cancel(second.id)
    assert (job.offer, job.answer_by) == (100, 10)
    s3.step(5)
    s3.step(5, [first.id])
    assert (job.start, job.offer, job.answer_by) == (200, 15, 15)
    assert held(s3) == [(5, 0), (15, 10), (115, 0), (200, 10), (300, 0)]
    with pytest.raises(Conflict, match=r"is not offered a start at 100 \(.*\) now, but at 15 \(.*\); nothing"):
        s3.accept(job.id, 100)
    s3.check()


def test_the_slots_overlap_without_holding_processors_twice():
    s3 = S3(10, 0)
    s3.submit(10, 30)
    job = s3.submit(6, 50, notice=5)
    s3.step(0)
    s3.step(10, [1])
    assert (job.start, job.offer) == (30, 15)
    assert held(s3) == [(10, 0), (15, 6), (80, 0)]
    s3.accept(job.id, 15)
    assert held(s3) == [(10, 0), (15, 6), (65, 0)]


def test_another_shape_releases_what_the_old_one_was_offered(offered):
    s3, job = offered
    s3.reshape(job.id, 5, 60)
    assert (job.start, job.offer) == (10, None)
    s3.check()


def test_a_refused_shape_leaves_the_offer(offered):
    s3, job = offered
    before = held(s3)
    s3.submit(1, 500)
    with pytest.raises(Exception, match="nothing was changed"):
        s3.reshape(job.id, 10, 5000, start_by=20)
    assert job.offer == 30
    assert len(held(s3)) >= len(before)
    s3.check()


def test_a_cancelled_job_releases_both_slots(offered):
    s3, job = offered
    s3.cancel(job.id)
    assert held(s3) == [(10, 0)]


def test_where_processors_are_missing_the_offer_is_let_go_and_made_again_as_it_can_be():
    s3 = S3(10, 0)
    first, late = s3.submit(6, 100), s3.submit(4, 50)
    job = s3.submit(10, 50, notice=20)
    s3.step(0)
    s3.step(40, [first.id])
    assert (job.start, job.offer) == (100, 60)
    s3.step(51)  # it should have ended at 50, but still holds its processors
    assert late.end > 51
    assert (job.start, job.offer, job.answer_by, job.offers_from) == (100, 71, 71, 0)
    assert s3.broken == []


def test_a_smaller_machine_moves_no_job_with_a_notice_unasked():
    s3 = S3(10, 0)
    s3.submit(6, 20)
    large, other, job = (s3.submit(*shape, notice=5) for shape in ((8, 100), (3, 100), (5, 10)))
    s3.step(0)
    assert (large.start, other.start, job.start) == (20, 120, 120)
    assert s3.resize(7).evicted == [large]
    assert (other.start, job.start) == (120, 220), "there is room for one of them"
    assert (other.offer, job.offer) == (20, None)
    assert [broken.id for broken in s3.broken] == [job.id]
    s3.check()


def test_several_offers_are_checked():
    s3 = S3(40, 0)
    first = s3.submit(40, 100)
    for more in range(40):
        s3.submit(1, 50 + more, notice=20)  # each offer adds a frame
    s3.step(0)
    s3.step(10, [first.id])
    assert [e.offer for e in s3.queued] == [30] * 40
    s3.check()


def test_what_is_offered_outlives_a_restart_if_it_can_still_be_answered(offered):
    s3, job = offered
    for now, offer in ((29, 30), (30, None)):
        other = S3(10, now)
        other.restore(s3.entries.values(), version=1, last_id=2)
        again = other.entries[job.id]
        if offer is None:  # it gets offers that it can still answer: an outage does not count as its owner's silence
            offer = now + 20
        assert (again.start, again.offer, again.offers_from) == (100, offer, 0)
        other.check()


def asking_again(s3, job, until):
    """Decline each offer just before it lapses, and ask for a later one; return how long offers were held in all."""
    held = 0
    while s3.now < until and job.offer is not None and job.answer_by > s3.now + 1:
        held += job.answer_by - 1 - s3.now
        s3.step(job.answer_by - 1)
        s3.decline(job.id, not_before=job.offer + 1)
    return held


def on_a_machine_that_is_empty_after_all(notice):
    s3 = S3(10, 0)
    blocking = s3.submit(10, 10**7)
    job = s3.submit(10, 100, notice=notice)
    s3.cancel(blocking.id)
    assert (job.start, job.offer) == (10**7, notice)
    return s3, job


@pytest.mark.parametrize("notice", [3600, 50_000, MOST_NOTICE])
def test_offers_to_a_job_are_held_for_a_day_in_all_however_often_it_asks_again(notice):
    s3, job = on_a_machine_that_is_empty_after_all(notice)
    held = asking_again(s3, job, 10 * MOST_NOTICE)
    s3.check()
    assert MOST_NOTICE - notice // 4 < held <= MOST_NOTICE
    assert s3.now < MOST_NOTICE + 1
    s3.step(s3.now + 100)
    assert (job.start, job.offer) == (10**7, None)


def test_what_is_refused_after_a_day_of_offers_says_so():
    s3, job = on_a_machine_that_is_empty_after_all(MOST_NOTICE)
    s3.step(MOST_NOTICE)
    with pytest.raises(Conflict, match=f"job {job.id} has held processors for offers for 1d00h in all, the most"):
        s3.decline(job.id, not_before=2 * MOST_NOTICE)
    s3.decline(job.id)
    assert job.start == 10**7


def test_what_is_answered_early_leaves_time_for_other_offers():
    s3, job = on_a_machine_that_is_empty_after_all(MOST_NOTICE)
    s3.step(400)
    s3.decline(job.id, not_before=2 * MOST_NOTICE)
    assert (job.offer, job.answer_by) == (2 * MOST_NOTICE, MOST_NOTICE), "as long as is left of a day"


@pytest.mark.parametrize("notice", [0, -1, MOST_NOTICE + 1])
def test_a_notice_has_bounds(notice):
    with pytest.raises(BadInput, match=f"notice {notice}: must be 1 to 86400 seconds"):
        S3(1, 0).submit(1, 1, notice=notice)


def test_what_cannot_be_answered_is_refused(offered):
    s3, job = offered
    with pytest.raises(NotFound):
        s3.accept(77, 30)
    plain = s3.submit(10, 10_000)
    with pytest.raises(Conflict, match="submitted without notice"):
        s3.decline(plain.id)
    s3.accept(job.id, 30)
    with pytest.raises(Conflict, match=r"is not offered a start at 30 \(.*\) now, and no other; nothing was changed"):
        s3.accept(job.id, 30)
    s3.step(30)
    with pytest.raises(Conflict, match="is running"):
        s3.decline(job.id)


class ByForce:
    """The rules of `gas.s3.offers` second by second: each job is taken out and put back until none moves."""

    def __init__(self, processors):
        self.processors, self.now, self.jobs = processors, 0, []

    def free(self, besides=None):
        end = max((job["end"] for job in self.jobs), default=0)
        seconds = Seconds(self.processors, self.now, max(end, self.now) + 1)
        for job in self.jobs:
            if job is not besides:
                taken = set(range(job["start"], job["end"]))
                if job["offer"] is not None:
                    taken |= set(range(job["offer"], job["offer"] + job["walltime"]))
                for second in taken:
                    if second >= self.now:
                        seconds.hold(second, second + 1, job["processors"])
        return seconds

    def submit(self, processors, walltime, notice):
        start = self.free().first_fit(processors, walltime, self.now)
        job = {"processors": processors, "walltime": walltime, "notice": notice, "start": start, "offer": None}
        self.jobs.append({**job, "end": start + walltime, "answer_by": None, "wants": 0})

    def promote(self):
        moved = True
        while moved:
            moved = False
            for job in self.jobs:
                if job["start"] <= self.now:
                    continue
                notice = job["notice"] or 0
                first = max(self.now + notice, job["wants"])
                planned = job["start"] if job["offer"] is None else job["offer"]
                start = self.free(job).first_fit(job["processors"], job["walltime"], first)
                if first < planned and start < planned:
                    moved = True
                    if notice:
                        job["offer"], job["answer_by"] = start, self.now + notice
                    else:
                        job["start"], job["end"] = start, start + job["walltime"]

    def answer(self, job, accepted, wants):
        if accepted:
            job["start"], job["end"] = job["offer"], job["offer"] + job["walltime"]
        else:
            job["wants"] = wants
        job["offer"] = job["answer_by"] = None
        self.promote()

    def move_on(self, now):
        """Let time pass up to an instant: jobs end at their walltime, offers lapse."""
        for instant in range(self.now + 1, now + 1):
            self.now = instant
            self.jobs = [job for job in self.jobs if job["end"] > instant]
            silent = [job for job in self.jobs if job["answer_by"] is not None and job["answer_by"] <= instant]
            for job in silent:
                job["offer"], job["answer_by"], job["wants"] = None, None, NO_OFFERS
            if silent:
                self.promote()

    def end(self, place):
        running = [job for job in self.jobs if job["start"] <= self.now]
        gone = running[place % len(running)]
        self.jobs = [job for job in self.jobs if job is not gone]
        self.promote()


ACTIONS = st.one_of(
    st.tuples(st.just("submit"), st.integers(1, 6), st.integers(1, 9), st.sampled_from([None, 1, 3])),
    st.tuples(st.just("pass"), st.integers(1, 6)),
    st.tuples(st.just("end"), st.integers(0, 5)),
    st.tuples(st.just("answer"), st.integers(0, 5), st.booleans(), st.sampled_from([None, 1, 4])),
)


@given(history=st.lists(ACTIONS, min_size=4, max_size=30))
@examples(600)
def test_every_start_and_every_offer_is_that_of_the_rules_second_by_second(history):
    s3, force = S3(6, 0), ByForce(6)

    def move_on(now):
        while s3.now < now:
            due = [t for t in (*(e.end for e in s3.running), s3.next_start(), s3.next_lapse()) if t is not None]
            instant = min([now, *(t for t in due if t > s3.now)])
            s3.step(instant, [e.id for e in s3.running if e.end <= instant])

    for what, *values in history:
        before = {e.id: e.promise for e in s3.entries.values()}
        if what == "submit":
            processors, walltime, notice = values
            s3.submit(processors, walltime, notice=notice)
            force.submit(processors, walltime, notice)
        elif what == "pass":
            move_on(s3.now + values[0])
            force.move_on(s3.now)
        elif what == "end" and s3.running:
            running = sorted(s3.running, key=lambda e: e.id)
            s3.step(s3.now, [running[values[0] % len(running)].id])
            force.end(values[0])
        elif what == "answer" and (offered := [e for e in s3.queued if e.offer is not None]):
            place, accepted, later = values
            entry = offered[place % len(offered)]
            wants = None if later is None else entry.offer + later
            offers = [job for job in force.jobs if job["offer"] is not None]
            other = offers[place % len(offers)]
            if accepted:
                s3.accept(entry.id, entry.offer)
            else:
                s3.decline(entry.id, not_before=wants)
            force.answer(other, accepted, NO_OFFERS if wants is None else wants)
        s3.step(s3.now)
        s3.check()
        known = [(e.processors, e.start, e.end, e.offer, e.answer_by) for _, e in sorted(s3.entries.items())]
        assert known == [
            tuple(job[name] for name in ("processors", "start", "end", "offer", "answer_by")) for job in force.jobs
        ]
        assert all(e.promise <= before.get(e.id, e.promise) for e in s3.entries.values()), "a promise gets no later"
