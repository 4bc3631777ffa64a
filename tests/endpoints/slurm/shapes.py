"""Checks with real Slurms whether the shape that Gas chooses for a job on GPUs finishes before all other shapes.

`python tests/endpoints/slurm/shapes.py measure found.jsonl` has Gas plan an application or a job script on clusters
with typed GPUs and a queue, both drawn at random, and then submits every shape that could finish first; it goes on
where it stopped. `... page found.jsonl -o measured_shapes.md` makes the page of the results.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from measured_page import share
from plans import (
    SOON,
    Made,
    Situation,
    Tried,
    add_arguments,
    answered_all,
    changed,
    measure,
    read_plans,
)
from queues import TRANSPORTS, fill, transports
from sites import ASKER, Aspect, Gpus, Site, site_of

from gas import Application
from gas.agent.agent import Agent
from gas.endpoints import Request
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.submission import options_from
from gas.endpoints.slurm.transport import Transport
from gas.errors import GasError, Infeasible
from speedup_models import Layout

CLUSTERS: tuple[tuple[type[Aspect], ...], ...] = ((Gpus,),)
"""The aspects of clusters, one cluster after the other."""

PER_CLUSTER = 4
SITUATIONS = 40

Key = tuple[int, Layout | None]


# -- what is asked for


@dataclass
class Asking:
    """An application, and its job script, if it has one."""

    application: Application
    script: Script | None = None
    native: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The request in words."""
        if self.script is not None:
            return "script " + " ".join(one.shown for one in self.script.directives if one.name != "time")
        app, kept = self.application, self.application.resources
        assert kept is not None
        words = [f"application in {app.unit}", type(app.model).__name__]
        words += [f"gpus_per_node={list(kept.gpus_per_node)}"] if kept.gpus_per_node else []
        words += [f"{name}={value}" for name, value in vars(kept).items()
                  if name in ("memory", "cpus_per_gpu", "gpu_types", "tasks_per_node") and value]  # fmt: skip
        return " ".join(words)

    def endpoint(self, transport: Transport) -> SlurmEndpoint:
        """Return the cluster as it is configured."""
        options = options_from(self.native, "the application")
        return SlurmEndpoint("main", transport, partition="main", options=options)

    def shapes(self, transport: Transport, site: Site) -> dict[Key, Tried]:
        """Return all possible shapes, as options of sbatch."""
        app = self.application
        largest = {device: largest_node(site, device) for device in app.devices}
        total = sum(group.count * sum(count for _, count in group.gpus) for group in site.groups)
        keys: list[Key] = []
        for size in app.sizes(total).tolist():
            keys += [(size, one) for one in app.layouts(size, largest)] if app.is_laid_out else [(size, None)]
        asking = self.endpoint(transport)
        if self.script is None:
            asking = asking.requesting(resources=app.resources)
        else:
            asking = asking.requesting(script=self.script, unit="gpus")
        found = {}
        for size, layout in keys:
            seconds = app.execution_times(np.array([size]), 1.0, None if layout is None else [layout])
            walltime = int(app.walltimes(seconds)[0])
            if int(seconds[0]) <= 0:
                continue
            try:
                line = shlex.split(asking.line(Request(size, walltime, layout=layout), "probe"))[2:]
            except Infeasible:  # the script has no such shape
                continue
            found[size, layout] = Tried(("main", "", ""), size, int(seconds[0]), self._words(line))
        return found

    def _words(self, line: Sequence[str]) -> tuple[str, ...]:
        """Return the options of a job; those of the script apply unless the command line overrides them."""
        own = dict(word[2:].partition("=")[::2] for word in line if word.startswith("--"))
        inside = {} if self.script is None else {one.name: one.value or "" for one in self.script.directives}
        kept = {**inside, **own, "partition": "main"}
        return tuple(f"--{name}={value}" if value else f"--{name}" for name, value in kept.items())


def largest_node(site: Site, device: str) -> int:
    """Return the number of GPUs of the largest node: of one type, or of any type if none is named."""
    return max(sum(count for kind, count in group.gpus if device in (kind, "")) for group in site.groups)


