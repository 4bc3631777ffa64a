"""The waiting jobs that OAR's schedulers plan before a job submitted now, and those planned after it.

Every pass of OAR plans all waiting jobs anew, one after the other, each around the jobs planned before it. So a plan
depends only on earlier planned jobs; jobs that come after a new one are in its way only in a chart made before it.

- Queues are in the order of their priorities (oar_meta_sched, 2.5.9): Debian's are admin 10, default 2, besteffort 0.
- Advance reservations keep their places.
- In a queue of ``oar_sched_gantt_with_timesharing`` jobs are in the order of their numbers: first in, first out.
- In a queue of one of its ``_and_fairsharing`` relatives they are in the order of the karma of their users, the lowest
  first, and for each user by their numbers; 30 jobs of each user are considered (``get_fairsharing_jobs_to_schedule``
  in IO.pm). Karma is twice the user's share of the use of the queue in the last 30 days plus the share of the requests
  (``karma``); a site may have other weights and set targets (SCHEDULER_FAIRSHARING_* of oar.conf, which users cannot
  read). The message of a planned job shows it with three digits.
- Users with the same karma are in the order of the database, which is unknown and changes with the database's
  statistics. The plan may show it (`gas.endpoints.oar.ties`); otherwise users are assumed to be ordered by name, as
  PostgreSQL lists them if few jobs wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from gas.endpoints.oar.chart import DELIVERED, Chart
from gas.endpoints.oar.machine import Job, Machine, Usage
from gas.endpoints.oar.ties import users_in_order

__all__ = ["PRIORITIES", "WINDOW_SECONDS", "Order", "Policy", "needs_usage", "order_of", "policy_of"]

PRIORITIES: Mapping[str, int] = {"admin": 10, "default": 2, "besteffort": 0}
"""Priorities of OAR's default queues."""

WINDOW_SECONDS = 30 * 86400
"""SCHEDULER_FAIRSHARING_WINDOW_SIZE if the site has not changed it."""

MOST_OF_USER = 30
"""Default of SCHEDULER_FAIRSHARING_MAX_JOB_PER_USER."""

MOST_OF_QUEUE = 1000
"""Number of jobs considered in a queue without fair share (``$max_waiting_jobs_to_schedule``)."""

USED_WEIGHT, ASKED_WEIGHT = 2.0, 1.0
"""SCHEDULER_FAIRSHARING_COEF_USER and _USER_ASK if the site has not changed them."""

SAME = 0.0011
"""Largest difference of two equal figures with three digits."""

Policy = Literal["fifo", "fair share", "unknown"]

_KARMA = re.compile(r"\bKarma ?= ?(-?\d+(?:\.\d+)?)")
_FIFO = "FIFO scheduling"


@dataclass(frozen=True)
class Order:
    """The place of a new job.

    Attributes
    ----------
    behind
        Numbers of the waiting jobs that are planned after it.
    sequence
        Numbers of the waiting jobs of its queue, in planning order.
    remarks
        What is unknown about it, in sentences for a person.
    """

    behind: frozenset[int]
    sequence: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()


def policy_of(jobs: Iterable[Job], queue: str) -> Policy:
    """Return the ordering of a queue, from its scheduler's messages to jobs."""
    messages = [job.message for job in sorted(jobs, key=lambda job: -job.id) if job.queue == queue]
    for message in messages:
        if _KARMA.search(message):
            return "fair share"
        if _FIFO in message:
            return "fifo"
    return "unknown"


def needs_usage(jobs: Iterable[Job], queue: str, user: str) -> bool:
    """Whether the place of a new job of a user depends on the usage of users, and no job's message shows it."""
    here = [job for job in jobs if job.state == "Waiting" and not job.reserved and job.queue == queue]
    shown = _shown(here)
    return bool(shown) and user not in shown


def order_of(
    machine: Machine,
    queue: str,
    *,
    policy: Policy | None = None,
    priorities: Mapping[str, int] | None = None,
    chart: Chart | None = None,
) -> Order:
    """Return the jobs of a machine that are planned after one that the querying user submits to a queue.

    Parameters
    ----------
    policy
        Policy of the queue; by default that in messages of its jobs.
    priorities
        Priorities of the queues; by default those of OAR's default queues.
    chart
        The rules of the site's chart.
    """
    known = dict(PRIORITIES if priorities is None else priorities)
    waiting = [job for job in machine.jobs if job.state == "Waiting" and not job.reserved]
    behind, remarks = set(), []
    strange = sorted({job.queue for job in waiting if job.queue and job.queue != queue and job.queue not in known})
    if queue not in known:
        strange = sorted({job.queue for job in waiting if job.queue and job.queue != queue})
        known = {}
    if strange:
        remarks.append(
            f"the priority of {_listed('queue', strange)} is not known; jobs there are assumed to come first; write "
            "all queues as `queues` in the endpoint's table, highest first"
        )
    mine = known.get(queue)
    if mine is not None:
        behind |= {job.id for job in waiting if job.queue in known and known[job.queue] < mine}
    here = [job for job in waiting if job.queue in (queue, "")]
    ordered = policy_of(machine.jobs, queue) if policy is None else policy
    own = sum(job.user == machine.user for job in here)
    unseen = len(here) >= MOST_OF_QUEUE
    if ordered == "fair share":
        unseen = bool(machine.user) and own >= MOST_OF_USER
        first = [job for job in machine.jobs if job.id not in behind and job not in here and not job.besteffort]
        after, more = _behind_by_karma(machine, here, first, DELIVERED if chart is None else chart)
        behind |= after
        remarks += more
    elif ordered == "unknown" and any(job.user != machine.user for job in here):
        remarks.append("the order of its queue is not known; first in, first out is assumed")
    if unseen:
        what = f"{own} jobs of yours" if ordered == "fair share" else f"{len(here)} jobs"
        remarks.append(
            f"{what} wait in its queue; OAR plans no more of them, so a new one has no planned start at first"
        )
    karma = _shown(here) if ordered == "fair share" else {}
    sequence = sorted(here, key=lambda job: (karma.get(job.user, 0.0), job.user if karma else "", job.id))
    return Order(frozenset(behind), tuple(job.id for job in sequence), tuple(remarks))


