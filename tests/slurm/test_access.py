"""Who may use a partition, and what it allows: for ever, or rejected at submission, by EnforcePartLimits."""

from dataclasses import replace

import pytest
from slurm_standing import MAIN, a_cluster, an_accounting, job, licence, running

from gas.slurm.cluster import Tasks
from gas.slurm.limits import limits


def said(cluster, asked, **how):
    found = limits(cluster, asked, cluster.partitions[0], **how)
    return found.outcome, found.reason


NO_NODES = "Requested node configuration is not available"


@pytest.mark.parametrize(
    ("partition", "asked", "waits", "refusal"),
    [
        ({"longest": 1800}, {}, "PartitionTimeLimit", "Requested time limit is invalid"),
        ({"most_nodes": 2}, {"least_nodes": 3, "cpus": 3}, "PartitionNodeLimit", "Node count specification invalid"),
        ({"allowed_accounts": ("chem",)}, {}, "PartitionConfig", "Invalid account"),
        ({"denied_accounts": ("lab",)}, {}, "PartitionConfig", "Invalid account"),
        ({"allowed_qos": ("high",)}, {}, "Job's QOS not permitted to use this partition", "Invalid qos specification"),
        ({"denied_qos": ("normal",)}, {}, "Job's QOS not permitted to use this partition", "Invalid qos specification"),
        ({"most_memory_per_node": 500}, {"memory_per_node": 600}, "MaxMemPerLimit", "Memory required by task"),
    ],
)
def test_what_a_partition_does_not_allow_waits_for_ever_or_is_rejected(partition, asked, waits, refusal):
    partitions = [replace(MAIN, **partition)]
    wanted = job(**{"cpus": 1, **asked})
    assert said(a_cluster(partitions=partitions), wanted) == ("never", waits)
    for enforced in ("ANY", "ALL"):
        outcome, reason = said(a_cluster(partitions=partitions, partition_limits=enforced), wanted)
        assert outcome == "rejected"
        assert reason.startswith(refusal)


@pytest.mark.parametrize(
    ("partition", "asked"),
    [
        ({}, {"cpus": 41}),
        ({}, {"cpus": 11, "least_nodes": 11}),
        ({}, {"cpus": 5, "cpus_per_task": 5}),
        ({}, {"cpus": 1, "memory_per_node": 2000}),
        ({}, {"cpus": 5, "most_nodes": 1}),
        ({}, {"cpus": 2, "threads_per_core": 2}),
        ({"most_cpus": 2}, {"cpus": 21}),
        ({"most_cpus": 2}, {"cpus": 1, "exclusive": True}),
        ({"most_cpus": 3, "most_nodes": 2}, {"cpus": 7}),
    ],
)
def test_what_no_nodes_have_is_rejected(partition, asked):
    assert said(a_cluster(partitions=[replace(MAIN, **partition)]), job(**asked)) == ("rejected", NO_NODES)


def test_a_node_is_named_in_the_singular():
    (one,) = limits(a_cluster(), job(cpus=5, most_nodes=1), MAIN).bindings
    assert one.words == 'partition "main" has 4 CPUs on 1 node, and 5 are requested'


@pytest.mark.parametrize(
    ("flag", "partition", "asked"),
    [
        ("PartitionTimeLimit", {"longest": 1800}, {"cpus": 1}),
        ("PartitionMaxNodes", {"most_nodes": 2}, {"cpus": 3, "least_nodes": 3}),
    ],
)
def test_flags_of_a_qos_lift_limits_of_partitions(flag, partition, asked):
    accounting = an_accounting()
    normal = replace(accounting.qos["normal"], flags=frozenset({flag.lower()}))
    lifted = replace(accounting, qos={**accounting.qos, "normal": normal})
    partitions = [replace(MAIN, **partition)]
    assert said(a_cluster(accounting, partitions=partitions), job(**asked))[0] == "never"
    assert said(a_cluster(lifted, partitions=partitions), job(**asked)) == ("free", "")


