"""What slurmrestd answers, in the forms of its versions."""

import json
from contextlib import suppress
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_answers import changed, number, recorded, renewed
from thorough import examples

from gas.endpoints.slurm.conf_file import Stated
from gas.endpoints.slurm.json_answers import ANSWERS, OPTIONAL, read_cluster, read_jobs
from gas.endpoints.slurm.notation import LATEST
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Gres, Scheduling

WHOLE = {
    "name", "cpus", "allocated", "why_not", "reserved", "partitions", "nodes", "longest", "default_time", "least_nodes",
    "most_nodes", "default", "state", "tier", "whole_nodes", "most_cpus", "sharing",
}  # fmt: skip
REQUEST = {"tasks_asked", "cpus_per_node", "memory_per_cpu", "memory_per_node", "memory_on", "gres_on"}
"""What was kept, and what was left out, in the record of v0.0.38; `test_recorded` has whole ones."""


def test_both_transports_say_the_same(cluster, published):
    found = read_cluster(published, name="gastest")
    assert found.reservations == cluster.reservations
    for one, other in zip((*found.nodes, *found.partitions), (*cluster.nodes, *cluster.partitions), strict=True):
        assert {name for name in WHOLE if getattr(one, name, None) != getattr(other, name, None)} == set(), one.name
    here, there = ({job.id: job for job in one.jobs} for one in (found, cluster))
    assert here.keys() == there.keys()
    # the first is not published; of 15, squeue prints the reason in full; the others were left out of the record
    told_apart = {"planned_nodes", "reason", "exit_status", "signal", "stdout", "stderr", *REQUEST}
    for id in here:
        differing = {
            one.name for one in fields(here[id]) if getattr(here[id], one.name) != getattr(there[id], one.name)
        }
        # squeue does not say how many CPUs of each node a job has that has all of them, nor details which are cut out,
        # and how many nodes a job may need in place of how many it must have
        assert differing <= told_apart | {"cpus_on", "eligible", "least_nodes", "most_nodes"}, id
    for id in (2, 4, 16):
        assert here[id].cpus_on == there[id].cpus_on


def test_what_v0_0_38_does_not_publish_is_said(published):
    configured, whole, planned = read_cluster(published, name="x").cautions
    assert "SchedulerParameters and the topology are not known" in configured
    assert "which partitions allocate whole nodes" in whole
    assert "on which nodes jobs are planned" in planned


def test_the_forms_of_v0_0_43_say_what_those_of_v0_0_38_did_and_the_planned_nodes(published, renewed_answers, cluster):
    old, new = read_cluster(published, name="x"), read_cluster(renewed_answers, name="x")
    planned = {job.id: job.planned_nodes for job in cluster.jobs}
    jobs = tuple(replace(job, planned_nodes=planned[job.id], memory_on=None) for job in old.jobs)
    partitions = tuple(replace(one, default=None) for one in old.partitions)  # it does not say which is the default
    assert new == replace(old, jobs=jobs, partitions=partitions, cautions=old.cautions[:1], version="25.05.0")


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


def test_how_it_plans_is_published_in_its_configuration_or_by_default(published):
    found = read_cluster(published, name="x")
    assert (found.scheduling, found.others_visible) == (Scheduling(), None)
    config = {"SchedulerParameters": ["bf_resolution=300", "bf_continue"], "PrivateData": ["jobs"]}
    found = read_cluster(published | {"conf": json.dumps({"slurm_conf": config})}, name="x")
    assert (found.scheduling.resolution, found.scheduling.parameters["bf_continue"]) == (300, "")
    assert found.others_visible is False


