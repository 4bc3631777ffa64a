"""The page of measured predictions: the share that is met, by kind of site and release, with intervals and causes."""

from __future__ import annotations

import math
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from plans import NEAR, Situation, Tried
from queues import RESOLUTION, TRANSPORTS, Measured
from sites import KINDS

HEAD = """\
# Predicted starts against real Slurms

{probes} probes on {queues} random queues of private Slurms {versions}, measured until {date}, seeds {seeds}.
For each random job, Gas predicts as an ordinary user when Slurm will plan it: by the commands, by slurmrestd alone, and
by slurmrestd with a readable slurm.conf (as on a login node). `sbatch --test-only` is asked, too. Then a real job is
submitted, its planned start is taken as the truth, and the job is cancelled at once. `tests/endpoints/slurm/sites.py`
defines the kinds of site; a mixture draws several of them. This page is made by
`python tests/endpoints/slurm/queues.py measure found.jsonl` and `... page found.jsonl -o measured.md`.

A prediction is *met* if it is within {resolution} s (bf_resolution) of the planned start, or if Gas predicts that Slurm
plans no start, at first or ever, and Slurm plans none; the tables also count the latter separately. If a limit of an
account or a QOS on resources holds a job, or its account may not use the partition, Slurm may publish a planned start
that it does not keep; predicting that such a job does not start then counts as met, too. *Wrong "now"*: predicted to
start now, but Slurm plans no start or such a limit holds the job.
"""

LIMITS = """
## At limits

Random limits are set on a private Slurm with several partitions, accounts and QOS: GrpTRES, MaxTRES and
MaxTRESPerUser of CPUs, nodes, memory, licences and billing, GrpJobs, MaxJobs, MaxSubmit, MaxWall and minutes; MaxTime,
MaxNodes and MinNodes of partitions. Gas plans an application like `gas plan`, over partitions, accounts, QOS and
sizes. The request that it chooses is submitted, and one of the other requests. *Wrong "now"*: predicted to start now,
but a limit holds the job or Slurm refuses it. *Never starts*: the chosen request does not start even after all other
jobs have left.
"""

NAMES = {"commands": "commands", "rest": "slurmrestd alone", "rest and slurm.conf": "slurmrestd, beside a slurm.conf"}

CHOICE = """
## The chosen request among all possible ones

At sites with a queue, several partitions, and two accounts and QOS with limits, Gas plans an application. Then
requests (partition, account, QOS, size) are submitted one after the other: the one that Gas chooses, those that finish
next by its plan, and as many at random. *First*: by Slurm's own plans, the chosen request finishes before all others,
or at most {near:.0%} later.
"""

GPUS = """
## GPUs, by the way they are requested
"""

WAYS = {
    "per task, typed": r"--gpus-per-task=\D", "per task": r"--gpus-per-task=\d",
    "per node, typed": r"--gpus-per-node=\D", "per node": r"--gpus-per-node=\d",
    "per job, typed": r"--gpus=\D", "per job": r"--gpus=\d",
    "--gres, typed": r"--gres=gpu:\D", "--gres": r"--gres=gpu:\d", "whole nodes": "--exclusive",
    "with CPUs per GPU": "--cpus-per-gpu", "with memory per GPU": "--mem-per-gpu", "no GPU": r"^(?!.*gpu)",
}  # fmt: skip


def page_of(found: Sequence[Measured], plans: Sequence[Situation] = ()) -> str:
    """Return the page of probes and plans."""
    if not found and not plans:
        return "# Predicted starts against real Slurms\n\nNothing has been measured.\n"
    return "\n".join([*(_of_probes(found) if found else ()), *_of_gpus(found), *_of_plans(plans)])


def _of_probes(found: Sequence[Measured]) -> list[str]:
    head = HEAD.format(
        probes=len(found),
        queues=len({(one.kind, one.release, one.seed) for one in found}),
        versions=", ".join(sorted({one.version for one in found})),
        date=time.strftime("%Y-%m-%d", time.gmtime(max(one.now for one in found))),
        seeds=", ".join(sorted({one.seed.rpartition("-")[0] for one in found})) + "-*",
        resolution=RESOLUTION,
    )
    kinds = [kind for kind in KINDS if any(one.kind == kind for one in found)]
    releases = sorted(
        {one.release for one in found}, key=lambda name: min(o.version for o in found if o.release == name)
    )
    parts = [head]
    for transport in _ways(found):
        parts.append(f"\n## By {NAMES[transport]}\n")
        parts.append(_by_kind(found, kinds, transport))
    parts.append("\n## By release\n")
    parts.append(_by_release(found, kinds, releases))
    parts.append("\n## Misses\n")
    parts.append(_causes(found))
    return parts


def _ways(found: Sequence[Measured]) -> list[str]:
    """Return the transports that all probes used."""
    return [name for name in TRANSPORTS if all(name in one.said for one in found)]


def _of_gpus(found: Sequence[Measured]) -> Iterator[str]:
    there = [one for one in found if one.kind == "gpus"]
    if not there:
        return
    yield GPUS
    ways = _ways(there)
    yield f"| request | probes | {' | '.join(ways)} |\n|---|---:|{'---:|' * len(ways)}"
    for way, pattern in (*WAYS.items(), ("all", "")):
        those = [one for one in there if re.search(pattern, " ".join(one.words))]
        met = [sum(one.met(name) for one in those) for name in ways]
        yield f"| {way} | {len(those)} | {' | '.join(share(count, len(those)) for count in met)} |"


def _of_plans(found: Sequence[Situation]) -> Iterator[str]:
    for table, head, rows in (("limits", LIMITS, _at_limits), ("choice", CHOICE.format(near=NEAR), _choices)):
        there = [one for one in found if one.table == table]
        if there:
            yield head
            yield from rows(there)


