"""What makes jobs start at other times than planned, as far as Gas knows it; most of it in `test_interpretation`."""

from dataclasses import replace

import pytest
from made_clusters import MIDDLE, NOW, OLD, cluster, job

from gas.endpoints.slurm.caveats import caveats
from gas.slurm.cluster import Partition, Reservation, Scheduling
from gas.slurm.settings import Settings

STOPS = Scheduling(parameters={"assoc_limit_stop": ""})
HELD = (job(2, reason="QOSGrpCpuLimit"),)


def said(*jobs, **fields):
    made = cluster(*jobs, **{"settings": Settings(values={"TopologyPlugin": "topology/default"})} | fields)
    return list(caveats(made, made.partitions[0]))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"settings": Settings(values={"SchedulerType": "sched/builtin"})}, "SchedulerType=sched/builtin"),
        ({"scheduling": Scheduling(parameters={"bf_interval": "-1"})}, "bf_interval=-1"),
    ],
)
def test_without_backfill_no_job_overtakes_others(fields, why):
    """Seen on 24.11: a job that fits now waits behind one that does not."""
    found = [one for one in said(**fields) if "backfill" in one]
    assert [one.partition(")")[0] for one in found] == [f"Slurm does not backfill here ({why}"]
    assert not said(scheduling=Scheduling(parameters={"bf_interval": "30"}))


def test_jobs_beyond_a_limit_are_planned_as_if_it_were_gone_in_minutes():
    """Seen on 22.05 with assoc_limit_stop: start is 500 s from now."""
    (found,) = said(*HELD, scheduling=STOPS)
    assert "as if they start in some minutes (assoc_limit_stop)" in found
    assert not said(*HELD)
    assert not said(job(2, reason="Priority"), scheduling=STOPS)


def test_jobs_that_share_cpus_in_a_partition_change_the_plans_of_those_with_the_same_nodes():
    """Seen on 22.05 with OverSubscribe=FORCE:2: none of 12 plans of the other partition was reproduced."""
    own, other = Partition("p", ("n0", "n1")), Partition("q", ("n1",), sharing=2)
    (found,) = said(partitions=(own, other))
    assert found == (
        'in partition "q" up to 2 jobs may share a CPU (OverSubscribe), which Gas ignores: jobs may start at other '
        "times than shown"
    )
    assert not said(partitions=(replace(own, nodes=("n0",)), other))


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"settings": {"MCSPlugin": "mcs/account", "MCSParameters": "enforced,select"}}, "MCSPlugin=account"),
        ({"settings": {"MCSPlugin": "mcs/account", "MCSParameters": "ondemand,noselect"}}, ""),
        ({"settings": {"MCSPlugin": "mcs/none", "MCSParameters": "(null)"}}, ""),
        ({"settings": {"BurstBufferType": "burst_buffer/lua"}}, "BurstBufferType=lua"),
        ({"settings": {"BurstBufferType": "(null)"}}, ""),
        ({"jobs": (job((3 << 26) + 1),)}, "federation"), ({"jobs": (job(9),)}, ""),
        ({"reset": "MONTHLY"}, "PriorityUsageResetPeriod=MONTHLY"), ({"reset": "NONE"}, ""),
        ({"scheduling": Scheduling(parameters={"max_rpc_cnt": "150"})}, "max_rpc_cnt"),
        ({"scheduling": Scheduling(parameters={"max_rpc_cnt": "0"})}, ""),
    ],
)  # fmt: skip
def test_settings_that_are_not_modelled_are_named(fields, name):
    values = {"TopologyPlugin": "topology/default"} | fields.pop("settings", {})
    settings = Settings(values=values, usage_reset=fields.pop("reset", None))
    found = said(*fields.pop("jobs", ()), settings=settings, **fields)
    assert [name in one for one in found] == ([True] if name else [])


@pytest.mark.parametrize(("version", "flags", "told"), [(OLD, ("FLEX",), 1), (OLD, (), 0), (MIDDLE, ("FLEX",), 0)])
def test_flexible_reservations_are_uncertain_on_22_05(version, flags, told):
    kept = Reservation("r", NOW, NOW + 60, ("n0",), flags)
    assert sum("(FLEX)" in one for one in said(version=version, reservations=(kept,))) == told


@pytest.mark.parametrize(("mode", "jobs", "told"), [("REQUEUE,WITHIN", 1, 1), ("REQUEUE", 1, 0), ("WITHIN", 0, 0)])
def test_preemption_within_a_qos_is_uncertain(mode, jobs, told):
    values = {"TopologyPlugin": "topology/default"}
    settings = Settings(preempt_type="qos", preempt_mode=mode, values=values)
    found = said(*(job(at + 1, qos="normal") for at in range(jobs)), settings=settings)
    assert sum("PreemptMode=WITHIN" in one for one in found) == told
