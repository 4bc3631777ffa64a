"""Whole queues run to their end by a real Slurm, and by the engine from the same snapshot: who starts when.

`python tests/endpoints/slurm/runs.py record FOLDER --clusters 40 --at-once 4` brings clusters of many kinds up, one
release after the other, lets a real Slurm run their queues to the end, and writes down what it did; it goes on where it
stopped. `python tests/endpoints/slurm/runs.py compare FOLDER -o found.jsonl --page page.md` runs the engine from each
snapshot and writes how it did and, for each job that starts otherwise, why.

Some of the jobs wait in the snapshot, the others are submitted while it runs. They ask for minutes and run for seconds;
the engine is given how long each of them ran, when each was submitted, and nothing else of what Slurm did.

A job *agrees* if it starts within one cycle of the backfill scheduler (bf_interval) of when Slurm starts it, in the
same partition, or in neither run. Its *predecessors* are all jobs that start before it in either run; they agree if
they do so and have the same nodes. Jobs are judged in the order of their starts (the earlier one of both). At the
first one that starts otherwise, or elsewhere, the engine begins anew, with all jobs that were judged started when and
where Slurm started them, and the rest is judged by that run. So every job is judged once, behind predecessors that
agree; how many have the same nodes is counted beside it.

Where the engine starts a job otherwise, it is run again with ends that are noticed sooner or later and with cycles that
begin at other seconds, then with what Slurm starts within the same cycle started as it was: if the job agrees then,
these seconds, or the order within a cycle, are the cause.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import random
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest
from private_slurm import RELEASES, PrivateSlurm
from sites import (
    ASKER,
    OTHERS,
    Arrays,
    Asked,
    Aspect,
    Features,
    Gpus,
    Licences,
    Memory,
    OthersLimited,
    OwnLimits,
    Priorities,
    Several,
    Shapes,
    Site,
    Throttled,
    Tiers,
    WholeNodes,
    site_of,
)

from gas.compiled import compiled
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.notation import node_names
from gas.slurm.cluster import Cluster, Job
from gas.slurm.cycle import run_cycle
from gas.slurm.forward import Known, Run, Start, run_forward
from gas.slurm.main_pass import run_pass

CYCLE = 8
"""Seconds from one cycle of the backfill scheduler to the next."""
SHORTEST, LONGEST = 5, 45
"""Jobs run for something between."""
SPREAD = 100
"""Within so many seconds the later ones are submitted."""
EPILOG = 1
"""Seconds until something starts where a job has ended, on a machine of a few cores that plays dozens of nodes."""
PATIENCE = 900
Key = tuple[int, int | None]


class Later(Aspect):
    """Jobs that wait for others, or for a moment."""

    def job(self, job, chance, past):
        way = chance.choice(("begin", "dependency", "dependency", "", "", "", ""))
        if way == "begin":
            job.options["begin"] = f"now+{chance.randint(10, 120)}"
        elif way == "dependency" and past:
            kind = chance.choice(("afterany", "afterok", "after"))
            job.options["dependency"] = f"{kind}:{chance.choice(past)}"


MIXED: tuple[tuple[type[Aspect], ...], ...] = (
    (Shapes, Gpus, WholeNodes), (Arrays, Throttled), (Priorities,), (Memory,), (Features,), (OthersLimited, OwnLimits),
    (Tiers, Several), (Later,), (Licences,),
)  # fmt: skip
"""Of each of these a cluster has one at the most."""


def drawn(release: str, seed: str) -> tuple[Site, list[Aspect], random.Random]:
    """Return a site, what it does, and the source of what is drawn further."""
    chance = random.Random(f"run {release} {seed}")
    aspects = [chance.choice(MIXED[at])() for at in sorted(chance.sample(range(len(MIXED)), chance.randint(0, 4)))]
    site = site_of(aspects, chance)
    site.jobs = chance.randint(30, 55)
    site.scheduling |= {"bf_interval": str(CYCLE), "sched_interval": chance.choice(("20", "60"))}
    site.lines |= {"MinJobAge": "100000", "SlurmctldDebug": "debug", "SlurmctldLogFile": "/dev/stderr"}  # with times
    return site, aspects, chance


def queue(
    site: Site, aspects: Sequence[Aspect], chance: random.Random, past: list[int], longest: int, spread: int
) -> Iterator[tuple[Asked, int, int]]:
    """Yield jobs, how long they run, and after how many seconds they are submitted: 0, those of the snapshot.

    The numbers of those that were submitted are added to `past` meanwhile.
    """
    arrivals = sorted(chance.randint(1, spread) for _ in range(site.jobs * 2 // 5))
    arrivals = [0] * (site.jobs - len(arrivals)) + arrivals
    for at in arrivals:
        largest = chance.choice((site.cpus // 8, site.cpus // 4, site.cpus // 2))
        options: dict[str, str | None] = {
            "ntasks": str(chance.randint(1, max(largest, 1))), "time": str(chance.randint(1, 10)),
        }  # fmt: skip
        job = Asked(options, chance.choice((ASKER, *OTHERS)))
        for aspect in aspects:
            aspect.job(job, chance, past)
        job.options["time"] = job.options["time"] or "1"
        yield job, chance.randint(SHORTEST, longest), at


# -- recording


@dataclass
class Recorded:
    """What a real Slurm did with a queue.

    Attributes
    ----------
    cluster
        As it was when its partitions opened.
    arrivals
        Jobs as they wait, and when each was submitted.
    starts, ends, nodes, partitions
        By job and task; what has not started is not there.
    waiting
        Jobs and tasks of the queue.
    by
        Which scheduler started it, as far as its log says so.
    cycles, passes
        When the backfill scheduler began; and when the main scheduler did, and whether it looked at all of the queue.
    log
        What slurmctld wrote of jobs and schedulers, and when.
    words
        What was asked for.
    priorities
        By number: from when on which, as far as that was seen.
    cpus
        By job and task: CPUs of each node, as far as that was seen.
    """

    release: str
    seed: str
    kinds: tuple[str, ...]
    cluster: Cluster
    arrivals: list[tuple[int, Job]]
    starts: dict[Key, int] = field(default_factory=dict)
    ends: dict[Key, int] = field(default_factory=dict)
    nodes: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    partitions: dict[Key, str] = field(default_factory=dict)
    waiting: list[Key] = field(default_factory=list)
    by: dict[Key, str] = field(default_factory=dict)
    cycles: list[float] = field(default_factory=list)
    words: dict[int, str] = field(default_factory=dict)
    priorities: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    cpus: dict[Key, dict[str, int]] = field(default_factory=dict)
    passes: list[tuple[float, bool]] = field(default_factory=list)
    log: list[tuple[float, str]] = field(default_factory=list)


def record(
    release: str, seed: str, *, jobs: int | None = None, longest: int = LONGEST, spread: int = SPREAD
) -> Recorded:
    """Let a real Slurm run a queue to its end."""
    site, aspects, chance = drawn(release, seed)
    site.jobs = jobs or site.jobs
    with site.slurm(release, rest=False) as slurm:
        reader = _reader(slurm)
        names = slurm.run("sinfo", "-h", "-o", "%R").split()
        for name in names:
            slurm.run("scontrol", "update", f"PartitionName={name}", "State=DOWN")
        past: list[int] = []
        submitted: list[tuple[int, Asked, int, int]] = []
        for job, seconds, at in queue(site, aspects, chance, past, longest, spread):
            id = _submit(slurm, job, seconds)
            if id is not None:
                past.append(id)
                submitted.append((id, job, seconds, at))
        asked = {job.id: job for job in reader.cluster("private").jobs}
        for id, _, _, at in submitted:
            if at:
                slurm.run("scancel", str(id))
        time.sleep(1)
        cluster = reader.cluster("private")
        opened = int(time.time())
        for name in names:
            slurm.run("scontrol", "update", f"PartitionName={name}", "State=UP")
        watch = _Watch(slurm)
        watch.start()
        there = tuple(job for job in cluster.jobs if job.pending)
        cluster = replace(
            cluster, now=opened, jobs=there, partitions=tuple(replace(one, state="UP") for one in cluster.partitions)
        )
        found = Recorded(release, seed, tuple(type(one).__name__ for one in aspects), cluster, [])
        found.words = {id: " ".join(job.words) + f" sleep {seconds} {job.user}" for id, job, seconds, _ in submitted}
        multifactor = cluster.settings is not None and cluster.settings.priority_type == "multifactor"
        renamed: dict[int, int] = {}
        for id, job, seconds, at in submitted:
            if not at:
                continue
            time.sleep(max(opened + at - time.time(), 0))
            if depends := job.options.get("dependency"):
                kind, _, other = depends.partition(":")
                job.options["dependency"] = f"{kind}:{renamed.get(int(other), int(other))}"
            now = int(time.time())
            new = _submit(slurm, job, seconds)
            if new is not None and id in asked:
                renamed[id] = new
                begin = job.options.get("begin")
                found.words[new] = found.words[id]
                found.arrivals.append((now, replace(
                    asked[id], id=new, array=None if asked[id].array is None else new, submitted=now,
                    **({} if multifactor else {"priority": 0, "priority_in": {}}),
                    dependency=job.options.get("dependency") or "",
                    eligible=None if begin is None else now + int(begin.removeprefix("now+")),
                )))  # fmt: skip
        _finish(slurm, found, opened)
        watch.ended.set()
        watch.join()
        found.priorities, found.cpus = watch.priorities, watch.cpus
        if not found.cycles:
            found.cycles = sorted(watch.cycles)
    return found


def _reader(slurm: PrivateSlurm) -> CommandTransport:
    """Return what reads as the user who has limits of an association, which others are not shown."""
    user = ASKER if os.getuid() == 0 else None
    reader = CommandTransport("private", str(slurm.folder / "slurm.conf"), folder=str(slurm.programs(user)))
    if user is not None:
        reader.user = user
    return reader


class _Watch(threading.Thread):
    """Notes when the backfill scheduler begins, and the priorities of those that wait."""

    def __init__(self, slurm: PrivateSlurm) -> None:
        super().__init__(daemon=True)
        self.slurm, self.ended = slurm, threading.Event()
        self.cycles: set[float] = set()
        self.priorities: dict[int, list[tuple[int, int]]] = {}
        self.cpus: dict[Key, dict[str, int]] = {}

    def run(self) -> None:
        while not self.ended.wait(2):
            with contextlib.suppress(Exception):
                self.cycles.add(self.slurm.last_cycle())
                now = int(time.time())
                for line in self.slurm.run("squeue", "-h", "-t", "pending", "-o", "%F %Q").splitlines():
                    id, value = map(int, line.split())
                    seen = self.priorities.setdefault(id, [])
                    if not seen or seen[-1][1] != value:
                        seen.append((now, value))
                for line in self.slurm.run("scontrol", "-d", "-o", "show", "job").splitlines():
                    if " JobState=RUNNING " in line:
                        self._note(line)

    def _note(self, line: str) -> None:
        """Note how many CPUs of each node a running job has."""
        fields = dict(re.findall(r"(\S+?)=(\S*)", line))
        task = fields.get("ArrayTaskId")
        key = (int(fields.get("ArrayJobId", fields["JobId"])), None if task is None else int(task))
        if key not in self.cpus:
            found: dict[str, int] = {}
            for names, places in re.findall(r" Nodes=(\S+) CPU_IDs=(\S+)", line):
                count = len(_tasks_of(0, places))
                found |= dict.fromkeys(node_names(names), count)
            self.cpus[key] = found


def _submit(slurm: PrivateSlurm, job: Asked, seconds: int) -> int | None:
    try:
        return slurm.submit(*job.words, seconds=seconds, user=job.user if os.getuid() == 0 else None)
    except AssertionError:
        return None


def _finish(slurm: PrivateSlurm, found: Recorded, opened: int) -> None:
    """Wait until nothing runs and nothing has started for long, and read what has happened."""
    quiet = time.monotonic()
    while time.time() < opened + PATIENCE and time.monotonic() < quiet + 75:
        states = slurm.run("squeue", "-h", "-o", "%T").split()
        if not states:
            break
        if {*states} - {"PENDING"}:
            quiet = time.monotonic()
        time.sleep(1)
    there = {job.id for job in found.cluster.jobs} | {job.id for _, job in found.arrivals}
    listed = slurm.run("scontrol", "-o", "show", "job", SLURM_TIME_FORMAT="%s")
    for line in listed.splitlines():
        fields = dict(re.findall(r"(\S+?)=(\S*)", line))
        id = int(fields.get("ArrayJobId", fields["JobId"]))
        if id not in there:
            continue
        task = fields.get("ArrayTaskId", "")
        keys: list[Key] = [(id, int(task) if task else None)] if not task or task.isdecimal() else _tasks_of(id, task)
        found.waiting += keys
        if fields["JobState"] in ("PENDING",) or not fields["StartTime"].isdecimal() or len(keys) != 1:
            continue
        (key,) = keys
        found.starts[key], found.partitions[key] = int(fields["StartTime"]), fields["Partition"]
        if fields["EndTime"].isdecimal() and fields["JobState"] != "RUNNING":
            found.ends[key] = int(fields["EndTime"])
        found.nodes[key] = tuple(slurm.run("scontrol", "show", "hostnames", fields["NodeList"]).split())
    log = (slurm.folder / "slurmctld.log").read_text(errors="replace")
    for line in dict.fromkeys(log.splitlines()):  # some releases write each twice
        _read_line(found, line)


def _read_line(found: Recorded, line: str) -> None:
    """Note what a line of slurmctld's log says, if it has a time."""
    match = re.match(r"\[(\d{4}-\d\d-\d\dT[\d:.]+)\] (?:\w+: +)?(.*)", line)
    if match is None:
        return
    at, words = datetime.fromisoformat(match[1]).timestamp(), match[2]
    if not re.search(r"JobId=|sched: |backfill", words):
        return
    found.log.append((at, words))
    if match := re.search(r"(Allocate|Started) JobId=(\d+)(?:_(\d+))?", words):
        key = (int(match[2]), int(match[3]) if match[3] else None)
        found.by[key] = "main" if match[1] == "Allocate" else "backfill"
    elif match := re.search(r"Running job scheduler (.*)", words):
        found.passes.append((at, "full" in match[1]))
    elif words.endswith("_attempt_backfill: beginning"):
        found.cycles.append(at)
    elif match := re.search(r"slurm_cred_create: .*JobId=(\d+)(?:_(\d+))?", words):
        in_a_cycle = found.cycles and at < found.cycles[-1] + 0.5
        if in_a_cycle:  # all that 26.05 says of what it starts there
            found.by.setdefault((int(match[1]), int(match[2]) if match[2] else None), "backfill")


