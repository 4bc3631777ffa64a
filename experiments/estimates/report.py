"""The report of the study of estimates: every figure of the paper's section 4 next to ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.estimates.beyond import beyond_section
from experiments.estimates.cells import (
    APART,
    COUNTED,
    NOT_KNOWN,
    Counted,
    Doubling,
    Mean,
    counts,
    doublings,
    lacking,
    means,
    signs,
)
from experiments.estimates.claims import claims, coverage, estimates, over_months, over_seeds
from experiments.estimates.easy_report import easy_section
from experiments.estimates.history import READINGS
from experiments.estimates.own import own_section
from experiments.estimates.pictures import draw_means, draw_use
from experiments.estimates.results import FULL_SEEDS, TRACES, USERS, Change, Results
from experiments.framework.claims import headline, summary_section
from experiments.framework.columns import Shown, numbered, table_of
from experiments.framework.items import Compared, Pair, items_section
from experiments.framework.logs import Found
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section, remarks, thanks, version_of_log
from experiments.framework.sites import Site
from experiments.framework.verdicts import BY_INTERVALS
from experiments.published import HISTORY, MEANS, POLICIES, SCHEMES, Measure
from gas.intervals import Interval
from gas.report.blocks import (
    Bullets,
    Cell,
    Column,
    Picture,
    Report,
    Section,
    Table,
    Text,
    agreed,
    fewer,
    no,
    not_the_full,
    yes,
)

__all__ = ["banner", "estimates_report"]

_PAPER = (
    "A. W. Mu'alem and D. G. Feitelson, Utilization, predictability, workloads, and user runtime estimates in "
    "scheduling the IBM SP2 with backfilling, IEEE Transactions on Parallel and Distributed Systems 12(6), 2001, "
    "section 4"
)


_NOT_JUDGED = (
    "The counts of Table 2 are not judged: they include all jobs of one log, here in another version than the paper's, "
    "so they have no sampling error. The table shows which jobs are missing."
)


def banner(study: Results) -> str:
    """Return what a restricted study leaves out; empty for the full one."""
    models = "other rules (which may explain differences) and other models of estimates were not run"
    seeds = fewer(study.options.seeds, FULL_SEEDS, "seed")
    return not_the_full([*study.missing, seeds, "" if study.options.others else models])


def _compared(study: Results, cells: Sequence[Mean]) -> dict[str, Compared]:
    """Return the printed figures of Tables 2 to 4 and ours; signs are of changes from exact or to doubled estimates."""
    cause = (
        "rules, and readings of EASY (tested where the columns of causes name them). Version of the log: not tested on "
        "CTC and SDSC; not the cause on KTH, whose uncleaned log has all but one of the paper's jobs"
    )
    of_counts = tuple(Pair(one.paper.jobs, one.ours) for one in counts(study))
    of_factors = tuple(
        Pair(
            one.paper,
            None if one.ours is None else one.ours.mean,
            one.agrees,
        )
        for one in cells
    )
    doubled = []
    for one in doublings(study):
        ours = one.ours or (None, None)
        doubled.append(Pair(one.paper[0], ours[0]))
        doubled.append(Pair(one.paper[1], ours[1], one.agrees))
    judged = claims(study)

    def of(start: str, pairs: Sequence[Pair], why: str) -> Compared:
        return Compared(tuple(pairs), why, tuple(claim for claim in judged if claim.text.startswith(start)))

    return {
        "Table 2": of("Table 2", of_counts, "version of the log (missing jobs; not tested further)"),
        "Fig. 8": Compared((), "no figures printed, except the components of its histograms, which are in Table 2"),
        "Table 3": of("Table 3", of_factors, cause),
        "Fig. 9": of(
            "section 4.4",
            _history_pairs(study),
            "readings of the text (tested: section of Fig. 9); version of the log (not tested)",
        ),
        "Table 4": of("Table 4", doubled, cause),
    }


def _history_pairs(study: Results) -> tuple[Pair, ...]:
    """Return the counts of section 4.4 and ours, in the study's own reading."""
    log = study.log("CTC")
    found = study.asked(log, "history") if log else None
    ours = found["readings"][READINGS[0].name] if found else {}
    return tuple(Pair(printed, ours.get(what)) for what, printed in HISTORY.items())


def estimates_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    cells = means(study)
    sites = [(Site(log.source.trace, log.source.processors, (), 0), log) for log in study.logs]
    sections = [
        summary_section(claims(study), caption=f"{BY_INTERVALS} {_NOT_JUDGED}"),
        _logs(study),
        _table2(study) if study.published_logs else None,
        _use(study),
        _history(study),
        *_table3(study, cells),
        _table4(study) if study.published_logs else None,
        own_section(study),
        easy_section(study),
        beyond_section(study),
        _method(study),
        items_section("backfilling", "estimates", _compared(study, cells)) if study.published_logs else None,
        origin_section(sites, origin),
    ]
    found = tuple(section for section in sections if section is not None)
    return Report(
        "Users' run-time estimates: their errors, and the effect on schedules",
        _lead(study, cells),
        found,
        banner(study),
    )


