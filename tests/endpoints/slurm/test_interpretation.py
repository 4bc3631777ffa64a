"""When nodes are free, by what Slurm publishes; the recorded queue, and what Slurm itself planned on it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gas.endpoints.slurm import json_answers
from gas.endpoints.slurm.interpretation import interpret, partition_of
from gas.endpoints.slurm.notation import LATEST
from gas.endpoints.slurm.options import Options
from gas.errors import Infeasible, NotFound, WithoutGpus
from gas.profile.flat import NEVER
from gas.slurm.accounting import Accounting, Association, Qos
from gas.slurm.cluster import Cluster, Gres, Job, Node, Partition, Reservation, Scheduling, Switch, Tasks
from gas.slurm.settings import Settings
from gas.slurm.why import Why

NOW = 1_800_000_000  # a multiple of 60


def earliest(found, processors, minutes):
    sizes, walltimes = np.array([processors]), np.array([60 * minutes])
    return int(found.availability.anchors(sizes, walltimes, found.availability.now)[0])


def ends_of(cluster, *ids):
    """Return when jobs end by the published plan, which is when what waits for them can start."""
    return max(job.end for job in cluster.jobs if job.id in ids)


@pytest.mark.parametrize(
    ("processors", "minutes", "after"),
    [
        (1, 60, (7,)),  # n05 and n06 are free until job 9's plan is over for them; n15 is too, but not for an hour
        (2, 29, (5,)),  # n15 is free of 5 at 1795294200, and 9 begins there 33 minutes later
        (16, 12, (1,)),  # two of n01 to n04, before 7 begins 15 minutes after 1 has ended
        (16, 30, (5,)),  # those 15 minutes are too short; 5 leaves n07 to n12 and n15 for 33
        (16, 42, (7,)),  # those 33 are, too; n05 and n06 are not in the plan of 9
        (32, 60, (9,)),
        (40, 5, (5,)),
        (50, 25, (5,)),
        (96, 30, (9,)),
        (100, 40, (9,)),
        (20, 60, (9,)),
        (7, 45, (7,)),
        (120, 20, (9,)),  # all that is not drained
        (8, 400, (9,)),  # not n05 and n06, which are reserved before it could end
    ],
)
def test_earliest_starts_are_those_that_slurm_planned_for_probe_jobs(cluster, processors, minutes, after):
    """Each shape was submitted to the recorded queue, and given this very start by Slurm's backfill scheduler."""
    assert earliest(interpret(cluster), processors, minutes) == ends_of(cluster, *after)


@pytest.mark.parametrize(("processors", "minutes"), [(4, 5), (1, 9), (6, 10)])
def test_what_fits_now_starts_now(cluster, processors, minutes):
    """Slurm started these probes at once: 4 CPUs are free of n12 to n15 until 5 begins on them."""
    assert earliest(interpret(cluster), processors, minutes) == cluster.now


def test_a_long_job_waits_for_the_end_of_the_reservation(cluster):
    """Slurm planned this probe one second after the reservation's end."""
    assert earliest(interpret(cluster), 64, 300) == cluster.reservations[0].end + 1


def test_more_than_there_is_never_starts(cluster):
    assert earliest(interpret(cluster), 121, 1) == NEVER


def test_nodes_that_are_drained_are_left_out_and_partitions_overlap_by_nodes(cluster):
    main, debug = interpret(cluster), interpret(cluster, "debug")
    assert "n16" not in main.availability.names
    assert debug.availability.names == ("n01", "n02")
    # of the nodes of debug: 1, in main, has them now; then 15 for its quarter of an hour, then 7 and 9, in main
    assert earliest(debug, 16, 1) == ends_of(cluster, 9)


def test_whole_nodes_as_unit_count_a_node_with_one_busy_cpu_as_taken(cluster):
    found = interpret(cluster, unit="nodes")
    assert found.availability.processors == 15
    assert earliest(found, 15, 20) == ends_of(cluster, 9)
    # no node is quite empty now; n13 is left first, by 8
    assert earliest(found, 1, 1) == ends_of(cluster, 8)