def _tasks_of(id: int, text: str) -> list[Key]:
    found: list[Key] = []
    for part in text.partition("%")[0].split(","):
        first, _, last = part.partition("-")
        found += [(id, task) for task in range(int(first), int(last or first) + 1)]
    return found


# -- comparing


@dataclass(frozen=True)
class Judged:
    """A job, or a task of an array: when Slurm started it and when the engine did, from the opening on."""

    release: str
    version: str
    seed: str
    job: int
    task: int | None
    slurm: int | None
    engine: int | None
    by: str
    engine_by: str
    same_nodes: bool | None
    agrees: bool
    cause: str = ""
    words: str = ""


def seconds_of(found: Recorded, longer: int = 0) -> dict[int, int | list[int]]:
    """Return how long jobs ran, as the engine is given it, or so many seconds longer."""
    took: dict[int, int | list[int]] = {}
    for job in [*found.cluster.jobs, *(job for _, job in found.arrivals)]:
        if job.tasks is None:
            if (job.id, None) in found.ends:
                took[job.id] = found.ends[job.id, None] - found.starts[job.id, None] + longer
        else:
            keys = [(job.id, task) for one in job.tasks.ranges for task in one]
            took[job.id] = [found.ends[key] - found.starts[key] + longer if key in found.ends else 60 for key in keys]
    return took


