"""The garbage collector can be paused."""

import gc

import pytest

from gas.collector import uncollected


def test_it_is_off_within_and_as_before_afterwards():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the inner one has not begun it"
    assert gc.isenabled()


def test_it_is_on_again_after_an_error():
    with pytest.raises(ValueError, match="x"), uncollected():
        raise ValueError("x")
    assert gc.isenabled()


def test_one_that_was_off_stays_off():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
