"""Every rule that a schedule can break is broken on purpose, found, named and counted."""

from dataclasses import replace

import numpy as np
import pytest
from four_jobs import HONEST, LOG, changed, checks, only
from hypothesis import given
from hypothesis import strategies as st

from gas.simulation.allocation import Allocation
from gas.simulation.audit import audit
from gas.simulation.files import parse_schedule
from gas.simulation.recorded import UNKNOWN, Recorded, recorded
from gas.simulation.schedule import NEVER_STARTED

PLACES = Allocation.of([[(0, 3)], [(0, 4)], [(3, 4)], [(0, 2)]])
"""The processors of the honest schedule's jobs."""


def placed(pieces=None, **columns):
    return replace(changed(**columns), allocated=PLACES if pieces is None else Allocation.of(pieces))


# A schedule broken twice in each way: the check, what is asked, and the first violation: job, instant, by how much,
# words of its message.
EVERY_WAY = {
    "jobs missing": ("jobs", changed().taken(np.array([0, 3])), {"log": LOG}, ("2", None, None, "missing")),
    "jobs there twice": (
        "jobs", changed().taken(np.array([0, 1, 2, 3, 0, 2])), {}, ("1", None, None, "more than once"),
    ),
    "jobs there twice, with the log": (
        "jobs", changed().taken(np.array([0, 1, 2, 3, 0, 2])), {"log": LOG}, ("1", None, None, "more than once"),
    ),
    "jobs without a start": (
        "jobs", changed(start={2: NEVER_STARTED, 3: NEVER_STARTED}), {}, ("2", None, None, "no start"),
    ),
    "jobs that the log does not have": (
        "jobs",
        replace(changed().taken(np.array([0, 1, 2, 3, 3, 3])), id=np.arange(1, 7)),
        {"log": LOG},
        ("5", None, None, "not in four.swf"),
    ),
    "submitted at another time": ("log", changed(submit={3: 1, 4: 2}), {"log": LOG}, ("3", 1, -1, "in the log at 2")),
    "wrong sizes": ("log", changed(processors={3: 2, 4: 1}), {"log": LOG}, ("3", None, 1, "has 2 processors")),
    "wrong estimates": ("log", changed(estimate={1: 11, 3: 9}), {"log": LOG}, ("1", None, -1, "an estimate of 11 s")),
    "starts before the submission": (
        "submission", changed(start={2: 0, 3: 1}), {}, ("2", 0, 1, "1 s before its submission"),
    ),
    "wrong ends": ("end", changed(end={3: 9, 4: 54}), {}, ("3", 2, 1, "ends 7 s later")),
    "wrong ends, by the log": ("end", changed(end={3: 9, 4: 54}), {"log": LOG}, ("3", 2, 1, "in the log it runs 6 s")),
    "ends before the starts": (
        "end",
        changed(end={3: 1, 4: 29}, run_time={1: -1, 2: -1, 3: -1, 4: -1}),
        {},
        ("3", 2, -1, "1 s before that"),
    ),
    "larger than the machine": ("size", changed(), {"processors": 2}, ("1", 0, 1, "on 3 of 2 processors")),
    "one processor too many for one second": (
        "capacity",
        changed(start={3: 5, 4: 29}, end={3: 11, 4: 54}),
        {},
        ("2", 10, 1, "to 11 up to 5 of 4"),
    ),
    "a processor with two jobs": (
        "resources",
        placed([[(0, 3)], [(0, 4)], [(2, 3)], [(0, 2)]], start={4: 29}, end={4: 54}),
        {},
        ("3", 2, 1, "on processor 2, which job 1 has until 10"),
    ),
    "out of order": (
        "fcfs", changed(start={4: 9}, end={4: 34}), {"promise": "fcfs"}, ("3", 2, 8, "before job 2 (at 10)"),
    ),
    "heads delayed by a second": (
        "easy",
        changed(start={2: 13, 4: 34}, end={2: 33, 4: 59}),
        {"promise": "easy"},
        ("2", 13, 1, "shadow time was 12"),
    ),
    "promises broken by a second": ("promise", changed(promise={2: 9, 4: 29}), {}, ("2", 10, 1, "start at 9")),
}  # fmt: skip


@st.composite
def anything(draw):
    size = draw(st.integers(1, 8))
    column = st.lists(st.integers(0, 20), min_size=size, max_size=size)
    start, length, processors = draw(column), draw(column), draw(column)
    return Recorded(
        id=np.arange(size),
        submit=np.zeros(size, np.int64),
        processors=np.array(processors) + 1,
        estimate=np.ones(size, np.int64),
        run_time=np.array(length),
        start=np.array(start),
        end=np.array(start) + np.array(length),
        withdrawn=np.zeros(size, np.bool_),
    )


