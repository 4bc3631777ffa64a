"""Policies written in Python: what they see and when, which jobs they start, and the messages about their errors."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from priority_oracle import shortest, starts_by_hand, wfp
from small_logs import Case, logs
from thorough import examples

from gas.errors import BadInput
from gas.policies import simulate_by
from gas.simulation import simulate
from gas.simulation.audit import audit
from gas.simulation.recorded import recorded
from workloads import apply_overrun, read_swf, rigid_jobs
from workloads.lublin import generate

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.append(str(EXAMPLES))
from laf import LAF  # noqa: E402
from sjf import SJF  # noqa: E402
from wfp import WFP  # noqa: E402

# Job 1 leaves one processor free until 100, job 2 needs all four, and job 3 fits alongside job 1.
THREE = Case(4, ((0, 3, 100, 100), (1, 4, 10, 10), (2, 1, 50, 50))).jobs


def simulated(policy, jobs=THREE, **options):
    return simulate_by(jobs, policy, **{"machine_code": False, **options})


def easy(machine):
    """EASY by the book, in a dozen lines: the head cannot be delayed."""
    free, now, queue, chosen = machine.free, machine.now, list(machine.waiting), []
    while queue and queue[0].processors <= free:
        chosen.append(queue.pop(0))
        free -= chosen[-1].processors
    if queue:
        held = [(job.end_by, job.processors) for job in machine.running]
        held += [(now + job.walltime, job.processors) for job in chosen]
        shadow = min(t for t in {now, *dict(held)} if free + sum(p for e, p in held if e <= t) >= queue[0].processors)
        extra = free + sum(p for e, p in held if e <= shadow) - queue[0].processors
        for job in queue[1:]:
            short = now + job.walltime <= shadow
            if job.processors <= free and (short or job.processors <= extra):
                chosen.append(job)
                free -= job.processors
                extra -= 0 if short else job.processors
    return chosen


class Easy:
    def start(self, machine):
        return easy(machine)


class InOrderKernel:
    """First come, first served, on arrays."""

    @staticmethod
    def kernel(now, free, waiting, running):
        count = 0
        while count < len(waiting.processors) and waiting.processors[count] <= free:
            free -= waiting.processors[count]
            count += 1
        return np.arange(count)


@given(case=logs())
@examples(60)
def test_easy_written_in_python_starts_every_job_when_the_built_in_one_does(case):
    ours = simulate(case.jobs, "easy", machine_code=False)
    theirs = simulated(Easy(), case.jobs)
    assert theirs.start.tolist() == ours.start.tolist()
    assert theirs.end.tolist() == ours.end.tolist()


@given(case=logs())
@examples(30)
def test_a_kernel_starts_jobs_as_the_built_in_policy_does(case):
    assert (
        simulated(InOrderKernel(), case.jobs).start.tolist()
        == simulate(case.jobs, "fcfs", machine_code=False).start.tolist()
    )


def rows_of(jobs):
    jobs = apply_overrun(jobs, "kill")
    return list(
        zip(*(getattr(jobs, name).tolist() for name in ("submit", "processors", "estimate", "run_time")), strict=True)
    )


ORACLES = pytest.mark.parametrize(("policy", "priority", "backfilling"), [(SJF, shortest, False), (WFP, wfp, True)])


@ORACLES
def test_the_examples_do_in_every_start_what_they_say(policy, priority, backfilling):
    jobs = rigid_jobs(generate(400, 32, generator=np.random.default_rng(3), load=0.9))
    by_hand = starts_by_hand(jobs.machine, rows_of(jobs), priority, backfilling=backfilling)
    assert simulated(policy(), jobs).start.tolist() == by_hand
    assert by_hand != simulate(jobs, "easy", machine_code=False).start.tolist()


@pytest.mark.thorough
@ORACLES
def test_on_a_whole_real_log_too(policy, priority, backfilling, traces):
    jobs = rigid_jobs(read_swf(traces / "KTH-SP2-1996-2.swf.gz"))
    schedule = simulate_by(jobs, policy())
    assert schedule.start.tolist() == starts_by_hand(jobs.machine, rows_of(jobs), priority, backfilling=backfilling)
    assert audit(recorded(schedule)).ok


@pytest.mark.parametrize("policy", [SJF, LAF, WFP])
def test_the_examples_pass_the_audit(policy):
    jobs = rigid_jobs(generate(300, 32, generator=np.random.default_rng(4), load=0.9))
    found = audit(recorded(simulated(policy(), jobs)))
    assert found.ok
    assert found.jobs == 300


def test_a_policy_hears_of_arrivals_and_completions_and_decides_after_each():
    story = []

    class Listening:
        def arrive(self, job, machine):
            story.append((machine.now, "arrive", job.number))

        def complete(self, job, machine):
            story.append((machine.now, "complete", job.number, machine.free))

        def start(self, machine):
            story.append((machine.now, "start", [job.number for job in machine.waiting]))
            return [job for job in machine.waiting[:1] if job.processors <= machine.free]

    simulated(Listening())
    assert story == [
        (0, "arrive", 1),
        (0, "start", [1]),
        (1, "arrive", 2),
        (1, "start", [2]),
        (2, "arrive", 3),
        (2, "start", [2, 3]),
        (100, "complete", 1, 4),
        (100, "start", [2, 3]),
        (110, "complete", 2, 4),
        (110, "start", [3]),
        (160, "complete", 3, 4),
    ]


class Erring:
    def __init__(self, does, method="start"):
        self.does = does
        if method != "start":
            setattr(self, method, does)

    def start(self, machine):
        return self.does(machine) if not hasattr(self, "arrive") else []


def stops(machine):
    return [job for job in machine.waiting if job.processors <= machine.free and job.number != 2]


def recursing(machine):
    return recursing(machine)


LINE = r".*\(test_deciding.py, line \d+\)"
FAULTS = {
    "an exception": (lambda machine: 1 // 0, f"start at second 0, after job 1: raised ZeroDivisionError: {LINE}"),
    "an end": (lambda machine: sys.exit(0), "start at second 0, after job 1: raised SystemExit: 0"),
    "recursion": (recursing, "raised RecursionError: maximum recursion depth exceeded"),
    "too much": (
        lambda machine: machine.waiting,
        r"at second 1, after job 2: starts too much: with job 2 \(4 processors\), it takes 4 processors, and 1 are",
    ),
    "twice": (lambda machine: [machine.waiting[0]] * 2, "starts job 1 twice"),
    "running": (
        lambda machine: machine.running or machine.waiting,
        "at second 1, after job 2: starts job 1, which started at second 0",
    ),
    "no list": (
        lambda machine: machine.waiting[0],
        "did not return a list of jobs; return the jobs to start, or .. for none",
    ),
    "None": (lambda machine: None, "did not return a list of jobs"),
    "numbers": (lambda machine: [17], "returned a list that contains int; return jobs of machine.waiting"),
    "never": (stops, r"never starts job 2 \(4 processors, submitted at second 1\): at second 100 all has ended"),
    "a wrong name": (
        lambda machine: [job for job in machine.waiting if job.walltme],
        'a job has no attribute "walltme"; did you mean "walltime"',
    ),
    "a write": (lambda machine: setattr(machine, "free", 100), '"free" of the machine cannot be set'),
    "a run time": (lambda machine: machine.waiting[0].run_time, 'a job has no attribute "run_time"'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_policy_does_wrong_is_said_with_method_instant_and_job(fault):
    does, message = FAULTS[fault]
    with pytest.raises(BadInput, match=f"^policy mine: .*{message}"):
        simulated(Erring(does), name="mine")


def test_so_is_what_its_other_methods_do_wrong():
    def wrong(job, machine):
        raise KeyError(job.number)

    with pytest.raises(BadInput, match="policy Erring: arrive at second 0, job 1: raised KeyError: 1"):
        simulated(Erring(wrong, "arrive"))
    with pytest.raises(BadInput, match="complete at second 52, job 3: raised KeyError: 3"):
        simulated(type("Both", (Easy,), {"complete": lambda self, job, machine: wrong(job, machine)})())


def test_a_policy_without_the_method_that_decides_is_refused_with_the_likely_one():
    with pytest.raises(BadInput, match=re.escape("has no method start(self, machine); it has starts()")):
        simulated(type("Mistyped", (), {"starts": lambda self, machine: []})())
    with pytest.raises(BadInput, match="arrive is not a method but int"):
        simulated(type("Number", (Easy,), {"arrive": 3})())


def shrinks(machine):
    for job in machine.waiting:
        object.__setattr__(job, "processors", 1)
    return machine.waiting


def shrinks_arrays(now, free, waiting, running):
    waiting.processors[:] = 1
    return [0]


def test_sizes_are_those_of_the_log_whatever_a_policy_makes_of_those_that_it_sees():
    for policy in (Erring(shrinks), type("Mine", (), {"kernel": staticmethod(shrinks_arrays)})()):
        with pytest.raises(BadInput, match="starts too much: with job 2"):
            simulated(policy)


KERNEL_FAULTS = {
    "an exception": (lambda *_: [][0], "kernel at second 0, after job 1: raised IndexError"),
    "outside": (lambda *_: [3], "starts place 3 of waiting, which has 0 to 0"),
    "twice": (lambda *_: [0, 0], "starts job 1 twice"),
    "too much": (lambda *_: [0], "starts too much: with job 2, it takes 4 processors, and 1 are free"),
    "floats": (lambda *_: [0.5], "returned list, no array of places"),
    "never": (lambda *_: [], "never starts job 1"),
}  # fmt: skip


@pytest.mark.parametrize("fault", KERNEL_FAULTS)
def test_what_a_kernel_does_wrong_is_said_too(fault):
    does, message = KERNEL_FAULTS[fault]
    with pytest.raises(BadInput, match=message):
        simulated(type("Mine", (), {"kernel": staticmethod(does)})())


@pytest.mark.thorough
def test_a_kernel_is_compiled():
    jobs = rigid_jobs(generate(300, 32, generator=np.random.default_rng(4), load=0.9))
    assert simulate_by(jobs, InOrderKernel()).start.tolist() == simulated(InOrderKernel(), jobs).start.tolist()

    class Typeless:
        @staticmethod
        def kernel(now, free, waiting, running):
            return waiting.wish

    with pytest.raises(BadInput, match="kernel at second .*raised TypingError"):
        simulate_by(jobs, Typeless())
