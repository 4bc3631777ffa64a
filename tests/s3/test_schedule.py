import pytest

from gas.s3 import S3


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


def test_a_copy_goes_its_own_way():
    s3 = S3(10, 0)
    a, b = s3.submit(10, 100), s3.submit(10, 100)
    s3.step(0)
    other = s3.copy()
    other.step(10, [a.id])
    assert (b.start, other.entries[b.id].start) == (100, 10)
    s3.check()
    other.check()


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
