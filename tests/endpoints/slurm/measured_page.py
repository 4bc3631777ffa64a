"""The page about measured predictions: how many were met, by kind of site and release, with intervals and causes."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Sequence

from queues import RESOLUTION, TRANSPORTS, Measured
from sites import KINDS

HEAD = """\
# Predicted starts against real Slurms

{probes} probes on {queues} random queues of private Slurms {versions}, measured until {date}, seeds {seeds}: for each
random probe Gas says, as an ordinary user, by commands and by REST, when Slurm will plan such a job;
`sbatch --test-only` is asked; then a real job is submitted, whose planned start is the truth; it is cancelled at once.
The kinds of site are those of `tests/endpoints/slurm/sites.py`; a mixture draws several of them at once. This page is
made by `python tests/endpoints/slurm/queues.py measure found.jsonl` and `... page found.jsonl -o measured.md`.

*Met* is a plan that was foreseen within {resolution} s (bf_resolution), or a job that was foreseen to get none at
first or ever, which is counted by itself, too. Of a job that a limit on the resources of an account or a QOS keeps from
starting, Slurm publishes a planned start that it does not keep; that it will not start then counts as met as well.
*Wrong now*: said to start now, where Slurm plans nothing or such a limit holds.
"""


def page_of(found: Sequence[Measured]) -> str:
    """Return the page of probes."""
    if not found:
        return "# Predicted starts against real Slurms\n\nNothing has been measured.\n"
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
    for transport in TRANSPORTS:
        parts.append(f"\n## By {'commands' if transport == 'commands' else 'slurmrestd'}\n")
        parts.append(_by_kind(found, kinds, transport))
    parts.append("\n## By release\n")
    parts.append(_by_release(found, kinds, releases))
    parts.append("\n## Misses\n")
    parts.append(_causes(found))
    return "\n".join(parts)


def _by_kind(found: Sequence[Measured], kinds: Sequence[str], transport: str) -> str:
    lines = [
        "| site | probes | met | share (95% interval) | plans within 60 s | no plan, as foreseen | wrong now "
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
    columns = [(release, transport) for release in releases for transport in TRANSPORTS]
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
    lines = ["| cause | by commands | by REST | sites |", "|---|---:|---:|---|"]
    causes: Counter[str] = Counter()
    for one in found:
        causes.update({said.cause for name, said in one.said.items() if not one.met(name)})
    for cause, _ in causes.most_common():
        misses = {
            name: [one for one in found if not one.met(name) and one.said[name].cause == cause] for name in TRANSPORTS
        }
        where = Counter(one.kind for there in misses.values() for one in there)
        sites = ", ".join(f"{kind} ({count})" for kind, count in where.most_common(6))
        lines.append(f"| {cause} | {len(misses['commands'])} | {len(misses['rest'])} | {sites} |")
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
