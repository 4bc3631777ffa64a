"""Spans of jobs in OAR's chart, and the holes between them."""

from gas.endpoints.oar.chart import Chart
from gas.endpoints.oar.machine import Job

CHART = Chart()


def job(state, walltime=600, **more):
    return Job(1, "", "ann", state, walltime=walltime, **more)


def test_a_job_has_its_resources_for_a_minute_and_a_second_more():
    assert CHART.span(job("Running", start=100), 200) == (100, 761)
    assert CHART.span(job("Waiting", expected=900), 200) == (900, 1561)
    assert Chart(security_time=0).span(job("Running", start=100), 200) == (100, 701)


def test_a_job_that_should_have_left_gets_a_moment_more():
    assert CHART.span(job("Finishing", start=100), 5000) == (100, 5061)


def test_besteffort_jobs_that_wait_are_planned_for_five_minutes_and_those_that_run_for_their_walltime():
    assert CHART.span(job("Waiting", expected=900, types=("besteffort",)), 200) == (900, 1201)
    assert Chart(security_time=400).span(job("Waiting", expected=900, types=("besteffort",)), 200) == (900, 1301)
    assert CHART.span(job("Running", start=100, types=("besteffort",)), 200) == (100, 761)


def test_jobs_that_have_ended_or_have_no_plan_have_none():
    assert CHART.span(job("Terminated", start=100), 200) is None
    assert CHART.span(job("Waiting"), 200) is None
    assert CHART.span(job("Waiting", expected=900, walltime=None), 200) is None


def test_a_hole_of_five_minutes_is_none():
    assert CHART.joined([(400, 500), (0, 100)]) == ((0, 500),)
    assert CHART.joined([(401, 500), (0, 100)]) == ((0, 100), (401, 500))
    assert CHART.joined([(0, 900), (100, 200), (950, 960)]) == ((0, 960),)
    assert CHART.joined([]) == ()
