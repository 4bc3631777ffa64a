"""The details of its set-up that the paper leaves open, with its wording, and the alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from gas.errors import BadInput

__all__ = ["CHOICES", "Choice", "SetUp", "named", "near_set_ups", "settings_of", "text_of"]

SetUp = tuple[tuple[str, str], ...]
"""The differences of a set-up from the usual one: choices and alternatives, in the order of `CHOICES`."""


@dataclass(frozen=True)
class Choice:
    """A choice of a set-up.

    Attributes
    ----------
    name
        Name in set-ups.
    words
        The paper's words on it, or that it has none.
    usual
        The usual value: that of the other studies, except for the beginning of a month.
    others
        Alternatives, and what the paper says for or against each.
    remark
        What the usual value is.
    """

    name: str
    words: str
    usual: str
    others: dict[str, str]
    remark: str = "used in the other studies"


CHOICES = (
    Choice(
        "static",
        "5.2: “a randomly picked static value for the number of processors”",
        "uniform",
        {
            "log": "allowed: “randomly picked” names no distribution",
            "powers": "allowed for EP only if sizes were taken from a table of measured ones",
            "own": "not “randomly picked”, but the rule of the authors' later code",
        },
    ),
    Choice(
        "sizes",
        "5.1: “execution times over a variety of supercomputers and partition sizes”; EP “can run over any number”",
        "accepted",
        {"measured": "allowed: times are public for tabulated sizes alone; against it: EP runs “over any number”"},
    ),
    Choice(
        "largest",
        "5.1: “a variety of supercomputers and partition sizes”; which ones is not known",
        "measured",
        {
            "64": "allowed: no larger size in the lost table",
            "128": "allowed: the same",
            "256": "allowed: the same; MG, measured to 32 here, goes on at its last rate",
            "512": "allowed: sizes up to the machine's",
        },
    ),
    Choice(
        "times",
        "5.1 names the source (NASA's results of 1999, lost), not the machine",
        "1",
        {
            "0.6": "allowed: faster machines",
            "0.4": "allowed: the same",
            "2": "allowed: slower machines",
            "4": "allowed: slower machines still; the least times of Tables 5.1 to 5.7 speak against it",
        },
    ),
    Choice(
        "accuracy",
        "4.2: applications “produce an upper-bound of their execution time”; nothing on how tight",
        "1",
        {"0.5": "allowed: twice the execution time is an upper bound"},
    ),
    Choice(
        "match",
        "5.1: “applications whose consumed CPU time is as close as possible”",
        "used",
        {
            "requested": "against “consumed”, but 5.3 measures the load by “requested CPU time”",
            "any": "against the words; shows what the rule does",
        },
    ),
    Choice(
        "begin",
        "5.2: “we split the three workloads into one-month workloads”",
        "empty",
        {"warm": "not what the words suggest: the month before runs first, as in the other studies"},
        "the words suggest that each month begins with an empty machine",
    ),
    Choice(
        "policy",
        "4.1: conservative backfilling; a freed hole goes to the first waiting job that fits, again and again",
        "s3",
        {
            "s3-1999": "allowed: the paper's pseudo-code to the letter",
            "conservative": "allowed by “conservative backfilling”, though the text moves jobs in another way",
        },
    ),
    Choice(
        "overrun",
        "4.1: applications “that run beyond the time they've requested are killed”",
        "kill",
        {"extend": "against the words; the logs hold jobs that ran on"},
    ),
    Choice(
        "estimates",
        "5.2: Gas “uses only the total time they've requested”",
        "users",
        {"perfect": "against the words; shows how much hangs on requests"},
    ),
)
"""In the order in which set-ups name them."""


def _alternatives() -> list[tuple[str, str]]:
    return [(choice.name, other) for choice in CHOICES for other in choice.others]


def near_set_ups(around: SetUp, changes: int) -> list[SetUp]:
    """Return a set-up and all that differ from it in at most `changes` choices."""
    every = [(choice.name, other) for choice in CHOICES for other in (choice.usual, *choice.others)]
    usual = settings_of(())
    base = settings_of(around)
    found = []
    for count in range(changes + 1):
        for one in combinations([part for part in every if base[part[0]] != part[1]], count):
            if len(dict(one)) == count:
                settings = base | dict(one)
                found.append(tuple(part for part in settings.items() if usual[part[0]] != part[1]))
    return found


def named(text: str) -> SetUp:
    """Return a set-up written as ``static=log,times=2``; "usual" is the one of the other studies.

    Raises
    ------
    BadInput
        It names an unknown choice or alternative, or a choice twice.
    """
    parts = [] if text == "usual" else [part.strip().partition("=") for part in text.split(",")]
    given = [(name, other) for name, _, other in parts]
    known = _alternatives()
    if wrong := [part for part in given if part not in known]:
        words = ", ".join("=".join(part) for part in known)
        raise BadInput(f"--set-up {text}: {'='.join(wrong[0])} is not known; known: {words}")
    if len(dict(given)) < len(given):
        raise BadInput(f"--set-up {text}: names a choice twice; give each once")
    return tuple(part for part in known if part in given)


def text_of(setup: Sequence[tuple[str, str]]) -> str:
    """Return a set-up in the form that `named` reads."""
    return ",".join("=".join(part) for part in setup) or "usual"


def settings_of(setup: SetUp) -> dict[str, Any]:
    """Return the value of every choice in a set-up."""
    return {choice.name: choice.usual for choice in CHOICES} | dict(setup)
