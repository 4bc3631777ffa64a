"""Python values for applications, schedulers, instants, durations and shares, and their conversion.

Any value of a user is checked; the errors of unusable values are in words.
"""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from documents.fields import Unusable
from gas.agent.options import Instant, percentage
from gas.agent.schedulers import Scheduler, chosen_endpoints
from gas.application import Application
from gas.availability import Availability, AvailabilityList, NodeAvailability
from gas.endpoints import Endpoint, FileEndpoint
from gas.errors import BadInput, GasError
from gas.planner import Limits
from gas.reading import read_application
from gas.times import LONGEST, parse_duration

if TYPE_CHECKING:  # planning without predictions needs none of it
    from gas.prediction.history import History

__all__ = [
    "ApplicationLike",
    "Duration",
    "ListEndpoint",
    "SchedulerLike",
    "Share",
    "When",
    "all_at_hand",
    "application_of",
    "gas_errors_alone",
    "history_of",
    "instant_of",
    "schedulers_of",
    "seconds_of",
    "share_of",
]

When = datetime | timedelta | str | int | Instant
"""``datetime`` (local unless it names a zone), ``timedelta`` from now, text as on the command line, epoch seconds."""

Duration = timedelta | str | int
"""``timedelta``, text as on the command line ("4h"), or seconds."""

Share = float | str
"""0.05 or "5%"."""

ApplicationLike = Application | str | os.PathLike[str] | Mapping[int, Duration]
"""An application, its file, or the walltime of each size."""

SchedulerLike = Endpoint | Availability | str | os.PathLike[str]
"""An endpoint, an availability list, its file, the address of an S³, or a name in the configuration."""


@dataclass(frozen=True)
class ListEndpoint(FileEndpoint):
    """An availability list in memory, as an endpoint: Gas can plan with it, but it accepts no jobs."""

    held: Availability = field(kw_only=True)

    def availability(self) -> Availability:  # type: ignore[override]  # also of nodes
        """Return the list."""
        return self.held


@contextmanager
def gas_errors_alone() -> Iterator[None]:
    """Turn errors in files and models into `BadInput`, so that `GasError` covers all errors.

    The messages name the Python keywords instead of options of the command line.
    """
    try:
        yield
    except GasError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (_of_python(error.args[0]), *error.args[1:])
        raise
    except Unusable as error:
        raise BadInput(_of_python(str(error))) from None


_KEYWORDS = (
    (r"-e NAME or URL", "schedulers=NAME or URL"),
    (r"--stale-ok\b", "stale_ok=True"),
    (r"--predict FILE", "predict=FILE"),
    (r"--(predict|deadline|tolerance|algorithm|risk|sure|samples|key|config)\b(?!=)", r"\1"),
    (r"--not-before\b", "not_before"),
    (r"--max-processor-hours\b", "max_processor_hours"),
    (r"-e (?=\S)", "schedulers="),
)
"""Options, and what Python says in their place."""


def _of_python(text: str) -> str:
    """Return a message with the options of the command line as keywords; the command lines in it stay as they are."""
    parts = re.split(r"(; |: |, or | \()", text)
    for at, part in enumerate(parts):
        if not re.search(r"\bgas [a-z]", part):
            for option, keyword in _KEYWORDS:
                parts[at] = re.sub(rf"(?<![\w-]){option}", keyword, parts[at])
    return "".join(parts)


def application_of(given: object) -> Application:
    """Return the application; walltimes by size become an application that runs exactly this long."""
    if isinstance(given, Application):
        return given
    if isinstance(given, str | os.PathLike):
        return read_application(os.fspath(given))
    if not isinstance(given, Mapping):
        raise BadInput(
            f"application {_shown(given)}: write the name of its file, an Application, or a walltime for each size, as "
            'in {16: "4h", 64: "1h30m"}'
        )
    if not given:
        raise BadInput("application {}: has no sizes; write a walltime for each, as in {16: '4h', 64: '1h30m'}")
    from speedup_models import Table

    times: dict[int, float] = {}
    for size, walltime in given.items():
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or int(size) < 1:
            raise BadInput(f"application: size {_shown(size)}: must be a whole number of processors, at least 1")
        times[int(size)] = float(seconds_of(walltime, f"walltime of {size}"))
    return Application(Table.of(times), safety=1.0)


def schedulers_of(
    given: object,
    *,
    config: str | os.PathLike[str] | None = None,
    limits: Mapping[str, Limits] | None = None,
) -> list[Scheduler]:
    """Return the schedulers, those with a name or an address first; None means all in the configuration.

    A text with ``://`` is the address of an S³. A text that ends in ``.json``, contains a ``/`` or is ``-`` names a
    file. Any other text is a name in the configuration.

    Parameters
    ----------
    limits
        Of availability lists, by the name of their scheduler.
    """
    if config is not None and not isinstance(config, str | os.PathLike):
        raise BadInput(f"config {_shown(config)}: write the name of the file")
    path = None if config is None else Path(config)
    if given is None:
        _check_limits(limits, [])
        return chosen_endpoints(os.environ.get("GAS_ENDPOINT", "").split() or None, None, path)
    if isinstance(given, Endpoint | AvailabilityList | NodeAvailability | str | os.PathLike):
        given = [given]
    if not isinstance(given, Iterable):
        raise BadInput(f"scheduler {_shown(given)}: {_SCHEDULERS}")
    given = list(given)
    _check_limits(limits, [one.scheduler for one in given if isinstance(one, AvailabilityList | NodeAvailability)])
    names: list[str] = []
    others: list[Scheduler] = []
    for one in given:
        if isinstance(one, AvailabilityList | NodeAvailability):
            name = one.scheduler
            others.append(ListEndpoint(name, f"list of {name}", (limits or {}).get(name, Limits()), held=one))
        elif isinstance(one, os.PathLike) or (isinstance(one, str) and _names_a_file(one)):
            others.append(FileEndpoint(os.fspath(one), os.fspath(one)))
        elif isinstance(one, str):
            names.append(one)
        elif isinstance(one, Endpoint):
            others.append(one)
        else:
            raise BadInput(f"scheduler {_shown(one)}: {_SCHEDULERS}")
    if not names and not others:
        raise BadInput("no scheduler to plan with; give at least one, or leave it out for those of the configuration")
    return [*(chosen_endpoints(names, None, path) if names else []), *others]


