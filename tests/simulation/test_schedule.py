"""A schedule and its rules: only existing rules, and only in valid combinations."""

from dataclasses import replace

import numpy as np
import pytest
from small_logs import Case, random_log

from gas.errors import BadInput
from gas.simulation.schedule import ORDERS, POLICIES, Reservation
from gas.simulation.simulate import Simulation, simulate

TWO = Case(2, ((0, 1, 5, 5), (3, 1, 5, 5)))


def simulation(case, policy="s3", **more):
    return Simulation(case.jobs, policy, **{"machine_code": False, **case.beside, **more})


# On two processors: the head needs both from second 1 on, and one is held until 10.
WINDOW = [(0, 1, 10, 10), (1, 2, 5, 5)]

each_policy = pytest.mark.parametrize("policy", POLICIES)

each_order = pytest.mark.parametrize("order", ORDERS)


@pytest.mark.parametrize(("name", "known"), [("policy", "easy"), ("order", "event"), ("overrun", "extend")])
def test_a_rule_that_is_not_known_is_refused_with_those_that_are(name, known):
    with pytest.raises(BadInput, match=f'"magic" is not known; known: .*{known}'):
        simulation(TWO, **{name: "magic"})


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"queue": "sjf"}, 'queue "sjf" is not known; known: fcfs, wfp'),
        ({"adjustment": "all"}, 'adjustment "all" is not known; known: None, regular, selective'),
        ({"policy": "s3", "queue": "wfp"}, 'queue "wfp": applies to policy "easy", not to "s3"'),
        ({"policy": "fcfs", "adjustment": "regular"}, 'adjustment "regular": applies to policy "easy", not to "fcfs"'),
        ({"order": "event", "queue": "wfp"}, 'queue "wfp": applies to order "instant", not to "event"'),
        ({"order": "event", "adjustment": "selective"}, 'adjustment "selective": applies to order "instant"'),
        (
            {"queue": "wfp", "reservations": [Reservation(0, 1, 2, 3)]},
            "excludes reservations, of which there are 1",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(rules, told):
    with pytest.raises(BadInput, match=told):
        Simulation(Case(2, tuple(WINDOW)).jobs, **{"policy": "easy", **rules})


@each_order
@each_policy
def test_a_log_without_jobs_has_an_empty_schedule(policy, order):
    case = replace(random_log(0), rows=())
    schedule = simulate(case.jobs, policy, order=order, machine_code=False)
    assert len(schedule) == 0


@each_order
@each_policy
def test_another_second_zero_moves_the_schedule_and_nothing_else(policy, order):
    for seed in range(5):
        case = random_log(seed)
        moved = replace(case, rows=tuple((submit - 1_000_000_000, *rest) for submit, *rest in case.rows))
        here = simulate(case.jobs, policy, order=order, machine_code=False)
        there = simulate(moved.jobs, policy, order=order, machine_code=False)
        assert np.array_equal(here.start, there.start + 1_000_000_000)