def test_a_partition_for_groups():
    partitions = [replace(MAIN, allowed_groups=("staff",))]
    assert said(a_cluster(partitions=partitions), job(), groups=frozenset({"staff"})) == ("free", "")
    assert said(a_cluster(partitions=partitions), job(), groups=frozenset({"me"}))[0] == "never"
    early = a_cluster(partitions=partitions, version="22.05.8")
    assert said(early, job(), groups=frozenset({"me"}))[0] == "rejected"
    unknown = limits(a_cluster(partitions=partitions), job(), partitions[0])
    assert unknown.unknown == ('whether you are in a group to which partition "main" is open (staff)',)


@pytest.mark.parametrize(
    ("key", "asked", "outcome"),
    [
        ("RootOnly", {}, "rejected"), ("RootOnly", {"reservation": "r"}, "rejected"), ("ReqResv", {}, "rejected"),
        ("ReqResv", {"reservation": "r"}, "free"),
    ],
)  # fmt: skip
def test_a_partition_that_denies_access(key, asked, outcome):
    """Seen on 22.05, 24.11 and 26.05."""
    there = a_cluster(partitions=[replace(MAIN, closed_by=(f"{key}=YES",))])
    found = said(there, job(**asked))
    assert found == (outcome, "Access/permission denied" if outcome == "rejected" else "")


def test_hosts_from_which_a_partition_accepts_jobs_are_named():
    there = replace(MAIN, closed_by=("AllocNodes=login[1-2]",))
    found = limits(a_cluster(partitions=[there]), job(), there)
    assert found.unknown == ('whether partition "main" accepts jobs from this host (AllocNodes=login[1-2])',)


def test_a_task_number_beyond_the_largest_is_rejected():
    """Seen on 22.05, 24.11 and 26.05 with MaxArraySize=1001."""
    made = a_cluster(most_tasks=1001)
    assert said(made, job(tasks=Tasks((range(5), range(1000, 1001))))) == ("free", "")
    assert said(made, job(tasks=Tasks((range(0, 1002, 8),)))) == ("free", "")
    asked = job(tasks=Tasks((range(1002),)))
    assert said(made, asked) == ("rejected", "Invalid job array specification")


@pytest.mark.parametrize("option", [{"reboot": True}, {"nice": -10}])
def test_options_for_operators_are_doubted(option):
    """Seen on 22.05, 24.11 and 26.05: sbatch refuses them to an ordinary user."""
    (words,) = limits(a_cluster(), job(**option), MAIN).unknown
    assert words.endswith("sbatch refuses it to ordinary users")
    assert not limits(a_cluster(), job(nice=10), MAIN).unknown


def test_states_of_a_partition():
    assert said(a_cluster(partitions=[replace(MAIN, state="DOWN")]), job()) == ("waits", "PartitionDown")
    assert said(a_cluster(partitions=[replace(MAIN, state="DRAIN")]), job())[0] == "rejected"


def test_an_account_or_a_qos_that_one_may_not_use_is_rejected():
    outcome, reason = said(a_cluster(), job(), account="chem")
    assert (outcome, reason.split(" or ")[0]) == ("rejected", "Invalid account")
    assert said(a_cluster(), job(), qos="none") == ("rejected", "Invalid qos specification")
    free = frozenset({"limits"})  # without qos any that there is may be named
    accounting = an_accounting()
    other = replace(accounting.qos["high"], name="other")
    accounting = replace(accounting, qos={**accounting.qos, "other": other})
    assert said(a_cluster(accounting), job(), qos="other") == ("rejected", "Invalid qos specification")
    assert said(a_cluster(accounting, enforced=free), job(), qos="other") == ("free", "")


