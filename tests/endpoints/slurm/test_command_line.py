"""What scontrol, squeue and sdiag answer."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_answers import recorded

from gas.endpoints.slurm.command_line import COLUMNS, RS, US, read_cluster, read_jobs, unclear_shares, with_details
from gas.errors import BadInput, Unreachable


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


def test_shares_of_nodes_come_from_the_details(said):
    cluster = read_cluster(said, name="x")
    assert unclear_shares(cluster) == (2, 4, 16)  # 1 has all of its nodes, 3 and 8 have one
    jobs = {job.id: job for job in with_details(cluster.jobs, said["details"])}
    assert jobs[2].cpus_on == {"n05": 8, "n06": 8, "n07": 4}
    assert jobs[16].cpus_on == {"n12": 1, "n14": 1, "n15": 1}
    assert sum(jobs[4].cpus_on.values()) == jobs[4].cpus == 40


def test_jobs_that_the_details_do_not_name_stay_as_they_are(said):
    jobs = read_cluster(said, name="x").jobs
    assert with_details(jobs, "") == jobs


def test_details_are_not_deceived_by_a_name(said):
    line = next(line for line in said["details"].splitlines() if line.startswith("JobId=2 "))
    fooled = line.replace("JobName=plain", "JobName=x NumNodes=9 EligibleTime=5 Nodes=n99 CPU_IDs=0-7 Mem=0")
    jobs = [job for job in read_jobs(said["jobs"]) if job.id == 2]
    assert with_details(tuple(jobs), fooled) == with_details(tuple(jobs), line)


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
        ("nodes", "NodeName=n1 CPUTot=many CPUAlloc=0 State=IDLE\n", '"n1", CPUTot: "many" is no whole number'),
        ("nodes", "NodeName=n1 CPUTot=8 CPUAll", "cut off"),
        ("config", "", "show config: the answer has no SLURM_VERSION"),
        ("diagnostics", "", "sdiag: the answer does not say when"),
        ("jobs", "squeue: error\n", "squeue: the answer is cut off"),
        ("jobs", f"1{US}2{RS}\n", "squeue, record 1: .* 2 columns instead of 23"),
    ],
)
def test_an_answer_that_cannot_be_understood_names_the_command_and_the_place(said, answer, text, message):
    with pytest.raises(Unreachable, match=message):
        read_cluster(said | {answer: text}, name="x")


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.99])
def test_a_queue_cut_off_anywhere_is_refused(said, kept):
    with pytest.raises(Unreachable, match="squeue"):
        read_jobs(said["jobs"][: int(len(said["jobs"]) * kept)])


def test_garbage_as_details_is_refused(said):
    with pytest.raises(Unreachable, match="-d show jobs, line 2"):
        with_details((), said["details"].splitlines()[0] + "\nnonsense\n")


def test_an_answer_not_given_is_the_callers_mistake(said):
    del said["nodes"]
    with pytest.raises(BadInput, match="no answer of scontrol -a -o show nodes"):
        read_cluster(said, name="x")


WRITTEN = {
    "id": "7", "array": "7", "tasks": "N/A", "user": "me", "state": "PENDING", "partitions": "a,b", "start": "N/A",
    "end": "N/A", "limit": "1:00", "cpus": "4", "node count": "2-4", "nodes": "", "planned nodes": "(null)",
    "sharing": "OK", "priority": "5", "reason": "Priority", "submitted": "9", "dependency": "(null)",
    "required nodes": "", "excluded nodes": "n1", "reservation": "(null)", "comment": "(null)",
}  # fmt: skip


@settings(max_examples=100)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters=RS)))
def test_a_name_of_any_characters_shifts_nothing(name):
    record = US.join((WRITTEN | {"name": name})[column] for column in COLUMNS) + RS + "\n"
    first, second = read_jobs(record * 2)
    assert first == second
    assert (first.name, first.comment, first.partitions, first.time_limit) == (name, "", ("a", "b"), 60)
    assert (first.least_nodes, first.most_nodes, first.excluded_nodes) == (2, 4, ("n1",))
