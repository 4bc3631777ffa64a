"""Queues of several kinds on a real Slurm, and how well starts in them are predicted.

`python tests/endpoints/slurm/queues.py --probes 500 -o table.md` measures and writes a table. For each random shape the
queue is read, Gas predicts, `sbatch --test-only` predicts, and a real job of this shape is submitted, whose planned
start is the truth; it is cancelled at once.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from private_slurm import SCHEDULING, PrivateSlurm

from gas.endpoints.slurm.command_line import COMMANDS, DETAILS, ENVIRONMENT, read_cluster, with_details
from gas.endpoints.slurm.interpretation import Interpretation, interpret
from gas.endpoints.slurm.placing import check
from gas.slurm.cluster import Cluster

KINDS = ("fifo", "random", "arrays", "exclusive", "reservation", "partitions", "depth")
RESOLUTION = 60
SHALLOW = SCHEDULING.replace("bf_max_job_test=1000", "bf_max_job_test=5")


@dataclass(frozen=True)
class Shape:
    """What a probe asks for: CPUs, or whole nodes, in a partition."""

    size: int
    minutes: int
    partition: str = "main"
    whole: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        size = ("-N", str(self.size), "--exclusive") if self.whole else ("-n", str(self.size))
        return (*size, "-t", str(self.minutes), "-p", self.partition)


@dataclass(frozen=True)
class Measured:
    """One probe: starts in epoch seconds; None is one that there was not.

    Attributes
    ----------
    planned, test_only
        The plan that Slurm made for a real job, and what --test-only says.
    predicted
        The plan that Gas says Slurm will have.
    no_plan
        Gas says that Slurm's search will not get to that, so that there is no plan at first.
    expected
        When Gas expects the job to start; later, if there are jobs before it that Slurm does not plan yet.
    """

    kind: str
    seed: int
    shape: Shape
    now: int
    planned: int | None
    test_only: int | None
    predicted: int | None
    no_plan: bool = False
    expected: int | None = None
    cause: str = ""

    @property
    def met(self) -> bool:
        """Whether it was predicted within the resolution of Slurm's plans, or that there is none."""
        if self.predicted is None or self.planned is None:
            return self.planned is None and (self.no_plan or self.predicted is None)
        return abs(self.predicted - self.planned) <= RESOLUTION


# -- queues


@contextmanager
def filled(kind: str, seed: int) -> Iterator[PrivateSlurm]:
    """Bring a cluster up with a queue of a kind that is planned."""
    nodes, cpus = (16, 1) if kind == "fifo" else (12, 4)
    lines = {
        "partitions": ("PartitionName=half Nodes=n[07-12] MaxTime=1440 State=UP",),
        "exclusive": ("PartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=1440 State=UP",),
    }.get(kind, ())
    with PrivateSlurm(nodes, cpus, *lines, scheduling=SHALLOW if kind == "depth" else SCHEDULING) as slurm:
        fill(slurm, kind, random.Random(f"{kind} {seed}"))
        yield slurm


def fill(slurm: PrivateSlurm, kind: str, chance: random.Random) -> None:
    """Submit the jobs, whose limits are long enough for none to end, and wait until they are planned."""
    if kind == "reservation":
        start = chance.randrange(40, 300)
        kept = f"n[{chance.randrange(1, 5):02}-{chance.randrange(6, 12):02}]"
        slurm.run(
            "scontrol", "create", "reservation", "ReservationName=kept", f"StartTime=now+{start}minutes",
            f"Duration={chance.randrange(30, 150)}", "Users=root", f"Nodes={kept}",
        )  # fmt: skip
        slurm.run("scontrol", "update", "NodeName=n05", "State=DRAIN", "Reason=test")
    last = 0
    for number in range(12 if kind == "fifo" else 18):
        if kind == "fifo":
            options = ["-n", str(chance.choice((4, 8, 16))), "-t", str(chance.choice((20, 30, 60)))]
        else:
            most = 12 if number < 6 else 30
            options = ["-n", str(chance.randint(1, most)), "-t", str(chance.randint(12, 120))]
        if kind == "arrays" and chance.random() < 0.5:
            options = ["-n", str(chance.randint(1, 8)), *options[2:], f"--array=0-{chance.randint(1, 6)}"]
        if kind == "exclusive" and chance.random() < 0.4:
            options += chance.choice((["--exclusive"], ["-p", "whole"]))
        if kind == "partitions":
            options += ["-p", chance.choice(("main", "half", "half,main"))]
            if "half" in options:
                options[1] = str(min(int(options[1]), 24))
        last = slurm.submit(*options)
        if number == 5:
            settle(slurm, last)  # the first ones start before there is a queue
    settle(slurm, last)


def settle(slurm: PrivateSlurm, last: int) -> None:
    """Wait until Slurm has planned what was submitted: two cycles after the queue has been changed."""
    for _ in range(2):
        slurm.tried("scontrol", "update", f"jobid={last}", f"comment={time.time()}")
        begun = time.time()
        while time.time() < begun + 10 and _last_cycle(slurm) <= begun:
            time.sleep(0.1)


