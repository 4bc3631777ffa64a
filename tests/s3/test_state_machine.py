"""S³ under any sequence of operations, against free processors second by second."""

from contextlib import contextmanager
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from strategies import TODAY, Seconds
from thorough import examples, some

from gas.compiled import compiled
from gas.errors import BadInput, Conflict, StalePlan
from gas.profile.changes import give_back
from gas.s3 import S3
from gas.s3.entries import NO_OFFERS, Entry
from gas.s3.placing import place

sizes = st.integers(1, 8)
priorities = st.sampled_from([0, 0, 0, 1, 2, -1])
walltimes = st.integers(1, 12)
notices = st.sampled_from([None, None, None, 1, 4])

FIELDS = [field.name for field in fields(Entry)]


def as_it_is(entry):
    """Return an entry's fields by name, in a tenth of the time of `asdict`, which copies even numbers deeply."""
    return {name: getattr(entry, name) for name in FIELDS}


class Orderly(RuleBasedStateMachine):
    """Users submit, reserve, reshape and cancel; jobs end early or at their walltime: no promise is ever broken."""

    @initialize(processors=st.integers(1, 8), now=st.sampled_from([0, TODAY]))
    def begin(self, processors, now):
        self.processors = processors
        self.s3 = S3(processors, now)
        self.stubborn = set()  # running jobs that will run beyond their walltime
        self.wanted_from = {}  # by id, the instant of the earliest start
        self.broken_allowed = False
        self.disturbed = set()  # the waiting jobs when starts were changed otherwise than by a complete promotion

    # ---------------------------------------------------------------------------------------------- oracle

    @property
    def now(self):
        return self.s3.now

    @property
    def waiting(self):
        return [*self.s3.queued, *self.s3.reserved]

    def free(self, entries):
        """Return the processors free beside the entries, second by second."""
        until = max((e.end for e in entries), default=self.now) + 1
        seconds = Seconds(self.processors, self.now, until)
        for e in entries:
            if e.state == "running":
                seconds.hold(e.start, e.end, e.processors)
        # On a shrunk machine, running jobs may hold more than there is; waiting jobs must be planned within it.
        seconds.free = [max(0, level) for level in seconds.free]
        for e in entries:
            if e.state != "running":
                assert e.end == e.start + e.walltime
                seconds.hold(e.start, e.end, e.processors)
            if e.offer is not None:
                assert self.now < e.answer_by <= e.offer < e.start
                seconds.hold(*self.offered(e), e.processors)
        assert min(seconds.free) >= 0
        return seconds

    def without(self, waiting, free):
        """Return the processors free beside all entries but a waiting one."""
        others = free.copy()
        others.hold(waiting.start, waiting.end, -waiting.processors)
        if waiting.offer is not None:
            others.hold(*self.offered(waiting), -waiting.processors)
        return others

    @staticmethod
    def offered(entry):
        return entry.offer, min(entry.offer + entry.walltime, entry.start)

    def first_fit(self, processors, walltime, not_before):
        return self.free(self.s3.entries.values()).first_fit(processors, walltime, not_before)

    def frames(self):
        return [(frame.start, frame.free) for frame in self.s3.availability().frames]

    def from_now(self, frames):
        """Return earlier frames cut at the present instant."""
        held = [level for start, level in frames if start <= self.now]
        return [(self.now, held[-1]), *(f for f in frames if f[0] > self.now)]

    @contextmanager
    def verified(self, clock_alone=False, reshaped=None):
        """Verify all that must hold after an operation, and that only what may change has changed.

        Only the promise of a job that is `reshaped` may get later.
        """
        s3 = self.s3
        before = {id: as_it_is(e) for id, e in s3.entries.items()}
        version, frames, broken, in_use = s3.version, self.frames(), len(s3.broken), s3.in_use
        processors = s3.processors
        s3.take_changed()
        yield

        s3.check()
        assert s3.queued == sorted(s3.queued, key=lambda e: (-e.priority, e.id))
        if reshaped is not None or self.broken_allowed or s3.unfinished or self.processors != processors:
            self.disturbed |= {e.id for e in s3.queued}
        self.assert_not_overtaken()
        running = s3.running
        assert sum(e.processors for e in running) == s3.in_use
        started = [e for e in running if e.id not in before or before[e.id]["state"] != "running"]
        assert s3.in_use <= self.processors or (not started and s3.in_use <= in_use)
        assert all(e.start <= self.now <= e.end for e in running)
        free = self.free(s3.entries.values())
        assert self.frames() == free.steps()

        # Jobs that are due run, unless others still hold the processors.
        for e in self.waiting:
            assert e.start > self.now or s3.in_use + e.processors > self.processors
        offers = {id: e["offer"] for id, e in before.items()}
        planned = [t for e in self.waiting for t in (e.start, e.offer) if t is not None]
        assert s3.next_start() == min((t for t in planned if t > self.now), default=None)
        assert s3.next_lapse() == min((e.answer_by for e in self.waiting if e.answer_by is not None), default=None)
        assert s3.next_overrun() == min((e.end for e in running), default=None)

        # Promotion is complete, or reports that it is not: no waiting job could start earlier than in the schedule.
        for e in s3.queued:
            if e.start > self.now and not s3.unfinished:
                others = self.without(e, free)
                wanted = max(self.now, self.wanted_from[e.id])
                if e.notice is None:
                    assert others.first_fit(e.processors, e.walltime, wanted) == e.start
                elif (wanted := max(wanted, self.now + e.notice, e.offers_from)) < e.start:
                    # It is offered the first slot, or was until that came too close.
                    first = others.first_fit(e.processors, e.walltime, wanted)
                    assert e.first <= first
                    assert e.offer is None or e.offer == offers.get(e.id) or e.offer == first
                if e.offer is not None and e.offer != offers.get(e.id):
                    assert e.answer_by == self.now + e.notice, "it has its notice to answer, and no longer"

        # Promises move earlier or stay; those that do not are listed.
        new = {b.id: b for b in s3.broken[broken:]}
        assert not new or self.broken_allowed
        for id, e in s3.entries.items():
            told = before.get(id)
            if told is None or told["state"] == "running":
                assert id not in new
                continue
            if id in new:
                assert (new[id].promised, new[id].start, new[id].noticed) == (told["promise"], e.start, self.now)
                assert new[id].start > new[id].promised
            elif id != reshaped:
                assert e.promise <= told["promise"]
        assert all(e.start == e.promise for e in self.waiting)
        for e in s3.entries.values():
            assert e.start >= self.wanted_from[e.id]
            assert e.processors <= self.processors or e.state == "running"
            if e.state == "reserved":
                assert e.start == before.get(e.id, as_it_is(e))["start"] or e.id in new

        # The version says when the list has changed.
        lapsed = any(e["answer_by"] is not None and e["answer_by"] <= self.now for e in before.values())
        for id, e in s3.entries.items():
            if id in before and before[id]["answer_by"] is not None and before[id]["answer_by"] <= self.now:
                assert e.offer is None, "what was not answered in time is offered no longer"
                assert e.offers_from == NO_OFFERS, "and nothing else is, until it asks"
        assert version == s3.version or not clock_alone or lapsed or self.broken_allowed
        if self.frames() != self.from_now(frames):
            assert s3.version > version
        changed = {e.id for e in s3.take_changed()}
        assert {id for id, e in s3.entries.items() if as_it_is(e) != before.get(id)} <= changed

    def assert_not_overtaken(self):
        """No job is planned before one of higher priority that was submitted earlier and requests no more."""
        at_once = [e for e in self.s3.queued if self.wanted_from.get(e.id) == e.submitted and e.notice is None]
        for e in at_once:
            for other in at_once:
                if e.priority > other.priority and e.id < other.id and not {e.id, other.id} <= self.disturbed:
                    smaller = other.processors < e.processors or other.walltime < e.walltime
                    assert smaller or e.start <= other.start

    def promote_to_the_end(self):
        while self.s3.unfinished:
            with self.verified():
                self.s3.go_on()
                self.s3.step(self.now)

    def step(self, now, ended=(), **options):
        with self.verified(**options):
            started = self.s3.step(now, ended)
            assert started == sorted(started, key=lambda e: (-e.priority, e.id))
            assert all(e.state == "running" and e.start == now for e in started)

    def assert_only_impossible_starts_broke(self, planned, known):
        """No promise was broken whose start is still possible beside running jobs and those before it."""
        ran = [e for e in self.s3.running if e.id not in {id for id, *_ in planned}]
        until = max([self.now, *(e.end for e in ran), *(start + walltime for _, start, walltime, _ in planned)])
        free = Seconds(self.processors, self.now, until + 1)
        for e in ran:
            free.hold(self.now, e.end, e.processors)
        broken = {b.id for b in self.s3.broken[known:]}
        for id, start, walltime, processors in planned:
            if start >= self.now and free.fits(start, start + walltime, processors):
                free.hold(start, start + walltime, processors)
                assert id not in broken

    # ----------------------------------------------------------------------------------------------- rules

    @rule(wanted=st.lists(st.tuples(sizes, walltimes, priorities, notices), min_size=1, max_size=6))
    def submit_some(self, wanted):
        for processors, walltime, priority, notice in wanted:
            self.submit(processors, walltime, priority=priority, notice=notice)

    @rule(processors=sizes, walltime=walltimes, slack=st.sampled_from([0, 3, -1]))
    def submit_if_soon_enough(self, processors, walltime, slack):
        self.submit(processors, walltime, slack=slack)

    @rule(processors=sizes, walltime=walltimes, delay=st.integers(-3, 25), slack=st.sampled_from([None, 0, -1]))
    def submit_for_later(self, processors, walltime, delay, slack):
        self.submit(processors, walltime, self.now + delay, slack)

    def submit(self, processors, walltime, not_before=None, slack=None, priority=0, notice=None):
        processors = min(processors, self.processors)
        wanted = self.now if not_before is None else max(self.now, not_before)
        first = self.first_fit(processors, walltime, wanted)
        assert self.s3.anchor(processors, walltime, not_before) == first
        with self.verified():
            if slack == -1:
                entries, version = len(self.s3.entries), self.s3.version
                too_early = BadInput if not_before is not None and first - 1 < not_before else StalePlan
                with pytest.raises(too_early):
                    self.s3.submit(processors, walltime, not_before=not_before, start_by=first - 1)
                assert (len(self.s3.entries), self.s3.version) == (entries, version)
            else:
                start_by = None if slack is None else first + slack
                entry = self.s3.submit(
                    processors,
                    walltime,
                    not_before=not_before,
                    start_by=start_by,
                    priority=priority,
                    notice=notice,
                )
                self.wanted_from[entry.id] = wanted
                assert entry.start == entry.promise == first
                assert (entry.submitted, entry.end) == (self.now, first + walltime)
            self.s3.step(self.now)

    @rule(processors=sizes, walltime=walltimes, delay=st.integers(0, 20), slack=st.sampled_from([None, 0, 5, 50]))
    def reserve(self, processors, walltime, delay, slack):
        processors, wanted = min(processors, self.processors), self.now + delay
        first = self.first_fit(processors, walltime, wanted)
        latest = wanted if slack is None else wanted + slack
        with self.verified():
            if first > latest:
                with pytest.raises(StalePlan):
                    self.s3.reserve(processors, wanted, walltime, start_by=None if slack is None else latest)
            else:
                entry = self.s3.reserve(processors, wanted, walltime, start_by=None if slack is None else latest)
                assert entry.start == entry.promise == first
                self.wanted_from[entry.id] = first
            self.s3.step(self.now)

    @precondition(lambda self: self.s3.reserved)
    @rule(data=st.data())
    def use(self, data):
        """A job takes the place of a reservation, and no other entry moves."""
        held = data.draw(st.sampled_from(self.s3.reserved))
        others = {e.id: as_it_is(e) for e in self.s3.entries.values() if e is not held}
        with self.verified():
            entry = self.s3.use(held.id)
            self.wanted_from[entry.id] = self.wanted_from[held.id]
            assert as_it_is(entry) == {**as_it_is(held), "id": entry.id, "submitted": self.now, "promise": held.start}
        assert {id: as_it_is(e) for id, e in self.s3.entries.items() if id != entry.id} == others

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data):
        entry = data.draw(st.sampled_from(self.waiting))
        with self.verified():
            assert self.s3.cancel(entry.id) is entry
            assert entry.id not in self.s3.entries
            self.s3.step(self.now)

    @property
    def offers(self):
        return [e for e in self.s3.queued if e.offer is not None]

    @precondition(lambda self: self.offers)
    @rule(data=st.data())
    def an_offer_is_accepted(self, data):
        entry = data.draw(st.sampled_from(self.offers))
        offer = entry.offer
        with self.verified():
            with pytest.raises(
                Conflict, match=f"is not offered a start at {offer + 1} .*, but at {offer} .*; nothing was changed"
            ):
                self.s3.accept(entry.id, offer + 1)
            assert self.s3.accept(entry.id, offer) is entry
            assert entry.promise == entry.start == offer
            self.s3.step(self.now)

    @precondition(lambda self: self.offers)
    @rule(data=st.data(), later=st.sampled_from([None, 1, 5]))
    def an_offer_is_declined(self, data, later):
        entry = data.draw(st.sampled_from(self.offers))
        start, offer = entry.start, entry.offer
        not_before = None if later is None else offer + later
        with self.verified():
            with pytest.raises(BadInput, match="must be after the declined start"):
                self.s3.decline(entry.id, not_before=offer)
            assert self.s3.decline(entry.id, offer, not_before=not_before) is entry
            assert (entry.start, entry.end) == (start, start + entry.walltime)
            assert entry.offer is None or (later is not None and entry.offer >= not_before)
            self.s3.step(self.now)

    @precondition(lambda self: [e for e in self.s3.queued if e.notice is not None and e.offer is None])
    @rule(data=st.data(), delay=st.sampled_from([None, 0, 5]))
    def a_job_says_what_it_wants_to_be_offered(self, data, delay):
        choosing = [e for e in self.s3.queued if e.notice is not None and e.offer is None]
        entry = data.draw(st.sampled_from(choosing))
        not_before = None if delay is None else self.now + delay
        with self.verified():
            self.s3.decline(entry.id, not_before=not_before)
            assert entry.offer is None or (not_before is not None and entry.offer >= not_before)
            self.s3.step(self.now)

    @precondition(lambda self: self.s3.queued)
    @rule(data=st.data(), processors=sizes, walltime=walltimes, slack=st.sampled_from([None, None, 0, -1]))
    def reshape(self, data, processors, walltime, slack):
        """A waiting job gets the first slot that the planned starts of all others leave; they get no later."""
        entry = data.draw(st.sampled_from(self.s3.queued))
        processors, before = min(processors, self.processors), as_it_is(entry)
        others = self.free([e for e in self.s3.entries.values() if e is not entry])
        assert others.steps() == [(f.start, f.free) for f in self.s3.availability(without=entry.id).frames]
        first = others.first_fit(processors, walltime, max(self.now, self.wanted_from[entry.id]))
        start_by = None if slack is None else first + slack
        with self.verified(reshaped=entry.id):
            if slack == -1:
                version = self.s3.version
                with pytest.raises(StalePlan, match="nothing was changed"):
                    self.s3.reshape(entry.id, processors, walltime, start_by=start_by)
                assert (as_it_is(entry), self.s3.version) == (before, version)
            else:
                assert self.s3.reshape(entry.id, processors, walltime, start_by=start_by) is entry
                assert (entry.processors, entry.walltime) == (processors, walltime)
                assert entry.start == entry.promise <= first  # earlier if others have moved away
                assert (entry.end, entry.submitted) == (entry.start + walltime, before["submitted"])
                if processors <= before["processors"] and walltime <= before["walltime"]:
                    assert entry.start <= before["start"]
            self.s3.step(self.now)

    @precondition(lambda self: self.s3.running)
    @rule(data=st.data())
    def jobs_end_early(self, data):
        gone = data.draw(st.lists(st.sampled_from(self.s3.running), unique_by=lambda e: e.id, min_size=1, max_size=3))
        self.stubborn -= {e.id for e in gone}
        self.step(self.now, [e.id for e in gone])

    @rule(seconds=st.integers(1, 10))
    def time_passes(self, seconds):
        """Jobs end at their walltime, and every start that falls due happens."""
        target = self.now + seconds
        while True:
            ends = [e.end for e in self.s3.running if e.id not in self.stubborn and e.end > self.now]
            due = [t for t in (*ends, self.s3.next_start(), self.s3.next_lapse()) if t is not None]
            instant = min([target, *due])
            gone = [e.id for e in self.s3.running if e.id not in self.stubborn and e.end <= instant]
            self.step(instant, gone, clock_alone=True)
            if instant == target:
                return

    @rule(processors=sizes)
    def the_machine_gets_another_size(self, processors):
        """Running jobs go on, jobs that are too large leave, and jobs that can keep their starts do."""
        s3, smaller = self.s3, processors < self.processors
        running = {e.id for e in s3.running}
        too_large = [e for e in self.waiting if e.processors > processors]
        in_turn = [e for e in [*s3.reserved, *s3.queued] if e not in too_large]
        planned = [(e.id, e.start, e.walltime, e.processors) for e in in_turn]
        known = len(s3.broken)
        allowed, self.broken_allowed, self.processors = self.broken_allowed, smaller, processors
        with self.verified():
            resized = s3.resize(processors)
            assert resized.broken == s3.broken[known:]
            assert {e.id for e in resized.evicted} == {e.id for e in too_large}
            assert running <= {e.id for e in s3.running}
            assert s3.availability().processors == processors
            s3.step(self.now)
        self.assert_only_impossible_starts_broke(planned, known)
        self.broken_allowed = allowed

    @rule(processors=sizes, walltime=walltimes)
    def a_restored_schedule_gives_the_same_answers(self, processors, walltime):
        self.promote_to_the_end()
        other = S3(self.processors, self.now)
        entries = list(self.s3.entries.values())
        assert other.restore(entries, version=self.s3.version, last_id=max(self.s3.entries, default=0)) == []
        other.check()
        assert other.availability().to_wire() == self.s3.availability().to_wire()
        assert [as_it_is(e) for e in other.queued] == [as_it_is(e) for e in self.s3.queued]
        assert other.in_use == self.s3.in_use
        processors = min(processors, self.processors)
        assert other.submit(processors, walltime).start == self.s3.anchor(processors, walltime)
        assert len(self.s3.entries) == len(entries)

    @rule(processors=sizes)
    def a_machine_of_another_size_can_be_restored(self, processors):
        """It plans like the old one after a resize."""
        self.promote_to_the_end()
        other, resized = S3(processors, self.now), self.s3.copy()
        resized.patience = None
        evicted = other.restore(self.s3.entries.values(), version=7, last_id=max(self.s3.entries, default=0))
        other.check()
        assert evicted == resized.resize(processors).evicted
        if processors < self.processors:
            broken = [replace(one, cause="outage") for one in resized.broken[len(self.s3.broken) :]]
            assert other.broken == broken  # a restart does not know that the machine was larger
            if other.version > 7:  # otherwise the old schedule fitted
                assert [as_it_is(e) for e in other.queued] == [as_it_is(e) for e in resized.queued]
                assert other.availability().frames == resized.availability().frames

    @rule(processors=sizes, walltime=walltimes)
    def a_copy_goes_its_own_way(self, processors, walltime):
        before = self.s3.availability().to_wire(), [as_it_is(e) for e in self.s3.entries.values()]
        other = self.s3.copy()
        assert other.availability().to_wire() == before[0]
        other.submit(min(processors, self.processors), walltime)
        other.resize(processors)
        for e in other.queued[:2]:
            other.cancel(e.id)
        other.step(self.now, [e.id for e in other.running])
        other.check()
        self.s3.check()
        assert (self.s3.availability().to_wire(), [as_it_is(e) for e in self.s3.entries.values()]) == before


