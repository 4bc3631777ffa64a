"""Whether starts that Gas predicts from habits come true on a real Slurm, where time passes quickly.

`python tests/endpoints/slurm/habits.py --queues 20 -o table.md` measures and writes a table; a queue takes one or two
minutes. In each, jobs of random sizes ask for up to two hours and run for less than a hundredth of it, as those in the
made-up accounting did before them. An application is planned by predictions, a job of one of its sizes is submitted,
and when it starts is the truth. The size is the one that Slurm, which knows nodes, plans the longest after counts alone
would allow; beside the prediction stands what counts alone would have it.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from private_slurm import PrivateSlurm, own_name

NODES, CPUS = 16, 4
LIMITS = (30, 60, 90, 120)
"""Minutes that jobs ask for."""
SHARES = (0.003, 0.009)
"""Of their walltimes jobs use something between these."""
SIZES = (8, 16, 24, 32, 40, 48, 56)
WAITING = 6
PATIENCE = 300.0
APPLICATION = """
name = "lu"
[speedup]
model = "table"
times = { 8 = 20000, 16 = 10800, 32 = 6000, 64 = 3500 }
"""
BY_COUNTS = (
    "from gas.endpoints.slurm.endpoint import SlurmEndpoint; SlurmEndpoint.plans_by_nodes = False; "
    "from gas.cli.main import main; main()"
)


@dataclass(frozen=True)
class Measured:
    """One job: seconds from when it was planned.

    Attributes
    ----------
    planned
        By Slurm, if all use up their walltimes.
    counts
        Predicted without a look at that plan.
    started
        None if it did not within `PATIENCE`.
    """

    seed: int
    processors: int
    planned: int
    counts: int
    expected: int
    low: int
    high: int
    started: int | None

    @property
    def inside(self) -> bool:
        """Whether it started within its 90% interval; a second is allowed for, in which Slurm starts who can start."""
        return self.started is not None and self.low - 1 <= self.started <= self.high + 1


def accounting(chance: random.Random) -> str:
    """Return what sacct would print of a month of such jobs."""
    lines = ["JobID|User|Timelimit|ElapsedRaw|Submit|Start|AllocCPUS|State"]
    began = int(time.time()) - 30 * 86_400
    for job in range(300):
        minutes, submit = chance.choice(LIMITS), began + 3600 * job
        ran = max(1, int(60 * minutes * chance.uniform(*SHARES)))
        limit = f"{minutes // 60:02}:{minutes % 60:02}:00"
        lines.append(f"{job}|{own_name()}|{limit}|{ran}|{submit}|{submit + 5}|{chance.choice(SIZES)}|COMPLETED")
    return "\n".join(lines) + "\n"


def plan(folder: Path, *program: str) -> dict[int, dict[str, int]]:
    """Return by processors when a program of Gas has each candidate start, in seconds from now."""
    line = [sys.executable, *program, "plan", "lu.toml", "--config", "gas.toml", "--json", "--predict", "history"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    now = found["now"]
    return {
        one["processors"]: {
            "now": now,
            "walltime": one["walltime"],
            "planned": one["start"] - now,
            "expected": one["predicted"]["start"] - now,
            "low": one["predicted"]["start_low"] - now,
            "high": one["predicted"]["start_high"] - now,
        }
        for one in found["candidates"]
    }


def measured(seed: int) -> Measured:
    """Return what became of one job in a queue of this seed."""
    chance = random.Random(seed)
    with PrivateSlurm(NODES, CPUS) as slurm, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "lu.toml").write_text(APPLICATION)
        (folder / "history").write_text(accounting(chance))
        (folder / "gas.toml").write_text(f'[endpoints.b]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n')
        for _ in range(WAITING + 1):
            minutes = chance.choice(LIMITS)
            seconds = max(1, int(60 * minutes * chance.uniform(*SHARES)))
            last = slurm.submit("-n", str(chance.choice(SIZES)), "-t", str(minutes), seconds=seconds)
        slurm.planned_start(last)
        counts, found = plan(folder, "-c", BY_COUNTS), plan(folder, "-m", "gas")
        size = max(found, key=lambda one: (found[one]["expected"] - counts[one]["expected"], one))
        here = found[size]
        job = slurm.submit("-n", str(size), "-t", str(-(-here["walltime"] // 60)), seconds=1)
        started = _start_of(slurm, job)
        return Measured(
            seed, size, here["planned"], counts[size]["expected"], here["expected"], here["low"], here["high"],
            None if started is None else started - here["now"],
        )  # fmt: skip


def _start_of(slurm: PrivateSlurm, job: int) -> int | None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        said = slurm.run("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T %S", SLURM_TIME_FORMAT="%s")
        if said.startswith(("RUNNING", "COMPLET")):
            return int(said.split()[1])
        time.sleep(0.5)
    return None


def table(found: Sequence[Measured]) -> str:
    """Return a row a job in Markdown, those that counts and Slurm disagree about first."""
    lines = [
        "| processors | Slurm's plan, s | by counts alone, s | predicted, s (90%) | started, s | inside |",
        "|---:|---:|---:|---|---:|---|",
    ]
    lines += [
        f"| {one.processors} | {one.planned} | {one.counts} | {one.expected} ({one.low} to {one.high}) "
        f"| {'-' if one.started is None else one.started} | {'yes' if one.inside else 'no'} |"
        for one in sorted(found, key=lambda one: (one.counts - one.expected, one.seed))
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the table and, beside it, every job as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    found: list[Measured] = []
    for seed in range(asked.first_seed, asked.first_seed + asked.queues):
        found.append(measured(seed))
        print(found[-1], file=sys.stderr, flush=True)
        if asked.output is not None:
            asked.output.with_suffix(".jsonl").write_text("".join(f"{json.dumps(asdict(one))}\n" for one in found))
            asked.output.write_text(table(found))
    print(table(found))


if __name__ == "__main__":
    main()