def _lead(study: Results, cells: Sequence[Mean]) -> str:
    found = claims(study)
    if not study.published_logs:
        return f"{headline(found)} No log of the paper takes part. The paper is: {_PAPER}."
    agree, compared = signs(cells)
    rows = [row for row in doublings(study) if row.change]
    halves = ", ".join(
        "{} of {} under {}".format(*signs([row for row in rows if row.policy == policy]), SCHEMES[policy])
        for policy in POLICIES
    )
    known = [row for row in counts(study) if row.off is not None]
    near = sum(bool(row.near) for row in known)
    short = sum(bool(row.possible) for row in known if not row.near)
    return (
        f"{headline(found)} Of {len(known)} counts "
        f"of Table 2, {near} are within {COUNTED:g}% of the paper's, and {short} are lower by at most the number of "
        f"jobs missing from the logs. In Table 3, {agree} of {compared} resolved changes "
        f"from exact estimates have the paper's sign. "
        f"In Table 4, the sign of resolved changes agrees for {halves}. A change is resolved if its 98% interval over "
        f"months excludes 0. The paper is: {_PAPER}."
    )


def _logs(study: Results) -> Section:
    def use(log: Found, name: str, unknown: str) -> str:
        found = study.asked(log, "use")
        return f"{found[name]:,}" if found else unknown

    def simulated(log: Found, name: str) -> str:
        found = study.simulations(log, USERS)
        return f"{found[0][name]:,}" if found else "-"

    columns: Sequence[Shown[Found]] = (
        Shown("trace", lambda log: log.source.trace, left=True),
        Shown("log", version_of_log, left=True),
        Shown("run", lambda log: use(log, "jobs", "0"), "jobs"),
        Shown("never run", lambda log: use(log, "never_ran", "-"), "jobs"),
        Shown("paper", lambda log: "-" if log.own else f"{log.source.jobs:,}", "jobs"),
        Shown("missing here", lambda log: "-" if log.own else f"{lacking(study, log):,}", "jobs"),
        Shown("simulated", lambda log: simulated(log, "jobs"), "jobs"),
        Shown("longer than requested", lambda log: simulated(log, "overruns"), "jobs"),
        Shown("simulated", lambda log: f"{log.source.processors:,}", "processors"),
        Shown("in the header", lambda log: numbered(log.header.max_procs), "processors"),
    )
    cleaned = (
        "The paper used the logs before the archive cleaned them. A count of Table 2 from a cleaned log is too low by "
        "at most the number of removed jobs, and never too high. The archive removed a burst of one user from CTC, and "
        "bursts of four users and the first ten jobs from SDSC (see the headers)."
    )
    notes = [*([cleaned] if study.published_logs else []), *remarks(study.logs)]
    listed = [Bullets(tuple(notes))] if notes else []
    return Section("The logs", (table_of(study.logs, columns), *listed, *thanks(study.logs)))


def _table2(study: Results) -> Section:
    columns: Sequence[Shown[Counted]] = (
        Shown("parameter", lambda row: row.paper.parameter, left=True),
        Shown("trace", lambda row: row.paper.trace, left=True),
        Shown("here", lambda row: numbered(row.ours), "jobs"),
        Shown("paper", lambda row: f"{row.paper.jobs:,}", "jobs"),
        Shown("off by", lambda row: "-" if row.off is None else f"{row.off:+.2f}%", "jobs"),
        Shown("here", _share, "%"),
        Shown("paper", lambda row: "" if row.paper.percent is None else f"{row.paper.percent:.1f}%", "%"),
        Shown(f"within {COUNTED:g}%", lambda row: agreed(row.near)),
        Shown("reading", lambda row: row.reading, left=True),
        Shown("possible cause", lambda row: row.reason, left=True),
    )
    others: list[tuple[Cell | str, ...]] = []
    every = counts(study, every=True)
    for parameter in dict.fromkeys(row.paper.parameter for row in every):
        mine = [row for row in every if row.paper.parameter == parameter and row.reading]
        readings = list(dict.fromkeys(row.reading for row in mine))
        for reading in readings if len(readings) > 1 else []:
            line: list[Cell | str] = [parameter, reading]
            for trace in TRACES:
                one = next((row for row in mine if (row.reading, row.paper.trace) == (reading, trace)), None)
                if one is None or one.ours is None:
                    line += ["-", "-"]
                    continue
                fits = one.possible or one.near
                line += [f"{one.ours:,}", yes(f"{one.off:+.2f}%") if fits else no(f"{one.off:+.2f}%")]
            others.append(tuple(line))
    heads = [Column("parameter", left=True), Column("reading", left=True)]
    heads += [Column(title, trace) for trace in TRACES for title in ("jobs", "off by")]
    text = (
        "The paper does not define its parameters, so each was counted in every reading below. The first reading of "
        "each fits best and is used above. Shares are rounded down to whole per cent: only then do the 0% peak and the "
        "100% peak (99 to 101%) match the paper for both KTH and CTC. Rounded up, with 100 to 102%, KTH's 100% peak "
        "matches exactly, but CTC has more jobs than in the paper."
    )
    return Section(
        "Table 2: requested and used time",
        (
            table_of(counts(study), columns),
            Text(text),
            Table(
                tuple(heads),
                tuple(others),
                "All readings. Green: within 1%, or lower by at most the number of jobs missing from the log.",
            ),
        ),
    )


