"""Small schedules for tests: written by hand, or drawn at random."""

import numpy as np
from hypothesis import strategies as st

from gas.s3 import S3
from gas.simulation.schedule import NEVER_STARTED, Schedule
from workloads import RigidJobs


class Recorded(S3):
    """The schedule itself, with a note of each entry's start and its promise."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.starts, self.promises = {}, {}

    def submit(self, *arguments, **options):
        entry = super().submit(*arguments, **options)
        self.promises[entry.id] = entry.promise
        return entry

    def step(self, now, ended=()):
        started = super().step(now, ended)
        self.starts |= {entry.id: now for entry in started}
        return started


def rigid(submit, processors, estimate, run_time, *, machine, user=None, skipped=None):
    """Jobs from lists, in order of submission."""
    n = len(submit)
    column = lambda values: np.array(values, dtype=np.int64)  # noqa: E731
    unknown = np.full(n, -1, dtype=np.int64)
    return RigidJobs(
        id=np.arange(1, n + 1),
        submit=column(submit),
        processors=column(processors),
        estimate=column(estimate),
        run_time=column(run_time),
        user=unknown if user is None else column(user),
        group=unknown,
        executable=unknown,
        row=np.arange(n),
        machine=machine,
        skipped=skipped or {},
    )


def schedule_of(jobs, *, machine, skipped=None, user=None, **more):
    """A schedule from (submit, processors, start, end), where start None is a job cancelled while it waited."""
    submit, processors, start, end = ([job[k] for job in jobs] for k in range(4))
    ran = [0 if s is None else e - s for s, e in zip(start, end, strict=True)]
    return Schedule(
        rigid(submit, processors, [max(r, 1) for r in ran], ran, machine=machine, user=user, skipped=skipped),
        start=np.array([NEVER_STARTED if s is None else s for s in start], dtype=np.int64),
        end=np.array(end, dtype=np.int64),
        **more,
    )


@st.composite
def schedules(draw, machine=6, most=12, cancelled=True):
    """Feasible schedules: never more processors than there are, jobs in any order."""
    n = draw(st.integers(0, most))
    submit = sorted(draw(st.lists(st.integers(-5, 25), min_size=n, max_size=n)))
    busy = {}
    jobs = []
    for at in submit:
        processors, run = draw(st.integers(1, machine)), draw(st.integers(0, 9))
        if cancelled and draw(st.integers(0, 5)) == 0:
            jobs.append((at, processors, None, at + draw(st.integers(-1, 9))))
            continue
        start = at + draw(st.integers(0, 6))
        while any(busy.get(s, 0) + processors > machine for s in range(start, start + run)):
            start += 1
        for s in range(start, start + run):
            busy[s] = busy.get(s, 0) + processors
        jobs.append((at, processors, start, start + run))
    return schedule_of(jobs, machine=machine)
