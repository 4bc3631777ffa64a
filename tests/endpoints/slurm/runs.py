"""Compares whole queues run to their end by a real Slurm and by the engine from the same snapshot.

`python tests/endpoints/slurm/runs.py record FOLDER --clusters 40 --at-once 4` starts clusters of many kinds, one
release after the other, lets a real Slurm run their queues to the end, and records the results; it resumes where it
stopped. `python tests/endpoints/slurm/runs.py compare FOLDER -o found.jsonl` runs the engine from each snapshot and
writes each job's result and, for a job with a different start, the cause; `... page found.jsonl -o page.md` makes the
page.

The engine knows the run time of each job (for jobs that had not ended, how long they sleep), its submission time, and
the second in which each scheduler first ran after the snapshot, and nothing else that Slurm did.

A job *agrees* if the engine starts it in the same partition and within one cycle of the backfill scheduler
(bf_interval) of its start in Slurm, or if it starts in neither. Its *predecessors* are all jobs that start before it in
either run; they must agree, too, and have the same nodes. Jobs are judged in the order of their starts (the earlier one
of both). At the first job with a different start or different nodes, the engine begins again with all judged jobs
started when and where Slurm started them, and this run judges the rest. So each job is judged once, behind predecessors
that agree; the number of jobs with the same nodes is counted separately.

If a job has a different start, the engine runs again: with ends noticed sooner or later and cycles that begin in other
seconds; then with priorities calculated, or jobs submitted, in other seconds; then with the jobs that Slurm starts
within the same cycle started as in Slurm. If the job then agrees, these seconds, or the order within a cycle, are the
cause.
On 22.05, a queue with a limit on nodes is also run with nodes grouped by the line of slurm.conf that defines them
(`gas.slurm.together`); Slurm does not publish these lines.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest
from in_step import in_step, opened_at
from private_slurm import RELEASES
from recorded_runs import COVERING, CYCLE, Key, Recorded, record
from sites import Aspect

from gas.compiled import compiled
from gas.slurm.cluster import Job
from gas.slurm.cycle import run_cycle
from gas.slurm.forward import run_forward
from gas.slurm.main_pass import run_pass
from gas.slurm.starts import Known, Run, Start
from gas.slurm.together import Together

UNKNOWN = ("", "not known", "Slurm does not start it")
SECONDS = ((0, 0), (1, 0), (2, 0), (0, 2), (0, 4), (1, 2))
"""Seconds of epilogs, and the delay of the first cycle, in runs that show the effect of such seconds."""


@dataclass(frozen=True)
class Judged:
    """A job, or a task of an array: its starts in Slurm and in the engine, in seconds since the opening.

    Attributes
    ----------
    agrees
        Whether it agrees behind predecessors that agree.
    unaided
        Whether it agrees in one run from the snapshot, whatever the jobs before it did.
    submitted
        Its submission, in seconds since the opening.
    alone
        Its start in that one run.
    load
        Mean load average of the machine.
    by_seconds
        The smallest and the largest mean wait of its queue in runs of the engine with other seconds (`SECONDS`).
    stepped
        Its start in one run from the snapshot in step with Slurm (`in_step`).
    in_step
        Whether it agrees in that run, whatever the jobs before it did.
    """

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
    kinds: tuple[str, ...] = ()
    unaided: bool = False
    submitted: int = 0
    alone: int | None = None
    load: float = 0.0
    by_seconds: tuple[float, float] = (0.0, 0.0)
    stepped: int | None = None
    in_step: bool = False

    def waits(self, *, stepped: bool = False) -> tuple[int, int] | None:
        """Return its wait in Slurm and in one run of the engine; None if it does not start in both."""
        own = self.stepped if stepped else self.alone
        if self.slurm is None or own is None:
            return None
        return self.slurm - self.submitted, own - self.submitted


def seconds_of(found: Recorded, late: int | None = None) -> dict[int, int | list[int]]:
    """Return the run times for the engine, one second longer for jobs that ended in a given second."""

    def ran(key: Key) -> int:
        return found.ends[key] - found.starts[key] + (found.ends[key] == late)

    def left(job: Job) -> int:
        """Return the run time of a job that had not ended in the recording: its sleep, or its limit."""
        asleep = re.search(r"sleep (\d+)", found.words.get(job.id, ""))
        limit = job.time_limit or 60
        return limit if asleep is None else min(int(asleep[1]), limit)

    took: dict[int, int | list[int]] = {}
    for job in [*found.cluster.jobs, *(job for _, job in found.arrivals)]:
        if job.tasks is None:
            took[job.id] = ran((job.id, None)) if (job.id, None) in found.ends else left(job)
        else:
            keys = [(job.id, task) for one in job.tasks.ranges for task in one]
            took[job.id] = [ran(key) if key in found.ends else left(job) for key in keys]
    return took


def engine(
    found: Recorded, known: dict[Key, Known], epilog: int = 0, later: int = 0, until: int | None = None,
    late: int | None = None,
) -> Run:  # fmt: skip
    """Run the engine from the snapshot, with both schedulers beginning in the same seconds as Slurm's.

    It begins at Slurm's first event (`in_step.opened_at`). To show the effect of seconds, the parameters set the length
    of epilogs and a delay of the first cycle, and have the ends in a given second noticed in the next one.
    """
    opened = opened_at(found)
    cycle = next((int(one) for one in found.cycles if one >= opened), opened) + later
    full = next((int(at) for at, of_all in found.passes if of_all and at >= opened), None)
    return run_forward(
        replace(found.cluster, now=opened), seconds_of(found, late), found.arrivals, known=known, first_cycle=cycle,
        first_pass=full, epilog=epilog, until=until,
    )  # fmt: skip


def known_of(found: Recorded, key: Key) -> Known:
    """Return the start of a job in Slurm, in the form for the engine."""
    return Known(found.starts[key], found.nodes[key], found.partitions[key], found.cpus.get(key), found.by.get(key, ""))


def agree(found: Recorded, key: Key, own: Start | None) -> bool:
    """Whether a job agrees."""
    theirs = found.starts.get(key)
    if theirs is None:  # before it was no longer looked at
        return own is None or own.start > max((at for at, _ in found.log), default=1 << 40)
    if own is None:
        return False
    return abs(theirs - own.start) <= CYCLE and found.partitions[key] == own.partition


def cause_of(found: Recorded, key: Key, known: dict[Key, Known]) -> str:
    """Return the cause of a different start, as far as other runs show it."""
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
    ways: list[tuple[int, int, int | None]] = [(0, 0, first), (0, 0, first - 1)]
    ways += [
        (epilog, later, None) for epilog, later in ((1, 0), (2, 0), (3, 0), (0, 2), (0, 4), (0, 6), (1, 4), (2, 4))
    ]
    for epilog, later, late in ways:
        run = engine(found, dict(known), epilog, later, until, late)
        if agree(found, key, next((one for one in run.starts if (one.job, one.task) == key), None)):
            return "the second in which an end is noticed or a cycle begins"
    for cause, others in _other_seconds(found):
        run = engine(others, dict(known), until=until)
        if agree(found, key, next((one for one in run.starts if (one.job, one.task) == key), None)):
            return cause
    for epilog in range(4):
        run = engine(found, known | beside, epilog, until=until)
        if agree(found, key, next((one for one in run.starts if (one.job, one.task) == key), None)):
            return "the order of events within one cycle"
    if apart := _by_lines(found):
        run = engine(apart, dict(known), until=until)
        if agree(found, key, next((one for one in run.starts if (one.job, one.task) == key), None)):
            return "which nodes share a line of slurm.conf, which Slurm does not publish"
    if key not in found.starts:
        return "Slurm does not start it"
    return "not known"


def _other_seconds(found: Recorded) -> Iterator[tuple[str, Recorded]]:
    """Yield recordings with priorities calculated, or jobs submitted, in other seconds, with the cause in words."""
    settings = found.cluster.settings
    booted = "" if settings is None else settings.values.get("BOOT_TIME", "")
    for shift in (-1, 1, 2) if booted.isdecimal() else ():
        values = {**settings.values, "BOOT_TIME": str(int(booted) + shift)}
        cluster = replace(found.cluster, settings=replace(settings, values=values))
        yield "the second in which priorities are calculated", replace(found, cluster=cluster)
    later = [(at + 1, job) for at, job in found.arrivals]
    yield "the second in which a job is submitted", replace(found, arrivals=later)


def _by_lines(found: Recorded) -> Recorded | None:
    """Return a recording whose nodes differ by their lines (`sites.Site.groups`); None if lines have no effect."""
    cluster = found.cluster
    if not cluster.version.startswith("22.05") or not Together(cluster, ()).any:
        return None
    nodes = tuple(replace(node, features=node.features | {f"line {at // 4}"}) for at, node in enumerate(cluster.nodes))
    return replace(found, cluster=replace(cluster, nodes=nodes))


def admitted(found: Recorded) -> Recorded:
    """Return a recording without the jobs that sbatch would have refused had their partitions been up.

    The queue of the snapshot is submitted to partitions that are down. There, 24.11 and 26.05 accept jobs that no node
    can run (``-N 1 -n 6`` on nodes of 4 CPUs), and log that; when the partition opens they are held (BadConstraints).
    They show the same NumNodes as ``-N 1-2``, which can run.
    """
    cannot: dict[int, set[str]] = {}
    for at, words in found.log:
        if at < found.cluster.now and (match := re.match(r"JobId=(\d+) never runnable in partition (\S+)", words)):
            cannot.setdefault(int(match[1]), set()).add(match[2])
    refused = {job.id for job in found.cluster.jobs if {*job.partitions} <= cannot.get(job.id, set())}
    jobs = tuple(job for job in found.cluster.jobs if job.id not in refused)
    waiting = [key for key in found.waiting if key[0] not in refused]
    return replace(found, cluster=replace(found.cluster, jobs=jobs), waiting=waiting)


def judge(found: Recorded, *, causes: bool = True) -> list[Judged]:
    """Judge every job behind predecessors that agree."""
    found = admitted(found)
    judged: dict[Key, Judged] = {}
    base, submitted = found.cluster.now, {job.id: at for at, job in found.arrivals}
    load = round(mean(found.load or [0.0]), 2)
    by_seconds = mean_waits(found) if causes else (0.0, 0.0)
    stepped = {(one.job, one.task): one for one in in_step(found, seconds_of(found)).starts}
    unaided: dict[Key, Start] = {}
    while len(judged) < len(found.waiting):
        known = {key: known_of(found, key) for key in judged if key in found.starts}
        run = engine(found, known)
        mine: dict[Key, Start] = {(one.job, one.task): one for one in run.starts}
        if not judged:
            unaided = mine

        def first_of(key: Key, mine: dict[Key, Start] = mine) -> int:
            return min(found.starts.get(key, 1 << 40), mine[key].start if key in mine else 1 << 40)

        for key in sorted((key for key in found.waiting if key not in judged), key=lambda key: (first_of(key), key[0])):
            theirs, own = found.starts.get(key), mine.get(key)
            agrees = agree(found, key, own)
            cause = "" if agrees or not causes else cause_of(found, key, known)
            if cause in UNKNOWN[1:] and agree(found, key, stepped.get(key)):
                cause = "the order of events within one second"
            judged[key] = Judged(
                found.release, found.cluster.version, found.seed, key[0], key[1],
                None if theirs is None else theirs - base, None if own is None else own.start - base,
                found.by.get(key, "submission"), "" if own is None else own.by,
                None if own is None or theirs is None else {*own.nodes} == {*found.nodes[key]}, agrees,
                cause, found.words.get(key[0], ""),
                found.kinds, agree(found, key, unaided.get(key)), submitted.get(key[0], base) - base,
                unaided[key].start - base if key in unaided else None, load, by_seconds,
                stepped[key].start - base if key in stepped else None, agree(found, key, stepped.get(key)),
            )  # fmt: skip
            if not agrees or judged[key].same_nodes is False:
                break
    return [judged[key] for key in sorted(judged, key=lambda key: (judged[key].slurm or 1 << 40, key[0]))]


def mean_waits(found: Recorded) -> tuple[float, float]:
    """Return the smallest and the largest mean wait in runs with other seconds."""
    submitted = {job.id: at for at, job in found.arrivals}
    means = []
    for epilog, later in SECONDS:
        run = engine(found, {}, epilog, later)
        begun = {(one.job, one.task): one.start for one in run.starts}
        waits = [begun[key] - submitted.get(key[0], found.cluster.now) for key in found.starts if key in begun]
        means.append(round(mean(waits or [0]), 1))
    return min(means), max(means)


# -- commands


def clusters(count: int, releases: Sequence[str], first: int) -> Iterator[tuple[str, str]]:
    """Yield releases and seeds, one release after the other."""
    for number in range(count):
        yield releases[number % len(releases)], str(first + number // len(releases))


def _record_to(folder: Path, release: str, seed: str, kinds: Sequence[type[Aspect]] | None) -> str:
    path = folder / f"{release}-{seed}.pickle"
    try:
        found = record(release, seed, kinds=kinds)
    except (Exception, pytest.skip.Exception) as problem:  # the others go on
        return f"{release} {seed}: {type(problem).__name__}: {problem}"
    path.write_bytes(pickle.dumps(found))
    return f"{release} {seed}: {len(found.starts)} of {len(found.waiting)} jobs started, {', '.join(found.kinds)}"


def record_all(asked: argparse.Namespace) -> None:
    """Record the missing clusters, some at the same time."""
    folder = Path(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        (release, seed)
        for release, seed in clusters(asked.clusters, asked.releases.split(","), asked.first)
        if not (folder / f"{release}-{seed}.pickle").exists()
    ]
    with ProcessPoolExecutor(asked.at_once, max_tasks_per_child=1) as pool:
        kinds = [COVERING[int(seed) % len(COVERING)] if asked.covering else None for _, seed in wanted]
        jobs = [pool.submit(_record_to, folder, *one, of) for one, of in zip(wanted, kinds, strict=True)]
        for done in as_completed(jobs):
            print(done.result(), flush=True)


def compare(asked: argparse.Namespace) -> None:
    """Judge all recorded jobs."""
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


def write_page(asked: argparse.Namespace) -> None:
    """Write the page of what `compare` has written."""
    words = Path(asked.words).read_text() if asked.words else ""
    Path(asked.output).write_text(page_of(_read(asked.found), _read(asked.before), asked.from_seeds, words))


def _read(files: Sequence[str]) -> list[Judged]:
    """Return what `compare` has written to files."""
    lines = [line for file in files for line in Path(file).read_text().splitlines()]
    return [Judged(**{**line, "kinds": tuple(line["kinds"])}) for line in map(json.loads, lines)]


def table(found: Sequence[Judged]) -> str:
    """Return the table of jobs that agree, by release, and of the causes of different starts."""
    causes = Counter(one.cause or "not known" for one in found if not one.agrees)
    lines = [*_releases(found), "", "| cause | jobs |", "|---|---:|"]
    return "\n".join([*lines, *(f"| {cause} | {count} |" for cause, count in causes.most_common())])


def _releases(found: Sequence[Judged]) -> list[str]:
    """Return the lines of the table of jobs that agree, by release."""
    lines = [
        "| release | clusters | jobs | agree | agree, or cause known | same nodes | unaided | mean wait "
        "| mean wait in the engine | in step | mean wait in step |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for release in [*sorted({one.version for one in found}), "all"]:
        own = [one for one in found if release in (one.version, "all")]
        placed = [one for one in own if one.same_nodes is not None]
        lines.append(
            f"| {release} | {len({(one.release, one.seed) for one in own})} | {len(own)} "
            f"| {_part(sum(one.agrees for one in own), len(own))} "
            f"| {_part(sum(one.agrees or one.cause not in UNKNOWN for one in own), len(own))} "
            f"| {_part(sum(bool(one.same_nodes) for one in placed), len(placed))} "
            f"| {_part(sum(one.unaided for one in own), len(own))} | {_mean_waits(own)} "
            f"| {_part(sum(one.in_step for one in own), len(own))} | {_mean_wait_of_engine(own, stepped=True)} |"
        )
    return lines


HEAD = """\
# Whole queues against real Slurms

