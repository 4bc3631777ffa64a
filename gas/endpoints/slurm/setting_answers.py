"""The configuration of a Slurm, from ``scontrol show config`` or slurmrestd's ``conf``.

Both have the keys of slurm.conf(5), in different case; slurmrestd's values are converted to scontrol's form, so that
one reader serves both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from gas.endpoints.slurm.answer_records import whole
from gas.endpoints.slurm.notation import NOTHING, duration, words
from gas.endpoints.slurm.resources import megabytes, weights
from gas.errors import BadInput
from gas.slurm.settings import FACTORS, Settings

__all__ = ["CONFIG", "config_values", "json_values", "read_json_settings", "read_settings", "seconds"]

CONFIG = ("scontrol", "show", "config")

T = TypeVar("T")

_UNITS = {"": 1, "sec": 1, "min": 60, "usec": 0, "msec": 0, "hours": 3600, "days": 86400}
_UNIT = re.compile(r"(-?[0-9]{1,18}) *(\w*)")


def config_values(text: str) -> dict[str, str]:
    """Return the keys and values of ``scontrol show config``, including those of plug-ins."""
    return dict(re.findall(r"^(\w+(?:\[\d+\])?) *= (.*?) *$", text, re.MULTILINE))


def json_values(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of slurmrestd's ``conf`` (its ``slurm_conf``) as ``scontrol show config`` prints them."""
    found = {str(key): _printed(value) for key, value in configuration.items()}
    if "PreemptMode" in found:
        modes = [one for one in found["PreemptMode"].split(",") if one not in ("CLUSTER_GLOBAL", "UNSET", "(null)")]
        found["PreemptMode"] = ",".join("OFF" if one == "DISABLED" else one for one in modes) or "OFF"
    return found


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "" or value == []:
        return "(null)"
    if isinstance(value, Mapping):
        if value.get("infinite"):
            return "UNLIMITED"
        return str(value.get("number", 0)) if value.get("set", True) else "(null)"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(_printed(one) for one in value)
    return str(value)


def read_settings(values: Mapping[str, str]) -> Settings:
    """Return the settings in a configuration; missing or unreadable ones are None, and listed.

    Parameters
    ----------
    values
        From `config_values` or `json_values`.
    """
    reader = _Reader(values)
    of_factors = {factor: reader.get(key, whole) for factor, key in FACTORS.items()}
    memory = {kind: reader.memory(kind) for kind in ("Def", "Max")}
    defaults = dict(one.partition("=")[::2] for one in words(reader.get("JobDefaults", str) or ""))
    storage = reader.get("AccountingStorageType", _plain)
    enforced = reader.get("AccountingStorageEnforce", _small_words)
    basic = reader.get("PriorityType", _plain, optional=True) == "basic"  # has no weights
    return Settings(
        values=dict(values),
        version=reader.text("SLURM_VERSION"),
        priority_type=reader.get("PriorityType", _plain),
        weights={factor: weight for factor, weight in of_factors.items() if weight is not None},
        tres_weights=reader.get("PriorityWeightTRES", weights, optional=True) or {},
        priority_flags=frozenset(one.upper() for one in words(reader.text("PriorityFlags") or "")),
        favour_small=reader.get("PriorityFavorSmall", _yes),
        max_age=reader.get("PriorityMaxAge", seconds),
        half_life=reader.get("PriorityDecayHalfLife", seconds),
        calculation_period=reader.get("PriorityCalcPeriod", seconds),
        dampening=reader.get("FairShareDampeningFactor", whole, optional=True),
        usage_reset=(reader.text("PriorityUsageResetPeriod") or "NONE").upper(),
        site_factor=_none(reader.text("PrioritySiteFactorPlugin") or ""),
        enforced=None if enforced is None else enforced - {"none"},
        with_accounting=None if storage is None else storage == "slurmdbd",
        partition_limits=reader.get("EnforcePartLimits", _enforced),
        preempt_type=reader.get("PreemptType", _plain),
        preempt_mode=frozenset(one.upper() for one in words(reader.text("PreemptMode") or "")),
        preempt_parameters=dict(one.partition("=")[::2] for one in words(reader.text("PreemptParameters") or "")),
        preempt_exempt=reader.get("PreemptExemptTime", seconds, optional=True),
        selection=reader.get("SelectType", _plain),
        selection_parameters=frozenset(one.upper() for one in words(reader.text("SelectTypeParameters") or "")),
        tracked=reader.get("AccountingStorageTRES", lambda text: tuple(one.lower() for one in words(text))),
        complete_wait=reader.get("CompleteWait", seconds),
        kill_wait=reader.get("KillWait", seconds),
        overtime=reader.get("OverTimeLimit", lambda text: seconds(text if " " in text else f"{text} min")),
        memory_per_cpu=memory["Def"][0],
        memory_per_node=memory["Def"][1],
        most_memory_per_cpu=memory["Max"][0],
        most_memory_per_node=memory["Max"][1],
        cpus_per_gpu=reader.value("DefCpuPerGPU", defaults.get("DefCpuPerGPU"), whole),
        memory_per_gpu=reader.value("DefMemPerGPU", defaults.get("DefMemPerGPU"), whole),
        most_tasks=reader.get("MaxArraySize", whole, optional=True),
        private=reader.get("PrivateData", _small_words, optional=True),
        absent=tuple(key for key in reader.absent if not (basic and key.startswith("Priority"))),
        unclear=tuple(reader.unclear),
    )


