"""Running jobs that change their sizes."""

import numpy as np
from several_sizes import by_hand

from experiments.malleate.engine import play
from experiments.malleate.rules import STRATEGIES


def test_a_malleable_job_grows_where_processors_are_left_and_pays_for_it():
    moldable = by_hand([(0, 2, {2: 400, 4: 200, 8: 100}), (0, 4, {4: 100})])
    for cost, end in ((0, 100 + 50), (20, 100 + 20 + 60)):
        # On 4 processors beside the other job for 100 s; the cost of the change is no progress; then on 8.
        played = play(moldable, np.array([True, False]), STRATEGIES["malleable-own"], cost=cost)
        assert (played.end.tolist(), played.size.tolist()) == ([end, 100], [8, 4])


def test_malleable_jobs_shrink_for_the_first_in_the_queue_but_not_below_their_own_size_where_they_keep_it():
    moldable = by_hand([(0, 4, {2: 400, 4: 200, 8: 100}), (10, 6, {6: 50})])
    adopts = np.array([True, False])
    shrunk = play(moldable, adopts, STRATEGIES["malleable-own"])
    kept = play(moldable, adopts, STRATEGIES["malleable-keep"])
    assert shrunk.start.tolist() == [0, 10]
    assert kept.start[1] == kept.end[0] == 100


def test_the_processor_time_used_is_that_of_each_size_while_it_had_it():
    moldable = by_hand([(0, 2, {2: 400, 4: 200, 8: 100}), (0, 4, {4: 100})])
    played = play(moldable, np.array([True, False]), STRATEGIES["malleable-own"], cost=20)
    assert played.used.tolist() == [4 * 100 + 8 * 80, 4 * 100]


def test_a_job_does_not_grow_where_the_cost_is_more_than_it_saves():
    moldable = by_hand([(0, 2, {2: 400, 4: 395}), (0, 6, {6: 50})])
    for cost, size in ((0, 4), (20, 2)):
        assert play(moldable, np.array([True, False]), STRATEGIES["malleable-own"], cost=cost).size[0] == size


def test_the_job_furthest_above_its_smallest_size_gives_way_first():
    moldable = by_hand([(0, 4, {1: 400, 4: 100}), (0, 4, {3: 130, 4: 100}), (10, 3, {3: 10})])
    played = play(moldable, np.array([True, True, False]), STRATEGIES["malleable-own"])
    assert played.start.tolist() == [0, 0, 10]
    assert played.end[1] == 100  # it kept its size