def test_jobs_without_a_plan_are_returned_with_the_reason_in_the_order_of_the_queue(cluster):
    found = interpret(cluster)
    assert [(record.job.id, why) for record, why in found.unplanned] == [
        (6, Why.NOWHERE),  # 128 CPUs of 120
        (13, Why.DEPENDENCY),
        (14, Why.BEGIN),
        (12, Why.HELD),
    ]
    (deferred,) = [one for one in found.forecast.plans if not one.published]
    assert deferred.job.id == 14
    assert deferred.start >= deferred.job.start == cluster.now + 7096


def test_plans_whose_nodes_are_not_published_are_left_to_be_placed(published, renewed_answers):
    old = interpret(json_answers.read_cluster(published, name="x"))
    own = {one.job.id: one.start - one.job.start for one in old.forecast.plans if one.listed and not one.published}
    assert own == dict.fromkeys([5, 7, 9, 11, 15], 0)
    new = interpret(json_answers.read_cluster(renewed_answers, name="x"), "main")
    assert [record.job.id for record, _ in new.unplanned] == [6, 13, 14, 12]
    assert earliest(new, 16, 30) == 1795294200


def test_a_plan_has_an_age(cluster):
    assert interpret(replace(cluster, planned=cluster.now - 30)).plan_age == 30
    assert interpret(replace(cluster, planned=None)).plan_age is None
    assert interpret(cluster).availability.kind == "estimate"


# -- one rule after the other, on machines made for it


def job(id, state="PENDING", **fields):
    standard = {"name": "j", "user": "u", "partitions": ("p",), "cpus": 4, "priority": 1000 - id, "time_limit": 600}
    return Job(id=id, state=state, **(standard | fields))


def machine(*jobs, nodes=2, cpus=4, **fields):
    names = tuple(f"n{n}" for n in range(nodes))
    standard = {
        "nodes": tuple(Node(name, cpus, partitions=("p",)) for name in names),
        "reservations": (),
        "partitions": (Partition("p", names),),
        "others_visible": True,
    }
    return Cluster(name="made", now=NOW, version="22.05.8", jobs=jobs, **(standard | fields))


def with_gres(*names, sockets=1):
    has = tuple(Gres(name) for name in names)
    return tuple(Node(f"n{n}", 4, partitions=("p",), gres=has, sockets=sockets) for n in range(2))


WAITS_FOR_GPU = (job(2, gres_per_node=(Gres("gpu", "", 1),)),)


def running(id, *nodes, end, cpus_on=None, **fields):
    return job(id, "RUNNING", start=NOW - 60, end=end, nodes=nodes, cpus_on=cpus_on, **fields)


def planned(id, *nodes, start, **fields):
    return job(id, start=start, planned_nodes=nodes, **fields)


def test_running_jobs_share_a_node_and_end_to_the_second():
    found = interpret(machine(running(1, "n0", end=NOW + 77, cpus_on={"n0": 3}), nodes=1))
    assert earliest(found, 1, 100) == NOW
    assert earliest(found, 2, 1) == NOW + 77


def test_a_job_whose_share_is_not_known_has_all_of_its_nodes():
    found = interpret(machine(running(1, "n0", end=NOW + 77, cpus=2)))
    assert earliest(found, 5, 1) == NOW + 77


def test_an_exclusive_job_has_all_of_its_nodes():
    found = interpret(machine(running(1, "n0", end=NOW + 77, cpus_on={"n0": 1}, exclusive=True), nodes=1))
    assert earliest(found, 1, 1) == NOW + 77


def test_a_partition_of_whole_nodes_gives_no_rest_of_a_node():
    taken = running(1, "n0", end=NOW + 77, cpus_on={"n0": 1})
    found = interpret(machine(taken, nodes=1, partitions=(Partition("p", ("n0",), whole_nodes=True),)))
    assert earliest(found, 1, 1) == NOW + 77


def test_planned_jobs_take_whole_nodes_even_for_one_cpu():
    found = interpret(machine(planned(1, "n0", start=NOW, cpus=1), nodes=1))
    assert earliest(found, 1, 1) == NOW + 600


def test_planned_times_are_rounded_down_to_the_resolution():
    found = interpret(machine(planned(1, "n0", start=NOW + 659), nodes=1))
    assert earliest(found, 1, 10) == NOW + 1200  # planned to 1259; the 659 s before are 599 to plan with
    assert earliest(found, 1, 9) == NOW


