"""Waits learnt from the state of the queue."""

import numpy as np

from gas.prediction import learnt as module
from gas.prediction.learnt import FEWEST, LearntWaits, middle_of, seen_at
from gas.prediction.queue_state import ROW, jobs_seen
from workloads import Log, rigid_jobs
from workloads.header import Header


def learnt(wait, size, every=400):
    """Return what is learnt from jobs with these waits and sizes, submitted one by one on a large machine."""
    count = len(wait)
    columns = {
        "submit": every * np.arange(count),
        "wait": wait,
        "run_time": np.full(count, 60),
        "user": np.zeros(count),
    }
    columns |= {"requested_time": np.full(count, 600), "allocated_processors": size}
    columns = {name: np.asarray(values, np.float64) for name, values in columns.items()}
    jobs = rigid_jobs(Log.from_columns(columns, header=Header.of([("MaxProcs", 1000)])))
    start = jobs.submit + np.asarray(wait)
    seen = seen_at(jobs, start, start + 60, np.zeros(count, np.int64), np.zeros(count, np.int64), np.arange(count))
    return LearntWaits(*seen, jobs.submit, start)


def test_large_jobs_wait_as_large_jobs_did():
    kind = np.arange(200) % 2
    found = learnt(3600 * kind, 1 + 700 * kind)
    assert found.predicted(198, [0.9]).waits.max() == 0
    assert found.predicted(199, [0.9]).waits.min() == 3600


def test_nothing_is_learnt_before_enough_have_started():
    found = learnt(np.zeros(100, int), np.ones(100, int))
    assert not found.predicted(FEWEST - 1, [0.9]).waits.size
    assert found.predicted(FEWEST + 1, [0.9]).waits.size


def surprising(count=1500, often=12, seed=0):
    """Waits of seconds, and at times of hours, that nothing foretells."""
    generator = np.random.default_rng(seed)
    return np.where(generator.random(count) < 1 / often, generator.integers(4000, 40000, count), 5)


def test_an_interval_covers_most_long_waits_though_nothing_tells_of_them():
    wait = surprising()
    found = learnt(wait, np.ones(len(wait), int))
    some = range(800, len(wait), 2)
    predicted = [found.predicted(place, [0.9]) for place in some]
    wait = wait[some]
    long = wait > 3600
    inside = np.array([one.intervals[0][0] <= wait[k] <= one.intervals[0][1] for k, one in enumerate(predicted)])
    quantile = np.array([wait[k] <= one.waits[95] for k, one in enumerate(predicted)])
    assert quantile[long].mean() < 0.65
    assert inside[long].mean() > 0.8


def test_an_interval_does_not_depend_on_waits_that_are_not_over():
    wait, at = surprising(600), 400
    others = np.where(400 * np.arange(600) + wait >= 400 * at, 99_999, wait)
    one, other = (learnt(of, np.ones(600, int)) for of in (wait, others))
    for place in range(at + 1):
        before, after = one.predicted(place, [0.9]), other.predicted(place, [0.9])
        assert before[1:] == after[1:]
        assert before.waits.tolist() == after.waits.tolist()


def test_who_waits_for_longer_than_predicted_counts_before_it_starts():
    generator = np.random.default_rng(5)
    wait = generator.integers(4000, 8000, 700)  # seconds; jobs come every 400
    wait[600:] = 80_000 - 400 * np.arange(100)  # none of them starts before all have come
    found, before = learnt(wait, np.ones(700, int)), learnt(wait[:600], np.ones(600, int))
    ends = [found.predicted(place, [0.9]).intervals[0][1] for place in (599, 610, 640, 690)]
    assert ends[0] == before.predicted(599, [0.9]).intervals[0][1] < 8000
    assert ends[1] < 8000  # no job has waited for longer than its interval yet
    assert ends[1] < ends[2] < ends[3]
    assert ends[3] > 20_000  # by then the first ones have waited this long


def test_the_interval_is_that_of_all_jobs_on_the_way_whichever_of_them_are_asked_about():
    wait = surprising(500)
    one, other = (learnt(wait, np.ones(500, int)) for _ in range(2))
    for place in range(0, 499, 7):
        one.predicted(place, [0.9])
    assert one.predicted(499, [0.9])[1:] == other.predicted(499, [0.9])[1:]


def test_the_middle_is_the_median_or_if_it_is_short_the_most_likely_wait():
    assert middle_of(np.array([0, 0, 300, 900, 9000])) == 300
    assert middle_of(np.array([0, 0, 0, 200, 240, 5000, 9000])) == 0
    assert middle_of(np.array([0, 120, 120, 120, 5000])) == 120


def test_a_row_costs_as_much_as_jobs_wait_and_run_at_its_submission():
    submit, start, end = np.array([0, 1, 2, 3, 4]), np.array([0, 1, 9, 9, 9]), np.array([8, 8, 10, 10, 10])
    waiting, running = np.array([0, 0, 0, 1, 2]), np.array([0, 1, 2, 2, 2])
    assert jobs_seen(submit, start, end).tolist() == (ROW + waiting + running // 4).tolist()


def test_of_long_queues_fewer_jobs_of_a_log_are_looked_at_and_always_the_ones_asked_about(monkeypatch):
    jobs = rigid_jobs(
        Log.from_columns(
            {name: np.full(400, 1.0) for name in ("run_time", "requested_time", "allocated_processors", "user")}
            | {"submit": np.arange(400.0)},
            header=Header.of([("MaxProcs", 10)]),
        )
    )
    start = np.full(400, 1000)
    costs = jobs_seen(jobs.submit, start, start + 1)
    asked = np.array([3, 397])

    def looked_at():
        return np.flatnonzero(seen_at(jobs, start, start + 1, start, 0 * start, asked)[1]).tolist()

    assert looked_at() == list(range(400))
    monkeypatch.setattr(module, "_SEEN", costs[::4].sum())
    assert looked_at() == sorted({*range(0, 400, 4), *asked.tolist()})
