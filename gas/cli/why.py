"""``gas why``: why a job waits, and what would make it start sooner."""

from __future__ import annotations

from typing import Any

from gas.agent.schedulers import job_of
from gas.agent.states import describe
from gas.cli.completion import QueuedJob
from gas.cli.options import ConfigFile, Json, OneEndpoint, only
from gas.cli.tables import many, note, print_json, say
from gas.times import duration_text, iso_time, relative_text

__all__ = ["explained", "why_command"]


def why_command(
    job: QueuedJob,
    endpoint: OneEndpoint = None,
    config: ConfigFile = None,
    json: Json = False,
) -> None:
    """Explain why a Slurm job waits, and what would start it.

    gas why 12

    Shows the jobs ahead of it, its priority factors, the limits that hold it back, and its expected start. Also shows
    when the job would start with a shorter time limit, fewer processors, another partition or another QOS. Changes
    nothing.
    """
    where, number = job_of(job, only(endpoint), config, tasks=True)
    record = where.job(number)
    if record["state"] != "queued":
        if json:
            print_json({"job": record, "why": None})
        else:
            say(describe(record))
        return
    found = where.why(number)
    if json:
        print_json({"job": record, "why": found})
        return
    say(describe(record))
    for line in explained(found):
        say(line)
    for remark in found["remarks"]:
        note(f"gas: {where.name}: {remark}")


def explained(found: dict[str, Any]) -> list[str]:
    """Return the lines that explain why a job waits."""
    now = found["now"]
    lines = [f"why: {found['reason']}"]
    for one in found["partitions"]:
        lines.append(f"ahead in partition {one['name']}: {_ahead(one['ahead'])}")
        lines.append(f"priority: {_priority(one['priority'])}")
        lines += [f"limit: {_limit(each, now)}" for each in one["limits"]["met"]]
        lines += [f"not known: {each}" for each in (*one["limits"]["unknown"], *one["priority"]["unknown"])]
    expected = found["expected"]
    lines.append(f"expected: {_expected(found)}")
    if found["no_plan_because"] and not found["never"]:
        lines.append(f"Slurm has not planned it yet: {found['no_plan_because']}")
    for one in found["sooner"]:
        gain = "" if one["seconds_sooner"] is None else f", {duration_text(one['seconds_sooner'])} sooner"
        lines.append(f"with {one['words']} it would start {relative_text(one['start'], now)}{gain}")
    if any(one["change"] in ("time", "size") for one in found["sooner"]):
        lines.append("(only if the job needs no more than that)")
    if not found["sooner"] and expected is not None:
        lines.append(
            "none of the changes tried (less time, fewer processors, other partitions and QOS) starts it sooner"
        )
    return lines


def _expected(found: dict[str, Any]) -> str:
    """Return the expected start, and its condition; for a job that never starts, the way out."""
    if found["never"]:
        return f"never{'; ' if found['way_out'] else ''}{found['way_out'] or ''}"
    expected, provided = found["expected"], found["provided"]
    if expected is None:
        return "not known"
    when = f"{relative_text(expected, found['now'])} ({iso_time(expected)})"
    return f"{when} if {provided}" if provided else when


def _ahead(ahead: dict[str, int]) -> str:
    if not ahead["jobs"]:
        return "none"
    parts = [
        (ahead["of_higher_tiers"], "of partitions of a higher tier"),
        (ahead["of_higher_priority"], "of higher priority"),
        (ahead["submitted_earlier"], "submitted earlier"),
    ]
    said = ", ".join(f"{count:,} {words}" for count, words in parts if count)
    own = f"; {ahead['own']:,} of them yours" if ahead["own"] else ""
    return f"{many(ahead['jobs'], 'job')} ({said}{own})"


def _priority(priority: dict[str, Any]) -> str:
    if priority["by_submission"]:
        return "by the order of submission"
    parts = ", ".join(f"{one['name']} {one['points']:,}" for one in priority["parts"])
    return f"{priority['value']:,}{f' ({parts})' if parts else ''}"


def _limit(one: dict[str, Any], now: int) -> str:
    later = "" if one["release"] is None else f"; free again {relative_text(one['release'], now)} at the earliest"
    lasting = "; it will never start" if one["outcome"] in ("never", "rejected") else ""
    return f"{one['words']} ({one['reason']}){lasting}{later}"
