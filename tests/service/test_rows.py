"""Jobs as rows: they are read back as written, and a value that has changed since is noticed."""

from dataclasses import replace

import pytest

from gas.service.changes import Answer, Reshape
from gas.service.jobs import Job, JobRequest, Shape
from gas.service.rows import DamagedRow, asked_row, change_of, change_row, command_row, job_of, life_row, seal
from gas.service.tables import JOB_COLUMNS

REQUEST = JobRequest("job", "lu", 64, 17, "process", ("./lu", "{processors}"), {"A": "1"}, key="k", user="ada")
JOB = Job(1, REQUEST, 0, "queued", 5, 5, 7, 22, identity="0123456789abcdef")


def reshaped(job=JOB):
    other = replace(job)
    other.reshape(Shape(32, 40, None, 9), 3)
    return other


CONDITIONAL = replace(JOB, request=replace(REQUEST, notice=60), offer=3, answer_by=2, offers_from=1)


def row_of(job):
    command = dict(zip(("id", "command", "environment", "command_seal"), command_row(job), strict=True))
    return {**dict(zip(JOB_COLUMNS, (*asked_row(job), *life_row(job)), strict=True)), **command}


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        reshaped(),
        replace(JOB, request=replace(REQUEST, cpus_per_task=2)),
        replace(JOB, state="lost"),
        CONDITIONAL,
        reshaped(CONDITIONAL),
        replace(CONDITIONAL, offers_held=60),
        replace(CONDITIONAL, request=replace(REQUEST, notice=60, job_class="low"), offer=None, answer_by=None),
    ],
)
def test_a_job_is_read_back_from_its_row(job):
    assert job_of(row_of(job)) == job


def test_what_was_asked_for_never_changes():
    assert asked_row(reshaped()) == asked_row(JOB)
    assert reshaped().submission == REQUEST
    assert reshaped(reshaped()).submitted_shape == JOB.shape


def test_a_job_that_was_never_reshaped_nor_offered_anything_is_sealed_as_by_earlier_versions():
    values = ("queued", 5, 5, 22, None, None, None, None, None)
    assert life_row(JOB) == (*values, *[None] * 9, seal((1, JOB.identity, *values)))
    asked = asked_row(JOB)
    assert asked[-3:] == (None, None, seal(asked[:-3]))


@pytest.mark.parametrize("column", [name for name in JOB_COLUMNS if name != "id"])
@pytest.mark.parametrize("job", [JOB, reshaped(), CONDITIONAL], ids=["as submitted", "reshaped", "conditional"])
def test_a_value_that_has_changed_is_noticed(job, column):
    with pytest.raises(DamagedRow, match="job 1: its (request|outcome) is damaged"):
        job_of({**row_of(job), column: 77})


@pytest.mark.parametrize("command", ["[1", "{}", '{"words": [], "cpus_per_task": "x"}'])
def test_a_sealed_command_that_cannot_be_understood_is_damage(command):
    row = {**row_of(JOB), "command": command}
    row["command_seal"] = seal((1, JOB.identity, command, row["environment"]))
    with pytest.raises(DamagedRow, match="job 1: its command is damaged"):
        job_of(row)


@pytest.mark.parametrize(
    "wanted", [Reshape(1, 32, 40, start_by=9, key="r", user="ada"), Answer(1, False, 5, 9, key="r", user="ada")]
)
def test_a_request_for_a_change_is_read_back_or_noticed_to_be_damaged(wanted):
    row = dict(zip(("id", "user", "client_key", "changes", "seal"), change_row(wanted), strict=True))
    assert change_of(row) == wanted
    with pytest.raises(DamagedRow, match="job 1: a request for a change is damaged"):
        change_of({**row, "changes": "[1, 1, 1, 1]"})
