"""The service's predictions and their outcomes: correcting, shown, kept over restarts, and never in the way."""

import json
import os
import signal
import threading
import time

import numpy as np
import pytest

from gas.errors import NotFound
from gas.prediction.ledger import LEAST, MOST_OPEN, Ledger
from gas.service.feed import Feed
from gas.service.jobs import Job, JobRequest
from gas.service.ledger import FILE, KeptLedger

MACHINE = {"version": "1"}


class Scheduler:
    """Jobs with a feed of their changes, as in the service."""

    def __init__(self):
        self.feed, self.jobs, self.found = Feed(), {}, []

    def becomes(self, id, state, start=0, **more):
        request = JobRequest("job", "x", 1, 100, actuator="simulated", run_time=50)
        given = {"submitted": 0, "promise": start, "first_promise": start, "due": start + 100, **more}
        self.jobs[id] = job = Job(id, request, state=state, start=start, **given)
        self.feed.append([job], MACHINE)

    def find(self, id):
        self.found.append(id)
        if id not in self.jobs:
            raise NotFound(f"there is no job {id}")
        return self.jobs[id]


@pytest.fixture
def scheduler():
    return Scheduler()


def opened(tmp_path, scheduler):
    return KeptLedger(tmp_path, scheduler.feed, scheduler.find)


@pytest.fixture
def kept(tmp_path, scheduler):
    return opened(tmp_path, scheduler)


def predict(kept, scheduler, *ids, now=100, longest=1000):
    """Predict waits of jobs as uniform up to the longest."""
    for id in ids:
        scheduler.becomes(id, "queued", now + longest)
    kept.note({id: kept.predict(now, np.arange(0, longest, 10), longest) for id in ids}, kept.position)


def known(tmp_path):
    """The contents of the file: starts of the outcomes, and jobs without one."""
    wire = json.loads((tmp_path / FILE).read_bytes())
    return [row[0] for row in wire["outcomes"]], sorted(map(int, wire["open"]))


# ------------------------------------------------------------------------------------------------- what it takes in


def test_a_start_is_an_outcome_and_a_cancellation_or_another_shape_none(kept, scheduler, tmp_path):
    predict(kept, scheduler, 1, 2, 3, 4)
    scheduler.becomes(1, "running", 400)
    scheduler.becomes(2, "cancelled", 1100, finished=300)
    scheduler.becomes(3, "queued", 900, reshaped=300)
    kept.settle()
    assert kept.coverage["outcomes"] == kept.coverage["held"] == 1
    kept.stop()
    assert known(tmp_path) == ([400], [4])


def test_a_job_that_ran_for_a_moment_between_two_looks_has_started(kept, scheduler, tmp_path):
    predict(kept, scheduler, 1)
    scheduler.becomes(1, "completed", 200, finished=200)
    kept.stop()
    assert known(tmp_path) == ([200], [])


def test_a_start_while_its_prediction_is_made_counts_although_it_is_read_before(kept, scheduler):
    scheduler.becomes(1, "queued", 1100)
    position = kept.position
    made = kept.predict(100, np.arange(0, 1000, 10), 1000)
    scheduler.becomes(1, "running", 300)
    kept.settle()
    kept.note({1: made}, position)
    assert kept.coverage["outcomes"] == 1


def test_the_first_prediction_of_a_job_counts_not_the_latest(kept, scheduler, tmp_path):
    predict(kept, scheduler, 1)
    predict(kept, scheduler, 1, now=390, longest=20)
    scheduler.becomes(1, "running", 1090)
    kept.settle()
    assert kept.coverage["held"] == 0, "the second would have held"


def test_changes_that_the_feed_has_dropped_are_looked_up(scheduler, tmp_path):
    scheduler.feed = Feed(room=4)
    kept = opened(tmp_path, scheduler)
    predict(kept, scheduler, 1, 2, 3)
    scheduler.becomes(1, "running", 400)
    for id in range(10, 20):
        scheduler.becomes(id, "queued")
    del scheduler.jobs[3]
    kept.stop()
    assert sorted(scheduler.found) == [1, 2, 3], "and nothing but what was predicted"
    assert known(tmp_path) == ([400], [2])