def _check_limits(limits: object, lists: Sequence[str]) -> None:
    """Refuse limits that would apply to nothing: a plan without them could have a request that is not allowed."""
    if not limits:
        return
    if not isinstance(limits, Mapping) or not all(isinstance(one, Limits) for one in limits.values()):
        raise BadInput(
            f'limits {_shown(limits)}: write Limits for each list, as in {{"kth": Limits(max_walltime=3600)}}'
        )
    for name in limits:
        if name not in lists:
            known = f"there are {', '.join(lists)}" if lists else "no scheduler is given as one"
            raise BadInput(
                f"limits: no availability list is called {_shown(name)} ({known}); the limits of all other schedulers "
                "belong in the configuration"
            )


_SCHEDULERS = "write an endpoint, an availability list, its file, the address of an S³, or a name in gas.toml"


def _names_a_file(text: str) -> bool:
    return "://" not in text and (text == "-" or "/" in text or text.endswith(".json"))


def all_at_hand(schedulers: Sequence[Scheduler]) -> bool:
    """Return whether all schedulers are availability lists in memory, whose time the program knows."""
    return all(isinstance(one, ListEndpoint) for one in schedulers)


def instant_of(given: object, what: str) -> Instant | None:
    """Return an instant; None stays None."""
    if given is None or isinstance(given, Instant):
        return given
    if isinstance(given, str):
        return Instant.parse(given, what)
    if isinstance(given, datetime):
        try:
            return Instant.parse(f"@{math.ceil(given.timestamp())}", what)
        except (BadInput, OverflowError, OSError, ValueError):  # ValueError: pandas' NaT, and years out of range
            raise BadInput(f"{what} {given}: is not a time after 1970") from None
    if isinstance(given, timedelta):
        return Instant.parse(f"+{seconds_of(given, what, minimum=0)}s", what)
    if isinstance(given, date):
        raise BadInput(f"{what} {given}: is a date without a time; write datetime({given.year}, {given.month}, ...)")
    if not isinstance(given, bool) and isinstance(given, numbers.Integral):
        return Instant.parse(f"@{int(given)}", what)
    raise BadInput(
        f'{what} {_shown(given)}: write a datetime, a timedelta from now, text such as "18:30" or "+2h", or whole '
        "epoch seconds"
    )


def seconds_of(given: object, what: str, *, minimum: int = 1) -> int:
    """Return a duration in whole seconds, rounded up."""
    if isinstance(given, str):
        return parse_duration(given, what, minimum=minimum)
    if isinstance(given, timedelta):
        try:
            seconds = math.ceil(given.total_seconds())
        except ValueError:  # pandas' NaT
            raise BadInput(f"{what} {given}: is not a duration") from None
    elif not isinstance(given, bool) and isinstance(given, numbers.Integral):
        seconds = int(given)
    else:
        raise BadInput(f'{what} {_shown(given)}: write a timedelta, text such as "4h", or whole seconds')
    if not minimum <= seconds <= LONGEST:
        raise BadInput(f"{what} {given}: must be from {minimum} s to {LONGEST} s (136 years)")
    return seconds


def share_of(given: object, what: str) -> float:
    """Return a share, from 0 to 1."""
    if isinstance(given, str):
        return percentage(given, what)
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        raise BadInput(f'{what} {_shown(given)}: write 0.05 or "5%"')
    number: Any = given
    if not 0 <= number <= 1:  # before float: an integer may be above all of them
        share = min(max(number, -1e300), 1e300)
        meant = f'; for {share:g}% write "{share:g}%"' if 1 < share <= 100 else ""
        raise BadInput(f"{what} {share:g}: must be from 0 to 1 (0.05 is 5%){meant}")
    return float(number)


def history_of(given: object) -> History:
    """Return the past of a machine, from a log or from a file in any format of logs, including the output of sacct."""
    from gas.prediction.history import History
    from workloads import Log
    from workloads.formats import read_log_file
    from workloads.sacct import read_sacct
    from workloads.sacct_header import is_sacct

    if isinstance(given, History):
        return given
    if isinstance(given, Log):
        return History.of_log(given)
    if not isinstance(given, str | os.PathLike):
        raise BadInput(f'predict {_shown(given)}: write "auto", the name of a log, a Log or a History')
    path = Path(given)
    try:
        if is_sacct(path):
            return History.of_accounting(read_sacct(path, lenient=True))
        return History.of_log(read_log_file(path, lenient=True), name=path.name)
    except OSError as error:
        raise BadInput(f'predict {path}: cannot be read: {error.strerror}; give a log, or write "auto"') from None


def _shown(given: object) -> str:
    """Return what was given, short enough for a message."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."
