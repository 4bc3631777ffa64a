"""The priority that a job would get: the sum, its parts, and what of it cannot be known."""

from dataclasses import replace

from slurm_standing import MAIN, NODES, SETTINGS, a_cluster, an_accounting, job

from gas.slurm.priority import own_priority
from gas.slurm.settings import FACTORS


def weights(**given):
    return dict.fromkeys(FACTORS, 0) | {key.replace("_", " "): value for key, value in given.items()}


def priority(asked, weighted, partitions=(MAIN,), accounting=None, **changes):
    cluster = a_cluster(accounting, partitions=partitions, weights=weighted, **changes)
    return own_priority(cluster, asked, partitions[0])


def test_basic_priority_is_the_order_of_submission():
    found = priority(job(), weights(), priority_type="basic")
    assert (found.value, found.comes_last, found.sure) == (None, True, True)


def test_of_flags_that_scontrol_does_not_tell_apart_nothing_is_sure():
    found = priority(job(), weights(partition=1000), priority_flags=frozenset({"NO_NORMAL_ALL"}))
    assert found.value == 20_000
    assert not found.sure


def test_without_it_the_priority_is_not_sure():
    found = priority(job(), weights(fair_share=1000), accounting=replace(an_accounting(), shares_complete=False))
    assert found.unknown == ("the user's fair share",)


def test_nice_is_taken_off_and_one_is_the_least():
    assert priority(job(nice=100), weights(partition=1000)).value == 900
    assert priority(job(nice=2000), weights(partition=1000)).value == 1


def test_without_accounting_neither_age_nor_fair_share_counts():
    settings = replace(SETTINGS, with_accounting=False, weights=weights(age=1000, fair_share=1000, partition=10))
    cluster = replace(a_cluster(settings=settings), accounting=None)
    found = own_priority(cluster, job(), MAIN, waited=90_000)
    assert (found.value, found.sure) == (10, True)


def test_what_the_site_adds_is_unknown():
    found = priority(job(), weights(partition=10), site_factor="site_factor/own")
    assert (found.value, found.unknown) == (10, ("the term of the site's own plug-in (site_factor/own)",))


def test_without_a_configuration_there_is_no_value():
    found = own_priority(replace(a_cluster(), settings=None), job(), MAIN)
    assert (found.value, found.sure) == (None, False)
    assert priority(job(), {"size": 10}).unknown == (
        "PriorityWeightAge and PriorityWeightAssoc and PriorityWeightFairShare and PriorityWeightPartition and "
        "PriorityWeightQOS (not published)",
    )


def test_the_cluster_has_so_many_nodes_whatever_their_state():
    down = tuple(replace(node, why_not=("DOWN",)) for node in NODES)
    cluster = replace(a_cluster(weights=weights(size=1000)), nodes=down)
    assert own_priority(cluster, job(5), MAIN).value == int(1000 * (1 / 10 + 5 / 40) / 2)
