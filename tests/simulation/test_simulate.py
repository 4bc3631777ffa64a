"""A simulation that asks and gets answers: what an answer must be, where its availability list begins."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, assert_equal, disturbed_logs
from thorough import examples

import gas.compiled
from gas.errors import BadInput
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED, ORDERS, POLICIES, Reservation
from gas.simulation.simulate import Simulation

each_policy = pytest.mark.parametrize("policy", POLICIES)
each_order = pytest.mark.parametrize("order", ORDERS)
few = examples(15)
TWO = Case(2, ((0, 1, 5, 5), (3, 1, 5, 5)))


def simulation(case, policy="s3", **more):
    return Simulation(case.jobs, policy, **{"machine_code": False, **case.beside, **more})


def test_an_answer_that_asks_for_less_makes_room_for_another():
    asking = simulation(Case(2, ((0, 1, 2**60, 1), (3, 1, 5, 5))), ask=[0, 1])
    asking.run()
    asking.answer(estimate=5)
    asking.run()
    asking.answer(estimate=2**61 - 20)
    assert asking.run() is None


@pytest.mark.parametrize("policy", ["conservative", "s3", "s3-1999", "conservative-replan", "conservative-static"])
@each_order
@few
@given(data=st.data())
def test_an_answer_that_reserves_is_a_reservation_of_that_second(policy, order, data):
    machine = data.draw(st.integers(1, 6))
    seconds = sorted(data.draw(st.sets(st.integers(0, 30), min_size=2, max_size=8)))
    sizes, times = st.integers(1, machine), st.integers(1, 12)
    rows = [(second, data.draw(sizes), data.draw(times), data.draw(times)) for second in seconds]
    asked = data.draw(st.integers(0, len(rows) - 1))
    submit, size, walltime = seconds[asked], data.draw(sizes), data.draw(times)
    start = submit + data.draw(st.integers(0, 10))
    asking = simulation(Case(machine, tuple(rows)), policy, order=order, ask=[asked])
    asking.run()
    asking.answer(processors=size, estimate=walltime, run_time=walltime, reserved_from=start)
    asking.run()
    found = asking.schedule()
    others = Case(machine, tuple(row for i, row in enumerate(rows) if i != asked))
    reserved = [Reservation(submit, size, start, walltime)]
    expected = simulation(others, policy, order=order, reservations=reserved)
    expected.run()
    assert found.start[asked] == expected.schedule().reserved[0]
    kept = np.arange(len(rows)) != asked
    assert found.start[kept].tolist() == expected.schedule().start.tolist()
    assert found.end[kept].tolist() == expected.schedule().end.tolist()


@pytest.mark.parametrize(
    ("policy", "instant", "message"),
    [
        ("easy", 9, 'reserved_from 9: policy "easy" does not plan every job; choose one of conservative'),
        ("s3", 2, "reserved_from 2: is before the job's submission at 3"),
        ("s3", 2**61, "too far"),
    ],
)
def test_a_reservation_begins_where_there_are_plans_and_not_in_the_past(policy, instant, message):
    asking = simulation(TWO, policy, ask=[1])
    asking.run()
    with pytest.raises(BadInput, match=message):
        asking.answer(reserved_from=instant)
    asking.answer()
    assert asking.run() is None


# -------------------------------------------------------------------------------------- the availability list's start


@pytest.mark.thorough(but=5)
@each_order
@each_policy
@few
@given(case=disturbed_logs(), data=st.data())
def test_the_availability_list_begins_now_at_any_event(policy, order, case, data):
    stopping = simulation(case, policy, order=order)
    for _ in range(3):
        available = stopping.availability()
        assert available.now == stopping.now
        assert available.starts[0] == stopping.now
        assert (np.diff(available.starts) > 0).all()
        assert (np.diff(available.free) != 0).all()
        assert available.free.min() >= 0
        assert available.free[-1] == case.machine
        stopping.run(events=data.draw(st.integers(1, 4)))


@each_order
@each_policy
def test_so_it_does_where_a_cancellation_comes_before_every_submission(policy, order):
    case = replace(TWO, cancellations=(-10, NOT_CANCELLED))
    stopping = simulation(case, policy, order=order)
    for events in (0, 1):
        stopping.run(events=events)
        available = stopping.availability()
        assert (available.now, available.starts.tolist(), available.free.tolist()) == (-10, [-10], [2])
    stopping.run()
    assert stopping.schedule().start.tolist() == [NEVER_STARTED, 3]
    assert_equal(stopping.schedule(), case.by_force(policy, order=order))


# ------------------------------------------------------------------------------------------------ integers, and places

NO_INTEGERS = [True, np.True_, 2.0, np.float64(2), "2", None, [2]]


@pytest.mark.parametrize("wrong", [value for value in NO_INTEGERS if value is not None], ids=repr)
@pytest.mark.parametrize("name", ["processors", "estimate", "run_time"])
def test_an_answer_is_made_of_integers(name, wrong):
    asking = simulation(TWO, ask=[1])
    asking.run()
    with pytest.raises(BadInput, match=f"{name} {re.escape(repr(wrong))}: is not an integer"):
        asking.answer(**{name: wrong})


@pytest.mark.parametrize("wrong", [value for value in NO_INTEGERS if value is not None], ids=repr)
@pytest.mark.parametrize("name", ["before", "events"])
def test_where_to_stop_is_an_integer(name, wrong):
    with pytest.raises(BadInput, match=f"{name} .*is not an integer"):
        simulation(TWO).run(**{name: wrong})


def test_an_empty_log_has_no_job_to_ask_about():
    assert simulation(Case(2, ()), ask=[], cancellations=[]).run() is None
    with pytest.raises(BadInput, match="ask 0: .*no jobs"):
        simulation(Case(2, ()), ask=[0])


# ------------------------------------------------------------------------------------------------------------- asking


def test_no_answer_is_taken_before_the_question():
    asking = simulation(TWO, ask=[0, 1])
    with pytest.raises(BadInput, match="no job waits for an answer"):
        asking.answer(processors=2)  # the first job is to be asked about, but has not arrived
    assert asking.run() == 0
    asking.answer()
    with pytest.raises(BadInput, match="no job waits for an answer"):
        asking.answer()
    asking.run(before=3)
    with pytest.raises(BadInput, match="no job waits for an answer"):
        asking.answer()
    assert asking.run() == 1
    asking.answer()
    assert asking.run() is None
    with pytest.raises(BadInput, match="no job waits for an answer"):
        asking.answer()


def test_a_copy_inherits_the_question_and_a_question_stands_until_it_is_answered():
    asking = simulation(TWO, ask=[1])
    early = asking.copy()
    asking.run()
    other = asking.copy()
    asking.answer(processors=2)
    asking.run()
    other.run(before=0)
    other.answer()
    other.run()
    assert (asking.schedule().start.tolist(), other.schedule().start.tolist()) == ([0, 5], [0, 3])
    with pytest.raises(BadInput, match="no job waits for an answer"):
        early.answer()


def test_the_place_of_a_job_is_found_by_its_number():
    """The example of `Simulation`, on a log whose job numbers differ from places."""
    case = Case(16, ((0, 16, 9000, 100), (0, 4, 500, 400), (5, 8, 600, 300)))
    jobs = replace(case.jobs, id=np.array([40, 3, 17]))
    asking = Simulation(jobs, "s3", ask=np.flatnonzero(jobs.id == 17), machine_code=False)
    place = asking.run()
    assert place == 2
    other = asking.copy()
    asking.answer(processors=16, estimate=3600, run_time=3000)
    assert asking.run() is None
    other.answer()
    assert other.run() is None
    # At 100 the first leaves, and the second runs until 500: beside it are 12 free, but not 16.
    assert asking.schedule().start.tolist() == [0, 100, 500]
    assert other.schedule().start.tolist() == [0, 100, 100]
    assert asking.schedule().end[place] - other.schedule().end[place] == 3500 - 400


def test_a_simulation_from_python_says_when_it_compiles(monkeypatch, caplog):
    monkeypatch.setattr("gas.compiled._telling", [gas.compiled._log])
    monkeypatch.setattr("gas.compiled.is_ready", lambda kernel: False)
    Simulation(TWO.jobs, "easy")
    Simulation(TWO.jobs, "easy", machine_code=False)
    assert [one.getMessage() for one in caplog.records] == ["first use: compiling the simulator (up to half a minute)"]
