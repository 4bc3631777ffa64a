"""With the real run times and arrivals, a forecast equals the simulation that follows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_logs import Case, logs, random_log, standing_at
from thorough import examples, some

from gas.compiled import compiled
from gas.errors import BadInput
from gas.prediction.forward import Arrivals, follow_each, latest_starts, starts_of_each, starts_of_waiting
from gas.prediction.simulated import snapshot_of
from gas.prediction.snapshot import Snapshot
from gas.prediction.together import starts_of_all
from gas.s3 import S3, Machine
from gas.simulation.schedule import Reservation
from gas.simulation.simulate import Simulation, simulate

PLANNED = ("s3", "conservative", "conservative-replan", "conservative-static")


def candidates_of(case):
    sizes = np.arange(1, case.machine + 1)
    return np.array([np.repeat(sizes, 3), np.tile([1, 5, 30], case.machine)])


@examples(150)
@given(case=logs(), data=st.data(), policy=st.sampled_from(PLANNED))
def test_each_candidate_starts_when_the_simulation_starts_it(case, data, policy):
    place = data.draw(st.integers(0, len(case.rows) - 1))
    simulation, snapshot, run_times, arrivals = standing_at(case, place, policy)
    candidates = candidates_of(case)
    found = starts_of_each(snapshot, run_times, candidates, arrivals, policy=policy, machine_code=False)
    outcomes = simulation.outcomes(candidates[0], candidates[1], candidates[1])
    assert found[0].tolist() == outcomes[:, 0].tolist()


def test_a_walk_that_left_a_job_later_than_need_be_goes_on_as_in_the_simulation():
    # The eighth could start a second earlier after the seventh ended early, but a walk had already passed it.
    rows = [(0, 1, 1, 1)] * 4 + [(0, 1, 4, 4), (0, 2, 1, 1), (0, 2, 4, 0), (0, 3, 2, 2), (1, 1, 1, 1), (2, 1, 2, 0)]
    case = Case(3, (*rows, (4, 1, 1, 1)))
    simulation, snapshot, run_times, arrivals = standing_at(case, 10, "conservative")
    found = starts_of_each(
        snapshot, run_times, np.array([[1], [5]]), arrivals, policy="conservative", machine_code=False
    )
    assert found.tolist() == [[7]]
    assert simulation.outcomes([1], [5], [5])[0, 0] == 7


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize("seed", some(range(40), 14))
def test_machine_code_and_threads_change_nothing(seed):
    case = random_log(seed, jobs=(20, 40))
    simulation, snapshot, run_times, arrivals = standing_at(case, len(case.rows) // 2)
    candidates = candidates_of(case)
    outcomes = simulation.outcomes(candidates[0], candidates[1], candidates[1])[:, 0]
    found = starts_of_each(snapshot, np.repeat(run_times, 7, axis=0), candidates, arrivals, threads=3)
    assert (found == outcomes).all()
    assert found.shape == (7, candidates.shape[1])


def test_some_of_many_candidates_are_followed_by_the_machine_code_that_follows_all():
    """Selected columns have another memory layout: numba would compile anew, while the user waits again."""
    case = random_log(1, jobs=(20, 40))
    _, snapshot, run_times, arrivals = standing_at(case, len(case.rows) // 2)
    candidates = candidates_of(case)
    found = starts_of_each(snapshot, run_times, candidates, arrivals)
    before = len(compiled(follow_each).signatures)
    some_of_them = starts_of_each(snapshot, run_times, candidates[:, [0, 2]], arrivals)
    assert (some_of_them == found[:, [0, 2]]).all()
    assert len(compiled(follow_each).signatures) == before


@pytest.mark.parametrize("policy", PLANNED)
def test_those_who_wait_start_when_the_simulation_starts_them(policy):
    told = 0
    for seed in range(40):
        case = random_log(seed, jobs=(10, 40))
        simulation, snapshot, run_times, arrivals = standing_at(case, len(case.rows) // 2, policy)
        places, _, _ = simulation.standing()
        # the arriving job is the first of the later ones
        asked = np.array([[[getattr(simulation.jobs, name)[len(case.rows) // 2]] for name in
                           ("submit", "processors", "estimate", "run_time")]])  # fmt: skip
        arrivals = Arrivals(np.concatenate([asked, arrivals.jobs], axis=2))
        found = starts_of_waiting(snapshot, run_times, arrivals, policy=policy)[0]
        schedule = simulate(simulation.jobs, policy)
        assert found.tolist() == schedule.start[places].tolist()
        told += snapshot.waiting
    assert told > 100


@examples(100)
@given(case=logs(), data=st.data())
def test_nobody_starts_later_than_if_all_used_up_their_walltimes(case, data):
    place = data.draw(st.integers(0, len(case.rows) - 1))
    simulation, snapshot, run_times, arrivals = standing_at(case, place)
    candidates = candidates_of(case)
    latest = latest_starts(snapshot, candidates, machine_code=False)
    assert latest.tolist() == [
        simulation.availability().frames and _first_fit(simulation, int(p), int(w)) for p, w in candidates.T
    ]
    for starts in (starts_of_each, starts_of_all):
        found = starts(snapshot, run_times, candidates, arrivals, machine_code=False)
        assert (found[0] <= latest).all()
        assert (found[0] >= snapshot.now).all()


def _first_fit(simulation, processors, walltime):
    listed = simulation.availability()
    frames = list(zip(listed.starts.tolist(), [*listed.starts.tolist()[1:], 2**62], listed.free.tolist(), strict=True))
    for start, _, _ in frames:
        if all(free >= processors for begin, end, free in frames if begin < start + walltime and end > start):
            return start
    raise AssertionError


def test_a_reservation_stays_where_it_is():
    columns = {"processors": [4, 4], "walltime": [10, 10], "start": [0, 50], "user": [-1, -1]}
    columns = {name: np.array(values) for name, values in columns.items()}
    snapshot = Snapshot(0, 4, running=np.array([True, False]), fixed=np.array([False, True]), **columns)
    candidates = np.array([[4, 4], [47, 48]])
    found = starts_of_each(snapshot, np.array([[3, 10]]), candidates)
    assert found.tolist() == [[3, 60]]
    assert starts_of_all(snapshot, np.array([[3, 10]]), candidates).tolist() == [[3, 60]]
    assert starts_of_waiting(snapshot, np.array([[3, 10]])).tolist() == [[0, 50]]


# ------------------------------------------------------------------------------------------- not before an instant


def waiting_for_instants(seed):
    """Return an S³ of 8 processors at second 0, some of whose jobs have an earliest start, and its snapshot."""
    random = np.random.default_rng(seed)
    machine, rows = Machine(S3(8, 0)), []
    for _ in range(random.integers(1, 12)):
        size, walltime = int(random.integers(1, 9)), int(random.integers(1, 60))
        run_time, not_before = int(random.integers(1, walltime + 1)), int(random.choice([0, 0, 7, 30, 90]))
        entry = machine.submit(size, walltime, run_time, not_before=not_before)
        rows.append((size, walltime, entry, run_time, not_before))
    size, walltime, entry, run_time, not_before = zip(*rows, strict=True)
    start = np.array([one.start for one in entry])
    running = np.array([one.state == "running" for one in entry])
    told = Snapshot(
        0, 8, np.array(size), np.array(walltime), start, running, start * 0, not_before=np.array(not_before)
    )
    return machine, [one.id for one in entry], told, np.array(run_time)[None]


def starts_in(machine):
    """Return when each job of an S³ starts, by number."""
    starts = {entry.id: entry.start for entry in machine.schedule.running}
    while (instant := machine.next_instant()) is not None:
        starts |= {one.id: one.time for one in machine.advance(instant) if one.kind == "started"}
    return starts


@pytest.mark.thorough(but=12)
@pytest.mark.parametrize("seed", range(60))
def test_a_candidate_that_may_not_start_before_an_instant_starts_as_under_s3(seed):
    random = np.random.default_rng(seed)
    _, _, snapshot, run_times = waiting_for_instants(seed)
    for not_before in (None, 5, 40, 200):
        size, walltime = int(random.integers(1, 9)), int(random.integers(1, 60))
        machine = waiting_for_instants(seed)[0]
        entry = machine.submit(size, walltime, walltime, not_before=not_before)
        promised, candidate = entry.start, np.array([[size], [walltime]])
        assert latest_starts(snapshot, candidate, not_before=not_before, machine_code=False).tolist() == [promised]
        found = starts_of_each(snapshot, run_times, candidate, not_before=not_before, machine_code=False)
        assert found.tolist() == [[starts_in(machine)[entry.id]]]
        about = starts_of_all(snapshot, run_times, candidate, not_before=not_before, machine_code=False)
        assert (not_before or 0) <= about[0, 0] <= promised


@pytest.mark.parametrize("seed", range(60))
def test_those_who_wait_for_an_instant_start_as_under_s3(seed):
    machine, ids, snapshot, run_times = waiting_for_instants(seed)
    found = starts_of_waiting(snapshot, run_times, machine_code=False)
    assert (found[0] >= np.where(snapshot.running, 0, snapshot.not_before)).all()
    starts = starts_in(machine)
    assert found[0].tolist() == [starts[id] for id in ids]


def test_only_policies_that_plan_can_be_predicted():
    _, snapshot, run_times, _ = standing_at(random_log(1), 0)
    for policy in ("easy", "fcfs", "nonsense"):
        with pytest.raises(BadInput, match=f'policy "{policy}" cannot be predicted'):
            starts_of_each(snapshot, run_times, np.array([[1], [1]]), policy=policy)


def test_a_simulation_shows_no_plan_under_easy_and_no_reservations():
    jobs = random_log(1).jobs
    with pytest.raises(BadInput, match="has no plan"):
        snapshot_of(Simulation(jobs, "easy", machine_code=False))
    reserved = Simulation(jobs, "s3", reservations=[Reservation(0, 1, 10, 5)], machine_code=False)
    with pytest.raises(BadInput, match="1 reservations"):
        snapshot_of(reserved)
