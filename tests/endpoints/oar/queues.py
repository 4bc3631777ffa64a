"""Measures how well Gas predicts starts in queues of several kinds on a real OAR, by both transports.

`python tests/endpoints/oar/queues.py --probes 12 --seed 7 -o table.md` measures and writes a table. It runs as root on
a private OAR: it changes the policies of its queues, its accounting and its quotas, and cancels all of its jobs. For
each random shape, Gas predicts the start by commands and by the REST API. Then one of the users submits a real job of
this shape, and its planned start is taken as the truth; the job stays in the queue for the next probes. The last user
has no jobs at first. A file of lines (`--results`) keeps the results, and finished queues are not measured again.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from documents.fields import Fields
from gas.endpoints.oar.endpoint import OarEndpoint
from gas.profile.flat import NEVER

KINDS = ("fifo", "fair", "newcomers", "properties", "besteffort", "queues", "hierarchy", "absent", "quotas", "hidden")
FIFO = "oar_sched_gantt_with_timesharing"
FAIR = "oar_sched_gantt_with_timesharing_and_fairsharing_and_quotas"
QUOTAS = Path("/etc/oar/scheduler_quotas.conf")
WITHIN = 60
PATIENCE = 90
REFUSED = "no enough matching resources"
"""OAR's message for a job without a plan."""

NOW = 30
"""A start within this number of seconds after a reading is a start "now"."""


@dataclass(frozen=True)
class Shape:
    """The request of a probe: a number of resources for a number of minutes."""

    size: int
    minutes: int
    resource: str = "resource_id"
    queue: str = "default"
    properties: str | None = None

    def options(self) -> list[str]:
        levels = self.resource if "=" in self.resource else f"{self.resource}={self.size}"
        if "=" in self.resource:
            levels = "/".join(part if "=" in part else f"{part}={self.size}" for part in self.resource.split("/"))
        words = ["-l", f"/{levels},walltime={self.minutes // 60}:{self.minutes % 60:02}:00"]
        if self.properties is not None:
            words += ["-p", self.properties]
        if self.queue == "besteffort":
            return [*words, "-t", "besteffort"]
        return words if self.queue == "default" else [*words, "-q", self.queue]

    def table(self) -> dict[str, object]:
        found: dict[str, object] = {"resource": self.resource, "queues": ["admin", "default", "night", "besteffort"]}
        if self.queue != "default":
            found["queue"] = self.queue
        return found if self.properties is None else found | {"properties": self.properties}


@dataclass(frozen=True)
class Measured:
    """One probe by one transport: starts in epoch seconds, or None for no start.

    Attributes
    ----------
    planned
        OAR's plan for a real job.
    moved
        Whether the plan of an earlier job has changed in the meantime, so that the probe saw two different queues.
    """

    kind: str
    seed: int
    user: str
    transport: str
    shape: Shape
    now: int
    predicted: int | None
    planned: int | None
    remarks: tuple[str, ...]
    message: str = ""
    moved: bool = False

    @property
    def met(self) -> bool:
        if self.predicted is None or self.planned is None:
            return self.predicted == self.planned
        return abs(self.predicted - self.planned) <= WITHIN

    @property
    def wrongly_now(self) -> bool:
        """Whether it was predicted to start now, without a remark on quotas, but does not."""
        now = self.predicted is not None and self.predicted <= self.now + NOW
        later = self.planned is None or self.planned > self.now + NOW + WITHIN
        return now and later and not any("quota" in remark for remark in self.remarks)


