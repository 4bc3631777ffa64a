"""Branches in one scratch, one after another: exact, independent of each other, and without a trace."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import busy_jobs
from small_logs import Case, busy_log, disturbed_logs, random_log
from thorough import examples

from gas.errors import BadInput
from gas.profile.blocks import COVERED_AT, RING_AT, WIDTH, check, profile_in
from gas.s3.queue import Q_JOB
from gas.simulation.branching import Scratch, copy_into, plain_answers
from gas.simulation.schedule import NOT_CANCELLED, ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate
from gas.simulation.state import ALIVE, FRONT, W_START, W_STATUS, WAITING, copy_state, with_room

each_policy = pytest.mark.parametrize("policy", POLICIES)
each_order = pytest.mark.parametrize("order", ORDERS)
few = examples(10)

some_answers = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 20), st.integers(0, 25)), min_size=1, max_size=4)


def asking(case, policy, order, asked, **more):
    return Simulation(case.jobs, policy, order=order, ask=asked, **case.beside, **more)


def columns(answers, machine):
    """Return answers as arrays of processors, estimates and run times."""
    processors, estimates, run_times = np.array(answers, np.int64).T
    return np.minimum(processors, machine), estimates, run_times


def outcome_of_whole(case, place, answer, policy, order, overrun="kill", machine_code=False):
    """Return start and end of a changed job, by simulating the changed log from its first second."""
    rows = list(case.rows)
    rows[place] = (rows[place][0], *map(int, answer))
    jobs = replace(case, rows=tuple(rows)).jobs
    whole = simulate(jobs, policy, order=order, overrun=overrun, machine_code=machine_code, **case.beside)
    return [int(whole.start[place]), int(whole.end[place])]


def everything(simulation):
    """Return all that is visible of a simulation."""
    schedule, free = simulation.schedule(), simulation.availability()
    seen = [schedule.start, schedule.end, schedule.reserved, free.starts, free.free]
    return [simulation.now, simulation.events, *(each.tolist() for each in seen)]


# ---------------------------------------------------------------------------------------------------------- exactness


@pytest.mark.thorough(but=4)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), answers=some_answers, overrun=st.sampled_from(["kill", "extend"]))
def test_at_every_arrival_a_branch_is_the_altered_log_simulated_whole(policy, order, case, answers, overrun):
    simulation = asking(case, policy, order, range(len(case.rows)), overrun=overrun, machine_code=False)
    given = columns(answers, case.machine)
    while (place := simulation.run()) is not None:
        found = simulation.outcomes(*given).tolist()
        assert found == [outcome_of_whole(case, place, one, policy, order, overrun) for one in zip(*given, strict=True)]
        simulation.answer()


@pytest.mark.thorough(but=4)
@each_order
@each_policy
@pytest.mark.parametrize("disturbed", [False, True])
def test_so_it_is_in_machine_code_while_queues_grow_long(policy, order, disturbed):
    case = random_log(31, jobs=(300, 300), most_processors=64, disturbed=disturbed)
    random = np.random.default_rng(8)
    asked = np.sort(random.choice(300, 6, replace=False))
    simulation = asking(case, policy, order, asked)
    waited = 0
    while (place := simulation.run()) is not None:
        given = random.integers(1, case.machine + 1, 5), random.integers(1, 60, 5), random.integers(0, 50, 5)
        found = simulation.outcomes(*given).tolist()
        for one, outcome in zip(zip(*given, strict=True), found, strict=True):
            assert outcome == outcome_of_whole(case, place, one, policy, order, machine_code=True)
            waited += outcome[0] > simulation.now
        simulation.answer()
    assert waited >= 10  # a third of the answers


@pytest.mark.thorough(but=1)
@each_order
@pytest.mark.parametrize("policy", ["conservative", "s3"])
def test_so_it_is_where_the_plan_is_long(policy, order):
    case = busy_log(4, 900, load=6.0)
    random = np.random.default_rng(9)
    simulation = asking(case, policy, order, range(300, 900, 200))
    most = 0
    while (place := simulation.run()) is not None:
        most = max(most, len(simulation.availability().starts))
        given = random.integers(1, case.machine + 1, 4), random.integers(1, 50_000, 4), random.integers(0, 50_000, 4)
        found = simulation.outcomes(*given).tolist()
        for one, outcome in zip(zip(*given, strict=True), found, strict=True):
            assert outcome == outcome_of_whole(case, place, one, policy, order, machine_code=True)
        simulation.answer()
    assert most > 5 * WIDTH  # frames: enough for searches by the index, which must be copied as well


@pytest.mark.thorough(but=4)
@each_order
@each_policy
def test_machine_code_and_plain_python_find_the_same(policy, order):
    case = busy_log(3, 60, disturbed=True)
    found = []
    for machine_code in (False, True):
        simulation = asking(case, policy, order, range(0, 60, 5), machine_code=machine_code)
        while simulation.run() is not None:
            sizes = np.arange(1, case.machine + 1, max(1, case.machine // 4))
            found.append(simulation.outcomes(sizes, 40_000 // sizes, 30_000 // sizes).tolist())
            simulation.answer()
    assert found[: len(found) // 2] == found[len(found) // 2 :]
    assert len(found) == 2 * 12


# -------------------------------------------------------------------------------------------------------- independence


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), answers=some_answers)
def test_asking_leaves_no_trace(policy, order, case, answers):
    silent = asking(case, policy, order, range(len(case.rows)), machine_code=False)
    curious = asking(case, policy, order, range(len(case.rows)), machine_code=False)
    while (place := silent.run()) is not None:
        assert curious.run() == place
        before = everything(curious)
        curious.outcomes(*columns(answers, case.machine))
        assert everything(curious) == before == everything(silent)
        silent.answer()
        curious.answer()
    assert curious.run() is None
    assert everything(curious) == everything(silent)


@pytest.mark.thorough(but=4)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), answers=some_answers, data=st.data())
def test_no_answer_hears_of_the_others(policy, order, case, answers, data):
    simulation = asking(case, policy, order, range(len(case.rows)), machine_code=False)
    processors, estimates, run_times = columns(answers, case.machine)
    while simulation.run() is not None:
        found = simulation.outcomes(processors, estimates, run_times).tolist()
        assert simulation.outcomes(processors, estimates, run_times).tolist() == found
        backwards = simulation.outcomes(processors[::-1], estimates[::-1], run_times[::-1])
        assert backwards[::-1].tolist() == found
        alone = [
            simulation.copy().outcomes(*one).tolist()[0]  # in a scratch of its own
            for one in zip(processors, estimates, run_times, strict=True)
        ]
        assert alone == found
        chosen = data.draw(st.sampled_from(range(len(answers))))
        simulation.answer(
            processors=int(processors[chosen]), estimate=int(estimates[chosen]), run_time=int(run_times[chosen])
        )


@each_order
@each_policy
def test_a_scratch_is_made_equal_but_for_what_is_past(policy, order):
    case = busy_log(6, 300, load=4.0)
    simulation = asking(case, policy, order, [150, 250])
    simulation.run()
    state = copy_state(simulation._state)
    simulation.answer()
    simulation.run()
    scratch = with_room(copy_state(simulation._state))
    for array in (scratch.plan.numbers[RING_AT:COVERED_AT], scratch.plan.frames, scratch.queue.jobs):
        array[:] = 99
    copy_into(state, scratch, 0, scratch.work.shape[1])
    assert np.array_equal(scratch.work[W_START:], state.work[W_START:])
    assert np.array_equal(scratch.plan.numbers[RING_AT:COVERED_AT], state.plan.numbers[RING_AT:COVERED_AT])
    check(scratch.plan, case.machine)
    for one, same in zip(profile_in(scratch.plan), profile_in(state.plan), strict=True):
        assert one.tolist() == same.tolist()
    waiting, there = (
        each.queue.jobs[:, i] for each in (state, scratch) for i in [range(each.now[FRONT], each.queue.used[0])]
    )
    waiting = waiting[:, state.work[W_STATUS, waiting[Q_JOB]] == WAITING]
    assert waiting.tolist() == there.tolist()
    assert there.shape[1] == state.now[ALIVE] > 10


def test_a_job_that_arrives_later_and_asks_too_stays_as_it_is():
    case = Case(4, ((0, 4, 10, 4), (1, 3, 5, 5), (2, 2, 2, 2), (3, 4, 1, 1)))
    simulation = asking(case, "s3", "instant", [1, 2, 3])
    assert simulation.run() == 1
    # 4 processors wait for the end at 4; those of job 2 would otherwise have been free for one processor.
    assert simulation.outcomes([4, 1], [5, 5], [5, 5]).tolist() == [[4, 9], [4, 9]]
    assert simulation.run() == 1


# ---------------------------------------------------------------------------------------------------- what is not done


@pytest.mark.parametrize("policy", POLICIES[2:])
@each_order
def test_a_job_whose_place_in_the_plan_is_now_is_not_followed(policy, order):
    case = Case(4, ((0, 2, 10, 4), (1, 3, 5, 5), (1, 1, 9, 9)))
    simulation = asking(case, policy, order, [1], machine_code=False)
    simulation.run()
    assert simulation.outcomes([1, 2], [5, 5], [3, 5]).tolist() == [[1, 4], [1, 6]]
    assert simulation._scratch.events == 0
    simulation.outcomes([3], [5], [5])
    assert simulation._scratch.events > 0


def test_a_job_that_is_withdrawn_as_it_arrives_never_starts_though_it_would_fit():
    case = Case(4, ((0, 2, 10, 4), (1, 3, 5, 5)), cancellations=(NOT_CANCELLED, 1))
    simulation = asking(case, "s3", "instant", [1], machine_code=False)
    simulation.run()
    start, end = simulation.outcomes([1], [5], [5])[0].tolist()
    assert start < 0
    assert end == 1


def test_a_branch_handles_no_event_after_its_job_has_started():
    late = [(20 + i, 1, 5, 5) for i in range(50)]
    case = Case(4, ((0, 4, 10, 10), (1, 2, 5, 5), *late))
    simulation = asking(case, "s3", "instant", [1], machine_code=False)
    simulation.run()
    assert simulation.outcomes([2], [5], [5]).tolist() == [[10, 15]]
    assert simulation._scratch.events == 2  # its arrival, and the completion that it waits for


def test_a_scratch_serves_a_simulation_however_far_it_goes_on():
    case = random_log(12, jobs=(120, 120), most_processors=16)
    simulation = asking(case, "s3", "instant", range(0, 120, 7), machine_code=False)
    scratches = set()
    while simulation.run() is not None:
        simulation.outcomes([1], [5], [5])
        scratches.add(id(simulation._scratch))
        assert isinstance(simulation._scratch, Scratch)
        simulation.answer(processors=1, estimate=9, run_time=3)
    assert len(scratches) == 1


# -------------------------------------------------------------------------------------------------------- what is wrong


numbers = st.integers(-2, 12) | st.sampled_from([2**60, 2**61, 2**62, 2**63 - 1])


@examples(60)
@given(
    answers=st.lists(st.tuples(numbers, numbers, numbers), max_size=4),
    overrun=st.sampled_from(["kill", "extend"]),
    dtype=st.sampled_from([np.int64, np.uint64, np.int8, object]),
)
def test_many_answers_are_refused_for_what_each_would_be(answers, overrun, dtype):
    case = Case(8, ((0, 8, 10, 10), (1, 2, 5, 5)))
    rows = np.array(answers, object).reshape(-1, 3).T
    if dtype is not object and any(not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max for x in rows.flat):
        return
    simulation = asking(case, "s3", "instant", [1], overrun=overrun, machine_code=False)
    simulation.run()
    wrong = None
    for one in answers:
        other = simulation.copy()
        try:
            other.answer(**dict(zip(("processors", "estimate", "run_time"), one, strict=True)))
        except BadInput as error:
            wrong = str(error)
            break
    if wrong is None:
        found = simulation.outcomes(*rows.astype(dtype)).tolist()
        assert found == [outcome_of_whole(case, 1, one, "s3", "instant", overrun) for one in answers]
    else:
        with pytest.raises(BadInput) as refused:
            simulation.outcomes(*rows.astype(dtype))
        assert str(refused.value) == wrong


def test_what_an_answer_leaves_open_stays_as_in_the_log():
    simulation = asking(Case(4, ((0, 4, 10, 10), (1, 2, 5, 3))), "s3", "instant", [1])
    simulation.run()
    assert simulation.outcomes([None, 1], [None, 7], [None, None]).tolist() == [[10, 13], [10, 13]]


@pytest.mark.parametrize("wrong", [1.0, True, "1"])
def test_an_answer_that_is_no_integer_is_refused(wrong):
    simulation = asking(Case(4, ((0, 4, 10, 10), (1, 2, 5, 3))), "s3", "instant", [1])
    simulation.run()
    with pytest.raises(BadInput, match="is not an integer"):
        simulation.outcomes([wrong], [5], [5])


def test_answers_in_order_are_recognised_all_at_once():
    rows = [np.array(each) for each in ([1, 4], [5, 6], [9, 3])]
    assert plain_answers(rows, 4, 100, "kill").tolist() == [[1, 4], [5, 6], [5, 3]]
    assert plain_answers(rows, 4, 100, "extend").tolist() == [[1, 4], [9, 6], [9, 3]]
    assert plain_answers(rows, 4, 9, "extend") is None
    assert plain_answers(rows, 3, 100, "kill") is None


def test_answers_of_unequal_numbers_are_refused():
    simulation = Simulation(busy_jobs(20, 8, seed=1), "s3", ask=[3])
    simulation.run()
    with pytest.raises(BadInput, match="2, 1, 1 processors, estimates and run times"):
        simulation.outcomes([1, 2], [3], [3])
