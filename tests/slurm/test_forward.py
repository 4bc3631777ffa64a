"""A queue run forward: the main scheduler stops at the first job that does not fit, the backfill scheduler goes on."""

from dataclasses import replace

import pytest
from made_clusters import NOW, cluster, job, running
from slurm_standing import NOW as THEN
from slurm_standing import a_cluster, an_accounting

from gas.slurm.accounting import Bounds
from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Gres, Licence, Partition, Scheduling, Tasks
from gas.slurm.forward import Forward, run_forward
from gas.slurm.settings import Settings
from gas.slurm.starts import Known


def ran(made, seconds, arrivals=(), **options):
    """Return number or task, start and end of what starts, and by whom, counted from now."""
    arrivals = [(NOW + at, one) for at, one in arrivals]
    found = run_forward(made, seconds, arrivals, **options)
    return [
        (one.job if one.task is None else (one.job, one.task), one.start - NOW, one.end - NOW, one.by)
        for one in found.starts
    ]


def test_jobs_start_in_their_order_as_others_end():
    made = cluster(job(1, 8), job(2, 8), job(3, 4))
    assert ran(made, {1: 100, 2: 50, 3: 10}) == [
        (1, 0, 100, "main"), (2, 100, 150, "main"), (3, 150, 160, "main"),
    ]  # fmt: skip


def test_a_running_job_counts_the_cpus_that_it_requested_and_not_the_threads_of_its_cores():
    made = cluster(job(1, 3))
    made = replace(made, nodes=tuple(replace(node, cores=2, threads=2) for node in made.nodes))
    for flags, counted in (("CR_CPU", 3), ("CR_CORE", 4)):
        settings = replace(made.settings or Settings(), selection_parameters=frozenset({flags}))
        forward = Forward(Beginning.of(replace(made, settings=settings), []), {1: 100})
        forward.run(NOW + 50)
        assert (forward.jobs[1, None].cpus, sum(forward.jobs[1, None].cpus_on.values())) == (counted, 4)


def test_of_gpus_of_any_type_a_job_gets_those_of_the_first_types():
    both = (Gres("gpu", "a100", 2), Gres("gpu", "h100", 2))

    def second(asked, *wanted):
        made = cluster(job(1, 1, gres_per_job=(Gres("gpu", "", asked),)), job(2, 1, gres_per_job=wanted))
        made = replace(made, nodes=tuple(replace(node, gres=both) for node in made.nodes[:1]))
        return ran(made, {1: 100, 2: 10})[1][1]

    assert (
        second(1, Gres("gpu", "a100", 1)) == second(1, Gres("gpu", "h100", 2)) == second(3, Gres("gpu", "h100", 1)) == 0
    )
    assert (
        second(1, Gres("gpu", "a100", 2))
        == second(2, Gres("gpu", "a100", 1))
        == second(3, Gres("gpu", "h100", 2))
        == 100
    )


def test_a_job_ends_at_its_limit_unless_it_is_known_to_end_sooner_or_later():
    """Slurm looks every half a minute whether jobs are over their limits, and gives them KillWait then."""
    assert ran(cluster(job(1, 8, minutes=1)), {}) == [(1, 0, 60, "main")]
    assert ran(cluster(job(1, 8, minutes=1), job(2, 8)), {1: 85, 2: 5})[1][1] == 85
    made = cluster(running(9, "n0", "n1", end=20, cpus=8), job(1, 8))  # since a minute
    assert ran(made, {1: 5, 9: 110})[0][1] == 50


def test_one_that_does_not_fit_closes_its_partition_until_the_backfill_scheduler_comes():
    """The short one fits beside the running one and ends before the large one can start."""
    made = cluster(running(9, "n0", end=600), job(1, 8), job(2, 4, minutes=5))
    assert ran(made, {1: 60, 2: 60, 9: 660}, first_cycle=NOW + 20)[0] == (2, 20, 80, "backfill")