def shapes(kind: str, seed: int, count: int) -> Iterator[Shape]:
    """Return random shapes of probes."""
    chance = random.Random(f"shapes {kind} {seed}")
    for _ in range(count):
        size, minutes = chance.randint(1, 16 if kind == "fifo" else 40), round(math.exp(chance.uniform(1.2, 5.2)))
        if kind == "exclusive" and chance.random() < 0.5:
            yield Shape(chance.randint(1, 12), minutes, chance.choice(("main", "whole")), True)
        elif kind == "partitions" and chance.random() < 0.5:
            yield Shape(chance.randint(1, 24), minutes, "half")
        elif kind == "reservation":
            yield Shape(min(size, 40), minutes)
        else:
            yield Shape(size, minutes)


# -- asking


def read(slurm: PrivateSlurm) -> Cluster:
    """Return what the cluster publishes."""
    answers = {name: slurm.run(*command, **ENVIRONMENT) for name, command in COMMANDS.items()}
    cluster = read_cluster(answers, name="private")
    return replace(cluster, jobs=with_details(cluster.jobs, slurm.run(*DETAILS, **ENVIRONMENT)))


def understood(cluster: Cluster, shape: Shape) -> Interpretation:
    """Return what Gas makes of it, for a shape."""
    found = interpret(cluster, shape.partition, "nodes" if shape.whole else "cpus")
    assert check(found.machine, found.plan.placed) == []
    return found


def predicted(found: Interpretation, shape: Shape) -> tuple[int | None, bool, int | None]:
    """Return the plan that Gas says Slurm will have, whether it says that it has none yet, and what Gas expects."""
    size, walltime = shape.size, 60 * shape.minutes
    plan, estimate = found.availability.slurms_plan(size, walltime), found.availability.placement(size, walltime)
    return (
        None if plan is None else plan.start, plan is not None and not plan.listed,
        None if estimate is None else estimate.start,
    )  # fmt: skip


