"""What slurmrestd answers, in the forms of its versions."""

import json
from dataclasses import fields, replace

import pytest
from slurm_answers import number, recorded

from gas.endpoints.slurm.cluster import Scheduling
from gas.endpoints.slurm.json_answers import ANSWERS, read_cluster, read_jobs
from gas.errors import BadInput, Unreachable


def changed(answers, endpoint, change):
    """Return the answers with one document changed."""
    document = json.loads(answers[endpoint])
    change(document)
    return answers | {endpoint: json.dumps(document)}


def test_both_transports_say_the_same(cluster, published):
    found = read_cluster(published, name="gastest")
    assert (found.nodes, found.partitions, found.reservations) == (
        cluster.nodes,
        cluster.partitions,
        cluster.reservations,
    )
    here, there = ({job.id: job for job in one.jobs} for one in (found, cluster))
    assert here.keys() == there.keys()
    told_apart = {"planned_nodes", "reason"}  # the first is not published; of 15, squeue prints the reason in full
    for id in here:
        differing = {
            one.name for one in fields(here[id]) if getattr(here[id], one.name) != getattr(there[id], one.name)
        }
        # squeue does not say how many CPUs of each node a job has that has all of them, nor details which are cut out
        assert differing <= told_apart | {"cpus_on", "eligible", "most_nodes"}, id
    for id in (2, 4, 16):
        assert here[id].cpus_on == there[id].cpus_on


def test_what_v0_0_38_does_not_publish_is_said(published):
    (caution,) = read_cluster(published, name="x").cautions
    assert "on which nodes jobs are planned" in caution


def test_the_forms_of_v0_0_43_say_what_those_of_v0_0_38_did_and_the_planned_nodes(published, renewed_answers, cluster):
    old, new = read_cluster(published, name="x"), read_cluster(renewed_answers, name="x")
    planned = {job.id: job.planned_nodes for job in cluster.jobs}
    jobs = tuple(replace(job, planned_nodes=planned[job.id]) for job in old.jobs)
    partitions = tuple(replace(one, default=None) for one in old.partitions)  # it does not say which is the default
    assert new == replace(old, jobs=jobs, partitions=partitions, cautions=(), version="25.05.0")


@pytest.mark.parametrize("version", ["v0.0.36", "v0.0.37"])
def test_early_versions(version):
    found = read_cluster(recorded(version), name="x")
    jobs = {job.id: job for job in found.jobs}
    assert jobs[2].cpus_on == {"n05": 8, "n06": 8, "n07": 4}
    assert (jobs[2].state, jobs[2].end - jobs[2].start, jobs[2].time_limit) == ("RUNNING", 2100, 2100)
    assert (len(jobs[10].tasks), jobs[10].tasks.at_once) == (6, 2)
    assert [one.default for one in found.partitions] == [True, False]
    assert found.partitions[0].longest == 86400


def test_v0_0_37_says_which_nodes_are_drained_and_v0_0_36_says_that_it_does_not():
    later, earlier = (read_cluster(recorded(version), name="x") for version in ("v0.0.37", "v0.0.36"))
    assert [node.name for node in later.nodes if not node.usable] == ["n16"]
    assert not any("drained" in caution for caution in later.cautions)
    assert any("drained" in caution for caution in earlier.cautions)
    assert any("reservations" in caution for caution in earlier.cautions)


def test_how_it_plans_is_not_published_so_it_is_given_or_by_default(published):
    assert read_cluster(published, name="x").scheduling == Scheduling()
    assert read_cluster(published, name="x", scheduling=Scheduling(300)).scheduling.resolution == 300
    assert read_cluster(published, name="x").others_visible is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (20, 1200),
        (None, None),
        ({"set": True, "infinite": False, "number": 20}, 1200),
        ({"set": False, "infinite": True, "number": 0}, None),
        ({"set": True, "infinite": True, "number": 0}, None),
        ({"set": False, "infinite": False, "number": 0}, None),
        (4294967295, None),
    ],
)
def test_a_time_limit_in_each_form(published, value, seconds):
    answers = changed(published, "jobs", lambda document: document["jobs"][0].update(time_limit=value))
    assert read_jobs(answers)[0].time_limit == seconds


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ("RUNNING", "RUNNING"),
        (["RUNNING"], "RUNNING"),
        (["COMPLETED", "COMPLETING"], "COMPLETING"),
        (["PENDING"], "PENDING"),
        (["RUNNING", "CONFIGURING"], "CONFIGURING"),
    ],
)
def test_a_state_is_a_word_or_several(published, states, state):
    answers = changed(published, "jobs", lambda document: document["jobs"][0].update(job_state=states))
    assert read_jobs(answers)[0].state == state


