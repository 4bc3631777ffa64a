"""Slurm's notations of resources: generic ones (GRES), trackable ones (TRES), memory and licences.

The same GPUs are written ``gpu:a100:4(S:0-1)`` of a node, ``gpu:a100:2(IDX:0-1)`` in use, ``gres:gpu:a100:2`` asked for
(22.05), ``gres/gpu:a100:2`` (24.11), ``gres/gpu:a100=2`` of a task (24.11) and in TRES.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from documents.fields import quoted
from gas.endpoints.slurm.notation import NOTHING
from gas.errors import BadInput
from gas.slurm.cluster import Gres, Licence

__all__ = [
    "amounts",
    "by_name",
    "gres",
    "is_default_per_gpu",
    "licences",
    "megabytes",
    "memory_per_gpu",
    "most_nodes",
    "per_gpu_defaults",
    "weights",
]

_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_OUTSIDE = re.compile(r",(?![^()]*\))")  # commas between parentheses part indices
_NAME = re.compile(r"[^\s:=,()]+")


def _amount(text: str, plain: str = "") -> float:
    """Return a number with a suffix of powers of 1024, in units of the one called `plain`."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise BadInput(f"{quoted(text)} is not an amount")
    power = _POWERS[found[2].upper()] - _POWERS[plain] if found[2] or plain == "" else 0
    return float(found[1]) * 1024.0**power


def megabytes(text: str) -> int:
    """Return the MB of ``500M``, ``7.81G`` or ``4000``; what is not a whole number is rounded up.

    Raises
    ------
    BadInput
        It is not an amount of memory.
    """
    found = _amount(text, "M")
    return int(found) + (found > int(found))


def _parts(text: str) -> Iterator[str]:
    if text.strip() not in NOTHING:
        yield from (part.strip() for part in _OUTSIDE.split(text.strip()) if part.strip())


@lru_cache(4096)
def gres(text: str) -> tuple[Gres, ...]:
    """Return the generic resources of a list in any of their notations, those of count 0 left out.

    What is not a generic resource (``cpu=2`` of a task, licences) is left out too.

    Raises
    ------
    BadInput
        A part of it cannot be understood.
    """
    found: dict[tuple[str, str], int] = {}
    for part in _parts(text):
        name, kind, count = _one(part)
        if name and count:
            found[name, kind] = found.get((name, kind), 0) + count
    return tuple(Gres(name, kind, count) for (name, kind), count in found.items())


def _one(part: str) -> tuple[str, str, int]:
    """Return the name, the type and the count of ``gres/gpu:a100:2(IDX:0-1)``; no name for what is no GRES."""
    body = part.partition("(")[0]
    body, equals, number = body.partition("=")
    for prefix in ("gres/", "gres:"):
        if body.startswith(prefix):
            body = body.removeprefix(prefix)
            break
    else:
        if equals or body.startswith(("license/", "license:", "bb/", "cpu:", "mem:")):
            return "", "", 0
    words = [word for word in body.split(":") if word != "no_consume"]  # as many as one likes
    count = number if equals else words.pop() if len(words) > 1 and _AMOUNT.fullmatch(words[-1]) else "1"
    if not 1 <= len(words) <= 2 or not all(_NAME.fullmatch(word) for word in words):
        raise BadInput(f"{quoted(part)} is not a generic resource; Slurm writes name:type:count")
    return words[0], words[1] if len(words) == 2 else "", int(_amount(count))


def amounts(text: str) -> dict[str, float]:
    """Return how much of each trackable resource ``cpu=8,mem=4000M,gres/gpu:a100=2`` has, memory in MB.

    Raises
    ------
    BadInput
        A part of it is not an amount.
    """
    found: dict[str, float] = {}
    for part in _parts(text):
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInput(f"{quoted(part)} is not an amount of a resource; Slurm writes name=amount")
        found[name.lower()] = _amount(value, "M" if name.lower() == "mem" else "")
    return found


