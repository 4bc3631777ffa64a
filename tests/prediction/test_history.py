"""A history is a log whose users have names; one that tells nothing says why."""

from dataclasses import replace

import numpy as np
import pytest

from gas.errors import BadInput
from gas.prediction.history import History
from gas.prediction.snapshot import Snapshot
from workloads import Header, Log, LogError
from workloads.sacct import parse_sacct

HOUR = 3600
FIRST = 1_700_000_000
NO_JOBS = np.zeros(0, np.int64)


def at(now, machine=10):
    """Return an empty machine."""
    return Snapshot(now, machine, NO_JOBS, NO_JOBS, NO_JOBS, np.zeros(0, bool), NO_JOBS)


def made(**columns):
    """Return a log of three jobs that are submitted an hour apart and run for half of their hour."""
    known = {
        "submit": [0, HOUR, 2 * HOUR],
        "wait": [0, 0, 0],
        "run_time": [1800, 1800, 1800],
        "requested_processors": [1, 1, 20],
        "requested_time": [HOUR, HOUR, HOUR],
        "user": [4, 7, 4],
    }
    header = Header.of([("Version", "2.2"), ("UnixStartTime", FIRST), ("TimeZoneString", "UTC")])
    return Log.from_columns(known | columns, header=header, name="made.swf")


def test_in_a_log_the_name_of_a_user_is_their_number():
    assert History.of_log(made()).users == {"4": 4, "7": 7}
    assert History.of_log(made(user=[-1, 7, 7])).users == {"7": 7}
    assert History.of_log(made(), {"ann": 4, "bob": 7}).users == {"ann": 4, "bob": 7}


def test_what_has_ended_by_then_on_a_machine_of_that_size_is_learnt():
    history = History.of_log(made())
    assert history.past(at(FIRST + 1799 + HOUR)).ended == 1
    assert history.past(at(FIRST + 1800 + HOUR)).ended == 2
    assert history.past(at(FIRST + 9 * HOUR)).ended == 2
    assert history.past(at(FIRST + 9 * HOUR, machine=20)).ended == 3


def test_accounting_is_counted_in_the_unit_that_is_asked_for():
    lines = [
        "JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|AllocNodes|State",
        f"1|ann|01:00:00|60|{FIRST}|{FIRST}|{FIRST + 60}|16|4|COMPLETED",
        "2|bob",
    ]
    history = History.of_accounting(parse_sacct("\n".join(lines).encode(), name="accounting", lenient=True))
    assert (history.name, history.users) == ("accounting", {"ann": 0})
    assert history.remarks == (
        "accounting: 1 malformed line left out: another number of fields than the header (line 3)",
    )
    assert history.past(at(FIRST + HOUR), "nodes").ended == 1
    with pytest.raises(BadInput, match="accounting: none of its 1 job fits 10 processors and had ended by 2023-11-14T"):
        history.past(at(FIRST + HOUR), "cpus")
    without = parse_sacct("\n".join(line.replace("|AllocNodes", "") for line in lines[:1]).encode(), name="accounting")
    with pytest.raises(LogError, match="add AllocNodes"):
        History.of_accounting(without).past(at(FIRST), "nodes")


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (Log.from_columns({}, name="made.swf"), "made.swf: has no jobs"),
        (made(wait=[-1, -1, -1]), "its wait times are unknown, .*; gas simulate made.swf --output hist.swf writes"),
        (made(run_time=[-1, -1, -1]), "its run times are unknown"),
        (made(requested_time=[-1, -1, -1]), "has no requested walltimes"),
        (made(requested_processors=[11, 11, 11]), "none of its 3 jobs fits 10 processors"),
    ],
)
def test_a_log_that_tells_nothing_says_why(log, told):
    with pytest.raises(BadInput, match=told):
        History.of_log(log).past(at(FIRST + 9 * HOUR))


def of_partitions():
    """Return the history of six jobs, by turns in two partitions; those in the second waited."""
    header = Header.of(
        [("Version", "2.2"), ("UnixStartTime", FIRST), ("TimeZoneString", "UTC"),
         ("Partition", "1 long"), ("Partition", "2 debug")]
    )  # fmt: skip
    same = {"run_time": [1800] * 6, "requested_processors": [1] * 6, "requested_time": [HOUR] * 6, "user": [4] * 6}
    submit = [0, 1, 2 * HOUR, 3 * HOUR, 24 * HOUR, 24 * HOUR]
    log = made(submit=submit, wait=[0, 60] * 3, partition=[1, 2] * 3, **same)
    return History.of_log(replace(log, header=header))


def test_arrivals_are_those_of_the_partitions_that_compete():
    history, day = of_partitions(), FIRST + 24 * HOUR
    past = history.past(at(day + 1))

    def coming(*names):
        return history.of_queues(past, names).arrivals(day + 1, 12 * HOUR).jobs[0, 0].tolist()

    assert coming("long") == [day + 2 * HOUR]
    assert coming("debug") == [day + 3 * HOUR]
    assert coming("long", "debug") == coming("unheard of") == [day + 2 * HOUR, day + 3 * HOUR]


def test_waits_alike_are_those_of_the_same_partition_where_that_is_known():
    history, now = of_partitions(), at(FIRST + 24 * HOUR)
    found = history.similar("cpus", now, [(1, HOUR)] * 2, [("gone", "debug"), ("long",)])
    assert [one.tolist() for one in found] == [[60, 60], [0, 0]]
    assert history.similar("cpus", now, [(1, HOUR)], [()])[0].tolist() == [0, 0, 60, 60]
