"""Which jobs make the mean wait in the engine differ from Slurm's, and how much runs of Slurm differ.

`python tests/endpoints/slurm/attributed.py jobs FOLDER` takes the jobs of each recorded queue (`runs.py record`) in the
order of their earlier starts. One job after the other is started when and where Slurm started it, and the engine
begins again. The decrease of the total wait is what this job adds to the engine's waits, by its own start and by its
effect on later jobs. The contributions of all jobs add up to the whole difference.

`... attributed.py repeats FOLDER FOLDER ... -o page.md` compares recordings of the same queues with each other, and the
engine with each of them: mean waits, and starts within a cycle.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from in_step import CYCLES, ENDS, PASSES, in_step
from recorded_runs import CYCLE, Key, Recorded
from runs import engine, known_of, seconds_of

from gas.slurm.starts import Known, Run, Start

__all__ = ["Added", "Pair", "added_by_job", "page_of", "waits_of"]

NEVER = 1 << 40
BY_RULE = {
    "ends of jobs (noticed in the next second)": (ENDS,), "passes of the main scheduler": (PASSES,),
    "cycles of the backfill scheduler": (CYCLES,), "all three": (ENDS, PASSES, CYCLES),
}  # fmt: skip
"""Events not taken from the log, in runs that show their effect."""


@dataclass(frozen=True)
class Added:
    """The contribution of one job to the waits in the engine.

    Attributes
    ----------
    slurm, engine
        Its start in seconds since the opening, if all earlier jobs start as in Slurm; None if it does not start.
    seconds
        The decrease of the total wait if it starts as in Slurm.
    others
        The part of this decrease that is the waits of other jobs.
    same_nodes
        Whether the engine uses the same nodes as Slurm.
    """

    key: Key
    slurm: int
    engine: int | None
    by: str
    engine_by: str
    seconds: int
    others: int
    same_nodes: bool
    words: str = ""


def waits_of(found: Recorded, begun: Mapping[Key, int]) -> dict[Key, int]:
    """Return the waits of the jobs that have started."""
    submitted = {job.id: at for at, job in found.arrivals}
    return {key: at - submitted.get(key[0], found.cluster.now) for key, at in begun.items()}


def added_by_job(found: Recorded) -> list[Added]:
    """Return the contributions of jobs, in the order of their examination, without those that start as in Slurm.

    A job that does not start in both contributes nothing, as in mean waits.
    """
    known: dict[Key, Known] = {}
    left, added, mine = set(found.starts), list[Added](), _by_key(engine(found, {}))
    base = found.cluster.now
    while left:

        def first(key: Key, mine: Mapping[Key, Start] = mine) -> tuple[int, int, int]:
            return min(found.starts[key], mine[key].start if key in mine else NEVER), key[0], key[1] or 0

        key = min(left, key=first)
        left.remove(key)
        theirs, own = found.starts[key], mine.get(key)
        known[key] = known_of(found, key)
        same = own is not None and {*own.nodes} == {*found.nodes[key]} and own.partition == found.partitions[key]
        if own is not None and own.start == theirs and same:
            continue
        then = _by_key(engine(found, dict(known)))
        both = [one for one in found.starts if one in mine and one in then]
        seconds = sum(mine[one].start - then[one].start for one in both)
        of_own = own.start - theirs if own is not None else 0
        added.append(Added(
            key, theirs - base, None if own is None else own.start - base, found.by.get(key, "submission"),
            "" if own is None else own.by, seconds, seconds - of_own, same, found.words.get(key[0], ""),
        ))  # fmt: skip
        mine = then
    return added


@dataclass(frozen=True)
class Pair:
    """Two runs of one queue: how many jobs started in both, how many of these within a cycle, and both mean waits."""

    jobs: int
    near: int
    one: float
    other: float

    @classmethod
    def of(cls, one: Mapping[Key, int], other: Mapping[Key, int]) -> Pair:
        """Compare the waits of jobs in two runs."""
        both = [key for key in one if key in other]
        near = sum(abs(one[key] - other[key]) <= CYCLE for key in both)
        return cls(len(both), near, mean(one[key] for key in both), mean(other[key] for key in both))


@dataclass(frozen=True)
class Repeated:
    """Recordings of one queue, compared with each other, and the engine with each: alone, and in step."""

    version: str
    queue: str
    waits: tuple[float, ...]
    slurm: tuple[Pair, ...]
    alone: tuple[Pair, ...]
    stepped: tuple[Pair, ...]
    by_rule: Mapping[str, tuple[Pair, ...]]

    @classmethod
    def of(cls, queue: str, recorded: Sequence[Recorded]) -> Repeated:
        """Compare the recordings of a queue."""
        waits = [waits_of(found, found.starts) for found in recorded]
        alone = [_waits(found, engine(found, {})) for found in recorded]

        def stepped(by_rule: Sequence[str] = ()) -> tuple[Pair, ...]:
            runs = (in_step(found, seconds_of(found), None, by_rule) for found in recorded)
            return tuple(
                Pair.of(one, _waits(found, run)) for one, found, run in zip(waits, recorded, runs, strict=True)
            )

        return cls(
            recorded[0].cluster.version, queue, tuple(mean(one.values()) for one in waits),
            tuple(Pair.of(one, other) for one, other in combinations(waits, 2)),
            tuple(map(Pair.of, waits, alone)), stepped(), {name: stepped(of) for name, of in BY_RULE.items()},
        )  # fmt: skip


HEAD = """\
# Slurm against itself

