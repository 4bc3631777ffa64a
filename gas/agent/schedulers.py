"""Schedulers by name, from the configuration or the local Slurm, and their answers for each account and QOS.

A list is valid at the instant when it was made. A list in a file may be from yesterday, or from tomorrow by another
clock: Gas uses it if it is less than an hour away from now. An answer of a live scheduler must be less than a minute
away from now. S³ makes its list when queried, by its own clock, which may run ahead by design (``gas serve
--clock-speed``): for S³, the age of the answer according to HTTP counts (`gas.endpoints.s3`), not the instant of the
list.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from documents.fields import FieldError
from gas.availability import Availability
from gas.endpoints import Answer, Endpoint, FileEndpoint, JobEndpoint, ask
from gas.endpoints.asking import ask_again
from gas.endpoints.endpoint import Choosing
from gas.errors import BadInput, GasError, Unreachable
from gas.planner import Limits
from gas.times import duration_text, iso_time

if TYPE_CHECKING:  # imported where it is read: planning on a file does not need it
    from gas.endpoints import Configuration

__all__ = [
    "MOST_APART_IN_A_FILE",
    "MOST_APART_LIVE",
    "ArrayEndpoint",
    "Scheduler",
    "called",
    "chosen_endpoints",
    "find_by_key",
    "gather",
    "identity_of",
    "job_endpoint",
    "job_endpoints",
    "job_of",
    "lists_of",
    "seconds_since",
    "why_old",
    "without_stale",
]

Scheduler = Endpoint | tuple[str, Exception]
"""An endpoint, or the name of one that could not be set up, with the error."""

# --------------------------------------------------------------------------------------------------------- by name


def chosen_endpoints(
    names: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
    config: Path | None = None,
    *,
    slurm_here: bool = False,
) -> list[Scheduler]:
    """Return the named schedulers, or else all in the configuration.

    An endpoint that cannot be set up is returned as its name and the error, so that the others can still be used.

    Parameters
    ----------
    slurm_here
        A Slurm job script will run: report it if there is no Slurm.

    Raises
    ------
    Unreachable
        None is named, there is no configuration, and the local Slurm does not answer.
    """
    given, lists = [_address(name) for name in names or []], list(files or [])
    if lists.count("-") > 1:
        raise BadInput("--availability -: standard input can be read only once")
    named = bool(given)
    asks = not (named or lists) or any("://" not in name for name in given)
    configuration, known = _configuration(config) if asks else (None, None)
    if configuration is not None and not named and not lists:
        given = configuration.names
        if not given:
            raise BadInput(_none_configured(configuration, slurm_here=slurm_here))
    chosen: list[Scheduler] = []
    of_slurm: list[Any] = []
    alone = bool(names) and len(set(given)) == 1  # then $GAS_TOKEN is for it
    for name in dict.fromkeys(given):
        if configuration is None or "://" in name:
            chosen.append(_s3(name, [other for other in given if other != name]))
            continue
        table = configuration.tables.get(_plain(name, configuration))
        try:
            made = _made(configuration, name, alone=alone)
            chosen.append(made)
            if table is not None and table["type"] == "slurm":
                made.named = named
                of_slurm.append(made)
        except (GasError, FieldError) as error:
            if table is None:
                raise
            chosen.append((name, error))
    chosen += [FileEndpoint(path, path) for path in dict.fromkeys(lists)]
    if len(of_slurm) > 1 or (of_slurm and known is not None):
        from gas.endpoints.slurm.discovery import share_queries

        share_queries(of_slurm, known)
    return chosen


def _none_configured(configuration: Configuration, *, slurm_here: bool) -> str:
    """Return the advice for a call that names no scheduler, without a configuration."""
    if configuration.path is not None:
        return (
            f"{configuration.path}: names no scheduler; write an [endpoints.NAME] into it (`gas endpoints --help` "
            "shows how), or give one with -e NAME or URL"
        )
    from gas.endpoints.slurm.discovery import is_here

    lacks = "sbatch and scontrol find no slurm.conf" if is_here() else "no scontrol and sbatch in PATH"
    if slurm_here:
        return f"there is no Slurm here ({lacks}); give a scheduler with -e NAME or URL"
    cause = f"; there is no Slurm here ({lacks})" if is_here() else ""
    return f"no scheduler given: use -e NAME or URL, or write a gas.toml (`gas endpoints --help` shows how){cause}"


def _configuration(explicit: Path | None) -> tuple[Configuration, Any]:
    """Return the configuration; without a file, a configuration of the local Slurm's partitions, and its answers.

    Raises
    ------
    Unreachable
        There is no file, and the local Slurm does not answer.
    """
    from gas.endpoints import Configuration, load_configuration

    found = load_configuration(explicit)
    if found.path is not None:
        return found, None
    from gas.endpoints.slurm.discovery import UNCONFIGURED, here, is_here

    if not is_here():
        return found, None
    try:
        tables, cluster = here()
    except Unreachable as error:
        if UNCONFIGURED in str(error):
            return found, None
        raise Unreachable(f"{error} (there is no gas.toml that names another scheduler)") from None
    return Configuration(None, tables), cluster


_CHOICE = re.compile(r"\+(?=(?:account|qos)=)")
"""Separators before an account or a QOS in the name of a plan's scheduler: ``kth+qos=high``."""


