"""Jobs in words, whatever their scheduler does not report."""

import pytest
from made_endpoints import job

from gas.agent.states import describe

HEAD = "job 7 (j7), 4 processors, walltime 1m00s: "
AT_60, AT_90, AT_100, AT_120, AT_160 = (f"1970-01-01T00:0{s // 60}:{s % 60:02}Z" for s in (60, 90, 100, 120, 160))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (job(7, "queued", expected=100), f"queued; expected to start {AT_100}"),
        (job(7, "queued"), "queued; no start is planned"),
        (job(7, "queued", message="it is held"), "queued; no start is planned (it is held)"),
        (job(7, "queued", promise=100), f"queued; starts {AT_100} at the latest"),
        (
            job(7, "queued", promise=160, predicted_start=100, predicted_low=90, predicted_high=120),
            f"queued; starts {AT_160} at the latest; predicted: {AT_100} (90% interval: {AT_90} to {AT_120})",
        ),
        (
            job(7, "queued", promise=160, offer=100, answer_by=90),
            f"queued; starts {AT_160} at the latest; offered a start at {AT_100}, 1m00s earlier, answer by {AT_90}",
        ),
        (
            job(7, "queued", promise=160, predicted_start=None, predicted_low=None, predicted_high=None),
            f"queued; starts {AT_160} at the latest",
        ),
        (
            job(7, "queued", promise=160, broken_promise=100),
            f"queued; starts {AT_160} at the latest (1m00s later than promised, {AT_100})",
        ),
        (job(7, "reserved", expected=60, due=120), f"reserved from {AT_60} to {AT_120}"),
        (job(7, "reserved", promise=60, due=120), f"reserved from {AT_60} to {AT_120}"),
        (job(7, "running", start=60, due=120), f"running since {AT_60}, ends {AT_120} at the latest"),
        (job(7, "running", start=60), f"running since {AT_60}"),
        (
            job(7, "completed", start=60, finished=90, exit_status=0),
            f"completed with exit status 0 after 30s, at {AT_90}",
        ),
        (job(7, "cancelled", finished=90), f"cancelled, at {AT_90}"),
        (job(7, "lost", start=60), "lost"),
    ],
    ids=lambda one: one["state"] if isinstance(one, dict) else None,
)  # fmt: skip
def test_a_job_in_one_line(found, words):
    assert describe(found) == HEAD + words


def test_a_job_on_gpus_is_as_large_as_these_are_many():
    assert describe({**job(7, "queued"), "gpus": 1}).startswith("job 7 (j7), 1 GPU, walltime 1m00s")


def test_a_job_without_a_limit():
    found = job(7, "running", start=60, walltime=None)
    assert "walltime unlimited: running" in describe(found)
