"""Which share of their estimates jobs used: counts, classes and cells."""

import numpy as np
from hypothesis import given as given_that
from hypothesis import strategies as st

from experiments.estimates.use import COUNTS, LAST, LONGEST, Given, count, given, picture_of
from workloads import Log


def jobs(*rows):
    """Return jobs from (estimate, run time, killed)."""
    estimate, run_time, killed = zip(*rows, strict=True)
    return Given(np.array(estimate), np.array(run_time), np.array(killed, bool))


def chosen(counts, parameter):
    return next(iter(counts[parameter].values()))


def test_whole_per_cents_are_compared_without_rounding():
    found = jobs((300, 3, 0), (300, 297, 0), (300, 306, 0), (700, 7, 0), (700, 693, 0), (700, 714, 0), (3, 1, 0))
    assert found.between(0, 1).sum() == 0
    assert found.between(0, 1, right=True).sum() == 2
    assert found.between(99, 102).tolist() == [False, True, False, False, True, False, False]
    assert found.between(99, 102, left=False, right=True).tolist() == [False, False, True, False, False, True, False]


def test_the_peaks_are_whole_per_cents_rounded_down():
    found = count(jobs((1000, 9, 0), (1000, 10, 0), (1000, 989, 1), (1000, 990, 1), (1000, 1019, 0), (1000, 1020, 1)))
    assert chosen(found, "0% peak") == 1
    assert chosen(found, "100% peak") == 2
    assert chosen(found, "killed in 100% peak") == 1
    assert chosen(found, "killed jobs") == 3


def test_very_short_is_below_90_s_and_two_hours_belong_to_those_that_ask_for_little():
    found = count(jobs((7200, 89, 0), (7201, 90, 0), (1, 91, 0)))
    assert chosen(found, "under 90 s") == 1
    assert chosen(found, "requested under 2 h") == 2


def test_who_asked_for_nothing_counts_as_a_job_and_in_no_class():
    found = count(jobs((0, 0, 0), (100, 100, 0)))
    assert chosen(found, "total jobs") == 2
    assert chosen(found, "0% peak") == 0
    assert chosen(found, "requested under 2 h") == 1
    assert picture_of(jobs((0, 50, 0)))["jobs"] == 0


def test_a_job_that_never_ran_is_left_out_and_the_status_says_who_was_killed():
    log = Log.from_columns(
        {"submit": [0, 1, 2, 3], "run_time": [10.9, -1, 0, 7], "requested_time": [60.5, 60, -1, 30],
         "status": [1, 5, 0, 5]}
    )  # fmt: skip
    found, rows = given(log)
    assert rows.tolist() == [0, 2, 3]
    assert found.estimate.tolist() == [60, 0, 30]
    assert found.run_time.tolist() == [10, 0, 7]
    assert found.killed.tolist() == [False, True, True]


some = st.lists(st.tuples(st.integers(0, 20000), st.integers(0, 30000), st.booleans()), min_size=1, max_size=40)


@given_that(some)
def test_every_job_with_an_estimate_is_drawn_once(rows):
    found = jobs(*rows)
    drawn = picture_of(found)
    asked = sum(estimate > 0 for estimate, *_ in rows)
    histogram = np.array(list(drawn["histogram"].values()))
    assert histogram.shape == (3, LAST + 1)
    assert histogram.sum() == drawn["jobs"] == asked
    assert np.sum(drawn["cells"]) == sum(0 < estimate <= LONGEST for estimate, *_ in rows)
    assert sum(drawn["histogram"]["killed"]) == sum(killed and estimate > 0 for estimate, _, killed in rows)


@given_that(some)
def test_the_histogram_holds_the_counts_of_the_peaks(rows):
    found = jobs(*rows)
    histogram = np.sum(list(picture_of(found)["histogram"].values()), axis=0)
    assert histogram[0] == chosen(count(found), "0% peak")
    assert histogram[99:102].sum() == chosen(count(found), "100% peak")


def test_a_whole_minute_belongs_to_the_cell_that_it_ends():
    cells = np.array(picture_of(jobs((300, 60, 0), (301, 59, 0), (60, 99999, 0)))["cells"])
    assert cells[4, 1] == cells[5, 0] == cells[0, -1] == 1


def test_what_is_counted_in_a_peak_was_killed_in_the_same_reading():
    assert COUNTS["killed in 100% peak"].keys() == COUNTS["100% peak"].keys()
