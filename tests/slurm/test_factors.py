"""What the priority of a job depends on, factor by factor."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, a_cluster, an_accounting, job

from gas.slurm.accounting import Qos
from gas.slurm.cluster import Gres
from gas.slurm.priority import own_priority
from gas.slurm.settings import FACTORS


def weights(**given):
    return dict.fromkeys(FACTORS, 0) | {key.replace("_", " "): value for key, value in given.items()}


def priority(asked, weighted, partitions=(MAIN,), accounting=None, **changes):
    cluster = a_cluster(accounting, partitions=partitions, weights=weighted, **changes)
    return own_priority(cluster, asked, partitions[0])


def test_large_jobs_are_favoured_by_the_nodes_and_cpus_that_they_ask_for():
    # 10 nodes of 4 CPUs; without -N a job counts as one of one node, whatever it needs
    assert priority(job(5), weights(size=1000)).value == int(1000 * (1 / 10 + 5 / 40) / 2)
    assert priority(job(5, least_nodes=2), weights(size=1000)).value == int(1000 * (2 / 10 + 5 / 40) / 2)


def test_or_small_ones():
    expected = int(1000 * (9 / 10 + 35 / 40) / 2)
    assert priority(job(5), weights(size=1000), favour_small=True).value == expected


def test_or_those_that_are_large_for_their_time():
    flags = frozenset({"SMALL_RELATIVE_TO_TIME"})
    expected = int(100_000 * 5 / 30 / 40)
    assert priority(job(5, minutes=30), weights(size=100_000), priority_flags=flags).value == expected
    small = priority(job(5, minutes=30), weights(size=100_000), priority_flags=flags, favour_small=True)
    assert small.value == int(100_000 * (1 - 5 / 30 / 40))


def test_whole_nodes_count_from_the_first_attempt_on():
    found = priority(job(6, exclusive=True), weights(size=1000))
    assert found.value == int(1000 * (1 / 10 + 6 / 40) / 2)
    assert found.later == int(1000 * (1 / 10 + 8 / 40) / 2)


def test_partitions_and_qos_count_by_the_largest():
    other = replace(MAIN, name="other", job_factor=50)
    assert priority(job(), weights(partition=1000), partitions=(MAIN, other)).value == 400
    qos = {"normal": Qos("normal", 30), "high": Qos("high", 120)}
    accounting = replace(an_accounting(), qos=qos)
    assert priority(job(), weights(QOS=1000), accounting=accounting).value == 250
    assert priority(job(qos="high"), weights(QOS=1000), accounting=accounting).value == 1000


def test_fair_share_is_read():
    accounting = an_accounting()
    own = [replace(one, fair_share=0.5) if one.user == "me" else one for one in accounting.associations]
    found = priority(job(), weights(fair_share=1000), accounting=replace(accounting, associations=tuple(own)))
    assert (found.value, found.sure) == (500, True)


def test_resources_count_by_what_the_partition_has():
    tres = {"cpu": 700.0, "mem": 300.0}
    found = priority(job(4), weights(), tres_weights=tres)
    assert found.value == int(700 * 4 / 40 + 300 * 4 * 50 / 10_000)
    assert [part.name for part in found.parts] == ["cpu", "mem"]
    gpus = replace(MAIN, tres={"gres/gpu": 8.0})
    asked = job(2, gres_per_node=(Gres("gpu", "a100", 2),), least_nodes=2)
    assert priority(asked, weights(), partitions=(gpus,), tres_weights={"gres/gpu": 100.0}).value == 50


@pytest.mark.parametrize(
    ("asked", "memory"), [({}, 1000 * 3), ({"memory_per_node": 200}, 600), ({"memory_per_cpu": 7}, 28)]
)
def test_memory_that_is_not_asked_for_is_the_default_or_all_of_the_nodes(asked, memory):
    found = priority(job(4, least_nodes=3, **asked), weights(), tres_weights={"mem": 10_000.0}, memory_per_cpu=None)
    assert found.value == memory


def test_age_counts_up_to_its_most():
    cluster = a_cluster(weights=weights(age=1000))
    for waited, points in ((0, 1), (43_200, 500), (90_000, 1000)):
        assert own_priority(cluster, job(), MAIN, waited=waited).value == points
