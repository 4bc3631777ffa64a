"""Small logs on which schedulers stumble: equal instants, jobs of no length or of the whole machine, wrong estimates.

They come as hypothesis strategies, which shrink failures, and by seeds, for thousands of fast cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from brute_force import FOREVER, simulate_by_force
from hypothesis import strategies as st

from gas.prediction.forward import Arrivals
from gas.prediction.simulated import snapshot_of
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED, Reservation
from gas.simulation.simulate import Simulation
from workloads import RigidJobs, apply_overrun


@dataclass(frozen=True)
class Case:
    """A log, and cancellations, reservations and priorities for it."""

    machine: int
    rows: tuple[tuple[int, int, int, int], ...]
    """(submit, processors, estimate, run time)"""
    cancellations: tuple[int, ...] | None = None
    reservations: tuple[tuple[int, int, int, int], ...] = ()
    """(submit, processors, start, walltime)"""
    priorities: tuple[int, ...] | None = None

    @property
    def jobs(self) -> RigidJobs:
        submit, processors, estimate, run_time = np.array(self.rows, np.int64).reshape(-1, 4).T.copy()
        unknown = np.full(len(self.rows), -1, np.int64)
        ids = np.arange(1, len(self.rows) + 1, dtype=np.int64)
        return RigidJobs(ids, submit, processors, estimate, run_time, unknown, unknown, unknown, ids - 1, self.machine)

    @property
    def beside(self):
        """The cancellations, reservations and priorities, as keywords of `simulate`."""
        cancellations = None if self.cancellations is None else np.array(self.cancellations, np.int64)
        beside = {"cancellations": cancellations, "reservations": [Reservation(*r) for r in self.reservations]}
        return beside if self.priorities is None else {**beside, "priorities": self.priorities}

    def by_force(self, policy, **options):
        """Return the brute force's outcome."""
        withdrawn = self.cancellations
        if withdrawn is not None:
            withdrawn = [FOREVER if instant == NOT_CANCELLED else instant for instant in withdrawn]
        return simulate_by_force(
            self.machine,
            self.rows,
            policy,
            cancellations=withdrawn,
            reservations=self.reservations,
            priorities=self.priorities,
            **options,
        )


def assert_equal(schedule, outcome):
    """Raise unless a schedule equals, job by job, the outcome of the brute force."""
    assert schedule.start.tolist() == [NEVER_STARTED if start is None else start for start in outcome.start]
    assert schedule.end.tolist() == outcome.end
    assert schedule.reserved.tolist() == outcome.reserved
    if schedule.promise is not None:
        promised = [p for p, there in zip(schedule.promise.tolist(), outcome.promise, strict=True) if there is not None]
        assert promised == [p for p in outcome.promise if p is not None]


# ------------------------------------------------------------------------------------------------------ strategies

_FIRST = st.sampled_from([0, 0, 7, -5])
_GAP = st.sampled_from([0, 0, 0, 1, 1, 2, 5])
_LENGTH = st.sampled_from([1, 1, 2, 2, 3, 4, 5, 6, 8, 12])
_RUN = st.sampled_from(["all", "all", "none", "half", "one less", "one", "more"])


def run_time(kind, estimate):
    """Return a run time; `kind` says in words how it relates to the estimate."""
    return {
        "all": estimate,
        "none": 0,
        "half": estimate // 2,
        "one less": estimate - 1,
        "one": 1,
        "more": estimate + 3,
    }[kind]


@st.composite
def logs(draw, most_jobs=14, most_processors=8):
    """Return a case without cancellations and reservations."""
    machine = draw(st.integers(1, most_processors))
    size = st.one_of(st.integers(1, machine), st.sampled_from([1, machine]))
    drawn = draw(st.lists(st.tuples(_GAP, size, _LENGTH, _RUN), min_size=1, max_size=most_jobs))
    now, rows = draw(_FIRST), []
    for gap, processors, estimate, kind in drawn:
        now += gap
        rows.append((now, processors, estimate, run_time(kind, estimate)))
    return Case(machine, tuple(rows))


@st.composite
def disturbed_logs(draw, most_jobs=10, most_processors=6):
    """Return a case with cancellations, reservations or both."""
    case = draw(logs(most_jobs, most_processors))
    after = st.one_of(st.none(), st.integers(-1, 25))
    drawn = draw(st.lists(after, min_size=len(case.rows), max_size=len(case.rows)))
    cancellations = tuple(
        NOT_CANCELLED if seconds is None else row[0] + seconds for row, seconds in zip(case.rows, drawn, strict=True)
    )
    first = case.rows[0][0]
    reservation = st.tuples(
        st.integers(first - 2, first + 15), st.integers(1, case.machine), st.integers(first - 2, first + 25), _LENGTH
    )
    return replace(
        case,
        cancellations=cancellations if draw(st.booleans()) else None,
        reservations=tuple(draw(st.lists(reservation, max_size=3))),
    )


