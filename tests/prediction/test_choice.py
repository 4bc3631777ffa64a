"""Which request to make: from a plan and forecasts, a plan by forecasts."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput
from gas.planner import Candidate, Plan
from gas.prediction import NotPredicted
from gas.prediction.calibration import Level
from gas.prediction.choice import candidates_on, choose
from gas.prediction.forecast import Forecast
from gas.prediction.ledger import Ledger, Outcome
from gas.times import parse_instant

NOW = 1000
SMALL = Candidate("s3", 4, 600, 500, NOW, "promise")  # now, for long
LARGE = Candidate("s3", 8, 200, 150, NOW + 400, "promise")  # as promised it finishes later, at 1550
OTHER = Candidate("file", 8, 200, 150, NOW + 420, "estimate")


def plan_of(*candidates):
    ordered = sorted(candidates, key=lambda c: (c.finish, c.processors, c.start))
    return Plan("app", "exact", NOW, ordered[0] if ordered else None, ordered)


def forecast_of(plan, scheduler, starts):
    """A forecast: the starts in the samples for each processor count, in seconds from now."""
    candidates = candidates_on(plan, scheduler)
    samples = np.array([starts[c.processors] for c in candidates], np.int64).T + NOW
    latest = np.array([c.start for c in candidates])
    return Forecast(
        NOW, latest, samples, np.array([c.execution_time for c in candidates]), np.ones(len(candidates), bool)
    )


def chosen(plan, starts, **options):
    options = {"schedulers": ["s3", "file"], **options}
    return choose(plan, {"s3": forecast_of(plan, "s3", starts)}, **options)


def test_the_least_expected_finish_is_chosen_whatever_was_promised():
    plan = plan_of(SMALL, LARGE)
    found = chosen(plan, {4: [0, 0], 8: [100, 300]})
    assert (plan.best, found.best) == (SMALL, LARGE)
    assert found.predictions[LARGE].start == NOW + 200
    assert found.predictions[LARGE].finish == found.score(LARGE) == found.expected_finish(LARGE) == NOW + 350
    assert found.candidates == [LARGE, SMALL]


def test_no_start_is_predicted_before_the_instant_of_the_answer():
    found = chosen(plan_of(SMALL, LARGE), {4: [0] * 40, 8: [100] * 40}, risk=0.9).as_of(NOW + 50)
    now, later = found.predictions[SMALL], found.predictions[LARGE]
    assert (now.start_low, now.start, now.start_high) == (NOW + 50,) * 3
    assert (now.finish, now.finish_at_risk) == (NOW + 550, NOW + 550)
    assert (later.start, later.finish, later.finish_at_risk) == (NOW + 100, NOW + 250, NOW + 250)
    assert (found.now, found.planned.now) == (NOW + 50, NOW)
    assert "predicted to start in 50s" in found.in_words


def test_the_plan_stays_as_the_planner_made_it():
    plan = plan_of(SMALL, LARGE)
    found = chosen(plan, {4: [0, 0], 8: [100, 300]})
    assert found.planned is plan
    assert plan.best == SMALL
    assert plan.candidates == [SMALL, LARGE]
    assert found.turnaround(LARGE) == plan.turnaround(LARGE)


def test_a_user_who_fears_the_risk_gets_the_sure_start():
    """In nine of ten samples the large one starts at once, in the tenth at its promised start."""
    plan = plan_of(SMALL, LARGE)
    starts = {4: [0] * 10, 8: [0] * 9 + [400]}
    assert chosen(plan, starts).best == LARGE
    assert chosen(plan, starts, risk=0.5).best == LARGE
    assert chosen(plan, starts, risk=0.99).best == SMALL


def test_ties_go_to_fewer_processors_then_the_earlier_expected_start_then_the_order_of_schedulers():
    few = Candidate("s3", 2, 400, 350, NOW + 100, "promise")
    plan = plan_of(few, LARGE)
    assert chosen(plan, {2: [0], 8: [200]}).best == few  # both are expected to finish at 1350
    one = Candidate("one", 8, 200, 150, NOW + 400, "promise")
    slow = Candidate("two", 8, 200, 200, NOW + 350, "promise")  # the same finish from an earlier start
    assert choose(plan_of(one, slow), {}, schedulers=["one", "two"]).best == slow
    two = Candidate("two", 8, 200, 150, NOW + 400, "promise")
    for order in (["one", "two"], ["two", "one"]):
        assert choose(plan_of(one, two), {}, schedulers=order).best.scheduler == order[0]


def test_less_than_a_second_decides_nothing():
    few = Candidate("s3", 2, 400, 350, NOW + 100, "promise")
    found = chosen(plan_of(few, LARGE), {2: [0, 0, 1], 8: [200, 200, 200]})
    assert found.best == few


def test_a_tolerance_takes_the_fewest_processors_near_the_best_expected_turn_around():
    plan = plan_of(SMALL, LARGE)
    starts = {4: [0], 8: [330]}  # expected to finish after 500 and after 480 seconds
    assert chosen(plan, starts).best == LARGE
    assert chosen(plan, starts, tolerance=0.04).best == LARGE
    assert chosen(plan, starts, tolerance=0.05).best == SMALL
    assert "sooner, within the tolerance" in chosen(plan, starts, tolerance=0.05).why_lost(LARGE)


def test_candidates_without_a_forecast_keep_their_planned_starts():
    plan = plan_of(SMALL, LARGE, OTHER)
    found = chosen(plan, {4: [0], 8: [440]})
    assert OTHER not in found.predictions
    assert found.score(OTHER) == OTHER.finish
    assert found.best == SMALL
    assert chosen(plan, {4: [0], 8: [300]}).best == LARGE
    wire = found.to_wire()
    assert [c["predicted"] is None for c in wire["candidates"]] == [
        c["scheduler"] == "file" for c in wire["candidates"]
    ]


NONE_IN_TIME = "planned start, not predicted: 0 simulations of the queue in time, 10 are needed"


def test_a_planned_start_is_not_a_prediction_and_has_no_probability():
    plan = plan_of(SMALL, LARGE, OTHER)
    forecasts = {"s3": forecast_of(plan, "s3", {4: [0], 8: [390]}), "file": NotPredicted(0, "its queue is long")}
    options = {"schedulers": ["s3", "file"], "deadline": NOW + 600}
    found = choose(plan, forecasts, **options)
    assert OTHER not in {*found.predictions, *found.certain}
    assert found.unpredicted == {"file": NONE_IN_TIME}
    assert found.why_lost(OTHER).startswith(f"{NONE_IN_TIME}; would finish")
    sure = choose(plan, forecasts, **options, sure=0.5)
    assert OTHER not in sure.candidates
    (why,) = [one.reason for one in sure.rejected if one.scheduler == "file"]
    assert why == f"the probability of meeting the deadline is not known ({NONE_IN_TIME}); 50% is required"


def test_where_no_scheduler_is_predicted_the_plan_stands():
    plan = plan_of(OTHER)
    found = choose(plan, {"file": NotPredicted(3, "its queue is long")}, schedulers=["file"], risk=0.9)
    assert (found.best, found.predictions, found.score(OTHER)) == (OTHER, {}, OTHER.finish)
    assert "sure" not in found.in_words


def test_no_start_is_expected_after_its_promise_but_one_that_is_not_promised_may_be():
    """The queue is looked at a moment after the availability list."""
    plan = plan_of(SMALL, LARGE)
    found = chosen(plan, {4: [2], 8: [500]})
    assert (found.predictions[SMALL].start, found.predictions[SMALL].start_high) == (NOW, NOW)
    assert found.predictions[LARGE].start == LARGE.start
    estimate = dataclasses.replace(LARGE, kind="estimate")
    assert chosen(plan_of(estimate), {8: [500]}).predictions[estimate].start == NOW + 500


def test_no_start_is_expected_before_now():
    plan = plan_of(SMALL)
    assert chosen(plan, {4: [-5]}).predictions[SMALL].start == NOW


def test_the_interval_lies_around_the_mean():
    plan = plan_of(LARGE)
    found = chosen(plan, {8: list(range(400))}).predictions[LARGE]
    assert abs(found.start_low - (NOW + 20)) <= 1
    assert abs(found.start_high - (NOW + 380)) <= 1
    assert found.start_low < found.start < found.start_high


def test_on_the_wire_predictions_only_add_to_the_plan():
    plan = plan_of(SMALL, LARGE)
    found = chosen(plan, {4: [0], 8: [100]}, details={"seed": 1}).to_wire([{"name": "s3"}])
    for candidate in found["candidates"]:
        assert set(candidate.pop("predicted")) >= {
            "start",
            "start_iso",
            "finish",
            "finish_iso",
            "start_low",
            "start_high",
        }
    best = found.pop("predicted_best")
    assert (best["processors"], best["predicted"]["finish"]) == (8, NOW + 250)
    made = found.pop("prediction")
    assert (made["chosen_by"], made["risk"], made["interval"], made["seed"]) == ("expected finish", None, 0.9, 1)
    assert (made["sure"], made["deadline"], made["prices"], made["unchecked"]) == (None, None, [], ["s3"])
    assert found["best"].pop("predicted")["finish"] == SMALL.finish
    assert found == plan.to_wire([{"name": "s3"}])


def test_a_deadline_leaves_out_who_is_expected_to_miss_it():
    plan = plan_of(SMALL, LARGE, OTHER)  # expected to finish after 500, 250 and, not predicted, 570 seconds
    found = chosen(plan, {4: [0], 8: [100]}, deadline=NOW + 400, promised=None)
    assert (found.best, found.candidates, found.planned.candidates) == (LARGE, [LARGE], [LARGE])
    assert (found.planned.best, plan.best) == (None, SMALL)
    assert [(r.processors, r.kind, r.reason) for r in found.rejected] == [
        (4, "deadline", "predicted to finish 1m40s after the deadline (probability of meeting it: 0%)"),
        (8, "deadline", "not predicted; would finish 2m50s after the deadline"),
    ]
    nothing = chosen(plan, {4: [0], 8: [100]}, deadline=NOW + 10, promised=None)
    assert (nothing.best, nothing.candidates, len(nothing.rejected)) == (None, [], 3)


def test_with_a_risk_a_deadline_holds_for_the_finish_at_that_risk():
    plan = plan_of(LARGE)
    starts = {8: [0] * 8 + [400] * 2}
    assert chosen(plan, starts, deadline=NOW + 300, risk=0.5).best == LARGE
    late = chosen(plan, starts, deadline=NOW + 300, risk=0.95)
    assert late.best is None
    assert late.rejected[0].reason == "95% sure to finish 4m10s after the deadline (probability of meeting it: 76%)"


# ------------------------------------------------------------------------------------------- certainty of a deadline


def test_a_user_who_wants_to_be_sure_gets_the_cheapest_sure_request():
    """Four processors finish after 500 s and use 2,000 processor seconds; eight use 1,200 and may be late."""
    plan = plan_of(SMALL, LARGE)
    starts = {4: [0] * 10, 8: [0] * 8 + [400] * 2}  # eight finish after 150 s eight times of ten, else after 550
    half = chosen(plan, starts, deadline=NOW + 500, sure=0.5)
    assert (half.best, half.candidates[0]) == (LARGE, LARGE)
    sure = chosen(plan, starts, deadline=NOW + 500, sure=0.95)
    assert (sure.best, sure.candidates) == (SMALL, [SMALL])
    late = "1970-01-01T00:25:50Z"  # 550 s from now
    assert (
        sure.rejected[0].reason == f"76% likely to meet the deadline; 95% is required, which takes a deadline of {late}"
    )
    assert sure.prices == half.prices == [SMALL, LARGE]
    assert (sure.certain[SMALL].share, round(sure.certain[LARGE].share, 2)) == (1.0, 0.76)
    assert sure.in_words.endswith("100% sure to meet the deadline")


def test_a_request_may_be_cheaper_and_later_than_one_that_is_as_sure():
    plan = plan_of(SMALL, LARGE)
    wide = Candidate("s3", 2, 900, 700, NOW, "promise")
    found = chosen(plan_of(SMALL, wide), {4: [0], 2: [0]}, deadline=NOW + 1000, sure=0.9)
    assert (found.best, found.candidates) == (wide, [SMALL, wide])
    assert found.why_lost(SMALL) == "100% sure, and uses 43% more"
    assert (
        chosen(plan, {4: [0], 8: [0]}, deadline=NOW + 1000, sure=0.9).why_lost(SMALL) == "100% sure, and uses 67% more"
    )


def test_where_nothing_is_sure_enough_the_surest_is_named_first():
    found = chosen(plan_of(SMALL, LARGE, OTHER), {4: [0] * 2, 8: [0, 400]}, deadline=NOW + 450, sure=0.9)
    assert (found.best, found.candidates) == (None, [])
    assert [r.reason for r in found.rejected] == [
        "47% likely to meet the deadline; 90% is required, which takes a deadline of 1970-01-01T00:25:50Z",
        "0% likely to meet the deadline; 90% is required, which takes a deadline of 1970-01-01T00:25:00Z",
        "the probability of meeting the deadline is not known (not predicted); 90% is required",
    ]


@given(
    waits=st.lists(st.integers(0, 400), min_size=1, max_size=30),
    levels=st.lists(st.floats(0, 1.2), max_size=60),
    sure=st.sampled_from([0.5, 0.8, 0.9, 0.95]),
    kind=st.sampled_from(["promise", "estimate"]),
)
def test_with_the_deadline_that_is_named_it_is_as_sure_as_is_asked(waits, levels, sure, kind):
    plan = plan_of(dataclasses.replace(LARGE, kind=kind))
    ledger = Ledger([Outcome(place, "within an hour", Level(one, one), True) for place, one in enumerate(levels)])
    refused = chosen(plan, {8: waits}, deadline=NOW + 1, sure=sure, ledgers={"s3": ledger}).rejected[0].reason
    named = re.fullmatch(r"0% likely to meet the deadline; .* is required, which takes a deadline of (.*)", refused)
    deadline = parse_instant(named[1], NOW)
    assert chosen(plan, {8: waits}, deadline=deadline, sure=sure, ledgers={"s3": ledger}).best == plan.best


def test_of_an_estimate_no_more_is_said_than_its_outcomes_can_show():
    plan = plan_of(dataclasses.replace(LARGE, kind="estimate"))
    found = chosen(plan, {8: [0] * 10}, deadline=NOW + 10_000, sure=0.99)
    assert found.rejected[0].reason == (
        "95% likely to meet the deadline; 99% is required, and 0 predictions with outcomes on s3 can show 95% at most"
    )
    hundreds = Ledger([Outcome(place, "at once", Level(0.0, 0.9), True) for place in range(300)])
    known = chosen(plan, {8: [0] * 10}, deadline=NOW + 10_000, sure=0.99, ledgers={"s3": hundreds})
    assert known.best is not None
    assert (known.unchecked, found.unchecked) == ([], ["s3"])


def test_the_run_may_last_until_the_end_of_its_walltime():
    found = chosen(plan_of(SMALL, LARGE), {4: [0] * 2, 8: [0, 400]}, deadline=NOW + 550)
    assert found.certain[SMALL].share == 1.0  # 500 s of 600 s
    assert found.certain[SMALL].of_walltime == 0.0
    wire = found.to_wire()["predicted_best"]["predicted"]
    assert (wire["in_time"], wire["in_time_if_walltime_is_used"]) == (1.0, pytest.approx(10 / 21))


def test_a_scheduler_that_was_late_so_far_is_not_sure():
    """Nine of ten samples are in time; half of the last real starts came after all samples of their predictions."""
    estimate = dataclasses.replace(LARGE, kind="estimate")
    starts = {8: [1] * 9 + [800]}
    held = [Outcome(place, "within an hour", Level(0.4, 0.6), True) for place in range(200)]
    late = [
        Outcome(place, "within an hour", Level(0.4, 0.6) if place % 2 else Level(1.5, 1.5), True)
        for place in range(200)
    ]
    shares = [
        chosen(plan_of(estimate), starts, deadline=NOW + 500, ledgers={"s3": Ledger(one)}).certain[estimate].share
        for one in (held, late)
    ]
    assert shares[0] > 0.95
    assert 0.45 < shares[1] < 0.6


def test_an_unchecked_prediction_does_not_win_over_a_checked_one_by_being_sure_of_itself():
    """In all samples, the other machine starts it at once; by that machine's plan it starts after an hour."""
    here, there = (Candidate(name, 8, 200, 150, NOW + 3600, "estimate") for name in ("s3", "new"))
    plan = plan_of(here, there)
    starts = {name: forecast_of(plan, name, {8: [at] * 10}) for name, at in (("s3", 300), ("new", 0))}
    checked = Ledger([Outcome(place, "within an hour", Level(0.4, 0.6), True) for place in range(100)])

    def by(**options):
        return choose(plan, starts, schedulers=["s3", "new"], **options)

    assert by(risk=0.9).best == there  # neither is checked
    assert by(ledgers={"s3": checked}).best == there  # without a risk, the mean decides; unchecked schedulers are named
    assert by(ledgers={"s3": checked}).unchecked == ["new"]
    careful = by(risk=0.9, ledgers={"s3": checked})
    assert (careful.best, careful.score(there)) == (here, NOW + 3600 + 150)
    sure = by(sure=0.9, deadline=NOW + 1000, ledgers={"s3": checked})
    assert (sure.best, there in sure.certain) == (here, False)
    assert sure.rejected[0].reason == (
        "the probability of meeting the deadline is not known (too few predictions have outcomes on new); "
        "90% is required"
    )
    assert there in by(sure=0.9, deadline=NOW + 4000, ledgers={"s3": checked}).certain  # it is even planned in time