def test_an_exact_fit_before_a_planned_job_is_refused():
    found = interpret(machine(planned(1, "n0", start=NOW + 1800), nodes=1))
    assert earliest(found, 1, 30) == NOW + 2400
    assert earliest(found, 1, 29) == NOW


def test_a_start_when_a_running_job_ends_may_overlap_a_plan_within_the_resolution():
    """Found with a real one: 15 minutes from 2097 s on were planned before a job that began at 2953 s, rounded down."""
    taken = running(1, "n0", end=NOW + 77, cpus_on={"n0": 4})
    found = interpret(machine(taken, planned(2, "n0", start=NOW + 660), nodes=1))
    assert earliest(found, 1, 9) == NOW + 77
    assert earliest(found, 1, 10) == NOW + 77  # to 677, which is rounded down to 660
    assert earliest(found, 1, 11) == NOW + 1260


def test_other_nodes_that_are_free_for_longer_may_be_part_of_such_a_start():
    taken = running(1, "n0", end=NOW + 77, cpus_on={"n0": 4})
    plans = planned(2, "n0", "n1", start=NOW + 660)
    found = interpret(machine(taken, plans, nodes=2))
    assert earliest(found, 8, 10) == NOW + 77
    assert earliest(found, 4, 11) == NOW + 1260


def test_starts_are_found_for_many_shapes_and_times_at_once(cluster):
    found = interpret(cluster).availability
    sizes, walltimes = np.arange(1, 61), np.full(60, 12 * 60)
    together = found.anchors(sizes, walltimes, found.now + 700)
    alone = [int(found.anchors(sizes[[k]], walltimes[[k]], found.now + 700)[0]) for k in range(60)]
    assert together.tolist() == alone
    assert sorted(alone) == alone
    assert alone[0] >= found.now + 700


def test_a_reservation_is_kept_to_the_second_and_what_follows_it_is_a_second_after_its_end_rounded_up():
    kept = Reservation("r", NOW + 1800, NOW + 1890, ("n0",))
    found = interpret(machine(nodes=1, reservations=(kept,)))
    assert earliest(found, 1, 30) == NOW
    assert earliest(found, 1, 31) == NOW + 1921


def test_a_plan_of_slurms_that_reaches_into_a_reservation_is_not_believed():
    """Slurm looks at reservations only from where it tries: now, when n0 is busy, and not when that ends."""
    kept = Reservation("r", NOW + 1800, NOW + 2400, ("n0",))
    taken = running(1, "n0", end=NOW + 900)
    found = interpret(machine(taken, nodes=1, reservations=(kept,))).availability
    assert found.outlook(4, 1200).planned == NOW + 900
    assert found.outlook(4, 1200).expected == NOW + 2401


@pytest.mark.parametrize(("flags", "user", "free"), [
    ((), "me", False), (("MAGNETIC",), "me", True), (("MAGNETIC",), "you", False), (("MAGNETIC",), None, False),
])  # fmt: skip
def test_a_reservation_keeps_out_its_own_users_unless_it_is_magnetic(flags, user, free):
    kept = Reservation("r", NOW - 60, NOW + 600, ("n0",), flags, ("me",))
    found = interpret(machine(nodes=1, reservations=(kept,)), user=user)
    assert earliest(found, 1, 1) == (NOW if free else NOW + 601)


def test_a_job_that_names_a_reservation_gets_its_nodes_while_it_lasts():
    kept = Reservation("r", NOW + 600, NOW + 1200, ("n1",), (), ("me",))
    found = interpret(machine(nodes=2, reservations=(kept,)), reservation="r")
    assert found.availability.names == ("n1",)
    assert earliest(found, 1, 10) == NOW + 600
    assert earliest(found, 1, 11) == NEVER
    with pytest.raises(NotFound, match='no reservation "s"'):
        interpret(machine(reservations=(kept,)), reservation="s")


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        ({"users": ("-me",)}, r"\(Users=-me\)"),
        ({"users": ("me",), "accounts": ("lab",)}, None),  # whose account is not known
        ({"flags": ("TIME_FLOAT",), "users": ("me",)}, r"\(Flags=TIME_FLOAT: it never begins, Users=me\)"),
    ],
)
def test_a_reservation_that_is_not_open_to_who_names_it_is_refused(lists, why):
    made = machine(nodes=2, reservations=(kept("r", nodes=("n1",), **lists),))
    if why is None:
        assert free_now(interpret(made, user="me", reservation="r").availability) == 4
    else:
        with pytest.raises(Infeasible, match=rf'reservation "r" is not open to these jobs {why}; name another'):
            interpret(made, user="me", reservation="r")


