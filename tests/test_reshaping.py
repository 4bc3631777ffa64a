"""Whether to change a waiting job: never without a gain, never by a prediction that has been wrong before."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import availability_lists, constraints, models

from gas import Application, AvailabilityList, BadInput, Limits, plan
from gas.availability import NodeAvailability, Spans
from gas.reshaping import Doubted, reshaping
from speedup_models import Constraint, Layout, Table

NOW = 1_731_000_000
APP = Application(Table.of({2: 240, 4: 125, 8: 68, 16: 40}), name="lu")


def queue(*frames, processors=16):
    """Return a list of (seconds from now, free processors)."""
    starts, free = zip(*frames, strict=True)
    return AvailabilityList.of([NOW + start for start in starts], free, processors=processors, scheduler="busy")


FOUR_FREE = queue((0, 0), (60, 4), (660, 16))
"""4 processors are free in a minute, all in eleven."""

ALL_FREE = queue((0, 0), (60, 16))


def decided(availability, processors=4, walltime=180, *, application=APP, expected=None, **more):
    """Return the decision; `expected` in seconds from now."""
    expected = None if expected is None else NOW + expected
    return reshaping(application, availability, processors, walltime, expected=expected, **{"least": 5, **more})


class OnNodes(NodeAvailability):
    """Four nodes of four GPUs each: two nodes are free in a minute, all in an hour."""

    def largest_node(self, device):
        return 4

    def anchors_of(self, sizes, walltimes, layouts, first):
        return np.array([NOW + (60 if one.nodes <= 2 else 3600) for one in layouts], np.int64)


def test_gpus_are_looked_at_in_their_layouts_and_so_is_the_job_as_it_is():
    table = {"model": "table", "times": {"4": 500, "8": 300, "16": 200}}
    tables = {"name": "train", "unit": "gpus", "speedup": table, "resources": {"gpus_per_node": 4}}
    there = OnNodes("gpus", "estimate", NOW, "1", np.array([4] * 4), Spans.of([]), ("a", "b", "c", "d"))
    found = decided(there, 16, 300, application=Application.from_tables(tables, "here"), nodes=4)
    assert (found.current.layout, found.current.start) == (Layout(4, 4), NOW + 3600)
    assert (found.best.layout, found.best.start) == (Layout(2, 4), NOW + 60)
    assert found.why() == "8 GPUs (2x4) would finish 57m20s sooner"
    with pytest.raises(BadInput, match="the job requests 5 processors, which train does not allow"):
        decided(there, 5, 300, application=Application.from_tables(tables, "here"))


# ------------------------------------------------------------------------------------------------ gains


def test_what_finishes_first_already_is_left_as_it_is():
    found = decided(FOUR_FREE, expected=60)
    assert (found.worth_it, found.gain, found.best.processors) == (False, 0, 4)
    assert found.why() == "nothing finishes sooner"


def test_what_would_finish_sooner_is_worth_it():
    """The other processors are free at the same time: 16 finish after 60 + 40 s, 4 after 60 + 125 s."""
    found = decided(ALL_FREE, expected=60)
    assert found.worth_it
    assert (found.best.processors, found.best.start - NOW, found.best.walltime, found.gain) == (16, 60, 44, 85)
    assert found.why() == "16 processors would finish 1m25s sooner"


@pytest.mark.parametrize(
    ("threshold", "least", "worth_it"),
    [(0, 85, True), (0, 86, False), (0.45, 0, True), (0.46, 0, True), (0.47, 0, False), (0.46, 86, False)],
)
def test_a_gain_must_reach_a_time_and_a_part_of_what_is_left(threshold, least, worth_it):
    """The gain is 85 s of the 185 s to the finish: 45.9%; 46%, rounded, would also be 85 s."""
    found = decided(ALL_FREE, expected=60, threshold=threshold, least=least)
    assert found.worth_it is worth_it
    assert worth_it or "the minimum for a change is " in found.why()


def test_a_job_that_can_never_start_as_it_is_is_given_any_shape_that_can():
    found = decided(queue((0, 8)), 16, least=10**6)
    assert found.current is None
    assert (found.worth_it, found.gain, found.best.processors) == (True, None, 8)
    assert found.why() == "it can never start in its present shape"


@pytest.mark.parametrize("limits", [Limits(max_processors=3), Limits(max_walltime=170)])
def test_a_job_beyond_a_limit_never_starts_unless_a_start_is_planned(limits):
    over = {"application": Application(Table.of({2: 100, 4: 60}))}
    assert decided(ALL_FREE, limits=limits, **over).current is None
    assert decided(ALL_FREE, limits=limits, expected=60, **over).current.start == NOW + 60


def test_a_walltime_that_ends_before_the_job_does_is_mended_also_for_a_later_finish():
    found = decided(FOUR_FREE, 4, 120, expected=60, least=10**6)
    assert found.killed
    assert (found.worth_it, found.gain, found.best.processors, found.best.walltime) == (True, None, 4, 138)
    assert found.why() == "it takes 2m05s, and would be killed before that"


def test_a_job_without_a_walltime_waits_for_a_hole_without_an_end():
    found = decided(queue((0, 4), (300, 0), (600, 4), processors=4), 4, None)
    assert found.current.start == NOW + 600
    assert (found.best.start, found.worth_it) == (NOW, True)


def test_nothing_else_may_be_possible():
    found = decided(queue((0, 1)), 4)
    assert (found.best, found.worth_it, found.why()) == (None, False, "nothing else is possible")


@pytest.mark.parametrize(
    ("processors", "why"), [(5, "not"), (32, "its model has no time for this size"), (1, "below the application's min")]
)
def test_a_job_of_a_size_that_the_application_does_not_run_on_is_another_ones(processors, why):
    application = Application(APP.model, Constraint("power-of-two", 2), name="lu")
    with pytest.raises(BadInput, match=f"requests {processors} processors?, which lu does not allow .*{why}") as raised:
        decided(ALL_FREE, processors, application=application)
    assert "give the application file of this job" in str(raised.value)


def test_on_a_faster_machine_everything_takes_less():
    found = decided(ALL_FREE, expected=60, limits=Limits(speed=5))
    assert (found.current.execution_time, found.best.execution_time, found.gain) == (25, 8, 17)


def test_a_job_that_may_not_start_yet_gains_nothing_from_what_is_free_now():
    found = decided(queue((0, 16), (60, 4)), expected=900, not_before=NOW + 900)
    assert (found.worth_it, found.best.processors, found.best.start) == (False, 4, NOW + 900)


def test_another_shape_costs_no_more_than_one_wants_to_pay():
    """16 processors for 40 s are 640 processor seconds, 8 for 68 s are 544."""
    assert decided(ALL_FREE, expected=60, max_processor_hours=600 / 3600).best.processors == 8


def test_what_waits_for_something_else_is_left_alone():
    found = decided(ALL_FREE, blocked="it waits for job 7")
    assert (found.worth_it, found.why()) == (False, "it waits for job 7")


def test_a_start_that_should_have_been_is_expected_now():
    assert decided(ALL_FREE, expected=-30).current.start == NOW


# ------------------------------------------------------------------------------------------------ wrong predictions


def test_where_the_job_itself_is_planned_later_than_predicted_others_are_expected_to_be_so_too():
    """By the list its 4 processors are free in 60 s, but it is planned 600 s later: so would 16 be."""
    found = decided(ALL_FREE, expected=660)
    assert found.late == 600
    assert (found.best.processors, found.best.start, found.gain) == (16, NOW + 660, 85)
    doubting = decided(ALL_FREE, expected=660, least=100)
    assert not doubting.worth_it
    assert doubting.why() == (
        "16 processors are predicted to finish 11m25s sooner, but with 4 it was planned 10m00s later than predicted"
    )


def test_a_size_is_not_compared_with_itself():
    """By the list its own 4 processors are free in 60 s, but it waits for 660 s: the earlier start may be on offer."""
    found = decided(ALL_FREE, 4, 300, expected=660)
    same = replace(found, doubted=Doubted(found.current, 600, 4, 600))
    assert same.why() == "no other size finishes sooner, and where it waits is up to the scheduler"


def test_a_shape_that_was_planned_late_is_not_asked_for_again():
    assert decided(ALL_FREE, expected=60, late={16: 84, 8: 0}).best.processors == 8
    found = decided(ALL_FREE, expected=60, late={16: 600, 8: 600})
    assert (found.worth_it, found.best.processors) == (False, 4)
    assert "with 16 it was planned 10m00s later than predicted" in found.why()


def test_it_is_asked_for_again_when_it_is_predicted_sooner_by_more_than_it_was_late():
    late = {16: 100, 8: 100}
    assert not decided(queue((0, 0), (60, 16)), expected=60, late=late).worth_it
    assert decided(queue((0, 0), (60, 4), (61, 16)), 2, 300, expected=60, late={4: 60}).best.processors == 16
    assert decided(queue((0, 16)), 4, expected=200, late=late).best.processors == 16


def test_what_was_not_tried_is_as_late_as_the_most_similar_that_was():
    """8 is as near to 4, which is planned as predicted, as to 16, which was late: so it counts as late."""
    found = {c.processors: c.start - NOW - 60 for c in decided(ALL_FREE, expected=60, late={16: 500}).plan.candidates}
    assert found == {2: 0, 4: 0, 8: 500, 16: 500}


def test_what_was_planned_sooner_than_predicted_says_nothing_of_others():
    found = {c.processors: c.start - NOW for c in decided(ALL_FREE, expected=20).plan.candidates}
    assert found == {2: 60, 4: 20, 8: 60, 16: 60}


def test_a_refused_shape_is_out_of_the_question():
    assert decided(ALL_FREE, expected=60, refused={16}).best.processors == 8
    stuck = decided(ALL_FREE, 16, 60, refused={16})
    assert (stuck.current, stuck.worth_it, stuck.best.processors) == (None, True, 8)
    assert decided(ALL_FREE, 16, 60, refused={16}, expected=60).current is not None


# ------------------------------------------------------------------------------------------------ properties


@st.composite
def cases(draw):
    """Return an application, a list, and one of the application's shapes."""
    application = Application(draw(models()), draw(constraints()), draw(st.sampled_from([1.0, 1.5])))
    availability = draw(availability_lists())
    sizes = [int(n) for n in application.permitted(10) if application.execution_times(n.reshape(1))[0] > 0]
    assume(sizes)
    return application, availability, draw(st.sampled_from(sizes))


