"""The state of a simulation of jobs that change their sizes, as arrays.

A job's possible sizes are rows of a table, ascending. `work` and `done` hold its progress: a job that changed its size
at `SINCE` has done a share of its work by then, and does the rest at the pace of its new size. `SINCE` is in the future
while the job is changing and makes no progress.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.malleate.rules import AT_START, Strategy
from experiments.moldable.moldability import MoldableJobs
from gas.compiled import lean_kernel
from gas.profile.flat import Profile, empty_profile

__all__ = ["Elastic", "check", "end_of", "initial", "planned", "scratch_of"]

# Rows of `table`: processors, execution time and walltime in seconds.
SIZE, TIME, WALLTIME = 0, 1, 2

# Rows of `jobs`: constants of a job.
SUBMIT, FIRST, LAST, OWN, ADOPTS, USER = 0, 1, 2, 3, 4, 5

# Rows of `work`: the present state of a job. ROW is its present or chosen size; TARGET the next one. Of a running job,
# END is the true end and HOLDS the end that the scheduler expects. START is in the future while a job waits with a
# place in the plan of the last pass.
ROW, TARGET, START, END, HOLDS, SINCE = 0, 1, 2, 3, 4, 5

# Rows of `done`: the share of work done by SINCE, the processor-seconds used by CHANGED, and execution time / walltime.
SHARE, USED, CHANGED, ACCURACY = 0, 1, 2, 3

# Entries of `now`. PLANNED jobs at the head of the queue have places in the plan of the last pass, which is still
# valid: no job has ended before its walltime since. `OUTDATED` otherwise.
NOW, FREE, RUNNING, WAITING, CHOSEN_AT, ENDED, PLANNED = 0, 1, 2, 3, 4, 5, 6
OUTDATED = -1

# Entries of `rules`.
MACHINE, WHEN, SAMPLES, DISCIPLINE, RUNS, FROM_OWN, COST = 0, 1, 2, 3, 4, 5, 6

# Rows of `ends`, for the sizes of a choosing job: the sum of its ends over all samples, relative to the instant of the
# choice, as far as simulated, and the next sample in which it waits: `KNOWN` after the last, `OUT` if it cannot be
# chosen.
TOTAL, NEXT = 0, 1
KNOWN, OUT = -1, -2

NOT_YET = -1

LUCK_AT_FIRST = 20_261_124
"""Initial state of the random number generator: it is the same for all strategies."""

LAST_SHARES = 20
"""How many of each user's last shares are drawn from; shares of all users replace those of a user with few."""


class Elastic(NamedTuple):
    """A simulation at an instant."""

    table: NDArray[np.int64]
    jobs: NDArray[np.int64]
    work: NDArray[np.int64]
    done: NDArray[np.float64]
    running: NDArray[np.int64]
    """Jobs in order of `HOLDS`; the first ``now[RUNNING]`` of them."""
    queue: NDArray[np.int64]
    """Jobs in order of submission; the first ``now[WAITING]`` of them."""
    recent: NDArray[np.float64]
    """Shares of walltimes that the last jobs of each user used; the last row has those of all users."""
    known: NDArray[np.int64]
    """How many jobs of each user have ended; the last entry counts all users."""
    luck: NDArray[np.int64]
    """State of the random number generator."""
    ends: NDArray[np.int64]
    """For each size of a job that chooses by samples: see `TOTAL` and `NEXT`."""
    plan: Profile
    now: NDArray[np.int64]
    rules: NDArray[np.int64]