def weights(text: str) -> dict[str, float]:
    """Return what a unit of each trackable resource counts for in ``CPU=1.0,Mem=0.25G``; of memory, a MB.

    A suffix says of how much the weight is (slurm.conf(5), TRESBillingWeights): 0.25G is a quarter for each GB.

    Raises
    ------
    BadInput
        A part of it is no weight.
    """
    found: dict[str, float] = {}
    for part in _parts(text):
        name, equals, value = part.partition("=")
        amount = _AMOUNT.fullmatch(value.strip())
        if not equals or amount is None:
            raise BadInput(f"{quoted(part)} is not a weight of a resource; Slurm writes name=weight")
        unit = "M" if name.lower() == "mem" else ""
        power = _POWERS[amount[2].upper()] - _POWERS[unit] if amount[2] else 0
        found[name.lower()] = float(amount[1]) / 1024.0**power
    return found


def licences(text: str) -> dict[str, int]:
    """Return how many licences of each name ``matlab:3,abaqus@server`` asks for.

    Raises
    ------
    BadInput
        It is no such list; alternatives (``a|b``, from Slurm 26.05 on) are none.
    """
    found: dict[str, int] = {}
    for part in _parts(text.replace(";", ",")):
        name, mark, count = part.partition(":") if ":" in part else part.partition("=")
        if not _NAME.fullmatch(name) or "|" in name or (mark and not re.fullmatch("[0-9]{1,9}", count)):
            raise BadInput(f"{quoted(part)} is not a licence; Slurm writes name:count")
        found[name] = found.get(name, 0) + (int(count) if mark else 1)
    return found


def per_gpu_defaults(text: str) -> tuple[int | None, int | None]:
    """Return MB and CPUs for each GPU of ``DefCpuPerGPU=2,DefMemPerGPU=900`` (slurm.conf(5), JobDefaults)."""
    given = dict(part.partition("=")[::2] for part in _parts(text))
    memory, cpus = given.get("DefMemPerGPU", ""), given.get("DefCpuPerGPU", "")
    return megabytes(memory) if memory else None, int(cpus) if cpus.isdecimal() else None


def is_default_per_gpu(text: str) -> bool:
    """Whether memory for each GPU is the partition's default, which has no ``gres`` before it (seen on all releases).

    It stands there also if the job asks for memory in another way, which counts then.
    """
    return text.startswith("gpu:")


def memory_per_gpu(text: str) -> int | None:
    """Return the MB for each GPU of ``gres:gpu:500``, the only resource for which memory is asked (--mem-per-gpu)."""
    for part in _parts(text):
        name, _, count = part.removeprefix("gres/").removeprefix("gres:").rpartition(":")
        if name.partition(":")[0] == "gpu":
            return megabytes(count)
    return None


def by_name(found: Iterable[Licence]) -> tuple[tuple[Licence, ...], list[str]]:
    """Return the licences of each name once, and the effect of those that are counted several times.

    Slurm 25.05 and later list a hierarchical resource (resources.yaml) once for each group of nodes that has a count of
    its own. Which groups a job needs is not listed, so only what exceeds all together is surely too much.
    """
    sums: dict[str, Licence] = {}
    several: dict[str, None] = {}
    for one in found:
        other = sums.get(one.name)
        if other is None:
            sums[one.name] = one
            continue
        several[one.name] = None
        sums[one.name] = Licence(
            one.name, other.total + one.total, other.used + one.used, other.reserved + one.reserved
        )
    names = ", ".join(map(quoted, several))
    cautions = [f"licences {names} are counted by groups of nodes: jobs that request some may start later than shown"]
    return tuple(sums.values()), cautions if several else []


def most_nodes(asked: int, shown: int, most: int | None, tasks: int | None) -> int | None:
    """Return the most nodes that a waiting job requests, of what is shown of it beside its required minimum.

    Seen: ``-N 2-6`` has ``NumNodes=6-6`` and ``TRES=...,node=2``, and ``NumNodes=2-6`` if it was held; ``-n 12`` has
    ``NumNodes=3`` or, on 26.05, ``3-12``, and ``node=1``: an estimate, and its tasks.
    """
    if not most or (shown < most == tasks and (asked <= 1 or shown != asked)):
        return None
    return most
