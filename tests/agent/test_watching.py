"""A watched job is checked when its queue has changed, and actions are reported; gas watch prints the same."""

import time

import made_reshaping
import numpy as np
import pytest

from gas import Application
from gas.agent import ledgers, reshaping, watching
from gas.agent import prediction as agent_prediction
from gas.agent.ledgers import note_prediction
from gas.agent.options import Forecasting, ReshapeOptions
from gas.agent.prediction import Predictor
from gas.agent.watching import Event, Watch
from gas.endpoints import S3Endpoint
from gas.endpoints.ledger_file import ledger_of
from gas.errors import BadInput, Forbidden, Infeasible, Unreachable
from gas.prediction.ledger import Ledger
from gas.service.clock import Clock
from speedup_models import Table

APP = Application(Table.of({2: 240.0, 4: 125.0, 8: 68.0, 16: 40.0}), name="lu")
ALL_FREE = ((0, 0), (60, 16))


@pytest.fixture
def story(monkeypatch):
    story = made_reshaping.STORIES["kth"] = made_reshaping.Story()
    for module in (reshaping, watching):
        monkeypatch.setattr(module, "time", story)
    return story


def watched(*, dry_run=False, until_end=False):
    events, remarks = [], []
    watch = Watch(APP, made_reshaping.Molding("kth"), 7, ReshapeOptions(least=5), 5, dry_run, events.append)
    last = watch.run(remarks.append, until_end=until_end)
    return last, events, remarks


def starts(story, at):
    story.at(at, lambda: story.becomes("running", start=at))


def test_a_queue_that_does_not_change_is_told_of_once(story):
    starts(story, 60)
    last, events, remarks = watched()
    assert [event.kind for event in events] == ["left", "started"]
    assert (last["state"], remarks, story.asked) == ("running", [], [])


def test_a_hole_is_taken_and_its_plan_compared_with_the_prediction(story):
    story.at(20, lambda: story.change(*ALL_FREE))
    starts(story, 62)
    _, events, _ = watched()
    assert [event.kind for event in events] == ["left", "changed", "planned", "left", "started"]
    assert events[2].details["late"] == 0
    assert [event.time - made_reshaping.NOW for event in events][1:3] == [20, 30]


def test_a_dry_watch_changes_nothing(story):
    story.at(20, lambda: story.change(*ALL_FREE))
    starts(story, 62)
    _, events, _ = watched(dry_run=True)
    assert [event.kind for event in events] == ["left", "would change", "started"]
    assert story.asked == []


def test_a_shape_that_is_refused_is_left_out(story):
    story.refusals[16] = Infeasible("too large for you")
    story.at(20, lambda: story.change(*ALL_FREE))
    starts(story, 90)
    _, events, _ = watched()
    assert str(events[1]) == "job 7 could not be changed to 16 processors: too large for you"
    assert [size for _, size, _ in story.asked] == [16, 8]


def test_who_may_not_change_it_is_an_error(story):
    story.refusals[16] = Forbidden("not yours")
    story.at(20, lambda: story.change(*ALL_FREE))
    with pytest.raises(Forbidden, match="not yours"):
        watched()


def test_a_scheduler_that_is_away_for_a_while_is_asked_again_and_that_is_a_remark(story):
    story.at(10, lambda: story.fails(Unreachable("kth: away")))
    story.at(100, lambda: story.fails(None))
    starts(story, 120)
    _, _, remarks = watched()
    assert remarks == ["kth: away; looking again"]
    story.at(130, lambda: story.fails(Unreachable("kth: away")))
    with pytest.raises(Unreachable):
        watched(until_end=True)


def test_it_goes_on_until_the_end_if_that_is_meant(story):
    starts(story, 60)
    story.at(100, lambda: story.becomes("completed", finished=100))
    last, events, _ = watched(until_end=True)
    assert [event.kind for event in events] == ["left", "started", "ended"]
    assert last["state"] == "completed"


def test_an_event_for_people_and_for_programs():
    event = Event(7, 0, "left", "waits", {"gain": None})
    assert str(event) == "job 7 waits"
    assert str(Event(7, 0, "ended", "job 7 (lu): completed")) == "job 7 (lu): completed"
    assert event.to_wire() == {
        "schema": "gas.watch/1", "id": 7, "time": 0, "time_iso": "1970-01-01T00:00:00Z", "text": "waits",
        "event": "left", "gain": None,
    }  # fmt: skip


