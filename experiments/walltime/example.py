"""The example of the paper's Fig. 12 and Table 3, simulated: what adjusted walltimes do to backfilling.

Job 1 runs, job 2 is at the head of the queue and needs the whole machine; jobs 3 to 5 fit alongside job 1 and may be
backfilled. The paper prints no figures; the sizes and times here are ours and have the relations of its drawing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from experiments.framework.claims import Claim
from experiments.framework.columns import Shown, table_of
from gas.printable import many
from gas.report.blocks import Section, Text
from gas.simulation.simulate import Simulation
from workloads import RigidJobs

__all__ = ["example_claims", "example_section", "starts"]

_MACHINE = 10
_JOBS = (
    # submission, processors, request, run time
    (0, 6, 100, 100),
    (1, 10, 50, 50),
    (2, 2, 200, 80),
    (3, 2, 200, 160),
    (4, 2, 90, 90),
)
"""Jobs 1 to 5. Before job 1 ends, four processors are free."""

_ADJUSTED: Mapping[str, Mapping[int, int]] = {
    "users' requests": {},
    "job 3 (too long a request) adjusted": {3: 85},
    "job 4 (then too short) adjusted": {4: 85},
    "job 1 (running; too short) adjusted": {1: 60},
}
"""The adjusted walltimes in each case."""


def starts(case: str) -> list[int]:
    """Return the start of each job in a case, under EASY with regular adjustment."""
    submit, processors, request, run_time = np.array(_JOBS, np.int64).T.copy()
    count = len(_JOBS)
    unknown, ids = np.full(count, -1, np.int64), np.arange(1, count + 1, dtype=np.int64)
    jobs = RigidJobs(ids, submit, processors, request, run_time, unknown, unknown, unknown, ids - 1, _MACHINE)
    simulation = Simulation(jobs, "easy", adjustment="regular", ask=range(count), machine_code=False)
    while (place := simulation.run()) is not None:
        simulation.answer(adjusted=_ADJUSTED[case].get(place + 1, _JOBS[place][2]))
    found: list[int] = simulation.schedule().start.tolist()
    return found


def example_claims() -> list[Claim]:
    """Return the paper's statements on the example; they need no interval."""
    plain, over, under, running = map(starts, _ADJUSTED)

    def begins(job: int, those: list[int]) -> str:
        return f"job {job} starts at {those[job - 1]} s instead of {plain[job - 1]} s"

    head = plain[1]
    return [
        Claim(
            "Fig. 12: with users' requests, only job 5 is backfilled",
            plain[4] < head <= min(plain[2], plain[3]),
            ", ".join(f"job {job} starts at {plain[job - 1]} s" for job in (2, 3, 4, 5)),
        ),
        Claim(
            "Table 3: an overestimated waiting job is backfilled with its adjusted walltime, and delays no other job",
            over[2] < head and all(one <= other for one, other in zip(over, plain, strict=True)),
            begins(3, over),
        ),
        Claim(
            "Table 3: an underestimated waiting job is backfilled too, and delays the job at the head",
            under[3] < head < under[1],
            f"{begins(4, under)}; {begins(2, under)}",
        ),
        Claim(
            "Table 3: if a running job is adjusted, the backfill window is shorter",
            plain[4] < head <= running[4],
            begins(5, running),
        ),
    ]


def example_section() -> Section:
    """Return the section on the example."""
    cases = [(case, starts(case)) for case in _ADJUSTED]
    columns = (
        Shown[tuple[str, list[int]]]("walltimes", lambda row: row[0], left=True),
        *(
            Shown[tuple[str, list[int]]](f"job {job}", lambda row, job=job: f"{row[1][job - 1]}", "start (s)")  # type: ignore[misc]
            for job in range(1, len(_JOBS) + 1)
        ),
    )
    jobs = "; ".join(
        f"job {number}: {many(processors, 'processor')}, request {request} s, run time {run_time} s"
        for number, (_, processors, request, run_time) in enumerate(_JOBS, 1)
    )
    text = (
        f"The paper's drawing has no figures. This is a queue of five jobs on {_MACHINE} processors, submitted one "
        f"second apart ({jobs}), under EASY with regular adjustment. In each line, the scheduler plans one job with "
        "another walltime."
    )
    return Section("Fig. 12 and Table 3: an example", (Text(text), table_of(cases, columns)))