class LiveOar:
    """The OAR of this machine; the process runs as root."""

    def __init__(self, users: Sequence[str], url: str | None) -> None:
        self.users, self.url = tuple(users), url

    def run(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr or done.stdout}")
        return done.stdout

    def sql(self, text: str) -> None:
        self.run("su", "postgres", "-c", f'psql -qAt -v ON_ERROR_STOP=1 oar -c "{text}"')

    def submit(self, user: str, *options: str, run: str = "sleep 36000") -> int:
        home = f"/home/{user}"
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", "-i", f"PWD={home}",
                 f"HOME={home}", f"USER={user}", f"LOGNAME={user}", "SHELL=/bin/sh", "PATH=/usr/bin:/bin", "sh", "-c",
                 f'cd {home} && exec oarsub "$@"', "sh", "-O/dev/null", "-E/dev/null", *options, run]  # fmt: skip
        said = self.run(*words)
        found = re.search(r"OAR_JOB_ID=(\d+)", said)
        assert found is not None, said
        return int(found[1])

    def jobs(self, *words: str) -> dict[int, dict[str, object]]:
        text = self.run("oarstat", "-J", "-f", *words)
        return {int(id): job for id, job in json.loads(text).items()} if text.strip() else {}

    def cancel(self, *ids: int) -> None:
        if ids:
            self.run("oardel", *map(str, ids), check=False)

    def gone(self, ids: Sequence[int]) -> None:
        """Wait until jobs have ended."""
        ends = time.monotonic() + PATIENCE
        while set(ids) & self.jobs().keys():
            if time.monotonic() > ends:
                raise TimeoutError(f"jobs {ids} do not end")
            time.sleep(0.3)

    def empty(self) -> None:
        """Cancel all jobs, and bring all resources back."""
        ids = list(self.jobs())
        self.cancel(*ids)
        self.gone(ids)
        self.sql("update resources set state = 'Alive', available_upto = 2147483647, next_state = 'UnChanged'")

    def settled(self) -> dict[int, object]:
        """Wait until all waiting jobs have a plan, and return the starts of all."""
        ends = time.monotonic() + PATIENCE
        while True:
            jobs = self.jobs()
            moving = [one for one in jobs.values() if one["state"] not in ("Running", "Waiting", "Hold")]
            planned = all(one["scheduledStart"] or REFUSED in str(one["message"]).lower() for one in jobs.values())
            if not moving and planned:
                return {id: one["scheduledStart"] for id, one in jobs.items()}
            if time.monotonic() > ends:
                return {id: one["scheduledStart"] for id, one in jobs.items()}
            time.sleep(0.5)

    def planned(self, id: int) -> tuple[int | None, str]:
        """Return the planned start of a new job, None if it has no plan after a while, and OAR's message."""
        ends = time.monotonic() + PATIENCE / 3
        while True:
            job = self.jobs("-j", str(id))[id]
            start = job["startTime"] or job["scheduledStart"]
            message = str(job["message"])
            if start or REFUSED in message.lower() or time.monotonic() > ends:
                return (int(str(start)) if start else None), message
            time.sleep(0.3)


# -- queues


def fill(oar: LiveOar, kind: str, chance: random.Random) -> None:
    """Make a queue of a given kind; its jobs are so long that none ends."""
    oar.empty()
    oar.sql("delete from queues where queue_name = 'night'")
    oar.sql(f"update queues set scheduler_policy = '{FIFO if kind in ('fifo', 'properties') else FAIR}'")
    oar.sql("delete from accounting")
    if kind == "queues":
        oar.sql(f"insert into queues values ('night', 1, '{chance.choice((FIFO, FAIR))}', 'Active')")
    if kind not in ("newcomers", "fifo"):
        spend(oar, chance)
    rules = ""
    if kind in ("quotas", "hidden"):
        each = chance.randrange(16, 72, 8)
        rules = chance.choice((
            f"$Gantt_quotas->{{'*'}}->{{'*'}}->{{'*'}}->{{'/'}} = [{each}, -1, -1];\n",
            f"$Gantt_quotas->{{'*'}}->{{'*'}}->{{'*'}}->{{'/'}} = [-1, {chance.randint(2, 4)}, -1];\n",
            f"$Gantt_quotas->{{'default'}}->{{'*'}}->{{'*'}}->{{'{oar.users[-1]}'}} = [{each}, 3, -1];\n",
            f"$Gantt_quotas->{{'*'}}->{{'*'}}->{{'*'}}->{{'/'}} = [-1, -1, {each * 2}];\n",
        ))  # fmt: skip
    QUOTAS.write_text(rules)
    if kind == "absent":
        absent, suspected = chance.sample(range(1, 17), 2)
        oar.run("oarnodesetting", "-s", "Absent", "-h", f"127.0.1.{absent}")
        oar.sql(f"update resources set state = 'Suspected' where network_address = '127.0.1.{suspected}'")
        time.sleep(2)
    oar.sql("alter table jobs set (autovacuum_enabled = false)")
    for number in range(24):
        user = chance.choice(oar.users if kind in ("quotas", "hidden") else oar.users[:-1])
        minutes = chance.randrange(20, 170)
        size = chance.choice((8, 16, 24, 48)) if number < 5 else chance.randint(2, 80)
        if kind in ("quotas", "hidden"):
            size = chance.randint(2, 20)
        options = ["-l", f"resource_id={size},walltime={minutes // 60}:{minutes % 60:02}:00"]
        if kind == "queues" and chance.random() < 0.4:
            options += ["-q", "night"]
        if kind == "properties" and chance.random() < 0.4:
            options[1] = f"nodes={chance.randint(1, 3)},walltime={minutes // 60}:{minutes % 60:02}:00"
            options += ["-p", f"cluster='{chance.choice(('fast', 'slow'))}'"]
        if kind == "besteffort" and chance.random() < 0.4:
            options += ["-t", "besteffort"]
        if kind in ("hierarchy", "absent") and chance.random() < 0.5:
            options[1] = f"host={chance.randint(1, 4)}/core={chance.randint(1, 8)},walltime=1:{minutes % 60:02}:00"
        oar.submit(user, *options)
        if number == 4:
            oar.settled()  # the first jobs start before there is a queue
    oar.sql("analyze jobs")  # otherwise the database lists users of equal karma in varying order
    oar.submit(oar.users[0], "-l", "resource_id=1,walltime=0:20:00")
    oar.settled()


