"""The terms on which benchmarks replace jobs: the paper's, as far as they are known, and variations of them.

The paper's own terms are not all known, and its benchmark times are lost, so the same months are also run on other
terms (`TERMS`), and reports say which conclusions survive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

from experiments.framework.months import Begin
from experiments.moldable.benchmarks import MIXES, Form, Mix
from experiments.moldable.substitution import OPPONENTS, Opponent
from gas.errors import BadInput
from gas.simulation.schedule import POLICIES, Policy
from speedup_models.nas import datasets

__all__ = ["BASE", "PERFECT", "PLANNED", "TERMS", "Terms", "chosen_terms", "perfect"]


@dataclass(frozen=True)
class Terms:
    """The terms on which benchmarks replace jobs."""

    name: str
    """The difference from the first of `TERMS`."""
    mix: Mix = "thirds"
    form: Form = field(default_factory=Form)
    opponent: Opponent = "uniform"
    policy: Policy = "s3"
    perfect: bool = False
    """Whether the true run times are the estimates."""
    begin: Begin = "warm"
    """How the simulation of a month begins."""
    load: float = 1.0
    """Offered load divided by that of the log; interarrival times are divided by it."""


PLANNED = tuple(policy for policy in POLICIES if policy not in ("fcfs", "easy"))
"""Policies that plan a start for every job, so that Gas has an availability list."""

BASE = Terms("as in the paper, as far as it is known, but months begin warm")


def chosen_terms(
    *,
    mix: str = BASE.mix,
    opponent: str = BASE.opponent,
    dataset: str = BASE.form.dataset,
    filled: bool = BASE.form.filled,
    era: bool = BASE.form.era,
    accuracy: float = BASE.form.accuracy,
    policy: str = BASE.policy,
) -> Terms:
    """Return terms whose name says how they differ from `BASE`; `BASE` itself if they do not.

    Raises
    ------
    BadInput
        One of them is unknown or out of range.
    """
    for what, given, known in (
        ("mix", mix, tuple(MIXES)),
        ("opponent", opponent, OPPONENTS),
        ("dataset", dataset, ("default", *(one.name for one in datasets()))),
        ("policy", policy, PLANNED),
    ):
        if given not in known:
            raise BadInput(f"--{what} {given}: is not known; known: {', '.join(known)}")
    form = Form(dataset, filled, era, accuracy)
    terms = Terms(BASE.name, cast(Mix, mix), form, cast(Opponent, opponent), cast(Policy, policy))
    differences = [
        *([f"mix {mix}"] if mix != BASE.mix else []),
        *([f"static request {opponent}"] if opponent != BASE.opponent else []),
        *([f"data set {dataset}"] if dataset != BASE.form.dataset else []),
        *([] if filled else ["measured sizes alone"]),
        *([] if era else ["times as measured"]),
        *([f"accuracy {accuracy:g}"] if accuracy != BASE.form.accuracy else []),
        *([f"policy {policy}"] if policy != BASE.policy else []),
    ]
    return replace(terms, name=f"as chosen: {', '.join(differences)}") if differences else terms


def perfect(terms: Terms) -> Terms:
    """Return the same terms with the true run times as estimates."""
    return replace(terms, name="estimates are the run times", perfect=True)


TERMS = (
    BASE,
    Terms("static request: powers of two", opponent="powers"),
    Terms("static request: the size of the job that gives way", opponent="own"),
    Terms("a fifth for each benchmark", mix="uniform"),
    Terms("measured sizes alone", form=Form(filled=False)),
    Terms("times as measured, not slowed down to the era", form=Form(era=False)),
    Terms("times of data set jpfmm-2015", form=Form(dataset="jpfmm-2015")),
    Terms("times of data set ethernet-r641", form=Form(dataset="ethernet-r641")),
    Terms("times of data set slow-network-2012", form=Form(dataset="slow-network-2012")),
    Terms("benchmarks use up half of their walltime", form=Form(accuracy=0.5)),
    Terms("the machine is empty at the beginning of a month, as it seems to be in the paper", begin="empty"),
    Terms("the load is 0.8 times that of the log", load=0.8),
    Terms("the load is 1.2 times that of the log", load=1.2),
    Terms("policy s3-1999", policy="s3-1999"),
    Terms("policy conservative", policy="conservative"),
    perfect(BASE),
)
"""The paper's terms first, then variations, one change at a time."""

PERFECT = perfect(BASE)