seconds = st.integers(0, 30)
lateness = st.dictionaries(st.integers(1, 10), st.integers(-5, 20), max_size=4)


@given(cases(), st.one_of(st.none(), seconds), st.one_of(st.none(), seconds), seconds, seconds, lateness)
def test_a_change_is_never_for_the_worse(case, walltime, expected, percent, least, late):
    application, availability, processors = case
    now = availability.now
    walltime = None if walltime is None else walltime + 1
    expected = None if expected is None else now + expected
    found = reshaping(
        application, availability, processors, walltime, expected=expected, threshold=percent / 100, least=least,
        late=late,
    )  # fmt: skip
    found.why()
    time = application.execution_times([processors])[0] if found.current is None else found.current.execution_time
    if found.current is not None and not found.killed and found.worth_it:
        assert found.gain >= max(1, least, round(percent / 100 * (found.current.finish - now)))
        assert found.best.finish < found.current.finish
    if expected is not None:
        assert found.current.start == expected
    assert found.killed == (found.current is not None and walltime is not None and walltime < time)
    possible = {one.processors: one for one in plan(application, availability).candidates}
    assert {one.processors for one in found.plan.candidates} == set(possible)
    for one in found.plan.candidates:
        assert one.start >= now
        assert one.start >= possible[one.processors].start or late.get(one.processors, 0) < 0 or expected is not None
    if found.worth_it:
        assert found.best.processors in possible


