"""What Slurm 22.05, 24.11 and 26.05 answered of the same queue with GPUs, memory, features and licences.

Eight nodes of 8 CPUs: n01 to n04 with two threads a core and 4000 MB, n05 and n06 with four A100, n07 with two A100 and
two V100, n08 with four GPUs without a type; of n05 and n06 100 MB are the system's. An ordinary user asked, who has no
job there. Names and comments of two jobs look like records, columns and keys.
"""

import json
from dataclasses import fields

import pytest
from slurm_answers import recorded

from gas.endpoints.slurm import json_answers
from gas.endpoints.slurm.command_line import detailed, read_cluster
from gas.endpoints.slurm.interpretation import interpret
from gas.slurm.cluster import Gres, Licence

VERSIONS = ["v22.05", "v24.11", "v26.05"]
SPOKEN = {"v22.05": ["v0.0.38"], "v24.11": ["v0.0.42"], "v26.05": ["v0.0.44", "v0.0.45"]}
A100, V100 = Gres("gpu", "a100"), Gres("gpu", "v100")


def by_commands(version):
    said = recorded(f"{version}-gpus")
    return detailed(read_cluster(said, name="x", mark="mark"), said["details"])


def by_rest(version):
    return json_answers.read_cluster(recorded(f"{version}-gpus"), name="x")


def gpus(count, type=""):
    return Gres("gpu", type, count)


@pytest.fixture(params=VERSIONS)
def cluster(request):
    return by_commands(request.param)


@pytest.fixture
def jobs(cluster):
    """Return the jobs by name; of arrays the tasks that wait."""
    return {job.name.partition("\n")[0]: job for job in sorted(cluster.jobs, key=lambda job: job.pending)}


def test_everything_is_read_of_names_and_comments_that_look_like_records(cluster, jobs):
    assert not [caution for caution in cluster.cautions if "read" in caution]
    assert jobs["evil"].name.startswith("evil\nJobId=5 JobName=x UserId=u1(2001) TresPerNode=gres:gpu:9 a\x1fb\x1ec")
    assert jobs["evil"].gres_per_node == ()
    assert jobs["beg"].comment.startswith("a=b JobId=3 x\nJobId=4 JobName=evil")
    assert jobs["beg"].required_nodes == ("n03", "n04")


def test_nodes_have_what_jobs_can_have_of_them(cluster):
    nodes = {node.name: node for node in cluster.nodes}
    assert {nodes[f"n{k:02}"].memory for k in (1, 5, 7)} == {4000, 7900, 8000}
    assert (nodes["n01"].sockets, nodes["n01"].cores, nodes["n01"].threads) == (2, 2, 2)
    assert (nodes["n05"].sockets, nodes["n05"].cores, nodes["n05"].threads) == (8, 1, 1)
    assert nodes["n01"].features == {"intel", "ib"}
    assert nodes["n08"].features == {"amd", "gpu", "old"}
    assert (nodes["n01"].weight, nodes["n08"].weight) == (1, 10)
    assert nodes["n01"].gres == ()
    assert nodes["n05"].gres == (gpus(4, "a100"),)
    assert nodes["n07"].gres == (gpus(2, "a100"), gpus(2, "v100"))
    assert nodes["n08"].gres == (gpus(4),)


def test_what_is_used_of_a_node_is_what_its_jobs_have(cluster):
    for node in cluster.nodes:
        its = [job for job in cluster.jobs if node.name in job.nodes and job.state == "RUNNING"]
        assert sum(job.cpus_on[node.name] for job in its) == node.allocated, node.name
        assert sum(job.memory_on[node.name] for job in its if job.memory_on) == node.memory_allocated, node.name
        had = [one for job in its for one in (job.gres_on or {}).get(node.name, ())]
        used = {one.type: one.count for one in node.gres_used}
        assert {kind: sum(one.count for one in had if one.type == kind) for kind in used} == used, node.name


