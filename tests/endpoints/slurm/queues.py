"""Measures how well Gas predicts the plans of a real Slurm: sites of many kinds, several releases, both transports.

`python tests/endpoints/slurm/queues.py measure found.jsonl --probes 2000` measures, and resumes where it stopped;
`python tests/endpoints/slurm/queues.py page found.jsonl -o measured.md` writes the page. For each random job,
Gas predicts as an ordinary user and by either transport when Slurm will plan it; `sbatch --test-only` is asked, too.
Then a real job is submitted, its plan is taken as the truth, and the job is cancelled at once.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from private_slurm import RELEASES, Plan, PrivateSlurm
from sites import ASKER, KINDS, Asked, Aspect, FairShares, Site, aspects_of, probe_of, queue_of, site_of

from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens
from gas.endpoints.slurm.submission import options_from
from gas.endpoints.slurm.transport import Transport
from gas.errors import GasError
from gas.slurm.cluster import Cluster, Job

RESOLUTION = 60
TRANSPORTS = ("commands", "rest", "rest and slurm.conf")
"""The commands, slurmrestd alone, and slurmrestd with a readable slurm.conf, as on a login node."""

SIZES = {"ntasks", "nodes", "time", "partition", "reservation"}
"""Options that Gas gets in another form."""

CAVEAT = re.compile(r"ignore|not model|not understood|not known|not foresee")
"""In remarks about what Slurm may do and the plan does not show."""

LEFT_TO_GAS = {"nodes": ("exclusive",), "gpus": ("gpus-per-task",)}
"""Implied options, by the unit of sizes."""


@dataclass(frozen=True)
class Said:
    """The prediction of Gas for a probe, with times in epoch seconds.

    Attributes
    ----------
    start
        The predicted start of Slurm's plan; None for never.
    listed
        Whether Slurm will plan it at first.
    expected
        Its expected start, which is later than planned if Slurm does not yet plan some jobs before it.
    error
        Why there is no prediction.
    seconds
        Duration of the prediction.
    """

    start: int | None = None
    listed: bool = True
    expected: int | None = None
    error: str = ""
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
    cause: str = ""

    @property
    def unplanned(self) -> bool:
        """Whether Gas predicts no plan, at first or ever."""
        return not self.error and (self.start is None or not self.listed)


@dataclass(frozen=True)
class Measured:
    """One probe: the request, the plan of Slurm, and the predictions made before.

    Attributes
    ----------
    planned, reason
        Slurm's plan for a real job; without a plan, the reason.
    refused
        Slurm's message if sbatch refused the job.
    limit
        The limit of an account or a QOS that holds the job, or that its account may not use the partition. Slurm may
        still publish a start, which it does not keep.
    """

    kind: str
    release: str
    version: str
    seed: str
    number: int
    words: tuple[str, ...]
    now: int
    planned: int | None
    reason: str
    refused: str
    test_only: int | None
    said: Mapping[str, Said] = field(default_factory=dict)
    limit: str = ""

    def met(self, transport: str) -> bool:
        """Whether the plan was predicted within the resolution of Slurm's plans, or its absence was predicted."""
        said = self.said[transport]
        if self.limit and said.unplanned:
            return True
        if self.planned is None:
            return said.unplanned or bool(self.refused and said.error)
        return not said.unplanned and said.start is not None and abs(said.start - self.planned) <= RESOLUTION

    def wrong_now(self, transport: str) -> bool:
        """Whether it was predicted to start now, but Slurm plans no start, or a limit holds the job."""
        said = self.said[transport]
        if self.planned is not None and not self.limit:
            return False
        return not said.unplanned and said.start is not None and said.start <= self.now + 60


# -- queues


@dataclass
class Situation:
    """A Slurm with a queue, the user, and the transports."""

    slurm: PrivateSlurm
    asker: str | None
    transports: dict[str, Transport]


def asker() -> str | None:
    """Return the user of the probes: an ordinary user if the process can act as others."""
    return ASKER if os.getuid() == 0 else None


