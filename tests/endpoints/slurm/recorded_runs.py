"""Records how a real Slurm runs random queues on random clusters to their end.

Some of the jobs wait in the snapshot, the others are submitted while it runs. They ask for minutes, and use of these
what their users do: some fail at once, some run into the limit, and most take a share (`Habits`).
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from private_slurm import PrivateSlurm
from sites import (
    ASKER,
    OTHERS,
    Arrays,
    Asked,
    Aspect,
    FairShares,
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

from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.notation import node_names
from gas.slurm.cluster import Cluster, Job

CYCLE = 8
"""Seconds from one cycle of the backfill scheduler to the next."""
LONGEST_LIMIT = 4
"""The largest time limit of jobs, in minutes."""
SPREAD = 150
"""The later jobs are submitted within this number of seconds."""
PATIENCE = 600
Key = tuple[int, int | None]


@dataclass(frozen=True)
class Habits:
    """How the jobs of a user use their time limits.

    Attributes
    ----------
    fails, overruns
        The parts that fail at once, and that run into the limit.
    share, certainty
        What the others use of it on average, and how little that varies.
    """

    fails: float
    overruns: float
    share: float
    certainty: float

    @classmethod
    def of(cls, release: str, seed: str, user: str) -> Habits:
        """Return the habits of a user of a site."""
        chance = random.Random(f"habits {release} {seed} {user}")
        return cls(chance.uniform(0, 0.2), chance.uniform(0, 0.1), chance.uniform(0.1, 0.4), chance.choice((2, 4, 8)))

    def seconds(self, limit: int, chance: random.Random) -> int:
        """Return how long a job with a given limit in seconds sleeps."""
        which = chance.random()
        if which < self.fails:
            return chance.randint(1, 3)
        if which < self.fails + self.overruns:
            return limit + 20  # it is ended a while after its limit, or ends
        a = self.share * self.certainty
        return max(round(limit * chance.betavariate(a, self.certainty - a)), 3)


class Later(Aspect):
    """Jobs that wait for other jobs or for a time."""

    def job(self, job, chance, past):
        way = chance.choice(("begin", "dependency", "dependency", "", "", "", ""))
        if way == "begin":
            job.options["begin"] = f"now+{chance.randint(10, 120)}"
        elif way == "dependency" and past:
            kind = chance.choice(("afterany", "afterok", "after"))
            job.options["dependency"] = f"{kind}:{chance.choice(past)}"


class Closed(Aspect):
    """Nodes that are reserved for others for some minutes soon."""

    def prepare(self, slurm, chance):
        first = chance.randint(1, 8)
        slurm.run(
            "scontrol", "create", "reservation", "ReservationName=kept", "Users=root",
            f"Nodes=n[{first:02}-{first + chance.randint(1, 4):02}]", f"StartTime=now+{chance.randint(60, 150)}seconds",
            f"Duration={chance.randint(2, 4)}",
        )  # fmt: skip


MIXED: tuple[tuple[type[Aspect], ...], ...] = (
    (Shapes, Gpus, WholeNodes), (Arrays, Throttled), (Priorities, FairShares), (Memory,), (Features,),
    (OthersLimited, OwnLimits), (Tiers, Several), (Later,), (Licences,), (Closed,),
)  # fmt: skip
"""A cluster has at most one aspect of each group."""

COVERING: tuple[tuple[type[Aspect], ...], ...] = (
    (Priorities, OthersLimited, OwnLimits), (Gpus, Memory, Later), (FairShares, OthersLimited),
    (WholeNodes, Tiers, Closed), (Priorities, OwnLimits, Several), (Throttled, Licences, Features),
    (FairShares, OthersLimited, OwnLimits), (Shapes, Priorities, Later, Closed),
)  # fmt: skip
"""Eight sites that together cover all aspects; half have priorities and limits."""


def drawn(
    release: str, seed: str, kinds: Sequence[type[Aspect]] | None = None
) -> tuple[Site, list[Aspect], random.Random]:
    """Return a site, its aspects (of the given kinds, or mixed), and the random generator for further draws."""
    chance = random.Random(f"run {release} {seed}")
    aspects = [chance.choice(MIXED[at])() for at in sorted(chance.sample(range(len(MIXED)), chance.randint(0, 4)))]
    if kinds is not None:
        aspects = [kind() for kind in kinds]
    site = site_of(aspects, chance)
    site.jobs = chance.randint(24, 34)
    site.scheduling |= {"bf_interval": str(CYCLE), "sched_interval": chance.choice(("20", "60"))}
    site.lines |= {"MinJobAge": "100000", "SlurmctldDebug": "debug", "SlurmctldLogFile": "/dev/stderr"}  # with times
    return site, aspects, chance


def queue(
    site: Site, aspects: Sequence[Aspect], chance: random.Random, past: list[int], spread: int
) -> Iterator[tuple[Asked, int]]:
    """Yield jobs with the seconds until their submission; 0 for those of the snapshot.

    The caller adds the numbers of submitted jobs to `past` in the meantime.
    """
    arrivals = sorted(chance.randint(1, spread) for _ in range(site.jobs // 2))
    arrivals = [0] * (site.jobs - len(arrivals)) + arrivals
    for at in arrivals:
        largest = chance.choice((site.cpus // 8, site.cpus // 4, site.cpus // 2))
        options: dict[str, str | None] = {
            "ntasks": str(chance.randint(1, max(largest, 1))), "time": str(chance.randint(1, LONGEST_LIMIT)),
        }  # fmt: skip
        job = Asked(options, chance.choice((ASKER, *OTHERS)))
        for aspect in aspects:
            aspect.job(job, chance, past)
        job.options["time"] = job.options["time"] or "1"
        yield job, at


@dataclass
class Recorded:
    """The recording of a queue that a real Slurm ran.

    Attributes
    ----------
    cluster
        Its state when its partitions opened.
    arrivals
        Jobs in their waiting state, and the time of each submission.
    starts, ends, nodes, partitions
        By job and task; without those that did not start.
    waiting
        Jobs and tasks of the queue.
    by
        The scheduler that started it, as far as the log shows it.
    cycles, passes
        When the backfill scheduler began; and when the main scheduler began, and whether it examined the whole queue.
    log
        Lines of slurmctld's log about jobs and schedulers, with their times.
    words
        The request.
    priorities
        By number: priorities with the times from which they were observed.
    cpus
        By job and task: CPUs of each node, as far as they were observed.
    views
        By number: the state published before its submission, if it was read.
    said
        By number: the first start that squeue --start reported, and the time of this report.
    load
        Load averages of the machine during the run.
    old_shares
        Whether one transport, which kept users' shares for a minute, read all views.
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
    views: dict[int, Cluster] = field(default_factory=dict)
    said: dict[int, tuple[int, int]] = field(default_factory=dict)
    load: list[float] = field(default_factory=list)
    old_shares: bool = False


