"""What scontrol, squeue and sdiag answer."""

import re
from dataclasses import replace
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_answers import MARK, recorded, understood, written
from thorough import examples

from gas.endpoints.slurm.caveats import caveats
from gas.endpoints.slurm.command_line import (
    COLUMNS,
    COMMANDS,
    RS,
    US,
    commands,
    read_cluster,
    read_jobs,
)
from gas.endpoints.slurm.notation import LATEST
from gas.errors import BadInput, Unreachable
from gas.slurm.cluster import Switch


def test_the_cluster_is_what_it_says(cluster):
    assert (cluster.name, cluster.version, cluster.now) == ("gastest", "22.05.8", 1795291784)
    assert cluster.planned is not None
    assert cluster.now - 5 <= cluster.planned <= cluster.now
    assert cluster.others_visible
    assert (cluster.scheduling.resolution, cluster.scheduling.window, cluster.scheduling.depth) == (60, 86400, 1000)


def test_nodes_have_their_cpus_and_why_they_are_not_used(cluster):
    nodes = {node.name: node for node in cluster.nodes}
    assert len(nodes) == 16
    assert {node.cpus for node in cluster.nodes} == {8}
    assert nodes["n16"].why_not == ("DRAIN",)
    assert [name for name, node in nodes.items() if not node.usable] == ["n16"]
    assert nodes["n01"].partitions == ("main", "debug")
    assert nodes["n01"].allocated == 8


def test_partitions_have_their_limits_in_seconds(cluster):
    main, debug = cluster.partitions
    assert (main.name, main.default, main.longest, main.most_nodes) == ("main", True, 24 * 3600, None)
    assert (debug.longest, debug.most_nodes, debug.nodes, debug.default) == (1800, 2, ("n01", "n02"), False)
    assert (main.state, main.whole_nodes, len(main.nodes)) == ("UP", False, 16)


def test_reservations_name_their_nodes_and_users(cluster):
    (one,) = cluster.reservations
    assert (one.name, one.end - one.start, one.users) == ("maint", 7200, ("root",))
    assert one.nodes == tuple(f"n{n:02}" for n in range(1, 9))
    assert "MAINT" in one.flags


def test_jobs_are_running_planned_or_without_a_plan(cluster):
    jobs = {job.id: job for job in cluster.jobs}
    assert (jobs[1].state, jobs[1].nodes, jobs[1].end - jobs[1].start) == (
        "RUNNING",
        ("n01", "n02", "n03", "n04"),
        1200,
    )
    assert (jobs[5].pending, jobs[5].nodes, len(jobs[5].planned_nodes)) == (True, (), 9)
    assert (jobs[6].start, jobs[6].planned_nodes) == (None, ())
    assert jobs[11].exclusive
    assert not jobs[5].exclusive
    assert jobs[12].held
    assert jobs[13].dependency.startswith("afterok:5")
    assert jobs[14].eligible == jobs[14].start
    assert jobs[15].partitions == ("debug",)


def test_names_and_comments_come_as_they_were_written(cluster):
    jobs = {job.id: job for job in cluster.jobs}
    assert jobs[1].name == 'first job | a,b="x" %i é→Ω'
    assert jobs[16].comment == "kept for | gas"


def test_waiting_tasks_of_an_array_are_one_record_and_running_ones_have_their_own():
    jobs = {job.id: job for job in read_jobs(recorded("v22.05-arrays")["jobs"])}
    assert (len(jobs[10].tasks), jobs[10].tasks.at_once, jobs[10].array) == (6, 2, 10)
    assert len(jobs[17].tasks) == 8
    assert (len(jobs[18].tasks), jobs[18].array, jobs[18].state) == (1, 17, "RUNNING")
    assert jobs[5].tasks is None


def test_times_without_epoch_seconds_need_a_zone(said):
    local = dict(said, reservations=said["reservations"].replace("1795313280", "2026-11-22T02:08:00"))
    with pytest.raises(Unreachable, match=r"show reservations.*maint.*StartTime.*SLURM_TIME_FORMAT=%s"):
        read_cluster(local, name="x")
    assert read_cluster(local, name="x", zone=UTC).reservations[0].start == 1795313280
    there = read_cluster(local, name="x", zone=ZoneInfo("Europe/Stockholm")).reservations[0].start
    assert there == 1795313280 - 3600


def test_an_empty_queue_and_no_reservations_are_none(said):
    found = read_cluster(dict(said, jobs="", reservations="No reservations in the system\n"), name="x")
    assert (found.jobs, found.reservations) == ((), ())