class Steps:
    """A clock that does the next thing at its next pause, and lets the job start after the last one."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.time, self.monotonic = time.time, time.monotonic

    def sleep(self, seconds):
        assert self.steps, "the program never ends"
        self.steps.pop(0)()


def test_on_s3_a_hole_is_taken_with_a_promise_and_a_stale_look_is_repeated(start_s3, monkeypatch):
    elapsed = [0.0]  # its clock stands still, so that no job starts between two polls, however long these take
    halfway = int(time.time()) + 0.5
    s3 = start_s3(10, clock=Clock(real=lambda: halfway + elapsed[0]))
    s3.simulated(8, 3600)
    in_the_way = s3.simulated(2, 3600)
    waiting = s3.simulated(4, 140, 125)
    endpoint = S3Endpoint("kth", s3.url)
    give, taken = endpoint.reshape, []

    def late(id, processors, walltime, *, start_by):
        if not taken:
            taken.append(s3.simulated(2, 3600))
        return give(id, processors, walltime, start_by=start_by)

    monkeypatch.setattr(endpoint, "reshape", late)
    steps = Steps(
        lambda: s3.delete(f"/v1/jobs/{in_the_way['id']}"),  # 2 processors are free, but taken before they are requested
        lambda: s3.delete(f"/v1/jobs/{taken[0]['id']}"),  # free again
        lambda: None,
        lambda: (elapsed.__setitem__(0, 2.0), s3.until(waiting["id"], "running")),
    )
    monkeypatch.setattr(watching, "time", steps)
    events = []
    watch = Watch(APP, endpoint, waiting["id"], ReshapeOptions(), 5, False, events.append)
    last = watch.run(print, until_end=False)
    assert [event.kind for event in events] == ["left", "changed", "planned", "left", "started"]
    assert (last["processors"], last["state"], events[2].details["late"]) == (2, "running", 0)


def test_an_offered_start_is_reported_once_and_left_to_the_owner(start_s3, monkeypatch):
    s3 = start_s3(10)
    s3.simulated(10, 3600)
    in_the_way = s3.simulated(10, 600)
    waiting = s3.simulated(4, 140, 125, notice=60)
    steps = Steps(
        lambda: s3.delete(f"/v1/jobs/{in_the_way['id']}"),
        lambda: None,
        lambda: s3.delete(f"/v1/jobs/{waiting['id']}"),
    )
    monkeypatch.setattr(watching, "time", steps)
    events = []
    watch = Watch(APP, S3Endpoint("kth", s3.url), waiting["id"], ReshapeOptions(), 5, True, events.append)
    assert watch.run(print, until_end=False)["promise"] == waiting["promise"]
    offers = [event for event in events if event.kind == "offered"]
    assert len(offers) == 1
    assert "10m00s earlier, answer by " in str(offers[0])
    assert str(offers[0]).endswith(f": gas offer {waiting['id']} -e kth --accept takes it")


@pytest.fixture
def habit(start_s3, monkeypatch):
    """An S³ on which jobs use about a tenth of their walltimes; 12 of 16 processors are held for long, as planned."""
    monkeypatch.setattr(ledgers, "REHEARSAL_SAMPLES", 20)
    elapsed, start = [0.0], int(time.time()) + 0.5
    s3 = start_s3(16, clock=Clock(real=lambda: start + elapsed[0]))
    s3.elapsed = elapsed
    for _ in range(5):
        ids = [s3.simulated(2, 20_000, 1_650 + 100 * k)["id"] for k in range(8)]
        elapsed[0] += 2_400
        for id in ids:
            s3.until(id, "completed")
    held = s3.simulated(12, 20_000, 2_000)
    elapsed[0] += 5
    s3.until(held["id"], "running")
    return s3


SLOW_ON_FEW = Application(Table.of({4: 9_000.0, 16: 1_000.0}), name="lu")


def watched_once(s3, monkeypatch, predictor, number, looks=1, endpoint=None):
    """Watch a job for some checks, after which it starts; return the kinds of events, the events and the job."""

    def later():
        while s3.job(number)["state"] == "queued":
            s3.elapsed[0] += 20

    monkeypatch.setattr(watching, "time", Steps(*[lambda: None] * (looks - 1), later))
    events, options = [], ReshapeOptions(stale_ok=True)
    endpoint = endpoint or S3Endpoint("kth", s3.url)
    watch = Watch(SLOW_ON_FEW, endpoint, number, options, 5, False, events.append, predictor=predictor)
    last = watch.run(print, until_end=False)
    return [event.kind for event in events], events, last


def test_by_plans_a_job_gives_up_a_start_that_would_have_come_soon(habit, monkeypatch):
    waiting = habit.simulated(16, 1_200, 1_000)
    kinds, _, last = watched_once(habit, monkeypatch, None, waiting["id"])
    assert (kinds[0], last["processors"]) == ("changed", 4)


@pytest.mark.thorough
def test_by_predictions_it_waits_for_that_and_the_outcome_is_noted(habit, monkeypatch):
    waiting = habit.simulated(16, 1_200, 1_000)
    said = []
    predictor = Predictor(Forecasting(samples=100), said.append)
    kinds, events, last = watched_once(habit, monkeypatch, predictor, waiting["id"])
    assert (kinds, last["processors"]) == (["predicted", "left", "started"], 16)
    assert "no other size is predicted to finish sooner" in events[1].text
    assert "predicted to start in 3" in events[1].text, "some 33 minutes, not 5 hours"
    assert "its start was in the predicted interval" in events[2].text
    assert events[0].details["coverage"]["outcomes"] > 0, "of its history, predicted afterwards"
    ledger = ledger_of(S3Endpoint("kth", habit.url).target, said.append).read()
    assert last["start"] in [one.start for one in ledger.outcomes]
    assert dict(ledger.open) == {}


@pytest.mark.thorough
def test_by_predictions_a_job_is_changed_as_surely_as_is_asked_and_what_was_predicted_before_is_void(
    habit, monkeypatch
):
    in_the_way = habit.simulated(4, 20_000, 2_000)
    habit.elapsed[0] += 5
    habit.until(in_the_way["id"], "running")
    waiting = habit.simulated(4, 10_800, 9_000)
    predictor = Predictor(Forecasting(samples=100, risk=0.8), print)
    kinds, events, last = watched_once(habit, monkeypatch, predictor, waiting["id"], looks=2)
    assert kinds[:2] == ["predicted", "changed"]
    assert last["processors"] == 16
    assert events[1].text.endswith("sooner, with a probability of 80%")
    assert events[2].text.endswith("as planned before"), "what was predicted is another instant"
    outcomes = ledger_of(S3Endpoint("kth", habit.url).target, print).read().outcomes
    assert sum(one.start == last["start"] for one in outcomes) == 1


@pytest.mark.thorough
def test_a_job_that_starts_while_it_is_looked_at_is_told_of_as_started(habit, monkeypatch):
    waiting = habit.simulated(16, 1_200, 1_000)
    endpoint = S3Endpoint("kth", habit.url)
    place = endpoint.place

    def late(id, users):
        while habit.job(id)["state"] == "queued":
            habit.elapsed[0] += 20
        return place(id, users)

    monkeypatch.setattr(endpoint, "place", late)
    predictor = Predictor(Forecasting(samples=50), print)
    kinds, _, last = watched_once(habit, monkeypatch, predictor, waiting["id"], endpoint=endpoint)
    assert (kinds[-1], last["state"]) == ("started", "running")


@pytest.mark.thorough
def test_a_look_that_failed_is_made_again_though_the_queue_has_not_changed(habit, monkeypatch):
    waiting = habit.simulated(16, 1_200, 1_000)
    endpoint, looks = S3Endpoint("kth", habit.url), []
    place = endpoint.place

    def at_times(id, users):
        looks.append(id)
        if len(looks) == 1:
            raise Unreachable("kth: did not answer")
        return place(id, users)

    monkeypatch.setattr(endpoint, "place", at_times)
    predictor = Predictor(Forecasting(samples=50), print)
    kinds, _, _ = watched_once(habit, monkeypatch, predictor, waiting["id"], looks=3, endpoint=endpoint)
    assert kinds[:2] == ["predicted", "left"]


def test_what_was_predicted_of_the_shape_before_is_void_also_where_plans_decide(habit, monkeypatch):
    waiting = habit.simulated(16, 1_200, 1_000)
    endpoint = S3Endpoint("kth", habit.url)
    made = Ledger().predict(int(waiting["submitted"]), np.array([1700, 2000, 2300]), 20_000)
    note_prediction(endpoint, waiting["id"], made, print, anew=False)  # as gas submit --predict does
    kinds, _, _ = watched_once(habit, monkeypatch, None, waiting["id"])
    assert kinds[0] == "changed"
    assert ledger_of(endpoint.target, print).read().outcomes == []


@pytest.mark.thorough
def test_where_the_history_is_not_to_be_had_again_what_it_said_before_holds(habit, monkeypatch):
    monkeypatch.setattr(agent_prediction, "FRESH_SECONDS", -1.0)
    waiting = habit.simulated(16, 1_200, 1_000)
    endpoint = S3Endpoint("kth", habit.url)
    history, asked = endpoint.history, []

    def once():
        asked.append(1)
        if len(asked) > 1:
            raise BadInput("kth: its history cannot be read")
        return history()

    monkeypatch.setattr(endpoint, "history", once)
    predictor = Predictor(Forecasting(samples=50), print)
    kinds, _, last = watched_once(habit, monkeypatch, predictor, waiting["id"], looks=2, endpoint=endpoint)
    assert (kinds[-1], last["state"]) == ("started", "running")


def test_with_too_little_history_it_is_said_that_nothing_can_be_predicted(start_s3):
    s3 = start_s3(4)
    s3.simulated(4, 3600)
    waiting = s3.simulated(4, 3600)
    watch = Watch(
        APP, S3Endpoint("kth", s3.url), waiting["id"], ReshapeOptions(), 5, False, print,
        predictor=Predictor(Forecasting(), print),
    )  # fmt: skip
    with pytest.raises(BadInput, match="no job has ended there yet"):
        watch.run(print, until_end=False)


def test_a_scheduler_that_does_not_show_a_job_s_place_is_not_watched_by_predictions(story):
    predictor = Predictor(Forecasting(), print)
    watch = Watch(APP, made_reshaping.Molding("kth"), 7, ReshapeOptions(least=5), 5, False, print, predictor=predictor)
    with pytest.raises(BadInput, match="kth: does not show the place of a waiting job .*; leave out --predict"):
        watch.run(print, until_end=False)