def test_all_nodes_are_for_a_job_that_names_a_flexible_reservation():
    made = machine(nodes=2, reservations=(kept("r", nodes=("n1",), start=NOW + 60, flags=("FLEX",)),))
    assert free_now(interpret(made, user="me", reservation="r").availability) == 8


def test_a_node_in_maintenance_is_free_after_a_reservation_that_is_shown_and_else_left_out():
    nodes = (Node("n0", 4, reserved=True), Node("n1", 4))
    kept = Reservation("r", NOW - 60, NOW + 600, ("n0",), ("MAINT",))
    assert interpret(replace(machine(), nodes=nodes)).availability.names == ("n1",)
    found = interpret(replace(machine(), nodes=nodes, reservations=(kept,)))
    assert earliest(found, 8, 1) == NOW + 601


@pytest.mark.parametrize("state", ["COMPLETING", "CONFIGURING", "STOPPED"])
def test_a_job_that_is_not_quite_running_holds_its_nodes(state):
    held = replace(running(1, "n0", end=NOW + 77), state=state)
    assert earliest(interpret(machine(held, nodes=1)), 1, 1) == NOW + 77


def test_a_node_that_a_job_is_leaving_is_free_in_a_second():
    found = interpret(machine(replace(running(1, "n0", end=NOW - 5), state="COMPLETING"), nodes=1))
    assert earliest(found, 1, 1) == NOW + 1


def test_a_job_that_has_ended_holds_nothing():
    found = interpret(machine(replace(running(1, "n0", end=NOW + 77), state="COMPLETED"), nodes=1))
    assert earliest(found, 1, 1) == NOW


def test_a_job_without_a_limit_has_its_nodes_for_a_year():
    found = interpret(machine(running(1, "n0", end=None, time_limit=None), nodes=1))
    assert earliest(found, 1, 1) == NOW - 60 + 365 * 86400


def test_cpus_of_jobs_that_are_not_shown_are_taken_for_as_long_as_a_job_may_run():
    nodes = (Node("n0", 4, allocated=3),)
    partitions = (Partition("p", ("n0",), longest=7200),)
    seen = running(1, "n0", end=NOW + 60, cpus_on={"n0": 1})
    private = replace(machine(seen), nodes=nodes, partitions=partitions, others_visible=False)
    found = interpret(private)
    assert found.unseen == 2
    assert earliest(found, 1, 1) == NOW
    assert earliest(found, 3, 1) == NOW + 7200
    assert interpret(replace(private, others_visible=None)).unseen == 2  # where it is not published, it shows
    assert interpret(replace(private, others_visible=True)).unseen == 0  # a job came between two answers


def test_hidden_tasks_of_an_array_are_planned_and_those_beyond_the_depth_are_expected():
    tasks = planned(1, "n0", start=NOW + 600, array=1, tasks=Tasks((range(30),)))
    found = interpret(machine(running(9, "n0", "n1", end=NOW + 600), tasks)).forecast.plans
    assert [one.listed for one in found] == 20 * [True] + 10 * [False]


def test_jobs_beyond_the_depth_and_those_beyond_the_window():
    first = running(9, "n0", "n1", end=NOW + 7000)
    waiting = [planned(1, "n0", start=NOW + 60), job(2), job(3)]
    scheduling = Scheduling(depth=2, window=3600)
    found = interpret(machine(first, *waiting, scheduling=scheduling)).unplanned
    assert [(record.job.id, why) for record, why in found] == [(2, Why.WINDOW), (3, Why.DEPTH)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"priority": 0, "reason": "JobHeldUser"}, Why.HELD),
        ({"reason": "Dependency"}, Why.DEPENDENCY),
        ({"reason": "BeginTime", "start": NOW + 99}, Why.BEGIN),
        ({"reason": "PartitionTimeLimit"}, Why.PARTITION),
        ({"reason": "ReqNodeNotAvail, UnavailableNodes:n7", "required_nodes": ("n7",)}, Why.NOWHERE),
        ({"reason": "QOSMaxCpuPerUserLimit"}, Why.LIMIT),
        ({"reason": "AssocGrpNodeLimit"}, Why.LIMIT),
        ({"reason": "Priority", "cpus": 9}, Why.NOWHERE),
        ({"reason": "Priority", "least_nodes": 3}, Why.NOWHERE),
    ],
)
def test_the_reason_of_a_job_without_a_plan(fields, why):
    ((_, found),) = interpret(machine(job(1, **fields))).unplanned
    assert found is why


