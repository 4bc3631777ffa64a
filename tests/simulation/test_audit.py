"""Schedules broken on purpose in every way that is checked: each is found, named and counted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.errors import BadInput
from gas.simulation.audit import audit
from gas.simulation.files import parse_schedule, read_schedule
from gas.simulation.recorded import UNKNOWN, Recorded, recorded
from gas.simulation.schedule import NEVER_STARTED, Reservation, Schedule
from workloads import Header, Log, LogError, apply_overrun, rigid_jobs

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