def read_json_settings(values: Mapping[str, str], release: str) -> Settings:
    """Return the settings in slurmrestd's ``conf``, which lacks the release and prints a flag for the default."""
    settings = read_settings(values)
    version = settings.version or release or None
    return replace(settings, version=version, priority_flags=settings.priority_flags - {"FAIR_TREE"})


class _Reader:
    """Values by key, in any case, and the keys that were missing or unreadable."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = {key.lower(): value for key, value in values.items()}
        self.absent: list[str] = []
        self.unclear: list[str] = []

    def text(self, key: str) -> str | None:
        return self.values.get(key.lower())

    def get(self, key: str, reader: Callable[[str], T], *, optional: bool = False) -> T | None:
        text = self.text(key)
        if text is None and not optional:
            self.absent.append(key)
        return self.value(key, text, reader)

    def value(self, key: str, text: str | None, reader: Callable[[str], T]) -> T | None:
        if text is None:
            return None
        try:
            return reader(text)
        except BadInput:
            self.unclear.append(key)
            return None

    def memory(self, kind: str) -> tuple[int | None, int | None]:
        """Return MB per CPU and per node, of which at most one is set (slurm.conf(5), DefMemPerCPU)."""
        found: dict[str, int | None] = {}
        for per in ("CPU", "Node"):
            text = self.text(f"{kind}MemPer{per}")
            known = text is not None and text not in NOTHING and text.strip() != "0"
            found[per] = self.value(f"{kind}MemPer{per}", text if known else None, megabytes) or None
        return found["CPU"], found["Node"]


def seconds(text: str) -> int | None:
    """Return the seconds in ``2 sec``, ``5 min`` or ``7-00:00:00``; None for no limit."""
    found = _UNIT.fullmatch(text.strip())
    if found is not None and found[2] in _UNITS:
        return int(found[1]) * _UNITS[found[2]]
    return duration(text)


def _plain(text: str) -> str:
    """Return the name of a plug-in: ``multifactor`` for ``priority/multifactor``; ``none`` if empty."""
    return "none" if text.strip() in NOTHING else text.strip().rpartition("/")[2].lower()


def _none(text: str) -> str:
    return "" if text.strip() in NOTHING else text.strip()


def _yes(text: str) -> bool:
    if text.strip().lower() not in ("yes", "no", "1", "0", "true", "false"):
        raise BadInput(f"{text!r} is neither yes nor no")
    return text.strip().lower() in ("yes", "1", "true")


def _small_words(text: str) -> frozenset[str]:
    return frozenset(one.lower() for one in words(text))


def _enforced(text: str) -> str:
    value = {"YES": "ALL"}.get(text.strip().upper(), text.strip().upper())
    if value not in ("NO", "ANY", "ALL"):
        raise BadInput(f"{text!r} is not one of NO, ANY and ALL")
    return value
