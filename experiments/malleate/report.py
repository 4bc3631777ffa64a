"""The report: the effect of each strategy, the losers, and the dependence on settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from experiments.framework.claims import summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.items import is_near
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.sites import Site
from experiments.framework.verdicts import BY_INTERVALS
from experiments.malleate.claims import MALLEABLE, claims
from experiments.malleate.fairness import CLASSES
from experiments.malleate.pictures import draw_changes, draw_shares
from experiments.malleate.recipes import RECIPES
from experiments.malleate.results import AMDAHL, FEWEST_JOBS, FULL_SEEDS, Case, Results, strategy_names
from experiments.malleate.rules import STRATEGIES
from experiments.malleate.run import ON_S3
from experiments.published import Measure, overall
from gas.intervals import Interval, signed, sure
from gas.printable import many
from gas.report.blocks import Bullets, Cell, Column, Picture, Report, Section, Table, Text, fewer, no, not_the_full, yes

__all__ = ["malleate_report"]

_ON_LINES = ("slurm", "oar", "gas", "gas-predicted", "gas-predicted-again", "malleable-own", "malleable-keep")

_IN_SETTINGS = ("gas", "gas-predicted", "gas-predicted-again", MALLEABLE)

_FAIR = ("slurm", "oar", "gas", "gas-predicted", MALLEABLE)

_MEASURES: Mapping[Measure, str] = {"response": "mean response time (s)", "slowdown": "mean bounded slowdown"}

_ADOPTERS = (
    "Adopters are the jobs that choose or change their sizes. The other jobs are rigid, in the same queue under the "
    "same scheduler."
)

_NEAR = 2.0
"""A published figure for rigid jobs is reproduced if ours is within this percentage."""


def malleate_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    sites = [(Site(log.source.trace, study.processors(log), (), 0), log) for log in study.logs]
    sections = (
        _first_look(study),
        summary_section(claims(study), caption=BY_INTERVALS),
        _strategies(),
        _by_share(study),
        _other_means(study),
        _losers(study),
        *_fairness(study),
        _settings(study),
        _baselines(study),
        method_section("experiments.malleate", survey=RECIPES["survey"][0], cost=study.options.cost),
        origin_section(sites, origin),
    )
    less = [*study.missing, fewer(study.options.seeds, FULL_SEEDS, "seed")]
    less += [] if study.options.others else ["other terms were not run"]
    return Report("Mold or malleate?", _lead(study), sections, not_the_full(less))


def _title(name: str) -> str:
    return "Gas under S³, by its promises" if name == ON_S3 else STRATEGIES[name].title


def _most(study: Results) -> int:
    return max(study.percents(study.base))


def _span(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:,.0f}%" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}%"


def _shorter(saved: Sequence[float]) -> str:
    """Return in words by how many per cent means are shorter, or longer if the values are negative."""
    low, high = min(saved), max(saved)
    if round(low) >= 0:
        return f"{_span(saved)} shorter"
    if round(high) <= 0:
        return f"{_span([-value for value in saved])} longer"
    return f"{-low:,.0f}% longer to {high:,.0f}% shorter"


def _lead(study: Results) -> str:
    most = _most(study)
    saved = {
        name: [
            -found.mean for log in study.logs if (found := study.change(Case(log, study.base, most, name))) is not None
        ]
        for name in ("gas-predicted", MALLEABLE)
    }
    shares = [
        100 * found.mean
        for log in study.logs
        if (found := study.share(Case(log, study.base, most, "gas-predicted"), MALLEABLE)) is not None
    ]
    if not study.logs:
        return "No log was simulated."
    if not saved[MALLEABLE]:
        return (
            f"Nothing is compared: no log has a month that was simulated with {FEWEST_JOBS} jobs or more, of which any "
            "took time."
        )
    return (
        "Many parallel programs can run at several sizes (numbers of processors). A rigid job has one size. The size "
        "of a moldable job is chosen before it starts. A malleable job also changes its size while it runs; its "
        "program, its runtime system and the scheduler must be written for that. Gas chooses the size of a moldable "
        "job when it is submitted, and works with existing schedulers. How much of the time that malleable jobs save "
        f"can Gas save? This study simulates {many(len(study.logs), 'log')} of real machines several times with the "
        "same jobs. First, all jobs are rigid and have their sizes in the log. Then jobs also accept other sizes, "
        "which are drawn at random. If all jobs are malleable, the mean turn-around time, from submission to end, is "
        f"{_shorter(saved[MALLEABLE])} than with rigid jobs. If Gas predicts for each job at which size it will finish "
        f"first, and submits it at that size, the mean is {_shorter(saved['gas-predicted'])}"
        f"{f'. Depending on the log, this is {_span(shares)} of what malleable jobs save' if shares else ''}. "
        f"Not every job gains: {_later(study, 'gas-predicted')} of the jobs end more than a minute later if Gas "
        f"chooses, and {_later(study, MALLEABLE)} if all are malleable. The results depend on how much faster a job "
        "runs on more processors. Logs do not contain this. It is drawn at random, by published models of parallel "
        "programs (How it was done). Gas knows it for the job whose size it chooses."
        f"{_if_jobs_speed_up_less(study)}"
    )


def _adopters(study: Results) -> str:
    """Return in words the largest simulated share of jobs that choose or change their sizes."""
    return "All jobs" if _most(study) == 100 else f"{_most(study)}% of the jobs"


def _later(study: Results, strategy: str) -> str:
    parts = (study.part(Case(log, study.base, _most(study), strategy, what="later")) for log in study.logs)
    return _span([part.mean for part in parts if part is not None])


def _if_jobs_speed_up_less(study: Results) -> str:
    """Return the effect of choosing sizes if jobs use large sizes inefficiently."""
    found = [study.change(Case(log, AMDAHL, 100, "gas-predicted")) for log in study.logs]
    worse = [value.mean for value in found if value is not None and sure(value) and value.mean > 0]
    if not worse:
        return ""
    known = sum(value is not None for value in found)
    where = f"{len(worse)} of {many(known, 'log')}" if len(worse) < known else "all logs"
    return (
        " With speed-ups by Amdahl's law, where jobs waste more processors at large sizes, the result is the opposite "
        f"on {where}: if each job takes the size with which it finishes first itself, the mean is {_span(worse)} "
        "longer."
    )


def _first_look(study: Results) -> Section:
    most = _most(study)
    names = [name for name in strategy_names(study) if name != "rigid"]
    changes = {
        (log.source.trace, name): found
        for log in study.logs
        for name in names
        if (found := study.change(Case(log, study.base, most, name))) is not None
    }
    titles = {name: _title(name) for name in names if any(key[1] == name for key in changes)}
    picture = Picture(
        "changes",
        draw_changes([log.source.trace for log in study.logs], titles, changes),
        "Change of the mean turn-around time relative to rigid jobs; to the left, jobs end sooner. "
        f"{_adopters(study)} choose or change their sizes by the strategy named; see “What is compared” below. "
        "Lines at the ends of bars are 90% intervals over months.",
    )
    rows = []
    for name in titles:
        row: list[Cell | str] = [titles[name]]
        for log in study.logs:
            found = changes.get((log.source.trace, name))
            row.append("" if found is None else found.text(1))
        rows.append(tuple(row))
    rigid: list[Cell | str] = ["mean turn-around time of rigid jobs (h)"]
    for log in study.logs:
        total, jobs = (study.sums(log, study.base, most, "rigid", what) for what in ("turnaround", "jobs"))
        rigid.append("" if total is None or jobs is None else f"{total.sum() / max(jobs.sum(), 1) / 3600:.2f}")
    columns = (Column("", left=True), *(Column(log.source.trace, "change of the mean (%)") for log in study.logs))
    return Section(
        "What choosing sizes and changing them saves",
        (picture, Table(columns, (tuple(rigid), *rows), "The same in figures. ± is half of a 90% interval.")),
    )


def _strategies() -> Section:
    items = tuple(f"{one.title}: {one.about}" for one in STRATEGIES.values())
    return Section("What is compared", (Text(_ADOPTERS), Bullets(items)))


def _by_share(study: Results) -> Section:
    percents = study.percents(study.base)
    found = {
        (log.source.trace, name, percent): value
        for log in study.logs
        for name in _ON_LINES
        for percent in percents
        if (value := study.change(Case(log, study.base, percent, name))) is not None
    }
    titles = {name: _title(name) for name in _ON_LINES}
    picture = Picture(
        "shares",
        draw_shares([log.source.trace for log in study.logs], titles, found, percents),
        "Change of the mean turn-around time of all jobs. Bands are 90% intervals over months.",
    )
    return Section("How many must take part", (picture,))


def _other_means(study: Results) -> Section:
    most = _most(study)
    rows = []
    for name in strategy_names(study)[1:]:
        for log in study.logs:
            wait, response, slowdown = (
                study.change(Case(log, study.base, most, name, what=what)) for what in ("wait", "log", "slowdown")
            )
            median, before = (study.mean_of(log, most, which, "median") for which in (name, "rigid"))
            used = study.mean_of(log, most, name, "used")
            if response is None or slowdown is None or median is None or not before or used is None:
                continue
            rows.append(
                (
                    _title(name),
                    log.source.trace,
                    _text_of(wait),  # None if no rigid job waits
                    response.text(1),
                    f"{100 * (median / before - 1):.1f}",
                    slowdown.text(1),
                    f"{100 * (used - 1):+.1f}",
                )
            )
    columns = (
        Column("", left=True),
        Column("log", left=True),
        Column("mean wait", "change (%)"),
        Column("geometric mean turn-around", "change (%)"),
        Column("median turn-around", "change (%)"),
        Column("mean bounded slowdown", "change (%)"),
        Column("processor time used", "change (%)"),
    )
    text = (
        "A few long waits dominate the mean; the geometric mean and the median describe a typical job. Jobs at larger "
        "sizes use more processor time for the same work. The slowdown is relative to the run time in the log."
    )
    return Section("Other means", (Text(text), Table(columns, tuple(rows), f"{_adopters(study)} are adopters.")))


@dataclass(frozen=True)
class _Lost:
    """The losers and winners of a strategy on a log."""

    title: str
    log: str
    percent: int
    later: Interval | None
    sooner: Interval | None
    adopters: Interval | None
    others: Interval | None
    users: float | None


def _text_of(found: Interval | None) -> str:
    return "" if found is None else found.text(1)


def _losers(study: Results) -> Section:
    percents = [one for one in (20, 60, 100) if one in study.percents(study.base)]
    rows = [
        _Lost(
            _title(name),
            log.source.trace,
            percent,
            study.part(Case(log, study.base, percent, name, what="later")),
            study.part(Case(log, study.base, percent, name, what="sooner")),
            study.change(Case(log, study.base, percent, name, group="adopters")),
            study.change(Case(log, study.base, percent, name, group="others")),
            study.mean_of(log, percent, name, "users_later"),
        )
        for name in ("slurm", "oar", "gas-predicted", MALLEABLE)
        for log in study.logs
        for percent in percents
    ]
    columns: Sequence[Shown[_Lost]] = (
        Shown("", lambda one: one.title, left=True),
        Shown("log", lambda one: one.log, left=True),
        Shown("adopters (%)", lambda one: str(one.percent)),
        Shown("later", lambda one: _text_of(one.later), "jobs, by more than a minute (%)"),
        Shown("sooner", lambda one: _text_of(one.sooner), "jobs, by more than a minute (%)"),
        Shown("adopters", lambda one: _text_of(one.adopters), "change of mean turn-around (%)"),
        Shown("others", lambda one: _text_of(one.others), "change of mean turn-around (%)"),
        Shown("users who lose (%)", lambda one: "" if one.users is None else f"{100 * one.users:.0f}"),
    )
    caption = "Users who lose: of those with ten jobs or more, those whose mean turn-around time grows by more than 5%."
    return Section("Who loses", (table_of(rows, columns, caption),))


def _fairness(study: Results) -> tuple[Section, Section]:
    """Return the gains and losses of classes of jobs, and the load with the evenness of users' slowdowns."""
    most = _most(study)
    by_class = []
    for name in _FAIR:
        for log in study.logs:
            cases = [Case(log, study.base, most, name, group=group) for group in CLASSES]
            changes = [_text_of(study.change(case)) for case in cases]
            later = [_text_of(study.part(replace(case, what="later"))) for case in cases]
            by_class.append((_title(name), log.source.trace, *changes, *later))
    groups = ("change of mean turn-around (%)", "jobs that end later (%)")
    columns = [Column("", left=True), Column("log", left=True)]
    columns += [Column(name, group) for group in groups for name in CLASSES]
    words = (
        f"{_adopters(study)} are adopters. Classes are by the log: a long job ran for more than an hour, a wide one on "
        "more than a sixteenth of the machine. Later: more than a minute later than as a rigid job. ± is half of a 90% "
        "interval."
    )
    load = []
    for name in strategy_names(study):
        for log in study.logs:
            offered = [one["offered"] for one in study.results_of(log, study.base, most) if one.get("offered")]
            busy = study.mean_of(log, most, name, "busy")
            if not offered or busy is None:
                continue
            even = study.evenness(log, most, name) if name != "rigid" else None
            row = (_title(name), log.source.trace, f"{fmean(offered):.2f}", f"{busy:.2f}")
            load.append((*row, "" if even is None else signed(even, 3)))
    heading = (Column("", left=True), Column("log", left=True), Column("load offered"), Column("machine busy"))
    text = (
        "The load offered is that of the rigid jobs, from the first submission to the last. Busy is the share of the "
        "machine's processor time that jobs hold until the last one ends. The work is always the same, so a higher "
        "share means that jobs use more processor time for it. Users' slowdowns are means over the jobs of a user with "
        "ten jobs or more. Jain's index says how even they are: 1 if all are equal, lower if some users have much "
        "higher ones. It says nothing about their level."
    )
    return (
        Section("Which jobs gain and lose", (Table(tuple(columns), tuple(by_class), words),)),
        Section("Load and fairness", (Text(text), Table((*heading, Column("rise of Jain's index")), tuple(load)))),
    )


