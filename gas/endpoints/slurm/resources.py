"""Slurm's notations for resources: generic (GRES) and trackable ones (TRES), memory and licences.

GPUs are written ``gpu:a100:4(S:0-1)`` for a node, ``gpu:a100:2(IDX:0-1)`` if in use, ``gres:gpu:a100:2`` (22.05) or
``gres/gpu:a100:2`` (24.11) in requests, and ``gres/gpu:a100=2`` per task (24.11) and in TRES.
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
_OUTSIDE = re.compile(r",(?![^()]*\))")  # commas in parentheses separate indices
_NAME = re.compile(r"[^\s:=,()]+")


def _amount(text: str, plain: str = "") -> float:
    """Return a number with a suffix for powers of 1024, in units of the suffix `plain`."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise BadInput(f"{quoted(text)} is not an amount")
    power = _POWERS[found[2].upper()] - _POWERS[plain] if found[2] or plain == "" else 0
    return float(found[1]) * 1024.0**power


def megabytes(text: str) -> int:
    """Return the MB in ``500M``, ``7.81G`` or ``4000``, rounded up.

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
    """Return the generic resources in a list in any notation, without those of count 0.

    Other resources (``cpu=2`` per task, licences) are skipped.

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
    """Return name, type and count of ``gres/gpu:a100:2(IDX:0-1)``; an empty name for other resources."""
    body = part.partition("(")[0]
    body, equals, number = body.partition("=")
    for prefix in ("gres/", "gres:"):
        if body.startswith(prefix):
            body = body.removeprefix(prefix)
            break
    else:
        if equals or body.startswith(("license/", "license:", "bb/", "cpu:", "mem:")):
            return "", "", 0
    words = [word for word in body.split(":") if word != "no_consume"]  # may occur several times
    count = number if equals else words.pop() if len(words) > 1 and _AMOUNT.fullmatch(words[-1]) else "1"
    if not 1 <= len(words) <= 2 or not all(_NAME.fullmatch(word) for word in words):
        raise BadInput(f"{quoted(part)} is not a generic resource; Slurm writes name:type:count")
    return words[0], words[1] if len(words) == 2 else "", int(_amount(count))


def amounts(text: str) -> dict[str, float]:
    """Return the amounts of trackable resources in ``cpu=8,mem=4000M,gres/gpu:a100=2``, memory in MB.

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
    """Return the weight per unit of each trackable resource in ``CPU=1.0,Mem=0.25G``; for memory, per MB.

    A suffix gives the unit of the weight (slurm.conf(5), TRESBillingWeights): 0.25G is a quarter per GB.

    Raises
    ------
    BadInput
        A part of it is not a weight.
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
    """Return the number of licences of each name in ``matlab:3,abaqus@server``.

    Raises
    ------
    BadInput
        It is not such a list; alternatives (``a|b``, from Slurm 26.05) are not supported.
    """
    found: dict[str, int] = {}
    for part in _parts(text.replace(";", ",")):
        name, mark, count = part.partition(":") if ":" in part else part.partition("=")
        if not _NAME.fullmatch(name) or "|" in name or (mark and not re.fullmatch("[0-9]{1,9}", count)):
            raise BadInput(f"{quoted(part)} is not a licence; Slurm writes name:count")
        found[name] = found.get(name, 0) + (int(count) if mark else 1)
    return found


def per_gpu_defaults(text: str) -> tuple[int | None, int | None]:
    """Return MB and CPUs per GPU in ``DefCpuPerGPU=2,DefMemPerGPU=900`` (slurm.conf(5), JobDefaults)."""
    given = dict(part.partition("=")[::2] for part in _parts(text))
    memory, cpus = given.get("DefMemPerGPU", ""), given.get("DefCpuPerGPU", "")
    return megabytes(memory) if memory else None, int(cpus) if cpus.isdecimal() else None


def is_default_per_gpu(text: str) -> bool:
    """Whether memory per GPU is the partition's default, which has no ``gres`` prefix (seen on all releases).

    It is shown even if the job requests memory in another way, which then applies.
    """
    return text.startswith("gpu:")


def memory_per_gpu(text: str) -> int | None:
    """Return the MB per GPU in ``gres:gpu:500`` (--mem-per-gpu)."""
    for part in _parts(text):
        name, _, count = part.removeprefix("gres/").removeprefix("gres:").rpartition(":")
        if name.partition(":")[0] == "gpu":
            return megabytes(count)
    return None


def by_name(found: Iterable[Licence]) -> tuple[tuple[Licence, ...], list[str]]:
    """Return the licences of each name once, and remarks on names that are listed several times.

    Slurm 25.05 and later list a hierarchical resource (resources.yaml) once for each group of nodes with its own count.
    The groups that a job needs are not shown, so only a request above the total certainly fails.
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
    """Return the maximum number of nodes that a waiting job requests, judging by what is shown.

    Seen: ``-N 2-6`` shows ``NumNodes=6-6`` and ``TRES=...,node=2``, or ``NumNodes=2-6`` if it was held; ``-n 12`` shows
    ``node=1`` and ``NumNodes=3``, an estimate, or on 26.05 ``3-12``, up to its tasks.
    """
    if not most or (shown < most == tasks and (asked <= 1 or shown != asked)):
        return None
    return most
