"""Checks with real Slurms whether the request that Gas chooses starts, and finishes before all alternatives.

`python tests/endpoints/slurm/plans.py limits found.jsonl --situations 300` changes limits of accounts, QOS, partitions
and licences, has Gas plan an application over partitions, accounts, QOS and sizes, and submits the chosen request and
one more; `... choice found.jsonl --situations 60` submits a dozen requests, at sites with a queue. Both resume where
they stopped. `python tests/endpoints/slurm/queues.py page ... --plans found.jsonl` makes the page of the results.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from private_slurm import RELEASES, Plan, PrivateSlurm
from queues import TRANSPORTS, fill, overtaken, submitted, transports
from sites import ASKER, CHOOSING, Asked, Choices, site_of
from situations import ME, Situations

from gas import Application
from gas.agent.agent import Agent
from gas.endpoints import Request
from gas.endpoints.slurm.choices import Choice
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.options import Unit
from gas.endpoints.slurm.reading import Reading
from gas.endpoints.slurm.submission import options_from
from gas.endpoints.slurm.transport import Transport
from gas.errors import GasError

SOON = 60
"""A start predicted within this number of seconds is a start "now"."""

NEAR = 0.02
"""The chosen request may finish later than the first by this share."""

HELD = re.compile(
    "(Assoc|QOS|Max|Partition|Invalid|AccountNotAllowed|BadConstraints|JobHeld)|.*(not in group|not permitted)"
)
"""Reasons that keep a job from starting even if nodes are free."""

NEXT, AT_RANDOM = 6, 7
"""Numbers of requests that are tried at a site with a queue: the first ones by Gas's plan, and random ones."""


@dataclass(frozen=True)
class Tried:
    """A request, the prediction of Gas, and the outcome in Slurm.

    Attributes
    ----------
    where
        Partition, account and QOS, the latter as far as they are not the user's default.
    execution
        Execution time in seconds, by the application's model.
    said
        Seconds until its predicted start; None if Gas calls it impossible.
    listed
        Whether Gas predicts that Slurm plans it at first.
    words
        Why Gas calls it impossible, or predicts no plan at first.
    start
        Seconds until its real or planned start in Slurm; None if there is none.
    state, reason, limit, refused
        Its state and reason in Slurm, the limit of an account or a QOS that Slurm names, and why sbatch refuses it.
    by
        The scheduler of Slurm that started it.
    lasting
        Whether it does not start even when no other job is left; None if this was not tried.
    """

    where: tuple[str, str, str]
    processors: int
    execution: int
    options: tuple[str, ...]
    said: int | None = None
    listed: bool = False
    words: str = ""
    start: int | None = None
    state: str = ""
    reason: str = ""
    limit: str = ""
    refused: str = ""
    by: str = ""
    lasting: bool | None = None

    @property
    def held(self) -> str:
        """What holds the job, apart from other jobs; empty if nothing does."""
        reason = self.reason if HELD.match(self.reason) else ""
        return self.refused or self.limit or (reason if self.state == "PENDING" else "")

    @property
    def finish(self) -> int | None:
        """Seconds until it finishes by Slurm's plan; None without a plan, or if a limit holds the job."""
        return None if self.start is None or self.held else self.start + self.execution

    @property
    def missed(self) -> str:
        """The error of the prediction in words; empty if there is none."""
        if self.wrong_now:
            return f"predicted to start now, held by {self.held or self.reason}"
        if self.wrong_never:
            return f"called impossible: {self.words[:70]}"
        if self.finish is None or self.said is None or self.start is None or abs(self.said - self.start) <= SOON:
            return ""
        if self.start <= SOON and self.by == "Main":
            return "the main scheduler starts it out of turn"
        return "starts sooner than predicted" if self.start < self.said else "starts later than predicted"

    @property
    def wrong_now(self) -> bool:
        """Whether it was predicted to start now, but Slurm does not plan it, or a limit holds it."""
        return self.said is not None and self.listed and self.said <= SOON and self.finish is None

    @property
    def wrong_never(self) -> bool:
        """Whether Gas calls it impossible, but Slurm plans it."""
        return self.said is None and self.finish is not None


