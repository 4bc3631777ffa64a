"""Which jobs make the mean wait of the engine another one than Slurm's, and how far Slurm is from itself.

`python tests/endpoints/slurm/attributed.py jobs FOLDER` takes the jobs of each recorded queue (`runs.py record`) in the
order of their starts, the earlier one of both. One after the other is started when and where Slurm started it, and the
engine begins anew: by how much less all wait together then is what this job adds to the engine's waits, by its own
start and by what others do behind it. All of these together are the whole difference.

`... attributed.py repeats FOLDER FOLDER` compares recordings of the same queues with each other, as the engine is
compared with each of them: mean waits, and starts within a cycle.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import mean

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from recorded_runs import CYCLE, Key, Recorded
from runs import engine, known_of

from gas.slurm.starts import Start

__all__ = ["Added", "added_by_job", "waits_of"]

NEVER = 1 << 40


@dataclass(frozen=True)
class Added:
    """What a job adds to the waits of the engine.

    Attributes
    ----------
    slurm, engine
        When it starts, from the opening on, if all before it start as in Slurm; None if it does not.
    seconds
        By how much less all wait together if it starts as in Slurm.
    others
        How much of that is of jobs other than itself.
    same_nodes
        Whether the engine takes the nodes that Slurm took.
    """

    key: Key
    slurm: int | None
    engine: int | None
    by: str
    engine_by: str
    seconds: int
    others: int
    same_nodes: bool
    words: str = ""


def waits_of(found: Recorded, begun: Mapping[Key, int]) -> dict[Key, int]:
    """Return how long each job has waited that has started."""
    submitted = {job.id: at for at, job in found.arrivals}
    return {key: at - submitted.get(key[0], found.cluster.now) for key, at in begun.items()}


def added_by_job(found: Recorded) -> list[Added]:
    """Return what each job adds, in the order in which they were looked at; those that add nothing are left out."""
    known, left, added = {}, set(found.waiting), list[Added]()
    mine = _starts(found, {})
    base = found.cluster.now
    while left:

        def first(key: Key, mine: Mapping[Key, Start] = mine) -> tuple[int, int, int]:
            own = mine[key].start if key in mine else NEVER
            return min(found.starts.get(key, NEVER), own), key[0], key[1] or 0

        key = min(left, key=first)
        left.remove(key)
        theirs, own = found.starts.get(key), mine.get(key)
        if theirs is None:
            continue
        known[key] = known_of(found, key)
        same = own is not None and {*own.nodes} == {*found.nodes[key]} and own.partition == found.partitions[key]
        if own is not None and own.start == theirs and same:
            continue
        then = _starts(found, known)
        both = [one for one in found.starts if one in mine and one in then]
        seconds = sum(mine[one].start - then[one].start for one in both)
        of_own = own.start - theirs if own is not None else 0
        added.append(Added(
            key, theirs - base, None if own is None else own.start - base, found.by.get(key, "submission"),
            "" if own is None else own.by, seconds, seconds - of_own, same, found.words.get(key[0], ""),
        ))  # fmt: skip
        mine = then
    return added


def _starts(found: Recorded, known: Mapping) -> dict[Key, Start]:
    return {(one.job, one.task): one for one in engine(found, dict(known)).starts}


def jobs(asked: argparse.Namespace) -> None:
    """Print what jobs add."""
    for path in _paths([asked.folder]):
        found = Recorded(**vars(pickle.loads(path.read_bytes())))
        own = _starts(found, {})
        theirs = waits_of(found, {key: at for key, at in found.starts.items() if key in own})
        ours = waits_of(found, {key: own[key].start for key in theirs})
        added = added_by_job(found)
        print(f"{path.stem}: {len(theirs)} jobs wait {mean(theirs.values()):.1f} s, in the engine "
              f"{mean(ours.values()):.1f} s; {sum(ours.values()) - sum(theirs.values()):+} s together, "
              f"{sum(one.seconds for one in added):+} s by these")  # fmt: skip
        for one in sorted(added, key=lambda one: -abs(one.seconds))[: asked.most]:
            print(f"    {one.key} adds {one.seconds:+} s, {one.others:+} s of others: Slurm {one.slurm} ({one.by}), "
                  f"engine {one.engine} ({one.engine_by}){'' if one.same_nodes else ', other nodes'}: {one.words}")  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """Two runs of one queue: of how many jobs that started in both, how many within a cycle, and both mean waits."""

    jobs: int
    near: int
    one: float
    other: float

    @classmethod
    def of(cls, one: Mapping[Key, int], other: Mapping[Key, int]) -> Pair:
        """Compare waits of jobs."""
        both = [key for key in one if key in other]
        near = sum(abs(one[key] - other[key]) <= CYCLE for key in both)
        return cls(len(both), near, mean(one[key] for key in both), mean(other[key] for key in both))


def repeats(asked: argparse.Namespace) -> None:
    """Print how far recordings of the same queue are from each other, and the engine from each."""
    queues: dict[str, list[Recorded]] = {}
    for path in _paths(asked.folders):
        queues.setdefault(path.stem, []).append(Recorded(**vars(pickle.loads(path.read_bytes()))))
    lines = ["| queue | jobs | mean wait in each | of the engine for each | Slurm within a cycle of itself | the engine of it |",
             "|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    whole: dict[bool, list[Pair]] = {True: [], False: []}
    for name, recorded in queues.items():
        if len(recorded) < 2:
            continue
        waits = [waits_of(found, found.starts) for found in recorded]
        own = [waits_of(found, {key: one.start for key, one in _starts(found, {}).items()}) for found in recorded]
        among = [Pair.of(one, other) for one, other in combinations(waits, 2)]
        engines = [Pair.of(one, other) for one, other in zip(waits, own, strict=True)]
        whole[True] += among
        whole[False] += engines
        lines.append(
            f"| {name} | {len(waits[0])} | {', '.join(f'{mean(one.values()):.0f}' for one in waits)} s "
            f"| {', '.join(f'{one.other:.0f}' for one in engines)} s | {_near(among)} | {_near(engines)} |"
        )
    lines.append(f"| all | | | | {_near(whole[True])} | {_near(whole[False])} |")
    print("\n".join(lines))


def _near(pairs: Sequence[Pair]) -> str:
    """Return the part that starts within a cycle, and by how much the mean wait differs, in the mean over queues."""
    near, jobs = sum(one.near for one in pairs), sum(one.jobs for one in pairs)
    apart = mean(abs(one.other - one.one) for one in pairs) / max(mean((one.one + one.other) / 2 for one in pairs), 1)
    return f"{near / max(jobs, 1):.1%}, mean wait {apart:.1%}"


def _paths(folders: Sequence[str]) -> list[Path]:
    return [path for folder in folders for path in sorted(Path(folder).glob("*.pickle"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("jobs", help="what each job adds to the engine's waits")
    one.add_argument("folder")
    one.add_argument("--most", type=int, default=12, help="how many jobs of a queue are named")
    one.set_defaults(run=jobs)
    two = commands.add_parser("repeats", help="recordings of the same queues, compared with each other")
    two.add_argument("folders", nargs="+")
    two.set_defaults(run=repeats)
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
