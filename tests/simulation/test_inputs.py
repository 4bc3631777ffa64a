"""The inputs that a simulation takes and refuses: integers in range, sums that fit int64, existing places."""

from dataclasses import replace

import numpy as np
import pytest
from small_logs import Case, random_log

from gas.errors import BadInput
from gas.simulation.schedule import NOT_CANCELLED, ORDERS, POLICIES, Reservation
from gas.simulation.simulate import Simulation, simulate

each_policy = pytest.mark.parametrize("policy", POLICIES)

each_order = pytest.mark.parametrize("order", ORDERS)

LIMIT = 2**61

TWO = Case(2, ((0, 1, 5, 5), (3, 1, 5, 5)))


def simulation(case, policy="s3", **more):
    return Simulation(case.jobs, policy, **{"machine_code": False, **case.beside, **more})


def refused(case, *words, **more):
    """Assert that a case is refused, in a message with these words."""
    with pytest.raises(BadInput) as error:
        simulation(case, **more)
    for word in words:
        assert str(word) in str(error.value)


def moved(case, by):
    """Return a case shifted in time."""
    return replace(
        case,
        rows=tuple((submit + by, *rest) for submit, *rest in case.rows),
        cancellations=case.cancellations and tuple(at if at == NOT_CANCELLED else at + by for at in case.cancellations),
        reservations=tuple(
            (submit + by, size, start + by, length) for submit, size, start, length in case.reservations
        ),
    )


def furthest_moves(case, overrun):
    """Return by how many seconds a case can be shifted back and forth."""
    instants = [row[0] for row in case.rows]
    instants += [at for at in case.cancellations or () if at != NOT_CANCELLED]
    instants += [at for submit, _, start, _ in case.reservations for at in (submit, start)]
    lengths = [max(estimate, run) if overrun == "extend" else estimate for _, _, estimate, run in case.rows]
    room = LIMIT - 1 - sum(lengths) - sum(length for *_, length in case.reservations)
    return -room - min(instants), room - max(instants)


NO_INTEGERS = [True, np.True_, 2.0, np.float64(2), "2", None, [2]]


@pytest.mark.thorough(but=7)
@pytest.mark.parametrize("overrun", ["kill", "extend"])
@each_order
@each_policy
def test_up_to_the_limit_schedules_are_those_of_any_other_time_and_beyond_it_none_is_made(policy, order, overrun):
    for seed in range(6):
        case = random_log(seed, disturbed=True)
        rules = {"policy": policy, "order": order, "overrun": overrun}
        here = simulate(case.jobs, machine_code=False, **rules, **case.beside)
        for by in furthest_moves(case, overrun):
            there = moved(case, by)
            schedule = simulate(there.jobs, machine_code=False, **rules, **there.beside)
            assert np.array_equal(schedule.started, here.started)
            assert np.array_equal(schedule.start[here.started], here.start[here.started] + by)
            assert np.array_equal(schedule.end, here.end + by)
            assert np.array_equal(schedule.reserved, here.reserved + by)
            refused(moved(case, by + (1 if by > 0 else -1)), "2**61", **rules)


@pytest.mark.parametrize("at", [2**62 - 10, LIMIT, -LIMIT, -(2**62), -(2**63)])
def test_instants_too_far_from_second_0_are_refused_by_name(at):
    words = (at, "2**61", str(LIMIT), "closer")
    refused(Case(2, ((at, 1, 5, 5),)), "submission of job 1", *words)
    refused(replace(TWO, cancellations=(NOT_CANCELLED, at)), "cancellation of job 2", *words)
    refused(replace(TWO, reservations=((0, 1, 9, 5), (0, 1, at, 5))), "reservation 1: the start", *words)
    refused(replace(TWO, reservations=((at, 1, 0, 5),)), "reservation 0: the submission", *words)


def test_numbers_beyond_int64_are_refused_like_those_within():
    for at in (2**70, -(2**70)):
        refused(replace(TWO, reservations=((0, 1, at, 5),)), at, "2**61")
    refused(replace(TWO, reservations=((0, 1, 0, 2**70),)), 2**70 + 10, "2**61")


def test_estimates_whose_sum_is_too_large_are_refused_though_int64_would_wrap_around():
    many = Case(2, ((0, 1, 2**60, 1),) * 16)  # 2**64 in all, 0 in int64
    refused(many, "together", 2**64, "2**61", "shorter")
    refused(replace(TWO, reservations=((0, 1, 0, LIMIT - 10),)), LIMIT, "shorter")
    largest = simulation(replace(TWO, reservations=((0, 1, 0, LIMIT - 14),)))  # beside 10 s of jobs, the last at 3
    largest.run()
    assert largest.schedule().start.tolist() == [0, 5]


def test_run_times_count_as_far_as_the_rule_for_overruns_lets_them():
    case = Case(2, ((0, 2, 5, LIMIT), (3, 1, 5, 5)))
    refused(case, LIMIT + 5, overrun="extend")
    assert simulate(case.jobs, "s3", overrun="kill", machine_code=False).start.tolist() == [0, 5]