def test_what_is_noted_while_others_are_looked_up_is_read_from_its_own_position(scheduler, tmp_path):
    """Job 2 is predicted as waiting, starts, and is noted while a thread looks up job 1."""
    scheduler.feed = Feed(room=6)
    kept = opened(tmp_path, scheduler)
    predict(kept, scheduler, 1)
    for id in range(10, 20):
        scheduler.becomes(id, "queued")
    scheduler.becomes(2, "queued", 1100)
    position = kept.position
    made = kept.predict(100, np.arange(0, 1000, 10), 1000)
    scheduler.becomes(2, "running", 300)
    looked_up, noting = threading.Event(), threading.Event()

    def find(id):
        looked_up.set()
        assert noting.wait(10)
        return scheduler.find(id)

    kept._find = find
    reader = threading.Thread(target=kept.settle)
    reader.start()
    assert looked_up.wait(10)
    settled, kept.settle = kept.settle, lambda: None  # the other thread stops here
    kept.note({2: made}, position)
    kept.settle = settled
    noting.set()
    reader.join(10)
    assert kept.coverage["outcomes"] == 1


# --------------------------------------------------------------------------------------------------- what it is for


def test_intervals_that_did_not_hold_get_wider_until_they_do(kept, scheduler):
    """Jobs wait three times as long as all samples say; the promise is far off."""
    widths = []
    for id in range(1, 121):
        scheduler.becomes(id, "queued", 10_000)
        made = kept.predict(100, np.arange(100, 200), 5_000)
        widths.append(made.high - made.low)
        kept.note({id: made}, kept.position)
        scheduler.becomes(id, "running", 100 + 450 + id % 50)
        kept.settle()
    share = kept.coverage["held"] / kept.coverage["outcomes"]
    assert widths[0] < 300 < 490 < made.high <= 5_000
    assert 0.5 < share < 1, "it began with none that held"


def test_with_few_outcomes_it_says_that_and_with_enough_how_many_held(kept, scheduler):
    predict(kept, scheduler, *range(1, LEAST + 1))
    for id in range(1, LEAST):
        scheduler.becomes(id, "running", 600)
    kept.settle()
    assert kept.coverage["share"] is None
    assert "not yet known" in kept.coverage["in_words"]
    scheduler.becomes(LEAST, "running", 1099)
    kept.settle()
    assert kept.coverage["in_words"] == f"90% intervals contained 95% of the last {LEAST} starts"


def test_nothing_is_predicted_after_a_promise_however_late_others_were(kept, scheduler):
    predict(kept, scheduler, *range(1, 41))
    for id in range(1, 41):
        scheduler.becomes(id, "running", 5_000)  # there was an outage
    kept.settle()
    assert kept.predict(100, np.arange(0, 1000, 10), 1000).high == 1000


# ------------------------------------------------------------------------------------------------- how it is kept


def test_the_next_life_knows_it_and_looks_up_what_has_started_meanwhile(kept, scheduler, tmp_path):
    predict(kept, scheduler, 1, 2, 3, 4)
    scheduler.becomes(1, "running", 400)
    kept.stop()
    scheduler.becomes(2, "running", 500)
    scheduler.becomes(4, "queued", 800, submitted=700)  # the store was recreated and assigns this number again
    del scheduler.jobs[3]  # it was forgotten
    scheduler.feed = Feed()
    after = opened(tmp_path, scheduler)
    after.settle()
    assert after.coverage["outcomes"] == 2
    after.stop()
    assert known(tmp_path) == ([400, 500], [])


