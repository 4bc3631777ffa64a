"""Selective against regular adjustment: the difference, its interval, and measurements that may explain it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from experiments.framework.logs import Found
from experiments.walltime.accuracy import LEAST
from experiments.walltime.accuracy_report import CATEGORIES_MEAN
from experiments.walltime.claims import NAMES, advantages
from experiments.walltime.results import ADJUSTMENTS, MEASURES, NEIGHBOURS, PERCENTILES, QUEUES, Results, adjusted
from gas.intervals import Interval, sure
from gas.report.blocks import Block, Bullets, Cell, Column, Section, Table, Text, heads

__all__ = ["account_section", "class_rows", "points"]

_MORE = {**NAMES, "slowdown_60": "slowdown of jobs of a minute and more", "bounded": "bounded slowdown"}
_LONG = "more than 4 h"


def account_section(study: Results) -> Section:
    """Return the section; a quick study has fewer tables."""
    blocks: list[Block] = [
        Text(
            "Average improvement under selective adjustment minus that under regular, in percentage points, paired by "
            "month; below 0, selective is worse. In the paper, selective is better nearly everywhere; at p95 it is "
            "equal, and worse for the weighted wait (6.2.1)."
        ),
        _advantage_table(study),
        Bullets(tuple(_findings(study))),
        _exposure_table(study),
    ]
    if not study.options.quick:
        blocks += [_chance_table(study)]
    blocks += [_class_table(study)]
    return Section("Selective against regular", tuple(blocks))


def points(found: Interval | None) -> Cell | str:
    """Return a difference with its interval, with a star if the interval excludes 0."""
    if found is None:
        return "-"
    text = f"{found.mean:+.1f}" + ("" if found.half_width is None else f" ± {found.half_width:.1f}")
    return Cell(f"{text} *", "good" if found.mean > 0 else "bad") if sure(found) else text


def _advantage_table(study: Results) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for queue in QUEUES:
            for measure, name in _MORE.items():
                terms = [adjusted(queue, "regular", percentile) for percentile in PERCENTILES]
                line = [points(study.advantage(log, each, measure)) for each in terms]
                if not study.options.quick:
                    line += [
                        points(study.steady_advantage(log, queue, measure)),
                        points(study.advantage(log, adjusted(queue, "regular", apart=True), measure)),
                        points(study.advantage(log, adjusted(queue, "regular", None), measure)),
                    ]
                rows.append((log.source.trace, queue.upper(), name, *line))
    columns = [Column("log", left=True), Column("order", left=True), Column("mean", left=True)]
    columns += [Column(f"p{percentile}", "selective − regular, points") for percentile in PERCENTILES]
    if not study.options.quick:
        columns += [
            *heads("p85, mean of five", "p85, months apart", "exact walltimes", group="selective − regular, points")
        ]
    caption = (
        "± is half of a 90% interval over months (Student, paired); * if it excludes 0. “Mean of five”: gains "
        f"averaged over five schemes that require {min(NEIGHBOURS)} to {max(NEIGHBOURS)} similar jobs, since a single "
        "simulation depends on chance. “Months apart”: each month simulated alone from an empty machine, with history "
        "from the log. “Exact walltimes”: adjusted to the run time. The last two means of each block are ours, not the "
        "paper's."
    )
    return Table(tuple(columns), tuple(rows), caption)


def _findings(study: Results) -> list[str]:
    """Return sentences with measurements that may explain the difference."""
    found = []
    every = [(log, queue, *one) for log in study.logs for queue in QUEUES for one in advantages(study, log, queue)]
    if not every:
        return ["Nothing was simulated."]
    worse = [one for one in every if one[-1].mean < 0]
    found.append(
        f"Selective adjustment has the better mean in {len(every) - len(worse)} of {len(every)} comparisons and the "
        f"worse in {len(worse)}. The interval excludes 0 in {sum(sure(one[-1]) for one in every if one[-1].mean > 0)} "
        f"and {sum(sure(one[-1]) for one in worse)} of these. Chance alone would give about {len(every) / 20:.0f} of "
        "each."
    )
    steady = [
        (f"{log.source.trace} {queue.upper()} {NAMES[measure]} {advantage.text(1)}", advantage)
        for log in study.logs
        for queue in QUEUES
        for measure in MEASURES
        if (advantage := study.steady_advantage(log, queue, measure)) is not None
    ]
    if steady:
        certain = [words for words, advantage in steady if sure(advantage)]
        found.append(
            f"At p85, averaged over five simulations, {sum(one.mean >= 0 for _, one in steady)} of {len(steady)} means "
            f"are better; the interval excludes 0 for: {', '.join(certain) or 'none'}."
        )
    for log in study.logs:
        found.append(_exposure(study, log))
        found += [text for queue in QUEUES if (text := _short_jobs(study, log, queue))]
        found.append(_who_waits(study, log))
        found += [text for text in (_few_weights(study, log), _long_waits(study, log)) if text]
    return found


def _exposure(study: Results, log: Found) -> str:
    """Return the share of work beyond adjusted walltimes, whose effect selective adjustment avoids."""
    texts = []
    for queue in QUEUES:
        gains = []
        for percentile in PERCENTILES:
            terms = adjusted(queue, "regular", percentile)
            result, advantage = study.simulation(log, terms), study.advantage(log, terms, "wait")
            if result and advantage and result["all"]["beyond"] is not None:
                gains.append(f"p{percentile} {100 * result['all']['beyond']:.1f}% ({advantage.mean:+.1f})")
        texts.append(f"{queue.upper()} {', '.join(gains)}")
    base = study.simulation(log, adjusted("fcfs", "regular").baseline)
    load = f" Utilization is {100 * base['utilization']:.0f}%." if base and base["utilization"] else ""
    return (
        f"{log.source.trace}: under regular adjustment, running jobs outlive their adjusted walltimes; selective "
        "adjustment avoids this. Share of the work done beyond adjusted walltimes (in brackets: advantage of selective "
        f"in wait, points): {'; '.join(texts)}.{load}"
    )


def _short_jobs(study: Results, log: Found, queue: str) -> str:
    """Return which jobs cause the difference in slowdown."""
    rows = class_rows(study, log, queue)
    jobs = sum(row["jobs"] for row in rows)
    if not jobs:
        return ""
    brief = [row for row in rows if row["shortest"] == 0]
    asked = [row for row in brief if row["asked_long"]]
    whole, of_brief, of_asked = (sum(map(_change, some)) / jobs for some in (rows, brief, asked))
    result = study.simulation(log, adjusted(queue, "selective"))
    top = result["all"]["top"] if result else None
    rest = study.advantage(log, adjusted(queue, "regular"), "slowdown_60")
    words = (
        f"{log.source.trace}, {queue.upper()}, slowdown at p85: from regular to selective, the mean over all jobs "
        f"changes by {whole:+.2f}. The {sum(row['jobs'] for row in brief):,} jobs shorter than a minute contribute "
        f"{of_brief:+.2f}; the {sum(row['jobs'] for row in asked):,} of these that requested {_LONG} contribute "
        f"{of_asked:+.2f}."
    )
    words += f" 1% of all jobs account for {100 * top:.0f}% of the sum of slowdowns." if top is not None else ""
    return words + (f" Without jobs shorter than a minute, selective gains {rest.text(1)} points." if rest else "")


def _change(row: dict[str, Any], what: str = "slowdown") -> float:
    return float(row["selective"][what] - row["regular"][what])


def _who_waits(study: Results, log: Found) -> str:
    """Return mean waits by requested walltime."""
    texts = []
    for queue in QUEUES:
        rows = class_rows(study, log, queue)
        for asked_long, who in ((False, "up to 4 h"), (True, _LONG)):
            mine = [row for row in rows if row["asked_long"] is asked_long]
            jobs = sum(row["jobs"] for row in mine)
            if jobs:
                waits = [sum(row[which]["wait"] for row in mine) / jobs for which in ADJUSTMENTS]
                texts.append(f"{queue.upper()}, {who}: {waits[0]:,.0f} and {waits[1]:,.0f} s")
    return (
        f"{log.source.trace}, mean wait at p85 under regular and selective adjustment, by requested walltime: "
        f"{'; '.join(texts)}."
    )


def _few_weights(study: Results, log: Found) -> str:
    """Return how many jobs dominate a weighted wait."""
    averaged = set(study.averaged(log))
    texts = []
    for queue in QUEUES:
        result = study.simulation(log, adjusted(queue, "selective"))
        months = result["months"] if result else []
        found = [month["alike"] for month in months if month["alike"] and month["month"] in averaged]
        if found:
            texts.append(f"{np.median(found):,.0f} jobs under {queue.upper()} (least {min(found):,.0f})")
    return (
        f"{log.source.trace}: a month's weighted wait is as uncertain as a plain mean over {' and '.join(texts)} "
        "(median over months). Under WFP, the cube of wait over request makes a few jobs dominate."
        if texts
        else ""
    )


def _long_waits(study: Results, log: Found) -> str:
    """Return the effect of later reservations on the jobs that wait longest."""
    both = [study.gain(log, adjusted("fcfs", adjustment, None), "weighted") for adjustment in ADJUSTMENTS]
    waits = [study.gain(log, adjusted("fcfs", adjustment, None), "wait") for adjustment in ADJUSTMENTS]
    if any(one is None for one in (*both, *waits)):
        return ""
    return (
        f"{log.source.trace}, FCFS: the weighted wait gives most weight to jobs that waited longest. Selective "
        "adjustment uses the users' walltimes of running jobs for the reservation of the first job in the queue. That "
        "reservation is later than necessary, and other jobs are backfilled before it. With exact walltimes, regular "
        f"adjustment improves the weighted wait by {both[0].text(1) if both[0] else ''}% and selective by "
        f"{both[1].text(1) if both[1] else ''}%; the plain wait improves by {waits[0].text(1) if waits[0] else ''}% "
        f"and {waits[1].text(1) if waits[1] else ''}%."
    )


def _exposure_table(study: Results) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for queue in QUEUES:
            for percentile in PERCENTILES:
                for adjustment in ADJUSTMENTS:
                    result = study.simulation(log, adjusted(queue, adjustment, percentile))
                    base = study.simulation(log, adjusted(queue, adjustment).baseline)
                    if result is None or base is None:
                        continue
                    jobs, found = result["jobs"], result["all"]
                    rows.append(
                        (
                            log.source.trace,
                            queue.upper(),
                            adjustment,
                            f"p{percentile}",
                            *(f"{100 * found[part] / jobs:.1f}%" for part in ("NA", "OE", "UE", "BE")),
                            "-" if found["beyond"] is None else f"{100 * found['beyond']:.2f}%",
                            "-" if found["accuracy"] is None else f"{found['accuracy']:.3f}",
                            "-" if found["backfilled"] is None else f"{100 * found['backfilled']:.1f}%",
                            "-" if base["all"]["backfilled"] is None else f"{100 * base['all']['backfilled']:.1f}%",
                        )
                    )
    columns = list(heads("log", "order", "adjustment", "scheme", left=True))
    columns += [Column(part, "jobs") for part in ("NA", "OE", "UE", "BE")]
    columns += [
        *heads("work beyond adjusted walltimes", "mean accuracy"),
        *heads("with adjustment", "without", group="backfilled"),
    ]
    caption = (
        f"Adjusted walltimes in the simulations. {CATEGORIES_MEAN} UE and BE jobs outlive their adjusted walltimes; "
        "under regular adjustment the scheduler expects their processors too early."
    )
    return Table(tuple(columns), tuple(rows), caption)


def _chance_table(study: Results) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    for log in study.logs:
        for queue in QUEUES:
            for adjustment in ADJUSTMENTS:
                chances = [study.chance(log, queue, adjustment, measure) for measure in MEASURES]
                means = [
                    float(np.mean(list(gains.values()))) if (gains := study.steady(log, queue, adjustment, m)) else None
                    for m in MEASURES
                ]
                pairs = zip(means, chances, strict=True)
                line = [
                    text
                    for m, c in pairs
                    for text in (f"{m:+.1f}%" if m is not None else "-", f"{c:.1f}" if c else "-")
                ]
                rows.append((log.source.trace, queue.upper(), adjustment, *line))
    columns = list(heads("log", "order", "adjustment", left=True))
    for measure in MEASURES:
        columns += [Column("gain, mean of five", NAMES[measure]), Column("standard deviation", NAMES[measure])]
    caption = (
        "Effect of chance on one simulation: average improvements at p85 under schemes that require "
        f"{', '.join(map(str, sorted((LEAST, *NEIGHBOURS))))} similar jobs; the number should not matter. Differences "
        "below the standard deviation are not meaningful."
    )
    return Table(tuple(columns), tuple(rows), caption)


def class_rows(study: Results, log: Found, queue: str) -> list[dict[str, Any]]:
    """Return sums of waits and slowdowns by run time and request, without adjustment and with both, at p85.

    Values with adjustment are means over the schemes that were run, which require different numbers of similar jobs.
    """
    base = study.simulation(log, adjusted(queue, "regular").baseline)
    if base is None:
        return []
    rows = [
        {"shortest": one["shortest"], "asked_long": one["asked_long"], "jobs": one["jobs"], "without": one}
        for one in base["classes"]
    ]
    for adjustment in ADJUSTMENTS:
        schemes = [replace(adjusted(queue, adjustment), least=least) for least in (LEAST, *NEIGHBOURS)]
        found = [result["classes"] for each in schemes if (result := study.simulation(log, each))]
        for number, row in enumerate(rows):
            row[adjustment] = {
                what: float(np.mean([classes[number][what] for classes in found])) if found else float("nan")
                for what in ("wait", "slowdown")
            }
    return rows


def _class_table(study: Results) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    names = {0: "below 1 min", 60: "1 to 10 min", 600: "10 to 60 min", 3600: "1 h and more"}
    for log in study.logs:
        for queue in QUEUES:
            found = class_rows(study, log, queue)
            jobs = sum(row["jobs"] for row in found)
            for row in found:
                if not row["jobs"]:
                    continue
                parts = [row[which] for which in ("without", *ADJUSTMENTS)]
                rows.append(
                    (
                        log.source.trace,
                        queue.upper(),
                        names[row["shortest"]],
                        _LONG if row["asked_long"] else "up to 4 h",
                        f"{row['jobs']:,}",
                        *(f"{part['wait'] / row['jobs']:,.0f}" for part in parts),
                        *(f"{part['slowdown'] / row['jobs']:,.1f}" for part in parts),
                        f"{_change(row) / jobs:+.3f}",
                    )
                )
    columns = list(heads("log", "order", "run time", "requested", left=True))
    columns.append(Column("jobs"))
    columns += [Column(title, "mean wait (s)") for title in ("without", *ADJUSTMENTS)]
    columns += [Column(title, "mean slowdown") for title in ("without", *ADJUSTMENTS)]
    columns.append(Column("contribution to the change in mean slowdown, regular to selective"))
    caption = "Waits and slowdowns by run time and requested walltime, at p85 (mean of five, except in a quick study)."
    return Table(tuple(columns), tuple(rows), caption)
