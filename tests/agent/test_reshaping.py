"""A waiting job gets another shape if that is worth it, or the requested one."""

from dataclasses import replace
from types import SimpleNamespace

import made_reshaping
import pytest
from made_endpoints import Queue

from gas import Application
from gas.agent import reshaping
from gas.agent.options import ReshapeOptions
from gas.agent.reshaping import new_shape, reshape, reshaping_endpoint
from gas.endpoints import S3Endpoint
from gas.errors import BadInput, Conflict, StalePlan, Unreachable
from gas.planner import Candidate, Plan
from gas.reshaping import Reshaping
from speedup_models import Table

APP = Application(Table.of({2: 240.0, 4: 125.0, 8: 68.0, 16: 40.0}), name="lu")


@pytest.fixture
def story(monkeypatch):
    story = made_reshaping.STORIES["kth"] = made_reshaping.Story()
    monkeypatch.setattr(reshaping, "time", story)
    return story


def reshaped(options=ReshapeOptions(least=5), **more):  # noqa: B008  # frozen
    more = {"processors": None, "dry_run": False} | more
    return reshape(APP, made_reshaping.Molding("kth"), 7, options, **more)


def test_a_job_with_the_best_shape_is_left_as_it_is(story):
    done = reshaped()
    assert (done.changed, done.chosen, done.job["processors"], story.asked) == (False, None, 4, [])
    assert str(done) == (
        "job 7 stays unchanged (nothing finishes sooner): waits for 4 processors, planned to start in 1m00s and to "
        "finish in 3m05s"
    )


def test_a_job_that_would_finish_sooner_is_changed(story):
    story.change((0, 0), (60, 16))
    done = reshaped()
    assert (done.changed, done.chosen.processors, done.job["processors"]) == (True, 16, 16)
    assert str(done).startswith("job 7 requests 16 processors instead of 4, walltime 44s, to start in 1m00s")


def test_predictions_decide_if_they_are_asked_for_and_there_are_any(story):
    story.change((0, 0), (60, 16))
    asked = []

    def standing(where, number, found, not_before, threshold, least):
        asked.append((where.name, number, threshold, least))
        return predicted and replace(found, best=None)

    predicted = True
    assert reshaped(predictor=SimpleNamespace(standing=standing)).chosen is None
    assert (asked, story.asked) == ([("kth", 7, 0.05, 5)], [])
    predicted = None
    assert reshaped(predictor=SimpleNamespace(standing=standing)).chosen.processors == 16


@pytest.mark.parametrize("options", [ReshapeOptions(threshold=1.0), ReshapeOptions(least=1000)])
def test_a_gain_that_is_too_small_changes_nothing(story, options):
    story.change((0, 0), (60, 16))
    assert reshaped(options).changed is False
    assert story.asked == []


def test_a_dry_run_says_what_it_would_do(story):
    story.change((0, 0), (60, 16))
    done = reshaped(dry_run=True)
    assert (done.changed, done.chosen.processors, story.asked) == (False, 16, [])
    assert str(done).startswith("job 7 would request 16 processors")


def test_a_size_that_is_asked_for_is_given(story):
    done = reshaped(processors=2)
    assert (done.changed, done.why, done.job["processors"]) == (True, "as asked", 2)
    with pytest.raises(BadInput, match="--processors 3: is not possible"):
        reshaped(processors=3)


def test_no_start_is_named_for_a_job_that_is_held_in_any_shape(story):
    story.becomes("queued", held=True, message="waits because of Dependency")
    done = reshaped(processors=2)
    assert str(done) == (
        "job 7 requests 2 processors instead of 4, walltime 4m24s; as asked; it waits because of Dependency"
    )


def test_by_a_plan_of_another_time_nothing_is_done_unless_that_is_meant(story):
    story.change((0, 0), (60, 16))
    story.time = lambda: made_reshaping.NOW + 1000
    with pytest.raises(Unreachable, match="behind this machine's clock"):
        reshaped()
    assert reshaped(ReshapeOptions(least=5, stale_ok=True)).changed is True


