"""Logs replayed through S³, against a second-by-second simulator by `gas guide rules`.

The rules ("What the simulation results depend on"): 2, a job that would outlive its estimate is killed; 3, an instant
is handled in rounds, completions, one step, then all arrivals; 5, policy s3, revision until nothing moves.
"""

import gzip

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from schedules import Recorded
from thorough import examples

from gas.s3 import replay as module
from gas.s3.replay import replay
from workloads import RigidJobs

LATE = 600


def log(rows, machine):
    """Return the jobs of rows (submit, processors, estimate, run time)."""
    submit, processors, estimate, run_time = np.array(rows, np.int64).reshape(-1, 4).T.copy()
    unknown = np.full(len(rows), -1, np.int64)
    ids = np.arange(1, len(rows) + 1, dtype=np.int64)
    return RigidJobs(ids, submit, processors, estimate, run_time, unknown, unknown, unknown, ids - 1, machine)


# ------------------------------------------------------------------------------------------------ the brute force


class Simulator:
    """Second by second, round by round; the plan is an array of free processors, rebuilt whenever needed."""

    def __init__(self, rows, machine):
        self.rows, self.machine = rows, machine
        self.planned = {}  # of waiting jobs, in submission order
        self.started = {}
        self.running = set()

    def lasts(self, job):
        _, _, estimate, run_time = self.rows[job]
        return min(run_time, estimate)

    def first_fit(self, job, now):
        """Return the first second at which a job fits beside all others."""
        free = np.full(LATE, self.machine)
        spans = [(j, self.started[j]) for j in self.running] + list(self.planned.items())
        for other, start in spans:
            if other != job:
                free[max(start, now) : start + self.rows[other][2]] -= self.rows[other][1]
        _, processors, estimate, _ = self.rows[job]
        return next(s for s in range(now, LATE) if (free[s : s + estimate] >= processors).all())

    def start_due(self, now):
        for job in [j for j, start in self.planned.items() if start == now]:
            del self.planned[job]
            self.started[job] = now
            self.running.add(job)

    def instant(self, now):
        arrivals = [j for j, row in enumerate(self.rows) if row[0] == now]
        first = True
        while True:
            over = {j for j in self.running if self.started[j] + self.lasts(j) == now}
            if not over and not first:
                return
            self.running -= over
            if any(self.lasts(j) < self.rows[j][2] for j in over):
                moved = True
                while moved:
                    moved = False
                    for job, start in list(self.planned.items()):
                        if start > now:
                            self.planned[job] = self.first_fit(job, now)
                            moved |= self.planned[job] != start
            self.start_due(now)
            for job in arrivals if first else []:
                self.planned[job] = self.first_fit(job, now)
                self.start_due(now)
            first = False

    def until(self, end):
        now = self.rows[0][0]
        while now <= end:
            self.instant(now)
            now += 1
        return self


# ------------------------------------------------------------------------------------------------------- recording


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(module, "S3", Recorded)


