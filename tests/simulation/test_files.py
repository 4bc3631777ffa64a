"""Schedules on disk: files state what was simulated, and every format that others use is read."""

import csv
import errno
import gzip
import io
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_schedules import JOBS, LOG, SCHEDULE

from gas.errors import BadInput
from gas.simulation.audit import audit
from gas.simulation.files import (
    CSV_COLUMNS,
    format_schedule_csv,
    format_schedule_swf,
    parse_schedule,
    read_schedule,
    write_schedule,
)
from gas.simulation.recorded import recorded
from gas.simulation.schedule import NEVER_STARTED, Reservation, Schedule
from gas.simulation.simulate import simulate
from workloads import Header, Log, LogError, apply_overrun, parse_swf, rigid_jobs

CANCELLED = Schedule(JOBS, start=np.array([0, NEVER_STARTED, 10]), end=np.array([10, 6, 20]), policy="easy")


def same(one, other):
    for name in ("id", "submit", "processors", "estimate", "start", "end", "withdrawn"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name


def test_swf_is_the_log_with_the_simulated_jobs_waits_and_run_times():
    written = parse_swf(format_schedule_swf(SCHEDULE, LOG))
    assert written.job.tolist() == [7, 8, 10]
    assert written.wait.tolist() == [0, 9, 27]
    assert written.run_time.tolist() == [10, 20, 25]  # the last one killed at its estimate
    assert written.allocated_processors.tolist() == [3, 4, 2]
    assert written.requested_processors.tolist() == [3, -1, 2]
    assert written.requested_time.tolist() == [12, -1, 25]
    assert written.status.tolist() == [1, 0, 1]
    assert written.user.tolist() == [40, 41, 43]


@pytest.mark.thorough
def test_writing_a_csv_takes_less_memory_for_each_job_than_its_text(tmp_path):
    def peak(jobs):
        columns = {"submit": np.arange(jobs), "run_time": np.ones(jobs), "requested_processors": np.ones(jobs)}
        log = Log.from_columns(columns, header=Header(("; MaxProcs: 2",)))
        rigid = rigid_jobs(log)
        tracemalloc.start()
        try:
            write_schedule(Schedule(rigid, rigid.submit, rigid.submit + 1), log, tmp_path / "x.csv")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is imported on the way does not count
    assert (peak(5000) - peak(3000)) / 2000 < 130  # bytes; a line has 140


def test_swf_keeps_the_header_and_corrects_what_is_no_longer_true():
    written = parse_swf(format_schedule_swf(SCHEDULE, LOG)).header
    assert written.acknowledgements == ("Ada of Somewhere",)
    assert written.text("Copyright") == "whoever kept it"
    assert (written.max_jobs, written.max_records, written.max_procs) == (3, 3, 4)
    first, simulated, left_out, promises = written.notes
    assert first == "a remark"
    assert "policy s3, order instant, overrun kill, 4 processors" in simulated
    assert left_out == "Jobs left out: 1 (no run time)"
    assert "promised_start" in promises


def test_swf_says_who_stood_first_in_the_queue_and_whether_walltimes_were_adjusted():
    one = simulate(JOBS, "easy", queue="wfp")
    for schedule, words in (
        (one, "policy easy, order instant, overrun kill, queue wfp, 4 processors"),
        (replace(one, adjustment="selective"), "queue wfp, selective adjustment of walltimes, 4 processors"),
    ):
        assert words in parse_swf(format_schedule_swf(schedule, LOG)).header.notes[1]


def test_swf_says_how_large_the_simulated_machine_was():
    larger = Schedule(replace(JOBS, machine=512), SCHEDULE.start, SCHEDULE.end)
    assert parse_swf(format_schedule_swf(larger, LOG)).header.max_procs == 512
    assert parse_schedule(format_schedule_swf(larger, LOG)).machine == 512


def test_swf_has_the_estimate_that_was_simulated():
    extended = apply_overrun(rigid_jobs(LOG), "extend")
    schedule = Schedule(extended, np.array([0, 10, 30]), np.array([10, 30, 60]), overrun="extend")
    assert parse_swf(format_schedule_swf(schedule, LOG)).requested_time.tolist() == [12, -1, 30]
    assert parse_schedule(format_schedule_swf(schedule, LOG)).estimate.tolist() == [12, 20, 30]


def test_swf_of_cancelled_jobs():
    written = parse_swf(format_schedule_swf(CANCELLED, LOG))
    assert written.status.tolist() == [1, 5, 5]
    assert written.run_time.tolist() == [10, -1, 10]
    assert written.wait.tolist() == [0, 5, 7]
    assert written.allocated_processors.tolist() == [3, -1, 2]
    assert written.requested_processors.tolist() == [3, 4, 2]
    assert written.requested_time.tolist() == [12, 20, 25]
    assert audit(parse_schedule(format_schedule_swf(CANCELLED, LOG)), log=LOG, promise="none").ok


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_csv_has_batsims_columns_and_what_was_promised():
    text = format_schedule_csv(SCHEDULE, LOG)
    assert text.decode().splitlines()[0].split(",") == list(CSV_COLUMNS)
    first, second, third = rows_of(text)
    assert second == {
        "job_id": "8",
        "workload_name": "tiny",
        "profile": "2",
        "submission_time": "1",
        "requested_number_of_resources": "4",
        "requested_time": "20",
        "success": "0",
        "final_state": "COMPLETED_FAILED",
        "starting_time": "10",
        "execution_time": "20",
        "finish_time": "30",
        "waiting_time": "9",
        "turnaround_time": "29",
        "stretch": "1.45",
        "allocated_resources": "0-3",
        "consumed_energy": "-1",
        "metadata": "machine=4",
        "promised_start": "12",
    }
    assert (first["final_state"], first["success"]) == ("COMPLETED_SUCCESSFULLY", "1")
    assert third["final_state"] == "COMPLETED_WALLTIME_REACHED"


def test_csv_of_cancelled_jobs():
    _, waited, ran = rows_of(format_schedule_csv(CANCELLED, LOG))
    assert (waited["final_state"], waited["allocated_resources"], waited["stretch"]) == ("REJECTED", "", "")
    assert (waited["starting_time"], waited["finish_time"], waited["waiting_time"]) == ("6", "6", "5")
    assert (ran["final_state"], ran["execution_time"], ran["promised_start"]) == ("COMPLETED_KILLED", "10", "")


@st.composite
def schedules(draw):
    """Logs that run job by job, with holes, cancellations, and jobs without estimates or of no length."""
    count = draw(st.integers(1, 12))
    whole = st.integers(0, 30)
    log = Log.from_columns(
        {
            "job": draw(st.lists(st.integers(1, 99), min_size=count, max_size=count, unique=True)),
            "submit": sorted(draw(st.lists(st.integers(-5, 30), min_size=count, max_size=count))),
            "run_time": draw(st.lists(whole, min_size=count, max_size=count)),
            "allocated_processors": draw(st.lists(st.integers(1, 8), min_size=count, max_size=count)),
            "requested_processors": draw(st.lists(st.integers(-1, 8), min_size=count, max_size=count)),
            "requested_time": draw(st.lists(st.integers(-1, 40), min_size=count, max_size=count)),
            "status": draw(st.lists(st.sampled_from([0, 1]), min_size=count, max_size=count)),
        }
    )
    overrun = draw(st.sampled_from(["kill", "extend"]))
    jobs = apply_overrun(rigid_jobs(log, 8), overrun)
    start, end, now = [], [], -5
    for submit, run in zip(jobs.submit.tolist(), jobs.run_time.tolist(), strict=True):
        now = max(now, submit) + draw(st.integers(0, 3))
        fate = draw(st.sampled_from(["ran", "ran", "cancelled", "cut"]))
        start.append(NEVER_STARTED if fate == "cancelled" else now)
        now += 0 if fate == "cancelled" else draw(st.integers(0, run)) if fate == "cut" else run
        end.append(now)
    promise = draw(st.none() | st.lists(whole, min_size=count, max_size=count))
    return log, Schedule(
        jobs, np.array(start), np.array(end), None if promise is None else np.array(promise), "s3", overrun=overrun
    )


@given(case=schedules())
def test_swf_that_is_read_again_is_what_was_simulated(case):
    log, schedule = case
    again, given_ = parse_schedule(format_schedule_swf(schedule, log)), recorded(schedule)
    same(again, given_)
    assert again.machine == 8
    found = audit(again, log=log, overrun=schedule.overrun)
    assert found.ok, found


@pytest.mark.thorough
@given(case=schedules())
def test_csv_that_is_read_again_is_what_was_simulated(case):
    log, schedule = case
    again, given_ = parse_schedule(format_schedule_csv(schedule, log)), recorded(schedule)
    same(again, given_)
    if schedule.promise is not None:
        assert again.promise.tolist() == schedule.promise.tolist()
    assert "promise" in {check.check for check in audit(again, processors=8).checks} or schedule.promise is None
    found = audit(replace(again, promise=None), log=log, processors=8, overrun=schedule.overrun)
    assert found.ok, found


def members(text):
    """Return the processors of ``0-3 7``, as evalys' reader does."""
    found = set()
    for piece in text.split():
        first, _, last = piece.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


@given(case=schedules())
def test_no_processor_is_written_twice_at_a_time_and_each_job_has_its_number(case):
    log, schedule = case
    rows = rows_of(format_schedule_csv(schedule, log))
    for number, row in enumerate(rows):
        expected = 0 if row["final_state"] == "REJECTED" else int(row["requested_number_of_resources"])
        assert len(members(row["allocated_resources"])) == expected
        assert members(row["allocated_resources"]) <= set(range(8))
        for other in rows[:number]:
            if int(other["starting_time"]) < int(row["finish_time"]) and int(row["starting_time"]) < int(
                other["finish_time"]
            ):
                assert not members(other["allocated_resources"]) & members(row["allocated_resources"])


def test_a_log_is_a_schedule_too():
    text = b"; MaxProcs: 8\n1 5 2 10 4 -1 -1 -1 60 -1 1 -1 -1 -1 -1 -1 -1 -1\n2 6 3 -1 -1 -1 -1 2 60 -1 5" + b" -1" * 7
    schedule = parse_schedule(text)
    assert schedule.machine == 8
    assert schedule.processors.tolist() == [4, 2]
    assert schedule.estimate.tolist() == [60, 60]
    assert schedule.start.tolist() == [7, NEVER_STARTED]
    assert schedule.end.tolist() == [17, 9]
    assert schedule.withdrawn.tolist() == [False, True]


def test_a_log_with_fractions_of_seconds_keeps_them():
    schedule = parse_schedule(b"1 5.5 2.25 10 4 -1 -1 -1 60 -1 1 -1 -1 -1 -1 -1 -1 -1\n")
    assert schedule.resolution == 1_000_000
    assert schedule.start.tolist() == [7_750_000]
    assert schedule.estimate.tolist() == [60_000_000]


def test_a_job_ran_on_the_processors_that_it_was_given_not_on_those_it_asked_for():
    line = b"%d 0 0 10 %d -1 -1 2 10 -1 1 1 1 -1 -1 -1 -1 -1\n"
    swf = b"; MaxProcs: 4\n" + line % (1, 500) + line % (2, -1)
    given = parse_schedule(swf, name="other.swf")
    assert given.processors.tolist() == [500, 2]
    assert not audit(given).ok


def test_a_malformed_swf_line_is_named_as_in_a_log():
    with pytest.raises(LogError, match="x, line 1: a line has 18 fields, this one 17"):
        parse_schedule(b"1 " * 17, name="x")
    with pytest.raises(LogError, match="gzip file ends too early"):
        parse_schedule(gzip.compress(b"1 0 0 10\n" * 99)[:-20])


def test_the_name_of_the_file_says_how_it_is_written(tmp_path):
    for name in ("a.swf", "a.csv", "a.swf.gz", "a.csv.gz"):
        for _ in range(2):
            write_schedule(SCHEDULE, LOG, tmp_path / name)
        same(read_schedule(tmp_path / name), recorded(SCHEDULE))
        packed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
        assert packed == name.endswith(".gz")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == format_schedule_csv(SCHEDULE, LOG)
    with pytest.raises(BadInput, match=r"its name must end in \.swf, \.csv"):
        write_schedule(SCHEDULE, LOG, tmp_path / "a.txt")
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        write_schedule(SCHEDULE, LOG, tmp_path / "no" / "a.swf")
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_schedule(tmp_path / "none.swf")


def test_standard_input_and_output(monkeypatch, capsysbinary):
    write_schedule(SCHEDULE, LOG, "-")
    written = capsysbinary.readouterr().out
    assert written == format_schedule_swf(SCHEDULE, LOG)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written)))
    same(read_schedule("-"), recorded(SCHEDULE))


