from threading import Event, Timer

import numpy as np
import pytest

from gas.prediction.parts import in_parts, in_turn


def test_a_long_forecast_can_be_interrupted():
    """Between two slices: the computed part is dropped, and the computation ends."""
    begun = []

    def some(rows):
        begun.append(rows)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return np.zeros((rows.stop - rows.start, 1), np.int64)

    for threads in (1, 2):
        begun.clear()
        with pytest.raises(KeyboardInterrupt):
            in_parts(some, 1000, threads, 1e9)
        assert len(begun) < 1000


@pytest.mark.parametrize("threads", [1, 2, 5, 300])
@pytest.mark.parametrize("visits", [1.0, 1e5, 1e9])
def test_all_samples_are_computed_once_and_in_order(threads, visits):
    found = in_parts(lambda rows: np.arange(rows.start, rows.stop)[:, None], 101, threads, visits)
    assert found[:, 0].tolist() == list(range(101))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_parts_come_in_their_order_and_only_a_few_are_computed_ahead(threads):
    begun = []

    def some(part):
        begun.append(part)
        yield from (2 * part, 2 * part + 1)

    found = in_turn(some, range(50), threads)
    assert [next(found) for _ in range(20)] == list(range(20))
    assert len(begun) <= 10 + 2 * threads
    assert list(found) == list(range(20, 100))


def test_what_goes_wrong_in_a_part_comes_when_its_turn_comes_and_ends_the_others():
    def some(part):
        if part == 3:
            raise ValueError("the third")
        yield part

    found = in_turn(some, range(100), 2)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="the third"):
        next(found)


def test_what_is_closed_does_not_compute_parts_to_their_end():
    begun, go_on = [], Event()

    def some(part):
        for one in range(1000):
            begun.append((part, one))
            yield one
            if part:
                go_on.wait(5)

    found = in_turn(some, [0, 1, 2], 2)
    next(found)
    Timer(0.1, go_on.set).start()
    found.close()
    assert len(begun) < 1010