class Disorderly(Orderly):
    """Jobs outlive their walltime and the scheduler sleeps through instants: promises break, and only then."""

    def step(self, now, ended=(), **options):
        gone = set(ended)
        late = any(e.end < now for e in self.s3.running if e.id not in gone)
        self.broken_allowed = late or any(e.start < now for e in self.waiting)
        known = len(self.s3.broken)
        before = [(e.id, e.start, e.walltime, e.processors) for e in [*self.s3.reserved, *self.s3.queued]]
        super().step(now, ended, **options)
        if not self.broken_allowed:
            assert len(self.s3.broken) == known
            return
        self.assert_only_impossible_starts_broke(before, known)

    @precondition(lambda self: self.s3.running)
    @rule(data=st.data())
    def a_job_will_not_end(self, data):
        self.stubborn.add(data.draw(st.sampled_from(self.s3.running)).id)

    @rule(seconds=st.integers(2, 15))
    def the_scheduler_sleeps(self, seconds):
        waking = self.now + seconds
        self.step(waking, [e.id for e in self.s3.running if e.id not in self.stubborn and e.end <= waking])

    @precondition(lambda self: self.stubborn)
    @rule(data=st.data())
    def a_stubborn_job_ends_at_last(self, data):
        id = data.draw(st.sampled_from(sorted(self.stubborn)))
        assume(id in self.s3.entries)
        self.stubborn.discard(id)
        self.step(self.now, [id])