def _plain(name: str, configuration: Configuration) -> str:
    """Return the configured name of a scheduler, of which one account or QOS may be named too."""
    return name if name in configuration.tables else _CHOICE.split(name)[0]


def _made(configuration: Configuration, name: str, *, alone: bool) -> Endpoint:
    """Return a scheduler by name, with the account and the QOS in it: ``kth+qos=high``."""
    plain = _plain(name, configuration)
    made = configuration.endpoint(plain, alone=alone)
    if plain == name:
        return made
    if not isinstance(made, Choosing):
        raise BadInput(f"-e {name}: {plain} has no accounts and QOS to choose from")
    return made.chosen(_CHOICE.split(name)[1:])


def _address(name: str) -> str:
    """Return an address in one form, so that one scheduler has one name."""
    if "://" in name:
        return name.rstrip("/")
    if name.partition(":")[0] in ("localhost", "127.0.0.1"):
        raise BadInput(f"-e {name}: is an address without a scheme; write http://{name}")
    return name


def _s3(address: str, rivals: Sequence[str] = ()) -> Endpoint:
    """Return the S³ at an address; `rivals` are other schedulers to which a token of the environment may belong."""
    from gas.endpoints import S3Endpoint
    from gas.endpoints.access import Access

    return S3Endpoint(address, address, access=Access.of(address, rivals=rivals))


def job_endpoint(name: str | None, config: Path | None) -> JobEndpoint:
    """Return the named scheduler, or the only one in the configuration; it must accept jobs.

    Any partition of a Slurm knows the jobs of all its partitions.

    Raises
    ------
    Unreachable
        There is no configuration, and the local Slurm does not answer.
    """
    by_address = name is not None and "://" in name
    configuration, here = (None, None) if by_address else _configuration(config)
    if name is None:
        assert configuration is not None, "there is no address"
        if not configuration.names or (here is None and not _one_slurm(configuration)):
            known = f" ({', '.join(configuration.names)})" if configuration.names else ""
            raise BadInput(f"which scheduler? Name it with -e NAME or URL, or set GAS_ENDPOINT{known}")
        name = configuration.names[0]
    name = _address(name)
    endpoint = _s3(name) if configuration is None else _made(configuration, name, alone=True)
    if not isinstance(endpoint, JobEndpoint):
        raise BadInput(f"{name}: accepts no jobs; it is only an availability list")
    return endpoint


def _one_slurm(configuration: Configuration) -> bool:
    """Return whether there is only one scheduler; partitions of one Slurm count once, as each knows the jobs of all."""
    tables = list(configuration.tables.values())
    places = {tuple(table.get(key) for key in ("type", "url", "slurm_conf", "folder")) for table in tables}
    return len(tables) == 1 or (len(places) == 1 and all(table.get("type") == "slurm" for table in tables))


