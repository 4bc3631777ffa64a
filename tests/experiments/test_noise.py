"""On noise, the verdicts of every study are "not resolved" in at least 95 of 100 cases."""

import made_accuracy
import made_backfilling
import made_bushel
import made_conditional
import made_estimates
import made_predictions
import made_priorities
import made_supercomputers
import made_walk
import made_walltime
import pytest

from experiments.accuracy import claims as accuracy
from experiments.backfilling import claims as backfilling
from experiments.bushel import claims as bushel
from experiments.conditional import claims as conditional
from experiments.estimates import claims as estimates
from experiments.prediction import bakeoff_report
from experiments.prediction import claims as prediction
from experiments.priorities import report as priorities
from experiments.supercomputers import claims as supercomputers
from experiments.walk import report as walk
from experiments.walltime import claims as walltime

STUDIES = {
    "accuracy": (lambda seed: accuracy.claims(made_accuracy.made_study(seed, 0)), 12, ()),
    "backfilling": (
        lambda seed: backfilling.claims(made_backfilling.made_study(seed, 0))[12:],
        12,
        ("within 5 points", "within 10%", "within 2 points", "very close", "more than 10%"),
    ),
    "bushel": (
        lambda seed: [
            *bushel.claims(made_bushel.made_study(seed, 0), "own"),
            *bushel.beyond(made_bushel.made_study(seed, 0)),
        ],
        8,
        ("more often than",),
    ),
    "conditional": (
        lambda seed: conditional.claims(made_conditional.made_study(seed, 0)),
        10,
        ("no job starts later",),
    ),
    "estimates": (lambda seed: estimates.claims(made_estimates.made_study(seed, 0)), 12, ("within 5 points",)),
    "prediction": (
        lambda seed: [
            *prediction.claims(made_predictions.made_study(seed, 0)),
            *bakeoff_report.bakeoff_claims(made_predictions.made_study(seed, 0)),
        ],
        6,
        ("every other method", "factor of two", "a third of the regret"),
    ),
    "priorities": (
        lambda seed: priorities.claims(made_priorities.made_study(seed, 0)),
        40,
        ("no job starts later", "more than half", "20%", "at most 5%"),
    ),
    "supercomputers": (
        lambda seed: supercomputers.claims(made_supercomputers.made_study(seed, 0)),
        20,
        (),
    ),
    "walk": (lambda seed: walk.claims(made_walk.made_study(seed, 0)), 40, ("by the availability list",)),
    "walltime": (lambda seed: walltime.claims(made_walltime.made_study(seed, 0)), 8, ("more than 2%", "17%", "0.02")),
}
"""By study: its claims on noise from a seed; the number of draws; words of statements that even noise decides."""


@pytest.mark.thorough
@pytest.mark.parametrize("study", STUDIES)
def test_of_noise_at_least_95_of_100_statements_are_not_resolved(study):
    claims, draws, decided = STUDIES[study]
    every = [claim for seed in range(draws) for claim in claims(seed)]
    judged = [claim for claim in every if not any(words.lower() in claim.text.lower() for words in decided)]
    assert len(judged) >= 60
    assert all(claim.verdict in ("yes", "no", "not resolved") for claim in judged)
    resolved = [claim.text for claim in judged if claim.holds is not None]
    assert len(resolved) <= 0.05 * len(judged), resolved
