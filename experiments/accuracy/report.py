"""The report on wrong performance models: the gains of Gas, and the largest error with a gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from experiments.accuracy.beliefs import ERRORS, PLANS, VARIANTS, Plan, Variant, Way
from experiments.accuracy.claims import claims
from experiments.accuracy.pictures import Curves, draw_gains
from experiments.accuracy.results import (
    MEASURES,
    Came,
    Measure,
    Results,
    break_even,
    gain,
    killed,
    longer,
    loses,
)
from experiments.framework.claims import summary_section
from experiments.framework.columns import Shown, table_of
from experiments.framework.items import Compared, items_section
from experiments.framework.method import method_section
from experiments.framework.origin import Origin, origin_section
from experiments.framework.records import Field, Records
from experiments.framework.verdicts import BY_INTERVALS, LEVEL, Part
from experiments.moldable.months import FULL_RUNS, MONTH, SUBSTITUTE
from experiments.moldable.simulated import EACH_MONTH, simulated_section
from experiments.moldable.substitution import OPPONENTS
from experiments.moldable.terms import Terms
from gas.printable import many
from gas.report.blocks import Block, Picture, Report, Section, Table, Text, fewer, not_the_full

__all__ = ["TABLES", "accuracy_report"]

_ITEM = "Section 6.1: accuracy of the performance model"
_JUDGED: tuple[Measure, ...] = ("mean", "geometric mean")
_CHOOSING: tuple[Way, ...] = ("gas", "cautious")
_WRONG: Mapping[Variant, str] = {"each size": "at each size independently", "scalability": "about the scalability"}
_LED: Mapping[int, str] = {0: "shorter with an exact model"} | {e: f"with an error of {e}%" for e in (25, 100, 300)}
"""The errors of the first paragraph, and its words for each."""
_ABOUT = (
    "How accurate must a performance model be for Gas to be useful? W. Cirne and F. Berman ask this (Application "
    "Scheduling over Supercomputers: A Proposal, technical report, UC San Diego, 1999, section 6.1, Accuracy of the "
    "Performance Model) and give no figures."
)
_GAINS = (
    "Shorter: by how many per cent the turn-around time is shorter than with the users' own requests: by the ratio of "
    "the means, and by the geometric mean and the median of the jobs' ratios. Longer: how much longer the mean is than "
    "with an exact model. Lose: jobs that end later than with the user's own request. Killed: jobs killed at a "
    "walltime at least once. ± is half of a 90% interval over months."
)
_EVEN = (
    "The largest error (in per cent) up to which the turn-around time is significantly shorter than with the users' "
    "own requests (98% interval over months); none: not even with an exact model."
)


def accuracy_report(study: Results, origin: Origin) -> Report:
    """Return the report; it is a pure function of the study and its origin."""
    options, own = study.options, study.options.terms
    sections = [
        Section("Accuracy of the performance model", (Text(_ABOUT),)),
        summary_section(claims(study), caption=BY_INTERVALS),
        _break_even(study),
        _pictures(study),
        *(_gains(study, terms) for terms in study.terms),
        _same_model(study),
        method_section("experiments.accuracy"),
        simulated_section(study.logs, EACH_MONTH[study.options.terms.begin]),
        items_section("supercomputers", "accuracy", {_ITEM: Compared((), claims=tuple(claims(study)))}),
        origin_section(study.logs, origin),
    ]
    runs = fewer(options.runs, FULL_RUNS, "job", " per month")
    others = "" if options.others else f"static requests only {OPPONENTS[own.opponent]}"
    banner = not_the_full([*study.missing, *study.left_out, runs, others])
    return Report("How accurate a performance model must be", _lead(study), tuple(sections), banner)


def _lead(study: Results) -> str:
    jobs = sum(len(one.static) for one in study.came.values())

    def of(terms: Terms, variant: Variant) -> str:
        came = [study.came[terms, trace] for trace in study.traces if (terms, trace) in study.came]

        def means(error: int) -> str:
            found = (gain(one, Plan(variant, error, "gas"), "mean")(LEVEL) for one in came)
            return "/".join(f"{one.mean:.0f}" for one in found if one is not None)

        gains = ", ".join(f"{means(error)}% {words}" for error, words in _LED.items())
        last = [_error(break_even(one, variant, "gas", "mean")) for one in came]
        greatest = "/".join(last if len(set(last)) > 1 else last[:1])
        words = f"the mean turn-around time is {gains}; the largest error with a significant gain is {greatest}."
        return f"{_WRONG[variant]}, {words}"

    found = (
        f"Against users' own sizes ({OPPONENTS[terms.opponent]}), if the model is wrong {of(terms, variant)}"
        for terms in study.terms
        for variant in VARIANTS
    )
    return (
        f"Gas planned {many(jobs, 'job')} of {'/'.join(study.traces)} with wrong execution times. By how much is the "
        f"mean turn-around time then shorter than with the users' own requests? {' '.join(found)}"
    )


def _error(found: int | None) -> str:
    """Return the error of a break-even in words."""
    if found is None:
        return "none"
    return f"at least {found:,}%" if found == ERRORS[-1] else f"{found:,}%"


def _break_even(study: Results) -> Section:
    rows = [(terms, trace, came) for terms in study.terms for (of, trace), came in study.came.items() if of == terms]

    def shown(variant: Variant, way: Way, measure: Measure) -> Shown[tuple[Terms, str, Came]]:
        title = f"{'Gas' if way == 'gas' else way}, {measure}"
        return Shown(title, lambda row: _error(break_even(row[2], variant, way, measure)), variant)

    table = table_of(
        rows,
        (
            Shown("users' own sizes", lambda row: OPPONENTS[row[0].opponent], left=True),
            Shown("log", lambda row: row[1], left=True),
            *(shown(variant, way, measure) for variant in VARIANTS for way in _CHOOSING for measure in _JUDGED),
        ),
    )
    return Section("Break-even", (Text(_EVEN), table))


def _pictures(study: Results) -> Section:
    blocks: list[Block] = []
    for terms in study.terms:
        curves: Curves = {
            (measure, variant, trace, way): [
                found
                for error in ERRORS
                if (found := gain(came, Plan(variant, error, way), measure)(LEVEL)) is not None
            ]
            for measure in _JUDGED
            for variant in VARIANTS
            for (of, trace), came in study.came.items()
            for way in _CHOOSING
            if of == terms
        }
        blocks.append(
            Picture(
                f"accuracy-gain-{terms.opponent}",
                draw_gains(curves),
                f"By how much the turn-around time is shorter than with the users' own requests, by the error of the "
                f"model; users' own sizes: {OPPONENTS[terms.opponent]}. Dashed: cautious. Bands are 90% intervals over "
                "months.",
            )
        )
    return Section("Gain by error", tuple(blocks))


def _gains(study: Results, terms: Terms) -> Section:
    tables = tuple(
        _table(study, terms, [(variant, way) for way in _CHOOSING], f"Wrong {_WRONG[variant]}.") for variant in VARIANTS
    )
    return Section(f"Users' own sizes: {OPPONENTS[terms.opponent]}", (Text(_GAINS), *tables))


def _same_model(study: Results) -> Section:
    text = (
        "The user's own size with the walltime of a model that is wrong at each size: this shows the cost of the "
        "margin and of being killed alone. Cautious requests and the users' own know the time at that size."
    )
    tables = [
        _table(study, terms, [("each size", "same model")], f"Users' own sizes: {OPPONENTS[terms.opponent]}.")
        for terms in study.terms
    ]
    return Section("The users' own sizes with the walltimes of the model", (Text(text), *tables))


def _table(study: Results, terms: Terms, of: list[tuple[Variant, Way]], caption: str) -> Table:
    rows = [(trace, came, error) for (one, trace), came in study.came.items() if one == terms for error in ERRORS]

    def columns(variant: Variant, way: Way) -> Iterator[Shown[tuple[str, Came, int]]]:
        group = {"gas": "Gas"}.get(way, way)

        def shown(title: str, part: Any) -> Shown[tuple[str, Came, int]]:
            return Shown(title, lambda row: _text(part(row[1], plan=Plan(variant, row[2], way))), group)

        for measure in MEASURES:
            yield shown(f"shorter, {measure} (%)", partial(gain, measure=measure))
        yield shown("longer (%)", longer)
        yield shown("lose (%)", loses)
        yield shown("killed (%)", killed)

    heads = (
        Shown[tuple[str, Came, int]]("log", lambda row: row[0] if row[2] == ERRORS[0] else "", left=True),
        Shown[tuple[str, Came, int]]("error (%)", lambda row: f"{row[2]:,}"),
    )
    return table_of(rows, (*heads, *(one for variant, way in of for one in columns(variant, way))), caption)


def _text(part: Part) -> str:
    found = part(LEVEL)
    return "" if found is None else found.text(1)


def _outcomes(study: Results) -> Iterator[Mapping[str, Any]]:
    for run, result in study.pairs:
        for row in result["outcomes"]:
            known = {"log": run.site.trace, "month": run.month, "opponent": run.terms.opponent}
            known |= {name: value for name, value in row.items() if name != "plans"}
            for plan, (size, walltime, turnaround, kills) in zip(PLANS, row["plans"], strict=True):
                yield known | {
                    "variant": plan.variant,
                    "error": plan.error,
                    "way": plan.way,
                    "size": size,
                    "walltime": walltime,
                    "turnaround": turnaround,
                    "killed": kills,
                }


TABLES = {
    "accuracy-outcomes": Records[Results](
        "a row for each replaced job, variant, error and way to request",
        _outcomes,
        {
            "job": (
                *MONTH,
                Field("opponent", "how the user's own size is chosen"),
                *SUBSTITUTE,
                Field("static_size", "size of the user's own request", "processors"),
                Field("static", "turn-around time of the user's own request", "s"),
            ),
            "plan": (
                Field("variant", "where the model is wrong"),
                Field("error", "error of the model: exp of a standard deviation of the logarithm, less 1", "%"),
                Field("way", "request: Gas's, cautious, or the user's own size with the model's walltime"),
            ),
            "outcome": (
                Field("size", "size of the request", "processors"),
                Field("walltime", "walltime of the first request", "s"),
                Field("turnaround", "turn-around time, to the end of the last request", "s"),
                Field("killed", "how often it was killed"),
            ),
        },
    )
}
"""By the names of their files."""