def engine(
    found: Recorded, known: dict[Key, Known], epilog: int = EPILOG, later: int = 0, until: int | None = None,
    longer: int = 0,
) -> Run:  # fmt: skip
    """Run the engine from the snapshot, with both schedulers in step with Slurm's at first.

    To see what depends on seconds, epilogs take so long, the first cycle is so much later, and jobs take longer.
    """
    base = found.cluster.now
    cycle = next((int(one) for one in found.cycles if one >= base), base) + later
    full = next((int(at) for at, of_all in found.passes if of_all and at >= base), None)
    return run_forward(
        found.cluster, seconds_of(found, longer), found.arrivals, known=known, first_cycle=cycle, first_pass=full,
        epilog=epilog, until=until,
    )  # fmt: skip


def known_of(found: Recorded, key: Key) -> Known:
    """Return how Slurm started a job, as the engine is given it."""
    return Known(found.starts[key], found.nodes[key], found.partitions[key], found.cpus.get(key), found.by.get(key, ""))


def agree(found: Recorded, key: Key, own: Start | None) -> bool:
    """Whether the engine starts a job as Slurm did."""
    theirs = found.starts.get(key)
    if theirs is None or own is None:
        return theirs is None and own is None
    return abs(theirs - own.start) <= CYCLE and found.partitions[key] == own.partition