@pytest.mark.parametrize("endpoint", OPTIONAL)
def test_an_optional_answer_that_fails_or_is_damaged_costs_a_caution(published, endpoint):
    before = read_cluster(published, name="x")
    for found in (
        read_cluster(published, name="x", failed={endpoint: "HTTP 500"}),
        read_cluster(published | {endpoint: "{"}, name="x"),
        read_cluster(published | {endpoint: "[]"}, name="x"),
    ):
        assert [caution for caution in found.cautions if OPTIONAL[endpoint] in caution]
        assert {one for one in before.cautions if OPTIONAL["conf"] not in one} < set(found.cautions)
        assert replace(found, cautions=before.cautions) == before


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
        ("start_time", "soon", "start_time: 'soon' is not a whole number"),
        ("start_time", {"set": True}, "start_time: .* is not a number"),
        ("cpus", None, "cpus is not set"),
        ("nodes", 7, "nodes: 7 is not a list"),
        ("nodes", "n[1-", "nodes: .*ends inside a bracket"),
        ("array_task_string", "1-x", "array_task_string: .*not a range"),
        ("job_state", [], "job_state is empty"),
        ("name", 7, "name: 7 is not a string"),
    ],
)
def test_a_value_of_another_kind_is_named(published, key, value, message):
    with pytest.raises(Unreachable, match=rf"^jobs\[0\] \(1\),? {message}"):
        read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update({key: value})))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shared", 7),
        ("job_resources", {"nodes": {"allocation": 7}}),
        ("job_resources", {"allocated_nodes": {"0": 7}}),
        ("cpus", 2**63),
        ("cpus", 1e300),
    ],
)
def test_a_value_that_no_version_has_is_said_to_be_odd(published, key, value):
    with pytest.raises(
        Unreachable, match=r"^jobs\[0\] \(1\), .* is not an? (list|object|whole number)|^jobs.*: 7 is not an object"
    ):
        read_jobs(changed(published, "jobs", lambda document: document["jobs"][0].update({key: value})))


def test_a_number_of_thousands_of_digits(published):
    text = published["jobs"].replace('"cpus": 32', '"cpus": ' + "9" * 10_000, 1)
    with pytest.raises(Unreachable, match="^jobs: the answer is not JSON"):
        read_jobs({"jobs": text})


def test_an_object_that_is_none_is_named(published):
    with pytest.raises(Unreachable, match=r"^jobs\[0\]: 'gone' is not an object"):
        read_jobs(changed(published, "jobs", lambda document: document["jobs"].insert(0, "gone")))


def test_a_name_that_is_no_utf_8_or_has_control_characters_shifts_nothing(published):
    plain = published["jobs"].encode()
    assert b'"name": "plain"' in plain
    odd = plain.replace(b'"name": "plain"', b'"name": "p\xff\x01\n"')
    there, here = read_jobs({"jobs": plain}), read_jobs({"jobs": odd})
    renamed = [job.name for job in here if job not in there]
    assert renamed == ["p\ufffd\x01\n"]
    assert tuple(replace(one, name=two.name) for one, two in zip(here, there, strict=True)) == there


def test_times_beyond_the_year_9000_and_limits_beyond_a_hundred_years(published):
    def change(document):
        document["jobs"][0] |= {"start_time": 2**62, "eligible_time": 2**60, "time_limit": 2**62}

    job = read_jobs(changed(published, "jobs", change))[0]
    assert (job.start, job.eligible, job.time_limit) == (LATEST, LATEST, None)
    far = changed(published, "reservations", lambda document: document["reservations"][0].update(end_time=2**62))
    assert read_cluster(far, name="x").reservations[0].end == LATEST


@pytest.mark.parametrize(
    ("tasks", "flags", "stated"),
    [(number(1), ["EXACT_TASK_COUNT_REQUESTED"], True), (number(1), [], False), (1, ["JOB_WAS_RUNNING"], None)],
)
def test_whether_a_number_of_tasks_was_stated_is_read_where_it_is_shown(renewed_answers, tasks, flags, stated):
    """Up to v0.0.38 numbers are plain, and there is no such flag."""
    shown = changed(renewed_answers, "jobs", lambda document: document["jobs"][0].update(tasks=tasks, flags=flags))
    assert read_jobs(shown)[0].tasks_stated is stated