class Patient(Disorderly):
    """Promotion is interrupted when patience ends, and other operations come before it goes on: promises still hold."""

    @initialize(processors=st.integers(1, 8), now=st.sampled_from([0, TODAY]), patience=st.integers(1, 12))
    def begin(self, processors, now, patience):
        super().begin(processors, now)
        self.s3.patience = patience

    @precondition(lambda self: self.s3.unfinished)
    @rule()
    def promotion_goes_on(self):
        with self.verified():
            self.s3.go_on()
            self.s3.step(self.now)

    @precondition(lambda self: self.s3.unfinished)
    @rule()
    def promotion_in_slices_gives_the_starts_of_promotion_at_once(self):
        at_once = self.s3.copy()
        at_once.patience = None
        assert not at_once.go_on()
        with self.verified():
            while self.s3.go_on():
                self.s3.check()
            assert [as_it_is(e) for e in self.s3.queued] == [as_it_is(e) for e in at_once.queued]
            self.s3.step(self.now)


TestOrderly = Orderly.TestCase
TestOrderly.settings = examples(120, stateful_step_count=40)
TestDisorderly = Disorderly.TestCase
TestDisorderly.settings = examples(120, stateful_step_count=40)
TestPatient = Patient.TestCase
TestPatient.settings = examples(120, stateful_step_count=40)