def job_endpoints(names: Sequence[str] | None, config: Path | None) -> list[JobEndpoint | tuple[str, Exception]]:
    """Return the schedulers that accept jobs: the named ones, or else all in the configuration.

    One that cannot be set up is returned as its name and the error.
    """
    chosen = chosen_endpoints(names, None, config)
    usable = [e for e in chosen if isinstance(e, tuple | JobEndpoint)]
    if names and len(usable) < len(chosen):
        none = next(e for e in chosen if not isinstance(e, tuple | JobEndpoint))
        raise BadInput(f"{none.name}: accepts no jobs; it is only an availability list")
    if not usable:
        raise BadInput("which scheduler? None in the configuration accepts jobs; give one with -e NAME or URL")
    return usable


@runtime_checkable
class ArrayEndpoint(JobEndpoint, Protocol):
    """A scheduler with job arrays."""

    def task(self, array: int, task: int) -> int:
        """Return the number of the job of one task, which is that of the array while it waits; may raise `NotFound`."""


def job_of(text: str, endpoint: str | None, config: Path | None, *, tasks: bool = False) -> tuple[JobEndpoint, int]:
    """Return the scheduler and number of a job written ``12``, ``kth:12`` or ``http://127.0.0.1:8642:12``.

    Parameters
    ----------
    tasks
        Whether one task of a Slurm job array may be named (``12_3``). While it waits, it has the number of the array,
        so commands that change jobs refuse it.
    """
    where, separator, number = text.rpartition(":")
    if separator and endpoint is not None and where != endpoint:
        raise BadInput(f"job {text}: names the scheduler {where}, but -e names {endpoint}; give it once")
    array, underscore, task = number.partition("_")
    if not _is_number(array) or int(array) == 0 or (underscore and not _is_number(task)):
        raise BadInput(f"job {text!r}: is not a job; write NUMBER or SCHEDULER:NUMBER")
    if underscore and not tasks:
        raise BadInput(
            f"job {text}: is a task of a job array, which only gas status, gas why and gas logs take; name the whole "
            f"array ({array}), or use Slurm's commands"
        )
    found = job_endpoint(where if separator else endpoint, config)
    if not underscore:
        return found, int(array)
    if not isinstance(found, ArrayEndpoint):
        raise BadInput(f"job {text}: is a task of a job array, but {found.name} is not a Slurm; write NUMBER")
    return found, found.task(int(array), int(task))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


# ----------------------------------------------------------------------------------------------------------- asked

MOST_APART_IN_A_FILE = 3600
MOST_APART_LIVE = 60
"""Seconds between the instant of a list and the present."""


def gather(schedulers: Sequence[Scheduler], *, choices: bool = True, stale_ok: bool = False) -> list[Answer]:
    """Return the answers of schedulers in the given order, then the answers for their other accounts and QOS.

    Parameters
    ----------
    choices
        Whether to query those other accounts and QOS.
    stale_ok
        Whether to accept lists of any time.
    """
    usable = iter(ask([e for e in schedulers if not isinstance(e, tuple)]))
    answers = [Answer(_Broken(e[0]), None, e[1], 0.0) if isinstance(e, tuple) else next(usable) for e in schedulers]
    answers += _with_choices(answers) if choices else []
    if seconds_since(answers) > MOST_APART_LIVE:  # expired while another one was waited for
        answers = ask_again(answers)
    return without_stale(answers, time.time(), time.monotonic(), stale_ok=stale_ok)