def test_why_others_lost_is_told_by_what_is_expected():
    found = chosen(plan_of(SMALL, LARGE), {4: [0], 8: [100]})
    assert found.why_lost(LARGE) == "best"
    assert found.why_lost(SMALL) == "predicted to finish 4m10s later"


def test_a_plan_without_candidates_has_no_best():
    found = choose(plan_of(), {}, schedulers=["s3"])
    assert (found.best, found.candidates) == (None, [])
    assert found.to_wire()["predicted_best"] is None


def test_what_does_not_fit_is_refused():
    plan = plan_of(SMALL, LARGE)
    with pytest.raises(BadInput, match="forecast has 1 candidates, but the plan has 2"):
        choose(plan, {"s3": forecast_of(plan_of(SMALL), "s3", {4: [0]})}, schedulers=["s3"])
    with pytest.raises(BadInput, match="tolerance 2"):
        chosen(plan, {4: [0], 8: [0]}, tolerance=2)
    with pytest.raises(BadInput, match="risk 1"):
        chosen(plan, {4: [0], 8: [0]}, risk=1)
    for options in ({}, {"deadline": NOW + 9, "risk": 0.5}, {"deadline": NOW + 9, "tolerance": 0.1}):
        with pytest.raises(BadInput, match="sure: needs a deadline"):
            chosen(plan, {4: [0], 8: [0]}, sure=0.9, **options)
