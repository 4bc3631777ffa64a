"""A study as a value: its question, its logs, how results are computed, and what is written.

`perform` does the rest in the same way for all studies: it finds the logs, computes missing results, writes the report,
the tables and their cost, and prints which statements hold.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from experiments.framework.claims import Claim
from experiments.framework.console import tell, tell_claims
from experiments.framework.execution import computed, part_of, write_cost
from experiments.framework.files import studied_log
from experiments.framework.ledger import Configuration, Result
from experiments.framework.logs import SOURCES, Found, Source, find_logs, jobs_by_month
from experiments.framework.origin import Origin, origin_of
from experiments.framework.records import Records, Written, columns_section, files_of
from gas.cli.logs import courtesy
from gas.cli.tables import note
from gas.errors import BadInput, Missing
from gas.report.blocks import Report
from gas.report.printing import print_page
from gas.report.rendering import template, write, write_files

__all__ = [
    "AtHand",
    "Chosen",
    "Computed",
    "HasConfiguration",
    "Study",
    "Where",
    "command_of",
    "logs_at_hand",
    "perform",
]


class HasConfiguration(Protocol):
    """A run of a study."""

    @property
    def configuration(self) -> Configuration:
        """What determines its result."""
        ...


class HasDone(Protocol):
    """The results of a study."""

    @property
    def done(self) -> Sequence[tuple[str, Configuration, Result]]:
        """Everything that was computed: a log, a configuration and its result.

        The result counts its "jobs" and, if any are moldable, the "moldable" ones or their "outcomes".
        """
        ...


@dataclass(frozen=True)
class AtHand:
    """The logs that a study requests."""

    logs: Sequence[Found]
    missing: Sequence[Source] = ()
    not_chosen: Sequence[Source] = ()
    left_out: Sequence[str] = ()
    """Files that look like one of them but are not used, with reasons."""
    remarks: Sequence[str] = ()
    """On jobs of the user's own logs that are left out, or differ from the record."""

    @property
    def absent(self) -> list[str]:
        """The missing logs, in words."""
        not_chosen = dict.fromkeys(f"{source.trace} was not chosen" for source in self.not_chosen)
        missing = ", ".join(f"{source.stem}-*.swf.gz" for source in self.missing)
        return [*([f"logs not found: {missing}"] if missing else []), *not_chosen]


O = TypeVar("O")  # noqa: E741
R = TypeVar("R", bound=HasConfiguration)
S = TypeVar("S", bound=HasDone)


@dataclass(frozen=True)
class Computed(Generic[O, R]):
    """All runs of a study and their results, in the same order."""

    options: O
    runs: Sequence[R]
    results: Sequence[Result]
    at_hand: AtHand
    left_out: Sequence[str]
    """Parts of logs without a run, with reasons."""

    @property
    def pairs(self) -> list[tuple[R, Result]]:
        """Runs with their results."""
        return list(zip(self.runs, self.results, strict=True))


@dataclass(frozen=True)
class Study(Generic[O, R, S]):
    """A study of the command line.

    A study.py only declares one: several of one shape name different parts, and stand side by side.

    Attributes
    ----------
    name
        Name of the command, and prefix of file names.
    options
        Returns the user's choices. Its parameters are the study's own options of the command line, and its docstring is
        the command's help.
    traces
        Requested logs, by their names in the papers.
    runs
        Returns all runs with some logs, and the omitted parts of these with reasons.
    run
        Returns the result of a configuration, given the paths of the logs as `files`.
    summarise
        Returns the results from which the report is made.
    tables
        Tables of results by file name.
    claims
        Claims, under titles if there are several lists of them.
    headline
        The final message, after the claims; the report's lead if there are none.
    quick
        Values of options for a first look.
    more_logs, named_logs
        Logs that only this study requests, and those whose files were named.
    without_logs
        Whether the study has a part without logs.
    by_month
        Whether its runs are of months, so that months can be chosen.
    own_logs
        Whether it accepts a log of the user, for which no paper has figures.
    failed
        What could not be computed because of the user's input; the command then fails after the report.
    paper
        Whether its report is also printed as PDF if a browser is installed.
    program
        Beginning of its command if that is not ``gas experiment NAME``: then the files of its logs are arguments, and
        there is no option that chooses among known logs.
    """

    name: str
    options: Callable[..., O]
    traces: Collection[str]
    runs: Callable[[O, Sequence[Found]], tuple[Sequence[R], Sequence[str]]]
    run: Callable[..., Result]
    summarise: Callable[[Computed[O, R]], S]
    report: Callable[[S, Origin], Report]
    tables: Mapping[str, Records[S]]
    claims: Callable[[S], Mapping[str, Sequence[Claim]]] = lambda _: {}
    headline: Callable[[S], str] = lambda _: ""
    quick: Mapping[str, Any] = field(default_factory=dict)
    more_logs: Sequence[Source] = ()
    named_logs: Callable[[O], Sequence[Found]] = lambda _: ()
    without_logs: bool = False
    by_month: bool = False
    own_logs: bool = False
    failed: Callable[[S], Sequence[str]] = lambda _: ()
    paper: bool = False
    program: str = ""

    @property
    def command(self) -> str:
        """The beginning of its command."""
        return self.program or f"gas experiment {self.name}"

    def takes_few_months(self, chosen: Chosen) -> bool:
        """Return whether a first look should choose months of a log of the user, since nothing else does."""
        whole = self.by_month and bool(self.quick) and "months" not in self.quick
        return whole and chosen.quick and not chosen.months