def cause_of(found: Recorded, key: Key, known: dict[Key, Known]) -> str:
    """Return why a job starts otherwise, as far as other runs tell."""
    theirs = found.starts.get(key, 1 << 40)
    until = theirs + CYCLE
    own = next(
        (one.start for one in engine(found, dict(known), until=until).starts if (one.job, one.task) == key), until
    )
    first = min(theirs, own)
    beside = {
        other: known_of(found, other)
        for other, start in found.starts.items()
        if other != key and other not in known and first - CYCLE <= start <= first + CYCLE and start < theirs
    }
    ways = ((0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 0), (1, 2, 0), (1, 4, 0), (1, 6, 0), (0, 4, 0), (2, 4, 0))
    for epilog, later, longer in ways:
        run = engine(found, dict(known), epilog, later, until, longer)
        if agree(found, key, next((one for one in run.starts if (one.job, one.task) == key), None)):
            return "the second at which an end is noticed, or a cycle begins"
    for epilog in (1, 0, 2, 3):
        run = engine(found, known | beside, epilog, until=until)
        if agree(found, key, next((one for one in run.starts if (one.job, one.task) == key), None)):
            return "the order of what happens within one cycle"
    if key not in found.starts:
        return "Slurm does not start it"
    return "not known"


def judge(found: Recorded, *, causes: bool = True) -> list[Judged]:
    """Judge every job behind predecessors that agree."""
    judged: dict[Key, Judged] = {}
    base = found.cluster.now
    while len(judged) < len(found.waiting):
        known = {key: known_of(found, key) for key in judged if key in found.starts}
        run = engine(found, known)
        mine: dict[Key, Start] = {(one.job, one.task): one for one in run.starts}

        def first_of(key: Key, mine: dict[Key, Start] = mine) -> int:
            return min(found.starts.get(key, 1 << 40), mine[key].start if key in mine else 1 << 40)

        for key in sorted((key for key in found.waiting if key not in judged), key=lambda key: (first_of(key), key[0])):
            theirs, own = found.starts.get(key), mine.get(key)
            agrees = agree(found, key, own)
            judged[key] = Judged(
                found.release, found.cluster.version, found.seed, key[0], key[1],
                None if theirs is None else theirs - base, None if own is None else own.start - base,
                found.by.get(key, "submission"), "" if own is None else own.by,
                None if own is None or theirs is None else {*own.nodes} == {*found.nodes[key]}, agrees,
                "" if agrees or not causes else cause_of(found, key, known), found.words.get(key[0], ""),
            )  # fmt: skip
            if not agrees or judged[key].same_nodes is False:
                break
    return [judged[key] for key in sorted(judged, key=lambda key: (judged[key].slurm or 1 << 40, key[0]))]