def test_a_running_task_of_an_array_is_one_task(published):
    task = {"array_job_id": number(17), "array_task_id": number(0), "array_task_string": ""}
    answers = changed(published, "jobs", lambda document: document["jobs"][0].update(task))
    found = read_jobs(answers)[0]
    assert (found.array, len(found.tasks), found.tasks.ranges[0][0]) == (17, 1, 0)


def test_allocated_cores_count_with_their_threads(published):
    def hyperthreads(document):
        for node in document["nodes"]:
            node |= {"threads": 2, "cpus": 16}

    found = read_cluster(changed(published, "nodes", hyperthreads), name="x")
    assert next(job for job in found.jobs if job.id == 2).cpus_on == {"n05": 16, "n06": 16, "n07": 8}


def test_cores_that_are_not_allocated_do_not_count(published):
    def release(document):
        job = next(job for job in document["jobs"] if job["job_id"] == 2)
        job["job_resources"]["allocated_nodes"][0]["sockets"]["0"]["cores"]["0"] = "unassigned"

    found = read_jobs(changed(published, "jobs", release))
    assert next(job for job in found if job.id == 2).cpus_on == {"n05": 7, "n06": 8, "n07": 4}


def test_an_exclusive_partition_shares_its_nodes_with_no_job(renewed_answers):
    def exclusive(document):
        document["partitions"][0]["maximums"]["oversubscribe"]["jobs"] = 0

    main, debug = read_cluster(changed(renewed_answers, "partitions", exclusive), name="x").partitions
    assert (main.whole_nodes, debug.whole_nodes) == (True, False)


@pytest.mark.parametrize("endpoint", ANSWERS)
def test_an_empty_answer_and_one_cut_off_name_the_endpoint(published, endpoint):
    with pytest.raises(Unreachable, match=f"^{endpoint}: the answer is empty"):
        read_cluster(published | {endpoint: ""}, name="x")
    with pytest.raises(Unreachable, match=f"^{endpoint}: the answer is not JSON, or cut off"):
        read_cluster(published | {endpoint: published[endpoint][:-20]}, name="x")
    with pytest.raises(Unreachable, match=f"^{endpoint}"):
        read_cluster(published | {endpoint: "[]"}, name="x")
    with pytest.raises(Unreachable, match=f"^{endpoint} has no key {ANSWERS[endpoint]}"):
        read_cluster(published | {endpoint: "{}"}, name="x")


@pytest.mark.parametrize(
    ("endpoint", "key", "message"),
    [
        ("nodes", "cpus", r'nodes\[0\] \(\'n01\'\) has no key cpus'),
        ("nodes", "state", r"nodes\[0\].* has no key state"),
        ("partitions", "max_time_limit", r"partitions\[0\].* has no key maximums/time \(nor max_time_limit\)"),
        ("reservations", "node_list", r"reservations\[0\] \('maint'\) has no key node_list"),
        ("jobs", "start_time", r"jobs\[0\] \(1\) has no key start_time"),
        ("jobs", "job_state", r"jobs\[0\].* has no key job_state"),
    ],
)  # fmt: skip
def test_a_missing_key_is_named_with_its_object_and_endpoint(published, endpoint, key, message):
    with pytest.raises(Unreachable, match=f"^{message}"):
        read_cluster(changed(published, endpoint, lambda document: document[ANSWERS[endpoint]][0].pop(key)), name="x")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("start_time", "soon", "start_time: 'soon' is no whole number"),
        ("start_time", {"set": True}, "start_time: .* is no number"),
        ("cpus", None, "cpus is not set"),
        ("nodes", 7, "nodes: 7 is no list"),
        ("nodes", "n[1-", "nodes: .*ends inside a bracket"),
        ("array_task_string", "1-x", "array_task_string: .*no range"),
        ("job_state", [], "job_state is empty"),
        ("name", 7, "name: 7 is no text"),
    ],
)
def test_a_value_of_another_kind_is_named(published, key, value, message):
    with pytest.raises(Unreachable, match=rf"^jobs\[0\] \(1\),? {message}"):
        read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update({key: value})))


def test_an_object_that_is_none_is_named(published):
    with pytest.raises(Unreachable, match=r"^jobs\[0\]: 'gone' is no object"):
        read_jobs(changed(published, "jobs", lambda document: document["jobs"].insert(0, "gone")))


def test_errors_of_slurm_are_passed_on(published):
    failed = '{"errors": [{"error": "Unspecified error", "error_number": -1}], "jobs": []}'
    with pytest.raises(Unreachable, match='^jobs: Slurm answers "Unspecified error"'):
        read_jobs({"jobs": failed})


def test_an_answer_not_given_is_the_callers_mistake(published):
    del published["jobs"]
    with pytest.raises(BadInput, match="no answer of jobs"):
        read_cluster(published, name="x")


def test_no_nodes_are_no_cluster(published):
    with pytest.raises(Unreachable, match="^nodes: the answer lists none"):
        read_cluster(published | {"nodes": '{"nodes": []}'}, name="x")