@dataclass(frozen=True)
class Situation:
    """One plan: the request that Gas chooses, and others.

    Attributes
    ----------
    about
        The limits that hold, or the kind of site.
    taken
        None if Gas finds nothing possible.
    count
        The number of possible requests; those with a run time beyond the end of the best need not be tried.
    error
        Why Gas could not plan.
    """

    table: str
    release: str
    version: str
    seed: str
    number: int
    transport: str
    about: str
    taken: Tried | None
    others: tuple[Tried, ...] = ()
    count: int = 0
    error: str = ""
    seconds: float = 0.0

    @property
    def tried(self) -> tuple[Tried, ...]:
        return self.others if self.taken is None else (self.taken, *self.others)

    @property
    def first(self) -> Tried | None:
        """The planned request that finishes first."""
        there = [one for one in self.tried if one.finish is not None]
        return min(there, key=lambda one: one.finish or 0, default=None)

    @property
    def right(self) -> bool:
        """Whether the chosen request finishes first, or nearly; or none is chosen if Slurm plans none.

        Nearly means at most 2% later; for shapes, within a cycle, because Slurm plans in whole minutes.
        """
        if self.first is None:
            return self.taken is None or self.taken.said is None or not self.taken.wrong_now
        if self.taken is None or self.taken.finish is None:
            return False
        first = self.first.finish or 0
        return self.taken.finish <= (first + SOON if self.table == "shapes" else (1 + NEAR) * first)

    @property
    def cause(self) -> str:
        """Why the chosen request does not finish first."""
        if self.right or self.first is None:
            return ""
        if self.taken is None:
            return f"nothing is chosen, {self.first.missed}"
        if self.taken.finish is None and not self.taken.missed:
            why = self.taken.held.split(",")[0] or "no plan at first"
            return f"the chosen request waits, as predicted ({why})"
        return self.taken.missed or self.first.missed or "starts a little later than predicted"

    @property
    def held_for_ever(self) -> bool:
        """Whether the chosen request never starts or is refused, although Slurm plans another one."""
        if self.taken is None:
            return False
        return bool(self.taken.refused or self.taken.lasting) and self.first is not None


# -- planning, as `gas plan` does


@dataclass
class Asking:
    """An application, the other options of its jobs, and their possible destinations."""

    application: Application
    native: tuple[str, ...]
    partitions: tuple[str, ...]
    choices: tuple[Choice, ...]
    unit: Unit = "tasks"

    def endpoints(self, transport: Transport) -> list[SlurmEndpoint]:
        """Return one endpoint per partition, with a shared reading of Slurm, as in one configuration."""
        reading, options = Reading(transport), options_from(self.native, "the application")
        found = [
            SlurmEndpoint(name, transport, partition=name, unit=self.unit, options=options) for name in self.partitions
        ]
        for one in found:
            one.reading = reading
        return found

    def requests(self, endpoints: Sequence[SlurmEndpoint]) -> dict[tuple[str, int], Tried]:
        """Return all requests, by Gas's name of the scheduler and by size."""
        found = {}
        sizes, times, walltimes = (column.tolist() for column in self.application.requests(100_000))
        for endpoint, choice in itertools.product(endpoints, self.choices):
            asking = endpoint.requesting(native=choice.words)
            for size, seconds, walltime in zip(sizes, times, walltimes, strict=True):
                words = shlex.split(asking.line(Request(size, walltime), "probe"))[2:]
                where = (endpoint.name, choice.account, choice.qos)
                found[endpoint.name + choice.shown, size] = Tried(where, size, seconds, tuple(words))
        return found


@dataclass
class Made:
    """A plan of Gas: all requests with their predictions, and the chosen one."""

    requests: dict[tuple[str, int], Tried]
    best: tuple[str, int] | None
    error: str = ""


def made(asking: Asking, transport: Transport) -> Made:
    """Plan as `gas plan` does."""
    endpoints = asking.endpoints(transport)
    requests = asking.requests(endpoints)
    try:
        planned = Agent(asking.application, endpoints).plan()
    except GasError as error:
        return Made(requests, None, f"{type(error).__name__}: {error}")
    answers, found = planned.answers, planned.plan
    there: dict[str, Any] = {one.name: one.availability for one in answers if one.availability is not None}
    errors = {one.name: str(one.error) for one in answers if one.error is not None}
    for key, one in requests.items():
        why = errors.get(key[0], "not looked at")
        requests[key] = replace(one, words=why)
    for rejected in found.rejected:
        key = rejected.scheduler, rejected.processors
        if key in requests:
            requests[key] = replace(requests[key], words=rejected.reason)
    for candidate in found.candidates:
        key = candidate.scheduler, candidate.processors
        outlook = there[candidate.scheduler].outlook(candidate.processors, candidate.walltime)
        requests[key] = replace(
            requests[key], said=candidate.start - found.now, listed=outlook.planned is not None, words=outlook.words
        )
    best = None if found.best is None else (found.best.scheduler, found.best.processors)
    return Made(requests, best)


