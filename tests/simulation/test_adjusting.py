"""Walltimes adjusted in a simulation (Tang et al. 2013): by the jobs that have ended until then, and nothing later.

A row is (submit, processors, estimate, run time).
"""

from dataclasses import replace

import numpy as np
import pytest
from adjusted_walltimes import WINDOW, adjusted_logs, answered, asking, each_adjustment, each_rule, random_adjusted_log
from brute_force import simulate_adjusted_by_force
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, assert_equal, disturbed_logs, random_log
from thorough import examples, rounds

from gas.errors import BadInput
from gas.simulation.adjusting import simulate_adjusted
from gas.simulation.metrics import weighted_wait
from gas.simulation.schedule import NEVER_STARTED, NOT_CANCELLED, QUEUES
from gas.simulation.simulate import Simulation, simulate
from workloads.adjustment import Adjuster, Scheme

each_queue = pytest.mark.parametrize("queue", QUEUES)


@each_queue
@examples(60)
@given(drawn=adjusted_logs())
def test_where_nobody_outlives_it_regular_adjustment_is_easy_with_the_better_estimates(queue, drawn):
    case, _ = drawn
    enough = np.maximum(1, np.minimum(case.jobs.estimate, case.jobs.run_time + 1))
    better = replace(case, rows=tuple((s, p, int(e), r) for (s, p, _, r), e in zip(case.rows, enough, strict=True)))
    got = answered(asking(case, "regular", queue), enough)
    assert (
        got.start.tolist()
        == simulate(better.jobs, "easy", queue=queue, machine_code=False, **case.beside).start.tolist()
    )


@pytest.mark.thorough
@each_queue
def test_selective_is_regular_adjustment_if_whoever_was_adjusted_runs_only_while_nobody_waits(queue):
    compared = waited = 0
    for seed in range(150):
        case, adjusted = random_adjusted_log(seed)
        for place in range(len(case.rows)):
            one = [adjusted[k] if k == place else row[2] for k, row in enumerate(case.rows)]
            regular = answered(asking(case, "regular", queue), one)
            submit, start, end = regular.jobs.submit, regular.start, regular.end
            if ((submit < end[place]) & (start > start[place])).any():
                continue
            selective = answered(asking(case, "selective", queue), one)
            assert selective.start.tolist() == start.tolist()
            compared += one[place] < case.rows[place][2]
            waited += bool(start[place] > submit[place])
    assert compared > 50
    assert waited > 20


@each_rule
@examples(60)
@given(drawn=adjusted_logs())
def test_nobody_is_killed_at_an_adjusted_walltime_and_the_schedule_tells_what_was_asked_for(adjustment, queue, drawn):
    case, adjusted = drawn
    case = replace(case, cancellations=None)
    schedule = answered(asking(case, adjustment, queue), adjusted)
    asked_for, ran = np.array(case.rows).T[2:]
    assert (schedule.end - schedule.start).tolist() == np.minimum(asked_for, ran).tolist()
    assert schedule.jobs.estimate.tolist() == asked_for.tolist()
    assert (schedule.queue, schedule.adjustment) == (queue, adjustment)


# ------------------------------------------------------------------------------------------ asked, copied, cancelled


@each_rule
@examples(30)
@given(drawn=adjusted_logs(), data=st.data())
def test_a_copy_goes_on_as_the_simulation_itself_does(adjustment, queue, drawn, data):
    case, adjusted = drawn
    simulation = asking(case, adjustment, queue)
    for _ in range(data.draw(st.integers(0, len(case.rows)))):
        if (place := simulation.run()) is not None:
            simulation.answer(adjusted=None if adjustment is None else adjusted[place])
    simulation.run(events=data.draw(st.integers(0, 5)))
    other = simulation.copy()
    assert answered(other, adjusted).start.tolist() == answered(simulation, adjusted).start.tolist()