{jobs} jobs and tasks of {clusters} random clusters and queues, which private Slurms {versions} ran to their end
until {date}, with simulated run times; seeds {seeds}.
From the snapshot at the beginning of a queue, the engine (`gas/slurm`, `forward`) predicts when and where each job
starts. A job *agrees* if the engine starts it in the same partition and within one cycle of the backfill scheduler
({cycle} s) of its start in Slurm, or if it starts in neither, behind predecessors that agree. Where a job does not
agree, the engine begins again with all earlier jobs started when and where Slurm started them. *Unaided*: the job
agrees in one run from the snapshot, whatever the jobs before it did; the mean wait in the engine is that of this run.
*Other seconds*: the mean waits in runs in which epilogs take 0 to 2 s and cycles begin 0 to 4 s later. *In step*: the
job agrees in one run from the snapshot in which jobs end and schedulers run at the instants of Slurm's log, not only in
the same seconds (`in_step.py`). The load average is that of a machine of 2 cores with other users; the delays that they
cause, of cycles of both schedulers, are among the causes of differences.
`tests/endpoints/slurm/runs.py` explains more; this page is made by
`python tests/endpoints/slurm/runs.py record FOLDER`, `... compare FOLDER -o found.jsonl` and
`... page found.jsonl -o measured_runs.md`.