def test_a_long_one_does_not_delay_those_before_it():
    made = cluster(running(9, "n0", end=600), job(1, 8), job(2, 4, minutes=60))
    assert ran(made, {1: 60, 2: 60, 9: 660}) == [(1, 600, 660, "main"), (2, 660, 720, "main")]


def test_a_submitted_job_starts_in_the_next_pass_which_is_a_while_after_the_last_one():
    """Of batch jobs none starts at its submission, seen on 22.05, 24.11 and 26.05."""
    made = cluster(running(9, "n0", end=600))
    assert ran(made, {9: 660, 1: 30}, [(45, job(1, 4, priority=5))])[0] == (1, 45, 75, "backfill")
    quiet = replace(made, scheduling=Scheduling(parameters={"bf_interval": "-1"}))
    two = [(45, job(1, 2, priority=5)), (46, job(2, 2, priority=4))]
    assert ran(quiet, {9: 660, 1: 30, 2: 30}, two)[:2] == [(1, 46, 76, "main"), (2, 49, 79, "main")]
    arrivals = [(45, job(1, 8, priority=5)), (45, job(2, 4, minutes=5, priority=4))]
    assert ran(made, {9: 660, 1: 30, 2: 30}, arrivals)[0] == (2, 45, 75, "backfill")


def test_a_pass_comes_before_the_ends_of_its_second_and_a_cycle_after_them():
    """Passes begin at whole seconds (24.11, 26.05), and cycles anywhere in a second."""
    made = replace(cluster(running(9, "n0", end=600), job(1, 8)), settings=Settings({"Epilog": ""}))
    assert ran(made, {9: 660 + 3, 1: 30}) == [(1, 604, 634, "main")]
    assert ran(made, {9: 660 + 3, 1: 30}, first_pass=NOW + 603)[0][1] == 606
    assert ran(made, {9: 660 + 3, 1: 30}, first_pass=NOW + 603, first_cycle=NOW + 603) == [(1, 603, 633, "backfill")]


def test_tasks_of_an_array_start_one_by_one_within_their_limit():
    made = cluster(job(5, 4, tasks=Tasks((range(3),), at_once=1), array=5))
    assert ran(made, {5: [10, 20, 30]}) == [
        ((5, 0), 0, 10, "main"), ((5, 1), 10, 30, "main"), ((5, 2), 30, 60, "main"),
    ]  # fmt: skip


def test_who_waits_for_another_job_starts_when_that_has_ended():
    made = cluster(job(1, 4), job(2, 4, dependency="afterany:1(unfulfilled)"))
    assert ran(made, {1: 90, 2: 10}) == [(1, 0, 90, "main"), (2, 90, 100, "main")]


@pytest.mark.parametrize(("took", "overtime", "follows"), [(60, 0, 2), (61, 0, 3), (61, 60, 2), (121, 60, 3)])
def test_a_job_over_its_limit_has_not_ended_well(took, overtime, follows):
    """Also one that ends by itself before Slurm ends it: its exit code does not matter (seen on all releases)."""
    made = cluster(
        job(1, 4, minutes=1), job(2, 4, dependency="afterok:1"), job(3, 4, dependency="afternotok:1"),
        settings=Settings(overtime=overtime),
    )  # fmt: skip
    found = run_forward(made, {1: took, 2: 10, 3: 10})
    assert [one.job for one in found.starts] == [1, follows]
    assert found.waiting == (5 - follows,)


def test_one_that_runs_already_may_be_over_its_limit_too():
    made = cluster(running(9, "n0", end=20), job(2, 4, dependency="afterok:9(unfulfilled)"), job(3, 4))
    assert [one.job for one in run_forward(made, {9: 81, 2: 10, 3: 10}).starts] == [3]


def test_who_may_not_begin_yet_waits_for_the_next_pass_over_all():
    made = cluster(job(1, 4, eligible=NOW + 70))
    assert ran(made, {1: 10}) == [(1, 120, 130, "main")]


def test_licences_come_back():
    made = cluster(
        job(1, 4, licences={"m": 2}), job(2, 4, licences={"m": 1}), job(3, 4), licences=(Licence("m", 2),)
    )  # fmt: skip
    assert ran(made, {1: 30, 2: 10, 3: 100}) == [(1, 0, 30, "main"), (3, 0, 100, "main"), (2, 30, 40, "main")]