def _share(row: Counted) -> str:
    if row.paper.percent is None:
        return ""
    return "-" if row.ours is None or row.of is None else f"{100 * row.ours / max(row.of, 1):.1f}%"


def _use(study: Results) -> Section:
    pictures = {log.source.trace: use["picture"] for log in study.logs if (use := study.asked(log, "use"))}
    caption = (
        "Left: share of the requested time that jobs used (Fig. 8 of the paper). Right: run time over estimate for "
        "jobs that requested at most two hours, in cells of one minute; on the line, both are equal."
    )
    return Section("Fig. 8: users' estimates", (Picture("estimates-users", draw_use(pictures, "request"), caption),))


def _history(study: Results) -> Section | None:
    found = {log.source.trace: one for log in study.logs if (one := study.asked(log, "history"))}
    if not found:
        return None
    rows: list[tuple[Cell | str, ...]] = []
    paper = coverage(HISTORY)
    rows.append(("CTC", "the paper", f"{HISTORY['not killed']:,}", *_counted(HISTORY, paper), ""))
    for trace, one in found.items():
        for reading in READINGS:
            figures = one["readings"][reading.name]
            used = figures["mean_used"]
            rows.append(
                (
                    trace,
                    reading.name,
                    f"{figures['not killed']:,}",
                    *_counted(figures, coverage(figures)),
                    "-" if used is None else f"{100 * used:.0f}%",
                )
            )
    columns = [Column("trace", left=True), Column("reading", left=True), Column("jobs not killed")]
    columns += [
        Column(title, group)
        for group in ("with a history", "estimate too short", "too short despite history", "of these, two or more runs")
        for title in ("jobs", "%")
    ]
    columns.append(Column("mean share used of long enough estimates"))
    caption = (
        "This study uses the first reading, which needs no look-ahead. Each other reading changes only what it names."
    )
    text = (
        "A job's estimate is the mean plus 1.5 standard deviations of earlier run times of the same program, user and "
        "number of processors; without such a run, the same over all jobs. Only jobs that were not killed are "
        "estimated. The paper leaves four questions open: whether killed jobs count as history, when a job begins to "
        "count, how the age of a week is measured, and which deviation is meant. With killed jobs in the history, the "
        "share of jobs with a history matches the paper's, and the share of short estimates nearly does. In the paper, "
        "half of the short estimates belong to jobs without a history. No reading gives that, because the mean plus "
        "1.5 deviations over all jobs is rarely too short. Among jobs with two or more earlier runs, about as many "
        "estimates are too short as the paper reports for all jobs with a history; perhaps it left out single runs "
        "there (a guess). These logs give programs as numbers; if several users share a number, it counts as a program "
        "of each. On SDSC, nearly every job runs its own program, so there is hardly any history."
    )
    pictures = {trace: one["picture"] for trace, one in found.items()}
    return Section(
        "Fig. 9: estimates from history",
        (
            Text(text),
            Picture(
                "estimates-history",
                draw_use(pictures, "estimate"),
                "Share of the estimate from history that jobs used, for jobs that were not killed (Fig. 9; the paper "
                "shows CTC only). Above 100%, the estimate is too short.",
            ),
            Table(tuple(columns), tuple(rows), caption),
        ),
    )


def _counted(figures: dict[str, int], shares: dict[str, float]) -> list[str]:
    texts = [text for name, share in shares.items() for text in (f"{figures[name]:,}", f"{share:.1f}%")]
    return texts if len(shares) == 4 else [*texts, "", ""]  # the paper does not count the last