@pytest.mark.parametrize("reason", ["Resources", "ReqNodeNotAvail, UnavailableNodes:n1", "A reason of another release"])
def test_a_job_that_may_start_is_planned_whatever_is_said(reason):
    found = interpret(machine(job(1, reason=reason)))
    assert found.unplanned == ()
    assert [one.start for one in found.forecast.plans] == [NOW]


def test_a_deferred_job_starts_no_earlier_than_it_may():
    found = interpret(machine(job(1, reason="BeginTime", eligible=NOW + 500))).forecast.plans
    assert [(one.not_before, one.start) for one in found] == [(NOW + 500, NOW + 500)]


def test_a_partition_is_the_default_one_the_only_one_or_named(cluster):
    assert partition_of(cluster).name == "main"
    assert partition_of(machine()).name == "p"
    unknown = replace(cluster, partitions=tuple(replace(one, default=None) for one in cluster.partitions))
    with pytest.raises(NotFound, match="give one of main, debug"):
        partition_of(unknown)
    with pytest.raises(NotFound, match='no partition "debgu"; did you mean "debug"'):
        interpret(cluster, "debgu")


def test_a_partition_that_starts_nothing_is_refused():
    with pytest.raises(Infeasible, match='made, partition "p" is DRAIN'):
        interpret(machine(partitions=(Partition("p", ("n0",), state="DRAIN"),)))
    with pytest.raises(Infeasible, match="no usable node"):
        interpret(replace(machine(), nodes=(Node("n0", 4, why_not=("DOWN",)),)))


def test_a_partition_without_nodes_of_the_reservation_is_refused():
    made = machine(partitions=(Partition("p", ("n0",)),), reservations=(kept("r", nodes=("n1",)),))
    with pytest.raises(Infeasible, match='partition "p" has no node of reservation "r"'):
        interpret(made, reservation="r")
    assert interpret(replace(made, reservations=(kept("r", nodes=("n0", "n1")),)), reservation="r")


def test_where_no_job_starts_on_any_node_their_states_are_named():
    def refused(*states):
        nodes = tuple(replace(one, why_not=why) for one, why in zip(machine(nodes=3).nodes, states, strict=True))
        with pytest.raises(Infeasible) as raised:
            interpret(replace(machine(nodes=3), nodes=nodes), None, "cpus")
        return str(raised.value).partition("no usable node: ")[2]

    assert refused(("DOWN",), ("DRAIN", "NOT_RESPONDING"), ("DOWN",)) == "2 down, 1 drain and not responding"
    passes = "3 powering down; nodes that power down can soon be used again"
    assert refused(*3 * [("POWERING_DOWN",)]) == passes


def test_types_of_gpu_that_there_are_are_named_where_there_are_none_of_a_type():
    kinds = (Gres("gpu", "a100", 4), Gres("gpu", "", 1))
    of = replace(machine(), nodes=(Node("n0", 4, gres=kinds), Node("n1", 4, gres=kinds[:1])))
    asked = Options(unit="gpus", gpus_per_node=(Gres("gpu", "v100", 1),))
    with pytest.raises(Infeasible, match=r"no GPUs of type v100; there are without a type \(1\), a100 \(8\)"):
        interpret(replace(of, partitions=(Partition("p", ("n0", "n1")),)), options=asked)
    with pytest.raises(WithoutGpus, match="no node with GPUs"):
        interpret(machine(), options=asked)