def answered(slurm: PrivateSlurm, one: Tried, user: str | None, now: int) -> tuple[Tried, int | None]:
    """Submit a request; return its outcome in Slurm, and the job, which is not cancelled yet."""
    asked = Asked({word[2:].partition("=")[0]: word.partition("=")[2] or None for word in one.options})
    submitted_at = int(time.time())
    id = submitted(slurm, asked, user)
    if isinstance(id, str):
        return replace(one, refused=id.splitlines()[0][:200]), None
    plan = slurm.plan_of(id)
    limit = slurm.limit_of(id) if plan.state == "PENDING" and plan.start is None else ""
    if plan.start is not None and plan.state == "PENDING":
        limit = _said_limit(slurm, id, plan)
    start = None if plan.start is None else plan.start - (submitted_at if plan.state != "PENDING" else now)
    start = None if start is None else max(start, 0)
    by = re.search(r" Scheduler=(\w+)", slurm.tried("scontrol", "-o", "show", "job", str(id)))
    one = replace(one, start=start, state=plan.state, reason=plan.reason[:100], limit=limit, by=by[1] if by else "")
    return one, id


def _said_limit(slurm: PrivateSlurm, id: int, plan: Plan) -> str:
    """Return the limit that holds a job with a planned start; this shows only if the start is near."""
    if plan.reason.startswith(("Assoc", "QOS")):
        return plan.reason
    return slurm.limit_of(id, 2.5 if plan.start is not None and plan.start <= time.time() + 5 else 0.3)


# -- limits


def drawn_asking(chance: random.Random, *, groups_known: bool) -> Asking:
    """Return a small application for the cluster of `Situations`, with some options.

    Parameters
    ----------
    groups_known
        Also try the partition for one group only; slurmrestd does not publish the user's groups.
    """
    sizes = sorted(chance.sample((1, 2, 3, 4, 6, 8, 12, 16), chance.randint(3, 4)))
    native = []
    if chance.random() < 0.25:
        native.append(f"--licenses=lic:{chance.randint(1, 8)}")
    if chance.random() < 0.3:
        native.append(f"--mem-per-cpu={chance.randint(20, 200)}")
    if chance.random() < 0.15:
        native.append("--exclusive")
    application = application_of(sizes, chance.randint(1200, 12_000), chance)
    choices = [Choice(account, qos) for account in ("", "chem") for qos in ("", "high", "low")]
    names = ("main", "pq", "tight", "closed", *(["grp"] if groups_known else []))
    if chance.random() < 0.3:
        return Asking(application, tuple(native), tuple(sorted(chance.sample(names, 3))), tuple(choices))
    # the account and the QOS are fixed, so that one cannot get out of the way of a limit
    account, qos = chance.choice(("lab", "lab", "chem")), chance.choice(("normal", "high", "low"))
    native += [f"--account={account}", f"--qos={qos}"]
    partitions = tuple(sorted({chance.choice(("main", "pq")), chance.choice(names)}))
    return Asking(application, tuple(native), partitions, (Choice(),))


def limits_on(asking: Asking) -> tuple[str, ...]:
    """Return the entities whose limits apply to jobs of an application: QOS, associations, accounts, partitions."""
    fixed = dict(word[2:].split("=") for word in asking.native if word.startswith(("--account=", "--qos=")))
    if not fixed:
        return ()
    chain = ("chem",) if fixed["account"] == "chem" else ("user", "user", "lab", "phys")
    through = ("part", "pq") if "pq" in asking.partitions else ()
    return (fixed["qos"], fixed["qos"], *chain, *through, *({"main"} & set(asking.partitions)))


def application_of(sizes: Sequence[int], seconds: int, chance: random.Random) -> Application:
    """Return an application with a given time on one processor, by Amdahl's law with some noise."""
    serial = chance.uniform(0.0, 0.3)
    times = {str(n): round(seconds * (serial + (1 - serial) / n) * chance.uniform(0.95, 1.05)) for n in sizes}
    return Application.from_tables({"name": "app", "speedup": {"model": "table", "times": times}}, "drawn")