def test_gpus_are_asked_for_in_each_way(jobs):
    assert jobs["g1"].gres_per_node == (gpus(2, "a100"),)
    assert jobs["g2"].gres_per_job == (gpus(4),)
    assert jobs["g3"].gres_per_task == (gpus(1),)
    assert jobs["g4"].gres_per_task == (V100,)
    assert jobs["g6"].gres_per_socket == (gpus(1),)
    assert jobs["two"].gres_per_node == (A100, V100)
    assert jobs["arr"].gres_per_job == (gpus(1),)
    assert jobs["multi"].gres_per_job == jobs["multi"].gres_per_node == jobs["multi"].gres_per_task == ()


def test_running_jobs_have_gpus_and_memory_of_each_node(jobs):
    assert jobs["g2"].gres_on == {"n05": (gpus(3, "a100"),), "n06": (gpus(1, "a100"),)}
    assert jobs["g2"].memory_on == {"n05": 1000, "n06": 1000}
    assert jobs["g2"].cpus_on == {"n05": 6, "n06": 2}
    assert jobs["multi"].memory_on == {"n01": 800, "n02": 200}


def test_memory_is_asked_for_in_each_way(jobs):
    def asked(name):
        return jobs[name].memory_per_node, jobs[name].memory_per_cpu, jobs[name].memory_per_gpu

    assert asked("g2") == (1000, None, None)
    assert asked("g3") == (None, 300, None)
    assert asked("g4") == (None, None, 500)
    assert asked("ex") == (0, None, None)
    assert asked("multi") == (None, 100, None)  # the default of its partition


def test_accounts_qualities_features_and_licences(cluster, jobs):
    assert (jobs["g2"].account, jobs["g2"].qos) == ("a2", "high")
    assert jobs["multi"].features == "intel&ib"
    assert jobs["odd"].features == "[intel*1&amd*1]"
    assert jobs["multi"].licences == {"matlab": 3}
    assert jobs["range"].licences == {"matlab": 8, "abaqus@srv": 1}
    assert set(cluster.licences) == {Licence("matlab", 10, 3), Licence("abaqus@srv", 4)}


def test_licences_that_are_listed_once_for_each_group_of_nodes_count_together(jobs):
    """As Slurm 25.05 and later list a hierarchical resource: jobs have one of its name, whichever the group."""
    said, rest = recorded("v26.05-gpus"), recorded("v0.0.45-gpus")
    line = "LicenseName=matlab Total=2 Used=1 Free=1 Reserved=1 Remote=no Nodes=n[01-02]\n"
    listed = json.loads(rest["licenses"])
    listed["licenses"].append({"LicenseName": "matlab", "Total": 2, "Used": 1, "Free": 1, "Reserved": 1})
    answers = {**said, "licences": said["licences"] + line}
    found = [
        detailed(read_cluster(answers, name="x", mark="mark"), said["details"]),
        json_answers.read_cluster({**rest, "licenses": json.dumps(listed)}, name="x"),
    ]
    for one in found:
        assert set(one.licences) == {Licence("matlab", 12, 4, 1), Licence("abaqus@srv", 4)}
        assert [said for said in one.cautions if "licences" in said] == [
            'licences "matlab" are counted by groups of nodes: jobs that request some may start later than shown'
        ]
        assert interpret(one).availability.outlook(4, 1200).expected is not None


def test_tasks_and_their_cpus(jobs):
    assert (jobs["g2"].tasks_asked, jobs["g2"].cpus_per_task) == (4, 2)
    assert (jobs["nper"].tasks_per_node, jobs["nper"].contiguous, jobs["nper"].shortest) == (2, True, 1800)
    assert jobs["tpc"].threads_per_core == 1
    assert jobs["g1"].threads_per_core is None
    assert (jobs["arr"].tasks.at_once, jobs["dep"].excluded_nodes) == (3, ("n01", "n02"))


def test_who_has_nodes_alone(jobs):
    assert [name for name, job in jobs.items() if job.exclusive and job.state != "FAILED"] in (
        ["ex", "exg"], ["exg", "ex"], ["ex", "exg", "pref"], ["exg", "ex", "pref"], ["ex", "pref", "exg"],
    )  # fmt: skip
    assert {name: job.shared_with for name, job in jobs.items() if job.shared_with} == {"exu": "user"}