@dataclass(frozen=True)
class Where:
    """The options of a command that say where things are and who computes; they do not affect results."""

    traces: Path | None
    output: Path
    workers: int | None = None
    shard: str | None = None
    dask: str | None = None


@dataclass(frozen=True)
class Chosen:
    """The logs and months that take part; all if none are named.

    Attributes
    ----------
    logs
        By their names in the papers.
    months
        As ``1996-10``.
    quick
        Whether a first look is requested: at most `QUICK_MONTHS` months of a log of the user.
    """

    logs: Sequence[str] = ()
    months: Sequence[str] = ()
    quick: bool = False

    @property
    def words(self) -> list[str]:
        """The options that make this choice."""
        return [*(f"--log {log}" for log in self.logs), *(f"--month {month}" for month in self.months)]


EVERYTHING: Final = Chosen()

QUICK_MONTHS: Final = 6
"""Number of months in a first look at a log of the user; papers used 4 to 11 of theirs."""


def perform(study: Study[Any, Any, Any], given: Mapping[str, Any], where: Where, chosen: Chosen = EVERYTHING) -> None:
    """Compute a study and write its report; only a part of it if `where` says so.

    Parameters
    ----------
    given
        Values of the study's own options.
    """
    part = part_of(where.shard)
    options = study.options(**given)
    at_hand = logs_at_hand(study, where.traces, study.named_logs(options), chosen)
    runs, left_out = study.runs(options, at_hand.logs)
    if part is None:
        template()  # fail now if the report lacks a requirement, not after hours of computing
    results = computed(
        study.run,
        [run.configuration for run in runs],
        at_hand.logs,
        output=where.output,
        workers=where.workers,
        part=part,
        dask=where.dask,
    )
    if results is not None:
        found = study.summarise(Computed(options, runs, results, at_hand, left_out))
        of_few_months = not chosen.months and any(log.months for log in at_hand.logs)
        origin = origin_of(command_of(study, given, chosen) + " --quick" * of_few_months, study.run)
        report = study.report(found, origin)
        tables = [records.of(name, found) for name, records in study.tables.items()]
        report = replace(report, sections=(*report.sections, columns_section(tables)))
        if chosen.words:
            report = replace(report, banner=f"{report.banner} Restricted to {', '.join(chosen.words)}.".strip())
        for words in at_hand.remarks:
            report = replace(report, banner=f"{report.banner} {words}.".strip())
        _write(study, found, report, tables, where.output)
        if failed := study.failed(found):
            raise BadInput("; ".join(failed))


def _write(study: Study[Any, Any, S], found: S, report: Report, tables: Sequence[Written], output: Path) -> None:
    written = write(report, output, study.name) + write_files(output, files_of(study.name, tables))
    written += write_cost(study.name, study.run, found.done, output=output, command=study.command)
    if report.banner:
        tell(report.banner)
    claims = study.claims(found)
    for title, of_title in claims.items():
        if title:
            tell(f"{title}:")
        tell_claims(of_title)
    if headline := study.headline(found) or ("" if claims else report.lead):
        tell(headline)
    if study.paper:
        try:
            written.append(print_page(output / f"{study.name}.html"))
        except Missing as error:
            note(f"gas: {error}")
    for path in written:
        note(f"gas: {path} written")