@each_rule
@examples(30)
@given(drawn=adjusted_logs(), data=st.data())
def test_a_cancellation_on_the_way_is_one_told_beforehand(adjustment, queue, drawn, data):
    case, adjusted = drawn
    case = replace(case, cancellations=None)
    place = data.draw(st.integers(0, len(case.rows) - 1))
    at = case.rows[place][0] + data.draw(st.integers(1, 20))
    simulation = asking(case, adjustment, queue)
    for _ in range(place + 1):
        number = simulation.run()
        if number == place:
            simulation.cancel(place, at)
        simulation.answer(adjusted=None if adjustment is None else adjusted[number])
    told = replace(case, cancellations=tuple(at if k == place else NOT_CANCELLED for k in range(len(case.rows))))
    beforehand = answered(asking(told, adjustment, queue), adjusted)
    schedule = answered(simulation, adjusted)
    assert (schedule.start.tolist(), schedule.end.tolist()) == (beforehand.start.tolist(), beforehand.end.tolist())


@examples(30)
@given(case=disturbed_logs(), data=st.data())
def test_what_an_answer_leads_to_is_known_under_priorities(case, data):
    case = replace(case, reservations=())
    some = st.tuples(st.integers(1, case.machine), st.integers(1, 20), st.integers(0, 25))
    answers = data.draw(st.lists(some, min_size=1, max_size=3))
    simulation = asking(case, None, "wfp")
    while (place := simulation.run()) is not None:
        found = simulation.outcomes(*zip(*answers, strict=True)).tolist()
        for answer, outcome in zip(answers, found, strict=True):
            rows = [(row[0], *answer) if k == place else row for k, row in enumerate(case.rows)]
            other = replace(case, rows=tuple(rows))
            whole = simulate(other.jobs, "easy", queue="wfp", machine_code=False, **case.beside)
            assert outcome == [whole.start[place], whole.end[place]]
        simulation.answer()


def test_a_walltime_above_what_was_asked_for_is_refused_and_nothing_has_changed():
    simulation = asking(Case(2, tuple(WINDOW)), "regular")
    with pytest.raises(BadInput, match="no job waits for an answer"):
        simulation.answer(adjusted=3)
    simulation.run()
    for wrong in (11, 0, -1):
        with pytest.raises(BadInput, match=f"adjusted {wrong}: must be 1 to 10 s, the estimate"):
            simulation.answer(adjusted=wrong)
    with pytest.raises(BadInput, match="adjusted 9: must be 1 to 8 s"):
        simulation.answer(estimate=8, adjusted=9)
    with pytest.raises(BadInput, match="adjusted 2.5: is not an integer"):
        simulation.answer(adjusted=2.5)
    simulation.answer(adjusted=10)
    assert answered(simulation, [10, 5]).start.tolist() == [0, 10]


def test_a_walltime_that_nobody_plans_with_is_refused():
    simulation = asking(Case(2, tuple(WINDOW)), None)
    simulation.run()
    with pytest.raises(BadInput, match='the adjustment does not use it; choose adjustment "regular" or "selective"'):
        simulation.answer(adjusted=3)


def test_what_an_answer_leads_to_is_not_told_where_later_walltimes_are_unknown():
    simulation = asking(Case(2, tuple(WINDOW)), "regular")
    simulation.run()
    with pytest.raises(BadInput, match="walltimes that later jobs have not been given yet"):
        simulation.outcomes([1], [5], [5])


# -------------------------------------------------------------------------------------------------------- on-line

LITTLE = Scheme("user", months=None, percentile=70, floor=0, least=2)
"""A scheme for which a short log has enough history."""

DAY = 86_400


def users_jobs(seed, jobs=(20, 40), unit=1):
    """Return jobs of a few users with habits; times are multiples of `unit` seconds."""
    case = random_log(seed, jobs=jobs)
    random = np.random.default_rng(seed)
    user = random.integers(0, 3, len(case.rows))
    share = np.clip(np.array([0.2, 0.5, 1.0])[user] * random.choice([0.5, 1, 1.5], len(user)), 0, 1)
    return replace(
        case.jobs,
        user=user,
        submit=unit * case.jobs.submit,
        estimate=unit * case.jobs.estimate,
        run_time=unit * (case.jobs.estimate * share).astype(np.int64),
    )