def test_private_data_says_whether_others_are_seen(said):
    private = said["config"].replace("= none", "= jobs,usage")
    assert not read_cluster(dict(said, config=private), name="x").others_visible


def test_whole_nodes_are_given_by_an_exclusive_partition_and_by_select_linear(said):
    exclusive = dict(said, partitions=said["partitions"].replace("OverSubscribe=NO", "OverSubscribe=EXCLUSIVE"))
    linear = dict(said, config=said["config"].replace("select/cons_tres", "select/linear"))
    for answers in (exclusive, linear):
        assert all(one.whole_nodes for one in read_cluster(answers, name="x").partitions)


def test_how_plans_are_made_is_configured_or_by_default(said):
    plain = said["config"].replace(
        "bf_interval=1,bf_resolution=60,bf_window=1440,bf_max_job_test=1000,bf_continue", "(null)"
    )
    scheduling = read_cluster(dict(said, config=plain), name="x").scheduling
    assert (scheduling.resolution, scheduling.window, scheduling.array_depth) == (60, 86400, 20)
    other = said["config"].replace("bf_resolution=60,bf_window=1440", "bf_resolution=300,bf_window=2880")
    scheduling = read_cluster(dict(said, config=other), name="x").scheduling
    assert (scheduling.resolution, scheduling.window) == (300, 2880 * 60)


@pytest.mark.parametrize(
    ("answer", "text", "message"),
    [
        ("nodes", "", "show nodes: the answer is empty"),
        ("partitions", "", "show partitions: the answer is empty"),
        ("nodes", "slurm_load_node: Unable to contact slurm controller\n", "show nodes, line 1: .*NodeName="),
        ("nodes", "NodeName=n1 CPUTot=8 CPUAlloc=0\n", 'show nodes, "n1" has no State'),
        ("nodes", "NodeName=n1 CPUTot=many CPUAlloc=0 State=IDLE\n", '"n1", CPUTot: "many" is not a whole number'),
        ("nodes", "NodeName=n1 CPUTot=8 CPUAll", "cut off"),
        ("config", "", "show config: the answer has no SLURM_VERSION"),
        ("diagnostics", "", "sdiag: the answer has no time"),
        ("jobs", "squeue: error\n", "squeue: the answer is cut off"),
        ("jobs", f"1{US}2{RS}\n", "squeue, record 1: .* 2 columns instead of 23"),
    ],
)
def test_an_answer_that_cannot_be_understood_names_the_command_and_the_place(said, answer, text, message):
    with pytest.raises(Unreachable, match=message):
        read_cluster(said | {answer: text}, name="x")


@pytest.mark.parametrize(
    ("answer", "old", "key"),
    [
        ("partitions", "MaxCPUsPerNode=UNLIMITED", "MaxCPUsPerNode"),
        ("partitions", "OverTimeLimit=NONE", "OverTimeLimit"),
        ("partitions", "OverSubscribe=NO", "OverSubscribe"),
        ("reservations", "CoreCnt=64", "CoreCnt"),
    ],
)
def test_a_setting_that_cannot_be_understood_is_named_and_not_the_users_mistake(said, answer, old, key):
    assert old in said[answer]
    text = said[answer].replace(old, f"{key}=FORCE:many")
    with pytest.raises(
        Unreachable, match=f'scontrol .* show {answer}, "[a-z]+", {key}: "(FORCE:)?many" is not a whole'
    ):
        read_cluster(said | {answer: text}, name="x")


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.99])
def test_a_queue_cut_off_anywhere_is_refused(said, kept):
    with pytest.raises(Unreachable, match="squeue"):
        read_jobs(said["jobs"][: int(len(said["jobs"]) * kept)])


def test_an_answer_not_given_is_the_callers_mistake(said):
    del said["nodes"]
    with pytest.raises(BadInput, match="scontrol -a -o -d show nodes returned nothing"):
        read_cluster(said, name="x")


WRITTEN = {
    "id": "7", "array": "7", "tasks": "N/A", "user": "me", "state": "PENDING", "partitions": "a,b", "start": "N/A",
    "end": "N/A", "limit": "1:00", "cpus": "4", "node count": "2-4", "nodes": "", "planned nodes": "(null)",
    "sharing": "OK", "priority": "5", "reason": "Priority", "submitted": "9", "dependency": "(null)",
    "required nodes": "", "excluded nodes": "n1", "reservation": "(null)", "comment": "(null)",
}  # fmt: skip