@pytest.mark.parametrize("way", EVERY_WAY)
def test_every_way_to_break_a_schedule_is_found_the_first_named_and_all_counted(way):
    name, broken, options, (job, time, by, words) = EVERY_WAY[way]
    found = audit(broken, **options)
    check = {check.check: check for check in found.checks}[name]
    assert check.violations == 2
    assert (check.first.job, check.first.time, check.first.by) == (job, time, by)
    assert words in check.first.message
    assert not found.ok
    document = found.to_wire()
    [told] = [each for each in document["checks"] if each["check"] == name]
    assert (document["ok"], told["violations"]) == (False, 2)
    assert {key: told["first"][key] for key in ("job", "time", "by")} == {"job": job, "time": time, "by": by}
    assert words in told["first"]["message"]


def test_every_check_that_there_is_is_broken_above():
    names = {
        check.check
        for promise in ("fcfs", "easy", "conservative")
        for check in audit(placed(), log=LOG, promise=promise).checks
    }
    assert names == {name for name, *_ in EVERY_WAY.values()}


def test_a_missing_job_is_found():
    check = only(recorded(HONEST).taken(np.array([0, 1, 3])), log=LOG)
    assert (check.check, check.violations, check.first.job) == ("jobs", 1, "3")
    assert check.first.message == "job 3 is missing"


def test_a_job_that_is_there_twice_is_found_with_and_without_the_log():
    # Job 3 has no length in this copy of it, so that it is nowhere too much.
    twice = replace(
        recorded(HONEST).taken(np.array([0, 1, 2, 3, 2])),
        end=np.array([10, 30, 8, 55, 2]),
        run_time=np.array([10, 20, 6, 25, 0]),
    )
    for log in (None, LOG):
        check = checks(twice, log=log)["jobs"]
        assert (check.violations, check.first.message) == (1, "job 3 occurs more than once")


def test_a_job_that_is_not_in_the_log_is_found():
    check = checks(changed(id={3: 77}), log=LOG)["jobs"]
    assert check.violations == 2  # 3 is missing, and 77 is too much
    assert check.first.message == "job 3 is missing"
    extra = changed().taken(np.array([0, 1, 2, 3, 3]))
    extra = replace(extra, id=np.arange(1, 6), start=np.append(extra.start[:4], 60), end=np.append(extra.end[:4], 85))
    assert checks(extra, log=LOG)["jobs"].first.message == "job 5 is not in four.swf"
    # It has no expected run time, so its run time is not checked.
    assert (checks(extra, log=LOG)["end"].checked, checks(extra, log=LOG)["end"].violations) == (4, 0)


def test_a_job_without_a_start_is_found_but_not_one_that_was_cancelled():
    lost = changed(start={3: NEVER_STARTED})
    assert only(lost, log=LOG).first.message == "job 3 has no start"
    assert only(lost).violations == 1
    cancelled = changed(start={3: NEVER_STARTED}, withdrawn={3: True}, end={3: 5})
    assert audit(cancelled, log=LOG, promise="easy").ok
    assert checks(cancelled)["jobs"].remark == "1 cancelled before they started"


def test_submissions_and_sizes_that_are_not_the_logs_are_found():
    check = checks(changed(submit={2: 3}), log=LOG)["log"]
    assert (check.violations, check.first.job, check.first.by) == (1, "2", 2)
    check = only(changed(processors={3: 2}, start={3: 60}, end={3: 66}, promise={3: 60}), log=LOG)
    assert (check.check, check.violations) == ("log", 1)
    assert check.first.message == "job 3 has 2 processors, in the log 1"


def test_a_start_before_the_submission_is_found():
    for log in (None, LOG):
        check = only(changed(start={3: 1}, end={3: 7}), log=log)
        assert (check.check, check.violations) == ("submission", 1)
        assert (check.first.job, check.first.time, check.first.by) == ("3", 1, 1)
        assert check.first.message == "job 3 starts at 1, 1 s before its submission"


def test_an_end_that_is_not_the_start_and_the_run_time_is_found():
    for end, by in ((56, 1), (54, -1)):
        for log in (None, LOG):
            check = only(changed(end={4: end}), log=log)
            assert (check.check, check.violations, check.first.job, check.first.by) == ("end", 1, "4", by)


def test_an_end_before_the_start_is_found_where_nothing_else_is_known():
    check = checks(changed(end={4: 29}, run_time={1: -1, 2: -1, 3: -1, 4: -1}))["end"]
    assert (check.violations, check.first.job) == (1, "4")
    assert "--log" in check.remark