def jobs_by_force(jobs, scheme, adjustment, queue):
    """Return outcome and adjusted walltimes; the history is replayed from its beginning for each job."""
    adjusted = jobs.estimate.tolist()

    def adjust(number, now, ended):
        adjuster = Adjuster(scheme)
        for job in ended:
            one = job.number
            adjuster.ended(int(jobs.user[one]), -1, int(jobs.estimate[one]), job.end - job.start, job.end)
        adjusted[number] = adjuster.adjusted(int(jobs.user[number]), -1, int(jobs.estimate[number]), now)
        return adjusted[number]

    columns = (jobs.submit, jobs.processors, jobs.estimate, jobs.run_time)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    outcome = simulate_adjusted_by_force(jobs.machine, rows, adjust, adjustment=adjustment, queue=queue)
    return outcome, adjusted


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(("months", "unit"), [(None, 1), (1, DAY)])  # in days, ends fall on the edge of the window
@each_queue
@each_adjustment
def test_each_walltime_is_adjusted_by_what_has_ended_in_the_simulation_until_then(adjustment, queue, months, unit):
    scheme = replace(LITTLE, months=months)
    changed = 0
    for seed in range(40):
        jobs = users_jobs(seed, unit=unit)
        found = simulate_adjusted(jobs, scheme, adjustment=adjustment, queue=queue)
        outcome, adjusted = jobs_by_force(jobs, scheme, adjustment, queue)
        assert found.adjusted.tolist() == adjusted
        assert_equal(found.schedule, outcome)
        changed += int(np.count_nonzero(found.adjusted < jobs.estimate))
    assert changed > 200


def changed_after(jobs, schedule, instant, random):
    """Return the jobs with everything changed that happened after an instant.

    Jobs submitted until then keep all but their run time, and that too if they had ended. Jobs that ran go on to run,
    so that they still end after the instant.
    """
    later = jobs.submit > instant
    count = int(later.sum())
    submit, processors, estimate, user = (
        column.copy() for column in (jobs.submit, jobs.processors, jobs.estimate, jobs.user)
    )
    submit[later] = np.sort(instant + random.integers(1, 60, count))
    processors[later] = random.integers(1, jobs.machine + 1, count)
    estimate[later] = random.integers(1, 60, count)
    user[later] = random.integers(0, 3, count)
    least = np.where((schedule.start <= instant) & ~later, instant - schedule.start + 1, 0)
    run_time = np.maximum(least, random.integers(0, 60, len(jobs)))
    run_time = np.where(schedule.end <= instant, jobs.run_time, run_time)
    return replace(jobs, submit=submit, processors=processors, estimate=estimate, user=user, run_time=run_time)


@each_queue
@each_adjustment
def test_nothing_that_happens_later_changes_what_was_decided(adjustment, queue):
    differed = 0
    seeds = range(rounds(60))
    for seed in seeds:
        jobs = users_jobs(seed)
        found = simulate_adjusted(jobs, LITTLE, adjustment=adjustment, queue=queue)
        random = np.random.default_rng(seed)
        instant = int(random.integers(jobs.submit[0], jobs.submit[-1] + 1))
        other = changed_after(jobs, found.schedule, instant, random)
        again = simulate_adjusted(other, LITTLE, adjustment=adjustment, queue=queue)
        here = jobs.submit <= instant
        assert again.adjusted[here].tolist() == found.adjusted[here].tolist()
        begun = here & (found.schedule.start <= instant)
        assert again.schedule.start[begun].tolist() == found.schedule.start[begun].tolist()
        assert (again.schedule.start[~begun] > instant).all()
        differed += again.schedule.start.tolist() != found.schedule.start.tolist()
    assert differed > len(seeds) // 2


@each_queue
def test_without_a_scheme_it_is_the_baseline(queue):
    jobs = users_jobs(3)
    plain = simulate(jobs, "easy", queue=queue)
    told = []
    for scheme in (None, replace(LITTLE, floor=1)):  # all are believed to take their whole walltime
        found = simulate_adjusted(jobs, scheme, queue=queue, progress=told.append)
        assert found.schedule.start.tolist() == plain.start.tolist()
        assert found.adjusted.tolist() == jobs.estimate.tolist()
        assert told[-1] == 1
        assert told == sorted(told)
        told.clear()


def test_no_jobs_are_simulated_too():
    found = simulate_adjusted(Case(4, ()).jobs, LITTLE)
    assert (len(found.schedule), len(found.adjusted), weighted_wait(found.schedule, "wfp")) == (0, 0, None)


def test_ends_are_told_once_they_are_known():
    simulation = Simulation(Case(2, tuple(WINDOW)).jobs, "easy", machine_code=False)
    simulation.run(before=11)
    assert simulation.ends([1, 0]).tolist() == [NEVER_STARTED, 10]