def logs_at_hand(
    study: Study[Any, Any, Any], traces: Path | None, named: Sequence[Found] = (), chosen: Chosen = EVERYTHING
) -> AtHand:
    """Return the logs of a study in a folder; report the missing ones, and whom to thank.

    Parameters
    ----------
    named
        Logs whose files were named individually.

    Raises
    ------
    BadInput
        No log is available, one cannot be read, or the choice is impossible.
    """
    if study.own_logs:
        chosen = replace(chosen, logs=[one for log in chosen.logs for one in _each(log)])
    sources = [*study.more_logs, *(source for source in SOURCES if source.trace in study.traces)]
    versions = {log: source.trace for log in chosen.logs for source in sources if source.has(log)}
    chosen = replace(chosen, logs=list(dict.fromkeys(versions.get(log, log) for log in chosen.logs)))
    known = list(dict.fromkeys(source.trace for source in sources))
    files = [trace for trace in chosen.logs if trace not in known and Path(trace).suffix]
    remarks: list[str] = []
    for trace in chosen.logs:
        if trace in files and study.own_logs:
            own, more = studied_log(Path(trace), [*known, *(one.source.trace for one in named)])
            if same := next((one for one in named if one.sha256 == own.sha256), None):
                note(f"gas: left out: {trace}: has the same content as {same.path}")
                continue
            named, remarks = [*named, own], [*remarks, *more]
        elif trace not in known:
            other = (
                ", or a file or a folder"
                if study.own_logs
                else "; gas replay simulates your own log"
                if trace in files
                else ""
            )
            raise BadInput(f"--log {trace}: is not a log of this study; choose from {', '.join(known)}{other}")
    for month in chosen.months:
        if not study.by_month:
            raise BadInput(f"--month {month}: this study simulates whole logs; choose one with --log")
        if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
            raise BadInput(f"--month {month}: is not a month; write it as 1996-10")
    given = [log.source for log in named]
    wanted = [source for source in sources if source not in given and (not chosen.logs or source.trace in chosen.logs)]
    logs, missing, left_out = find_logs(traces, wanted, versions)
    logs = [*named, *logs]
    not_there = AtHand(logs, missing)
    for words in left_out:
        note(f"gas: left out: {words}")
    or_own = ", or study your own with --log FILE" if study.own_logs else ""
    way_out = f"download logs (gas traces get -d DIR NAME) and name their folder (--traces DIR or GAS_TRACES){or_own}"
    where = f" in {traces}" if traces else ""
    if not logs and not study.without_logs:
        stems = ", ".join(source.stem for source in sources)
        raise BadInput(f"no log to study{where}: none of {stems}; {way_out}")
    if not_there.absent:
        note(f"gas: {'; '.join(not_there.absent)}{where}: {way_out}")
    for log in logs:
        if log.others:
            note(f"gas: {_version_taken(log)}")
        if not log.own and (thanks := courtesy(log.header.acknowledgements)):  # else printed on reading
            note(f"log: {log.name}, {thanks}")
    months_of = [(log.name, [*jobs_by_month(log)]) for log in logs if chosen.months]  # reads each log once
    for month in chosen.months:
        if not any(month in months for _, months in months_of):
            spans = "; ".join(_span(name, months) for name, months in months_of)
            raise BadInput(f"--month {month}: no log has jobs of that month; {spans}")
    unwanted = [source for source in sources if source not in given and source not in wanted]
    logs = [replace(log, months=tuple(chosen.months)) for log in logs]
    if study.takes_few_months(chosen):
        for place, log in enumerate(logs):
            if log.own and len(months := jobs_by_month(log)) > QUICK_MONTHS:
                logs[place] = replace(log, months=spread_over(months, QUICK_MONTHS))
                remarks.append(
                    f"{log.path.name}: --quick takes {len(logs[place].months)} of its {len(months)} months "
                    f"({', '.join(logs[place].months)})"
                )
    return AtHand(logs, missing, unwanted, left_out, remarks)


def _span(name: str, months: Sequence[str]) -> str:
    return f"{name} has jobs from {months[0]} to {months[-1]}" if months else f"{name} has none"


def spread_over(months: Mapping[str, int], most: int) -> tuple[str, ...]:
    """Return `most` months, spread evenly over those with at least a quarter of the median number of jobs."""
    least = sorted(months.values())[len(months) // 2] / 4
    enough = [month for month, jobs in months.items() if jobs >= least]
    count = min(most, len(enough))
    return tuple(enough[(2 * i + 1) * len(enough) // (2 * count)] for i in range(count))


def _version_taken(log: Found) -> str:
    """Return which of several versions of a log is used, and how to use another one."""
    why = "newest" if log.cleaned else "as recorded, like the logs in the papers"
    return f"{log.source.trace}: {log.name} is used ({why}); --log {log.others[0]} uses that version"


def _each(log: str) -> list[str]:
    """Return the logs that one word of a command names: those of a folder, or the word itself."""
    folder = Path(log)
    if not folder.is_dir():
        return [log]
    found = sorted(str(path) for path in folder.iterdir() if re.fullmatch(r".+\.swf(\.gz)?", path.name))
    if not found:
        raise BadInput(f"--log {log}: has no file NAME.swf or NAME.swf.gz; give a folder of logs, or one file")
    return found


def command_of(study: Study[Any, Any, Any], given: Mapping[str, Any], chosen: Chosen = EVERYTHING) -> str:
    """Return the command that makes a study again, with TRACES for the folder of the logs.

    It always names numbers; other options only if they differ from the default.
    """
    words = [study.command, *(["--traces TRACES"] if study.traces and not study.program else []), *chosen.words]
    for parameter in inspect.signature(study.options, eval_str=True).parameters.values():
        value, usual = given[parameter.name], parameter.default
        option = parameter.annotation.__metadata__[0]
        if parameter.default is parameter.empty:  # a file
            words.append(str(option.metavar))
            continue
        if isinstance(value, list):
            words += [f"{option.default} {one}" for one in value if value != usual]
            continue
        yes, _, no = str(option.default).partition("/")  # typer takes it as a name in an annotation
        if isinstance(value, bool):
            words += [] if value == usual else [yes if value else no]
        elif isinstance(value, Path):
            words.append(f"{yes} {option.metavar}")
        elif value != usual or isinstance(value, int):
            words.append(f"{yes} {value:g}" if isinstance(value, float) else f"{yes} {value}")
    return " ".join(words)
