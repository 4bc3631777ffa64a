"""The scenarios of a replay: policies, machine sizes, walltimes, and shares of moldable jobs, one change at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from experiments.framework.files import log_of_file
from experiments.framework.ledger import Configuration
from experiments.framework.logs import Found, load_log
from experiments.replay.run import CORRECTED, PERFECT, RECORD, REQUESTED, selected_part
from gas.errors import BadInput
from gas.policies.finding import OwnPolicy, find_policies
from gas.simulation.schedule import Policy
from workloads import Overrun
from workloads.sacct_header import Unit

__all__ = ["BASE", "EASY", "Asked", "Options", "Scenario", "scenarios"]

EASY: Final = "easy"

_FACTOR = re.compile(r"f=([0-9]+(?:\.[0-9]+)?)")
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Asked:
    """The requested changes, as a user writes them: values separated by commas."""

    policy: str = "easy,conservative,s3"
    machine: str = "80%,120%"
    walltimes: str = "perfect,f=2,corrected"
    moldable: str = "30%"

    def options(self, file: Path, *more: Any) -> Options:
        """Return the checked options.

        Raises
        ------
        BadInput
            A value is not possible.
        """
        known = [_checked_walltimes(word) for word in _words(self.walltimes)]
        shares = [_share(word) for word in _words(self.moldable)]
        return Options(
            tuple(find_policies([self.policy])),
            _words(self.machine),
            tuple(one for one in known if one != REQUESTED),
            tuple(one for one in shares if one),
            file,
            *more,
        )


BASE: Final = Asked()
"""The defaults of the options."""


@dataclass(frozen=True)
class Options:
    """What a user chose."""

    policies: tuple[Policy | OwnPolicy, ...]
    machine: tuple[str, ...]
    walltimes: tuple[str, ...]
    moldable: tuple[int, ...]
    file: Path
    processors: int | None = None
    overrun: Overrun = "extend"
    unit: Unit = "cpus"
    months: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    seed: int = 0
    seeds: int = 3

    @cached_property
    def log(self) -> Found:
        """The log; its machine is the one that all others are compared with."""
        return log_of_file(self.file, unit=self.unit, processors=self.processors)

    @property
    def selection(self) -> dict[str, Any]:
        """Which of the log's jobs take part."""
        return {"months": list(self.months), "since": self.since, "until": self.until}

    @property
    def sizes(self) -> list[int]:
        """Processors of the other machines.

        Raises
        ------
        BadInput
            A value is not a size.
        """
        base = self.log.source.processors
        return [size for size in dict.fromkeys(_size(word, base) for word in self.machine) if size != base]


@dataclass(frozen=True)
class Scenario:
    """One simulation, or the record.

    Attributes
    ----------
    policy
        None for the record.
    walltimes
        "requested", "perfect" (the run times), "f=2" (uniform between the run time and twice that) or "corrected" by
        history.
    moldable
        Percentage of the jobs.
    """

    log: Found
    options: Options
    policy: Policy | OwnPolicy | None
    processors: int
    walltimes: str = REQUESTED
    moldable: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of its policy."""
        return RECORD if self.policy is None else str(self.policy)

    @property
    def is_base(self) -> bool:
        """Whether only the policy is changed."""
        same = self.processors == self.log.source.processors
        return same and self.walltimes == REQUESTED and not self.moldable

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        own = None
        if isinstance(self.policy, OwnPolicy):
            own = {"named": self.policy.named, "version": self.policy.version()}
        return {
            "log": self.log.sha256,
            "unit": self.options.unit,
            "selection": self.options.selection,
            "overrun": self.options.overrun,
            "base": self.log.source.processors,
            "processors": self.processors,
            "policy": self.name,
            "own": own,
            "walltimes": self.walltimes,
            "moldable": self.moldable,
            "seed": self.seed,
        }


def scenarios(options: Options, logs: Sequence[Found]) -> tuple[list[Scenario], list[str]]:
    """Return all scenarios, and which are left out with reasons."""
    (log,) = logs
    if not len(selected_part(load_log(log.path, log.sha256, options.unit), **options.selection)):
        raise BadInput(f"{options.file}: no job is selected; choose other dates")
    base = Scenario(log, options, None, log.source.processors)
    found, without = [base], []
    for policy in options.policies:
        own = isinstance(policy, OwnPolicy)
        here = replace(base, policy=policy)
        found.append(here)
        found += [replace(here, processors=size) for size in options.sizes]
        for kind in options.walltimes:
            if kind == CORRECTED and policy != EASY:
                without.append(f"{policy} with corrected walltimes, which are defined for EASY only")
            else:
                found.append(replace(here, walltimes=kind, seed=options.seed))
        for share in options.moldable:
            if own or policy == "fcfs":
                without.append(f"{policy} with moldable jobs: it publishes no availability list")
            else:
                found += [
                    replace(here, moldable=share, seed=seed)
                    for seed in range(options.seed, options.seed + options.seeds)
                ]
    return found, without


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _checked_walltimes(word: str) -> str:
    if word in (REQUESTED, PERFECT, CORRECTED):
        return word
    match = _FACTOR.fullmatch(word)
    if match is None or not 1 <= float(match[1]) <= 1000:
        raise BadInput(f"--walltimes {word}: is not known; known: requested, perfect, corrected, f=2 (or 1 to 1000)")
    return f"f={float(match[1]):g}"


def _share(word: str) -> int:
    number = word.removesuffix("%")
    if not (number.isascii() and number.isdigit() and len(number) <= 3 and int(number) <= 100):
        raise BadInput(f"--moldable {word}: must be a share of the jobs from 0% to 100%, in whole per cent")
    return int(number)


def _size(word: str, base: int) -> int:
    match = re.fullmatch(r"([0-9]{1,10}(?:\.[0-9]+)?)(%?)", word)
    size = 0 if match is None else round(base * float(match[1]) / 100) if match[2] else int(float(match[1]))
    if not 1 <= size <= _LARGEST:
        raise BadInput(f"--machine {word}: must be a number of processors, or a share such as 80% of the log's {base}")
    return size
