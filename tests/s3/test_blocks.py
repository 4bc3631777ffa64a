"""Frames in blocks, beside the same profile in its two arrays."""

import numpy as np
import pytest

from gas.compiled import compiled
from gas.profile import Profile, earliest_fit, empty_profile, fits, give_back, take
from gas.s3.blocks import WIDTH, change, earlier_start, gather, packed, roomy, spread

MACHINE = 20
LONGEST = 60


class Both:
    """A profile with some jobs in it, once as arrays and once in blocks; stamp 1 is on all of it, 2 is the next."""

    def __init__(self, seed, span, form=lambda kernel: kernel):
        self.random = random = np.random.default_rng(seed)
        self.form = form
        self.profile = empty_profile(MACHINE, 0, room=5000)
        self.held = []
        for _ in range(6 * span // LONGEST):
            self.hold(int(random.integers(0, span)), int(random.integers(1, LONGEST)), int(random.integers(1, 9)))
        count = int(self.profile.used[0])
        stamps = np.ones(count, np.int64)
        frames = self.profile.starts[:count], self.profile.free[:count]
        self.blocks = form(spread)(*frames, stamps, MACHINE.bit_length(), LONGEST)
        self.stamp = 1
        self.packed = 0

    def hold(self, start, walltime, processors):
        possible = fits(self.profile, start, walltime, processors)
        if possible:
            take(self.profile, start, start + walltime, processors)
            self.held.append((start, walltime, processors))
        return possible

    def change(self, start, end, processors):
        if not self.form(roomy)(self.blocks):
            self.blocks = self.form(packed)(self.blocks)
            self.packed += 1
        self.stamp += processors > 0
        self.form(change)(self.blocks, start, end, processors, self.stamp)

    def place_somebody(self, span):
        job = [int(x) for x in self.random.integers([1, 1, 1], [span, LONGEST, 9])]
        if self.hold(*job):
            self.change(job[0], job[0] + job[1], -job[2])

    def remove_somebody(self):
        start, walltime, processors = self.held.pop(int(self.random.integers(len(self.held))))
        give_back(self.profile, start, start + walltime, processors)
        self.change(start, start + walltime, processors)

    def frames(self):
        found = np.zeros((3, 5000), np.int64)
        count = self.form(gather)(self.blocks, *found)
        return found[0, :count].tolist(), found[1, :count].tolist()

    def expected_frames(self):
        count = int(self.profile.used[0])
        return self.profile.starts[:count].tolist(), self.profile.free[:count].tolist()

    def earliest(self, job, first):
        """Return where a job would start if it were taken out and put back."""
        start, walltime, processors = job
        without = Profile(*(array.copy() for array in self.profile))
        give_back(without, start, start + walltime, processors)
        return earliest_fit(without, processors, walltime, first)

    def earlier(self, job, first, since):
        start, walltime, processors = job
        level = processors.bit_length() - 1
        return self.form(earlier_start)(self.blocks, processors, level, walltime, first, start, since)


@pytest.mark.parametrize("span", [30, 300, 3000])
def test_spread_and_gathered_frames_are_what_they_were(span):
    both = Both(1, span)
    assert both.frames() == both.expected_frames()


@pytest.mark.parametrize("form", [lambda kernel: kernel, compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("span", [150, 2000])
def test_what_is_taken_and_given_back_in_blocks_is_as_in_arrays(form, span):
    both = Both(2, span, form)
    most = 0
    for step in range(400):
        if both.random.random() < 0.55:
            both.place_somebody(span)
        elif both.held:
            both.remove_somebody()
        most = max(most, int(both.blocks.sizes[0]))
        if step % 5 == 0:
            assert both.frames() == both.expected_frames()
    assert most > 1


def test_blocks_that_are_full_split_and_are_packed_when_their_rows_run_out():
    both = Both(3, 100)
    assert both.blocks.sizes[0] < 6
    for start in range(200, 4400, 4):
        both.hold(start, 2, 1)
        both.change(start, start + 2, -1)
    assert both.packed > 1
    assert both.blocks.sizes[0] > 2000 // WIDTH
    assert both.frames() == both.expected_frames()


@pytest.mark.parametrize("form", [lambda kernel: kernel, compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("seed", range(3))
def test_a_job_starts_earlier_where_it_would_be_put_if_it_were_taken_out(form, seed):
    both = Both(seed, 1500, form)
    earlier = 0
    for job in list(both.held):
        for first in {0, job[0] // 2, max(0, job[0] - 7)} - {job[0]}:
            expected = both.earliest(job, first)
            assert both.earlier(job, first, 0) == expected
            earlier += expected < job[0]
    assert earlier > 20


@pytest.mark.parametrize("seed", range(3))
def test_who_fitted_nowhere_is_only_looked_for_where_processors_were_given_back_since(seed):
    both = Both(seed, 1500)
    # All are seen in turn, as a promotion does, with a removal now and then: what each saw last is its stamp.
    seen = {}
    for _ in range(6):
        for job in sorted(both.held):
            since = seen.get(job, 0)
            expected = both.earliest(job, 0)
            if job[0] > 0:
                assert both.earlier(job, 0, since) == expected
            if expected < job[0]:
                both.held.remove(job)
                give_back(both.profile, job[0], job[0] + job[1], job[2])
                both.change(job[0], job[0] + job[1], job[2])
                assert both.hold(expected, job[1], job[2])
                both.change(expected, expected + job[1], -job[2])
                seen.pop(job, None)
                job = (expected, *job[1:])
            seen[job] = both.stamp
        both.remove_somebody()
        both.remove_somebody()
    assert both.stamp > 50


def test_holes_in_which_nothing_was_given_back_are_passed_over():
    both = Both(4, 0)  # idle
    for start, walltime, processors in [(500, 400, MACHINE - 1), (1990, 10, MACHINE), (2000, 50, 2)]:
        assert both.hold(start, walltime, processors)
        both.change(start, start + walltime, -processors)
    job = (2000, 50, 2)
    assert both.earlier(job, 0, since=0) == 0
    assert both.earlier(job, 0, since=1) == 2000
    both.change(600, 700, 1)
    assert both.earlier(job, 0, since=1) == 600
    assert both.earlier(job, 650, since=1) == 650
    assert both.earlier(job, 0, since=2) == 2000
