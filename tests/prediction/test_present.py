"""Waits learnt for requests that are made now."""

from dataclasses import replace

import numpy as np
import pytest

from gas.compiled import compiled
from gas.prediction import present
from gas.prediction.forest import grow
from gas.prediction.present import LEARNT_FROM, Request, compile_learning, learning_is_ready, waits_now
from gas.prediction.queue_state import ROW
from gas.prediction.snapshot import UNPLANNED, Snapshot
from workloads import Log
from workloads.header import Header

HOUR, EVERY, FIRST = 3_600, 400, 1_000_000
NOW = FIRST + 300 * EVERY


def past(wait, size, queue=None):
    """Jobs with these waits and sizes, one every few minutes until now, on 1,000 processors."""
    count = len(wait)
    columns = {
        "submit": EVERY * np.arange(count), "wait": wait, "run_time": np.full(count, 60), "user": np.zeros(count),
        "requested_time": np.full(count, 600), "allocated_processors": size,
    }  # fmt: skip
    columns = {name: np.asarray(values, np.float64) for name, values in columns.items()}
    header = Header.of([("MaxProcs", 1000), ("UnixStartTime", FIRST)])
    return Log.from_columns(columns | ({} if queue is None else {"queue": queue}), header=header)


def standing(*jobs, queue=None, now=NOW):
    """Jobs of (processors, whether it runs, seconds that it has waited or run)."""
    sizes, runs, since = (np.array(one) for one in zip(*jobs, strict=True)) if jobs else (np.zeros(0, np.int64),) * 3
    count, runs = len(sizes), runs.astype(np.bool_)
    return Snapshot(
        now, 1000, sizes, np.full(count, 600), np.where(runs, now - since, UNPLANNED), runs, np.zeros(count, np.int64),
        submit=now - since, queue=None if queue is None else np.array(queue, np.int64),
    )  # fmt: skip


def middles(log, snapshot, *requests, **options):
    return [float(np.median(one)) for one in waits_now(log, snapshot, requests, **options)]


SMALL, LARGE = Request(1, 600, 0, -1), Request(701, 600, 0, -1)


def test_a_large_request_waits_as_large_jobs_did():
    kind = np.arange(300) % 2
    log = past(HOUR * kind, 1 + 700 * kind)
    assert middles(log, standing(), SMALL, LARGE) == [0, HOUR]


def test_a_request_waits_as_those_did_that_met_a_queue_as_long():
    """Every fifty jobs, ten are submitted at once: each waits until those before it have run."""
    rank = np.where(np.arange(300) % 50 < 10, np.arange(300) % 50, 0)
    columns = {"submit": EVERY * (np.arange(300) - rank), "wait": 600 * rank}
    log = past(600 * rank, np.full(300, 800)).with_columns(**columns)
    waiting = [(800, False, 1)] * 6
    short, long = (
        middles(log, standing((800, True, 60), *some), Request(800, 600, 0, -1))[0] for some in ([], waiting)
    )
    assert short < 600 < 1800 < long


def test_nothing_is_learnt_from_too_few_and_requests_do_not_see_each_other():
    assert not waits_now(past(np.zeros(20), np.ones(20)), standing(now=FIRST + 9_000), [SMALL])[0].size
    kind = np.arange(300) % 2
    log, snapshot = past(HOUR * kind, 1 + 700 * kind), standing()
    alone, *others = (waits_now(log, snapshot, [LARGE] * count)[-1].tolist() for count in (1, 12))
    assert others == [alone]


def test_a_job_that_has_waited_waits_on_as_those_did_that_waited_longer():
    """Half of all jobs wait for two hours, which nothing foretells; the others start at once."""
    log = past(2 * HOUR * np.random.default_rng(1).integers(0, 2, 300), np.full(300, 2))
    asked = [Request(2, 600, 0, -1, NOW - age) for age in (0, HOUR, 3 * HOUR)]
    new, waits, longest = waits_now(log, standing(), asked)
    assert set(new.tolist()) == {0, 2 * HOUR}
    assert set(waits.tolist()) == {HOUR}
    assert not longest.size, "none has waited so long"


def test_jobs_in_other_queues_and_later_submissions_are_not_seen():
    kind = np.arange(300) % 2
    log = past(HOUR * kind, 1 + 700 * kind, queue=np.ones(300))
    asked = [one._replace(queue=1) for one in (SMALL, LARGE)]
    alone = waits_now(log, standing(queue=[]), asked)
    beside = waits_now(log, standing((900, True, 50), (900, False, 99), queue=[-1, -1]), asked)
    later = waits_now(
        past([*HOUR * kind, 9 * HOUR], [*1 + 700 * kind, 701], queue=np.ones(301)), standing(queue=[]), asked
    )
    assert [one.tolist() for one in alone] == [one.tolist() for one in beside] == [one.tolist() for one in later]


def test_a_job_that_runs_has_waited_and_teaches():
    """One job has ended and had started at once; those that run had waited for hours."""
    log, running = past([0], [2]), standing(*[(2, True, 5)] * 100)
    waited = replace(running, submit=running.submit - 5 * HOUR)
    assert [middles(log, one, Request(2, 600, 0, -1))[0] for one in (running, waited)] == [0, 5 * HOUR]


def test_of_long_queues_fewer_jobs_are_learnt_from(monkeypatch):
    looked = []
    real = present.queue_states

    def spy(*given, **options):
        looked.append(int(given[9].sum()))
        return real(*given, **options)

    monkeypatch.setattr(present, "queue_states", spy)
    log = past(np.zeros(300), np.ones(300))
    waits_now(log, standing(), [SMALL])
    monkeypatch.setattr(present, "_SEEN", 100 * ROW)
    waits_now(log, standing(), [SMALL])
    assert looked == [300 + 1, 100 + 1]
    assert LEARNT_FROM == 4_000


def test_it_is_ready_once_it_is_compiled(monkeypatch, tmp_path):
    compile_learning()
    assert learning_is_ready()
    assert compiled(grow) is compiled(grow)
    monkeypatch.setattr(present, "available", lambda: False)
    assert not learning_is_ready()


@pytest.mark.parametrize("processors", [None, 800])
def test_jobs_that_do_not_fit_are_left_out(processors):
    kind = np.arange(300) % 2
    log = past(HOUR * kind, 1 + 900 * kind)
    found = middles(log, standing(), SMALL, processors=processors)
    assert found == [0]