{queues} of the random queues of `recorded_runs.py`, until {date} each run {times} times by the same private Slurm on
the same machine. In each run, every job is submitted in the same second after the opening and sleeps for the same time.
Only fractions of seconds differ: whether a job has ended when a backfill cycle begins, or which of two jobs frees its
nodes first. Each recording is compared with the other recordings of its queue, and with two runs of the engine: one
from the snapshot alone, and one in step with Slurm (`in_step.py`). *Within a cycle*: starts at most {cycle} s apart.
*Difference*: the absolute difference of the mean waits of a queue, averaged over queues. *Bias*: how much longer the
mean wait of all jobs is in the engine than in Slurm. This page is made by
`python tests/endpoints/slurm/attributed.py repeats FOLDER FOLDER ... -o measured_repeats.md`.
"""


def page_of(found: Sequence[Repeated]) -> str:
    """Return the page about recordings of the same queues."""
    times = sorted({len(one.waits) for one in found})
    date = time.strftime("%Y-%m-%d", time.gmtime())
    head = HEAD.format(queues=len(found), cycle=CYCLE, times=" or ".join(map(str, times)), date=date)
    lines = [
        head,
        "| release | queues | Slurm within a cycle of itself | difference | engine within a cycle of Slurm "
        "| difference | bias | engine in step within a cycle | difference | bias |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for version in [*sorted({one.version for one in found}), "all"]:
        own = [one for one in found if version in (one.version, "all")]
        slurm, alone, stepped = ([pair for one in own for pair in getattr(one, name)] for name in PARTS)
        lines.append(
            f"| {version} | {len(own)} | {_near(slurm)} | {_apart(slurm)} | {_near(alone)} | {_apart(alone)} "
            f"| {_balance(alone)} | {_near(stepped)} | {_apart(stepped)} | {_balance(stepped)} |"
        )
    lines += ["", "In step, except for the events that follow the engine's rules instead of the log:", ""]
    lines += ["| by rule | within a cycle of Slurm | difference | bias |", "|---|---:|---:|---:|"]
    for name in BY_RULE:
        pairs = [pair for one in found for pair in one.by_rule[name]]
        lines.append(f"| {name} | {_near(pairs)} | {_apart(pairs)} | {_balance(pairs)} |")
    lines += [
        "", "## By queue", "",
        "| queue | jobs | mean waits | in the engine | in step "
        "| Slurm within a cycle of itself | engine within a cycle of Slurm |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for one in found:
        lines.append(
            f"| {one.queue} | {one.alone[0].jobs} | {_seconds(one.waits)} "
            f"| {_seconds([pair.other for pair in one.alone])} | {_seconds([pair.other for pair in one.stepped])} "
            f"| {_near(one.slurm)} | {_near(one.alone)} |"
        )
    return "\n".join(lines) + "\n"


PARTS = ("slurm", "alone", "stepped")


def _by_key(run: Run) -> dict[Key, Start]:
    return {(one.job, one.task): one for one in run.starts}


def _waits(found: Recorded, run: Run) -> dict[Key, int]:
    return waits_of(found, {key: one.start for key, one in _by_key(run).items()})


def _near(pairs: Sequence[Pair]) -> str:
    return f"{sum(one.near for one in pairs) / max(sum(one.jobs for one in pairs), 1):.1%}"


def _apart(pairs: Sequence[Pair]) -> str:
    """Return the absolute difference of mean waits, averaged over queues."""
    both = mean((one.one + one.other) / 2 for one in pairs)
    return f"{mean(abs(one.other - one.one) for one in pairs) / max(both, 1):.1%}"


def _balance(pairs: Sequence[Pair]) -> str:
    """Return how much longer the other waits are, over all jobs."""
    theirs = sum(one.jobs * one.one for one in pairs)
    return f"{sum(one.jobs * one.other for one in pairs) / max(theirs, 1) - 1:+.1%}"


def _seconds(waits: Sequence[float]) -> str:
    return f"{', '.join(f'{one:.0f}' for one in waits)} s"


def _read(folders: Sequence[str]) -> list[tuple[str, Recorded]]:
    paths = [path for folder in folders for path in sorted(Path(folder).glob("*.pickle"))]
    return [(path.stem, Recorded(**vars(pickle.loads(path.read_bytes())))) for path in paths]


# -- commands


def jobs(asked: argparse.Namespace) -> None:
    """Print the contributions of jobs."""
    for name, found in _read(asked.folders):
        pair = Pair.of(waits_of(found, found.starts), _waits(found, engine(found, {})))
        added = added_by_job(found)
        print(f"{name}: {pair.jobs} jobs wait {pair.one:.1f} s, in the engine {pair.other:.1f} s, "
              f"{pair.jobs * (pair.other - pair.one):+.0f} s together")  # fmt: skip
        for one in sorted(added, key=lambda one: -abs(one.seconds))[: asked.most]:
            nodes = "" if one.same_nodes else ", other nodes"
            print(f"    {one.key} adds {one.seconds:+} s, {one.others:+} s of others: Slurm {one.slurm} ({one.by}), "
                  f"engine {one.engine} ({one.engine_by}){nodes}: {one.words}")  # fmt: skip


def repeats(asked: argparse.Namespace) -> None:
    """Write the page about recordings of the same queues."""
    queues: dict[str, list[Recorded]] = {}
    for name, found in _read(asked.folders):
        queues.setdefault(name.replace("-", " "), []).append(found)
    compared = [Repeated.of(name, recorded) for name, recorded in sorted(queues.items()) if len(recorded) > 1]
    Path(asked.output).write_text(page_of(compared))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("jobs", help="what each job adds to the engine's waits")
    one.add_argument("folders", nargs="+")
    one.add_argument("--most", type=int, default=12, help="how many jobs of a queue are named")
    one.set_defaults(run=jobs)
    two = commands.add_parser("repeats", help="recordings of the same queues, compared with each other")
    two.add_argument("folders", nargs="+")
    two.add_argument("-o", "--output", required=True)
    two.set_defaults(run=repeats)
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