def _behind_by_karma(machine: Machine, here: list[Job], first: list[Job], chart: Chart) -> tuple[set[int], list[str]]:
    """Return the jobs of a fair-share queue that come after a new one of the querying user.

    Parameters
    ----------
    first
        All other jobs that hold resources, or are planned before those of this queue.
    """
    others = [job for job in here if job.user != machine.user]
    if not others:
        return set(), []
    if not machine.user:
        return set(), [
            "its queue is ordered by the karma of users; the submitting user is not known, so a start may come sooner"
        ]
    mine, sure = _own(machine, here)
    if mine is None:
        return set(), ["its queue is ordered by the karma of users, and yours is not known: a start may come sooner"]
    karma = _shown(here)
    if machine.usage is not None:
        karma = {job.user: _by_default(machine.usage, job.user) for job in others} | karma
    behind = {job.id for job in others if karma.get(job.user, mine - 1) >= mine + SAME}
    remarks = []
    if not sure:
        remarks.append(
            f"its queue is ordered by the karma of users; yours is computed as {mine:.3f} with OAR's default "
            "weights, which could not be checked"
        )
    tied = {job.user for job in others if abs(karma.get(job.user, mine - 1) - mine) < SAME}
    if tied:
        same = [job for job in here if job.user in tied | {machine.user}]
        before = [*first, *(job for job in others if job.user not in tied and job.id not in behind)]
        later, seen = _later_of_tied(machine, same, before, chart)
        behind |= {job.id for job in same if job.user in later}
        who = f"{_listed('user', sorted(tied))} {'has' if len(tied) == 1 else 'have'}"
        how = "as in the present plan" if seen else "by name"
        remarks.append(
            f"{who} the same karma as you ({mine:.3f}); OAR's database decides who is first; Gas assumes {how}"
        )
    return behind, remarks


def _later_of_tied(machine: Machine, same: list[Job], before: list[Job], chart: Chart) -> tuple[set[str], bool]:
    """Return the users with the same karma as the querying user that come later, and whether the plan shows this."""
    found = users_in_order(same, before, machine.now, chart)
    place = next((place for place, users in enumerate(found) if machine.user in users), None)
    if place is None:
        return {job.user for job in same if job.user > machine.user}, False
    later = {user for users in found[place + 1 :] for user in users}
    unknown = found[place] - {machine.user}
    return later | {user for user in unknown if user > machine.user}, not unknown


def _shown(here: Iterable[Job]) -> dict[str, float]:
    """Return the karma of the users of waiting jobs, from the messages to their latest jobs."""
    found: dict[str, float] = {}
    for job in sorted(here, key=lambda job: job.id):
        match = _KARMA.search(job.message)
        if match is not None:
            found[job.user] = float(match[1])
    return found


def _own(machine: Machine, here: list[Job]) -> tuple[float | None, bool]:
    """Return the querying user's karma in a queue, and whether it is certain; None if unknown.

    The karma by OAR's default weights is certain if it equals that in messages to jobs of other users.
    """
    shown, usage = _shown(here), machine.usage
    if machine.user in shown:
        return shown[machine.user], True
    if usage is None:
        return None, False
    if any(abs(_by_default(usage, user) - karma) >= 2 * SAME for user, karma in shown.items()):
        return None, False
    return _by_default(usage, machine.user), any(karma >= SAME for karma in shown.values()) or not usage.users


def _by_default(usage: Usage, user: str) -> float:
    """Return a user's karma by OAR's default weights."""
    used, asked = usage.of(user)
    all_used = sum(used for used, _ in usage.users.values()) or 1
    all_asked = sum(asked for _, asked in usage.users.values()) or 1
    return USED_WEIGHT * used / all_used + ASKED_WEIGHT * asked / all_asked


def _listed(noun: str, names: list[str]) -> str:
    shown = ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")
    return f"{noun if len(names) == 1 else noun + 's'} {shown}"