def of_gpus(*jobs, **fields):
    """Interpret one node of 16 CPUs and 4 GPUs for jobs that are counted in GPUs."""
    node = Node("n0", 16, partitions=("p",), gres=(Gres("gpu", "a100", 4),), **fields)
    shown = machine(*jobs, nodes=1)
    one = replace(shown, nodes=(node,), others_visible=node.allocated is None)
    return interpret(one, options=Options(unit="gpus")).availability


def free_now(availability):
    return int(availability.counts.free[0])


@pytest.mark.parametrize(
    ("fields", "free"),
    [
        ({"cpus_on": {"n0": 1}}, 4),
        ({"cpus_on": {"n0": 16}}, 0),  # a GPU without a CPU is of no use
        ({"cpus_on": {"n0": 1}, "gres_on": {"n0": (Gres("gpu", "a100", 3),)}}, 1),
        ({"cpus_on": {"n0": 8}, "gres_on": {"n0": (Gres("gpu", "a100", 1),)}}, 3),
        ({"cpus_on": {"n0": 1}, "gres_per_node": (Gres("gpu", "", 2),)}, 2),
        ({"cpus_on": {"n0": 1}, "gres_per_node": (Gres("shard", "", 2),)}, 4),
        ({"cpus_on": {"n0": 8}, "gres_per_job": (Gres("gpu", "", 1),)}, 2),  # not told which: by its CPUs
    ],
)
def test_a_running_job_takes_the_gpus_that_it_has(fields, free):
    found = of_gpus(running(1, "n0", end=NOW + 77, **fields))
    assert free_now(found) == free
    assert found.counts.free[-1] == 4


def test_jobs_that_are_not_shown_take_the_gpus_in_use_of_which_those_shown_have_none():
    one = running(1, "n0", end=NOW + 77, cpus_on={"n0": 1}, gres_on={"n0": (Gres("gpu", "a100", 1),)})
    assert free_now(of_gpus(one, allocated=3, gres_used=(Gres("gpu", "a100", 3),))) == 1
    assert free_now(of_gpus(one, allocated=3, gres_used=(Gres("gpu", "a100", 1),))) == 3


def kept(name, start=NOW - 60, end=NOW + 600, nodes=("n0",), **fields):
    return Reservation(name, start, end, nodes, **fields)


def test_remarks_say_what_one_must_know():
    waiting = [planned(1, "n0", start=NOW + 60), job(2), job(3), job(4, priority=0, reason="JobHeldUser")]
    nodes = tuple(Node(f"n{n}", 4, allocated=3) for n in range(2))
    known = {"settings": Settings(priority_type="basic", partition_limits="NO", with_accounting=False)}
    found = interpret(replace(machine(*waiting, **known), nodes=nodes, planned=NOW - 12, others_visible=False))
    assert found.remarks == (
        "Slurm last planned its queue 12s ago",
        "2 waiting jobs have no plan by Slurm; Gas placed them itself",
        "6 CPUs are in use by hidden jobs (PrivateData): --probe shows starts",
        "1 job is left out: held",
    )
    assert found.placed == 2
    assert interpret(machine(**known)).remarks == (
        "the age of Slurm's plans is not known, because sdiag shows no backfill cycle: plan again in some minutes, or "
        "probe Slurm (--probe)",
    )


def test_and_what_is_not_known_of_ones_own_place_and_limits():
    _, priority, limits = interpret(machine(planned(1, "n0", start=NOW + 60))).remarks
    assert priority == (
        "the priority of your jobs is not known (how priorities are calculated (the configuration is not published)): "
        "they are planned behind all others of their tier"
    )
    assert limits.startswith("not known, and may delay a job: ")
    assert "EnforcePartLimits" in limits
    counting = tuple(replace(job(at), priority=4_294_901_760 - at) for at in range(1, 4))
    assert not any("priority of your jobs" in one for one in interpret(machine(*counting)).remarks)