def at_limits(release: str, seed: str, situations: int) -> Iterator[Situation]:
    """Plan with different limits, set one after the other on one cluster."""
    with Situations(release, rest=True) as there:
        slurm = there.slurm
        for number in range(situations):
            began = time.monotonic()
            ways = transports(slurm, ME)  # which have nothing kept of limits before
            chance = random.Random(f"limits {release} {seed} {number}")
            name = TRANSPORTS[number % 5 == 4]
            asking = drawn_asking(chance, groups_known=name == "commands")
            undo, about = there.limit(chance, limits_on(asking))
            try:
                found = made(asking, ways[name])
                keys = [key for key in found.requests if key != found.best]
                other = found.requests[chance.choice(keys)] if keys else None
                now = int(time.time())
                taken, others = None, []
                if other is not None:
                    answer, id = answered(slurm, other, ME, now)
                    others.append(answer)
                    if id is not None:
                        slurm.cancel(id)
                if found.best is not None:
                    taken, id = answered(slurm, found.requests[found.best], ME, now)
                    if id is not None and taken.finish is None:
                        there.empty()
                        taken = replace(taken, lasting=not started(slurm, id))
                    if id is not None:
                        slurm.cancel(id)
            finally:
                for command in undo:
                    slurm.run(*command)
            if not there.running:
                there.fill()
            yield Situation(
                "limits", release, slurm.version, seed, number, name, f"{about} | {' '.join(asking.native)}", taken,
                tuple(others), len(found.requests), found.error, round(time.monotonic() - began, 1),
            )  # fmt: skip


def started(slurm: PrivateSlurm, id: int, patience: float = 6) -> bool:
    """Return whether a job starts soon."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if slurm.tried("squeue", "-h", "-j", str(id), "-o", "%T").strip() != "PENDING":
            return True
        slurm.nudge(id)
        time.sleep(0.3)
    return False


# -- choices


def choosing(release: str, seed: str, situations: int) -> Iterator[Situation]:
    """Plan at a site with a queue, and try every request that could finish first."""
    chance = random.Random(f"choice {release} {seed}")
    aspects = [aspect() for aspect in CHOOSING[int(seed.rpartition("-")[2]) % len(CHOOSING)]]
    site = site_of(aspects, chance)
    own = next(one for one in aspects if isinstance(one, Choices))
    with site.slurm(release) as slurm:
        user = ASKER if os.getuid() == 0 else None
        fill(slurm, site, aspects, chance)
        for number in range(situations):
            began = time.monotonic()
            if number:
                changed(slurm, site, aspects, chance)
            ways = transports(slurm, user)  # which have nothing kept of what was in use before
            name = TRANSPORTS[number % 4 == 3]
            sizes = sorted(chance.sample(range(2, site.cpus // 2, 2), chance.choice((2, 2, 3))))
            application = application_of(sizes, round(math.exp(chance.uniform(9, 11.5))), chance)
            asking = Asking(application, (), own.partitions, own.choices)
            found = made(asking, ways[name])
            taken, tried = answered_all(
                slurm, ways["commands"], user, found.best, [(key, found.requests[key]) for key in probed(found, chance)]
            )
            yield Situation(
                "choice", release, slurm.version, seed, number, name, " ".join(type(one).__name__ for one in aspects),
                taken, tuple(tried), len(found.requests), found.error, round(time.monotonic() - began, 1),
            )  # fmt: skip


def answered_all(
    slurm: PrivateSlurm, reader: Transport, user: str | None, best: Any, requests: Iterable[tuple[Any, Tried]]
) -> tuple[Tried | None, list[Tried]]:
    """Submit requests one after the other; return the outcomes of the chosen one and of the others.

    One that runs for longer than the first of them until its finish is not tried.
    """
    now = int(time.time())
    taken, tried, least = None, [], math.inf
    for key, one in requests:
        if one.execution >= least:
            continue
        done, id = answered(slurm, one, user, now)
        if id is not None:
            behind = [job.id for job in overtaken(reader.cluster("private"), id) if job.pending]
            slurm.cancel(id)
            if behind:  # their plans have made room for it
                slurm.settle(behind[0], cycles=1)
        least = least if done.finish is None else min(least, done.finish)
        if key == best:
            taken = done
        else:
            tried.append(done)
    return taken, tried


def probed(found: Made, chance: random.Random) -> list[tuple[str, int]]:
    """Return the requests to try: the chosen one, those that finish next by Gas's plan, and random ones."""
    first = 1 << 60

    def said(key: tuple[str, int]) -> tuple[bool, int]:
        one = found.requests[key]
        return key != found.best, first if one.said is None else one.said + one.execution

    order = sorted(found.requests, key=said)
    return order[:NEXT] + chance.sample(order[NEXT:], min(AT_RANDOM, len(order) - min(NEXT, len(order))))


