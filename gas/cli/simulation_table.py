"""The tables of ``gas simulate``, and the meaning of their policies and columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from gas.cli.tables import many, print_table, say
from gas.simulation.schedule import Policy
from workloads.selection import part_in_words

__all__ = ["EXPLANATION", "show_results"]


class _Figure(NamedTuple):
    """A column of the tables."""

    title: str
    """A line break marks where it may be broken, see `gas.cli.tables.print_table`."""
    key: str
    shown: Callable[[float], str]
    better: int
    """-1 if less is better, 1 if more is better, 0 if neither."""


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
    "fcfs": "in order of submission, no backfilling",
    "easy": "backfilling that does not delay the first job in the\nqueue",
    "conservative": "backfilling that delays no planned start; after an\nearly end, one pass moves starts earlier",
    "s3": "conservative, but the pass is repeated until no start\nmoves",
    "s3-1999": "conservative, but the pass restarts at the head of the\nqueue after each move (Cirne & Berman 1999)",
    "conservative-replan": "all starts are replanned after an early end,\nso they can become later",
    "conservative-static": "planned starts never change",
}

_COLUMNS_IN_WORDS = {
    "wait": "mean of start - submission, seconds",
    "response": "mean of end - submission, seconds",
    "slowdown": "mean of response / run time (jobs of length 0 excluded)",
    "bounded": "mean of max(1, response / max(run time, 10 s))",
    "unclamped": "like bounded, but can be below 1, as in Mu'alem &\nFeitelson 2001",
    "backfilled": "share of jobs that started while an earlier one waited",
    "utilization": "share of the machine used by jobs, from the first\nsubmission to the last end",
    "capacity lost": "share of the machine idle while a waiting job would fit",
    "load": "with --months: share of the machine used by jobs\nwithin the month",
    "*": "best value of its column",
}

_JSON_IN_WORDS = {
    "load": "share of the machine used by jobs: from the first\nsubmission to the last end, or within the month",
    "offered_load": "processor-seconds of the simulated jobs (of the month)\n"
    "divided by those of the machine between the first and\nthe last submission",
    "offered_load_uncut": "the same before jobs are killed at their estimates; set\nby --scale-load",
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
"""The meaning of policies and columns, at the end of the command's help."""


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
        f"--order {one['order']} --overrun {one['overrun']}"
    )
    for part in one["parts"]:
        heading += f"\n{part_in_words(part)}"
    say("\n".join(heading.splitlines()), to=out)
    figures = (*_OF_JOBS, *_OF_MACHINE)
    rows = [[result["policy"], *cells] for result, cells in zip(results, _cells(results, figures), strict=True)]
    titles = ["policy", *(figure.title for figure in figures)]
    print_table(titles, rows, left=["policy"], whole=["policy"], to=out)
    if one["overrun"] == "kill" and (cut := one["longer_than_estimate"]):
        of = f"{cut:,} of {many(one['jobs'], 'job')} ({cut / one['jobs']:.1%})"
        at, them = ("its estimate", "it") if cut == 1 else ("their estimates", "them")
        say(f"{of} killed at {at}; --overrun extend lets {them} finish", to=out)
    if one.get("classes"):
        _show_parts(results, "classes", ["class", "jobs"], out)
    if months:
        _show_parts(results, "months", ["month", "jobs", "load"], out)


def _show_parts(results: Sequence[dict[str, Any]], kind: str, titles: list[str], out: TextIO) -> None:
    """Print a table of parts of the jobs, each with a row for each policy."""
    rows = []
    for number, part in enumerate(results[0][kind]):
        here = [result[kind][number] for result in results]
        about = [part[titles[0]], f"{part['jobs']:,}", *(f"{part[title]:.3f}" for title in titles[2:])]
        for i, (result, cells) in enumerate(zip(results, _cells(here, _OF_JOBS), strict=True)):
            rows.append([*(about if i == 0 else [""] * len(about)), result["policy"], *cells])
    columns = [*titles, "policy", *(figure.title for figure in _OF_JOBS)]
    say(to=out)
    print_table(columns, rows, left=[titles[0], "policy"], whole=[titles[0], "policy"], to=out)


def _cells(results: Sequence[dict[str, Any]], figures: Sequence[_Figure]) -> list[list[str]]:
    """Return the cells of a table, a row for each result; the best of each column has a star if one is better."""
    rows: list[list[str]] = [[] for _ in results]
    for figure in figures:
        values = [result[figure.key] for result in results]
        texts = ["-" if value is None else figure.shown(value) for value in values]
        known = [value for value in values if value is not None]
        best = ""
        if figure.better and known and len(set(texts)) > 1:  # differences below the shown digits do not count
            best = figure.shown(max(known) if figure.better > 0 else min(known))
        for row, text in zip(rows, texts, strict=True):
            row.append(text + ("*" if text == best else " ") if best else text)
    return rows
