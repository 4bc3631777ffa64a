"""The running jobs: how many processors they hold, and until when."""

import pytest

from gas.s3 import Entry
from gas.s3.running import Running


def entry(id, processors, start, walltime):
    return Entry(id, processors, walltime, 0, start, start, "running", start + walltime)


def test_the_first_end_is_known_whoever_starts_and_ends():
    running = Running()
    assert (running.first_end(), running.in_use) == (None, 0)
    for e in (entry(1, 3, 0, 50), entry(2, 4, 0, 20), entry(3, 1, 5, 15)):
        running.add(e)
        running.check()
    assert (running.first_end(), running.in_use) == (20, 8)
    running.pop(2)
    assert (running.first_end(), running.in_use) == (20, 4)
    running.pop(3)
    assert (running.first_end(), running.in_use) == (50, 3)
    running.pop(1)
    assert (running.first_end(), running.in_use) == (None, 0)


def test_who_outlives_its_walltime_is_expected_to_need_as_long_again():
    running = Running()
    for e in (entry(1, 3, 0, 50), entry(2, 4, 0, 20), entry(3, 1, 0, 60)):
        running.add(e)
    assert running.outlast(20) == set()
    assert running.outlast(55) == {1, 2}
    assert {e.id: e.end for e in running.entries.values()} == {1: 60, 2: 90, 3: 60}
    assert running.first_end() == 60
    running.check()


def test_after_an_outage_a_job_is_as_late_as_it_is_from_now_on():
    running = Running()
    for e in (entry(1, 3, 0, 50), entry(2, 4, 0, 20)):
        running.add(e)
    assert running.outlast(86_400, after_outage=True) == {1, 2}
    assert [e.end for e in running.entries.values()] == [86_401, 86_401]
    running.pop(2)
    assert running.outlast(86_410) == {1}
    assert running.copy(running.entries).outlast(86_500) == {1}
    assert running.entries[1].end == 86_600
    running.check()


def test_check_finds_sums_that_are_not_those_of_the_entries():
    running = Running()
    running.add(entry(1, 3, 0, 50))
    running.entries[1].processors = 4
    with pytest.raises(AssertionError, match="4 processors are held, not 3"):
        running.check()