def tested_only(slurm: PrivateSlurm, shape: Shape) -> int | None:
    """Return the start that ``sbatch --test-only`` names; None if it refuses."""
    command = ("sbatch", "--test-only", *shape.options, "--wrap=true")
    where = slurm.environment | {"SLURM_TIME_FORMAT": "%s"}
    said = subprocess.run(command, env=where, capture_output=True, text=True, timeout=60).stderr
    found = re.search(r"to start at (\S+) using", said)
    if found is None:
        return None
    stamp = found[1]
    return int(stamp) if stamp.isdecimal() else int(time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S")))


def planned(slurm: PrivateSlurm, shape: Shape) -> tuple[int | None, Cluster]:
    """Return the start that Slurm plans for a real job of this shape, and what it publishes then; cancel the job."""
    job = slurm.submit(*shape.options)
    try:
        return _plan_of(slurm, job), read(slurm)
    finally:
        slurm.run("scancel", str(job))
        deadline = time.monotonic() + 20
        while slurm.tried("squeue", "-h", "-j", str(job), "-o", "%T").strip() and time.monotonic() < deadline:
            time.sleep(0.05)


def _plan_of(slurm: PrivateSlurm, job: int) -> int | None:
    """Return the start that a job is given within two cycles, of which it may be too late for the first."""
    submitted = time.time()
    cycles: set[int] = set()
    nudged = time.time()
    while time.time() < submitted + 15:
        start = slurm.run("squeue", "-h", "-j", str(job), "-o", "%S", SLURM_TIME_FORMAT="%s").strip()
        if start.isdecimal():
            return int(start)
        cycle = _last_cycle(slurm)
        if cycle > submitted:
            cycles.add(cycle)
        if len(cycles) > 1:
            return None
        if time.time() > nudged + 1.1:
            nudged = time.time()
            slurm.tried("scontrol", "update", f"jobid={job}", f"comment={nudged}")
        time.sleep(0.1)
    return None


def _last_cycle(slurm: PrivateSlurm) -> int:
    found = re.search(r"Last cycle when: .*\((\d+)\)", slurm.run("sdiag").partition("Backfilling")[2])
    return int(found[1]) if found else 0


def named(before: Cluster, after: Cluster, shape: Shape, start: int | None) -> str:
    """Return why a start was missed, as far as what Slurm publishes tells."""
    old = {job.id: (job.state, job.start, job.planned_nodes) for job in before.jobs}
    new = {job.id: (job.state, job.start, job.planned_nodes) for job in after.jobs if job.id in old}
    others = replace(after, jobs=tuple(job for job in after.jobs if job.id in old))
    again, _, _ = predicted(understood(others, shape), shape)
    if again is not None and start is not None and abs(again - start) <= RESOLUTION:
        return "the plan changed between reading and probing"
    if any(old[id][1:] != new[id][1:] for id in new):
        return "the plan changed, and was not met by the new one either"
    if start is not None:
        end = start + 60 * shape.minutes
        (probe,) = [job for job in after.jobs if job.id not in old] or [None]
        for kept in after.reservations if probe is not None else ():
            if kept.start < end and kept.end > start and set(probe.planned_nodes) & set(kept.nodes):
                return "Slurm's plan reaches into a reservation"
    if start is None:
        return "Slurm plans nothing for it"
    if any(job.pending and job.tasks and len(job.tasks) > 1 for job in before.jobs):
        return "hidden tasks of arrays"
    if any(job.pending and len(job.partitions) > 1 for job in before.jobs):
        return "jobs of several partitions"
    return "not known"


def measured(kind: str, seed: int, count: int) -> list[Measured]:
    """Measure so many probes in one queue."""
    found = []
    with filled(kind, seed) as slurm:
        if kind == "depth":
            return _deep(slurm, seed, count)
        for shape in shapes(kind, seed, count):
            before = read(slurm)
            expected = predicted(understood(before, shape), shape)
            tested = tested_only(slurm, shape)
            start, after = planned(slurm, shape)
            one = Measured(kind, seed, shape, before.now, start, tested, *expected)
            if not one.met:
                one = replace(one, cause=named(before, after, shape, start))
            found.append(one)
    return found


def _deep(slurm: PrivateSlurm, seed: int, count: int) -> list[Measured]:
    """Predict from a plan of a few jobs only; then let Slurm plan them all, and ask for the truth."""
    tried = list(shapes("depth", seed, count))
    before = read(slurm)
    expected = [predicted(understood(before, shape), shape) for shape in tried]
    tested = [tested_only(slurm, shape) for shape in tried]
    configuration = slurm.folder / "slurm.conf"
    configuration.write_text(configuration.read_text().replace(SHALLOW, SCHEDULING))
    slurm.run("scontrol", "reconfigure")
    settle(slurm, max(job.id for job in before.jobs))
    found = []
    for shape, guess, other in zip(tried, expected, tested, strict=True):
        start, after = planned(slurm, shape)
        one = Measured("depth", seed, shape, before.now, start, other, *guess)
        if not one.met:
            one = replace(one, cause=named(before, after, shape, start))
        found.append(one)
    return found


# -- the table


def wilson(met: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95% interval of a share (Wilson 1927, J. Am. Stat. Assoc. 22, 209-212)."""
    share, spread = met / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _errors(values: Sequence[int]) -> str:
    if not values:
        return "-"
    return f"{statistics.median(values):.0f} / {max(values)}"


def table(found: Sequence[Measured]) -> str:
    """Return the Markdown table by kind of queue."""
    lines = [
        "| queue | probes | with a plan | within 60 s | share (95% interval) | no plan, as foreseen "
        "| later expected | Gas: median / worst error, s | --test-only within 60 s "
        "| --test-only: median / worst error, s | misses |",
        "|---|---:|---:|---:|---|---:|---:|---|---:|---|---|",
    ]
    for kind in (*KINDS, "all"):
        there = [one for one in found if kind in (one.kind, "all")]
        if not there:
            continue
        plans = [one for one in there if one.planned is not None]
        met = sum(one.met for one in plans)
        low, high = wilson(met, len(plans)) if plans else (0.0, 1.0)
        share = f"{met / max(len(plans), 1):.1%} ({low:.1%} to {high:.1%})"
        foreseen = f"{sum(one.met for one in there) - met} of {len(there) - len(plans)}"
        ours = [abs(one.predicted - one.planned) for one in plans if one.predicted is not None]
        theirs = [abs(one.test_only - one.planned) for one in plans if one.test_only is not None]
        causes = Counter(one.cause for one in there if not one.met)
        said = "; ".join(f"{cause} ({count})" for cause, count in causes.most_common()) or "-"
        later = sum(one.expected != one.predicted for one in there)
        near = f"{sum(error <= RESOLUTION for error in theirs)} of {len(theirs)}"
        lines.append(
            f"| {kind} | {len(there)} | {len(plans)} | {met} | {share} | {foreseen} | {later} | {_errors(ours)} "
            f"| {near} | {_errors(theirs)} | {said} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the table and, beside it, every probe as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probes", type=int, default=500)
    parser.add_argument("--per-queue", type=int, default=12, help="probes in one queue")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--add", nargs="+", type=Path, default=[], help="earlier probes (.jsonl) for the table")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    found: list[Measured] = []
    queues = ((kind, seed) for seed in itertools.count(asked.first_seed) for kind in asked.kinds)
    while len(found) < asked.probes:
        kind, seed = next(queues)
        new = measured(kind, seed, min(asked.per_queue, asked.probes - len(found)))
        found += new
        print(f"{kind} {seed}: {len(found)} probes, {sum(one.met for one in found)} met", file=sys.stderr, flush=True)
        for one in new:
            if not one.met:
                print(f"  {one}", file=sys.stderr)
        if asked.output is not None:
            asked.output.with_suffix(".jsonl").write_text("".join(f"{json.dumps(asdict(one))}\n" for one in found))
    for path in asked.add:
        for line in path.read_text().splitlines():
            values = json.loads(line)
            found.append(Measured(**(values | {"shape": Shape(**values["shape"])})))
    text = table(found)
    print(text)
    if asked.output is not None:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
