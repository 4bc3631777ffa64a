"""Starts that Gas predicts against those of a real Slurm, in queues with priorities and limits that run quickly.

`python tests/endpoints/slurm/predicted.py record FOLDER --clusters 12` lets private Slurms, one release after the
other, run queues to their end (`recorded_runs`), and reads what they publish before each submission; it goes on where
it stopped. `... compare FOLDER -o found.jsonl` predicts each job from what was published then, and
`... page found.jsonl -o measured_starts.md` makes the page.

Jobs ask for minutes and run for seconds, as those of the made-up past did, of which only shares of the time limit are
known to the prediction. It learns from that past, and who comes later is drawn from weeks with as many submissions. A
job of the queue as it is at the opening is taken out of it and predicted with the priority that is published; one that
is submitted later with the priority that Gas works out.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import pytest
from private_slurm import RELEASES
from recorded_runs import CYCLE, LONGEST, SHORTEST, SPREAD, Recorded, record
from runs import clusters
from sites import OthersLimited, OwnLimits, Priorities

from gas.prediction.past import Past
from gas.prediction.slurm import Queue
from gas.slurm.cluster import Cluster, Job
from gas.slurm.forecast import outlooks
from gas.slurm.held_back import limits_in
from gas.slurm.priority import own_priority

KINDS = (Priorities, OthersLimited, OwnLimits)
WEEKS, WEEK = 8, 7 * 86_400
SAMPLES = 40
SHARE = 0.9


@dataclass(frozen=True)
class Predicted:
    """A job: seconds from when it was predicted.

    Attributes
    ----------
    later
        It was submitted then; else it waited already.
    low, median, high
        As Gas predicted, with an interval of 90%.
    said
        What squeue --start said first; None if nothing.
    started
        As Slurm did.
    """

    version: str
    seed: str
    job: int
    later: bool
    cpus: int
    low: int
    median: int
    high: int
    said: int | None
    started: int

    @property
    def inside(self) -> bool:
        """Whether it started in its interval."""
        return self.low <= self.started <= self.high

    @property
    def nearly(self) -> bool:
        """Whether it started in its interval or within a cycle of it."""
        return self.low - CYCLE <= self.started <= self.high + CYCLE


def past_of(found: Recorded, now: int, waits: int) -> Past:
    """Return a past like the queue: in each week before, at this time, as many submissions as are still to come."""
    chance = random.Random(f"past {found.release} {found.seed}")
    rows = []
    for back in range(1, WEEKS + 40):
        count = max(waits, 8)
        until = max(found.cluster.now + SPREAD - now, 1) if waits else SPREAD
        for _ in range(count):
            submit = now - back * WEEK + (chance.randint(1, until) if waits else -3600)
            limit, ran = 60 * chance.randint(1, 10), chance.randint(SHORTEST, LONGEST)
            cpus = max(job.cpus for job in [chance.choice(found.cluster.jobs)])
            rows.append((submit, cpus, limit, min(ran, limit), submit + 5 + ran, -1))
    columns = np.array(sorted(rows), np.int64).T
    past = Past(*(np.ascontiguousarray(column) for column in columns))
    past.learn(now)
    return past


def predict(cluster: Cluster, job: Job, past: Past) -> tuple[int, int, int]:
    """Return the ends of the interval of a job's start, and the median between."""
    limits = limits_in(cluster)
    (outlook,) = outlooks(cluster, [job], limits=limits)
    planned = cluster.now if outlook.expected is None else outlook.expected
    found, _ = Queue(cluster, (job,)).forecast(past, [1], [planned], {}, samples=SAMPLES, seconds=60)
    (low,), (high,) = found.interval(SHARE)
    return int(low) - cluster.now, round(float(found.start_by(0.5)[0])) - cluster.now, int(high) - cluster.now


