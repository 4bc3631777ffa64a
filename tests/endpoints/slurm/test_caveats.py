"""What makes jobs start at other times than planned, as far as Gas knows it; most of it in `test_interpretation`."""

import pytest
from made_clusters import cluster, job

from gas.endpoints.slurm.caveats import caveats
from gas.slurm.cluster import Scheduling
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