def spend(oar: LiveOar, chance: random.Random) -> None:
    """Give users different usage in the last days."""
    day = int(time.time()) // 86400 * 86400
    for user in oar.users:
        for back in chance.sample(range(1, 28), 3):
            asked = chance.randint(1, 9_000_000)
            used = chance.randint(0, asked)
            for kind, seconds in (("ASKED", asked), ("USED", used)):
                start = day - back * 86400
                window = f"{start}, {start + 86399}, '{user}', 'default', 'default'"
                oar.sql(f"insert into accounting values ({window}, '{kind}', {seconds})")


def shapes(kind: str, seed: int, count: int) -> Iterator[Shape]:
    """Return random shapes of probes."""
    chance = random.Random(f"shapes {kind} {seed}")
    for _ in range(count):
        size, minutes = chance.randint(1, 96), chance.choice((3, 10, 25, 45, 80, 150, 300))
        if kind == "properties":
            which = chance.choice(("fast", "slow", None))
            condition = None if which is None else f"cluster = '{which}'"
            resource, most = chance.choice((("nodes", 4), ("cpu", 8), ("core", 32)))
            yield Shape(chance.randint(1, most), minutes, resource, properties=condition)
        elif kind == "hierarchy":
            resource, most = chance.choice((("host/core=4", 12), ("host=2/core", 8), ("host/cpu=1", 14), ("nodes", 10)))
            yield Shape(chance.randint(1, most), minutes, resource)
        elif kind == "besteffort":
            yield Shape(size, minutes, queue="besteffort")
        elif kind == "queues":
            yield Shape(size, minutes, queue=chance.choice(("default", "night")))
        elif kind in ("quotas", "hidden"):
            yield Shape(min(size, chance.choice((8, 32, 64))), minutes)
        else:
            yield Shape(size, minutes)


# -- probing


def endpoints(oar: LiveOar, shape: Shape, user: str, *, hidden: bool) -> dict[str, OarEndpoint]:
    """Return the endpoints that predict a probe of a user."""
    table = shape.table()
    by_commands = OarEndpoint.configured("oar", Fields(dict(table), "commands"))
    by_commands.transport.user = user
    found = {"commands": by_commands}
    if oar.url is not None:
        more = {} if hidden else {"quotas": str(QUOTAS)}
        found["rest"] = OarEndpoint.configured(
            "oar", Fields({**table, **more, "url": oar.url, "ident": user}, "rest")
        )  # fmt: skip
    if hidden:
        by_commands._quotas = lambda: (None, ())  # as where the server's files are not readable
    return found


