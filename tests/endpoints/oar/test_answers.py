"""OAR's JSON is read equally in all of its forms; invalid JSON is reported."""

import json
from dataclasses import replace

import pytest

from gas.endpoints.oar.answers import (
    jobs_of,
    joined,
    page_of,
    parsed,
    records_of,
    resources_of,
    submitted_as,
    usage_in,
    usage_of,
)
from gas.errors import Unreachable


def jobs_in(text):
    content = parsed(text, "oarstat")
    listed = content["jobs"] if content and "jobs" in content else content
    return {job.id: job for job in jobs_of(records_of(listed, "oarstat"), "oarstat")}


def resources_in(text):
    content = parsed(text, "oarnodes")
    listed = content["resources"] if "dead_resources" in content else content
    return resources_of(records_of(listed, "oarnodes"), "oarnodes")


def test_commands_chart_and_rest_publish_the_same_resources(recorded):
    of_nodes = resources_in(recorded("oarnodes-J"))
    assert len(of_nodes) == 32
    assert {one.host for one in of_nodes} == {f"127.0.1.{n}" for n in range(1, 9)}
    assert resources_in(recorded("oarstat-gantt")) == of_nodes
    assert resources_in(recorded("rest-resources-full")) == of_nodes


def test_a_running_and_a_planned_job_are_the_same_in_both_transports(recorded):
    chart, stat = jobs_in(recorded("oarstat-gantt")), jobs_in(recorded("oarstat-J-f"))
    for rest in (jobs_in(recorded("rest-jobs-details")), jobs_in(recorded("rest-jobs-details-from-to"))):
        assert rest[1] == stat[1]
        assert rest[2] == replace(stat[2], resources=rest[2].resources)  # oarstat leaves them out
        assert len(rest[2].resources) == len(chart[2].resources) == 24


def test_the_chart_has_planned_starts_and_resources_of_jobs_that_wait(recorded):
    chart, stat = jobs_in(recorded("oarstat-gantt")), jobs_in(recorded("oarstat-J-f"))
    for id, count in ((2, 24), (4, 8)):
        assert chart[id].start is None
        assert chart[id].expected == stat[id].expected
        assert len(chart[id].resources) == count
        assert chart[id].walltime == stat[id].walltime
    assert chart[1].start == stat[1].start
    assert chart[1].resources == stat[1].resources


def test_all_shapes_of_a_job_are_read(recorded):
    shapes = jobs_in(recorded("oarstat-J-f"))[4].wanted
    levels = [dict(shape.levels) for shape in shapes]
    assert levels == [{"resource_id": 32}, {"resource_id": 16}, {"resource_id": 8}]
    assert [shape.walltime for shape in shapes] == [300, 480, 900]


def test_shapes_of_several_levels_and_groups_are_read_by_the_first_group():
    wanted = "-l \"{type = 'default' AND c='x'}/network_address=2/core=4+{type='l'}/lic=1,walltime=26:0:9\" "
    wanted += '-l "/core=BEST,walltime=1:0:0" '
    (job,) = jobs_of([{"Job_Id": 1, "state": "Waiting", "wanted_resources": wanted}], "")
    assert [shape.levels for shape in job.wanted] == [(("network_address", 2), ("core", 4)), (("core", None),)]
    assert job.wanted[0].walltime == 26 * 3600 + 9


def test_what_happened_to_an_ended_job_is_read(recorded):
    job = jobs_in(recorded("rest-jobs-details-from-to"))[3]
    assert (job.state, job.exit_code, job.stop - job.start) == ("Terminated", 0, 61)
    assert job.events[0].kind == "SWITCH_INTO_TERMINATE_STATE"
    assert not job.active


@pytest.mark.parametrize("text", ["", "  \n", "{}", "null"])
def test_no_jobs_are_no_jobs(text):
    assert jobs_in(text) == {}


def test_numbers_may_be_text():
    """As from MySQL."""
    (resource,) = resources_of([{"resource_id": "7", "state": "Alive", "available_upto": "99"}], "")
    assert (resource.id, resource.until) == (7, 99)
    (job,) = jobs_of([{"job_id": "3", "state": "Running", "start_time": "5", "resource_id": ["1", "2"]}], "")
    assert (job.id, job.start, job.resources) == (3, 5, (1, 2))