def test_answers_count_too():
    asking = simulation(replace(TWO, rows=(*TWO.rows, (4, 1, 5, 5))), ask=[0, 1], overrun="extend")
    assert asking.run() == 0
    asking.answer(estimate=2**60)
    assert asking.run() == 1
    before = asking.schedule().jobs.estimate.tolist()
    for wrong in ({"estimate": 2**60}, {"run_time": 2**60}, {"estimate": 2**70}, {"run_time": 2**70}):
        with pytest.raises(BadInput, match=r"together.*2\*\*61"):
            asking.copy().answer(**wrong)
        with pytest.raises(BadInput, match=r"together.*2\*\*61"):
            asking.answer(**wrong)
    assert asking.schedule().jobs.estimate.tolist() == before
    asking.answer(estimate=2**60 - 10)
    assert asking.run() is None
    assert asking.schedule().start.tolist() == [0, 3, 5]  # the log's run times of 5 s stand


@pytest.mark.parametrize("wrong", NO_INTEGERS, ids=repr)
@pytest.mark.parametrize("field", range(4), ids=Reservation._fields)
def test_a_reservation_is_made_of_integers(field, wrong):
    values = [0, 1, 9, 5]
    values[field] = wrong
    with pytest.raises(BadInput, match=f"reservation 1: {Reservation._fields[field]} .*is not an integer"):
        simulation(TWO, reservations=[Reservation(0, 1, 2, 3), tuple(values)])


def test_reservations_that_cannot_be_are_refused_by_number():
    for wrong, message in (
        ((0, 3, 9, 5), "reservation 1: 3 processors: the machine has 2"),
        ((0, 0, 9, 5), "reservation 1: 0 processors"),
        ((0, 1, 9, 0), "reservation 1: walltime 0: must be at least 1"),
        ((0, 1, 9), r"reservation 1: \(0, 1, 9\) does not have the 4 values submit, processors, start, walltime"),
        (5, "reservation 1: 5 does not have the 4 values"),
    ):
        with pytest.raises(BadInput, match=message):
            simulation(TWO, reservations=[(0, 1, 2, 3), wrong])


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_integers_of_numpy_are_integers(kind):
    expected = simulation(TWO, ask=[1], cancellations=[100, 6], reservations=[(1, 1, 20, 4)])
    of_numpy = simulation(
        TWO,
        ask=np.array([1], kind),
        cancellations=np.array([100, 6], kind),
        reservations=[Reservation(*map(kind, (1, 1, 20, 4)))],
    )
    expected.run()
    assert of_numpy.run(before=kind(9), events=kind(50)) == 1
    of_numpy.answer(processors=kind(1), estimate=kind(4), run_time=kind(3))
    expected.answer(processors=1, estimate=4, run_time=3)
    for each in (expected, of_numpy):
        each.run()
    one, other = expected.schedule(), of_numpy.schedule()
    for name in ("start", "end", "promise", "reserved"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert other.reservations == one.reservations
    assert {type(value) for value in other.reservations[0]} == {int}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([999], "ask 999: is not a place in `jobs`, which are 0 to 1"),
        ([0, -1], "ask -1: is not a place"),
        ([1.5], "ask 1.5: is of type float64, not an integer"),
        ([1.0], "not an integer"),
        ([True, False], "is of type bool"),
        (["1"], "not an integer"),
        ([2**70], "not an integer"),
        ([2**63], "ask 9223372036854775808: is not a place"),
        ([[0], [0, 1]], "rows of different lengths"),
        ([[0, 1]], r"has the shape \(1, 2\)"),
    ],
    ids=str,
)
def test_jobs_to_ask_about_are_places_that_there_are(wrong, message):
    with pytest.raises(BadInput, match=message):
        simulation(TWO, ask=wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([5.0, 6.0], "cancellations 5.0: is of type float64, not an integer; give whole seconds"),
        ([True, False], "is of type bool"),
        (["5", "6"], "not an integer"),
        ([5], r"shape \(1,\); one for each of the 2 jobs"),
        ([[5, 6]], r"shape \(1, 2\)"),
        ([5, NOT_CANCELLED + 1], f"cancellation {NOT_CANCELLED + 1} of job 2: is above 4611686018427387904"),
        (np.array([2**63, 5], np.uint64), f"cancellation {2**63} of job 1: is above 4611686018427387904"),
    ],
    ids=str,
)
def test_cancellations_are_whole_seconds_one_a_job(wrong, message):
    with pytest.raises(BadInput, match=message):
        simulation(TWO, cancellations=wrong)


@pytest.mark.parametrize(("machine", "message"), [(2**31, "2147483648 processors: .* 1 to 2147483647"), (2.0, "2.0")])
def test_a_machine_has_processors_that_can_be_counted(machine, message):
    with pytest.raises(BadInput, match=f"machine .*{message}"):
        Simulation(replace(TWO.jobs, machine=machine), "s3", machine_code=False)
