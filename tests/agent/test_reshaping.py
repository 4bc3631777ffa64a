"""A waiting job is given another shape if that is worth it, or the one that is asked for."""

import made_reshaping
import pytest
from made_endpoints import Queue

from gas import Application
from gas.agent import reshaping
from gas.agent.options import ReshapeOptions
from gas.agent.reshaping import reshape, reshaping_endpoint
from gas.endpoints import S3Endpoint
from gas.errors import BadInput, Conflict, Unreachable
from speedup_models import Table

APP = Application(Table.of({2: 240.0, 4: 125.0, 8: 68.0, 16: 40.0}), name="lu")


@pytest.fixture
def story(monkeypatch):
    story = made_reshaping.STORIES["kth"] = made_reshaping.Story()
    monkeypatch.setattr(reshaping, "time", story)
    return story


def reshaped(options=ReshapeOptions(least=5), processors=None, dry_run=False):  # noqa: B008  # frozen
    return reshape(APP, made_reshaping.Molding("kth"), 7, options, processors=processors, dry_run=dry_run)


def test_a_job_with_the_best_shape_is_left_as_it_is(story):
    done = reshaped()
    assert (done.changed, done.chosen, done.job["processors"], story.asked) == (False, None, 4, [])
    assert str(done) == (
        "job 7 is left as it is (nothing finishes sooner): waits for 4 processors, planned to start in 1m00s and to "
        "finish in 3m05s"
    )


def test_a_job_that_would_finish_sooner_is_changed(story):
    story.change((0, 0), (60, 16))
    done = reshaped()
    assert (done.changed, done.chosen.processors, done.job["processors"]) == (True, 16, 16)
    assert str(done).startswith("job 7 asks for 16 processors instead of 4, walltime 44s, to start in 1m00s")


@pytest.mark.parametrize("options", [ReshapeOptions(threshold=1.0), ReshapeOptions(least=1000)])
def test_a_gain_that_is_too_small_changes_nothing(story, options):
    story.change((0, 0), (60, 16))
    assert reshaped(options).changed is False
    assert story.asked == []


def test_a_dry_run_says_what_it_would_do(story):
    story.change((0, 0), (60, 16))
    done = reshaped(dry_run=True)
    assert (done.changed, done.chosen.processors, story.asked) == (False, 16, [])
    assert str(done).startswith("job 7 would ask for 16 processors")


def test_a_size_that_is_asked_for_is_given(story):
    done = reshaped(processors=2)
    assert (done.changed, done.why, done.job["processors"]) == (True, "as asked", 2)
    with pytest.raises(BadInput, match="--processors 3: is not possible"):
        reshaped(processors=3)


def test_by_a_plan_of_another_time_nothing_is_done_unless_that_is_meant(story):
    story.change((0, 0), (60, 16))
    story.time = lambda: made_reshaping.NOW + 1000
    with pytest.raises(Unreachable, match="behind this machine's clock"):
        reshaped()
    assert reshaped(ReshapeOptions(least=5, stale_ok=True)).changed is True


def test_a_job_that_does_not_wait_is_refused(story):
    story.becomes("completed", start=0, finished=9)
    with pytest.raises(Conflict, match="completed.*; only a job that waits can be given another shape"):
        reshaped()


def test_who_cannot_change_a_job_says_what_to_do():
    with pytest.raises(BadInput, match=r"s3: cannot change a job that waits; cancel it and submit another"):
        reshaping_endpoint(S3Endpoint("s3", "http://127.0.0.1:9"), 7)

    class Moldable(Queue):
        def __init__(self):
            pass

        name = "oar"

        def why_unchanged(self, id):
            return f"oar: OAR itself watches job {id}"

    with pytest.raises(BadInput, match="OAR itself watches job 7"):
        reshaping_endpoint(Moldable(), 7)
