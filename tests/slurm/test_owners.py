"""Jobs that share nodes only with jobs of their user, beside others: as planned by Slurm 22.05, 24.11 and 26.05."""

from dataclasses import replace

import numpy as np
import pytest
from made_clusters import MIDDLE, NEW, NOW, OLD, cluster, job, places, planned, plans, running

from gas.slurm.beginning import Beginning
from gas.slurm.cluster import Partition
from gas.slurm.forward import Forward
from gas.slurm.sampler import Sampler

NODES = tuple(f"n{n}" for n in range(5))
PARTITIONS = (Partition("p", NODES), Partition("mine", NODES, shared_with="user"))


def there(id, user, node, cpus, end, partition="mine", **fields):
    return running(id, node, end=end, user=user, cpus=cpus, cpus_on={node: cpus}, partitions=(partition,), **fields)


def waits(id, user, cpus, minutes, partition="mine", **fields):
    return job(id, cpus, minutes, user=user, partitions=(partition,), **fields)


BEGUN = (
    there(1, "news", "n0", 3, 3590), there(2, "uucp", "n1", 2, 5990), there(3, "news", "n2", 2, 1790),
    there(4, "lp", "n3", 3, 2390, "p"), there(5, "games", "n4", 1, 2990),
)  # fmt: skip
ASKED = (
    waits(6, "games", 9, 20), waits(7, "irc", 1, 10, "p", shared_with="user"), waits(8, "irc", 4, 30, "p"),
    waits(9, "news", 3, 70), waits(10, "games", 14, 25, "p"), waits(11, "list", 2, 15),
)  # fmt: skip


@pytest.mark.parametrize("version", [MIDDLE, NEW])
def test_from_24_11_on_nodes_are_kept_from_others_until_the_last_job_on_them_ends(version):
    made = cluster(*BEGUN, *ASKED, nodes=5, partitions=PARTITIONS, version=version)
    assert plans(made) == [
        (6, 2390, [2, 3, 4]), (7, 3600, [0]), (8, 3600, [2]), (9, 4200, [0]), (10, 8400, [0, 1, 2, 3]), (11, 5400, [2]),
    ]  # fmt: skip


@pytest.mark.parametrize("version", [MIDDLE, NEW])
def test_a_node_is_kept_until_the_last_job_on_it_ends_whoever_that_is(version):
    """Seen on 24.11 and 26.05: an ordinary job of the same user goes on longer than the one that keeps others out."""
    both = there(1, "me", "n0", 1, 590), there(2, "me", "n0", 1, 1190, "p")
    made = cluster(*both, nodes=1, partitions=(Partition("p", ("n0",)), Partition("mine", ("n0",), shared_with="user")))
    made = replace(made, version=version)
    assert planned(made, job(cpus=1, user="you")) == (1190, [0])
    assert planned(made, job(cpus=1, user="me")) == (0, [0])


@pytest.mark.parametrize("version", [MIDDLE, NEW])
def test_when_too_few_nodes_are_left_the_next_start_is_that_of_the_first_that_is_free_again(version):
    """Else it is as ever: job 113 is tried when the plan of job 111 ends (seen on 24.11 and 26.05)."""
    names = tuple(f"n{n}" for n in range(9))
    begun = (
        there(4, "news", "n0", 1, 1730), there(6, "uucp", "n1", 4, 5510), there(60, "uucp", "n2", 3, 5510),
        there(8, "uucp", "n3", 4, 6650, "p"), there(80, "uucp", "n2", 1, 6650, "p"), there(9, "games", "n4", 3, 2270),
        there(14, "lp", "n5", 4, 1070), there(1, "lp", "n6", 4, 1070), there(17, "irc", "n7", 1, 3170),
        there(7, "uucp", "n8", 3, 3590, "p"),
    )  # fmt: skip
    asked = (
        waits(110, "uucp", 21, 119), waits(111, "lp", 27, 90), waits(112, "uucp", 1, 110), waits(113, "lp", 1, 98),
        waits(115, "list", 1, 20),
    )  # fmt: skip
    partitions = (Partition("p", names), Partition("mine", names[:8], shared_with="user"))
    made = cluster(*begun, *asked, nodes=9, partitions=partitions, version=version)
    assert plans(made) == [
        (110, 5510, [0, 1, 4, 5, 6, 7]), (111, 12660, [0, 1, 2, 3, 4, 5, 6]), (112, 5510, [2]), (113, 18060, [0]),
        (115, 1070, [5]),
    ]  # fmt: skip


def test_before_they_are_kept_from_them_for_the_whole_cycle():
    made = cluster(*BEGUN, *ASKED, nodes=5, partitions=PARTITIONS, version=OLD)
    assert plans(made) == [(8, 2390, [3]), (9, 0, [0, 2])]
    assert plans(made, beyond=True)[2:] != []  # which comes to an end some day


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_a_job_starts_beside_those_of_its_user_and_keeps_out_others_from_then_on(version):
    beside = cluster(there(1, "me", "n0", 1, 600), nodes=2, version=version)
    made = replace(beside, partitions=(replace(PARTITIONS[0], nodes=("n0", "n1")),))
    for user, sharing, nodes in (("me", "user", [0]), ("me", "", [0]), ("you", "user", [1]), ("you", "", [0])):
        assert places(made, cpus=1, user=user, shared_with=sharing) == nodes
    first = waits(2, "me", 1, 10, "p", shared_with="user")
    assert planned(replace(made, jobs=(*made.jobs, first)), job(cpus=3, user="you")) == (0, [1])


@pytest.mark.parametrize("version", [OLD, MIDDLE, NEW])
def test_when_jobs_end_their_nodes_are_open_to_others(version):
    made = cluster(*BEGUN, *ASKED, nodes=5, partitions=PARTITIONS, version=version)
    choosy = {one.id for one in made.jobs if one.shared_with or one.partitions == ("mine",)}
    users = {one.id: one.user for one in made.jobs}
    seconds = {id: 120 * id for id in users}
    begin = Beginning.of(made)
    starts = Forward(begin, seconds).run(NOW + 90_000).starts
    assert sorted(one.job for one in starts) == [6, 7, 8, 9, 10, 11]
    for one in starts:
        for other in starts:
            if set(one.nodes) & set(other.nodes) and one.start <= other.start < one.end:
                assert users[one.job] == users[other.job] or not {one.job, other.job} & choosy
    sampler = Sampler(begin)
    took = np.array([seconds[one.id] for one in begin.waiting.jobs])
    ends = sampler.ends(np.array([seconds[one.id] for one in begin.state.running_jobs]))
    begun = sampler.run(sampler.room(), ends, took, np.arange(len(took)), np.zeros(0, np.int64), NOW + 90_000)
    assert dict(zip((one.id for one in begin.waiting.jobs), begun.tolist(), strict=True)) == {
        one.job: one.start for one in starts
    }
