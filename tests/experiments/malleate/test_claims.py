"""Verdicts only where intervals decide: noise is not resolved, and a sure effect is."""

import numpy as np
import pytest
from made_malleate import made_study
from thorough import rounds

from experiments.malleate.claims import claims


@pytest.mark.thorough
def test_noise_is_not_resolved_in_95_of_100_statements_or_more():
    verdicts = []
    for seed in range(rounds(90)):
        of = {claim.text: claim.holds for claim in claims(made_study(seed, 1.0))}
        true = ("by 37 to 67%", "at least half")  # statements that are clearly true here
        verdicts += [holds for text, holds in of.items() if not any(words in text for words in true)]
    assert len(verdicts) >= 240
    assert np.mean([holds is None for holds in verdicts]) >= 0.95


def test_a_large_effect_is_found():
    of = {claim.text: claim.holds for claim in claims(made_study(1, 0.5))}
    assert of["If 100% of the jobs are malleable (own size first), the mean turn-around time falls."] is True
    assert of["It falls by 37 to 67%, as published for three other machines."] in (True, None)