"""


def page_of(
    found: Sequence[Judged], before: Sequence[Judged] = (), from_seeds: Sequence[int] = (), words: str = ""
) -> str:
    """Return the page of judged jobs.

    Parameters
    ----------
    before
        The same queues, judged with an earlier engine.
    from_seeds
        The first seeds of groups of queues that are compared separately; seeds before the first are a group, too.
    words
        Text before the first table.
    """
    seeds = sorted({int(one.seed) for one in found})
    head = HEAD.format(
        jobs=f"{len(found):,}", clusters=len({(one.release, one.seed) for one in found}), cycle=CYCLE,
        versions=", ".join(sorted({one.version for one in found})), date=time.strftime("%Y-%m-%d", time.gmtime()),
        seeds=", ".join(map(str, seeds)),
    )  # fmt: skip
    lines = [
        "", "## By queue", "",
        "| queue | site | load | jobs | agree | agree, or cause known | mean wait | mean wait in the engine "
        "| other seconds | in step | mean wait in step |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for release, seed in dict.fromkeys((one.release, one.seed) for one in found):
        own = [one for one in found if (one.release, one.seed) == (release, seed)]
        known = sum(one.agrees or one.cause not in UNKNOWN for one in own)
        lines.append(
            f"| {release} {seed} | {', '.join(own[0].kinds)} | {own[0].load:g} | {len(own)} "
            f"| {_part(sum(one.agrees for one in own), len(own))} | {_part(known, len(own))} | {_mean_waits(own)} "
            f"| {own[0].by_seconds[0]:.0f} to {own[0].by_seconds[1]:.0f} s "
            f"| {_part(sum(one.in_step for one in own), len(own))} | {_mean_wait_of_engine(own, stepped=True)} |"
        )
    lines += ["", "## By kind of site", "", "| kind | clusters | jobs | agree |", "|---|---:|---:|---:|"]
    kinds = sorted({kind for one in found for kind in one.kinds})
    for kind in [*kinds, "none of these"]:
        own = [one for one in found if kind in one.kinds or (kind not in kinds and not one.kinds)]
        there = len({(one.release, one.seed) for one in own})
        if own:
            lines.append(f"| {kind} | {there} | {len(own)} | {_part(sum(one.agrees for one in own), len(own))} |")
    wrong = [one for one in found if not one.agrees]
    lines += ["", "## Jobs with different starts", "", "Seconds count from the beginning of the queue.", ""]
    lines += ["| release, seed | job | Slurm | engine | request | cause |", "|---|---|---|---|---|---|"]
    for one in wrong:
        job = f"{one.job}" if one.task is None else f"{one.job}_{one.task}"
        cells = (
            f"{one.release} {one.seed}", job, _at(one.slurm, one.by), _at(one.engine, one.engine_by), f"`{one.words}`",
            one.cause or "not known",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    words = words and words.strip() + "\n\n"
    return head + words + table(found) + "\n" + _before_and_after(found, before, from_seeds) + "\n".join(lines) + "\n"


def _before_and_after(found: Sequence[Judged], before: Sequence[Judged], from_seeds: Sequence[int]) -> str:
    """Return tables of groups of queues with the earlier and the present engine; nothing without the earlier."""
    queues = {(one.release, one.seed) for one in before}
    missing = sorted(queues - {(one.release, one.seed) for one in found})
    if missing:
        raise SystemExit(f"judged before and not after: {', '.join(map(' '.join, missing))}")
    lines = ["", "## Before and after, on the same recordings"] if before else []
    bounds = sorted({0, *from_seeds, 1 << 30})
    for first, end in pairwise(bounds):
        then = [one for one in before if first <= int(one.seed) < end]
        if then:
            now = [one for one in found if (one.release, one.seed) in queues and first <= int(one.seed) < end]
            seeds = sorted({int(one.seed) for one in then})
            lines += ["", f"Seeds {', '.join(map(str, seeds))}, before:", "", *_releases(then)]
            lines += ["", "The same, after:", "", *_releases(now)]
    return "".join(f"{line}\n" for line in lines)


def _mean_waits(own: Sequence[Judged]) -> str:
    """Return the mean waits in Slurm and in one run of the engine, of the jobs that start in both."""
    waits = [waits for one in own if (waits := one.waits()) is not None]
    theirs = f"{mean(one for one, _ in waits):.0f} s" if waits else "-"
    return f"{theirs} | {_mean_wait_of_engine(own)}"


def _mean_wait_of_engine(own: Sequence[Judged], *, stepped: bool = False) -> str:
    """Return the mean wait in one run of the engine, of the jobs that start in both, compared with Slurm's."""
    waits = [waits for one in own if (waits := one.waits(stepped=stepped)) is not None]
    if not waits:
        return "-"
    theirs, ours = mean(one for one, _ in waits), mean(one for _, one in waits)
    return f"{ours:.0f} s ({ours / max(theirs, 1) - 1:+.1%})"


