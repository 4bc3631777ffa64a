"""Who holds what, while jobs come and go in any order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_clusters import NOW, cluster, running

from gas.slurm.holders import Holder, Holders
from gas.slurm.state import state_of

NONE = np.zeros(0, np.int64)


def made(ends):
    jobs = [running(at + 1, *(f"n{node}" for node in range(at % 3 + 1)), end=end) for at, end in enumerate(ends)]
    state = state_of(cluster(*jobs, nodes=3), [])
    return Holders(
        state.running, state.use, [Holder(one.id, None, -1, "p", NOW, NOW + 1, NONE) for one in state.running_jobs]
    )


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8), st.data())
def test_what_is_in_use_is_what_those_have_who_are_left(ends, data):
    there = made(ends)
    assert there.check() == []
    while there.who:
        at = data.draw(st.integers(0, len(there.who) - 1))
        one, nodes = there.who[at], there.nodes(at).tolist()
        assert nodes == list(range((one.job - 1) % 3 + 1))
        assert there.leave(at) is one
        assert there.check() == []
    assert not there.use.cpus.any()


def test_a_job_too_many_is_noticed():
    there = made([10, 20])
    there.who.pop()
    assert there.check() == ["2 jobs run, and 1 are known"]