def probe(oar: LiveOar, kind: str, seed: int, shape: Shape, user: str, kept: Path | None = None) -> list[Measured]:
    """Predict a shape by each transport, submit it, and return the predictions with OAR's plan."""
    before = oar.settled()
    predicted, seen = {}, {}
    for name, endpoint in endpoints(oar, shape, user, hidden=kind == "hidden").items():
        read = endpoint.transport.machine
        endpoint.transport.machine = lambda *words, read=read, name=name: seen.setdefault(name, read(*words))
        found = endpoint.availability()
        start = int(found.anchors(np.array([shape.size]), np.array([shape.minutes * 60]), 0)[0])
        predicted[name] = (found.now, None if start == NEVER else start, endpoint.remarks)
    after = oar.jobs()
    moved = any(after.get(id, {}).get("scheduledStart") != start for id, start in before.items())
    try:
        id = oar.submit(user, *shape.options())
    except RuntimeError as error:  # oarsub says never
        refused = str(error)[-200:]
        return [Measured(kind, seed, user, name, shape, now, start, None, remarks, refused)
                for name, (now, start, remarks) in predicted.items()]  # fmt: skip
    planned, message = oar.planned(id)
    measured = [
        Measured(kind, seed, user, name, shape, now, start, planned, remarks, message, moved)
        for name, (now, start, remarks) in predicted.items()
    ]
    for one in measured:
        if kept is not None and not one.met:
            (kept / f"{kind}-{seed}-{id}-{one.transport}.pickle").write_bytes(pickle.dumps((one, seen[one.transport])))
    return measured


def measured(oar: LiveOar, kind: str, seed: int, count: int, kept: Path | None = None) -> list[Measured]:
    """Fill a queue of a given kind and probe it."""
    chance = random.Random(f"{kind} {seed}")
    fill(oar, kind, chance)
    found = []
    for shape in shapes(kind, seed, count):
        found += probe(oar, kind, seed, shape, chance.choice(oar.users), kept)
    return found


# -- the table


def interval(hits: int, count: int) -> str:
    """Return the 95% interval of a share (Wilson)."""
    if count == 0:
        return "-"
    z, share = 1.96, hits / count
    middle, half = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + (z / count) ** 2 / 4)
    return f"{(middle - half) / (1 + z * z / count):.1%} to {(middle + half) / (1 + z * z / count):.1%}"


INTRODUCTION = """# Predicted starts against a real OAR

{probes} probes on {queues} random queues of an OAR 2.5.9 with 128 resources (`python tests/endpoints/oar/queues.py`,
seeds {seeds}). For each random shape, Gas reads the queue by the commands and by the REST API, and predicts when OAR
will plan such a job. Then a real job of this shape is submitted, and its planned start is taken as the truth.

- The queues of `fifo` and `properties` use `oar_sched_gantt_with_timesharing`; all others use Debian's default, which
  orders users by karma and enforces quotas. In `newcomers`, all users have the same karma. One user of four has no jobs
  at first.
- `properties` requests nodes, CPUs and cores of one of two clusters; `hierarchy` requests a number of cores on each of
  several hosts; `queues` has a second queue with a lower priority; in `absent`, two hosts are absent or suspected.
- `quotas` has a readable limit on resources, jobs or resource hours. In `hidden`, the limit is not readable, and
  predictions fail; there it only counts that Gas shows no start "now" without a remark on quotas.

**Met by both transports**: {hits} of {counted} probes ({share}; 95% interval {interval}), without `hidden`. A
prediction is met if it is within 60 s of OAR's planned start, or if neither Gas nor OAR plans a start. Wrong starts
"now" without a remark on quotas: {wrong}.
"""