def test_a_higher_tier_closes_the_nodes_it_shares():
    names = ("n0", "n1")
    both = (Partition("p", names, tier=5), Partition("q", ("n1",)))
    made = cluster(running(9, "n0", end=600), job(1, 8), job(2, 4, minutes=60, partitions=("q",)), partitions=both)
    assert ran(made, {9: 660, 1: 10, 2: 10}) == [(1, 600, 610, "main"), (2, 610, 620, "main")]


def test_what_fits_nowhere_waits_for_ever_and_holds_nobody_up():
    made = cluster(job(1, 99), job(2, 8))
    found = run_forward(made, {2: 10})
    assert [one.job for one in found.starts] == [2]
    assert found.waiting == (1,)


def test_known_starts_are_kept():
    made = cluster(job(1, 4), job(2, 4))
    known = {(1, None): Known(NOW + 40, ("n1",))}
    assert ran(made, {1: 10, 2: 10}, known=known) == [(2, 0, 10, "backfill"), (1, 40, 50, "known")]


@pytest.mark.parametrize(
    ("epilog", "starts"), [({"Epilog": "/sbin/clean"}, [30, 31]), ({"Epilog": "(null)"}, [31, 34]), ({}, [30, 31])]
)
def test_without_an_epilog_the_main_scheduler_waits_a_while_after_its_last_pass(epilog, starts):
    """Seen on 22.05, 24.11 and 26.05: without one, passes are three seconds apart, and notice what ended before."""
    made = cluster(running(8, "n0", end=30), running(9, "n1", end=31), job(1, 4), job(2, 4))
    quiet = Scheduling(parameters={"bf_interval": "-1"})
    made = replace(made, scheduling=quiet, settings=Settings(values=epilog))
    assert [one[1] for one in ran(made, {1: 500, 2: 500})] == starts


def test_a_known_start_by_the_main_scheduler_is_a_pass_in_which_it_looks_at_the_others():
    made = replace(cluster(job(1, 4), job(2, 4)), scheduling=Scheduling(parameters={"bf_interval": "-1"}))
    known = {(1, None): Known(NOW + 40, ("n1",), by="main")}
    assert ran(made, {1: 10, 2: 10}, known=known) == [(1, 40, 50, "known"), (2, 40, 50, "main")]
    assert ran(made, {1: 10, 2: 10}, known={(1, None): Known(NOW + 40, ("n1",), by="backfill")})[1] == (
        2, 50, 60, "main",
    )  # fmt: skip


def of_lab(made, *asked):
    """Return a cluster with jobs of one user: their CPUs, and what else is asked for."""
    own = {"user": "me", "account": "lab", "qos": "normal", "partitions": ("main",), "submitted": THEN}
    jobs = tuple(job(at + 1, cpus, priority=9 - at, **(own | more)) for at, (cpus, more) in enumerate(asked))
    return replace(made, jobs=jobs, scheduling=Scheduling(parameters={"bf_interval": "-1"}))


def begun(made):
    return [one.job for one in run_forward(made, {}, until=THEN).starts]


def test_a_job_held_by_a_limit_of_amounts_closes_no_partition_even_where_its_nodes_are_busy():
    """Seen on 22.05, 24.11 and 26.05: the limit is tested where no nodes are found, too (node_scheduler.c)."""
    limited = a_cluster(an_accounting(mine=Bounds(group_tres={"cpu": 30.0})))
    other = {"user": "other"}
    assert begun(of_lab(limited, (24, {}), (8, {}), (8, other))) == [1, 3]
    assert begun(of_lab(limited, (24, {}), (20, {}), (8, other))) == [1, 3]
    assert begun(of_lab(limited, (24, {}), (20, other), (4, {}), (8, {"user": "third"}))) == [1]