def test_parts_of_a_heterogeneous_job_name_the_first(cluster):
    parts = [job for job in cluster.jobs if job.name == "het"]
    assert len(parts) == 2
    assert {job.leader for job in parts} == {min(job.id for job in parts)}


def test_partitions_have_their_memory_weights_and_who_may_use_them(cluster):
    found = {one.name: one for one in cluster.partitions}
    main, gpu, whole = found["main"], found["gpu"], found["whole"]
    assert (main.memory_per_cpu, main.memory_per_node, main.most_memory_per_node) == (100, None, 7900)
    assert (gpu.memory_per_cpu, gpu.memory_per_node, gpu.most_memory_per_cpu) == (None, 500, 900)
    assert (gpu.tier, gpu.job_factor, gpu.allowed_accounts, gpu.denied_qos) == (5, 10, ("a1", "a2"), ("pq",))
    assert (whole.whole_nodes, whole.qos, whole.denied_accounts, whole.overtime) == (True, "pq", ("a2",), 300)
    assert whole.allowed_qos == ("high", "normal")
    assert (main.whole_nodes, main.allowed_accounts, main.allowed_groups, main.overtime) == (False, None, None, None)
    assert main.billing_weights == {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 2.0}
    assert main.tres["gres/gpu:a100"] == 10
    assert main.tres["mem"] == 48000


TIMES = {"start", "end", "planned_nodes", "reason", "stdout", "stderr", "priority", "cpus", "name"}


@pytest.mark.parametrize(("version", "spoken"), [(one, spoken) for one in VERSIONS for spoken in SPOKEN[one]])
def test_slurmrestd_says_the_same_of_the_same_jobs_nodes_and_partitions(version, spoken):
    one, other = by_commands(version), by_rest(spoken)
    early, late = spoken == "v0.0.38", spoken == "v0.0.45"
    not_said = {"partitions": {"preempt_mode", "default"} | ({"whole_nodes"} if early else set())}
    not_said["jobs"] = TIMES | {"priority_in", "tasks_stated"} | ({"exclusive", "shared_with"} if late else set())
    not_said["nodes"] = {"memory"} if early else set()
    for kind in ("nodes", "partitions", "jobs"):
        key = "id" if kind == "jobs" else "name"
        theirs = {getattr(entry, key): entry for entry in getattr(other, kind)}
        compared = [entry for entry in getattr(one, kind) if getattr(entry, key) in theirs]
        assert len(compared) > 1
        for entry in compared:
            match = theirs[getattr(entry, key)]
            if kind == "jobs" and entry.state != match.state:
                continue  # it has started in between
            differing = {
                each.name: (getattr(entry, each.name), getattr(match, each.name))
                for each in fields(entry)
                if getattr(entry, each.name) != getattr(match, each.name) and each.name not in not_said[kind]
            }
            assert differing == {}, (kind, getattr(entry, key))


def test_only_a_slurmrestd_from_24_11_on_says_whether_tasks_were_stated():
    for spoken, stated in {"v0.0.38": {None}, "v0.0.42": {True, False}, "v0.0.45": {True, False}}.items():
        assert {one.tasks_stated for one in by_rest(spoken).jobs} == stated


def test_what_a_slurmrestd_does_not_publish_is_said():
    cautions = {spoken: " ".join(by_rest(spoken).cautions) for one in VERSIONS for spoken in SPOKEN[one]}
    assert "which partitions allocate whole nodes" in cautions["v0.0.38"]
    assert "which waiting jobs request whole nodes" in cautions["v0.0.45"]
    assert "which waiting jobs request whole nodes" not in cautions["v0.0.44"]
    assert [spoken for spoken, said in cautions.items() if "SchedulerParameters" not in said] == ["v0.0.45"]


def test_the_configuration_of_26_05_is_what_scontrol_says():
    assert by_rest("v0.0.45").scheduling == by_commands("v26.05").scheduling
    assert by_rest("v0.0.45").others_visible is True