def table(found: Sequence[Measured]) -> str:
    """Return the page of the results."""
    rows = [
        "| queue | transport | probes | with a plan | within 60 s | share (95% interval) | no plan, as predicted | "
        "median / worst error, s | wrong \"now\" without a remark |",
        "|---|---|---:|---:|---:|---|---:|---:|---:|",
    ]  # fmt: skip
    groups = [(kind, name) for kind in (*KINDS, "all") for name in ("commands", "rest")]
    for kind, name in groups:
        there = [one for one in found if one.transport == name and one.kind == kind]
        if kind == "all":
            there = [one for one in found if one.transport == name and one.kind != "hidden"]
        if there:
            rows.append(_row(kind, name, there))
    misses = [one for one in found if not one.met and one.kind != "hidden"]
    lines = [
        f"- {one.kind}, seed {one.seed}, {one.transport}: {one.user} {one.shape}: "
        f"predicted {_after(one, one.predicted)}, planned {_after(one, one.planned)}"
        f"{'; the queue moved meanwhile' if one.moved else ''}. Remarks of Gas: {'; '.join(one.remarks) or 'none'}"
        for one in misses
    ]
    probes: dict[tuple[object, ...], list[Measured]] = {}
    for one in found:
        probes.setdefault((one.kind, one.seed, one.shape, one.user, one.planned, one.message), []).append(one)
    counted = [both for both in probes.values() if both[0].kind != "hidden"]
    hits = sum(all(one.met for one in both) for both in counted)
    intro = INTRODUCTION.format(
        probes=len(probes),
        queues=len({(one.kind, one.seed) for one in found}),
        seeds=", ".join(map(str, sorted({one.seed for one in found}))),
        hits=hits,
        counted=len(counted),
        share=f"{hits / max(1, len(counted)):.1%}",
        interval=interval(hits, len(counted)),
        wrong=sum(one.wrongly_now for one in found),
    )
    return "\n".join([intro, *rows, "", "**Failed predictions**" if lines else "No prediction failed.", "", *lines, ""])


def _row(kind: str, name: str, there: Sequence[Measured]) -> str:
    planned = [one for one in there if one.planned is not None]
    hits = sum(one.met for one in planned)
    none = [one for one in there if one.planned is None]
    errors = [
        abs(one.predicted - one.planned) for one in planned if one.predicted is not None and one.planned is not None
    ]
    error = f"{statistics.median(errors):.0f} / {max(errors)}" if errors else "-"
    share = f"{hits / len(planned):.1%} ({interval(hits, len(planned))})" if planned else "-"
    return (
        f"| {kind} | {name} | {len(there)} | {len(planned)} | {hits} | {share} | {sum(one.met for one in none)} of "
        f"{len(none)} | {error} | {sum(one.wrongly_now for one in there)} |"
    )


def _after(one: Measured, start: int | None) -> str:
    return "never" if start is None else f"+{start - one.now} s"


def read(path: Path) -> list[Measured]:
    """Return the earlier results."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        row["shape"], row["remarks"] = Shape(**row["shape"]), tuple(row["remarks"])
        found.append(Measured(**row))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--probes", type=int, default=6, help="of each queue")
    parser.add_argument("--queues", type=int, default=2, help="of each kind")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400)
    parser.add_argument("--users", nargs="+", default=["alice", "bob", "carol", "dave"])
    parser.add_argument("--url", default="http://127.0.0.1:6668/oarapi")
    parser.add_argument("--results", type=Path, default=Path("oar-probes.jsonl"))
    parser.add_argument("--kept", type=Path, help="folder for the readings of failed predictions")
    parser.add_argument("-o", "--output", type=Path)
    wanted = parser.parse_args()
    oar = LiveOar(wanted.users, wanted.url)
    done = {(one.kind, one.seed) for one in read(wanted.results)}
    for seed in range(wanted.seed, wanted.seed + wanted.queues):
        for kind in wanted.kinds:
            if (kind, seed) in done:
                continue
            found = measured(oar, kind, seed, wanted.probes, wanted.kept)
            with wanted.results.open("a") as file:
                file.writelines(json.dumps(asdict(one)) + "\n" for one in found)
            misses = [f"{_after(one, one.predicted)}/{_after(one, one.planned)}" for one in found if not one.met]
            print(f"{kind} {seed}: {len(found)} probes, misses {misses}", file=sys.stderr, flush=True)
    page = table(read(wanted.results))
    if wanted.output is not None:
        wanted.output.write_text(page)
    else:
        print(page)


if __name__ == "__main__":
    main()