def _settings(study: Results) -> Section:
    rows = []
    for setting in study.settings:
        for log in study.logs:
            if not study.results_of(log, setting, 100):
                continue
            changes = (study.change(Case(log, setting, 100, name)) for name in _IN_SETTINGS)
            share = study.share(Case(log, setting, 100, "gas-predicted"), MALLEABLE)
            terms = setting.name if setting != study.base else "as above"
            rows.append((terms, log.source.trace, *map(_text_of, changes), "" if share is None else share.text(2)))
    columns = (
        Column("terms", left=True),
        Column("log", left=True),
        *(Column(_title(name), "change of mean turn-around (%)") for name in _IN_SETTINGS),
        Column("by prediction / malleable", "saved"),
    )
    text = (
        "One setting is changed at a time, with one seed and all jobs as adopters. Under another load, rigid jobs are "
        "simulated under that load, too."
    )
    return Section("What it depends on", (Text(text), Table(columns, tuple(rows))))


def _baselines(study: Results) -> Section:
    printed = {(one.trace, one.policy, one.measure): one.mean for one in overall()}
    rows = []
    for run, result in study.baselines():
        trace = run.log.source.trace
        for measure, words in _MEASURES.items():
            there = printed.get((trace, run.policy, measure))
            if there is None:
                continue
            here = result[measure]
            off = 100 * (here / there - 1)
            verdict = yes() if is_near(here, there, _NEAR) else no()
            digits = 0 if measure == "response" else 1
            rows.append(
                (f"{trace}, {run.policy}", words, f"{there:,.{digits}f}", f"{here:,.{digits}f}", f"{off:+.1f}", verdict)
            )
    columns = (
        Column("rigid jobs", left=True),
        Column("", left=True),
        Column("published"),
        Column("here"),
        Column("difference (%)"),
        Column(f"within {_NEAR:.0f}%", left=True),
    )
    text = (
        "Do simulations of rigid jobs give the published figures (Mu'alem and Feitelson 2001, Table 4)? Their logs are "
        "other versions of these: KTH lacks a single job here, but CTC and SDSC have other numbers of jobs by month. "
        "This alone may make a mean over all jobs agree or differ (gas experiment backfilling compares month by "
        "month). The traces of Cori, Eagle and Theta are not available, so the figures of the studies of malleable "
        "jobs themselves are not reproduced."
    )
    return Section("A published baseline", (Text(text), Table(columns, tuple(rows))))