@pytest.mark.parametrize("name", ["x.swf", "x.csv.gz"])
def test_a_schedule_that_cannot_be_written_whole_leaves_what_was_there(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_bytes(b"old")

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(BadInput, match="cannot be written: No space left on device"):
        write_schedule(SCHEDULE, LOG, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x.swf", "x.csv", "x.csv.gz", "-"])
def test_a_simulation_that_stands_before_its_end_is_not_written(tmp_path, capsysbinary, name):
    so_far = replace(SCHEDULE, end=np.array([10, 30, NEVER_STARTED]))
    with pytest.raises(BadInput, match="1 job has not ended"):
        write_schedule(so_far, LOG, name if name == "-" else tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert capsysbinary.readouterr().out == b""


# ------------------------------------------------------------------------------------------------ reservations


FORMATS = {"swf": format_schedule_swf, "csv": format_schedule_csv}
"""Half of the machine from 12 on for 30 s: job 8, which needs all of it, has to wait until that ends."""
BOOKED = [Reservation(0, 2, 12, 30), Reservation(-3, 1, 200, 5)]
RESERVED = simulate(JOBS, "easy", reservations=BOOKED, machine_code=False)  # nothing compiles while tests are collected


@pytest.mark.parametrize("kind", FORMATS)
def test_reservations_are_read_again_with_their_processors_and_times(kind):
    again, ours = parse_schedule(FORMATS[kind](RESERVED, LOG)), recorded(RESERVED)
    same(again, ours)
    assert again.reservation.tolist() == ours.reservation.tolist() == [False, False, False, True, True]
    assert again.machine == 4


@pytest.mark.parametrize("log", [None, LOG])
@pytest.mark.parametrize("kind", FORMATS)
def test_a_schedule_with_reservations_keeps_the_rules_and_the_easy_guarantee_cannot_be_told(kind, log):
    given = parse_schedule(FORMATS[kind](RESERVED, LOG))
    found = audit(given, log=log, promise="none")
    assert found.ok, found.checks
    assert found.jobs == 3
    easy = audit(given, log=log, promise="easy")
    [untold] = [check for check in easy.checks if not check.ok]
    assert (untold.check, untold.violations) == ("easy", None)
    assert "2 reservations held processors" in untold.remark


@pytest.mark.parametrize("kind", FORMATS)
def test_what_runs_on_the_processors_of_a_reservation_is_found(kind):
    over = replace(RESERVED, reserved=np.array([5, 200]), jobs=replace(JOBS, machine=4))
    if kind == "csv":  # which also has to say on which processors, and there are none
        with pytest.raises(ValueError, match="are free"):
            format_schedule_csv(over, LOG)
        return
    checks = {check.check: check for check in audit(parse_schedule(FORMATS[kind](over, LOG))).checks}
    first = checks["capacity"].first
    assert first.message == "from 5, when reservation 1 starts, to 10 up to 5 of 4 processors are in use"


def test_a_schedule_that_is_simulated_again_has_not_the_reservations_of_before():
    log = parse_swf(format_schedule_swf(RESERVED, LOG))
    again = simulate(rigid_jobs(log), "easy")
    assert parse_schedule(format_schedule_swf(again, log)).reservation is None


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("policy", ["easy", "fcfs", "s3", "conservative"])
@given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(0, 6)), min_size=1, max_size=6),
       booked=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(0, 20), st.integers(1, 9)),
                       min_size=1, max_size=3))  # fmt: skip
def test_no_simulation_with_reservations_is_accused(policy, rows, booked):
    submit, processors, run = (list(column) for column in zip(*sorted(rows), strict=True))
    log = Log.from_columns(
        {"submit": submit, "run_time": run, "requested_processors": processors}, header=Header.of([("MaxProcs", 4)])
    )
    made = simulate(
        rigid_jobs(log), policy, reservations=[Reservation(s, p, s + t, w) for s, p, t, w in booked], machine_code=False
    )
    for write in FORMATS.values():
        found = audit(parse_schedule(write(made, log)), log=log, promise=policy)
        assert found.violations == 0, [check for check in found.checks if check.violations]


# ---------------------------------------------------------------------------------------- the machine's size


def test_csv_says_how_large_the_simulated_machine_was():
    larger = replace(SCHEDULE, jobs=replace(JOBS, machine=512))
    given = parse_schedule(format_schedule_csv(larger, LOG))
    assert given.machine == 512
    assert audit(given, log=LOG).processors == 512
