"""gas why: what is printed of a record."""

import pytest

from gas.cli.why import explained

NOW = 1_800_000_000
RECORD = {
    "now": NOW, "reason": "a reason", "partitions": [], "expected": None, "provided": None, "never": False,
    "way_out": None, "no_plan_because": None, "sooner": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({}, ["not known"]),
        ({"never": True, "way_out": "cancel it", "no_plan_because": "it waits"}, ["never; cancel it"]),
        ({"never": True}, ["never"]),
        (
            {"expected": NOW + 5220, "provided": "job 1 succeeds", "sooner": []},
            [
                "in 1h27m (2027-01-15T09:27:00Z) if job 1 succeeds",
                "none of the changes tried (less time, fewer processors, other partitions and QOS) starts it sooner",
            ],
        ),
    ],
)
def test_the_expected_start_is_said_with_its_condition_or_the_way_out(about, words):
    assert explained(RECORD | about)[1:] == [f"expected: {words[0]}", *words[1:]]


def test_a_limit_that_forbids_a_job_is_said_to():
    words = 'partition "main" allows 1,440 minutes per job (MaxTime), and 3,000 are requested'
    met = {"reason": "PartitionTimeLimit", "words": words, "outcome": "never", "release": None}
    partition = {
        "name": "main", "ahead": {"jobs": 0}, "priority": {"by_submission": True, "unknown": []},
        "limits": {"met": [met], "unknown": []},
    }  # fmt: skip
    found = explained(RECORD | {"partitions": [partition], "never": True})
    assert f"limit: {words} (PartitionTimeLimit); it will never start" in found
