"""Verdicts on prediction: too many right intervals are as wrong as too few."""

import pytest
from made_predictions import outcome, predicted

from experiments.prediction.claims import claims


@pytest.mark.parametrize(
    ("inside", "verdict"), [(79, False), (84, None), (86, None), (90, True), (94, None), (96, None), (99, False)]
)
def test_too_many_right_intervals_are_as_wrong_as_too_few(made_study, inside, verdict):
    starts = [predicted(150, 100, 200)] * inside + [predicted(250, 100, 200)] * (100 - inside)
    found = claims(made_study(starts, [outcome(10, 5, 5)]))
    covers = [claim for claim in found if "contain the true start" in claim.text]
    assert {claim.holds for claim in covers} == {verdict}
    assert all(f"{inside}.0" in claim.here for claim in covers)


def test_two_months_that_agree_by_chance_give_no_verdict(made_study):
    starts = [predicted(150, 100, 200)] * 18 + [predicted(250, 100, 200)] * 2
    judged = claims(made_study(starts, [outcome(10, 20, 5)], months=2))
    assert {claim.verdict for claim in judged} == {"not resolved"}
    assert all(claim.here.endswith("; fewer than 4 months, so no interval") for claim in judged)
    assert not any("±" in claim.here for claim in judged)


@pytest.mark.parametrize(("width", "verdict"), [(500, True), (501, False)])
def test_half_of_the_way_is_wide_enough(made_study, width, verdict):
    found = claims(made_study([predicted(150, 100, 100 + width)], [outcome(10, 5, 5)]))
    assert {claim.holds for claim in found if "as wide as" in claim.text} == {verdict}


@pytest.mark.parametrize(
    ("outcomes", "sooner", "loses_less"),
    [
        ([outcome(10, 20, 5), outcome(10, 5, 5)], True, True),
        ([outcome(10, 5, 20), outcome(10, 5, 5)], False, False),
        ([outcome(1000, 900, 10), outcome(10, 5, 11)], True, False),
    ],
)
def test_predicting_helps_where_it_is_sooner_and_loses_less(made_study, outcomes, sooner, loses_less):
    found = claims(made_study([predicted(150, 100, 200)], outcomes))
    assert {claim.holds for claim in found if "with predictions than without" in claim.text} == {sooner}
    assert {claim.holds for claim in found if "less often" in claim.text} == {loses_less}


@pytest.mark.parametrize(
    ("watched", "sooner", "little"), [(30, True, True), (33, True, True), (35, True, False), (51, False, False)]
)
def test_watching_helps_where_it_is_sooner_and_is_enough_where_a_third_is_left(made_study, watched, sooner, little):
    found = claims(made_study([], [outcome(500, 101, 50, watched=watched + 1)]))
    assert {claim.holds for claim in found if "watches the job" in claim.text} == {sooner}
    few = [claim for claim in found if "a third of the regret" in claim.text]
    assert {claim.holds for claim in few} == {little}
    assert all(claim.here.startswith(f"{watched}.0 ± 0.0%, without watching 49.0%") for claim in few)
