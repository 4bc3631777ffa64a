"""The outcome of each possible answer for a job equals that of simulating the whole log with that answer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, disturbed_logs, random_log
from thorough import examples, rounds

from gas.errors import BadInput
from gas.simulation.schedule import ORDERS, POLICIES
from gas.simulation.simulate import Simulation, simulate

each_policy = pytest.mark.parametrize("policy", POLICIES)
each_order = pytest.mark.parametrize("order", ORDERS)


def altered(case, place, answer):
    """Return the case with one job of another size, estimate and run time."""
    rows = list(case.rows)
    rows[place] = (rows[place][0], *answer)
    return replace(case, rows=tuple(rows))


def assert_as_whole(case, asked, answers, policy, order, overrun, machine_code=False):
    """Raise unless each asked job's outcomes are those of whole simulations, and asking leaves no trace."""
    options = {"order": order, "overrun": overrun, "machine_code": machine_code}
    simulation = Simulation(case.jobs, policy, ask=asked, **options, **case.beside)
    compared = 0
    while (place := simulation.run()) is not None:
        found = simulation.outcomes(*zip(*answers, strict=True))
        for answer, outcome in zip(answers, found.tolist(), strict=True):
            other = altered(case, place, answer)
            whole = simulate(other.jobs, policy, **options, **case.beside)
            assert outcome == [whole.start[place], whole.end[place]], (place, answer)
            compared += 1
        answer = answers[0] if place % 2 else (None, None, None)
        case = altered(case, place, answer) if place % 2 else case
        simulation.answer(**dict(zip(("processors", "estimate", "run_time"), answer, strict=True)))
    whole = simulate(case.jobs, policy, **options, **case.beside)
    here = simulation.schedule()
    assert (here.start.tolist(), here.end.tolist()) == (whole.start.tolist(), whole.end.tolist())
    return compared


@pytest.mark.thorough(but=4)
@each_order
@each_policy
@examples(20)
@given(data=st.data(), case=disturbed_logs(), overrun=st.sampled_from(["kill", "extend"]))
def test_outcomes_are_those_of_the_whole_altered_log(policy, order, data, case, overrun):
    some = st.tuples(st.integers(1, case.machine), st.integers(1, 20), st.integers(0, 25))
    answers = data.draw(st.lists(some, min_size=1, max_size=3))
    asked = data.draw(st.lists(st.integers(0, max(0, len(case.rows) - 1)), max_size=4, unique=True))
    assert_as_whole(case, sorted(asked) if case.rows else [], answers, policy, order, overrun)


@pytest.mark.thorough(but=3)
@each_policy
def test_so_it_is_compiled_on_longer_logs_whose_arrays_have_to_grow(policy):
    random = np.random.default_rng(5)
    compared = 0
    for _ in range(rounds(20)):
        case = random_log(int(random.integers(2**32)), jobs=(100, 140))
        answers = [(int(random.integers(1, case.machine + 1)), int(random.integers(1, 60)), 9) for _ in range(3)]
        asked = sorted(random.choice(len(case.rows), 4, replace=False).tolist())
        compared += assert_as_whole(case, asked, answers, policy, "instant", "kill", machine_code=True)
    assert compared == rounds(20) * 4 * 3


def test_nobody_is_followed_unless_a_job_waits_for_an_answer():
    simulation = Simulation(Case(4, ((0, 1, 5, 5), (1, 1, 5, 5))).jobs, "s3", ask=[1])
    with pytest.raises(BadInput, match="no job waits for an answer"):
        simulation.outcomes([1], [5], [5])
    simulation.run()
    with pytest.raises(BadInput, match="the machine has 4"):
        simulation.outcomes([1, 5], [5, 5], [5, 5])
    assert simulation.outcomes([1, 4], [5, 5], [3, 3]).tolist() == [[1, 4], [5, 8]]
    with pytest.raises(BadInput, match="2, 1, 2 processors, estimates and run times"):
        simulation.outcomes([1, 2], [5], [5, 5])