def _releases(found: Sequence[Situation]) -> Iterator[tuple[str, list[Situation]]]:
    for version in sorted({one.version for one in found}):
        yield version, [one for one in found if one.version == version]
    yield "all", list(found)


def _at_limits(found: Sequence[Situation]) -> Iterator[str]:
    yield (
        "| release | situations | chosen: Slurm starts or plans it | held until others end | never starts "
        '| nothing chosen, rightly | wrong "now" | called impossible, wrongly |'
    )
    yield f"|---|{'---:|' * 7}"
    for name, there in _releases(found):
        taken = [one.taken for one in there if one.taken is not None]
        tried = [each for one in there for each in one.tried]
        held = sum(each.finish is None and not each.lasting and not each.refused for each in taken)
        none = sum(one.taken is None and one.first is None for one in there)
        yield (
            f"| {name} | {len(there)} | {sum(each.finish is not None for each in taken)} | {held} "
            f"| {sum(one.held_for_ever for one in there)} | {none} of {len(there) - len(taken)} "
            f"| {sum(each.wrong_now for each in tried)} of {len(tried)} | {sum(each.wrong_never for each in tried)} |"
        )
    yield from _missed(found, [each for one in found for each in one.tried])


def _missed(found: Sequence[Situation], tried: Sequence[Tried]) -> Iterator[str]:
    causes = Counter(each.missed for each in tried if each.missed)
    causes.update(f"chosen, and never starts: {one.taken.held}" for one in found if one.held_for_ever and one.taken)
    if causes:
        yield "\n| wrong prediction | requests |\n|---|---:|"
        yield from (f"| {cause} | {count} |" for cause, count in causes.most_common())


def _choices(found: Sequence[Situation]) -> Iterator[str]:
    yield "| release | situations | requests tried | first (95% interval) | all starts as predicted |"
    yield f"|---|{'---:|' * 4}"
    for name, there in _releases(found):
        right = sum(one.right for one in there)
        tried = [each for one in there for each in one.tried]
        yield (
            f"| {name} | {len(there)} | {len(tried)} | {right}: {share(right, len(there))} "
            f"| {share(sum(not each.missed for each in tried), len(tried))} |"
        )
    causes = Counter(one.cause for one in found if one.cause)
    if causes:
        yield "\n| why another request finishes first | situations |\n|---|---:|"
        yield from (f"| {cause} | {count} |" for cause, count in causes.most_common())


def _by_kind(found: Sequence[Measured], kinds: Sequence[str], transport: str) -> str:
    lines = [
        '| site | probes | met | share (95% interval) | plans within 60 s | no plan, as predicted | wrong "now" '
        "| median / worst error, s | --test-only within 60 s |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for kind in (*kinds, "all"):
        there = [one for one in found if kind in (one.kind, "all")]
        plans = [one for one in there if one.planned is not None and not one.limit]
        nothing = [one for one in there if one.planned is None or one.limit]
        met = sum(one.met(transport) for one in there)
        starts = [(one.said[transport].start, one.planned) for one in plans]
        errors = [abs(start - planned) for start, planned in starts if None not in (start, planned)]  # type: ignore[operator]
        tests = [abs(one.test_only - one.planned) for one in plans if one.test_only is not None]  # type: ignore[operator]
        error = f"{statistics.median(errors):.0f} / {max(errors)}" if errors else "-"
        lines.append(
            f"| {kind} | {len(there)} | {met} | {share(met, len(there))} "
            f"| {sum(one.met(transport) for one in plans)} of {len(plans)} "
            f"| {sum(one.met(transport) for one in nothing)} of {len(nothing)} "
            f"| {sum(one.wrong_now(transport) for one in nothing)} | {error} "
            f"| {sum(error <= RESOLUTION for error in tests)} of {len(plans)} |"
        )
    return "\n".join(lines) + "\n"


def _by_release(found: Sequence[Measured], kinds: Sequence[str], releases: Sequence[str]) -> str:
    versions = {name: next(one.version for one in found if one.release == name) for name in releases}
    columns = [(release, transport) for release in releases for transport in _ways(found)]
    lines = [
        "| site | " + " | ".join(f"{versions[release]}, {transport}" for release, transport in columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for kind in (*kinds, "all"):
        cells = []
        for release, transport in columns:
            there = [one for one in found if kind in (one.kind, "all") and one.release == release]
            cells.append(f"{sum(one.met(transport) for one in there)} of {len(there)}" if there else "-")
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _causes(found: Sequence[Measured]) -> str:
    ways = _ways(found)
    lines = [f"| cause | {' | '.join(ways)} | sites |", f"|---|{'---:|' * len(ways)}---|"]
    causes: Counter[str] = Counter()
    for one in found:
        causes.update({said.cause for name, said in one.said.items() if not one.met(name)})
    for cause, _ in causes.most_common():
        misses = {name: [one for one in found if not one.met(name) and one.said[name].cause == cause] for name in ways}
        where = Counter(one.kind for there in misses.values() for one in there)
        sites = ", ".join(f"{kind} ({count})" for kind, count in where.most_common(6))
        lines.append(f"| {cause} | {' | '.join(str(len(misses[name])) for name in ways)} | {sites} |")
    return "\n".join(lines) + "\n"


def share(met: int, count: int) -> str:
    """Return a share with its interval."""
    if not count:
        return "-"
    low, high = wilson(met, count)
    return f"{met / count:.1%} ({low:.1%} to {high:.1%})"


def wilson(met: int, count: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95% interval of a share (Wilson 1927, J. Am. Stat. Assoc. 22, 209-212)."""
    share, spread = met / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
