"""A simulation can stop at any event; then it can be asked, changed, copied, and continued."""

from dataclasses import replace

import numpy as np
import pytest
from brute_force import earliest_fit
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, assert_equal, disturbed_logs, logs, random_log
from thorough import examples

from gas.errors import BadInput
from gas.simulation.schedule import ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate

each_policy = pytest.mark.parametrize("policy", POLICIES)
each_order = pytest.mark.parametrize("order", ORDERS)
few = examples(15)


def simulation(case, policy, order, machine_code=False, **more):
    return Simulation(case.jobs, policy, order=order, machine_code=machine_code, **case.beside, **more)


def assert_same(one, other):
    """Raise unless two schedules are equal, job by job."""
    for name in ("start", "end", "promise", "reserved"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_a_copy_and_its_original_go_on_independently(policy, order, case, data):
    original = simulation(case, policy, order)
    original.run(events=data.draw(st.integers(0, 3 * len(case.rows))))
    first, second = original.copy(), original.copy()
    where = original.events, original.now
    expected = case.by_force(policy, order=order)
    first.run()
    assert (original.events, original.now) == where
    second.run(events=2)
    assert_equal(first.schedule(), expected)
    original.run()
    assert_equal(original.schedule(), expected)
    second.run()
    assert_equal(second.schedule(), expected)


@pytest.mark.thorough(but=5)
@each_order
@each_policy
def test_a_long_run_stops_and_branches_in_machine_code_too(policy, order):
    case = random_log(21, jobs=(400, 400), most_processors=64, disturbed=True)
    whole = simulate(case.jobs, policy, order=order, **case.beside)
    stopping, copies = simulation(case, policy, order, machine_code=True), []
    for _ in range(8):
        stopping.run(events=120)
        copies.append(stopping.copy())
    stopping.run()
    for each in [stopping, *copies]:
        each.run()
        assert_same(each.schedule(), whole)


# --------------------------------------------------------------------------------------------- asking and answering


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_answering_what_the_log_says_changes_nothing(policy, order, case, data):
    asked = data.draw(st.lists(st.sampled_from(range(len(case.rows))), unique=True).map(sorted))
    asking = simulation(case, policy, order, ask=asked)
    stopped_at = []
    while (job := asking.run()) is not None:
        assert asking.now == case.rows[job][0]
        stopped_at.append(job)
        asking.answer()
    assert stopped_at == asked
    assert_equal(asking.schedule(), case.by_force(policy, order=order))


@pytest.mark.thorough(but=7)
@pytest.mark.parametrize("overrun", ["kill", "extend"])
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_answering_otherwise_is_simulating_another_log(policy, order, overrun, case, data):
    asked = data.draw(st.lists(st.sampled_from(range(len(case.rows))), unique=True, min_size=1).map(sorted))
    asking = simulation(case, policy, order, overrun=overrun, ask=asked)
    rows = list(case.rows)
    while (job := asking.run()) is not None:
        size, estimate, run_time = data.draw(
            st.tuples(st.integers(1, case.machine), st.integers(1, 12), st.integers(0, 14))
        )
        asking.answer(processors=size, estimate=estimate, run_time=run_time)
        rows[job] = (rows[job][0], size, estimate, run_time)
    changed = replace(case, rows=tuple(rows))
    expected = simulate(changed.jobs, policy, order=order, overrun=overrun, machine_code=False, **changed.beside)
    assert_same(asking.schedule(), expected)
    assert_equal(asking.schedule(), changed.by_force(policy, order=order, overrun=overrun))
    for name in ("processors", "estimate", "run_time"):
        assert np.array_equal(getattr(asking.schedule().jobs, name), getattr(expected.jobs, name))


@each_order
def test_two_answers_to_one_question_make_two_branches(order):
    case = Case(4, ((0, 4, 10, 10), (1, 1, 1, 1), (2, 1, 10, 10)))
    asking = simulation(case, "easy", order, ask=[1])
    assert asking.run() == 1
    other = asking.copy()
    asking.answer(processors=4, estimate=5, run_time=5)
    asking.run()
    other.answer()
    other.run()
    assert asking.schedule().start.tolist() == [0, 10, 15]
    assert other.schedule().start.tolist() == [0, 10, 10]
    assert other.schedule().jobs.processors.tolist() == [4, 1, 1]
    assert case.jobs.processors.tolist() == [4, 1, 1]


@each_order
def test_without_an_answer_the_question_stands(order):
    case = Case(2, ((0, 1, 5, 5), (3, 1, 5, 5)))
    asking = simulation(case, "s3", order, ask=[1])
    assert [asking.run(), asking.run(), asking.run(events=5)] == [1, 1, 1]
    assert asking.now == 3
    asking.answer()
    assert asking.run() is None
    assert asking.schedule().start.tolist() == [0, 3]


@each_order
def test_an_answer_must_be_wanted_once_and_fit_the_machine(order):
    asking = simulation(Case(2, ((0, 1, 5, 5), (3, 1, 5, 5))), "s3", order, ask=[1])
    with pytest.raises(BadInput, match="no job waits for an answer"):
        asking.answer()
    asking.run()
    for wrong in ({"processors": 3}, {"processors": 0}, {"estimate": 0}, {"run_time": -1}):
        with pytest.raises(BadInput):
            asking.answer(**wrong)
    asking.answer(processors=2)
    with pytest.raises(BadInput, match="no job waits for an answer"):
        asking.answer()


# ------------------------------------------------------------------------------------------------------ availability


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs())
def test_at_an_arrival_is_free_what_all_the_others_leave(policy, order, case):
    asking = simulation(case, policy, order, ask=range(len(case.rows)))
    seen = []
    while (job := asking.run()) is not None:
        available = asking.availability()
        seen.append((job, available.now, list(zip(available.starts.tolist(), available.free.tolist(), strict=True))))
        asking.answer()
    assert seen == case.by_force(policy, order=order, seeing=True).seen
    assert_equal(asking.schedule(), case.by_force(policy, order=order))


@each_order
@pytest.mark.parametrize("policy", ["conservative", "s3", "s3-1999", "conservative-static"])
@few
@given(case=logs())
def test_the_promise_of_an_arriving_job_is_the_first_place_in_what_was_free(policy, order, case):
    asking = simulation(case, policy, order, ask=range(len(case.rows)))
    found = []
    while (job := asking.run()) is not None:
        _, processors, estimate, _ = case.rows[job]
        available = asking.availability()
        assert available.kind == "promise"
        frames = list(zip(available.starts.tolist(), available.free.tolist(), strict=True))
        found.append(earliest_fit(frames, processors, estimate, available.now))
        asking.answer()
    assert asking.schedule().promise.tolist() == found
