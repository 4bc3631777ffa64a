"""The order of priority depends only on the waiting jobs and the instant, not on the order before."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case
from thorough import examples

from gas.s3.queue import Q_JOB, Q_PROCESSORS, Q_WALLTIME
from gas.simulation.ranking import rank, wfp_priority
from gas.simulation.simulate import Simulation
from gas.simulation.state import FRONT, NOW

WAITING = st.tuples(st.sampled_from([0, 0, 1, 2, 4]), st.sampled_from([1, 1, 2, 8]), st.sampled_from([1, 2, 3, 4, 6]))
"""Submission, processors, walltime; many jobs have the same priority."""


@examples(150)
@given(drawn=st.lists(WAITING, min_size=1, max_size=8).map(sorted), data=st.data())
def test_the_queue_gets_into_the_order_of_priority_and_of_submission_among_equals(drawn, data):
    rows = [(-9, 8, 99, 99), *((*row, 1) for row in drawn)]
    simulation = Simulation(Case(8, tuple(rows)).jobs, "easy", queue="wfp", machine_code=False)
    simulation.run(before=5)
    state = simulation._state
    state.now[NOW] = now = data.draw(st.integers(5, 20))
    shuffled = data.draw(st.permutations(range(len(drawn))))
    columns = state.queue.jobs[:, int(state.now[FRONT]) : int(state.queue.used[0])]
    columns[:] = columns[:, shuffled]
    rank(state)
    by_priority = sorted(
        range(1, len(rows)), key=lambda k: (-(Fraction(now - rows[k][0], rows[k][2]) ** 3) * rows[k][1], k)
    )
    assert columns[Q_JOB].tolist() == by_priority
    assert columns[Q_PROCESSORS].tolist() == [rows[k][1] for k in by_priority]
    assert columns[Q_WALLTIME].tolist() == [rows[k][2] for k in by_priority]


def test_the_priority_of_many_is_that_of_each():
    wait, walltime, processors = np.array([[0, 7, 90, 10**6], [5, 3, 20, 7], [1, 128, 10, 64]])
    one_by_one = [
        wfp_priority(*each) for each in zip(wait.tolist(), walltime.tolist(), processors.tolist(), strict=True)
    ]
    assert wfp_priority(wait, walltime, processors).tolist() == one_by_one
    assert one_by_one[2] == 4.5**3 * 10