@given(cases())
def test_what_the_planner_would_choose_anew_is_left_as_it_is(case):
    """The job has the best shape and is planned as predicted: nothing is changed, however small the threshold."""
    application, availability, _ = case
    best = plan(application, availability).best
    assume(best is not None)
    found = reshaping(
        application, availability, best.processors, best.walltime, expected=best.start, threshold=0, least=0
    )
    assert (found.worth_it, found.late, found.gain) == (False, 0, 0)


@given(cases(), st.dictionaries(st.integers(1, 10), seconds, max_size=10))
def test_it_comes_to_rest_whatever_the_scheduler_plans_and_not_on_worse_than_at_first(case, delays):
    """Each shape is always planned this much later than predicted; the job is changed until no change is worth it."""
    application, availability, processors = case
    candidates = {one.processors: one for one in plan(application, availability).candidates}
    assume(processors in candidates)
    truth = {size: one.start + delays.get(size, 0) for size, one in candidates.items()}
    finish = {size: start + candidates[size].execution_time for size, start in truth.items()}
    first, late, visited = processors, {}, []
    while True:
        walltime = candidates[processors].walltime
        found = reshaping(
            application, availability, processors, walltime, expected=truth[processors], late=late, threshold=0, least=0
        )
        late[processors] = found.late
        visited.append(processors)
        if not found.worth_it:
            break
        processors = found.best.processors
        assert len(visited) <= 2 * len(candidates), visited
    assert finish[processors] <= finish[first]
    assert finish[processors] == min(finish[size] for size in visited)