def test_what_jobs_ask_for_and_partitions_limit_is_read(renewed_answers):
    def limited(document):
        document["partitions"][0]["maximums"] |= {
            "cpus_per_node": number(4), "oversubscribe": {"jobs": 0x8002, "flags": ["force"]},
        }  # fmt: skip

    (first, second) = read_cluster(changed(renewed_answers, "partitions", limited), name="x").partitions
    assert [(one.most_cpus, one.sharing) for one in (first, second)] == [(4, 2), (None, 1)]
    some = changed(renewed_answers, "reservations", lambda document: document["reservations"][0].update(core_count=63))
    assert [read_cluster(one, name="x").reservations[0].cores for one in (some, renewed_answers)] == [63, None]

    def asking(document):
        document["jobs"][0] |= {"features": "fast", "tres_per_node": "gres:gpu:1", "het_job_id": number(7)}
        document["jobs"][1] |= {"licenses": "matlab", "tres_per_job": "license:matlab", "het_job_id": number(0)}

    first, second, third, *_ = read_jobs(changed(renewed_answers, "jobs", asking))
    assert (first.features, first.gres_per_node, first.leader) == ("fast", (Gres("gpu"),), 7)
    assert (second.licences, second.unclear, second.leader) == ({"matlab": 1}, (), None)
    assert (third.features, third.gres_per_node, third.licences, third.leader) == ("", (), {}, None)
    other = changed(renewed_answers, "jobs", lambda document: document["jobs"][0].update(licenses="a:1|b:1"))
    assert read_jobs(other)[0].unclear == ("licences a:1|b:1",)
    for flag in ("GRES_ENFORCE_BIND", "GRES_BINDING_ENFORCED"):  # of 22.05, and from 24.11 on
        other = changed(renewed_answers, "jobs", lambda document, flag=flag: document["jobs"][0].update(flags=[flag]))
        assert read_jobs(other)[0].unclear == ("gres-flags=enforce-binding",)
    other = changed(renewed_answers, "jobs", lambda document: document["jobs"][0].update(required_switches=1))
    assert read_jobs(other)[0].unclear == ("switches=1",)


def with_memory(published, stated=(), **memory):
    """Return the first partition and the cautions, where memory counts, with keys of memory in slurmrestd's answer."""
    config = {"SelectTypeParameters": ["CR_CORE_MEMORY"], **memory}
    answers = published | {"conf": json.dumps({"slurm_conf": config})}
    found = read_cluster(answers, name="x", stated=Stated(dict(stated), "/etc/slurm.conf", whole=True))
    return found.partitions[0], [one for one in found.cautions if "DefMemPerNode" in one]


def test_memory_that_slurmrestd_leaves_out_or_misnames_is_that_of_slurm_conf(published):
    """Seen on 26.05: it shows MaxMemPerNode as MaxMemPerCPU, and neither MaxMemPerCPU nor DefMemPerNode."""
    one, cautions = with_memory(published, MaxMemPerCPU=number(3000))
    assert (one.most_memory_per_node, one.most_memory_per_cpu, one.memory_per_node) == (3000, None, None)
    assert len(cautions) == 1
    one, cautions = with_memory(published, {"DefMemPerNode": "2000", "MaxMemPerCPU": "400"})
    assert (one.most_memory_per_node, one.most_memory_per_cpu, one.memory_per_node) == (None, 400, 2000)
    assert not cautions
    assert not with_memory(published, DefMemPerCPU=number(200))[1]


@pytest.mark.parametrize(("memory", "found"), [("gpu:900", 900), ("gres:gpu:900", None)])
def test_memory_of_gpus_by_default_is_what_jobs_have_that_ask_for_none(published, memory, found):
    """Seen on 22.05, 24.11 and 26.05: of a partition it is not published."""

    def with_gpus(document):
        document["jobs"][0]["memory_per_tres"] = memory

    read = read_cluster(changed(published, "jobs", with_gpus), name="x")
    assert {one.name: one.memory_per_gpu for one in read.partitions}[read.jobs[0].partitions[0]] == found