# -- commands


def clusters(count: int, releases: Sequence[str], first: int) -> Iterator[tuple[str, str]]:
    """Yield releases and seeds, one release after the other."""
    for number in range(count):
        yield releases[number % len(releases)], str(first + number // len(releases))


def _record_to(folder: Path, release: str, seed: str) -> str:
    path = folder / f"{release}-{seed}.pickle"
    try:
        found = record(release, seed)
    except (Exception, pytest.skip.Exception) as problem:  # the others go on
        return f"{release} {seed}: {type(problem).__name__}: {problem}"
    path.write_bytes(pickle.dumps(found))
    return f"{release} {seed}: {len(found.starts)} of {len(found.waiting)} jobs started, {', '.join(found.kinds)}"


def record_all(asked: argparse.Namespace) -> None:
    """Record clusters that are not there yet, some at a time."""
    folder = Path(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        (release, seed)
        for release, seed in clusters(asked.clusters, asked.releases.split(","), asked.first)
        if not (folder / f"{release}-{seed}.pickle").exists()
    ]
    with ProcessPoolExecutor(asked.at_once, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_record_to, folder, *one) for one in wanted]):
            print(done.result(), flush=True)


def compare(asked: argparse.Namespace) -> None:
    """Judge all that is recorded."""
    found = []
    for kernel in (run_cycle, run_pass):  # hundreds of runs
        compiled(kernel)
    paths = [path for folder in asked.folders for path in sorted(Path(folder).glob("*.pickle"))]
    with Path(asked.output).open("w") as lines:
        for path in paths:
            began = time.monotonic()
            kept = Recorded(**vars(pickle.loads(path.read_bytes())))  # older ones have not everything
            judged = judge(kept, causes=not asked.fast)
            found += judged
            lines.writelines(json.dumps(asdict(one)) + "\n" for one in judged)
            wrong = [one for one in judged if not one.agrees]
            print(f"{path.stem}: {len(judged) - len(wrong)} of {len(judged)} agree, {', '.join(kept.kinds)} "
                  f"({time.monotonic() - began:.1f} s)")  # fmt: skip
            if asked.show:
                for one in (one for one in judged if not one.agrees or one.same_nodes is False):
                    print(f"    {one.job} {one.task} Slurm {one.slurm} ({one.by}), engine {one.engine} "
                          f"({one.engine_by}) {one.cause or 'other nodes'}: {one.words}")  # fmt: skip
    print(table(found))


