"""One contract: every form of the profile, with the same queries and changes, against free processors per second."""

import numpy as np
import pytest
from blocks_and_arrays import make_blocks_small
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from strategies import TODAY
from thorough import examples

from gas.compiled import compiled
from gas.profile import blocks, changes, flat, gaps, holes

MACHINE = 8


class Flat:
    """Two sorted arrays."""

    def __init__(self, processors, now, form):
        self.of, self.profile = form, flat.empty_profile(processors, now, room=1)

    def take(self, start, end, processors):
        self.profile = flat.with_room(self.profile, 2)
        self.of(flat.take)(self.profile, start, end, processors)

    def give_back(self, start, end, processors):
        self.profile = flat.with_room(self.profile, 2)
        self.of(flat.give_back)(self.profile, start, end, processors)

    def forget(self, now):
        self.of(flat.forget)(self.profile, now)

    def earliest(self, processors, walltime, not_before):
        return self.of(flat.earliest_fit)(self.profile, processors, walltime, not_before)

    def steps(self):
        return self.profile

    def check(self):
        flat.check(self.profile, MACHINE)


class InBlocks(Flat):
    """The same frames in blocks."""

    def __init__(self, processors, now, form):
        self.of, self.profile = form, blocks.empty_blocks(processors, now, walltime=20, frames=2)

    def take(self, start, end, processors):
        self.profile = blocks.with_rows(self.profile, 2)
        self.of(changes.take)(self.profile, start, end, processors)

    def give_back(self, start, end, processors):
        self.profile = blocks.with_rows(self.profile, 2)
        self.of(changes.give_back)(self.profile, start, end, processors)

    def forget(self, now):
        self.of(changes.forget)(self.profile, now)

    def earliest(self, processors, walltime, not_before):
        return self.of(holes.first_fit)(self.profile, processors, walltime, not_before)

    def steps(self):
        return blocks.profile_in(self.profile)

    def check(self):
        blocks.check(self.profile, MACHINE)


class AsGaps(Flat):
    """The gaps of one node, whose processors are interchangeable; rebuilt at each change."""

    def __init__(self, processors, now, form):
        self.of, self.capacity, self.now, self.spans = form, np.array([processors], np.int64), now, []

    def take(self, start, end, processors):
        self.spans.append((start, end, processors))

    def give_back(self, start, end, processors):
        self.spans.append((max(start, self.now), end, -processors))

    def forget(self, now):
        self.now = max(now, self.now)

    def earliest(self, processors, walltime, not_before):
        start, end, units = np.array(self.spans, np.int64).reshape(-1, 3).T.copy()
        found = gaps.gaps_of(self.capacity, 0 * start, start, end, units, self.now)
        anchors = np.empty(1, np.int64)
        sizes, walltimes = np.array([processors], np.int64), np.array([walltime], np.int64)
        self.of(gaps.earliest_in_gaps)(found, sizes, walltimes, max(not_before, self.now), anchors)
        return anchors[0]

    def steps(self):
        return None

    def check(self):
        pass


class Contract(RuleBasedStateMachine):
    """Take, give back, forget and search, compared with a dictionary of free processors by second."""

    made = None
    """Makes the form that is tested."""

    @initialize(now=st.sampled_from([0, TODAY]))
    def begin(self, now):
        self.form = self.made(MACHINE, now)
        self.now = now
        self.free = {}  # by second; seconds without an entry have the whole machine

    def level(self, t):
        return self.free.get(t, MACHINE)

    def fits(self, start, length, processors):
        return self.form.earliest(processors, length, start) == start

    @rule(offset=st.integers(0, 40), length=st.integers(1, 15), data=st.data())
    def take_some(self, offset, length, data):
        start = self.now + offset
        span = range(start, start + length)
        most = min(map(self.level, span))
        assert not self.fits(start, length, most + 1)
        if most:
            assert self.fits(start, length, most)
            processors = data.draw(st.integers(1, most))
            self.form.take(start, start + length, processors)
            self.free |= {t: self.level(t) - processors for t in span}

    @rule(offset=st.integers(-10, 40), length=st.integers(1, 25), data=st.data())
    def give_some_back(self, offset, length, data):
        # Any span that is not all free, also one that was not taken as a whole, or that began in the past.
        start = self.now + offset
        span = range(max(start, self.now), start + length)
        most = min((MACHINE - self.level(t) for t in span), default=0)
        if most:
            processors = data.draw(st.integers(1, most))
            self.form.give_back(start, start + length, processors)
            self.free |= {t: self.level(t) + processors for t in span}

    @rule(processors=st.integers(1, MACHINE), length=st.integers(1, 25), offset=st.integers(-5, 60))
    def find_the_first_second_at_which_it_fits(self, processors, length, offset):
        begin = start = max(self.now, self.now + offset)
        while any(self.level(t) < processors for t in range(start, start + length)):
            start += 1
        assert self.form.earliest(processors, length, self.now + offset) == start, f"{begin} was the first to try"

    @rule(offset=st.integers(-5, 60))
    def more_than_there_is_never_fits(self, offset):
        assert self.form.earliest(MACHINE + 1, 1, self.now + offset) == flat.NEVER

    @rule(seconds=st.integers(0, 12))
    def let_time_pass(self, seconds):
        self.now += seconds
        self.form.forget(self.now)

    @rule()
    def time_does_not_go_back(self):
        self.form.forget(self.now - 1)

    @invariant()
    def the_steps_are_those_of_the_dictionary(self):
        self.form.check()
        if (profile := self.form.steps()) is None:
            return
        later = sorted({self.now, *(s for t in self.free for s in (t, t + 1) if s > self.now)})
        steps = [t for t in later if t == self.now or self.level(t) != self.level(t - 1)]
        assert profile.starts[: profile.used[0]].tolist() == steps
        assert profile.free[: profile.used[0]].tolist() == [self.level(t) for t in steps]


def plain(kernel):
    return kernel


@pytest.mark.parametrize("form", [plain, compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("kind", [Flat, InBlocks, AsGaps])
def test_every_form_keeps_the_contract(kind, form):
    class Case(Contract):
        def made(self, processors, now):
            return kind(processors, now, form)

    run_state_machine_as_test(Case, settings=examples(60, stateful_step_count=40))


def test_blocks_of_a_few_frames_keep_it_too(monkeypatch):
    make_blocks_small(monkeypatch)

    class Case(Contract):
        def made(self, processors, now):
            return InBlocks(processors, now, plain)

    run_state_machine_as_test(Case, settings=examples(60, stateful_step_count=40))