def _table3(study: Results, cells: Sequence[Mean]) -> list[Section]:
    at_hand = [cell for cell in cells if cell.ours is not None]
    if not at_hand:
        return []
    caption = (
        "Means over all jobs by factor f, with 90% intervals over seeds; hollow marks: paper. Users' own estimates: "
        "dashed lines (here) and marks at the left edge (paper)."
    )
    found: list[Section] = [
        Section("Table 3: means by factor", (Picture("estimates-factors", draw_means(cells), caption),))
    ]
    for trace in dict.fromkeys(cell.trace for cell in at_hand):
        mine = [cell for cell in at_hand if cell.trace == trace]
        agree, compared = signs(mine)
        off = [cell for cell in mine if cell.off is not None and abs(cell.off) > APART]
        unknown = sum(any(NOT_KNOWN in reason for reason in cell.why) for cell in off)
        words = (
            f"{trace}: {agree} of {compared} resolved changes from f = 1 have the paper's sign. {len(off)} of "
            f"{len(mine)} means differ by more than {APART:g}%; for {unknown} of these, the cause is unknown, at least "
            "in part."
        )
        found.append(Section(f"Table 3: {trace}", (table_of(mine, _MEANS, words),)))
    return found


def figure(value: Interval | float, measure: Measure) -> str:
    """Return a mean with as many digits as in the paper."""
    digits = 0 if measure == "response" else 2
    return value.text(digits) if isinstance(value, Interval) else f"{value:,.{digits}f}"


_MEANS: Sequence[Shown[Mean]] = (
    Shown("policy", lambda cell: SCHEMES[cell.policy], left=True),
    Shown("measure", lambda cell: MEANS[cell.measure], left=True),
    Shown("estimates", lambda cell: estimates(cell.factor), left=True),
    Shown("here", lambda cell: figure(cell.ours, cell.measure) if cell.ours else "-", "mean"),
    Shown("paper", lambda cell: figure(cell.paper, cell.measure), "mean"),
    Shown("off by", lambda cell: "-" if cell.off is None else f"{cell.off:+.1f}%", "mean"),
    Shown("here (seeds)", lambda cell: over_seeds(cell.change) if cell.change else "", "against f = 1"),
    Shown("months", lambda cell: over_months(cell.change), "against f = 1"),
    Shown("paper", lambda cell: "" if cell.factor == 1 else f"{cell.paper_change:+.1f}%", "against f = 1"),
    Shown("same sign", lambda cell: _same_sign(cell.agrees, cell.change), "against f = 1"),
    Shown("possible cause (of mean or sign)", lambda cell: "; ".join(cell.why), left=True),
)


def _same_sign(agrees: bool | None, change: Change | None) -> Cell | str:
    if agrees is None and change is not None:
        return Cell("not resolved", "quiet")
    return agreed(agrees, "")


def _table4(study: Results) -> Section:
    def mean(which: int) -> Callable[[Doubling], str]:
        return lambda row: figure(row.ours[which], row.measure) if row.ours else ""

    def paper(which: int) -> Callable[[Doubling], str]:
        return lambda row: figure(row.paper[which], row.measure)

    columns: Sequence[Shown[Doubling]] = (
        Shown("trace", lambda row: row.trace, left=True),
        Shown("measure", lambda row: MEANS[row.measure], left=True),
        Shown("policy", lambda row: SCHEMES[row.policy], left=True),
        Shown("here", mean(0), "users' estimates"),
        Shown("paper", paper(0), "users' estimates"),
        Shown("here", mean(1), "doubled"),
        Shown("paper", paper(1), "doubled"),
        Shown("here", lambda row: over_seeds(row.change) if row.change else "", "change"),
        Shown("months", lambda row: over_months(row.change), "change"),
        Shown("paper", lambda row: f"{row.paper_change:+.1f}%", "change"),
        Shown("same sign", lambda row: _same_sign(row.agrees, row.change)),
        Shown("possible cause (of mean or sign)", lambda row: "; ".join(row.why), left=True),
    )
    rows = [row for row in doublings(study) if row.ours and row.change]
    text = (
        "Users' estimates against the same doubled. Both runs kill jobs at the original estimate, so the work is the "
        "same. Nothing is random, so intervals are over months only."
    )
    return Section("Table 4: twice the users' estimates", (Text(text), table_of(rows, columns)))


def _method(study: Results) -> Section:
    seeds = study.options.all_seeds
    return method_section(
        "experiments.estimates",
        sizes=", ".join(f"{log.source.trace} {log.source.processors}" for log in study.logs),
        drawn=f"Seeds {seeds[0]} to {seeds[-1]}, the same for all" if len(seeds) > 1 else f"Seed {seeds[0]} for all",
        apart=APART,
        not_known=NOT_KNOWN,
    )