def plain_passes(profile, queue, now, walk, patience):
    """Promotion without knowing where processors were given back: every job is taken out and put back."""
    give_back_fast, place_fast = compiled(give_back), compiled(place)
    moves, again = 0, True
    top = max(queue.priority[: queue.used[0]][queue.start[: queue.used[0]] > now], default=0)
    while again:
        again = False
        for i in range(queue.used[0]):
            if again and queue.priority[i] < top:
                break
            before, processors, walltime = int(queue.start[i]), int(queue.processors[i]), int(queue.walltime[i])
            if before > now:
                give_back_fast(profile, before, before + walltime, processors)
                queue.start[i] = place_fast(profile, processors, walltime, max(now, int(queue.earliest[i])))
                moves, again = moves + (queue.start[i] != before), again or queue.start[i] != before
    return moves


def alike(kind, seed):
    """Return two schedules: one by machine code, one by the plain functions or plain passes."""
    lead = seed % 2
    fast = S3(40, TODAY, lead=lead, machine_code=True)
    if kind == "plain functions":
        return S3(40, TODAY, lead=lead), fast
    slow = S3(40, TODAY, lead=lead, machine_code=True)
    slow._promote = plain_passes
    return slow, fast


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("seed", some([0, 1], 1))
@pytest.mark.parametrize("prioritized", [False, True], ids=["alike", "prioritized"])
@pytest.mark.parametrize("kind", ["plain functions", "plain passes"])
def test_all_ways_to_promote_lead_to_the_same_schedule(kind, prioritized, seed):
    random = np.random.default_rng(seed)
    slow, fast = alike(kind, seed)
    longest = 0
    for _ in range(400 if kind == "plain functions" else 700):  # those take most of the time in the last steps
        now = slow.now
        dice = random.random()
        size, walltime, delay = (int(x) for x in random.integers([1, 1, 0], [slow.processors + 1, 120, 300]))
        if dice < 0.5:
            not_before = now + delay if delay > 200 else None
            priority = int(random.integers(0, 3)) if prioritized else 0
            answers = [s3.submit(size, walltime, not_before=not_before, priority=priority) for s3 in (slow, fast)]
            assert answers[0] == answers[1]
            ended = []
        elif dice < 0.6:
            answers = []
            for s3 in (slow, fast):
                try:
                    start = s3.soonest + delay
                    answers.append(s3.reserve(size, start, walltime, start_by=start + delay))
                except StalePlan as error:
                    answers.append(str(error))
            assert answers[0] == answers[1]
            ended = []
        elif dice < 0.7 and slow.queued:
            id = int(random.choice([e.id for e in slow.queued]))
            assert slow.cancel(id) == fast.cancel(id)
            ended = []
        elif dice < 0.74 and slow.queued:
            id = int(random.choice([e.id for e in slow.queued]))
            assert slow.reshape(id, size, walltime) == fast.reshape(id, size, walltime)
            assert slow.availability(without=id).to_wire() == fast.availability(without=id).to_wire()
            ended = []
        elif dice < 0.745:  # another life, or one planned for the next second
            lives = []
            for s3 in (slow, fast):
                other = S3(s3.processors, now, lead=(s3.lead + 1) % 2, machine_code=s3._machine_code)
                other._promote = s3._promote
                other.restore(s3.entries.values(), version=s3.version, last_id=s3._last_id)
                lives.append(other)
            slow, fast = lives
            ended = []
        elif dice < 0.755:
            processors = int(random.integers(20, 41))
            assert slow.resize(processors) == fast.resize(processors)
            ended = []
        else:
            now += int(random.integers(0, 25))  # sometimes past an instant at which a start was due
            ended = [e.id for e in slow.running if (e.end <= now and random.random() < 0.9) or random.random() < 0.2]
        assert slow.step(now, ended) == fast.step(now, ended)
        assert slow.entries == fast.entries
        assert slow.broken == fast.broken
        assert slow.availability().to_wire() == fast.availability().to_wire()
        longest = max(longest, len(slow.queued))
    fast.check()
    assert longest > 20
    assert slow.broken