def test_a_qos_that_reserves_nothing_is_told():
    qos = {"free": Qos("free", flags=frozenset({"noreserve"})), "normal": Qos("normal", flags=frozenset())}
    own = Association("lab", "u", default_qos="free")
    for options, accounting, told in (
        (Options(qos="free"), Accounting("u", qos=qos), True),
        (Options(qos="normal"), Accounting("u", qos=qos), False),
        (Options(), Accounting("u", default_account="lab", qos=qos, associations=(own,)), True),
    ):
        remarks = interpret(machine(accounting=accounting), options=options).remarks
        assert any("NoReserve" in one for one in remarks) is told


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"partitions": (Partition("p", ("n0", "n1"), sharing=2),)}, "up to 2 jobs may share a CPU"),
        ({"reservations": (kept("r", cores=2),)}, 'only some cores of reservation "r" are reserved'),
        ({"reservations": (kept("r", flags=("DAILY",)),)}, 'reservation "r" recurs: .* its next occurrence only'),
        ({"reservations": (kept("r", flags=("TIME_FLOAT",)),)}, 'reservation "r" moves ahead with time'),
        (
            {"reservations": (kept("r", flags=("MAGNETIC",), groups=("g",)),)},
            "attracts jobs of members",
        ),
        ({"jobs": (running(1, "n0", end=NOW + 60),)}, None),
        ({"jobs": (replace(running(1, "n0", end=NOW + 60), state="SUSPENDED"),)}, "1 job is suspended"),
        ({"jobs": (running(1, "n0", end=NOW + 60), job(2, features="[a*2]"))}, "the constraint .* is not understood"),
        (
            {"jobs": (job(2, unclear=("licences a|b",)),)},
            '1 waiting job has options .*"licences a.b"',
        ),
        ({"jobs": (running(1, "n0", end=NOW + 60, unclear=("licences a|b",)),)}, None),
        (
            {
                "nodes": with_gres("gpu"),
                "settings": Settings(selection_parameters=frozenset({"ENFORCE_BINDING_GRES"})),
                "jobs": WAITS_FOR_GPU,
            },
            "jobs get GPUs only with cores near them",
        ),
        ({"nodes": with_gres("gpu", "shard")}, "^shard and whole GPUs are counted separately"),
        ({"nodes": with_gres("gpu")}, None),
        ({"nodes": with_gres("gpu", sockets=2), "jobs": WAITS_FOR_GPU}, "nodes whose free cores are near free GPUs"),
        ({"nodes": with_gres("gpu", sockets=2)}, None),
        ({"nodes": with_gres("fpga", sockets=2)}, None),
        ({"settings": Settings(selection="linear"), "nodes": with_gres("fpga")}, "select/linear"),
        ({"partitions": (Partition("p", ("n0", "n1"), most_cpus_of_socket=4),)}, "at most 4 CPUs of a socket"),
        (
            {"settings": Settings(selection="linear"), "nodes": (Node("n0", 4), Node("n1", 8)), "version": "22.05.8"},
            "the search of Slurm 22.05.8 may not end",
        ),
        ({"settings": Settings(selection="linear"), "switches": (Switch("s", ("n0",)),)}, "select/linear"),
        # what there is elsewhere, or is over, is not remarked upon
        ({"reservations": (kept("r", end=NOW, cores=2), kept("s", nodes=("m",), flags=("TIME_FLOAT",)))}, None),
        ({"partitions": (Partition("p", ("n0",), default=True), Partition("q", ("n1",), sharing=4))}, None),
        ({"partitions": (Partition("p", ("n0", "n1"), most_cpus=4),)}, None),
    ],
)
def test_what_is_not_planned_with_is_remarked_upon_once_and_where_it_applies(fields, told):
    usual = interpret(replace(machine(), jobs=fields.get("jobs", ()))).remarks if told is None else ()
    remarks = interpret(replace(machine(), **fields)).remarks
    if told is None:
        assert remarks == usual
    else:
        assert len([one for one in remarks if re.search(told, one)]) == 1


def test_remarks_on_gpus_are_for_jobs_that_request_them():
    near = Settings(selection_parameters=frozenset({"ENFORCE_BINDING_GRES"}))
    site = replace(machine(settings=near), nodes=with_gres("gpu", sockets=2))
    found = {unit: " ".join(interpret(site, options=Options(unit=unit)).remarks) for unit in ("cpus", "gpus")}
    for words in ("near free GPUs", "ENFORCE_BINDING_GRES"):
        assert [words in said for said in found.values()] == [False, True]