def test_an_answer_that_is_cut_off_anywhere_is_refused(recorded):
    whole = recorded("oarstat-J-f").strip()
    for end in range(1, len(whole), 7):
        with pytest.raises(Unreachable, match="oarstat"):
            parsed(whole[:end], "oarstat")
    with pytest.raises(Unreachable, match="cut off after"):
        parsed(whole[:1000], "oarstat")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("DB connection error", "is not JSON"),
        ('"text"', "is it OAR"),
        ("[1, 2]", "is it OAR"),
        ('{"1": 5}', "is it OAR"),
        ('{"1": {"Job_Id": 1}}', "has no state"),
        ('{"1": {"state": "Waiting"}}', "has no Job_Id"),
        ('{"1": {"Job_Id": 1, "state": "Waiting", "walltime": "long"}}', 'oarstat, 1, walltime: "long" is not a whole'),
        ('{"1": {"Job_Id": 1, "state": "Running", "startTime": 1.5}}', "startTime"),
        ('{"1": {"Job_Id": 1, "state": "Running", "assigned_resources": 3}}', "is not a list"),
        ('{"1": {"Job_Id": 1, "state": "Running", "assigned_resources": [null]}}', "has no id"),
        ("[" * 100000, "oarstat"),
    ],
)
def test_what_cannot_be_understood_is_named(text, problem):
    with pytest.raises(Unreachable, match=problem):
        jobs_in(text)


def test_a_page_says_how_many_there_are_and_when_it_was_asked(recorded):
    records, total, asked = page_of(json.loads(recorded("rest-jobs-details-from-to")), "")
    assert (len(records), total, asked) == (4, 4, 1795219459)
    with pytest.raises(Unreachable, match="is it the REST API of OAR"):
        page_of({"code": 404}, "oar")


@pytest.mark.parametrize(
    ("said", "id"),
    [
        ("[ADMISSION RULE] Modify resource description\nOAR_JOB_ID=12\n", 12),
        ("Generate a job key...\nOAR_JOB_ID=12", 12),
        ("Oarsub command exited with status 9: OAR_JOB_ID=12\n[ERROR] Cannot connect to executor\n", 12),
        ("OAR_JOB_ID=-2\n", None),
        ("OAR_JOB_ID=0\n", None),
        ("OAR_JOB", None),
        ("", None),
    ],
)
def test_the_number_of_a_new_job_is_found_in_what_oarsub_says(said, id):
    assert submitted_as(said) == id


def test_what_users_have_used_is_read_from_the_table_of_the_commands():
    """In the format of oarstat --accounting."""
    found = usage_in(
        "    User       First window starts  Last window ends     Asked (seconds)  Used (seconds)\n"
        "    ---------- -------------------- -------------------- ---------------- ----------------\n"
        "carol      2026-10-30 00:00:00  2026-11-20 23:59:59          22460851         14931498\n"
        "bob        2026-11-04 00:00:00  2026-11-17 23:59:59           9620559          2876810\n",
        "oarstat",
    )
    assert found.users == {"carol": (14931498, 22460851), "bob": (2876810, 9620559)}
    assert found.of("dave") == (0, 0)
    with pytest.raises(Unreachable, match="not a line of OAR's accounting"):
        usage_in("Bad syntax for --accounting", "oarstat")


def test_what_users_have_used_is_summed_over_the_projects_of_the_rest_api():
    one = {"project": "default", "consumptions": {"USED": {"bob": "10"}, "ASKED": {"bob": "20", "cy": "5"}}}
    other = {"project": "p", "consumptions": {"ASKED": {"bob": 1}}}
    assert usage_of([one, other], "accounting").users == {"bob": (10, 21), "cy": (0, 5)}
    for wrong in ({"project": "p"}, {"consumptions": {"USED": 4}}, {"consumptions": {"USED": {"bob": "many"}}}):
        with pytest.raises(Unreachable, match="accounting"):
            usage_of([wrong], "accounting")


def test_a_job_of_the_chart_and_of_the_list_is_one_with_resources_and_message(recorded):
    chart, stat = jobs_in(recorded("oarstat-gantt")), jobs_in(recorded("oarstat-J-f"))
    found = {job.id: job for job in joined(chart.values(), stat.values())}
    assert found.keys() == chart.keys() | stat.keys()
    assert found[2].resources == chart[2].resources
    assert "Karma=0.000" in found[2].message
    assert found[2].expected == chart[2].expected
