"""The audit of a schedule: which rules it must keep, and the report on rules that cannot be checked."""

from dataclasses import replace

import numpy as np
import pytest
from four_jobs import HEADER, HONEST, JOBS, LOG, changed, checks, only

from gas.errors import BadInput
from gas.simulation.audit import PROMISE_OF, audit
from gas.simulation.files import format_schedule_csv, parse_schedule, read_schedule
from gas.simulation.recorded import UNKNOWN, recorded
from gas.simulation.schedule import POLICIES, Reservation, Schedule
from workloads import Header, apply_overrun, rigid_jobs, scale_to_load


def test_an_honest_schedule_passes_whatever_is_asked():
    for promise in ("none", "easy", "conservative"):
        for log in (None, LOG):
            found = audit(recorded(HONEST), promise=promise, log=log)
            assert (found.ok, found.violations, found.jobs, found.processors) == (True, 0, 4, 4)
    assert set(checks(recorded(HONEST), log=LOG, promise="easy")) == {
        "jobs", "log", "submission", "end", "size", "capacity", "easy", "promise",
    }  # fmt: skip


def test_a_log_that_uses_a_number_twice_expects_it_twice():
    log = LOG.with_columns(job=[1, 1, 3, 4])
    schedule = replace(recorded(HONEST), id=np.array([1, 1, 3, 4]))
    assert audit(schedule, log=log).ok
    assert only(schedule.taken(np.array([0, 2, 3])), log=log).first.message == "job 1 is missing"


def test_a_schedule_that_counts_from_another_second_is_told_so():
    honest = recorded(HONEST)
    shifted = replace(honest, **{name: getattr(honest, name) + 35 for name in ("submit", "start", "end", "promise")})
    check = only(shifted, log=LOG, promise="easy")
    assert (check.check, check.violations) == ("log", 4)
    assert "shifted by 35 s" in check.remark


def test_the_overrun_rule_that_the_run_times_follow_is_told():
    extended = changed(end={4: 60}, run_time={4: 30})
    assert audit(recorded(HONEST), log=LOG).overrun == "kill"
    assert audit(extended, log=LOG).overrun == "extend"
    assert audit(extended, log=LOG).ok
    assert only(extended, log=LOG, overrun="kill").first.by == 5
    assert only(recorded(HONEST), log=LOG, overrun="extend").first.by == -5


def test_without_estimates_easys_guarantee_cannot_be_told_and_is_not_taken_as_kept():
    blind = changed(estimate={1: -1, 2: -1, 3: -1, 4: -1})
    found = audit(blind, promise="easy")
    assert (found.ok, found.violations) == (False, 0)
    check = {check.check: check for check in found.checks}["easy"]
    assert (check.violations, check.first, check.checked) == (None, None, 0)
    assert "--log" in check.remark
    assert audit(blind, promise="easy", log=LOG).ok


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
    assert "the size of the machine, 4, is that of the log" in checks(wide, log=LOG)["capacity"].remark
    assert "--processors" in checks(wide, log=LOG)["capacity"].remark
    for told, options in ((wide, {"processors": 4}), (replace(wide, machine=4), {})):
        assert checks(told, log=LOG, **options)["capacity"].remark == ""
    assert checks(replace(recorded(HONEST), machine=None), log=LOG)["capacity"].remark == ""


def test_all_violations_are_counted_and_the_first_is_first_in_the_queue():
    check = checks(changed(start={4: 1, 3: 0}), log=LOG)["submission"]
    assert (check.violations, check.first.job) == (2, "3")


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


def test_the_estimates_are_right_before_and_after_the_overrun_rule():
    # Job 4 runs 30 s with an estimate of 25: under "extend" some simulators write 30, some 25.
    for estimate in (25, 30):
        assert audit(changed(end={4: 60}, run_time={4: 30}, estimate={4: estimate}), log=LOG, overrun="extend").ok
    wrong = only(changed(end={4: 60}, run_time={4: 30}, estimate={4: 26}), log=LOG, overrun="extend")
    assert (wrong.check, wrong.first.by) == ("log", 1)


def test_an_estimate_that_is_not_stated_is_not_wrong():
    assert audit(changed(estimate={1: UNKNOWN}), log=LOG).ok
    assert audit(changed(estimate={1: 10}), log=LOG).ok  # SWF without field 9 is read like this


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


@pytest.mark.parametrize(("rule", "taken"), [("kill", "as killed ("), ("extend", "to run on")])
def test_the_treatment_of_overruns_is_in_words(rule, taken):
    remark = checks(changed(), log=LOG, overrun=rule)["end"].remark
    assert remark.startswith(f"jobs that exceed their estimate are taken {taken}")
    assert remark.endswith(f"(--overrun {rule})")


def test_promises_that_nobody_recorded_are_told_which_policies_do():
    remark = audit(replace(recorded(HONEST), promise=None), promise="conservative").checks[-1].remark
    for word in ("conservative-replan", "s3-1999", "promised_start", ".csv", "--promise fcfs, easy or none"):
        assert word in remark


def test_what_only_rounding_to_a_microsecond_makes_differ_is_not_wrong():
    text = f"{HEADER}\n1,0,9,0.3333333,0.3333333,{{end}},0\n"
    assert audit(parse_schedule(text.format(end="0.6666666").encode()), processors=1).ok
    assert not audit(parse_schedule(text.format(end="0.6666700").encode()), processors=1).ok


def test_a_machine_too_large_to_be_one_is_refused():
    with pytest.raises(BadInput, match="a machine of 10000000000000000000 processors is beyond 2147483647"):
        audit(recorded(HONEST), processors=10**19)
    header = Header.of([("MaxProcs", 2**31)])
    for log in (None, LOG.with_header(header)):
        with pytest.raises(BadInput, match="give its size"):
            audit(replace(recorded(HONEST), machine=None if log else 2**31), log=log)
    assert audit(recorded(HONEST), processors=2**31 - 1).ok


def allocated(*cells, size=""):
    """Return a schedule of jobs that all run in the same second, on these processors."""
    rows = "".join(f'{job},0,9,0,1,1,"{cell}",{size}\n' for job, cell in enumerate(cells))
    return parse_schedule(f"{HEADER},processors\n{rows}".encode(), name="x")


def test_sets_of_processors_are_counted_without_being_written_out():
    assert allocated("0-99999999999", "7").processors.tolist() == [10**11, 1]
    assert allocated("0-3 2-5 5", "6,7").processors.tolist() == [6, 2]
    check = checks(allocated("0-99999999999", "5000000000"), processors=2**31 - 1)["resources"]
    assert (check.violations, check.first.job) == (1, "1")
    assert "on processor 5000000000, which job 0 has until 1" in check.first.message


def test_our_own_csv_is_checked_processor_by_processor():
    given_ = parse_schedule(format_schedule_csv(HONEST, LOG))
    check = checks(given_, log=LOG)["resources"]
    assert (check.checked, check.violations) == (4, 0)


def test_an_instant_outside_of_the_calendar_has_no_date():
    late = changed(start={1: -1})
    late = replace(late, start=late.start + 10**14, end=late.end + 10**14, submit=late.submit + 10**14, epoch=5)
    [check] = [each for each in audit(late).to_wire()["checks"] if each["check"] == "submission"]
    assert (check["first"]["time"], check["first"]["time_iso"]) == (10**14 - 1, None)
