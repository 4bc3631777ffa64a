"""Schedules broken on purpose in every way that is checked: each is found, named and counted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput
from gas.simulation.allocation import Allocation
from gas.simulation.audit import PROMISE_OF, audit
from gas.simulation.files import format_schedule_csv, parse_schedule, read_schedule
from gas.simulation.recorded import UNKNOWN, Recorded, recorded
from gas.simulation.schedule import NEVER_STARTED, POLICIES, Reservation, Schedule
from gas.simulation.tables import units_of
from workloads import Header, Log, LogError, apply_overrun, rigid_jobs, scale_to_load

# On four processors: job 1 fills the machine until 10, job 2 waits for all of it, job 3 is backfilled beside nothing,
# job 4 goes beside job 3.
LOG = Log.from_columns(
    {
        "job": [1, 2, 3, 4],
        "submit": [0, 1, 2, 3],
        "run_time": [10, 20, 6, 30],
        "requested_processors": [3, 4, 1, 2],
        "requested_time": [12, 20, 8, 25],
        "status": [1, 1, 1, 1],
    },
    header=Header.of([("MaxProcs", 4), ("UnixStartTime", 1000)]),
    name="four.swf",
)
JOBS = apply_overrun(rigid_jobs(LOG))
HONEST = Schedule(
    JOBS, start=np.array([0, 10, 2, 30]), end=np.array([10, 30, 8, 55]), promise=np.array([0, 12, 2, 32]), policy="s3"
)


def changed(**columns):
    """Return the honest schedule with some values changed: ``start={2: 5}`` is that of job 2."""
    new = {}
    for name, values in columns.items():
        column = getattr(recorded(HONEST), name).copy()
        for job, value in values.items():
            column[job - 1] = value
        new[name] = column
    return replace(recorded(HONEST), **new)


def checks(given, **options):
    return {check.check: check for check in audit(given, **options).checks}


def only(given, **options):
    """Return the one check that is broken."""
    [broken] = [check for check in audit(given, **options).checks if not check.ok]
    return broken


PLACES = Allocation.of([[(0, 3)], [(0, 4)], [(3, 4)], [(0, 2)]])
"""Which processors the jobs of the honest schedule have."""


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


def test_an_honest_schedule_passes_whatever_is_asked():
    for promise in ("none", "easy", "conservative"):
        for log in (None, LOG):
            found = audit(recorded(HONEST), promise=promise, log=log)
            assert (found.ok, found.violations, found.jobs, found.processors) == (True, 0, 4, 4)
    assert set(checks(recorded(HONEST), log=LOG, promise="easy")) == {
        "jobs", "log", "submission", "end", "size", "capacity", "easy", "promise",
    }  # fmt: skip


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
        assert (check.violations, check.first.message) == (1, "job 3 is there more than once")


def test_a_job_that_is_not_in_the_log_is_found():
    check = checks(changed(id={3: 77}), log=LOG)["jobs"]
    assert check.violations == 2  # 3 is missing, and 77 is too much
    assert check.first.message == "job 3 is missing"
    extra = changed().taken(np.array([0, 1, 2, 3, 3]))
    extra = replace(extra, id=np.arange(1, 6), start=np.append(extra.start[:4], 60), end=np.append(extra.end[:4], 85))
    assert checks(extra, log=LOG)["jobs"].first.message == "job 5 is not in four.swf"
    # Nothing is expected of it, so its run time is nobody's.
    assert (checks(extra, log=LOG)["end"].checked, checks(extra, log=LOG)["end"].violations) == (4, 0)


def test_a_job_without_a_start_is_found_but_not_one_that_was_cancelled():
    lost = changed(start={3: NEVER_STARTED})
    assert only(lost, log=LOG).first.message == "job 3 has no start"
    assert only(lost).violations == 1
    cancelled = changed(start={3: NEVER_STARTED}, withdrawn={3: True}, end={3: 5})
    assert audit(cancelled, log=LOG, promise="easy").ok
    assert checks(cancelled)["jobs"].remark == "1 cancelled before they started"


def test_a_log_that_uses_a_number_twice_expects_it_twice():
    log = LOG.with_columns(job=[1, 1, 3, 4])
    schedule = replace(recorded(HONEST), id=np.array([1, 1, 3, 4]))
    assert audit(schedule, log=log).ok
    assert only(schedule.taken(np.array([0, 2, 3])), log=log).first.message == "job 1 is missing"


def test_submissions_and_sizes_that_are_not_the_logs_are_found():
    check = checks(changed(submit={2: 3}), log=LOG)["log"]
    assert (check.violations, check.first.job, check.first.by) == (1, "2", 2)
    check = only(changed(processors={3: 2}, start={3: 60}, end={3: 66}, promise={3: 60}), log=LOG)
    assert (check.check, check.violations) == ("log", 1)
    assert check.first.message == "job 3 has 2 processors, in the log 1"


def test_a_schedule_that_counts_from_another_second_is_told_so():
    honest = recorded(HONEST)
    shifted = replace(honest, **{name: getattr(honest, name) + 35 for name in ("submit", "start", "end", "promise")})
    check = only(shifted, log=LOG, promise="easy")
    assert (check.check, check.violations) == ("log", 4)
    assert "shifted by 35 s" in check.remark


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


def test_the_overrun_rule_that_the_run_times_follow_is_told():
    extended = changed(end={4: 60}, run_time={4: 30})
    assert audit(recorded(HONEST), log=LOG).overrun == "kill"
    assert audit(extended, log=LOG).overrun == "extend"
    assert audit(extended, log=LOG).ok
    assert only(extended, log=LOG, overrun="kill").first.by == 5
    assert only(recorded(HONEST), log=LOG, overrun="extend").first.by == -5


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
    assert check.remark == "50.0% of the blocked heads broken, by up to 1 s"


def test_without_estimates_easys_guarantee_cannot_be_told_and_is_not_taken_as_kept():
    blind = changed(estimate={1: -1, 2: -1, 3: -1, 4: -1})
    found = audit(blind, promise="easy")
    assert (found.ok, found.violations) == (False, 0)
    check = {check.check: check for check in found.checks}["easy"]
    assert (check.violations, check.first, check.checked) == (None, None, 0)
    assert "--log" in check.remark
    assert audit(blind, promise="easy", log=LOG).ok


def test_a_broken_promise_is_found():
    check = only(changed(promise={4: 29}), log=LOG)
    assert (check.check, check.checked, check.violations) == ("promise", 4, 1)
    assert check.first.message == "job 4 was promised a start at 29 and starts at 30: 1 s late"


def test_promises_that_are_not_recorded_cannot_be_told():
    found = audit(replace(recorded(HONEST), promise=None), promise="conservative")
    assert not found.ok
    assert "promised_start" in found.checks[-1].remark
    assert audit(replace(recorded(HONEST), promise=None)).ok


def test_reservations_take_processors_and_hide_easys_guarantee():
    held = replace(HONEST, reservations=(Reservation(0, 4, 60, 10),), reserved=np.array([60]))
    assert audit(recorded(held)).ok
    assert not audit(recorded(held), promise="easy").ok
    clash = replace(HONEST, reservations=(Reservation(0, 4, 50, 10),), reserved=np.array([50]))
    assert checks(recorded(clash))["capacity"].first.time == 50


def test_where_too_much_is_in_use_and_the_log_said_the_size_the_way_out_is_named():
    wide = replace(changed(start={2: 5}, end={2: 25}), machine=None)
    assert "that the machine has 4 is what the log says" in checks(wide, log=LOG)["capacity"].remark
    assert "--processors" in checks(wide, log=LOG)["capacity"].remark
    for told, options in ((wide, {"processors": 4}), (replace(wide, machine=4), {})):
        assert checks(told, log=LOG, **options)["capacity"].remark == ""
    assert checks(replace(recorded(HONEST), machine=None), log=LOG)["capacity"].remark == ""


def test_all_violations_are_counted_and_the_first_is_first_in_the_queue():
    check = checks(changed(start={4: 1, 3: 0}), log=LOG)["submission"]
    assert (check.violations, check.first.job) == (2, "3")


def test_the_machine_is_the_files_else_the_logs_else_asked_for():
    sizeless = replace(recorded(HONEST), machine=None)
    assert audit(sizeless, log=LOG).processors == 4
    assert audit(recorded(HONEST), processors=9).processors == 9
    with pytest.raises(BadInput, match="add --processors"):
        audit(sizeless)
    with pytest.raises(BadInput, match="1 or more"):
        audit(sizeless, processors=0)
    with pytest.raises(LogError, match="MaxProcs"):
        audit(sizeless, log=LOG.with_header(Header()))
    with pytest.raises(BadInput, match="known: none, fcfs, easy, conservative"):
        audit(sizeless, processors=4, promise="easier")


def test_jobs_without_sizes_need_the_log():
    bare = parse_schedule(b"1 0 0 10\n2 1 10 30\n3 2 2 8\n4 3 30 55\n")
    with pytest.raises(BadInput, match="--log"):
        audit(bare, processors=4)
    assert audit(bare, log=LOG, promise="easy").ok


def test_times_with_fractions_are_not_rounded():
    text = (
        "job_id,submission_time,requested_number_of_resources,requested_time,starting_time,execution_time,finish_time\n"
        "1,0.25,2,10,0.25,10,10.25\n2,1.5,2,10,{start},10,{end}\n"
    )
    fine = parse_schedule(text.format(start="10.25", end="20.25").encode())
    assert audit(fine, processors=2, promise="easy").ok
    late = checks(parse_schedule(text.format(start="10.5", end="20.5").encode()), processors=2, promise="easy")["easy"]
    assert late.first.by == 0.25
    early = checks(parse_schedule(text.format(start="10.125", end="20.125").encode()), processors=2)["capacity"]
    assert early.first.time == 10.125


def test_the_document_has_its_schema_and_no_more_than_json_can_say():
    late = changed(start={2: 13, 4: 33}, end={2: 33, 4: 58})
    document = audit(late, log=LOG, promise="easy").to_wire()
    assert (document["schema"], document["ok"], document["jobs"]) == ("gas.audit/1", False, 4)
    [easy] = [check for check in document["checks"] if check["check"] == "easy"]
    assert (easy["violations"], easy["checked"], easy["first"]["time"], easy["first"]["by"]) == (1, 2, 13, 1)
    assert easy["first"]["time_iso"] == "1970-01-01T00:16:53+00:00"  # UnixStartTime 1000


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "processors"),
    [("KTH-SP2-1996-2.1-cln", 100), ("SDSC-SP2-1998-4.2-cln", 128), ("LANL-CM5-1994-4.1-cln", 1024)],
)
def test_first_come_first_served_on_a_whole_log_keeps_every_rule(traces, tmp_path, name, processors):
    from heapq import heappop, heappush

    from workloads import read_swf

    log = read_swf(traces / f"{name}.swf.gz")
    jobs = apply_overrun(rigid_jobs(log, processors))
    start, ends, free, now = np.zeros(len(jobs), np.int64), [], processors, 0
    for job, (submit, size, run) in enumerate(
        zip(jobs.submit.tolist(), jobs.processors.tolist(), jobs.run_time.tolist(), strict=True)
    ):
        now = max(now, submit)
        while free < size or (ends and ends[0][0] <= now):
            end, freed = heappop(ends)
            now, free = max(now, end), free + freed
        start[job], free = now, free - size
        heappush(ends, (now + run, size))
    rows = zip(jobs.id.tolist(), jobs.submit.tolist(), start.tolist(), (start + jobs.run_time).tolist(), strict=True)
    path = tmp_path / "fcfs.txt"
    path.write_text("".join(f"{job} {submit} {begun} {end}\n" for job, submit, begun, end in rows))
    for promise in ("fcfs", "easy"):
        found = audit(read_schedule(path), log=log, processors=processors, promise=promise)
        assert found.ok, [check for check in found.checks if not check.ok]


def test_a_delay_of_no_second_is_none():
    assert audit(changed(start={2: 12, 4: 32}, end={2: 32, 4: 57}, promise={2: 12, 4: 32}), promise="easy").ok


def test_the_estimates_are_right_before_and_after_the_overrun_rule():
    # Job 4 runs 30 s with an estimate of 25: under "extend" some write the one, some the other.
    for estimate in (25, 30):
        assert audit(changed(end={4: 60}, run_time={4: 30}, estimate={4: estimate}), log=LOG, overrun="extend").ok
    wrong = only(changed(end={4: 60}, run_time={4: 30}, estimate={4: 26}), log=LOG, overrun="extend")
    assert (wrong.check, wrong.first.by) == ("log", 1)


def test_an_estimate_that_is_not_stated_is_not_wrong():
    assert audit(changed(estimate={1: UNKNOWN}), log=LOG).ok
    assert audit(changed(estimate={1: 10}), log=LOG).ok  # SWF without field 9 is read so


def test_a_part_of_the_log_that_is_missing_brings_a_hint_how_to_name_the_part():
    for broken in (changed().taken(np.array([0, 1])), changed(id={4: 9})):
        assert "--first" in checks(broken, log=LOG)["jobs"].remark
    assert checks(changed(), log=LOG)["jobs"].remark == ""


def test_a_log_whose_load_was_scaled_is_checked_as_it_was_scaled():
    jobs = apply_overrun(scale_to_load(rigid_jobs(LOG), 2.0))
    assert jobs.submit.tolist() != JOBS.submit.tolist()
    start = np.array([0, 200, 400, 600]) + jobs.submit[-1]
    scaled = recorded(Schedule(jobs, start=start, end=start + jobs.run_time))
    assert audit(scaled, log=LOG, load=2.0).ok
    check = only(scaled, log=LOG)
    assert check.check == "log"
    assert "--scale-load" in check.remark
    with pytest.raises(BadInput, match=r"four\.swf: cannot be scaled: load -1"):
        audit(scaled, log=LOG, load=-1)


def test_each_policys_name_stands_for_what_it_promises():
    assert set(PROMISE_OF) == {"none", *POLICIES}
    late = changed(promise={4: 29})
    for policy in ("s3", "s3-1999", "conservative", "conservative-static"):
        found = audit(late, promise=policy)
        assert (found.promise, found.violations) == ("conservative", 1)
        assert audit(replace(late, promise=None), promise=policy).checks[-1].violations is None
    with pytest.raises(BadInput, match=r"conservative-replan promises no start.*--promise none"):
        audit(late, promise="conservative-replan")


def test_promises_that_nobody_recorded_are_told_which_policies_do():
    remark = audit(replace(recorded(HONEST), promise=None), promise="conservative").checks[-1].remark
    for word in ("conservative-replan", "s3-1999", "promised_start", ".csv", "--promise fcfs, easy or none"):
        assert word in remark


HEADER = "job_id,submission_time,requested_time,starting_time,execution_time,finish_time,allocated_resources"


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        # 9.3e12 s in microseconds is more than int64 holds; 2**33 s is as far as a double holds microseconds.
        ("9300000000000,9,9300000000000,5,9300000000005,0", 'x, line 3, column "submission_time": 9300000000000 is'),
        ("0,9,1e10,5,10000000005,0", 'x, line 3, column "starting_time": 1e10 is beyond ±8589934592 s'),
        ("0,9,0,5,9e12,0", 'x, line 3, column "finish_time": 9e12 is beyond'),
        ("0,9e12,0,5,5,0", 'x, line 3, column "requested_time": 9e12 is beyond ±1152921504606 s'),
    ],
)
def test_times_too_large_for_fractions_of_seconds_are_refused(cells, message):
    text = f"{HEADER}\n1,0.5,9,0.5,5,5.5,0\n2,{cells}\n"
    with pytest.raises(BadInput) as error:
        parse_schedule(text.encode(), name="x")
    assert message in str(error.value)
    assert "write whole seconds, or count from a later second 0" in str(error.value)
    whole = text.replace(".5", "")
    assert len(parse_schedule(whole.encode())) == 2


@pytest.mark.parametrize("fields", ["9e12 0 5", "0 9e12 5", "0 0 9e12", "9e9 0 5"])
def test_swf_times_too_large_for_fractions_of_seconds_are_refused(fields):
    text = f"7 {fields} 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n8 0.5 1 1 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n"
    with pytest.raises(BadInput, match=r"^x, job 7: its .* is beyond .*; write whole seconds"):
        parse_schedule(text.encode(), name="x")
    assert len(parse_schedule(text.replace("0.5", "0").encode())) == 2


def test_a_log_with_times_too_long_for_a_schedule_in_fractions_is_refused():
    fine = parse_schedule(b"id,submit,start,end,processors\n1,0.25,0.25,10.25,3\n")
    log = LOG.select([0]).with_columns(requested_time=[9e12])
    with pytest.raises(BadInput, match=r"four\.swf, job 1: 9000000000000 s is beyond"):
        audit(fine, log=log)
    assert audit(parse_schedule(b"id,submit,start,end,processors\n1,0,0,10,3\n"), log=log).ok


def test_sums_that_would_be_rounded_are_refused():
    # 2**53 - 1 and 2 are not 2**53 + 1 for a double.
    text = b"id,submit,wait,run_time\n5,9007199254740991,2,1\n"
    with pytest.raises(BadInput, match="x, line 2, the job's start: .* is beyond"):
        parse_schedule(text, name="x")
    with pytest.raises(BadInput, match="x, line 1: 9007199254740993 is beyond"):
        parse_schedule(b"5 0 0 9007199254740993\n", name="x")


@given(seconds=st.integers(-(2**40), 2**40), micro=st.sampled_from([1, 1_000_000]))
def test_whole_seconds_are_exact_in_any_unit(seconds, micro):
    assert units_of(np.array([float(seconds)]), micro).tolist() == [seconds * micro]


def test_what_only_rounding_to_a_microsecond_makes_differ_is_not_wrong():
    text = f"{HEADER}\n1,0,9,0.3333333,0.3333333,{{end}},0\n"
    assert audit(parse_schedule(text.format(end="0.6666666").encode()), processors=1).ok
    assert not audit(parse_schedule(text.format(end="0.6666700").encode()), processors=1).ok


def test_an_estimate_with_a_fraction_is_kept():
    text = f"{HEADER}\n1,0,9.5,0,5,5,0\n"
    given_ = parse_schedule(text.encode())
    assert given_.estimate[0] / given_.resolution == 9.5


def test_sizes_whose_sum_int64_does_not_hold_are_added_up_all_the_same():
    size, jobs = 2**53 - 1, 2000
    rows = "".join(f"{job},0,0,10,{size}\n" for job in range(jobs))
    check = checks(parse_schedule(f"id,submit,start,end,processors\n{rows}".encode()), processors=4)["capacity"]
    assert (check.violations, check.first.by) == (1, size * jobs - 4)


def test_a_machine_too_large_to_be_one_is_refused():
    with pytest.raises(BadInput, match="a machine of 10000000000000000000 processors is beyond 2147483647"):
        audit(recorded(HONEST), processors=10**19)
    header = Header.of([("MaxProcs", 2**31)])
    for log in (None, LOG.with_header(header)):
        with pytest.raises(BadInput, match="name its size"):
            audit(replace(recorded(HONEST), machine=None if log else 2**31), log=log)
    assert audit(recorded(HONEST), processors=2**31 - 1).ok


def allocated(*cells, size=""):
    """Return a schedule of jobs that run one second each at the same time, on these processors."""
    rows = "".join(f'{job},0,9,0,1,1,"{cell}",{size}\n' for job, cell in enumerate(cells))
    return parse_schedule(f"{HEADER},processors\n{rows}".encode(), name="x")


def test_sets_of_processors_are_counted_without_being_written_out():
    assert allocated("0-99999999999", "7").processors.tolist() == [10**11, 1]
    assert allocated("0-3 2-5 5", "6,7").processors.tolist() == [6, 2]
    check = checks(allocated("0-99999999999", "5000000000"), processors=2**31 - 1)["resources"]
    assert (check.violations, check.first.job) == (1, "1")
    assert "on processor 5000000000, which job 0 has until 1" in check.first.message


@pytest.mark.parametrize("cell", ["0-99999999999999999999", "9" * 5000, "3-1", "node1", "1-2-3", "-"])
def test_sets_of_processors_that_cannot_be_read_are_an_error_only_where_a_size_depends_on_it(cell):
    with pytest.raises(BadInput, match='x, line 3, column "allocated_resources": ') as error:
        allocated("0-1", cell)
    assert len(str(error.value)) < 250
    stated = audit(allocated("0-1", cell, size=2), processors=4)
    assert stated.ok
    assert "resources" not in {check.check for check in stated.checks}
    assert "which processors the jobs had is not checked: line 3" in stated.remarks[0]


def test_our_own_csv_is_checked_processor_by_processor():
    given_ = parse_schedule(format_schedule_csv(HONEST, LOG))
    check = checks(given_, log=LOG)["resources"]
    assert (check.checked, check.violations) == (4, 0)


@pytest.mark.parametrize(
    "text",
    [
        "1 0 0 " + "x" * 10**6,
        "1,0,0," + "x" * 10**6,
        "id,submit,start,end\n1,0,0," + "9" * 10**5,
        "a," * 10**4 + "b\n1,2\n",
        f'{HEADER}\n1,0,9,0,1,1,"' + "1- " * 10**4 + '"\n',
    ],
)
def test_a_message_quotes_no_more_than_a_part_of_a_long_line(text):
    with pytest.raises(BadInput) as error:
        parse_schedule(text.encode(), name="x")
    assert "…" in str(error.value)
    assert len(str(error.value)) < 300


def test_a_long_name_of_a_job_is_whole_in_the_document_and_short_in_words():
    name = "j" * 1000
    check = checks(parse_schedule(f"id,submit,start,end,processors\n{name},5,0,9,1\n".encode()), processors=4)
    first = check["submission"].first
    assert first.job == name
    assert len(first.message) < 200


def test_one_long_cell_does_not_make_all_others_as_long():
    # As an array of text each of these names would take 400,000 bytes: 8 GB in all.
    rows = "".join(f"j{job},0,{job},{job},1,\n" for job in range(20_000))
    text = f"id,submit,start,end,processors,final_state\n{'j' * 100_000},0,0,9,1,{'s' * 100_000}\n{rows}"
    assert audit(parse_schedule(text.encode()), processors=4).ok


def test_an_instant_outside_of_the_calendar_has_no_date():
    late = changed(start={1: -1})
    late = replace(late, start=late.start + 10**14, end=late.end + 10**14, submit=late.submit + 10**14, epoch=5)
    [check] = [each for each in audit(late).to_wire()["checks"] if each["check"] == "submission"]
    assert (check["first"]["time"], check["first"]["time_iso"]) == (10**14 - 1, None)
