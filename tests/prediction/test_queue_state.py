"""The visible state of a queue at a submission: counted by hand, and without anything later."""

import numpy as np
import pytest

from gas.prediction.queue_state import FEATURES, queue_states

JOBS = {  # on 10 processors
    "submit": [0, 10, 20, 600, 660],
    "start": [0, 10, 610, 900, 660],
    "end": [300, 3610, 700, 1000, 670],
    "processors": [4, 6, 8, 4, 2],
    "walltime": [1200, 7200, 600, 1200, 60],
    "run_time": [300, 3600, 90, 100, 10],
    "user": [7, 8, 7, 8, 7],
    "queue": [1, 1, 2, 2, 1],
}


def seen(machine_code=True, **changes):
    columns = [np.array(one, np.int64) for one in (JOBS | changes).values()]
    rows = queue_states(*columns, 10, np.ones(len(columns[0]), np.bool_), machine_code=machine_code)
    return [dict(zip(FEATURES, row.tolist(), strict=True)) for row in rows]


def minutes(seconds):
    return pytest.approx(np.log1p(seconds / 60), rel=1e-5)


def test_who_waits_and_who_runs_is_counted():
    found = seen()[3]  # at 600 the first has ended, the second runs, the third waits
    assert (found["waiting"], found["waiting of user"], found["waiting in queue"]) == (1, 0, 1)
    assert found["processors waiting"] == pytest.approx(0.8)
    assert found["free"] == pytest.approx(0.4)
    assert found["work waiting"] == minutes(8 * 600 / 10)
    assert found["oldest"] == minutes(580)
    assert found["running of user"] == pytest.approx(0.6)
    assert found["free by walltimes"] == 0
    assert seen()[2]["free by walltimes"] == minutes(7190)  # 8 processors, once both have ended


def test_waits_and_use_are_those_that_were_over():
    last = seen()[4]
    assert last["last wait of user"] == minutes(590)  # of the third, which started at 610
    assert last["use of walltimes"] == pytest.approx(300 / 1200)  # that one has not ended
    assert last["waits in queue"] == minutes(0)
    assert last["since last start"] == minutes(50)
    assert last["recent use"] == 1.0


def test_what_is_known_of_requests_sizes_and_queues_is_from_jobs_that_have_started():
    job = {
        "submit": 0,
        "start": 60,
        "end": 120,
        "processors": 4,
        "walltime": 600,
        "run_time": 60,
        "user": 1,
        "queue": 1,
    }
    like = {"submit": 300, "start": 900, "end": 960}
    larger = {"processors": 9, "submit": 310, "start": 360, "end": 500, "user": 2, "run_time": 140}
    asked = {"submit": 800, "start": 5000, "end": 5060}
    jobs = [job, job | like, job | larger, job | asked]
    found = seen(**{name: [one[name] for one in jobs] for name in job})[3]
    assert found["last wait of request"] == found["waits of request"] == found["last wait of size"] == minutes(60)
    assert found["since start of request"] == found["since start of size"] == minutes(740)
    assert found["since start of larger"] == minutes(440)
    assert found["use of request"] == pytest.approx(0.1)
    assert (found["waiting of request"], found["waiting of size"]) == (1, 1)
    assert found["oldest of request"] == found["oldest in queue"] == minutes(500)
    assert found["late for size"] == pytest.approx(np.log1p(500 / 60) - np.log1p(1), rel=1e-5)
    assert found["processors waiting of user"] == pytest.approx(0.4)
    assert found["since user submitted"] == minutes(500)
    assert found["since user started"] == minutes(740)
    assert found["last wait in queue"] == minutes(50)
    assert [found[f"{what} in an hour"] for what in ("submitted", "started", "ended")] == [3, 2, 2]


def test_what_happened_in_the_last_hour_is_what_was_over_at_the_submission():
    once = {"submit": [0, 4000], "start": [0, 4000], "end": [500, 4000], "run_time": [500, 0]}
    once |= {name: JOBS[name][:2] for name in ("processors", "walltime", "user", "queue")}
    found = seen(**once)[1]
    assert [found[f"{what} in an hour"] for what in ("submitted", "started", "ended")] == [0, 0, 1]


def test_where_nothing_is_known_of_run_times_others_use_half_of_their_walltimes():
    found = seen()[2]  # it needs 8 of 10
    assert {name: found[name] for name in FEATURES if name.startswith("start: ")} == {
        name: minutes(7200 / 2 - 10) for name in FEATURES if name.startswith("start: ")
    }
    assert seen()[3]["start: submission, greedy"] == 0


def test_machine_code_and_python_see_the_same():
    assert seen(machine_code=False) == seen()


def test_nothing_is_seen_of_what_comes_later():
    later = seen(
        start=[0, 10, 610, 5000, 9000], end=[300, 8000, 9000, 9900, 9990], run_time=[300, 7990, 8390, 4900, 990],
        processors=[4, 6, 8, 4, 10],
    )  # fmt: skip
    assert later[:4] == seen()[:4]
