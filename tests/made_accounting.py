"""Output of sacct for a busy machine with partitions, users, arrays, holds and failures, made from a seed.

Each user runs a few programs again and again, requests round time limits and submits jobs in bursts; each partition
starts them by EASY backfilling. ``python tests/made_accounting.py JOBS FILE`` writes such a file.
"""

import sys
from pathlib import Path

import numpy as np

from gas.simulation.simulate import simulate
from workloads import Log, apply_overrun, rigid_jobs
from workloads.header import Header

ZERO = 1_700_000_000
PARTITIONS = {"batch": (2048, 0.84), "long": (768, 0.8), "gpu": (256, 0.85), "debug": (128, 0.3)}
"""Processors and load of each partition."""

_LIMITS = np.array([600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400, 172_800, 345_600])
_HOLDERS = 0.04


def made_sacct(jobs: int, *, seed: int, a_day: float = 550.0, load: float = 1.0) -> str:
    """Return this many lines below a header; ``load`` multiplies the loads in `PARTITIONS`."""
    draw = np.random.default_rng(seed)
    submit, burst, task = _submissions(jobs, draw, a_day)
    user = (draw.zipf(1.4, int(burst.max()) + 1) - 1)[burst] % 150
    program = user * 10 + draw.zipf(1.6, int(burst.max()) + 1)[burst] % 6
    of_program = np.random.default_rng(seed + 1)
    partition = of_program.choice(len(PARTITIONS), 1500, p=(0.6, 0.2, 0.12, 0.08))[program]
    most = np.array([size for size, _ in PARTITIONS.values()])[partition]
    size = 2 ** np.minimum(of_program.geometric(0.28, 1500)[program], np.log2(most / 4).astype(int))
    typical = np.exp(of_program.normal(8.0, 1.4, 1500))[program] * np.where(partition == 1, 4, 1)
    luck = draw.normal(0, 0.4, int(burst.max()) + 1)[burst]  # what runs together runs alike
    ran = typical * np.exp(luck + draw.normal(0, 0.25, jobs))
    failed = draw.random(int(burst.max()) + 1)[burst] < 0.07
    hold = np.where(draw.random(jobs) < _HOLDERS, draw.exponential(14_400, jobs), 0.0).astype(np.int64)
    start, limit, lasts = np.zeros(jobs, np.int64), np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    for at, (machine, wanted) in enumerate(PARTITIONS.values()):
        of = np.flatnonzero(partition == at)
        if not of.size:
            continue
        work = float((size[of] * ran[of]).sum())
        stretch = wanted * load * machine * (submit[-1] - submit[0] + 3600) / work
        asked = typical[of] * stretch * np.exp(of_program.normal(0.9, 0.5, 1500))[program[of]]
        limit[of] = _LIMITS[np.minimum(np.searchsorted(_LIMITS, asked), len(_LIMITS) - 1)]
        lasts[of] = np.where(failed[of], 1 + ran[of] % 60, np.clip(ran[of] * stretch, 1, limit[of])).astype(np.int64)
        order = of[np.argsort(submit[of] + hold[of], kind="stable")]
        start[order] = _starts(submit[order] + hold[order], size[order], limit[order], lasts[order], machine)
    state = np.where(failed, "FAILED", np.where(lasts >= limit, "TIMEOUT", "COMPLETED"))
    names = list(PARTITIONS)
    lines = ["JobID|User|Account|Partition|JobName|Timelimit|ElapsedRaw|Submit|Eligible|Start|End|AllocCPUS|State"]
    first = np.flatnonzero(task <= 0)
    number = 1000 + np.searchsorted(first, np.arange(jobs), side="right")
    for i in range(jobs):
        id = f"{number[i]}_{task[i]}" if task[i] >= 0 else str(number[i])
        who = f"u{user[i]}|a{user[i] % 12}|{names[partition[i]]}|run{program[i]}"
        begin = ZERO + submit[i]
        times = f"{_clock(int(limit[i]))}|{lasts[i]}|{begin}|{begin + hold[i]}|{ZERO + start[i]}"
        lines.append(f"{id}|{who}|{times}|{ZERO + start[i] + lasts[i]}|{size[i]}|{state[i]}")
        if i % 40 == 7:  # withdrawn while it waited
            at = begin + 60
            lines.append(f"{number[i] + 10**7}|{who}|01:00:00|0|{begin}|{begin}|Unknown|{at}|0|CANCELLED by 1")
    return "\n".join(lines) + "\n"


def _submissions(jobs, draw, a_day):
    """Return the second, the burst and the task (-1 for none) of each job: most single, some arrays, more by day."""
    sizes = np.where(draw.random(jobs) < 0.08, draw.geometric(0.08, jobs), 1)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), jobs)) + 1]
    apart = draw.exponential(86_400 / a_day * sizes.mean(), len(sizes))
    at = np.cumsum(apart)
    at += 0.35 * 86_400 / (2 * np.pi) * np.sin(2 * np.pi * at / 86_400) * 0.9
    burst = np.repeat(np.arange(len(sizes)), sizes)[:jobs]
    task = np.where(sizes[burst] > 1, np.arange(len(burst)) - np.searchsorted(burst, burst), -1)
    return np.sort(at).astype(np.int64)[burst], burst, task


def _starts(submit, size, limit, lasts, machine):
    unknown = np.full(len(submit), -1)
    columns = {"submit": submit, "run_time": lasts, "allocated_processors": size, "requested_time": limit}
    log = Log.from_columns(columns | {"user": unknown}, header=Header.of([("MaxProcs", machine)]))
    made = apply_overrun(rigid_jobs(log))
    return simulate(made, "easy").start


def _clock(seconds):
    days, rest = divmod(seconds, 86_400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(made_sacct(int(sys.argv[1]), seed=1))