def test_a_job_cancelled_while_it_ran_may_end_early():
    cut = changed(end={4: 40}, withdrawn={4: True}, run_time={4: UNKNOWN})
    assert audit(cut, log=LOG).ok
    assert "1 cancelled while they ran" in checks(cut, log=LOG)["end"].remark
    # But if the log's own job was cancelled, its run time is what the log says.
    assert only(cut, log=LOG.with_columns(status=[1, 1, 1, 5])).check == "end"


def test_a_job_larger_than_the_machine_is_found():
    found = checks(recorded(HONEST), processors=3)
    assert found["size"].violations == 1
    assert found["size"].first.message == "job 2 starts at 10 on 4 of 3 processors"
    assert found["size"].first.by == 1


def test_an_oversubscribed_machine_is_found():
    check = only(changed(start={4: 29}, end={4: 54}, submit={}), log=LOG)
    assert (check.check, check.violations) == ("capacity", 1)
    assert (check.first.job, check.first.time, check.first.by) == ("4", 29, 2)
    assert "from 29, when job 4 starts, to 30 up to 6 of 4 processors are in use" in check.first.message


def test_one_second_is_enough_to_oversubscribe_a_machine_and_the_worst_is_told():
    text = "id,submit,start,end,processors\n1,0,0,1,4\n2,0,0,1,1\n3,0,5,9,5\n4,0,6,7,2\n5,0,7,9,1\n"
    check = checks(parse_schedule(text.encode()), processors=4)["capacity"]
    assert (check.violations, check.first.time, check.first.by) == (2, 0, 1)
    [_, *later] = text.splitlines()
    check = checks(parse_schedule("\n".join([text.splitlines()[0], *later[2:]]).encode()), processors=4)["capacity"]
    assert (check.violations, check.first.time, check.first.by) == (1, 5, 3)
    assert "from 5, when job 3 starts, to 9 up to 7 of 4" in check.first.message


@given(schedule=anything(), machine=st.integers(20, 40))
def test_spans_of_too_many_processors_are_counted_as_looking_at_each_second_does(schedule, machine):
    used = [
        int(schedule.processors[(schedule.start <= second) & (second < schedule.end)].sum()) for second in range(45)
    ]
    rises = [second for second in range(45) if used[second] > machine and (second == 0 or used[second - 1] <= machine)]
    check = checks(schedule, processors=machine)["capacity"]
    assert check.violations == len(rises)
    assert (check.first.time if check.first else None) == (rises[0] if rises else None)


@given(schedule=anything(), submit=st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_jobs_that_overtake_are_counted_one_by_one(schedule, submit):
    schedule = replace(schedule, submit=np.array(submit[: len(schedule)]))
    queue = sorted(range(len(schedule)), key=lambda row: schedule.submit[row])
    late = [
        row
        for place, row in enumerate(queue)
        if any(schedule.start[earlier] > schedule.start[row] for earlier in queue[:place])
    ]
    check = checks(schedule, processors=99, promise="fcfs")["fcfs"]
    assert check.violations == len(late)
    assert (check.first.job if check.first else None) == (str(late[0]) if late else None)


def test_backfilling_is_not_first_come_first_served():
    check = only(recorded(HONEST), promise="fcfs")
    assert (check.check, check.violations, check.first.job, check.first.by) == ("fcfs", 1, "3", 8)
    assert check.first.message.endswith("8 s before job 2 (at 10), which was submitted first")


def test_a_delayed_head_is_found_with_the_instants():
    late = changed(start={2: 13, 4: 33}, end={2: 33, 4: 58}, promise={2: 13, 4: 33})
    check = only(late, log=LOG, promise="easy")
    assert (check.check, check.checked, check.violations) == ("easy", 2, 1)
    assert (check.first.job, check.first.time, check.first.by) == ("2", 13, 1)
    assert check.first.message == (
        "job 2 (4 processors) became head of the queue at 1, its shadow time was 12, it starts at 13: 1 s late"
    )
    assert check.remark == "50.0% of the blocked heads start late, by up to 1 s"


def test_a_broken_promise_is_found():
    check = only(changed(promise={4: 29}), log=LOG)
    assert (check.check, check.checked, check.violations) == ("promise", 4, 1)
    assert check.first.message == "job 4 was promised a start at 29 and starts at 30: 1 s late"


def test_a_delay_of_no_second_is_none():
    assert audit(changed(start={2: 12, 4: 32}, end={2: 32, 4: 57}, promise={2: 12, 4: 32}), promise="easy").ok