@examples(100)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters=RS)))
def test_a_name_of_any_characters_shifts_nothing(name):
    record = US.join((WRITTEN | {"name": name})[column] for column in COLUMNS) + RS + "\n"
    first, second = read_jobs(record * 2)
    assert first == second
    assert (first.name, first.comment, first.partitions, first.time_limit) == (name, "", ("a", "b"), 60)
    assert (first.least_nodes, first.most_nodes, first.excluded_nodes) == (2, 4, ("n1",))


# ------------------------------------------------------------------------------------------------ what users write


SAID = recorded("v22.05")


def test_a_mark_is_in_every_separator_and_told_to_squeue():
    told = commands(MARK)["jobs"][-1]
    assert told.count(US + MARK) == told.count(US) == len(COLUMNS) - 1
    assert told.endswith(RS + MARK)
    assert {kind: line for kind, line in commands(MARK).items() if kind != "jobs"} == {
        kind: line for kind, line in COMMANDS.items() if kind != "jobs"
    }


def test_an_answer_with_a_mark_that_is_cut_off_is_refused():
    answers = written(SAID, 2)
    for kept in (0.3, 0.8):
        with pytest.raises(Unreachable, match="cut off"):
            read_cluster(answers | {"jobs": answers["jobs"][: int(len(answers["jobs"]) * kept)]}, name="x", mark=MARK)


def test_a_record_with_too_few_columns_is_skipped_and_said_but_not_of_ones_own_jobs():
    answers = written(SAID, 2)
    jobs = f"1{US}{MARK}2{RS}{MARK}\n" + answers["jobs"]
    found = read_cluster(answers | {"jobs": jobs}, name="x", mark=MARK)
    assert found.jobs == read_cluster(answers, name="x", mark=MARK).jobs
    (caution,) = found.cautions
    assert "1 job could not be read and is left out (squeue, record 1: " in caution
    with pytest.raises(Unreachable, match="2 columns instead of 23"):
        read_jobs(jobs, mark=MARK)


@pytest.mark.parametrize(("id", "refused"), [(2, True), (5, False)])
def test_a_waiting_job_that_cannot_be_read_is_left_out_and_one_that_has_nodes_is_not(id, refused):
    answers = written(SAID, id, cpus="many")
    if refused:
        with pytest.raises(Unreachable, match='job 2, cpus: "many" is not a whole number'):
            read_cluster(answers, name="x", mark=MARK)
    else:
        found = read_cluster(answers, name="x", mark=MARK)
        assert id not in {job.id for job in found.jobs}
        assert 'job 5, cpus: "many" is not a whole number' in found.cautions[0]


def test_times_and_numbers_without_measure():
    found = understood(written(SAID, 5, start="9" * 30, end="99999999999999", limit="99999999-00:00:00"))
    (job,) = (job for job in found.jobs if job.id == 5)
    assert (job.start, job.end, job.time_limit) == (LATEST, LATEST, None)
    far = dict(SAID, reservations=SAID["reservations"].replace("EndTime=1795320480", "EndTime=99999999999999999999"))
    assert read_cluster(far, name="x").reservations[0].end == LATEST
    with pytest.raises(Unreachable, match="CPUEfctv: .* exceeds the largest possible value"):
        read_cluster(dict(SAID, nodes=SAID["nodes"].replace("CPUEfctv=8", "CPUEfctv=" + "9" * 5000)), name="x")


# ------------------------------------------------------------------------------------------------ not planned with


def test_nodes_that_are_off_and_an_unknown_topology_are_caveats(said):
    odd = dict(said, nodes=re.sub(r"(?<= State=)\w+", "IDLE+POWERED_DOWN", said["nodes"], count=3))
    for timeout, later in (("600 sec", "up to 10m00s (ResumeTimeout)"), ("soon", "minutes")):
        config = "\n".join(
            [*re.findall(r"^(?!ResumeTimeout|TopologyPlugin).*$", said["config"], re.MULTILINE),
             f"ResumeTimeout = {timeout}", "TopologyPlugin = topology/tree"]
        )  # fmt: skip
        found = read_cluster(odd | {"config": config}, name="x")
        off = sum(one.powered_down for one in found.nodes)
        assert off > 1
        power, switches = (one for one in caveats(found, found.partitions[0]) if "powered" in one or "topology" in one)
        assert power.startswith(f"{off} nodes are powered down: ")
        assert power.endswith(f"{later} later than shown")
        assert '("topology/tree") that Gas cannot read' in switches
        known = replace(found, switches=(Switch("leaf", ("n01",)),))
        assert not any("topology" in one for one in caveats(known, found.partitions[0]))
    blocks = read_cluster(odd | {"config": config.replace("topology/tree", "topology/block")}, name="x")
    assert any("that Gas does not model" in one for one in caveats(blocks, blocks.partitions[0]))
    usual = read_cluster(said, name="x")
    assert not any("powered" in one or "topology" in one for one in caveats(usual, usual.partitions[0]))


