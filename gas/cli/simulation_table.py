"""What ``gas simulate`` tells of its results: the tables, and what their policies and columns mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from gas.cli.tables import many, print_table, say
from gas.simulation.schedule import Policy

__all__ = ["EXPLANATION", "show_results"]


class _Figure(NamedTuple):
    """A column of the tables."""

    title: str
    """A line break where it may be broken, see `gas.cli.tables.print_table`."""
    key: str
    shown: Callable[[float], str]
    better: int
    """-1 where less is better, 1 where more is, 0 where neither."""


def _seconds(value: float) -> str:
    return f"{value:,.0f}"


def _ratio(value: float) -> str:
    return f"{value:,.2f}"


def _share(value: float) -> str:
    return f"{value:.1%}"


_OF_JOBS = (
    _Figure("wait\n(s)", "mean_wait", _seconds, -1),
    _Figure("response\n(s)", "mean_response", _seconds, -1),
    _Figure("slowdown", "mean_slowdown", _ratio, -1),
    _Figure("bounded", "mean_bounded_slowdown", _ratio, -1),
    _Figure("un-\nclamped", "mean_bounded_slowdown_unclamped", _ratio, -1),
    _Figure("back-\nfilled", "backfilled", _share, 0),
)
_OF_MACHINE = (
    _Figure("utili-\nzation", "utilization", _share, 1),
    _Figure("capa-\ncity\nlost", "loss_of_capacity", _share, -1),
)

_POLICIES_IN_WORDS: dict[Policy, str] = {
    "fcfs": "in order of submission, nobody passes anybody",
    "easy": "jobs may pass if the first in the queue is not delayed",
    "conservative": "all have a planned start that nobody delays; after an\nearly end, one pass moves starts forward",
    "s3": "conservative, passes repeated until nothing moves",
    "s3-1999": "conservative, from the head again after each move\n(Cirne & Berman 1999)",
    "conservative-replan": "all planned anew after an early end: starts can slip",
    "conservative-static": "the first plan stays as it is",
}

_COLUMNS_IN_WORDS = {
    "wait": "start - submission, mean, seconds",
    "response": "end - submission, mean, seconds",
    "slowdown": "response / run time, mean (not of jobs of length 0)",
    "bounded": "max(1, response / max(run time, 10 s)), mean",
    "unclamped": "response / max(run time, 10 s), mean, as in Mu'alem\n& Feitelson 2001",
    "backfilled": "share of jobs that started while an earlier one waited",
    "utilization": "share of the machine that jobs used, from the first\nsubmission to the last end",
    "capacity lost": "share of it that was idle while a waiting job would fit",
    "load": "with --months: share of the machine that jobs held\nwithin the month",
    "*": "the best of its column, where they differ",
}

_JSON_IN_WORDS = {
    "load": "share of the machine that jobs held: from the first\nsubmission to the last end, or within the month",
    "offered_load": "work of the jobs as simulated, or of the month's own,\n"
    "over what the machine has between the first and the\nlast submission",
    "offered_load_uncut": "the same before jobs are cut at their estimates: what\n--scale-load sets",
}


def _in_words(title: str, words: Mapping[Any, str]) -> str:
    lines = [f"  {name:<20} {text}".replace("\n", "\n" + " " * 23) for name, text in words.items()]
    return "\n".join(["\b", f"{title}:", *lines])


EXPLANATION = "\n\n".join(
    [
        _in_words("Policies", _POLICIES_IN_WORDS),
        _in_words("Columns", _COLUMNS_IN_WORDS),
        _in_words("In --json", _JSON_IN_WORDS),
    ]
)
"""What policies and columns mean, for the end of the command's help."""


def show_results(logs: Sequence[Sequence[dict[str, Any]]], months: bool, out: TextIO) -> None:
    """Print a table for each log, and with `months` another for its months.

    Parameters
    ----------
    logs
        The results of each, as in a ``gas.simulation/1`` document.
    """
    for number, results in enumerate(logs):
        if number:
            say(to=out)
        _show(results, months, out)


def _show(results: Sequence[dict[str, Any]], months: bool, out: TextIO) -> None:
    one = results[0]
    left_out = f", {one['skipped']:,} left out" if one["skipped"] else ""
    short = f" ({one['zero_length']:,} of length 0, not in slowdown)" if one["zero_length"] else ""
    heading = (
        f"{one['trace']}: {many(one['jobs'], 'job')}{short}{left_out}, {many(one['processors'], 'processor')}; "
        f"order {one['order']}, overrun {one['overrun']}"
    )
    for part in one["parts"]:
        heading += f"\n{'' if part.startswith('Load') else 'only jobs '}{part}"
    say("\n".join(heading.splitlines()), to=out)
    figures = (*_OF_JOBS, *_OF_MACHINE)
    rows = [[result["policy"], *cells] for result, cells in zip(results, _cells(results, figures), strict=True)]
    titles = ["policy", *(figure.title for figure in figures)]
    print_table(titles, rows, left=["policy"], whole=["policy"], to=out)
    if one["overrun"] == "kill" and (cut := one["longer_than_estimate"]):
        of = f"{cut:,} of {many(one['jobs'], 'job')} ({cut / one['jobs']:.1%})"
        at, them = ("its estimate", "it") if cut == 1 else ("their estimates", "them")
        say(f"{of} cut short at {at}; --overrun extend would let {them} run on", to=out)
    if not months:
        return
    rows = []
    for number, month in enumerate(one["months"]):
        here = [result["months"][number] for result in results]
        for i, (result, cells) in enumerate(zip(results, _cells(here, _OF_JOBS), strict=True)):
            first = [month["month"], f"{month['jobs']:,}", f"{month['load']:.3f}"] if i == 0 else ["", "", ""]
            rows.append([*first, result["policy"], *cells])
    titles = ["month", "jobs", "load", "policy", *(figure.title for figure in _OF_JOBS)]
    say(to=out)
    print_table(titles, rows, left=["month", "policy"], whole=["month", "policy"], to=out)


def _cells(results: Sequence[dict[str, Any]], figures: Sequence[_Figure]) -> list[list[str]]:
    """Return the cells of a table, a row for each result; the best of each column has a star if one is better."""
    rows: list[list[str]] = [[] for _ in results]
    for figure in figures:
        values = [result[figure.key] for result in results]
        texts = ["-" if value is None else figure.shown(value) for value in values]
        known = [value for value in values if value is not None]
        best = ""
        if figure.better and known and len(set(texts)) > 1:  # differences that are not shown are none
            best = figure.shown(max(known) if figure.better > 0 else min(known))
        for row, text in zip(rows, texts, strict=True):
            row.append(text + ("*" if text == best else " ") if best else text)
    return rows