def drawn_asking(machine: Any, chance: random.Random, *, memory: bool) -> Asking:
    """Return a random request for a cluster of `Gpus`."""
    there = sorted({kind for gpus in machine for kind, _ in gpus} - {""})
    device = chance.choice(("", *there))
    each = max(sum(count for kind, count in gpus if device in (kind, "")) for gpus in machine)
    work, serial, between = chance.uniform(2000, 20_000), chance.uniform(0.0, 0.1), chance.uniform(1.0, 1.3)

    def seconds(nodes: int, per_node: int) -> int:
        size = nodes * per_node
        return round(work * (serial + (1 - serial) / size) * (between if nodes > 1 else 1) * chance.uniform(0.97, 1.03))

    if chance.random() < 0.4:
        return _drawn_script(device, each, seconds, chance)
    resources: dict[str, Any] = {"gpu_type": device} if device else {}
    unit = chance.choice(("gpus", "gpus", "gpus", "nodes"))
    ways: tuple[Any, ...] = (each, [1, 2, 4], None) if unit == "gpus" else (each, max(1, each // 2), [1, 2, 4])
    if (way := chance.choice(ways)) is not None:
        resources["gpus_per_node"] = [one for one in way if one <= each] if isinstance(way, list) else way
    if chance.random() < 0.6:
        resources["tasks_per_node"] = 1
    if unit == "gpus" and chance.random() < 0.5:
        resources["cpus_per_gpu"] = chance.randint(1, 2)
    if unit == "gpus" and memory and chance.random() < 0.5:
        resources["memory_per_gpu"] = f"{chance.choice((500, 900, 1500))}M"
    name = {"name": "train", "unit": unit, "resources": resources}
    if "gpus_per_node" in resources and chance.random() < 0.5:
        given = resources["gpus_per_node"]
        on = given if isinstance(given, list) else [one for one in (1, 2, 4) if one <= given]
        rows = [(nodes, one) for nodes in (1, 2, 3, 4) for one in on if unit == "gpus" or one == max(on) or on == given]
        times: Any = [{"nodes": n, "gpus_per_node": g, "seconds": seconds(n, g)} for n, g in rows]
        return Asking(Application.from_tables({**name, "speedup": {"model": "layouts", "times": times}}, "drawn"))
    sizes = (1, 2, 4, 8, 12) if unit == "gpus" else (1, 2, 3, 4)
    per = 1 if unit == "gpus" else each
    times = {str(size): seconds(max(1, size * per // each), min(size * per, each)) for size in sizes}
    return Asking(Application.from_tables({**name, "speedup": {"model": "table", "times": times}}, "drawn"))


def _drawn_script(device: str, each: int, seconds: Any, chance: random.Random) -> Asking:
    typed = f"{device}:" if device else ""
    lines = chance.choice(
        (
            f"--gpus={typed}{each} --cpus-per-gpu={chance.randint(1, 3)}",
            f"--gpus={typed}4 --ntasks=4 --cpus-per-gpu={chance.randint(1, 2)}",
            f"--gpus={typed}4",
            f"--nodes=1 --ntasks-per-node=1 --gpus-per-node={typed}{each} --cpus-per-gpu={chance.randint(1, 2)}",
            f"--nodes=1 --gpus-per-node={typed}{each}",
            f"--ntasks=4 --gpus-per-task={typed}1 --cpus-per-task={chance.randint(1, 2)}",
            f"--nodes=1 --gres=gpu:{typed}{each} --ntasks-per-node=1",
        )
    )
    times = {str(size): seconds(-(-size // each), min(size, each)) for size in (1, 2, 4, 8)}
    tables = {"name": "job", "speedup": {"model": "table", "times": times}, "walltime": {"safety": 1.0}}
    text = f"#!/bin/sh\n#SBATCH {lines} --time=30\ntrue\n"
    return Asking(Application.from_tables(tables, "drawn"), Script.of(text, "job.sh"))


# -- asking


def made(asking: Asking, transport: Transport, site: Site) -> Made:
    """Plan as `gas plan` does."""
    shapes: Any = asking.shapes(transport, site)
    unit = None if asking.script is None else "gpus"
    agent = Agent(asking.application, [asking.endpoint(transport)], script=asking.script, unit=unit)
    try:
        planned = agent.plan()
    except GasError as error:
        return Made(shapes, None, f"{type(error).__name__}: {error}")
    found = planned.plan
    for rejected in found.rejected:
        for key in shapes:
            shown = f"as {key[1]}: " if key[1] is not None else ""
            if key[0] == rejected.processors and rejected.reason.startswith(shown):
                shapes[key] = replace(shapes[key], words=rejected.reason)
    answer: Any = planned.answers[0].availability
    for one in found.candidates:
        key = one.processors, one.layout
        (outlook,) = answer.outlooks([(one.processors, one.walltime, one.layout)])
        shapes[key] = replace(
            shapes[key], said=one.start - found.now, listed=outlook.planned is not None, words=outlook.words
        )
    best: Any = None if found.best is None else (found.best.processors, found.best.layout)
    return Made(shapes, best)


def shaping(release: str, seed: str, situations: int) -> Iterator[Situation]:
    """Plan on one cluster with a queue, and try every shape that could finish first."""
    chance = random.Random(f"shapes {release} {seed}")
    aspects = [aspect() for aspect in CLUSTERS[int(seed.rpartition("-")[2]) % len(CLUSTERS)]]
    site = site_of(aspects, chance)
    own = next(one for one in aspects if isinstance(one, Gpus))
    if "PriorityCalcPeriod" in site.lines:  # minutes: the order of the queue must last as long as it is probed
        site.lines["PriorityCalcPeriod"] = "30"
    with site.slurm(release) as slurm:
        user = ASKER if os.getuid() == 0 else None
        fill(slurm, site, aspects, chance)
        for number in range(situations):
            began = time.monotonic()
            if number:
                changed(slurm, site, aspects, chance)
            planned_out(slurm)
            ways = transports(slurm, user)  # which have nothing kept of what was in use before
            name = TRANSPORTS[number % 4 == 3]
            asking = drawn_asking(own.machine, chance, memory=own.memory)
            if site.accounting:  # so that there is nothing to choose but the shape
                asking.native = ("--account=lab", "--qos=normal")
            found = made(asking, ways[name], site)

            def finish(item: tuple[Any, Tried], best: Any = found.best) -> tuple[bool, float]:
                return item[0] != best, item[1].execution + (math.inf if item[1].said is None else item[1].said)

            order = sorted(found.requests.items(), key=finish)
            taken, tried = answered_all(slurm, ways["commands"], user, found.best, order)
            yield Situation(
                "shapes", release, slurm.version, seed, number, name, asking.about, taken, tuple(tried),
                len(found.requests), found.error, round(time.monotonic() - began, 1),
            )  # fmt: skip


def planned_out(slurm: Any, patience: float = 6) -> None:
    """Wait until all plans of a changed queue are published and stable: a cycle begins by withdrawing them."""
    deadline, before = time.monotonic() + patience, ""
    while time.monotonic() < deadline:
        found = slurm.run("squeue", "-h", "-S", "i", "-o", "%i %T %S", SLURM_TIME_FORMAT="%s")
        if found == before and "PENDING N/A" not in found:
            return
        before = found
        time.sleep(1.2)


# -- the page

HEAD = """\
# Shapes of jobs on GPUs, against real Slurms

{count} situations on {clusters} random clusters with typed GPUs (or GPUs without a type) and a random queue, private
Slurms {versions}, seeds {seeds}. Jobs wait in the order of their submission; there are no reservations.
In each situation, Gas plans as an ordinary user, by commands or by slurmrestd: an application in GPUs or nodes, or a
job script in GPUs. Then every shape that could still finish first is submitted as a real job, its planned or real start
is taken as the truth, and the job is cancelled at once. *First*: by Slurm's own plans, the chosen shape finishes before
all others, or at most {cycle} s later (bf_resolution, the step of these plans). This page is made by
`python tests/endpoints/slurm/shapes.py measure found.jsonl` and `... page found.jsonl -o measured_shapes.md`.
"""


def page_of(found: Sequence[Situation]) -> str:
    """Return the page of the results."""
    if not found:
        return "# Shapes of jobs on GPUs, against real Slurms\n\nNothing has been measured.\n"
    versions = sorted({one.version for one in found})
    seeds = ", ".join(sorted({one.seed.rpartition("-")[0] for one in found})) + "-*"
    clusters = len({(one.release, one.seed) for one in found})
    lines = [HEAD.format(count=len(found), clusters=clusters, versions=", ".join(versions), seeds=seeds, cycle=SOON)]
    by = {"release": lambda one: one.version, "request": _kind, "transport": lambda one: one.transport}
    for title, of in by.items():
        lines.append(f"| {title} | situations | shapes submitted | first (95% interval) | all starts as predicted |")
        lines.append(f"|---|{'---:|' * 4}")
        kinds = sorted({of(one) for one in found})
        for kind in (*kinds, "all") if title == "release" else kinds:
            there = [one for one in found if kind in (of(one), "all")]
            tried = [each for one in there for each in one.tried]
            right = sum(one.right for one in there)
            lines.append(
                f"| {kind} | {len(there)} | {len(tried)} | {right}: {share(right, len(there))} "
                f"| {share(sum(not each.missed for each in tried), len(tried))} |"
            )
        lines.append("")
    causes = [(one.cause, one) for one in found if not one.right]
    if causes:
        lines.append("| why not first | release, seed | request |\n|---|---|---|")
        lines += [
            f"| {cause or one.error} | {one.version}, {one.seed} ({one.number}) | {one.about} |"
            for cause, one in causes
        ]
        lines.append("")
    missed = Counter(each.missed for one in found for each in one.tried if each.missed)
    if missed:
        lines.append("| wrong prediction | shapes |\n|---|---:|")
        lines += [f"| {cause} | {count} |" for cause, count in missed.most_common()]
        lines.append("")
    return "\n".join(lines)


def _kind(one: Situation) -> str:
    """Return the kind of request of a situation."""
    if not one.about.startswith("script"):
        return " ".join(one.about.split()[:3])
    found = re.search(r"--(gpus-per-node|gpus-per-task|gres|gpus)\b", one.about)
    return f"job script with --{found[1]}" if found else "job script"


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    add_arguments(actions.add_parser("measure", help="measure situations"), SITUATIONS)
    page = actions.add_parser("page", help="write the page")
    page.add_argument("found", type=Path, nargs="+")
    page.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()
    if asked.action == "page":
        asked.output.write_text(page_of(read_plans(asked.found)))
    else:
        measure(shaping, PER_CLUSTER, asked.found, asked.situations, asked.seeds, asked.releases)


if __name__ == "__main__":
    main()
