"""What a policy sees: what a scheduler knows, and nothing else."""

import pytest
from small_logs import Case

from gas.policies import Job, Machine, simulate_by

THREE = Case(4, ((0, 3, 100, 100), (1, 4, 10, 10), (2, 1, 50, 50))).jobs


def test_the_sums_are_right_at_each_decision():
    seen = []

    class Looking:
        def start(self, machine):
            seen.append(repr(machine))
            assert [job.end_by for job in machine.waiting] == [None] * len(machine.waiting)
            assert all(job.end_by == job.start + job.walltime for job in machine.running)
            assert sum(job.processors for job in machine.running) + machine.free == machine.processors
            return [job for job in machine.waiting[:1] if job.processors <= machine.free]

    simulate_by(THREE, Looking(), machine_code=False)
    assert seen[0] == "<machine at 0: 4 of 4 processors free, 1 waiting, 0 running>"
    assert seen[-1] == "<machine at 110: 4 of 4 processors free, 1 waiting, 0 running>"


def test_nothing_can_be_written_and_a_mistyped_name_has_the_right_one():
    job, machine = Job(0, 17, 0, 4, 3600, 1, 1), Machine(4, 0)
    assert (repr(job), job.end_by) == ("<job 17: 4 processors, 3600 s>", None)
    with pytest.raises(AttributeError, match='"walltime" of a job cannot be set'):
        job.walltime = 1
    with pytest.raises(AttributeError, match='"free" of the machine cannot be deleted'):
        del machine.free
    with pytest.raises(AttributeError, match='the machine has no attribute "queue"; known: free, now'):
        _ = machine.queue
    with pytest.raises(AttributeError, match='"run_time"'):  # no scheduler knows it
        _ = job.run_time