def test_it_is_bounded_whatever_is_predicted_and_never_starts(kept, scheduler, tmp_path):
    made = kept.predict(100, np.arange(0, 100_000, 500) + 10**9, 2 * 10**9)
    for first in range(0, 3 * MOST_OPEN, 300):
        kept.note(dict.fromkeys(range(first, first + 300), made), kept.position)
    kept.stop()
    assert len(known(tmp_path)[1]) == MOST_OPEN
    assert (tmp_path / FILE).stat().st_size < 2_000_000


@pytest.mark.parametrize("content", [b"", b'{"schema": "gas.ledger/1", "outcomes": [[1]], "open": {}}', b"\0" * 100])
def test_a_damaged_file_is_set_aside_and_said_and_predictions_go_on(kept, scheduler, tmp_path, content, caplog):
    (tmp_path / FILE).write_bytes(content)
    predict(kept, scheduler, 1)
    kept.stop()
    assert known(tmp_path) == ([], [1])
    aside = tmp_path / "predictions.damaged"
    assert aside.read_bytes() == content
    (said,) = caplog.records
    assert f"{FILE}: " in said.getMessage()
    assert aside.name in said.getMessage()
    assert not said.exc_info


def test_a_disk_that_takes_nothing_is_said_once_and_what_is_known_is_used(kept, scheduler, tmp_path, caplog):
    (tmp_path / FILE).mkdir()
    for id in range(3):
        predict(kept, scheduler, id)
        scheduler.becomes(id, "running", 400)
        kept.settle()
        kept.save()
    assert kept.coverage["outcomes"] == 3
    assert len({record.getMessage() for record in caplog.records}) == len(caplog.records) <= 2


def endless(directory):
    scheduler = Scheduler()
    kept = KeptLedger(directory, scheduler.feed, scheduler.find)
    for id in range(1, 10**9):
        predict(kept, scheduler, id)
        scheduler.becomes(id, "running", 100 + id)
        kept.settle()
        kept.save()


def test_kill_9_leaves_a_whole_ledger_of_some_instant(scheduler, tmp_path, caplog):
    lengths = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                endless(tmp_path)
            finally:
                os._exit(1)
        time.sleep(0.2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        after = opened(tmp_path, scheduler)
        after.settle()
        lengths.append(after.coverage["outcomes"])
    assert caplog.records == []
    assert lengths == sorted(lengths)
    assert lengths[-1] > 0


# -------------------------------------------------------------------------------------------------- in nobody's way


def test_a_disk_that_hangs_holds_up_neither_predictions_nor_the_end(kept, scheduler, monkeypatch, tmp_path):
    hangs, go_on = threading.Event(), threading.Event()
    predict(kept, scheduler, 1)
    file, _ = kept._opened
    monkeypatch.setattr(file, "write", lambda wire: hangs.set() or go_on.wait(30))
    saving = threading.Thread(target=kept.save)
    saving.start()
    try:
        assert hangs.wait(30)
        predict(kept, scheduler, 2)
        scheduler.becomes(2, "running", 400)
        kept.settle()
        assert kept.coverage["outcomes"] == 1
    finally:
        go_on.set()
        saving.join()


def test_the_thread_follows_the_feed_and_writes_when_it_stops(kept, scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr("gas.service.ledger.LOOK_SECONDS", 0.02)
    kept.start()
    predict(kept, scheduler, 1)
    scheduler.becomes(1, "running", 400)
    end = time.monotonic() + 30
    while not (kept.coverage or {}).get("outcomes"):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert not (tmp_path / FILE).exists(), "at most every ten seconds"
    kept.stop()
    assert known(tmp_path) == ([400], [])


def test_what_fails_in_the_thread_is_logged_once_and_it_goes_on(kept, scheduler, monkeypatch, caplog):
    monkeypatch.setattr("gas.service.ledger.LOOK_SECONDS", 0.01)
    calls = []
    monkeypatch.setattr(Ledger, "coverage", lambda self: calls.append(1) or 1 / 0)
    kept.start()
    end = time.monotonic() + 30
    while len(calls) < 5:
        assert time.monotonic() < end
        time.sleep(0.01)
    kept.stop()
    assert len(caplog.records) == 1
