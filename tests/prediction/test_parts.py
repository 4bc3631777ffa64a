import numpy as np
import pytest

from gas.prediction.parts import in_parts


def test_a_long_forecast_can_be_interrupted():
    """Between two slices: what has been computed is dropped, and nobody goes on."""
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
