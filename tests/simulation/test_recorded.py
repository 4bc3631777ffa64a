"""A schedule as a file states it: missing facts have to be given, values too large to sum are refused."""

from dataclasses import replace

import pytest
from four_jobs import HEADER, HONEST, LOG, checks

from gas.errors import BadInput
from gas.simulation.audit import audit
from gas.simulation.files import parse_schedule
from gas.simulation.recorded import recorded
from workloads import Header, LogError


def test_the_machine_is_the_files_else_the_logs_else_asked_for():
    sizeless = replace(recorded(HONEST), machine=None)
    assert audit(sizeless, log=LOG).processors == 4
    assert audit(recorded(HONEST), processors=9).processors == 9
    with pytest.raises(BadInput, match="add --processors"):
        audit(sizeless)
    with pytest.raises(BadInput, match="at least 1"):
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


def test_an_estimate_with_a_fraction_is_kept():
    text = f"{HEADER}\n1,0,9.5,0,5,5,0\n"
    given_ = parse_schedule(text.encode())
    assert given_.estimate[0] / given_.resolution == 9.5


def test_sizes_whose_sum_int64_does_not_hold_are_added_up_all_the_same():
    size, jobs = 2**53 - 1, 2000
    rows = "".join(f"{job},0,0,10,{size}\n" for job in range(jobs))
    check = checks(parse_schedule(f"id,submit,start,end,processors\n{rows}".encode()), processors=4)["capacity"]
    assert (check.violations, check.first.by) == (1, size * jobs - 4)


def test_a_long_name_of_a_job_is_whole_in_the_document_and_short_in_words():
    name = "j" * 1000
    check = checks(parse_schedule(f"id,submit,start,end,processors\n{name},5,0,9,1\n".encode()), processors=4)
    first = check["submission"].first
    assert first.job == name
    assert len(first.message) < 200