def test_a_job_that_begins_in_thousands_of_years_is_in_nobodys_way():
    far = job(1, start=LATEST, eligible=LATEST, reason="BeginTime", cpus=8)
    endless = running(2, "n0", end=LATEST)
    found = interpret(machine(far, endless, reservations=(kept("r", nodes=("n1",), start=LATEST - 1, end=LATEST),)))
    assert earliest(found, 4, 60) == NOW


def test_tasks_that_are_not_shown_are_remarked_upon():
    tasks = planned(1, "n0", start=NOW + 600, array=1, tasks=Tasks((range(2),)))
    assert (
        interpret(machine(running(9, "n0", "n1", end=NOW + 600), tasks)).remarks[1]
        == "1 task of arrays has a plan that Slurm does not show; Gas placed it itself"
    )


def test_waiting_jobs_without_a_plan_delay_what_is_submitted_now():
    first = running(1, "n0", "n1", end=NOW + 600)
    found = interpret(machine(first, job(2, cpus=8), scheduling=Scheduling(depth=0)))
    assert earliest(found, 1, 30) == NOW + 1200


def test_of_a_recent_version_the_start_of_an_array_is_that_of_its_first_task():
    taken = running(9, "n0", end=NOW + 600)
    tasks = planned(1, "n0", start=NOW + 600, array=1, tasks=Tasks((range(3),)), cpus=4)
    old, new = (interpret(replace(machine(taken, tasks, nodes=1), version=one)) for one in ("22.05.8", "24.11.1"))
    assert earliest(new, 4, 5) == NOW + 2400
    assert earliest(old, 4, 5) == NOW + 2400  # the others do not fit before it
    assert sorted(one.start for one in new.forecast.plans) == [NOW + 600, NOW + 1200, NOW + 1800]


def test_tasks_of_an_array_that_may_not_run_yet_wait_for_one_that_runs():
    """Of ``--array=0-5%2`` two run; the others are not in the way of what starts now and is over before."""
    nodes = tuple(Node(f"n{n}", 4, 0, (), False, ("main",)) for n in range(4))
    running = [
        Job(10 + n, "a", "me", "RUNNING", ("main",), 4, 1, NOW - 60, NOW + end, 1200, nodes=(f"n{n}",),
            cpus_on={f"n{n}": 4}, array=9, tasks=Tasks((range(n, n + 1),)))
        for n, end in enumerate((600, 1200))
    ]  # fmt: skip
    waiting = Job(
        9, "a", "me", "PENDING", ("main",), 4, 1, None, None, 3600, reason="JobArrayTaskLimit", array=9,
        tasks=Tasks((range(2, 6),), 2),
    )  # fmt: skip
    main = Partition("main", tuple(node.name for node in nodes), default=True)
    cluster = Cluster("made", NOW, "22.05.8", nodes, (*running, waiting), (), (main,), planned=NOW, others_visible=True)
    found = interpret(cluster)
    assert [(one.listed, one.not_before) for one in found.forecast.plans] == 2 * [(False, NOW + 600)]
    assert earliest(found, 8, 9) == NOW


def test_numbers_of_nodes_in_the_own_constraint_are_said_to_be_ignored(cluster):
    remarks = interpret(cluster, options=Options(features="[a*2&b*1]")).remarks
    assert any(one.startswith('the numbers of nodes per feature in the constraint "[a*2&b*1]"') for one in remarks)
    assert not any("nodes per feature" in one for one in interpret(cluster).remarks)


def test_plans_that_gas_does_not_reproduce_are_made_anew_unless_it_cannot_model_them():
    """Seen with OverSubscribe=FORCE:2 on 22.05 and 24.11: Slurm's own plans predict more starts than new ones."""
    late = [planned(at, "n0", start=NOW + 3600 * at) for at in (1, 2, 3)]
    made = machine(running(9, "n0", end=NOW + 300), *late, nodes=1)
    found = interpret(made)
    assert [one.start - NOW for one in found.forecast.plans] == [300, 900, 1500]
    assert any("plans all waiting jobs anew" in one for one in found.remarks)
    shared = interpret(replace(made, partitions=(replace(made.partitions[0], sharing=2),)))
    assert [one.start - NOW for one in shared.forecast.plans] == [3600, 7200, 10800]
    assert "of 3 plans of Slurm, Gas reproduces 0: starts are less certain here" in shared.remarks
