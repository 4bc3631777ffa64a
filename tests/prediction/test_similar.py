"""Waits of similar jobs, as known at an instant."""

import numpy as np

from gas.prediction import LEAST_SAMPLES
from gas.prediction.similar import SIMILAR, Similar, forecast_of_similar


def columns(*rows):
    return (np.array(column, np.int64) for column in zip(*rows, strict=True))


def test_a_wait_is_known_once_the_job_has_started():
    similar = Similar(*columns((0, 10, 4, 600), (5, 200, 4, 600)))
    assert similar.waits(10, 4, 600).tolist() == []
    assert similar.waits(11, 4, 600).tolist() == [10]
    assert similar.waits(201, 4, 600).tolist() == [10, 195]


def test_like_a_job_is_who_is_of_its_size_and_walltime_up_to_a_factor_of_two():
    similar = Similar(*columns((0, 7, 4, 600), (0, 8, 7, 1000), (0, 9, 8, 600), (0, 9, 4, 1100)))
    assert similar.waits(100, 5, 900).tolist() == [7, 8]
    assert similar.waits(100, 64, 900).tolist() == []


def test_the_last_ones_count():
    similar = Similar(*columns(*((0, n, 1, 60) for n in range(SIMILAR + 10))))
    assert similar.waits(1000, 1, 60).tolist() == list(range(10, SIMILAR + 10))


def test_jobs_of_another_queue_are_not_alike_where_queues_count():
    made = [*columns((0, 7, 4, 600), (0, 8, 4, 600)), np.array([1, 2])]
    assert Similar(*made).waits(100, 4, 600, 2).tolist() == [8]
    assert Similar(*made[:4]).waits(100, 4, 600).tolist() == [7, 8]


def test_without_a_simulation_jobs_wait_as_similar_ones_did_if_there_are_enough():
    waits = [np.arange(LEAST_SAMPLES), np.arange(LEAST_SAMPLES) + 300]
    found = forecast_of_similar(waits, 1000, [900, 1200], [60, 60])
    assert (found.latest.tolist(), found.alone.any()) == ([1000, 1200], False)
    assert found.expected_start.round().tolist() == [1000 + 4, 1300 + 4]
    assert forecast_of_similar([waits[0], waits[1][1:]], 1000, [900, 1200], [60, 60]) is None
    assert forecast_of_similar([], 1000, [], []) is None