def test_a_job_that_does_not_wait_is_refused(story):
    story.becomes("completed", start=0, finished=9)
    with pytest.raises(Conflict, match="completed.*; only waiting jobs can be reshaped"):
        reshaped()


def test_who_cannot_change_a_job_says_what_to_do():
    class Rigid(Queue):
        def __init__(self):
            pass

        name = "oar"

    with pytest.raises(BadInput, match=r"oar: cannot change a job that waits; cancel it and submit another"):
        reshaping_endpoint(Rigid(), 7)

    class Moldable(Rigid):
        def why_unchanged(self, id):
            return f"oar: OAR itself watches job {id}"

    with pytest.raises(BadInput, match="OAR itself watches job 7"):
        reshaping_endpoint(Moldable(), 7)


@pytest.fixture
def waiting(s3):
    """Return a job of 4 processors that waits behind one of 6 of 10, where 2 processors would finish sooner."""
    s3.simulated(6, 3600)
    s3.simulated(2, 3600)
    return s3.simulated(4, 140, 125)


def test_on_s3_a_job_is_given_a_shape_that_finishes_sooner_and_its_promise(s3, waiting):
    done = reshape(APP, S3Endpoint("kth", s3.url), waiting["id"], ReshapeOptions(), processors=None, dry_run=False)
    assert (done.changed, done.job["processors"], done.job["walltime"], done.job["run_time"]) == (True, 2, 264, 236)
    # It can start at once: at the second at which it is changed, which may be one or two after that of the plan.
    assert done.chosen.start <= done.job["promise"] <= done.chosen.start + 2
    assert done.job["promise"] < waiting["promise"]
    assert s3.job(waiting["id"])["reshaped"] is not None


def test_a_promise_that_gets_later_is_named():
    now, kept = 1_731_000_000, Candidate("s3", 4, 100, 100, 1_731_003_600, "promise")
    later = Candidate("s3", 16, 50, 50, kept.start + 7_200, "promise")
    found = Reshaping(now, kept, later, 60, Plan("lu", "exact", now, later, [later, kept]))
    assert "(promised to start in 3h00m instead of in 1h00m at the latest)" in new_shape(later, found)
    assert "promised" not in new_shape(kept, found)
    assert ", walltime 50s, to start" in new_shape(later, found)
    by_plan = replace(later, kind="estimate")
    assert "promised" not in new_shape(by_plan, found), "of plans nothing is promised"


def test_what_stays_the_same_is_not_said_to_change():
    now, long = 1_731_000_000, Candidate("kth", 8, 7200, 3000, 1_731_003_600, "estimate")
    short = replace(long, walltime=3600, start=now)
    found = Reshaping(now, long, short, 60, Plan("lu", "exact", now, short, [short, long]))
    assert new_shape(short, found).startswith("8 processors, walltime 1h00m instead of 2h00m, to start now")
    assert new_shape(replace(long, start=now), found).startswith("8 processors, walltime 2h00m, to start now")


def test_when_the_schedule_changes_meanwhile_the_job_is_planned_again(s3, waiting, monkeypatch):
    endpoint, stale = S3Endpoint("kth", s3.url), []
    give = endpoint.reshape

    def late(id, processors, walltime, *, start_by):
        if len(stale) < 1:
            stale.append(s3.simulated(2, 3600))  # takes the processors meant for the job
        return give(id, processors, walltime, start_by=start_by)

    monkeypatch.setattr(endpoint, "reshape", late)
    done = reshape(APP, endpoint, waiting["id"], ReshapeOptions(), processors=2, dry_run=False)
    assert (done.changed, done.job["processors"]) == (True, 2)
    assert done.job["promise"] > stale[0]["promise"]

    def never(*_, **__):
        raise StalePlan("too late")

    monkeypatch.setattr(endpoint, "reshape", never)
    with pytest.raises(StalePlan, match="too late; the schedule changed 5 times in the meantime"):
        reshape(APP, endpoint, waiting["id"], ReshapeOptions(), processors=4, dry_run=False)
