"""A ledger of predictions: outcomes correct later predictions, and show how well the last intervals held."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import examples

from gas.errors import BadInput
from gas.prediction.blend import POINTS
from gas.prediction.calibration import WINDOW
from gas.prediction.ledger import KINDS, LEAST, MOST_OPEN, SET_AHEAD, SET_BACK, Coverage, Ledger, kind_of

HOUR = 3600


def waits(*seconds):
    return np.sort(np.array(seconds, np.int64))


def shown(ledger, now, simulated, latest, similar=()):
    """The figures of another prediction."""
    made = ledger.predict(now, waits(*simulated), latest, waits(*similar))
    return made.kind, made.waits.tolist(), made.low, made.high


def through_json(ledger):
    return Ledger.of_wire(json.loads(json.dumps(ledger.to_wire())))


def live(ledger, habit, jobs, *, seed=0, now=0):
    """Predict exponential waits of a mean hour; real ones are `habit` times as long. Return which intervals held."""
    generator = np.random.default_rng(seed)
    held = []
    for number in range(jobs):
        now += HOUR
        ledger.learn(now)
        made = ledger.predict(now, np.sort(generator.exponential(HOUR, 100)).astype(np.int64), 12 * HOUR)
        wait = int(habit * generator.exponential(HOUR))
        ledger.predicted(f"{seed}.{number}", made)
        ledger.started(f"{seed}.{number}", now + wait)
        held.append(made.low <= wait <= made.high)
    return held, now


jobs = st.lists(
    st.tuples(
        st.lists(st.integers(0, 5000), min_size=1, max_size=12),  # simulated
        st.lists(st.integers(0, 5000), max_size=5),  # similar
        st.integers(0, 3000),  # how much later the plan is
        st.integers(0, 20_000),  # the true wait
    ),
    max_size=40,
)


def test_without_a_simulation_similar_jobs_are_all_that_is_said_and_weights_learn_nothing():
    ledger = Ledger()
    for number in range(30):
        now = number * 10 * HOUR
        ledger.learn(now)
        made = ledger.predict(now, waits(), 12 * HOUR, waits(2 * HOUR, 3 * HOUR, 4 * HOUR))
        assert (made.kind, made.waits.tolist()) == (KINDS[2], [2 * HOUR, 3 * HOUR, 4 * HOUR])
        ledger.predicted(str(number), made)
        ledger.started(str(number), now + 3 * HOUR)
    ledger.learn(now + 5 * HOUR)
    assert len(ledger.outcomes) == 30
    assert not any(one.scores for one in ledger.outcomes)
    assert ledger.weight(KINDS[2]) == Ledger().weight(KINDS[2])
    assert ledger.coverage().share == 1


@examples(60)
@given(jobs, st.integers(1, 500))
def test_a_ledger_that_is_written_and_read_at_every_step_says_what_one_in_memory_says(jobs, step):
    kept, written = Ledger(), Ledger()
    told = []
    for number, (simulated, similar, more, wait) in enumerate(jobs):
        now = number * step
        arguments = now, waits(*simulated), max(simulated) + more, waits(*similar)
        told.append((now + wait, str(number)))
        for start, who in [one for one in told if one[0] < now]:
            written.started(who, start)
        kept.learn(now)
        written.learn(now)
        told = [one for one in told if one[0] >= now]
        kept.predicted(str(number), kept.predict(*arguments))
        written.predicted(str(number), written.predict(*arguments))
        kept.started(str(number), now + wait)
        written = through_json(written)
    assert written.outcomes == kept.outcomes
    assert list(written.open) == list(kept.open)
    for simulated in ((0,), (900, 1800), (9000, 18000)):
        assert shown(written, 0, simulated, 20_000, (60,)) == shown(kept, 0, simulated, 20_000, (60,))


@examples(60)
@given(jobs)
def test_what_has_not_started_yet_teaches_nothing(jobs):
    early, never = Ledger(), Ledger()
    for number, (simulated, similar, more, wait) in enumerate(jobs):
        for ledger in (early, never):
            made = ledger.predict(number, waits(*simulated), max(simulated) + more, waits(*similar))
            ledger.predicted(str(number), made)
        early.started(str(number), 100 + wait)
        assert not early.learn(100)
    assert early.outcomes == never.outcomes == []
    assert shown(early, 0, (60, 120), 500) == shown(never, 0, (60, 120), 500)


def test_only_the_first_prediction_of_a_job_is_kept_and_a_withdrawn_one_has_no_outcome():
    ledger = Ledger()
    first = ledger.predict(0, waits(60), 100)
    ledger.predicted("1", first)
    ledger.predicted("1", ledger.predict(50, waits(10), 100))
    ledger.predicted("2", first)
    assert ledger.open["1"] is first
    ledger.withdrawn("2")
    for who in ("1", "2", "3"):
        ledger.started(who, 60)
    assert not ledger.learn(60)
    assert ledger.learn(61)
    assert [(one.start, one.held) for one in ledger.outcomes] == [(60, True)]


def test_kinds_learn_apart():
    ledger = Ledger()
    for number in range(100):
        ledger.predicted(str(number), ledger.predict(0, waits(0, 0, 0), 7200))
        ledger.started(str(number), 5 * HOUR)
    before = shown(ledger, 0, (HOUR, 2 * HOUR), 3 * HOUR)
    ledger.learn(6 * HOUR)
    assert shown(ledger, 0, (HOUR, 2 * HOUR), 3 * HOUR) == before
    assert shown(ledger, 0, (0, 0), 7200)[3] >= 5 * HOUR
    assert ledger.coverage(kind_of(waits(0))).outcomes == 100
    assert ledger.coverage("at once").held < LEAST


@pytest.mark.thorough
@pytest.mark.parametrize("habit", [0.2, 5.0])
def test_coverage_returns_within_a_hundred_starts_after_users_changed_their_habits(habit):
    """Waits become a fifth, or five times, of the predicted ones: intervals recover as outcomes come in."""
    ledger = Ledger()
    _, now = live(ledger, 1.0, WINDOW)
    fresh = [through_json(ledger) for _ in range(6)]
    after = [live(one, habit, 500, seed=1 + n, now=now)[0] for n, one in enumerate(fresh)]
    assert np.mean([held[:20] for held in after]) < 0.8
    assert 0.85 <= np.mean([held[100:] for held in after]) <= 0.97


def test_how_well_intervals_held_is_said_in_words_and_as_json():
    ledger = Ledger()
    assert str(ledger.coverage()) == "how often 90% intervals hold is not yet known on this machine: 0 outcomes"
    live(ledger, 1.0, 19)
    ledger.learn(10**9)
    assert str(ledger.coverage()).endswith("not yet known on this machine: 19 outcomes")
    assert ledger.coverage().to_wire()["share"] is None
    live(ledger, 1.0, 600, seed=2)
    ledger.learn(10**9)
    said = ledger.coverage()
    assert str(said) == f"90% intervals contained {said.held / 400:.0%} of the last 400 starts"
    assert ledger.coverage_to_wire()["share"] == said.held / 400
    assert sum(one["outcomes"] for one in ledger.coverage_to_wire()["by_kind"].values()) == len(ledger.outcomes)
    assert str(Coverage(90, 100, 80)).endswith("of the last 100 starts, 80 predicted afterwards from its history")
    assert str(Coverage(90, 100, 100)).endswith(", all predicted afterwards from its history")


def test_where_only_a_part_of_a_machine_is_seen_an_interval_is_all_that_is_possible_until_enough_is_known():
    partly = Ledger(prior=0)
    simulated = range(600, 1200, 6)
    assert shown(partly, 0, simulated, 4000)[2:] == (0, 4000)
    assert shown(Ledger(), 0, simulated, 4000)[3] < 4000
    for number in range(60):
        partly.predicted(str(number), partly.predict(0, waits(*simulated), 4000))
        partly.started(str(number), 700 + 6 * number)
    partly.learn(4000)
    assert shown(partly, 0, simulated, 4000)[3] < 1200


@pytest.mark.thorough
def test_it_is_bounded():
    ledger = Ledger()
    for number in range(MOST_OPEN + 5):
        ledger.predicted(str(number), ledger.predict(number, waits(*range(0, 10_000, 7)), 20_000, waits(5)))
    assert (len(ledger.open), next(iter(ledger.open))) == (MOST_OPEN, "5")
    assert len(through_json(ledger).open["5"].waits) == POINTS
    for number in range(MOST_OPEN + 5):
        ledger.started(str(number), 20_000)
    ledger.learn(30_000)
    assert len(ledger.outcomes) == WINDOW
    assert len(json.dumps(ledger.to_wire())) < 300 * WINDOW * len(KINDS)


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"outcomes": [], "open": []},
        {"outcomes": [[1, "at once", 0.5]], "open": {}},
        {"outcomes": [[1, "some", 0.5, 0.5, True, [], False]], "open": {}},
        {"outcomes": [[1, "at once", float("nan"), 0.5, True, [], False]], "open": {}},
        {"outcomes": [[1, "at once", 0.5, 0.5, True, [1.0], False]], "open": {}},
        {"outcomes": [], "open": {"1": [0, "at once", [], 5, 0, 5, [], []]}},
        {"outcomes": [], "open": {"1": [0, "at once", ["x"], 5, 0, 5, [], []]}},
        {"outcomes": [], "open": {"1": [2**70, "at once", [1], 5, 0, 5, [], []]}},
        [],
    ],
)
def test_what_is_no_ledger_is_refused(wire):
    with pytest.raises(BadInput, match="is not a ledger of predictions"):
        Ledger.of_wire(wire)


def test_an_interval_is_wider_by_what_the_clock_of_its_scheduler_leaves_open():
    exact, wider = (Ledger().predict(0, np.full(50, 600), 600, within=within) for within in (0, 3))
    assert (wider.low, wider.high) == (exact.low - 3, exact.high + 3)
    at_once = Ledger().predict(0, np.zeros(50, np.int64), 0, within=3)
    assert (at_once.kind, at_once.low, at_once.high) == ("at once", 0, 3)
    assert at_once.outcome(2).held


def test_of_a_prediction_made_before_the_clock_was_set_back_nothing_is_learnt():
    """The job starts before its prediction, so no interval could hold."""
    ledger = Ledger()
    for who, start in (("set back", 10_000 - SET_BACK - 1), ("by a clock of its own", 10_000 - SET_BACK)):
        ledger.predicted(who, ledger.predict(10_000, waits(0, 5, 10), 60))
        ledger.started(who, start)
    assert ledger.learn(20_000)
    assert [one.start for one in ledger.outcomes] == [10_000 - SET_BACK]
    assert not ledger.open


def test_what_was_noted_while_the_clock_was_far_ahead_is_forgotten():
    """Its outcomes would count as the last, and all later ones as older, for years."""
    ledger, now = Ledger(), 10_000
    for who, at in (("now", now), ("later today", now + SET_AHEAD), ("in years", now + 10**8)):
        ledger.predicted(f"open {who}", ledger.predict(at, waits(0, 5, 10), 60))
        ledger.predicted(who, ledger.predict(at, waits(0, 5, 10), 60))
        ledger.started(who, at)
    ledger.learn(10**9)
    assert ledger.forget_after(now)
    assert [one.start for one in ledger.outcomes] == [now, now + SET_AHEAD]
    assert list(ledger.open) == ["open now", "open later today"]
    before = through_json(ledger).to_wire()
    assert not ledger.forget_after(now)
    assert ledger.to_wire() == before