def _at(second: int | None, by: str) -> str:
    return "never" if second is None else f"{second} s ({by})"


def _part(count: int, whole: int) -> str:
    return f"{count} ({100 * count / max(whole, 1):.1f}%)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("record", help="let real Slurms run queues")
    one.add_argument("folder")
    one.add_argument("--clusters", type=int, default=42)
    one.add_argument("--releases", default=",".join(RELEASES))
    one.add_argument("--first", type=int, default=1, help="the first seed")
    one.add_argument("--at-once", type=int, default=2)
    one.add_argument("--covering", action="store_true", help="no mixtures: eight kinds of sites, by the seed")
    one.set_defaults(run=record_all)
    two = commands.add_parser("compare", help="run the engine from the recorded snapshots")
    two.add_argument("folders", nargs="+")
    two.add_argument("-o", "--output", required=True)
    two.add_argument("--show", action="store_true", help="name each job with a different start")
    two.add_argument("--fast", action="store_true", help="do not look for causes")
    two.set_defaults(run=compare)
    three = commands.add_parser("page", help="write the page")
    three.add_argument("found", nargs="+")
    three.add_argument("--before", nargs="+", default=[], help="output of compare with an earlier engine")
    three.add_argument("--from-seeds", nargs="+", type=int, default=[], help="first seeds of separate groups")
    three.add_argument("--words", help="file with the text before the first table")
    three.add_argument("-o", "--output", required=True)
    three.set_defaults(run=write_page)
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