@contextmanager
def situation(kind: str, release: str, seed: str) -> Iterator[tuple[Situation, Iterator[Asked]]]:
    """Start a site of a given kind with a planned queue; yield it with an endless iterator of probes."""
    chance = random.Random(f"{kind} {release} {seed}")
    aspects = aspects_of(kind, chance)
    site = site_of(aspects, chance)
    with site.slurm(release) as slurm:
        fill(slurm, site, aspects, chance)
        yield (
            Situation(slurm, asker(), transports(slurm, asker())),
            (probe_of(site, aspects, chance) for _ in itertools.count()),
        )


def fill(slurm: PrivateSlurm, site: Site, aspects: list[Aspect], chance: random.Random) -> None:
    """Submit the jobs of a site's queue, and wait until they are planned."""
    for aspect in aspects:
        aspect.prepare(slurm, chance)
    past: list[int] = []
    for number, make in enumerate(queue_of(site, aspects, chance)):
        job = make(past)
        tried = submitted(slurm, job, asker() and job.user)
        past += [tried] if isinstance(tried, int) else []
        if number == 5:
            slurm.settle(past[-1])  # the first ones start before there is a queue
    for aspect in aspects:
        aspect.after(slurm, chance, past)
    if any(isinstance(one, FairShares) for one in aspects):
        time.sleep(FairShares.wait)
    slurm.settle(past[-1])


def submitted(slurm: PrivateSlurm, job: Asked, user: str | None) -> int | str:
    """Submit a job and return its number, or the reason of a refusal."""
    try:
        return slurm.submit(*job.words, seconds=100_000, user=user)
    except AssertionError as refusal:
        return str(refusal).partition("sbatch: error: ")[2].strip() or str(refusal)


def transports(slurm: PrivateSlurm, user: str | None) -> dict[str, Transport]:
    """Return the transports to a Slurm for a user."""
    configuration = str(slurm.folder / "slurm.conf")
    commands = CommandTransport("private", configuration, folder=str(slurm.programs(user)))
    if user is not None:
        commands.user = user
    tokens = Tokens(slurm.rest_url, environment={"SLURM_JWT": slurm.token(user=user)})
    both = RestTransport("private", slurm.rest_url, tokens=tokens)
    both.conf = Path(configuration)
    ways = (commands, RestTransport("private", slurm.rest_url, tokens=tokens), both)
    return dict(zip(TRANSPORTS, ways, strict=True))


# -- asking


def asked_of(transport: Transport, probe: Asked) -> tuple[SlurmEndpoint, int, int]:
    """Return the endpoint for a probe with its options, the size and the walltime."""
    options = probe.options
    left_out = {*SIZES, *LEFT_TO_GAS.get(probe.unit, ())}
    words = [f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()]
    kept = [word for word in words if word[2:].partition("=")[0] not in left_out]
    endpoint = SlurmEndpoint(
        "private", transport, partition=options.get("partition"), unit=probe.unit,  # type: ignore[arg-type]
        options=options_from(kept, "the probe"), reservation=options.get("reservation"),
    )  # fmt: skip
    size = options["nodes" if probe.unit == "nodes" else "ntasks"]
    return endpoint, int(str(size)), 60 * int(str(options["time"]))


def said_of(transport: Transport, probe: Asked, cluster: Cluster | None = None) -> Said:
    """Return the prediction of Gas for a probe, from the present state or from a given one."""
    began = time.monotonic()
    try:
        endpoint, size, walltime = asked_of(transport, probe)
        availability: Any = endpoint.availability() if cluster is None else endpoint.read(cluster)
        outlook = availability.outlook(size, walltime)
    except GasError as error:
        return Said(error=f"{type(error).__name__}: {error}", seconds=time.monotonic() - began)
    except Exception as error:  # a fault of Gas is a miss, and the others go on
        return Said(error=f"a fault: {type(error).__name__}: {error}", seconds=time.monotonic() - began)
    return Said(
        outlook.planned or outlook.expected, outlook.planned is not None, outlook.expected, "", tuple(endpoint.remarks),
        round(time.monotonic() - began, 3),
    )  # fmt: skip


