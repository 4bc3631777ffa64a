"""How sure requests are to meet a deadline, for any predictions and any outcomes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.planner import Candidate
from gas.prediction.calibration import Calibration, Level
from gas.prediction.certainty import Corrected, certainties, cheapest, percent, prices, unproven
from gas.prediction.ledger import KINDS, Ledger, Outcome

NOW = 1_000_000
DAY = 86_400

shares = st.floats(0.01, 0.99)


@st.composite
def outcomes(draw):
    """Outcomes on a machine: none, few or enough, mostly late or not."""
    levels = draw(st.lists(st.floats(0, 1.5), max_size=60))
    return [Outcome(place, kind, Level(one, one), True) for place, one in enumerate(levels) for kind in KINDS]


@st.composite
def corrected(draw):
    """Requests to two machines, and their predictions."""
    ledgers = {name: Ledger(draw(outcomes())) for name in ("one", "two")}
    found = {}
    for size in range(1, draw(st.integers(1, 6)) + 1):
        waits = np.sort(np.array(draw(st.lists(st.integers(0, DAY), min_size=1, max_size=20)), np.int64))
        latest = int(waits[-1]) + draw(st.integers(0, DAY))
        lasts, kind = draw(st.integers(1, DAY)), draw(st.sampled_from(["promise", "estimate"]))
        name = draw(st.sampled_from(list(ledgers)))
        candidate = Candidate(name, size, lasts + draw(st.integers(0, 600)), lasts, NOW + latest, kind)
        ledger = ledgers[candidate.scheduler]
        found[candidate] = Corrected(candidate, ledger.predict(NOW, waits, latest), ledger)
    return found


def by_place(one):
    return (one.processors,)


@examples(60)
@given(corrected(), st.lists(st.integers(-100, 3 * DAY), min_size=2, max_size=6))
def test_a_later_deadline_is_never_less_sure_to_be_met(found, deadlines):
    known = [certainties(found, NOW + seconds, found) for seconds in sorted(deadlines)]
    for earlier, later in pairwise(known):
        for one, certainty in earlier.items():
            assert certainty.share <= later[one].share
            assert certainty.of_walltime <= certainty.share <= certainty.most


@examples(60)
@given(corrected(), st.integers(0, 3 * DAY), st.lists(shares, min_size=2, max_size=6))
def test_the_choice_is_as_sure_as_asked_and_more_certainty_is_never_cheaper(found, seconds, asked):
    known, paid = certainties(found, NOW + seconds, found), []
    for share in sorted(asked):
        best = cheapest(found, known, share, by_place)
        if best is None:
            assert all(one.share < share for one in known.values())
            paid.append(float("inf"))
            continue
        assert known[best].share >= share - 1e-9
        assert all(best.processor_seconds <= c.processor_seconds for c, one in known.items() if one.share >= share)
        paid.append(best.processor_seconds)
    assert paid == sorted(paid)


@examples(60)
@given(corrected(), shares)
def test_the_start_for_a_probability_is_met_with_that_probability(found, share):
    for one in found.values():
        start = one.start_by(share)
        most = one.ledger.calibration(one.made.kind).share(float("inf"))
        if one.candidate.kind == "promise" or most >= share:
            assert one.probability(start) >= share - 1e-9
        if start - NOW > 0 and one.probability(start - 2) >= share + 1e-9:  # it is rounded up to whole seconds
            pytest.fail("an earlier start is as sure")


@examples(60)
@given(corrected(), st.integers(0, 3 * DAY), shares)
def test_prices_fall_with_certainty(found, seconds, share):
    known = certainties(found, NOW + seconds, found)
    listed = prices(known, share)
    assert [known[one].share for one in listed] == sorted((known[one].share for one in listed), reverse=True)
    paid = [one.processor_seconds for one in listed]
    assert paid == sorted(set(paid), reverse=True)
    if (best := cheapest(found, known, share, by_place)) is not None:
        assert best.processor_seconds in paid


@pytest.mark.thorough
def test_right_predictions_come_true_as_often_as_stated():
    """Predicted waits are three times too short, which outcomes correct."""
    generator = np.random.default_rng(1)
    ledger, met = Ledger(), []
    for place in range(3000):
        mean = generator.uniform(2 * 3600, 8 * 3600)
        waits = np.sort(generator.exponential(mean / 3, 100)).astype(np.int64)
        truth = int(generator.exponential(mean))
        made = ledger.predict(place, waits, int(6 * mean), kind=KINDS[2])
        candidate = Candidate("one", 1, 60, 60, place + made.latest, "estimate")
        one = Corrected(candidate, made, ledger)
        if place >= 1000:
            met.append([truth <= one.start_by(share) - place for share in (0.5, 0.8, 0.95)])
        ledger.add([made.outcome(place + truth)])
    assert np.mean(met, axis=0) == pytest.approx([0.5, 0.8, 0.95], abs=0.03)


def test_a_promise_that_is_not_predicted_is_kept_and_an_estimate_is_not_known():
    promise, estimate = (Candidate("disk", 4, 200, 100, NOW, kind) for kind in ("promise", "estimate"))
    known = certainties([promise, estimate], NOW + 150, {})
    assert (known[promise].share, known[promise].of_walltime, estimate in known) == (1.0, 0.0, False)


def test_nothing_is_unproven_where_nothing_is_checked_or_all_is():
    def one(name, count):
        ledger = Ledger([Outcome(place, KINDS[0], Level(0.0, 0.5), True) for place in range(count)])
        candidate = Candidate(name, 1, 60, 60, NOW, "estimate")
        return Corrected(candidate, ledger.predict(NOW, np.zeros(1, np.int64), 0), ledger)

    assert unproven([one("a", 5), one("b", 0)]) == unproven([one("a", 20), one("b", 30)]) == set()
    assert {c.scheduler for c in unproven([one("a", 20), one("b", 19)])} == {"b"}


@pytest.mark.parametrize(
    ("share", "written"),
    [(0, "0%"), (0.949, "94%"), (0.95, "95%"), (20 / 21, "95%"), (0.9999, "99.9%"), (0.99, "99%"), (1, "100%")],
)
def test_a_probability_is_rounded_down(share, written):
    assert percent(share) == written


def test_too_few_outcomes_say_nothing_of_what_is_rare():
    known = Calibration([Level(0.5, 0.5), Level(1.3, 1.3)], prior=0)
    assert (known.level(0.5), known.level(0.99)) == (1.3, 1.3)
    assert [known.share(level) for level in (0.4, 0.5, 1.3, 9.0)] == [0, 1 / 3, 2 / 3, 2 / 3]