def judged(found: Recorded, done: Collection[int] = ()) -> Iterator[Predicted]:
    """Yield what was predicted of each job that has started and is not done, and what became of it."""
    opened = found.cluster.now
    comes = [at for at, _ in found.arrivals]
    for job in found.cluster.jobs:
        start = found.starts.get((job.id, None))
        if start is not None and job.pending and job.id not in done:
            others = tuple(one for one in found.cluster.jobs if one.id != job.id)
            asked = replace(job, id=0, start=None, planned_nodes=(), reason="")
            at = predict(replace(found.cluster, jobs=others), asked, past_of(found, opened, len(comes)))
            yield _row(found, job, opened, at, start, later=False)
    for at, job in found.arrivals:
        start, view = found.starts.get((job.id, None)), found.views.get(job.id)
        if start is not None and view is not None and job.id not in done:
            # partitions are read once a minute, and were down before the opening
            view = replace(view, partitions=tuple(replace(one, state="UP") for one in view.partitions))
            asked = replace(job, id=0, start=None, planned_nodes=(), reason="", submitted=None)
            values = {one.name: own_priority(view, asked, one) for one in view.partitions if one.name in job.partitions}
            priorities = {name: 0 if one.comes_last else one.value or 0 for name, one in values.items()}
            asked = replace(asked, priority=max(priorities.values(), default=0), priority_in=priorities)
            left = sum(one > at for one in comes)
            yield _row(found, job, view.now, predict(view, asked, past_of(found, view.now, left)), start, later=True)


def _row(
    found: Recorded, job: Job, now: int, predicted: tuple[int, int, int], start: int, *, later: bool
) -> Predicted:  # fmt: skip
    said = found.said.get(job.id)
    return Predicted(
        found.cluster.version, found.seed, job.id, later, job.cpus, *predicted, None if said is None else said[1] - now,
        max(start - now, 0),
    )  # fmt: skip


# -- commands


def _record_to(folder: Path, release: str, seed: str) -> str:
    path = folder / f"{release}-{seed}.pickle"
    try:
        found = record(release, seed, kinds=KINDS)
    except (Exception, pytest.skip.Exception) as problem:  # the others go on
        return f"{release} {seed}: {type(problem).__name__}: {problem}"
    path.write_bytes(pickle.dumps(found))
    return f"{release} {seed}: {len(found.starts)} of {len(found.waiting)} jobs started"


def record_all(asked: argparse.Namespace) -> None:
    """Record clusters that are not there yet, some at a time."""
    folder = Path(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    every = clusters(asked.clusters, asked.releases.split(","), asked.first)
    wanted = [one for one in every if not (folder / f"{one[0]}-{one[1]}.pickle").exists()]
    with ProcessPoolExecutor(asked.at_once, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_record_to, folder, *one) for one in wanted]):
            print(done.result(), flush=True)


def compare(asked: argparse.Namespace) -> None:
    """Predict all that is recorded and not predicted yet."""
    output = Path(asked.output)
    known = _read(output) if output.exists() else []
    for path in sorted(Path(asked.folder).glob("*.pickle")):
        found: Recorded = pickle.loads(path.read_bytes())
        done = {one.job for one in known if (one.version, one.seed) == (found.cluster.version, found.seed)}
        began, rows = time.monotonic(), []
        with output.open("a", buffering=1) as lines:
            for one in judged(found, done):
                rows.append(one)
                lines.write(json.dumps(asdict(one)) + "\n")
        inside = sum(one.inside for one in rows)
        print(f"{path.stem}: {inside} of {len(rows)} inside ({time.monotonic() - began:.0f} s)", flush=True)


def _read(path: Path) -> list[Predicted]:
    return [Predicted(**json.loads(line)) for line in path.read_text().splitlines()]