def test_a_job_whose_nodes_are_busy_is_tested_with_as_many_nodes_as_it_asks_for_whoever_has_them():
    """Seen on 22.05, 24.11 and 26.05: one node may be in use and one is; what waits for nodes behind it starts."""
    limited = a_cluster(an_accounting(mine=Bounds(group_tres={"node": 1.0})))
    other = {"user": "other"}
    assert begun(of_lab(limited, (4, {}), (31, other), (3, {}), (1, other))) == [1, 2, 4]
    free = a_cluster(an_accounting(mine=Bounds(group_tres={"node": 2.0})))
    assert begun(of_lab(free, (4, {}), (35, other), (3, {}), (1, other))) == [1, 2]


def test_a_limit_of_nodes_is_one_of_the_nodes_that_are_chosen():
    """The second would have two of its own; the third fits beside the first, on its nodes."""
    limited = a_cluster(an_accounting(mine=Bounds(group_tres={"node": 3.0})))
    assert begun(of_lab(limited, (7, {}), (8, {}), (1, {}), (4, {}))) == [1, 3, 4]


def test_nodes_are_chosen_within_a_limit_of_nodes():
    """Seen on 26.05: beside a node that is used in part, the next whole one is taken, so that three nodes do."""
    limited = a_cluster(an_accounting(mine=Bounds(group_tres={"node": 3.0})))
    names = [f"n{number}" for number in range(4, 10)]
    others = {"state": "RUNNING", "start": THEN, "end": THEN + 900, "user": "other", "partitions": ("main",)}
    made = of_lab(limited, (12, {}))
    made = replace(made, jobs=(
        *made.jobs, job(8, 1, nodes=("n3",), cpus_on={"n3": 1}, **others),
        job(9, 24, nodes=tuple(names), cpus_on=dict.fromkeys(names, 4), **others),
    ))  # fmt: skip
    (start,) = run_forward(made, {}, until=THEN).starts
    assert start.nodes == ("n1", "n2", "n10")


def test_the_order_moves_with_age():
    """Both wait; nothing is configured, so that the numbers stand as they are."""
    made = cluster(running(9, "n0", "n1", end=60), job(1, 8, priority=10), job(2, 8, priority=20))
    assert [one[0] for one in ran(made, {9: 120, 1: 5, 2: 5})] == [2, 1]


@pytest.mark.parametrize("interval", [10, 30])
def test_the_backfill_scheduler_waits_its_interval(interval):
    made = replace(
        cluster(running(9, "n0", end=600), job(1, 8)),
        scheduling=Scheduling(parameters={"bf_interval": str(interval)}),
    )
    found = ran(made, {9: 660, 1: 30, 2: 30}, [(5, job(2, 4, minutes=5, priority=4))])
    assert found[0] == (2, interval, interval + 30, "backfill")


def test_a_cycle_that_plans_a_job_is_followed_by_others_every_interval():
    """Who comes between two of them waits for the second."""
    made = replace(
        cluster(running(9, "n0", end=600), job(1, 8)), scheduling=Scheduling(parameters={"bf_interval": "30"})
    )
    found = ran(made, {9: 660, 1: 30, 2: 30}, [(40, job(2, 4, minutes=5, priority=4))])
    assert found[0] == (2, 60, 90, "backfill")


def test_cycles_of_plans_that_never_come_true_end_where_nothing_happens_any_more():
    """Parts of a heterogeneous job are planned, and not started here."""
    found = run_forward(cluster(job(1, leader=1), job(2, leader=1)), {})
    assert (found.starts, found.waiting) == ((), (1, 2))
    assert found.cycles < 20


@pytest.mark.parametrize(("ready", "times"), [(True, 500), (False, 1)])
def test_machine_code_that_is_there_pays_for_all_samples_together(monkeypatch, ready, times):
    counted = []
    monkeypatch.setattr("gas.slurm.beginning.is_ready", lambda kernel: ready)
    begin = Beginning.of(cluster(), [])
    monkeypatch.setattr("gas.slurm.beginning.fastest", lambda kernel, steps: counted.append(steps) or kernel)
    begin.main_scheduler(500)
    assert counted == [begin.steps * times] * 2