def test_errors_of_slurm_are_passed_on(published):
    failed = '{"errors": [{"error": "Unspecified error", "error_number": -1}], "jobs": []}'
    with pytest.raises(Unreachable, match='^jobs: Slurm answers "Unspecified error"'):
        read_jobs({"jobs": failed})


def test_an_answer_not_given_is_the_callers_mistake(published):
    del published["jobs"]
    with pytest.raises(BadInput, match="jobs returned nothing"):
        read_cluster(published, name="x")


def test_no_nodes_are_no_cluster(published):
    with pytest.raises(Unreachable, match="^nodes: the answer lists none"):
        read_cluster(published | {"nodes": '{"nodes": []}'}, name="x")


def places(value, here=()):
    """Every place in a document, as the keys that lead to it."""
    yield here
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*here, key))


def put(value, place, new):
    """A document with something else in a place."""
    if not place:
        return new
    copied = value.copy()
    copied[place[0]] = put(value[place[0]], place[1:], new)
    return copied


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v), max_leaves=5
)
ANSWERED = {}
for _version in ("v0.0.38", "v0.0.43"):
    _answers = recorded("v0.0.38")
    _answers = renewed(_answers, {5: "n[07-15]"}) if _version == "v0.0.43" else _answers
    for _endpoint, _text in _answers.items():
        _document = json.loads(_text)
        for _key in ("jobs", "nodes"):  # enough to have one of each kind
            if _key == _endpoint:
                _document[_key] = [one for at, one in enumerate(_document[_key]) if at in (0, 1, 4, 9)]
        ANSWERED[_version, _endpoint] = _answers, _document, list(places(_document))


@examples(600)
@given(st.data())
def test_an_odd_value_in_any_place_is_understood_or_said_to_be_odd(data):
    (_, endpoint), (answers, document, where) = data.draw(st.sampled_from(list(ANSWERED.items())))
    odd = put(document, data.draw(st.sampled_from(where)), data.draw(VALUES))
    with suppress(Unreachable):
        read_cluster(answers | {endpoint: json.dumps(odd)}, name="x")


def test_the_groups_and_licences_of_a_reservation_are_read(renewed_answers):
    altered = changed(
        renewed_answers, "reservations",
        lambda document: document["reservations"][0].update(groups="staff", licenses="lic:4"),
    )  # fmt: skip
    (one,) = read_cluster(altered, name="x").reservations
    assert (one.groups, one.licences) == (("staff",), {"lic": 4})


def test_more_cpus_than_a_node_can_have_are_not_believed(published):
    altered = changed(published, "nodes", lambda document: document["nodes"][0].update(cpus=2**31))
    with pytest.raises(Unreachable, match=r"nodes\[0\].*2,147,483,648 CPUs are not credible"):
        read_cluster(altered, name="x")


@pytest.mark.parametrize(("release", "warned"), [("24.11.5", False), ("26.05.1", True)])
def test_what_a_magnetic_reservation_allows_is_not_published(renewed_answers, release, warned):
    magnetic = changed(
        renewed_answers, "reservations", lambda document: document["reservations"][0].update(flags=["MAGNETIC"])
    )
    told = changed(magnetic, "diag", lambda document: document["meta"]["slurm"].update(release=release))
    assert any("MAGNETIC" in one for one in read_cluster(told, name="x").cautions) is warned


def test_cpus_of_specialised_cores_do_not_count_where_only_tres_leaves_them_out(published):
    """Seen: with CoreSpecCount=1 a node of 22.05 has "cpus": 4 and "tres": "cpu=3,mem=1000M,billing=3"."""

    def specialised(document):
        document["nodes"][0]["tres"] = "cpu=3,mem=1000M,billing=3"
        document["nodes"][1]["tres"] = None

    usual = read_cluster(published, name="x").nodes
    found = read_cluster(changed(published, "nodes", specialised), name="x").nodes
    assert [found[0].cpus, found[1].cpus] == [3, usual[1].cpus]