def _with_choices(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers for other accounts and QOS with which the schedulers accept jobs."""
    others = [one for answer in answers if answer.availability is not None for one in answer.endpoint.choices()]
    return [one for one in ask(others) if one.error is None] if others else []


def seconds_since(answers: Sequence[Answer]) -> float:
    """Return the age of the oldest answer of a live scheduler; 0 if there is none."""
    live = [a.at for a in answers if a.availability is not None and not isinstance(a.endpoint, FileEndpoint)]
    return time.monotonic() - min(live) if live else 0.0


def without_stale(answers: Sequence[Answer], present: float, clock: float, *, stale_ok: bool = False) -> list[Answer]:
    """Return the answers, with an error in place of each stale list.

    If there are live schedulers, their lists must be from the present time, despite `stale_ok`. Otherwise, with a list
    from last week, occupied processors would count as free, and with a list from next week, Gas would plan the live
    schedulers for next week.

    Parameters
    ----------
    present
        Epoch second of this machine's clock.
    clock
        The same instant by `time.monotonic`.
    stale_ok
        Whether to accept lists of any time.
    """
    live = [a.availability.now for a in answers if a.availability is not None and isinstance(a.endpoint, JobEndpoint)]
    return [
        _of_the_present(answer, round(present - (clock - answer.at)), max(live, default=None), stale_ok=stale_ok)
        for answer in answers
    ]


def _of_the_present(answer: Answer, answered: int, of_live: int | None, *, stale_ok: bool) -> Answer:
    """Check one list, which arrived at the epoch second `answered`."""
    if answer.availability is None or answer.endpoint.keeps_own_clock:
        return answer
    now = answer.availability.now
    what = f"{answer.name}: as of {iso_time(now)}, "
    if isinstance(answer.endpoint, JobEndpoint):
        old = why_old(answer.name, now, answered, answer.seconds)
        if stale_ok or old is None:
            return answer
        return replace(answer, availability=None, error=Unreachable(old))
    if of_live is not None:
        if abs(now - of_live) <= MOST_APART_IN_A_FILE:
            return answer
        problem = f"{what}{_apart(now, of_live)} the live schedulers; left out"
    else:
        if stale_ok or abs(now - answered) <= MOST_APART_IN_A_FILE:
            return answer
        problem = (
            f"{what}{_apart(now, answered)} this machine's clock; a list is valid for "
            f"{duration_text(MOST_APART_IN_A_FILE)}: fetch a new one (gas availability --json), or add --stale-ok"
        )
    return replace(answer, availability=None, error=BadInput(problem))


def why_old(name: str, now: int, answered: int, seconds: float = 0.0) -> str | None:
    """Return why the list of a live scheduler is stale, and the remedy; None if it is not stale.

    Parameters
    ----------
    now
        The instant of the list.
    answered
        The epoch second at which it arrived.
    seconds
        Duration of the query.
    """
    nearest = min(max(now, answered - math.ceil(seconds)), answered)
    if abs(now - nearest) <= MOST_APART_LIVE:
        return None
    return (
        f"{name}: as of {iso_time(now)}, {_apart(now, nearest)} this machine's clock, so its plans are old or the "
        "clocks differ; add --stale-ok to use them anyway"
    )


def _apart(now: int, present: int) -> str:
    return f"{duration_text(abs(now - present))} {'ahead of' if now > present else 'behind'}"


def lists_of(answers: Sequence[Answer]) -> list[Availability]:
    """Return the availability lists of the schedulers that answered, or raise `Unreachable`."""
    found = [a.availability for a in answers if a.availability is not None]
    if not found:
        raise Unreachable("no scheduler answered")
    return found


def called(endpoint: Endpoint) -> str:
    """Return the name of a scheduler in the configuration; its own name also contains a fixed account or QOS."""
    return endpoint.configured_as or endpoint.name


def identity_of(endpoint: Endpoint) -> str | None:
    """Return what is the same for each address of a scheduler; None if it does not answer."""
    with suppress(GasError):
        return endpoint.identity()
    return None


def find_by_key(schedulers: Sequence[Scheduler], key: str) -> tuple[JobEndpoint, dict[str, Any]] | None:
    """Return the scheduler that has a job with this key, and the job; None if there is none.

    Raises
    ------
    Unreachable
        No scheduler that answers has the job, and at least one does not answer.
    """
    silent: list[str] = []
    for endpoint in schedulers:
        try:
            if isinstance(endpoint, tuple):
                raise endpoint[1]
            if isinstance(endpoint, JobEndpoint) and (job := endpoint.job_by_key(key)) is not None:
                return endpoint, job
        except (GasError, FieldError) as error:
            silent.append(str(error))
    if silent:
        raise Unreachable(f"it is not known whether there is a job with the key {key}: {'; '.join(silent)}")
    return None


@dataclass(frozen=True)
class _Broken(Endpoint):
    """A placeholder for an endpoint that could not be set up."""

    name: str
    address: str = ""
    limits: Limits = Limits()  # noqa: RUF009  # frozen

    def availability(self) -> Any:
        raise NotImplementedError