def tested_only(slurm: PrivateSlurm, probe: Asked, user: str | None) -> int | None:
    """Return the start that ``sbatch --test-only`` names; None if it refuses."""
    command = (str(slurm.programs(user) / "sbatch"), "--test-only", *probe.words, "--wrap=true")
    where = slurm.environment | {"SLURM_TIME_FORMAT": "%s"}
    said = subprocess.run(command, env=where, capture_output=True, text=True, timeout=60, cwd="/").stderr
    found = re.search(r"to start at (\S+) using", said)
    if found is None:
        return None
    stamp = found[1]
    return int(stamp) if stamp.isdecimal() else int(time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S")))


def measured_one(here: Situation, probe: Asked, kind: str, release: str, seed: str, number: int) -> Measured:
    """Ask Gas and --test-only, then submit a real job."""
    now = int(time.time())
    said = {name: said_of(transport, probe) for name, transport in here.transports.items()}
    tested = tested_only(here.slurm, probe, here.asker)
    id = submitted(here.slurm, probe, here.asker)
    plan, refused, after, limit = Plan(None), "", None, ""
    if isinstance(id, str):
        refused = id
    else:
        try:
            plan = here.slurm.plan_of(id)
            if plan.reason == "BeginTime":  # what it shows is not a plan, but when it asks to begin
                plan = replace(plan, start=None)
            if here.slurm.accounting and plan.state == "PENDING":
                limit = here.slurm.limit_of(id)
            after = here.transports["commands"].cluster("private")
        finally:
            here.slurm.cancel(id)
        waiting = [job.id for job in disturbed(after, id) if job.pending] if after is not None else []
        if waiting:  # their plans have made room for the job, and some may have been pushed aside: that is put right
            here.slurm.settle(waiting[0])
    one = Measured(
        kind, release, here.slurm.version, seed, number, probe.words, now, plan.start, plan.reason, refused, tested,
        said, limit,
    )  # fmt: skip
    causes = {name: "" if one.met(name) else cause_of(one, name, here, probe, after, id) for name in said}
    return replace(one, said={name: replace(each, cause=causes[name]) for name, each in said.items()})


# -- causes


def cause_of(one: Measured, transport: str, here: Situation, probe: Asked, after: Cluster | None, id: int | str) -> str:
    """Return why a prediction failed, as far as Slurm and Gas show it."""
    said = one.said[transport]
    if said.error.startswith("a fault"):
        return f"a fault of Gas ({said.error.split(':')[1].strip()})"
    if said.error:
        return "Gas refuses: " + re.sub(r"[\d\"']+", "", said.error.partition(": ")[2])[:60]
    if transport != "commands" and one.met("commands"):
        if transport == "rest" and one.met("rest and slurm.conf"):
            return "slurmrestd does not publish what slurm.conf says"
        return "slurmrestd does not publish what the commands do"
    behind = after is not None and any(job.pending and job.priority and job.id != id for job in overtaken(after, id))
    if after is not None and one.planned is not None and not behind:
        others = replace(after, jobs=tuple(job for job in after.jobs if job.id != id))
        again = said_of(here.transports["commands"], probe, others)
        if not again.unplanned and again.start is not None and abs(again.start - one.planned) <= RESOLUTION:
            return "the plan changed between reading and probing"
    if one.refused:
        return f"Slurm refuses: {one.refused.splitlines()[0].rpartition(': ')[2][:60]}"
    if one.planned is None or one.limit:
        return f"Slurm plans nothing ({one.limit or one.reason})"
    if said.unplanned:
        return "a plan that was not predicted" if said.start is not None else "predicted never to start"
    if caveats := [remark for remark in said.remarks if CAVEAT.search(remark)]:
        return "with a caveat: " + re.sub(r"\d[\d,]*", "N", caveats[0].partition(":")[0])
    where = ", and it comes before jobs that wait" if behind else ""
    return ("too early" if said.start is not None and said.start < one.planned else "too late") + where


def overtaken(cluster: Cluster, id: int | str) -> list[Job]:
    """Return the jobs with a lower tier or priority than a job, whose plans it can change."""
    tiers = {one.name: one.tier for one in cluster.partitions}

    def place(job: Job) -> tuple[int, int]:
        return max((tiers.get(name, 1) for name in job.partitions), default=1), job.priority

    own = [place(job) for job in cluster.jobs if job.id == id]
    return [job for job in cluster.jobs if own and place(job) < own[0]]


def disturbed(cluster: Cluster, id: int | str) -> list[Job]:
    """Return the jobs whose plans a job can change: all jobs if it preempts, because preempted jobs wait again."""
    if cluster.settings is not None and cluster.settings.preempts:
        return [job for job in cluster.jobs if job.id != id]
    return overtaken(cluster, id)


# -- measuring


def measured(kind: str, release: str, seed: str, probes: int) -> list[Measured]:
    """Measure a number of probes in one queue."""
    with situation(kind, release, seed) as (here, asked):
        return [measured_one(here, next(asked), kind, release, seed, number) for number in range(probes)]


def line_of(one: Measured) -> str:
    """Return a probe as a line of JSON."""
    return json.dumps(asdict(one)) + "\n"


def read_lines(paths: list[Path]) -> list[Measured]:
    """Return the probes of files."""
    found = []
    for path in paths:
        for line in path.read_text().splitlines():
            values = json.loads(line)
            said = {name: Said(**{**each, "remarks": tuple(each["remarks"])}) for name, each in values["said"].items()}
            found.append(Measured(**{**values, "words": tuple(values["words"]), "said": said}))
    return found


def measure(asked: argparse.Namespace) -> None:
    """Measure the missing queues one after the other, and write each probe as soon as it is measured."""
    done = {(one.kind, one.release, one.seed) for one in read_lines([asked.found])} if asked.found.exists() else set()
    queues = itertools.product(range(asked.probes), asked.kinds, asked.releases)
    made = 0
    for place, (number, kind, release) in enumerate(queues):
        seed = f"{asked.table}-{number}"
        if made >= asked.probes:
            return
        made += asked.per_queue
        if place % asked.share[1] != asked.share[0] or (kind, release, seed) in done:
            continue
        began = time.monotonic()
        try:
            new = measured(kind, release, seed, asked.per_queue)
        except Exception as problem:  # one cluster that does not come up must not end hours of measurement
            print(
                f"{kind} {release} {seed}: {type(problem).__name__}: {str(problem)[:2000]}", file=sys.stderr, flush=True
            )
            continue
        with asked.found.open("a") as file:
            file.write("".join(map(line_of, new)))
        met = ", ".join(f"{sum(one.met(name) for one in new)} of {len(new)} by {name}" for name in TRANSPORTS)
        print(f"{kind} {release} {seed}: {met}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    """Measure, or write the page of the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    one = actions.add_parser("measure", help="measure probes")
    one.add_argument("found", type=Path, help="a file of a line of JSON a probe; what is in it is not measured again")
    one.add_argument("--probes", type=int, default=2000)
    one.add_argument("--per-queue", type=int, default=6, help="probes in one queue")
    one.add_argument("--table", default="1", help="names the release of the table: another one has other seeds")
    one.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    one.add_argument("--releases", nargs="+", choices=RELEASES, default=RELEASES)
    one.add_argument("--share", type=lambda text: tuple(map(int, text.split("/"))), default=(0, 1),
                     help="0/2 and 1/2 measure halves side by side, into files of their own")  # fmt: skip
    one.set_defaults(run=measure)
    two = actions.add_parser("page", help="write the page")
    two.add_argument("found", type=Path, nargs="*")
    two.add_argument("--plans", type=Path, nargs="+", default=[], help="what `plans.py` has measured")
    two.add_argument("-o", "--output", type=Path)
    two.set_defaults(run=page)
    asked = parser.parse_args()
    asked.run(asked)


def page(asked: argparse.Namespace) -> None:
    """Write the page."""
    from measured_page import page_of
    from plans import read_plans

    text = page_of(read_lines(asked.found), read_plans(asked.plans))
    if asked.output is None:
        print(text)
    else:
        asked.output.write_text(text)


if __name__ == "__main__":
    main()