def test_licences_wait_for_those_who_have_them_and_never_for_more_than_there_are():
    jobs = [running(1, 1, 600, licences={"lic": 2}), running(2, 1, 1200, licences={"lic": 2})]
    cluster = a_cluster(jobs=jobs, licences=[licence(5, 4)])
    assert said(cluster, job(licences={"lic": 1})) == ("free", "")
    found = limits(cluster, job(licences={"lic": 4}), MAIN)
    assert (found.outcome, found.reason, found.release) == ("waits", "Licenses", cluster.now + 1200)
    assert said(cluster, job(licences={"lic": 6})) == ("rejected", "Invalid license specification")
    assert said(cluster, job(licences={"other": 1})) == ("rejected", "Invalid license specification")
    hidden = limits(replace(cluster, licences=None), job(licences={"lic": 1}), MAIN)
    assert hidden.unknown == ("how many licences there are (not published)",)


def test_fewer_tasks_than_a_partition_wants_nodes_are_rejected_since_26_05():
    partitions = [replace(MAIN, least_nodes=2)]
    assert said(a_cluster(partitions=partitions), job(1)) == ("free", "")
    assert said(a_cluster(partitions=partitions, version="26.05.5"), job(1))[0] == "rejected"


@pytest.mark.parametrize(
    ("asked", "enforced", "version", "outcome"),
    [
        ({}, "NO", "24.11.5", "free"), ({}, "ANY", "24.11.5", "rejected"), ({}, "ALL", "26.05.5", "rejected"),
        ({}, "ANY", "22.05.8", "free"), ({"most_nodes": 3}, "ANY", "22.05.8", "rejected"),
        ({"most_nodes": 3}, "NO", "24.11.5", "free"), ({"least_nodes": 2, "most_nodes": 2}, "ANY", "24.11.5", "free"),
        ({"tasks_asked": 5, "tasks_per_node": 4}, "ANY", "26.05.5", "free"),
    ],
)  # fmt: skip
def test_enforced_least_nodes_of_a_partition_count_for_what_is_asked(asked, enforced, version, outcome):
    """Seen on the three releases: -n 5 in a partition of MinNodes=2 gets two nodes, or is refused."""
    there = a_cluster(partitions=[replace(MAIN, least_nodes=2)], partition_limits=enforced, version=version)
    assert said(there, job(5, **asked))[0] == outcome


def test_a_qos_may_want_a_fair_share():
    accounting = an_accounting()
    normal = replace(accounting.qos["normal"], flags=frozenset({"enforceusagethreshold"}), usage_threshold=0.3)
    accounting = replace(accounting, qos={**accounting.qos, "normal": normal})

    def with_share(share):
        associations = [replace(one, fair_share=share) if one.user == "me" else one for one in accounting.associations]
        return a_cluster(replace(accounting, associations=tuple(associations)))

    assert said(with_share(0.5), job()) == ("free", "")
    assert said(with_share(0.2), job()) == ("waits", "QOSUsageThreshold")
    assert limits(with_share(None), job(), MAIN).unknown


def test_22_05_looks_for_no_nodes_of_a_job_that_its_partition_does_not_allow():
    partitions = [replace(MAIN, longest=1800, most_cpus=2)]
    assert said(a_cluster(partitions=partitions), job(1, exclusive=True)) == ("rejected", NO_NODES)
    early = a_cluster(partitions=partitions, version="22.05.8")
    assert said(early, job(1, exclusive=True)) == ("never", "PartitionTimeLimit")
    closed = a_cluster(partitions=[replace(MAIN, allowed_accounts=("chem",))], version="22.05.8")
    assert said(closed, job()) == ("never", "Job's account not permitted to use this partition")


def test_all_memory_of_a_node_is_compared_as_that_of_the_first():
    """Seen on 22.05, 24.11 and 26.05: with MaxMemPerNode=3000 --mem=0 waits for ever if the first node has 4,000 MB."""
    partition = replace(MAIN, most_memory_per_node=3000)
    for sizes, outcome in (((4000, 2400), "never"), ((2400, 8000), "free")):
        made = a_cluster(partitions=[partition])
        memory = {name: sizes[min(place, 1)] for place, name in enumerate(partition.nodes)}
        made = replace(made, nodes=tuple(replace(one, memory=memory.get(one.name, 1)) for one in made.nodes))
        assert said(made, job(cpus=1, memory_per_node=0))[0] == outcome