def table(found: Sequence[Judged]) -> str:
    """Return how many agree, by release, and why the others do not."""
    lines = ["| release | clusters | jobs | agree | same nodes |", "|---|---|---|---|---|"]
    for release in [*dict.fromkeys(one.version for one in found), "all"]:
        own = [one for one in found if release in (one.version, "all")]
        agree = sum(one.agrees for one in own)
        placed = [one for one in own if one.same_nodes is not None]
        lines.append(
            f"| {release} | {len({(one.release, one.seed) for one in own})} | {len(own)} | {agree} "
            f"({100 * agree / max(len(own), 1):.1f}%) | {sum(bool(one.same_nodes) for one in placed)} |"
        )
    causes = Counter(one.cause or "not known" for one in found if not one.agrees)
    lines += ["", "| cause | jobs |", "|---|---|", *(f"| {cause} | {count} |" for cause, count in causes.most_common())]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("record", help="let real Slurms run queues")
    one.add_argument("folder")
    one.add_argument("--clusters", type=int, default=42)
    one.add_argument("--releases", default=",".join(RELEASES))
    one.add_argument("--first", type=int, default=1, help="the first seed")
    one.add_argument("--at-once", type=int, default=3)
    one.set_defaults(run=record_all)
    two = commands.add_parser("compare", help="run the engine from their snapshots")
    two.add_argument("folders", nargs="+")
    two.add_argument("-o", "--output", required=True)
    two.add_argument("--show", action="store_true", help="name each job that starts otherwise")
    two.add_argument("--fast", action="store_true", help="look for no causes")
    two.set_defaults(run=compare)
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