def record(
    release: str,
    seed: str,
    *,
    jobs: int | None = None,
    longest: int = 1 << 20,
    spread: int = SPREAD,
    kinds: Sequence[type[Aspect]] | None = None,
) -> Recorded:
    """Let a real Slurm run a queue to its end, and read its state before each later submission.

    Parameters
    ----------
    longest
        The longest sleep of a job, in seconds.
    kinds
        The aspects of the site; by default a mixture.
    """
    site, aspects, chance = drawn(release, seed, kinds)
    site.jobs = jobs or site.jobs
    with site.slurm(release, rest=False) as slurm:
        reader = _reader(slurm)
        names = slurm.run("sinfo", "-h", "-o", "%R").split()
        for name in names:
            slurm.run("scontrol", "update", f"PartitionName={name}", "State=DOWN")
        past: list[int] = []
        submitted: list[tuple[int, Asked, int, int]] = []
        for job, at in queue(site, aspects, chance, past, spread):
            limit = 60 * int(job.options["time"] or 1)
            seconds = min(Habits.of(release, seed, job.user).seconds(limit, chance), longest)
            id = _submit(slurm, job, seconds)
            if id is not None:
                past.append(id)
                submitted.append((id, job, seconds, at))
        asked = {job.id: job for job in reader.cluster("private").jobs}
        for id, _, _, at in submitted:
            if at:
                slurm.run("scancel", str(id))
        for aspect in aspects:
            aspect.prepare(slurm, chance)
        time.sleep(1)
        cluster = _reader(slurm).cluster("private")  # one that has read nothing reads all
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
            view = _reader(slurm).cluster("private")
            now = int(time.time())
            new = _submit(slurm, job, seconds)
            if new is not None:
                found.views[new] = view
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
        found.priorities, found.cpus, found.said = watch.priorities, watch.cpus, watch.said
        found.load = watch.load
        if not found.cycles:
            found.cycles = sorted(watch.cycles)
    return found


def _reader(slurm: PrivateSlurm) -> CommandTransport:
    """Return a transport of the user with limits of an association, which other users cannot see."""
    user = ASKER if os.getuid() == 0 else None
    reader = CommandTransport("private", str(slurm.folder / "slurm.conf"), folder=str(slurm.programs(user)))
    if user is not None:
        reader.user = user
    return reader


class _Watch(threading.Thread):
    """Records when the backfill scheduler begins, and the priorities of waiting jobs."""

    def __init__(self, slurm: PrivateSlurm) -> None:
        super().__init__(daemon=True)
        self.slurm, self.ended = slurm, threading.Event()
        self.cycles: set[float] = set()
        self.priorities: dict[int, list[tuple[int, int]]] = {}
        self.cpus: dict[Key, dict[str, int]] = {}
        self.said: dict[int, tuple[int, int]] = {}
        self.load: list[float] = []

    def run(self) -> None:
        while not self.ended.wait(2):
            self.load.append(os.getloadavg()[0])
            with contextlib.suppress(Exception):
                self.cycles.add(self.slurm.last_cycle())
                now = int(time.time())
                for line in self.slurm.run("squeue", "-h", "-t", "pending", "-o", "%F %Q").splitlines():
                    id, value = map(int, line.split())
                    seen = self.priorities.setdefault(id, [])
                    if not seen or seen[-1][1] != value:
                        seen.append((now, value))
                starts = self.slurm.run("squeue", "-h", "--start", "-o", "%F %S", SLURM_TIME_FORMAT="%s")
                for id, start in (line.split() for line in starts.splitlines()):
                    if start.isdecimal():
                        self.said.setdefault(int(id), (now, int(start)))
                for line in self.slurm.run("scontrol", "-d", "-o", "show", "job").splitlines():
                    if " JobState=RUNNING " in line:
                        self._note(line)

    def _note(self, line: str) -> None:
        """Record the CPUs of a running job on each node."""
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
    """Wait until nothing runs and nothing has started for some time, and read what happened."""
    quiet = time.monotonic()
    while time.time() < opened + PATIENCE and time.monotonic() < quiet + 45:
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
    """Record the content of a line of slurmctld's log, if the line has a time."""
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
