"""Classes of a log's jobs: their names, their jobs, and the outcomes of each."""

import numpy as np
import pytest

from gas.errors import BadInput
from gas.simulation.classes import JobClass, class_documents, parse_classes, priorities_of
from gas.simulation.simulate import simulate
from workloads import Log, rigid_jobs
from workloads.header import Header

ROWS = 6
LOG = Log.from_columns(
    {
        "submit": [0] * ROWS,
        "run_time": [5] * ROWS,
        "requested_processors": [2] * ROWS,
        "requested_time": [10] * ROWS,
        "user": [1, 1, 2, 3, 3, 4],
        "queue": [0, 0, 0, 7, 7, 7],
    },
    header=Header.of([("MaxProcs", 2)]),
    name="small",
)
JOBS = rigid_jobs(LOG)


def priorities(*texts):
    return priorities_of(parse_classes(texts), JOBS, LOG).tolist()


def test_jobs_of_no_class_come_last_unless_a_name_alone_says_where():
    assert parse_classes([]) == ()
    assert parse_classes(["a=user:1,2"]) == (JobClass("a", "user", (1, 2)), JobClass("others"))
    assert priorities("a=user:3", "b=user:1") == [1, 1, 0, 2, 2, 0]
    assert priorities("a=user:3", "rest", "b=user:1") == [-1, -1, 0, 1, 1, 0]


def test_a_job_is_of_the_first_class_that_names_it():
    assert priorities("a=user:3", "b=queue:7") == [0, 0, 0, 2, 2, 1]
    assert priorities("b=queue:7", "a=user:3,1") == [1, 1, 0, 2, 2, 2]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a=3"], "write NAME=FIELD:NUMBER,NUMBER, for example urgent=user:3,17"),
        (["a=executable:3"], "FIELD is one of user, group, queue, partition"),
        (["a b=user:3"], "write NAME"),
        (["a=user:3", "a=user:4"], "--class a: occurs twice"),
        (["others=user:3"], "--class others: is the name of all other jobs"),
        (["a", "b"], "a and b both take all other jobs"),
    ],
)
def test_classes_that_cannot_be_are_refused(texts, message):
    with pytest.raises(BadInput, match=message):
        parse_classes(texts)


def test_a_class_of_nobody_is_refused_with_those_that_there_are():
    with pytest.raises(BadInput, match="--class a: no simulated job has such a user; the log has 1, 2, 3, 4"):
        priorities("a=user:9")
    with pytest.raises(BadInput, match="no simulated job has such a partition; the log has none"):
        priorities("a=partition:1")


def test_each_class_has_figures_of_its_own_jobs_also_under_a_policy_without_classes():
    classes = parse_classes(["a=user:4", "b=user:3"])
    of_jobs = priorities_of(classes, JOBS, LOG)
    schedule = simulate(JOBS, "s3", priorities=of_jobs, machine_code=False)
    # Each job ends 5 s early: the last one moves into that hole only where it is as long as its walltime, so all slide.
    assert schedule.start.tolist() == [0, 5, 10, 15, 20, 25]
    found = class_documents(classes, of_jobs, schedule)
    assert [(each["class"], each["jobs"], each["mean_wait"]) for each in found] == [
        ("a", 1, 25), ("b", 2, 17.5), ("others", 3, 5)
    ]  # fmt: skip
    easy = class_documents(classes, of_jobs, simulate(JOBS, "easy", machine_code=False))
    assert [each["mean_wait"] for each in easy] == [25, 17.5, 5]
    assert np.count_nonzero(of_jobs) == 3