def of_similar(found: Sequence[Predicted], one: Predicted) -> tuple[float, float]:
    """Return the interval that the waits of jobs of similar size in the other queues give."""
    same = [other for other in found if (other.version, other.seed) != (one.version, one.seed)]
    same = [other for other in same if other.later == one.later]
    near = sorted(same, key=lambda other: abs(np.log(other.cpus / one.cpus)))[: max(len(same) // 3, 20)]
    low, high = np.quantile([other.started for other in near] or [one.started], [(1 - SHARE) / 2, (1 + SHARE) / 2])
    return float(low), float(high)


HEAD = """\
# Predicted starts against real Slurms

{jobs} starts in {queues} queues with priorities and limits, which private Slurms {versions} ran to their end until
{date}: jobs ask for 1 to 10 minutes and run for {shortest} to {longest} s. What Gas predicts of each, in {samples}
samples, from what is published before is compared with its start. *Inside*: it starts in the interval of 90%; *nearly*:
or within a cycle of the backfill scheduler ({cycle} s) of it: what is foreseen to start at once starts seconds later.
*Similar jobs*: the interval that waits of jobs of similar size in the other queues give.
Errors are of the median, and of what `squeue --start` said first, where it said anything.
`tests/endpoints/slurm/predicted.py` says more, and makes this page.

"""


def page_of(found: Sequence[Predicted]) -> str:
    """Return the page."""
    head = HEAD.format(
        jobs=f"{len(found):,}", queues=len({(one.version, one.seed) for one in found}), shortest=SHORTEST,
        versions=", ".join(sorted({one.version for one in found})), date=time.strftime("%Y-%m-%d", time.gmtime()),
        longest=LONGEST, cycle=CYCLE, samples=SAMPLES,
    )  # fmt: skip
    lines = [
        "| jobs | starts | inside | nearly | width, s | similar jobs: inside | width, s | median error, s "
        "| squeue --start: said of | median error, s | Gas for the same, s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: list[tuple[str, list[Predicted]]] = [
        (version, [one for one in found if one.version == version]) for version in sorted({o.version for o in found})
    ]
    groups += [
        ("waiting at the opening", [one for one in found if not one.later]),
        ("submitted later", [one for one in found if one.later]),
        ("waits of a minute and more", [one for one in found if one.started >= 60]),
        ("all", list(found)),
    ]
    lines += [_line(name, own, found) for name, own in groups if own]
    return head + "\n".join(lines) + "\n"


def _line(name: str, own: Sequence[Predicted], found: Sequence[Predicted]) -> str:
    similar = [of_similar(found, one) for one in own]
    covered = sum(low <= one.started <= high for one, (low, high) in zip(own, similar, strict=True))
    said = [one for one in own if one.said is not None]
    cells = [
        name, str(len(own)), f"{sum(one.inside for one in own) / len(own):.0%}",
        f"{sum(one.nearly for one in own) / len(own):.0%}", f"{np.mean([one.high - one.low for one in own]):.0f}",
        f"{covered / len(own):.0%}", f"{np.mean([high - low for low, high in similar]):.0f}",
        _median([one.median - one.started for one in own]), str(len(said)),
        _median([(one.said or 0) - one.started for one in said]), _median([one.median - one.started for one in said]),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _median(errors: Sequence[int]) -> str:
    return f"{np.median(np.abs(errors)):.0f}" if errors else "-"


def main() -> None:
    """Record, compare, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("record", help="let real Slurms run queues")
    one.add_argument("folder")
    one.add_argument("--clusters", type=int, default=12)
    one.add_argument("--releases", default=",".join(RELEASES))
    one.add_argument("--first", type=int, default=1, help="the first seed")
    one.add_argument("--at-once", type=int, default=2)
    one.set_defaults(run=record_all)
    two = commands.add_parser("compare", help="predict the starts")
    two.add_argument("folder")
    two.add_argument("-o", "--output", required=True)
    two.set_defaults(run=compare)
    three = commands.add_parser("page", help="write the page")
    three.add_argument("found")
    three.add_argument("-o", "--output", required=True)
    three.set_defaults(run=lambda asked: Path(asked.output).write_text(page_of(_read(Path(asked.found)))))
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