# -------------------------------------------------------------------------------------------------------- by a seed


@st.composite
def prioritized(draw, of):
    """Return a case with priorities, mostly a few different ones."""
    case = draw(of)
    priority = draw(st.sampled_from([st.integers(-1, 1), st.sampled_from([0, 0, 0, 7]), st.integers(-9, 9)]))
    drawn = draw(st.lists(priority, min_size=len(case.rows), max_size=len(case.rows)))
    return replace(case, priorities=tuple(drawn))


def random_log(seed, jobs=(1, 14), most_processors=8, disturbed=False):
    """Return a case made from a seed, with a number of jobs within these bounds."""
    random = np.random.default_rng(seed)
    machine = int(random.integers(1, most_processors + 1))
    count = int(random.integers(jobs[0], jobs[1] + 1))
    longest = int(random.choice([3, 12, 40]))
    busy = random.choice([0.3, 1.0, 3.0]) * longest / 4
    submit = np.cumsum(np.where(random.random(count) < 0.5, 0, random.poisson(busy, count)))
    size = np.where(random.random(count) < 0.25, machine, random.integers(1, machine + 1, count))
    estimate = random.integers(1, longest + 1, count)
    kinds = random.choice(["all", "all", "none", "half", "one less", "one", "more"], count)
    rows = tuple(
        (int(s), int(p), int(e), int(run_time(kind, e)))
        for s, p, e, kind in zip(submit, size, estimate, kinds, strict=True)
    )
    if not disturbed:
        return Case(machine, rows)
    last = int(submit[-1]) + longest
    withdrawn = np.where(random.random(count) < 0.4, submit + random.integers(-1, 2 * longest, count), NOT_CANCELLED)
    reservations = [
        (int(at), int(random.integers(1, machine + 1)), int(at + random.integers(-1, longest)), int(length))
        for at, length in zip(
            random.integers(-1, last, count // 6 + 1), random.integers(1, longest + 1, count // 6 + 1), strict=True
        )
    ]
    return Case(machine, rows, tuple(map(int, withdrawn)), tuple(reservations))


def busy_log(seed, jobs, load=3.0, disturbed=False):
    """Return a case whose queue grows long, with lengths from seconds to hours: many holes, all different."""
    random = np.random.default_rng(seed)
    machine, longest = int(random.choice([8, 30, 100])), int(random.choice([1_000, 50_000]))
    powers = 2 ** random.integers(0, machine.bit_length(), jobs)
    size = np.minimum(machine, np.where(random.random(jobs) < 0.4, powers, random.integers(1, machine + 1, jobs)))
    estimate = np.exp(random.uniform(0, np.log(longest), jobs)).astype(np.int64) + 1
    used = random.choice([0, 0.05, 0.3, 0.7, 1, 1], jobs) * random.uniform(0.5, 1.5, jobs)
    run_time = np.minimum(estimate + 60, estimate * used).astype(np.int64)
    between = np.mean(size * run_time) / machine / load
    submit = np.cumsum(random.exponential(between, jobs)).astype(np.int64)
    rows = tuple(zip(*(column.tolist() for column in (submit, size, estimate, run_time)), strict=True))
    if not disturbed:
        return Case(machine, rows)
    last = int(submit[-1])
    patience = random.integers(0, last, jobs)
    withdrawn = np.where(random.random(jobs) < 0.2, submit + patience, NOT_CANCELLED)
    reservations = [
        (
            at,
            int(random.integers(1, machine + 1)),
            at + int(random.integers(0, longest)),
            int(random.integers(1, longest)),
        )
        for at in random.integers(0, last, jobs // 30).tolist()
    ]
    return Case(machine, rows, tuple(withdrawn.tolist()), tuple(reservations))


def standing_at(case, place, policy="s3", machine_code=False):
    """Return a simulation stopped where a job arrives, what it shows, and the real future."""
    jobs = apply_overrun(case.jobs)
    jobs = replace(jobs, run_time=np.maximum(jobs.run_time, 1))  # what runs is drawn as 1 s at least
    simulation = Simulation(jobs, policy, ask=[place], machine_code=machine_code)
    assert simulation.run() == place
    places, _, _ = simulation.standing()
    later = slice(place + 1, None)
    arrivals = np.array([jobs.submit[later], jobs.processors[later], jobs.estimate[later], jobs.run_time[later]])
    return simulation, snapshot_of(simulation), jobs.run_time[places][None], Arrivals(arrivals[None])