def initial(moldable: MoldableJobs, adopts: NDArray[np.bool_], strategy: Strategy, cost: int) -> Elastic:
    """Return the empty machine before the first submission.

    Parameters
    ----------
    adopts
        Which jobs choose or change their sizes; all others keep their own.
    cost
        Seconds without progress after each change of size.
    """
    jobs, count = moldable.jobs, len(moldable.jobs)
    owner = np.repeat(np.arange(count), np.diff(moldable.first))
    own = np.flatnonzero(moldable.sizes == jobs.processors[owner])
    users, user = np.unique(jobs.user, return_inverse=True)
    room = 4 * count + 16
    state = Elastic(
        table=np.array([moldable.sizes, moldable.times, moldable.walltimes]),
        jobs=np.array([jobs.submit, moldable.first[:-1], moldable.first[1:], own, adopts, user], np.int64),
        work=np.full((6, count), NOT_YET, np.int64),
        done=np.zeros((4, count)),
        running=np.zeros(count, np.int64),
        queue=np.zeros(count, np.int64),
        recent=np.zeros((len(users) + 1, LAST_SHARES)),
        known=np.zeros(len(users) + 1, np.int64),
        luck=np.array([LUCK_AT_FIRST]),
        ends=np.zeros((2, int(np.diff(moldable.first).max(initial=0))), np.int64),
        plan=empty_profile(jobs.machine, 0, min(room, 2**16)),
        now=np.array([0, jobs.machine, 0, 0, 0, 0, OUTDATED], np.int64),
        rules=np.array(
            [
                jobs.machine,
                strategy.when,
                strategy.samples,
                strategy.discipline,
                strategy.runs,
                strategy.from_own,
                cost,
            ],
            np.int64,
        ),
    )
    state.work[ROW] = own
    state.done[ACCURACY] = jobs.run_time / np.maximum(jobs.estimate, 1)
    return state


def scratch_of(state: Elastic) -> Elastic:
    """Return a simulation of as many rigid jobs, as work space for `experiments.malleate.samples`."""
    count = state.jobs.shape[1] + 1
    return state._replace(
        table=np.zeros((3, count), np.int64),
        jobs=np.zeros((6, count), np.int64),
        work=np.full((6, count), NOT_YET, np.int64),
        done=np.zeros((4, count)),
        running=np.zeros(count, np.int64),
        queue=np.zeros(count, np.int64),
        now=state.now.copy(),
        rules=np.zeros_like(state.rules),
    )


@lean_kernel
def planned(state: Elastic, job: int, row: int) -> int:
    """Return for how many seconds a job would hold the processors of a size, by its walltime."""
    from_range = state.rules[WHEN] == AT_START and state.jobs[ADOPTS, job]
    return state.table[WALLTIME, lowest(state, job) if from_range else row]  # type: ignore[no-any-return]


@lean_kernel
def lowest(state: Elastic, job: int) -> int:
    """Return the row of the smallest possible size of a job."""
    if not state.jobs[ADOPTS, job]:
        return state.jobs[OWN, job]  # type: ignore[no-any-return]
    return state.jobs[OWN if state.rules[FROM_OWN] else FIRST, job]  # type: ignore[no-any-return]


@lean_kernel
def end_of(state: Elastic, job: int) -> int:
    """Return the end of a running job if it keeps its size."""
    left = (1.0 - state.done[SHARE, job]) * state.table[TIME, state.work[ROW, job]]
    return state.work[SINCE, job] + int(np.ceil(left - 1e-6))  # type: ignore[no-any-return]


def check(state: Elastic) -> None:
    """Raise `AssertionError` if an invariant does not hold."""
    now, work, jobs = state.now, state.work, state.jobs
    running, queue = state.running[: now[RUNNING]], state.queue[: now[WAITING]]
    held = state.table[SIZE, work[ROW, running]]
    broken = [
        ("processors are not those of the machine", int(held.sum()) + now[FREE] != state.rules[MACHINE]),
        ("fewer than none are free", bool(now[FREE] < 0)),
        ("running jobs are not in order of their ends", bool(np.any(np.diff(work[HOLDS, running]) < 0))),
        ("the queue is not in order of submission", bool(np.any(np.diff(queue) <= 0))),
        ("a job runs and waits", bool(np.intersect1d(running, queue).size)),
        ("a job has a size of another", bool(np.any((work[ROW] < jobs[FIRST]) | (work[ROW] >= jobs[LAST])))),
        ("a rigid job has another size", bool(np.any((work[ROW] != jobs[OWN]) & (jobs[ADOPTS] == 0)))),
        ("a share of work is not one", bool(np.any((state.done[SHARE] < 0) | (state.done[SHARE] > 1 + 1e-9)))),
        ("a job starts before its submission", bool(np.any((work[START] < jobs[SUBMIT]) & (work[START] != NOT_YET)))),
        ("a running job should have ended", bool(np.any(work[END, running] < now[NOW]))),
    ]
    for problem, holds in broken:
        if holds:
            raise AssertionError(f"{problem}\nnow {now}\nrunning {running}\nqueue {queue}\n{work}")
