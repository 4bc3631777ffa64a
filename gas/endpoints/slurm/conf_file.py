"""A slurm.conf, or some of its keys, for releases whose slurmrestd does not publish it (before 26.05).

In a whole file, missing keys have their defaults (slurm.conf(5)). If only some keys are stated, this holds for the
missing keys on the same subject: some priority weights imply that the others are 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from documents.fields import nearest, quoted
from gas.endpoints.slurm.notation import node_names
from gas.errors import BadInput
from gas.slurm.cluster import Partition

__all__ = ["Stated", "read_conf", "read_file", "stated_keys"]

_PRIORITY = {
    "PriorityFavorSmall": "No", "PriorityMaxAge": "7-00:00:00", "PriorityDecayHalfLife": "7-00:00:00",
    "PriorityCalcPeriod": "5 min", "PriorityFlags": "", "PriorityUsageResetPeriod": "NONE",
    "PriorityWeightAge": "0", "PriorityWeightAssoc": "0", "PriorityWeightFairShare": "0", "PriorityWeightJobSize": "0",
    "PriorityWeightPartition": "0", "PriorityWeightQOS": "0", "PriorityWeightTRES": "(null)",
    "PrioritySiteFactorPlugin": "(null)", "FairShareDampeningFactor": "1",
}  # fmt: skip
_PREEMPTION = {
    "PreemptType": "preempt/none", "PreemptMode": "OFF", "PreemptParameters": "(null)",
    "PreemptExemptTime": "00:00:00",
}  # fmt: skip
_OTHERS = {
    "SchedulerParameters": "(null)", "PrivateData": "none", "AccountingStorageType": "(null)",
    "AccountingStorageEnforce": "none", "AccountingStorageTRES": "cpu,mem,energy,node,billing,fs/disk,vmem,pages",
    "CompleteWait": "0 sec", "KillWait": "30 sec", "EnforcePartLimits": "NO", "OverTimeLimit": "0 min",
    "JobDefaults": "(null)", "MaxArraySize": "1001", "DefMemPerNode": "UNLIMITED", "DefMemPerCPU": "UNLIMITED",
    "MaxMemPerNode": "UNLIMITED", "MaxMemPerCPU": "UNLIMITED", "SelectType": "", "SelectTypeParameters": "",
    "DefCpuPerGPU": "", "DefMemPerGPU": "",
    "PriorityType": "", "TopologyPlugin": "topology/flat", "TopologyParam": "(null)",
}  # fmt: skip
_KEYS = MappingProxyType({key.lower(): key for key in (*_PRIORITY, *_PREEMPTION, *_OTHERS)})
_MINUTES = ("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod", "PreemptExemptTime")
"""Keys whose plain numbers are minutes (slurm.conf(5); scontrol prints days and hours)."""

_PAIR = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S*)')
MOST_INCLUDED = 50


@dataclass(frozen=True)
class Stated:
    """The parts of slurm.conf that a user or a site has stated.

    Attributes
    ----------
    values
        By the names in slurm.conf(5), as written.
    source
        Where they come from, for messages.
    whole
        Whether the whole file is known, so that missing keys have their defaults.
    partitions
        By partition, the keys of its line, including those from DEFAULT.
    topology
        The text of topology.conf next to it, or of ``scontrol show topology``; empty if there is none.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    whole: bool = False
    partitions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    topology: str = ""

    def config(self, release: str) -> dict[str, str]:
        """Return the keys as ``scontrol show config`` of a release prints them, with the implied defaults."""
        known = dict(self.values)
        subjects = [_PRIORITY] if self.whole or any(key.startswith("Priority") for key in known) else []
        subjects += [_PREEMPTION] if self.whole or any(key.startswith("Preempt") for key in known) else []
        subjects += [_OTHERS] if self.whole else []
        found = {key: value for subject in subjects for key, value in subject.items() if value or key in _PRIORITY}
        numbers = re.match(r"(\d+)\.(\d+)", release)
        late = numbers is None or (int(numbers[1]), int(numbers[2])) >= (23, 11)
        if _PRIORITY in subjects:  # slurm.conf(5) of 22.05 and 23.11, PriorityType
            found["PriorityType"] = "priority/multifactor" if late else "priority/basic"
            if not self.whole and any(key.startswith("PriorityWeight") for key in known):
                found["PriorityType"] = "priority/multifactor"
        if self.whole:  # slurm.conf(5) of 23.11, SelectType; earlier defaults depend on how Slurm was built
            found |= {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_CORE_MEMORY"} if late else {}
        for key, value in known.items():
            found[key] = f"{value} min" if key in _MINUTES and value.isdecimal() else value
        of_gpus = [f"{key}={found.pop(key)}" for key in ("DefCpuPerGPU", "DefMemPerGPU") if key in found]
        if of_gpus:
            found["JobDefaults"] = ",".join(of_gpus)
        return found | ({"SLURM_VERSION": release} if release else {})

    def of_partition(self, one: Partition, *, early: bool) -> Partition:
        """Return a partition completed by what slurmrestd does not publish; `early`: up to v0.0.38.

        OverSubscribe is EXCLUSIVE, FORCE:4, NO or YES:2 (slurm.conf(5)); v0.0.39 and later publish it.
        """
        line = {key.lower(): value for key, value in self.partitions.get(one.name, {}).items()}
        if not line:
            return one
        if early:
            sharing, _, number = line.get("oversubscribe", line.get("shared", "NO")).upper().partition(":")
            jobs = int(number) if number.isdecimal() else 4
            shared = max(jobs, 1) if sharing in ("FORCE", "YES") else 1
            one = replace(one, whole_nodes=sharing == "EXCLUSIVE", sharing=shared)
        closing = [f"{key}=YES" for key in ("RootOnly", "ReqResv") if line.get(key.lower(), "NO").upper() == "YES"]
        return replace(
            one,
            default=line.get("default", "NO").upper() == "YES",
            preempt_mode=one.preempt_mode or line.get("preemptmode", "").upper(),
            least_loaded=one.least_loaded or line.get("lln", "NO").upper() == "YES",
            closed_by=tuple(dict.fromkeys((*one.closed_by, *closing))),
            shared_with=one.shared_with or ("user" if line.get("exclusiveuser", "NO").upper() == "YES" else ""),
        )


def stated_keys(given: Mapping[str, object], source: str) -> Stated:
    """Return the slurm.conf keys in a table of the user's configuration; `BadInput` names an invalid one."""
    found = {}
    for key, value in given.items():
        known = _KEYS.get(key.lower())
        if known is None:
            raise BadInput(f"{quoted(key)} is not a key of slurm.conf that Gas uses{nearest(key, _KEYS.values())}")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadInput(f"{known} must be a string or an integer, as in slurm.conf")
        if "\n" in str(value):
            raise BadInput(f"{known} must be one line")
        found[known] = str(value)
    return Stated(found, source)


def read_conf(text: str, source: str, included: Callable[[str], str | None] = lambda path: None) -> Stated:
    """Return the keys in the text of a slurm.conf.

    Parameters
    ----------
    included
        Returns the text of an included file; None if it cannot be read, so that the result is not whole.
    """
    values: dict[str, str] = {}
    partitions: dict[str, dict[str, str]] = {}
    default: dict[str, str] = {}
    whole = True
    waiting = [iter(_lines(text))]
    files = 0
    while waiting:
        line = next(waiting[-1], None)
        if line is None:
            waiting.pop()
            continue
        if include := re.match(r"include\s+(\S+)", line, re.IGNORECASE):
            files += 1
            more = included(include[1]) if files <= MOST_INCLUDED else None
            whole &= more is not None
            waiting.append(iter(_lines(more or "")))
            continue
        pairs = [(key, value.strip('"')) for key, value in _PAIR.findall(line)]
        if not pairs:
            continue
        first, name = pairs[0][0].lower(), pairs[0][1]
        if first == "partitionname":
            if name.upper() == "DEFAULT":
                default |= dict(pairs[1:])
            else:
                for one in node_names(name):
                    partitions.setdefault(one, {}).update(default | dict(pairs[1:]))
        elif first in _KEYS:
            values |= {_KEYS[first]: name}
    return Stated(values, source, whole, partitions)


def _lines(text: str) -> Sequence[str]:
    """Return the lines without comments; a line that ends in a backslash is joined with the next."""
    joined = re.sub(r"\\\r?\n", "", text)
    return [line for one in joined.splitlines() if (line := re.sub(r"(?<!\\)#.*", "", one).strip())]


def read_file(path: Path) -> Stated:
    """Return the keys in a slurm.conf and the files that it includes; `BadInput` if it cannot be read."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror})") from None

    def included(other: str) -> str | None:
        try:
            return (path.parent / other).read_text(errors="replace")  # relative to the folder of the file
        except OSError:
            return None

    return replace(read_conf(text, str(path), included), topology=included("topology.conf") or "")