@pytest.mark.parametrize("whose", ["partition", "job"])
@pytest.mark.parametrize(("whom", "said_so"), [("mcs", True), ("topo", True), ("user", False)])
def test_nodes_that_only_jobs_of_a_label_share_are_a_caveat_and_not_those_of_a_user(said, whose, whom, said_so):
    usual = read_cluster(said, name="x")
    here = usual.partitions[0]
    assert not any("label" in one for one in caveats(usual, here))
    choosy = replace(next(job for job in usual.jobs if here.name in job.partitions), shared_with=whom)
    found = replace(usual, jobs=(choosy,)) if whose == "job" else usual
    if whose == "partition":
        here = replace(here, shared_with=whom)
        found = replace(usual, partitions=(here, *usual.partitions[1:]))
    assert any("label" in one for one in caveats(found, here)) == said_so


def test_the_least_loaded_nodes_are_taken_where_a_partition_says_so(said):
    altered = said["partitions"].replace("LLN=NO", "LLN=YES", 1)
    assert [one.least_loaded for one in read_cluster(said | {"partitions": altered}, name="x").partitions] == [
        True, False,
    ]  # fmt: skip


def test_what_keeps_jobs_out_of_a_partition_is_read(said):
    altered = said["partitions"].replace("RootOnly=NO ReqResv=NO", "RootOnly=YES ReqResv=YES", 1)
    altered = altered.replace("AllocNodes=ALL", "AllocNodes=login[1-2]", 1)
    assert altered.count("=YES ReqResv=YES") == altered.count("login") == 1
    found = read_cluster(said | {"partitions": altered}, name="x").partitions
    assert [one.closed_by for one in found] == [("RootOnly=YES", "ReqResv=YES", "AllocNodes=login[1-2]"), ()]


def test_what_is_not_planned_with_of_a_partition_or_a_reservation_is_read(said):
    altered = said["partitions"].replace("MaxCPUsPerNode=UNLIMITED", "MaxCPUsPerNode=4", 1)
    altered = altered.replace("OverSubscribe=NO", "OverSubscribe=FORCE:2 MaxCPUsPerSocket=2", 1)
    main, debug = read_cluster(said | {"partitions": altered}, name="x").partitions
    assert [(one.most_cpus, one.sharing) for one in (main, debug)] == [(4, 2), (None, 1)]
    assert [one.most_cpus_of_socket for one in (main, debug)] == [2, None]
    some = said | {"reservations": said["reservations"].replace("CoreCnt=64", "CoreCnt=63")}
    assert [read_cluster(one, name="x").reservations[0].cores for one in (some, said)] == [63, None]


@pytest.mark.parametrize("key", ["CPUEfctv", "Sockets", "CoresPerSocket", "ThreadsPerCore"])
def test_more_of_a_node_than_slurm_can_count_is_not_believed(said, key):
    def with_count(count):
        nodes = re.sub(rf" {key}=\d+", "", said["nodes"], count=1)
        return said | {"nodes": nodes.replace(" CPUAlloc=", f" {key}={count} CPUAlloc=", 1)}

    read_cluster(with_count(65_535), name="x")
    with pytest.raises(Unreachable, match='"n01": 4,294,967,294 .* not credible; .* up to 65,535'):
        read_cluster(with_count(4_294_967_294), name="x")


def test_whom_a_reservation_is_open_to_and_its_licences_are_read(said):
    told = said["reservations"].replace("Licenses=(null)", "Licenses=lic:4,other")
    told = told.replace(" Groups=(null)", " AllowedPartitions=p,q QOS=-low Groups=staff")
    assert told.count("AllowedPartitions") == told.count("lic:4") == 1
    (one,) = read_cluster(said | {"reservations": told}, name="x").reservations
    assert (one.licences, one.partitions, one.qos) == ({"lic": 4, "other": 1}, ("p", "q"), ("-low",))
    assert one.groups == ("staff",)