@st.composite
def logs(draw):
    machine = draw(st.integers(1, 6))
    count = draw(st.integers(1, 12))
    gaps = draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 5]), min_size=count, max_size=count))
    rows, now = [], draw(st.sampled_from([0, 7]))
    for gap in gaps:
        now += gap
        size = machine if draw(st.integers(0, 3)) == 0 else draw(st.integers(1, machine))
        estimate = draw(st.integers(1, 12))
        run_time = draw(st.sampled_from([0, 0, estimate, estimate + 3, estimate // 2, max(0, estimate - 1), 1]))
        rows.append((now, size, estimate, run_time))
    return machine, rows


# At 1, B starts, which has no length, and then D arrives and takes the other processor. Only in the next round is B
# over. Were it over before D arrives, C would start at 1.
ARRIVALS_BEFORE_THE_NEXT_ROUND = (2, [(0, 2, 5, 1), (0, 1, 4, 0), (0, 2, 2, 0), (1, 1, 2, 1)])


@examples(500)
@given(logs())
@example(ARRIVALS_BEFORE_THE_NEXT_ROUND)
def test_every_job_starts_when_the_rules_say(case):
    machine, rows = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "S3", Recorded)
        ready = replay(log(rows, machine), processors=machine, until=LATE - 50)
    expected = Simulator(rows, machine).until(LATE - 50)
    assert {id - 1: start for id, start in ready.schedule.starts.items()} == expected.started
    assert ready.schedule.broken == []
    assert not ready.schedule.entries
    assert all(start <= ready.schedule.promises[id] for id, start in ready.schedule.starts.items())


@examples(200)
@given(logs(), st.integers(0, 40))
def test_the_machine_stands_as_the_rules_say_at_any_instant(case, offset):
    machine, rows = case
    until = rows[0][0] + offset
    state = replay(log(rows, machine), processors=machine, until=until).schedule
    state.check()
    expected = Simulator(rows, machine).until(until)
    assert {e.id - 1: e.start for e in state.running} == {j: expected.started[j] for j in expected.running}
    assert {e.id - 1: e.start for e in state.queued} == expected.planned
    assert state.now == until


def test_what_arrives_in_an_instant_comes_before_the_ends_of_jobs_of_no_length_in_it(recorded):
    machine, rows = ARRIVALS_BEFORE_THE_NEXT_ROUND
    assert replay(log(rows, machine), processors=machine, until=9).schedule.starts == {1: 0, 2: 1, 3: 2, 4: 1}


def test_the_clock_may_be_another_than_the_logs(recorded):
    rows = [(3, 2, 10, 4), (3, 2, 10, 10), (5, 1, 2, 2)]
    plain = replay(log(rows, 2), processors=2, until=100).schedule
    moved = replay(log(rows, 2), processors=2, until=100, offset=1_000_000).schedule
    assert moved.starts == {id: start + 1_000_000 for id, start in plain.starts.items()}
    assert moved.now == 1_000_100


def test_jobs_after_the_instant_are_left_out_and_those_of_it_are_in():
    rows = [(0, 1, 10, 10), (5, 1, 10, 10), (6, 1, 10, 10)]
    assert list(replay(log(rows, 4), processors=4, until=5).schedule.entries) == [1, 2]


def test_before_the_first_job_the_machine_is_idle():
    machine = replay(log([(10, 1, 5, 5)], 4), processors=4, until=3)
    assert (machine.schedule.now, machine.schedule.entries) == (3, {})


def test_a_watcher_sees_the_machine_after_each_submission():
    rows = [(0, 2, 10, 4), (0, 2, 10, 10), (5, 1, 2, 2)]
    seen = []
    replay(log(rows, 2), processors=2, until=9, watch=lambda i, machine: seen.append((i, *machine.schedule.entries)))
    assert seen == [(0, 1), (1, 1, 2), (2, 2, 3)]


def kth(traces, count=None):
    """Return the jobs of the KTH log by rule 1 (requested processors and time where given)."""
    [path] = sorted(traces.glob("KTH-SP2-1996-2.swf*"))
    with gzip.open(path, "rt", errors="replace") as lines:
        fields = [line.split() for line in lines if line.strip() and not line.startswith(";")]
    rows = []
    for f in fields:
        processors = int(f[7]) if int(f[7]) > 0 else int(f[4])
        run_time = int(float(f[3]))
        estimate = max(1, int(float(f[8])) if float(f[8]) > 0 else run_time)
        if run_time >= 0 and 0 < processors <= 100:
            rows.append((int(float(f[1])), processors, estimate, run_time))
    return log(sorted(rows, key=lambda row: row[0])[:count], 100)


@pytest.mark.thorough
def test_the_kth_log_keeps_all_invariants_and_every_promise(traces, recorded):
    jobs = kth(traces)
    middle = int(jobs.submit[len(jobs) // 2])

    def look(index, machine):
        if index % 200 == 0:
            machine.schedule.check()

    machine = replay(jobs, processors=100, until=middle, machine_code=True, watch=look)
    schedule = machine.schedule
    schedule.check()
    assert schedule.broken == []
    assert len(schedule.starts) > 14_000
    late = {id for id, start in schedule.starts.items() if start > schedule.promises[id]}
    assert late == set()
    assert any(start < schedule.promises[id] for id, start in schedule.starts.items())
    assert all(e.promise <= schedule.promises[e.id] for e in schedule.queued)