def changed(slurm: PrivateSlurm, site: Any, aspects: Any, chance: random.Random) -> None:
    """Replace some jobs by new ones, so that the queue changes."""
    from sites import queue_of

    jobs = [int(id) for id in slurm.run("squeue", "-h", "-r", "-o", "%A").split()]
    gone = [str(id) for id in jobs if chance.random() < 0.35]
    if gone:
        slurm.run("scancel", *gone)
    time.sleep(0.5)
    last = None
    for make in list(queue_of(site, aspects, chance))[-len(gone) or -1 :]:
        job = make([])
        id = submitted(slurm, job, job.user)
        last = id if isinstance(id, int) else last
    if last is not None:
        slurm.settle(last)


# -- measuring

Maker = Callable[[str, str, int], Iterator[Situation]]
TABLES: dict[str, tuple[Maker, int]] = {"limits": (at_limits, 25), "choice": (choosing, 5)}
"""A function that makes a number of situations on one cluster."""


def line_of(one: Situation) -> str:
    """Return a situation as a line of JSON."""
    return json.dumps(asdict(one)) + "\n"


def read_plans(paths: Sequence[Path]) -> list[Situation]:
    """Return the situations of files."""

    def tried(values: dict[str, Any]) -> Tried:
        return Tried(**{**values, "where": tuple(values["where"]), "options": tuple(values["options"])})

    found = []
    for path in paths:
        for line in path.read_text().splitlines():
            values = json.loads(line)
            taken = None if values["taken"] is None else tried(values["taken"])
            found.append(Situation(**{**values, "taken": taken, "others": tuple(map(tried, values["others"]))}))
    return found


def measure(make: Maker, per_cluster: int, found: Path, situations: int, name: str, releases: Sequence[str]) -> None:
    """Make the missing clusters one after the other, and write each situation as soon as it is measured."""
    done = {(one.release, one.seed) for one in read_plans([found])} if found.exists() else set()
    for place, (number, release) in enumerate(itertools.product(range(situations), releases)):
        if place * per_cluster >= situations:
            return
        seed = f"{name}-{number}"
        if (release, seed) in done:
            continue
        try:
            for one in make(release, seed, min(per_cluster, situations - place * per_cluster)):
                with found.open("a") as file:
                    file.write(line_of(one))
                print(told(one), file=sys.stderr, flush=True)
        except Exception as problem:  # one cluster that does not come up must not end the measurement
            print(f"{release} {seed}: {type(problem).__name__}: {str(problem)[:1000]}", file=sys.stderr, flush=True)


def told(one: Situation) -> str:
    """Return a situation on one line."""
    wrong = [what for what in ("wrong_now", "wrong_never") for each in one.tried if getattr(each, what)]
    ever = ["held for ever"] if one.held_for_ever else []
    verdict = "right" if one.right else "NOT FIRST"
    return (
        f"{one.table} {one.release} {one.seed} {one.number} {one.transport}: {verdict} {' '.join([*wrong, *ever])} "
        f"({len(one.tried)} of {one.count} tried, {one.seconds} s) {one.about} {one.error} {one.cause}"
    )


def add_arguments(parser: argparse.ArgumentParser, situations: int) -> None:
    """Add the options of a measurement."""
    parser.add_argument("found", type=Path, help="a file of a line of JSON a situation")
    parser.add_argument("--situations", type=int, default=situations)
    parser.add_argument("--seeds", default="1", help="names the release of the table: another one has other seeds")
    parser.add_argument("--releases", nargs="+", choices=RELEASES, default=RELEASES)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=list(TABLES))
    add_arguments(parser, 60)
    asked = parser.parse_args()
    measure(*TABLES[asked.table], asked.found, asked.situations, asked.seeds, asked.releases)


if __name__ == "__main__":
    main()
