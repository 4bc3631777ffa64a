"""A history is a log with named users; one that is of no use says why."""

from dataclasses import replace

import numpy as np
import pytest

from gas.errors import BadInput
from gas.prediction.history import History
from gas.prediction.present import Request
from gas.prediction.recorded import UNLIMITED
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
    """Return a log of three jobs, submitted an hour apart, that run for half of their hour."""
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


def test_jobs_without_a_time_limit_have_run_waited_and_come_like_others():
    lines = ["JobIDRaw|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|State"]
    for number, limit in enumerate(["UNLIMITED", "01:00:00", "UNLIMITED"]):
        lines.append(f"{number}|ann|{limit}|60|{FIRST}|{FIRST + 30}|{FIRST + 90}|4|COMPLETED")
    history = History.of_accounting(parse_sacct("\n".join(lines).encode(), name="accounting"))
    assert history.log("cpus").requested_time.tolist() == [UNLIMITED, HOUR, UNLIMITED]
    assert history.past(at(FIRST + HOUR)).ended == 3
    unlimited = Request(4, UNLIMITED, 0, -1)
    assert history.waits(at(FIRST + HOUR), [unlimited], 10)[0].tolist() == [30, 30]


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
    """Return the history of six jobs, alternating between two partitions; those in the second waited."""
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
    """There are too few jobs to learn the influence of the queue."""
    history, now = of_partitions(), at(FIRST + 24 * HOUR)
    numbers = history.queues()
    debug, long, any_queue = (Request(1, HOUR, 4, number) for number in (numbers["debug"], numbers["long"], -1))
    assert [one.tolist() for one in history.waits(now, [debug, None, long], 8)] == [[60, 60], [], [0, 0]]
    assert history.waits(now, [any_queue], 8)[0].tolist() == [0, 0, 60, 60]


def test_of_no_request_or_no_processors_no_waits_are_known():
    history, now = of_partitions(), at(FIRST + 24 * HOUR)
    one = Request(1, HOUR, 4, -1)
    assert [found.size for given in ([None], [one]) for found in history.waits(now, given, 0)] == [0, 0]
    assert history.waits(now, [], 8) == []


def test_waits_alike_of_a_job_that_waits_already_are_those_of_jobs_that_waited_longer(monkeypatch):
    monkeypatch.setattr("gas.prediction.history.learning_is_ready", lambda: False)
    wait = np.repeat([0, HOUR], 15)
    same = {"run_time": [60] * 30, "requested_processors": [1] * 30, "requested_time": [HOUR] * 30, "user": [4] * 30}
    now = FIRST + 100 * HOUR
    history = History.of_log(made(submit=600 * np.arange(30), wait=wait, **same))
    new, old, older = (Request(1, HOUR, 4, -1, now - age) for age in (0, 600, 2 * HOUR))
    found = history.waits(at(now), [new, old, older], 8)
    assert [sorted(set(one.tolist())) for one in found] == [[0, HOUR], [HOUR - 600], []]


@pytest.mark.parametrize("ready", [True, False])
def test_waits_are_those_of_jobs_that_met_a_queue_like_it_once_there_are_enough(monkeypatch, ready):
    """Jobs of 4 and of 7 processors are of similar size, but waited differently."""
    monkeypatch.setattr("gas.prediction.history.learning_is_ready", lambda: ready)
    wait = HOUR * (np.arange(200) % 2)
    same = {"run_time": [60] * 200, "requested_time": [HOUR] * 200, "user": [4] * 200}
    log = made(submit=600 * np.arange(200), wait=wait, requested_processors=4 + 3 * (np.arange(200) % 2), **same)
    asked = [Request(size, HOUR, 4, -1) for size in (4, 7)]
    few, many = (float(np.median(one)) for one in History.of_log(log).waits(at(FIRST + 199 * 600), asked, 8))
    assert (few == 0 and many == HOUR) if ready else few == many
