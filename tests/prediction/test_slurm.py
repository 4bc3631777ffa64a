"""A Slurm queue simulated forward: in each sample candidates start where and when its schedulers start them."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from made_clusters import NOW, cluster, job, machine_with_gpus, running
from thorough import ALL

from gas.errors import BadInput
from gas.prediction import LEAST_SAMPLES, NotPredicted
from gas.prediction.past import Past
from gas.prediction.slurm import TASKS, Queue
from gas.prediction.slurm_samples import HORIZON
from gas.prediction.snapshot import UNPLANNED
from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Gres, Partition, Reservation, Tasks
from gas.slurm.forward import Forward
from gas.slurm.settings import Settings

HOUR = 3600


def past(share=0.5, *, jobs=100, arrivals=False, cpus=4, user=-1):
    """Return past jobs that used a share of their hour; they were submitted long ago, or every hour until now."""
    every = HOUR if arrivals else 100 * 86_400
    submit = NOW - every * np.arange(jobs, 0, -1)
    walltime, run_time = np.full(jobs, HOUR), np.full(jobs, int(share * HOUR))
    found = Past(submit, np.full(jobs, cpus), walltime, run_time, submit + run_time, np.full(jobs, user))
    found.learn(NOW)
    return found


def candidate(cpus=8, minutes=10, **fields):
    return job(0, cpus, minutes, **({"priority": 1} | fields))


def starts(made, *candidates, samples=8, of=None, **options):
    """Return the starts of candidates in seconds from now: a row for each sample."""
    queue = Queue(made, candidates)
    zeros = [NOW] * len(candidates)
    found, _ = queue.forecast(of or past(), [60] * len(candidates), zeros, {}, samples=samples, **options)
    return found.starts - NOW


def hour_long(id, *nodes, since=60, **fields):
    """Return a running job with a time limit of an hour."""
    return replace(running(id, *nodes, end=HOUR - since, time_limit=HOUR, **fields), start=NOW - since)


def test_a_candidate_starts_when_who_runs_ends_as_those_before_it_did():
    """It requested an hour, and all such jobs used half of it; the past counts for 100 of 108 draws."""
    found = starts(cluster(hour_long(1, "n0", "n1", cpus=8)), candidate(), samples=50)
    assert np.median(found) == HOUR // 2 - 60
    assert (found >= 1).all()


def test_who_has_run_longer_than_any_before_ends_later_than_now_and_at_its_limit_at_the_latest():
    found = starts(cluster(hour_long(1, "n0", "n1", cpus=8, since=3000)), candidate(), samples=50)
    assert found.min() >= 1
    assert found.max() <= 600 + 60


def test_who_reaches_the_limit_ends_as_late_after_it_as_those_before_it_did():
    """Slurm looks only now and then for jobs over their limits; this one should have ended ten seconds ago."""
    until_killed = past(1.01)
    for since in (3000, HOUR + 10):
        found = starts(cluster(hour_long(1, "n0", "n1", cpus=8, since=since)), candidate(), samples=50, of=until_killed)
        assert np.median(found) == HOUR + 36 - since


def test_it_waits_for_those_before_it_and_not_for_those_behind():
    first, last = job(2, 8, 60, priority=9), job(3, 8, 60, priority=1)
    made = cluster(hour_long(1, "n0", "n1", cpus=8), first, last)
    before, behind = starts(made, candidate(priority=99)), starts(made, candidate(priority=5))
    assert np.median(before) == HOUR // 2 - 60
    assert np.median(behind) == HOUR - 60


def test_candidates_are_placed_on_nodes_and_gpus_as_slurm_places_them():
    """Two nodes have four GPUs each, and one of these is busy; two nodes have none."""
    busy = hour_long(1, "n0", cpus=4, gres_per_node=(Gres("gpu", "a100", 4),))
    one, two = (candidate(1, least_nodes=n, most_nodes=n, tasks_asked=n, gres_per_node=(Gres("gpu", "a100", 4),))
                for n in (1, 2))  # fmt: skip
    plain = candidate(8, least_nodes=2)
    found = starts(machine_with_gpus(busy), one, two, plain)
    assert (found[:, [0, 2]] == 0).all()
    assert np.median(found[:, 1]) == HOUR // 2 - 60


def test_a_reservation_ahead_is_kept():
    soon = Reservation("maintenance", NOW + 300, NOW + 7200, ("n0", "n1"), ("MAINT",))
    found = starts(cluster(reservations=(soon,)), candidate(minutes=10), candidate(minutes=4))
    assert (found[:, 0] >= 7200).all()
    assert (found[:, 1] == 0).all()


def test_of_many_candidates_the_best_are_followed_by_themselves():
    sizes = [candidate(cpus) for cpus in (1, 2, 3, 4, 5, 6, 7, 8)]
    queue = Queue(cluster(hour_long(1, "n0", cpus=4)), tuple(sizes))
    found, _ = queue.forecast(past(), [60] * 8, [NOW] * 8, {}, samples=8)
    assert found.alone.tolist() == [True] * 4 + [False] * 4
    assert (found.starts[:, :4] == NOW).all()
    assert np.median(found.starts[:, 4:]) == NOW + HOUR // 2 - 60


def test_later_jobs_delay_a_large_candidate_only_as_far_as_slurm_lets_them():
    """They are queued behind it: without its planned place they would delay it for ever."""
    made = cluster(hour_long(1, "n0", cpus=4))
    found = starts(made, candidate(8, 60), of=past(arrivals=True), samples=10)
    assert (found <= HOUR).all()


def test_the_same_seed_gives_the_same_starts_whatever_the_threads():
    made = cluster(hour_long(1, "n0", cpus=4), job(2, 8, 60))
    first = starts(made, candidate(), of=past(arrivals=True))
    assert (starts(made, candidate(), of=past(arrivals=True), threads=2) == first).all()


def test_fewer_samples_in_the_time_there_is_are_said():
    queue = Queue(cluster(hour_long(1, "n0", cpus=4)), (candidate(),))
    found, remarks = queue.forecast(past(), [60], [NOW], {}, samples=100, seconds=20, clock=count().__next__)
    assert 1 < len(found.starts) <= 20
    assert f"its queue was simulated {len(found.starts)} times instead of 100, to limit the time" in remarks[0]
    with pytest.raises(BadInput, match="at least 1"):
        queue.forecast(past(), [60], [NOW], {}, samples=0)


@pytest.mark.parametrize("candidates", [1, 5])
def test_where_no_sample_is_done_in_time_nothing_is_predicted(monkeypatch, candidates):
    """A sample that goes pass by pass is given up midway: the time is limited, however long the queue is."""
    monkeypatch.setattr("gas.prediction.slurm_samples.outside", lambda begin: "everything")
    made = cluster(hour_long(1, "n0", "n1", cpus=8), *(job(2 + number, 8, 60, priority=9) for number in range(20)))
    queue, planned = Queue(made, (candidate(),) * candidates), [NOW + HOUR] * candidates
    clock = count()
    found, remarks = queue.forecast(past(), [60] * candidates, planned, {}, seconds=10, clock=clock.__next__)
    assert next(clock) < 20
    assert (found, remarks) == (NotPredicted(0, "its queue is long, or this computer busy: the limit is 10 s"), [])
    assert str(found) == "planned start, not predicted: 0 simulations of the queue in time, 10 are needed"


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("candidates", [1, 5])
def test_from_fewer_than_ten_samples_in_time_nothing_is_predicted(candidates):
    queue = Queue(cluster(hour_long(1, "n0", cpus=4)), (candidate(),) * candidates)
    asked = [60] * candidates, [NOW] * candidates
    counts = []
    limits = range(5, 30) if ALL else range(7, 24, 2)  # on a clock that goes on whenever it is read
    for seconds in limits:
        found, _ = queue.forecast(past(), *asked, {}, samples=15, seconds=seconds, clock=count().__next__)
        if not isinstance(found, NotPredicted):
            counts.append(len(found.starts))
    assert min(counts) >= LEAST_SAMPLES
    assert len(counts) < len(limits)
    few, _ = queue.forecast(past(), *asked, {}, samples=3)
    assert len(few.starts) == 3, "as many as were asked for"


@pytest.fixture
def cold(monkeypatch):
    """A machine without compiled code; return the calls made about it, on a clock by which compiling takes a day."""
    did, clock = [], [0.0]

    def compile_ahead():
        did.append("compiled")
        clock[0] += 86_400

    monkeypatch.setattr("gas.prediction.slurm.is_ready", lambda kernel: bool(did))
    monkeypatch.setattr("gas.prediction.slurm.compile_ahead", compile_ahead)
    return did, lambda: clock[0]


def test_a_short_queue_needs_no_machine_code_and_a_long_one_or_a_long_array_does(cold):
    many = job(3, 1, tasks=Tasks((range(1000),)), array=3)
    assert not Queue(cluster(hour_long(1, "n0", cpus=4)), ()).uncompiled(10)
    assert Queue(cluster(hour_long(1, "n0", cpus=4)), ()).uncompiled(1000)
    assert Queue(cluster(many), ()).uncompiled(0)
    cold[0].append("compiled")
    assert not Queue(cluster(many), ()).uncompiled(0)


def test_compiling_does_not_count_for_the_time_that_samples_have(cold, monkeypatch):
    did, clock = cold
    monkeypatch.setattr("gas.prediction.slurm.WORTH_COMPILING", 1000)
    queue = Queue(cluster(*(job(number, priority=9) for number in range(1, 10))), (candidate(),))
    asked = past(), [60], [NOW], {}
    made, remarks = queue.forecast(*asked, samples=12, clock=clock, compiles=lambda: did.append("asked"))
    assert (len(made.starts), did, remarks) == (12, ["asked"], []), "in plain Python"
    did.clear()
    found, remarks = queue.forecast(*asked, samples=12, clock=clock)
    assert (len(found.starts), did) == (12, ["compiled"])
    assert not remarks
    assert (found.starts == made.starts).all()


def test_what_does_not_start_is_said_and_no_start_is_past():
    down = replace(cluster(job(2, 8, dependency="afterany:7(unfulfilled)")), settings=Settings())
    queue = Queue(down, (candidate(99), None, candidate(8)))
    found, remarks = queue.forecast(past(), [60] * 3, [NOW] * 3, {}, samples=2)
    assert (found.starts[:, :2] == NOW + HORIZON).all()
    assert (found.starts[:, 2] >= NOW).all()
    assert any("67% of the starts are more than 14 days away" in remark for remark in remarks)


def test_the_snapshot_has_who_runs_and_who_waits_a_task_at_a_time():
    many = job(3, 1, tasks=Tasks((range(100),)), array=3)
    made = cluster(hour_long(1, "n0", cpus=4, user="ann"), job(2, 8, user="bob"), many, job(4, 99))
    found = Queue(made, ()).snapshot({"ann": 7}, {made.jobs[0].name: 3})
    assert found.name.tolist()[0] == 3
    assert found.submit.tolist()[0] == (made.jobs[0].submitted or NOW)
    assert (found.machine, len(found)) == (8, 3 + TASKS)
    assert found.processors.tolist() == [4, 8, *[1] * TASKS, 8]
    assert (found.user[0], found.user[1]) == (7, -1)
    assert (found.start[0], found.start[1]) == (NOW - 60, UNPLANNED)
    assert found.walltime[0] == HOUR


def test_cpus_of_jobs_that_are_not_shown_are_free_some_time_within_the_longest_job():
    made = cluster(others_visible=False)
    nodes = tuple(replace(node, allocated=4) for node in made.nodes)
    queue = Queue(replace(made, nodes=nodes), (candidate(4),), NOW + HOUR)
    found, _ = queue.forecast(past(), [60], [NOW], {}, samples=40)
    assert 0 < found.starts.min() - NOW < HOUR // 3
    assert HOUR // 3 < found.starts.max() - NOW <= HOUR + 60


def test_a_queue_in_which_nothing_happens_any_more_is_not_followed_for_days(monkeypatch):
    looks = []
    instant = Forward._instant
    monkeypatch.setattr(Forward, "_instant", lambda self: looks.append(self.clock.now) or instant(self))
    made = cluster(hour_long(1, "n0", "n1", cpus=8), job(2, 8, dependency="afterany:3"), job(3, 8, priority=0))
    found = starts(made, candidate(4, dependency="afterany:3"), samples=2)
    assert (found == HORIZON).all()
    assert 0 < max(looks) - NOW < 3 * HOUR


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("candidates", [1, 5])
def test_the_kernel_and_the_schedulers_one_pass_at_a_time_give_the_same_samples(monkeypatch, candidates):
    """Also for arrays, whose tasks may share a run time, and for CPUs taken by jobs that are not shown."""
    many = job(3, 1, tasks=Tasks((range(3),)), array=3)
    made = cluster(hour_long(1, "n0", cpus=4), job(2, 8, 60), many, nodes=3, others_visible=False)
    nodes = (*made.nodes[:2], replace(made.nodes[2], allocated=3))
    queue = Queue(replace(made, nodes=nodes), tuple(candidate(7 - n) for n in range(candidates)), NOW + HOUR)
    asked = [60] * candidates, [NOW] * candidates
    quick, _ = queue.forecast(past(arrivals=True), *asked, {}, samples=4)
    monkeypatch.setattr("gas.prediction.slurm_samples.outside", lambda begin: "everything")
    exact, _ = queue.forecast(past(arrivals=True), *asked, {}, samples=4)
    assert quick.starts.tolist() == exact.starts.tolist()
    assert len(np.unique(quick.starts)) > 1


def test_all_samples_together_decide_whether_machine_code_is_worth_loading(monkeypatch):
    counts = []
    monkeypatch.setattr("gas.prediction.slurm_samples.outside", lambda begin: "everything")
    main = Beginning.main_scheduler
    monkeypatch.setattr(Beginning, "main_scheduler", lambda begin, samples=1: counts.append(samples) or main(begin))
    starts(cluster(hour_long(1, "n0")), candidate(), samples=7)
    assert counts == [7, *[1] * 7]


def test_rivals_are_the_partitions_that_share_nodes_with_a_candidate():
    one, other, all_of_them = (Partition(*given) for given in (("a", ("n0",)), ("b", ("n1",)), ("c", ("n0", "n1"))))
    made = cluster(partitions=(one, other, all_of_them))
    queue = Queue(made, (candidate(1, partitions=("a",)), None))
    assert (queue.rivals, queue.partitions) == ({"a", "c"}, (("a",), ()))
    assert Queue(made, (candidate(1, partitions=("c",)),)).rivals == {"a", "b", "c"}
