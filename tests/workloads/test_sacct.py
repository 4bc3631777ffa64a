"""Output of sacct, read into a log. All of it is made up."""

import gzip
from datetime import UTC, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from workloads import LogError, rigid_jobs
from workloads.sacct import parse_sacct, read_sacct
from workloads.sacct_header import is_sacct
from workloads.selection import months_of

HEADER = "JobID|User|Account|Timelimit|Elapsed|Submit|Start|End|AllocCPUS|NNodes|State"
FIRST = "101|ann|physics|01:00:00|00:10:05|2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T08:11:05|16|2|COMPLETED"


BERLIN = ZoneInfo("Europe/Berlin")


def read(*lines, header=HEADER, lenient=False, zone=UTC):
    return parse_sacct("\n".join((header, *lines, "")).encode(), lenient=lenient, zone=zone)


def line(**changed):
    """Return the first line with other fields."""
    cells = dict(zip(HEADER.split("|"), FIRST.split("|"), strict=True)) | changed
    return "|".join(cells.values())


def one(**changed):
    """Return the only job of a line with other fields, as a log."""
    log = read(line(**changed)).log()
    assert len(log) == 1
    return log


# ------------------------------------------------------------------------------------------------------------- fields


def test_a_line_is_a_job():
    found = read(FIRST)
    log = found.log()
    assert log.start_time == 1714550400  # date -u -d 2024-05-01T08:00:00 +%s
    assert (log.submit.tolist(), log.wait.tolist(), log.run_time.tolist()) == ([0], [60], [605])
    assert (log.requested_time.tolist(), log.allocated_processors.tolist()) == ([3600], [16])
    assert (log.user.tolist(), log.group.tolist(), log.status.tolist()) == ([0], [0], [1])
    assert (found.users, found.accounts) == ({"ann": 0}, {"physics": 0})
    assert log.warnings == ()


def test_fields_come_in_any_order_with_others_among_them():
    header = "State|Start|JobName|JobID|End|User|AllocCPUS|Timelimit|Submit|Elapsed"
    log = read(
        "FAILED|2024-05-01T09:00:00|a b|7|2024-05-01T09:00:30|bob|4|1-00:00:00|2024-05-01T08:59:00|00:00:30",
        header=header,
    ).log()
    assert (log.run_time.tolist(), log.requested_time.tolist(), log.status.tolist()) == ([30], [86_400], [0])
    assert log.group.tolist() == [-1]


def test_jobs_of_a_name_are_of_an_executable_and_the_name_may_have_bars_where_it_comes_last():
    lines = [f"{line(JobID=str(id))}|{name}" for id, name in enumerate(["train", "a|b c", "", "train"])]
    found = read(*lines, header=f"{HEADER}|JobName")
    assert found.names == {"train": 0, "a|b c": 1}
    assert found.log().executable.tolist() == [0, 1, -1, 0]
    assert read(FIRST).log().executable.tolist() == [-1]


def test_raw_fields_are_seconds_and_minutes():
    header = HEADER.replace("Timelimit", "TimelimitRaw").replace("Elapsed", "ElapsedRaw")
    log = read(line(Timelimit="90", Elapsed="605"), header=header).log()
    assert (log.requested_time.tolist(), log.run_time.tolist()) == ([5400], [605])


def test_counts_may_have_a_fraction_of_nought_as_pandas_writes_columns_with_gaps():
    assert one(AllocCPUS="16.0").allocated_processors.tolist() == [16]


def test_parsable_with_a_bar_at_the_end_of_each_line_is_read_too():
    log = read(f"{FIRST}|", header=f"{HEADER}|").log()
    assert log.run_time.tolist() == [605]


def test_nodes_are_the_processors_where_they_are_asked_for():
    found = read(FIRST)
    assert found.log("nodes").allocated_processors.tolist() == [2]
    only = read("|".join(FIRST.split("|")[:9]), header="|".join(HEADER.split("|")[:9]))
    with pytest.raises(LogError, match=r"does not say how many nodes jobs had; add AllocNodes"):
        only.log("nodes")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:01", 1), ("10:00", 600), ("1-02:03:04", 93_784), ("100:00:00", 360_000), ("00:01:00.500", 60)],
)
def test_durations(text, seconds):
    assert one(Elapsed=text).run_time.tolist() == [seconds]


@pytest.mark.parametrize(
    ("state", "status"),
    [("COMPLETED", 1), ("FAILED", 0), ("TIMEOUT", 0), ("CANCELLED by 1000", 5), ("CANCELLED+", 5), ("REQUEUED", -1)],
)
def test_states(state, status):
    assert one(State=state).status.tolist() == [status]


def test_without_elapsed_a_job_ran_from_its_start_to_its_end():
    header = HEADER.replace("Elapsed", "JobName")
    assert read(line(Elapsed="x"), header=header).log().run_time.tolist() == [605]


# ------------------------------------------------------------------------------------------------------- instants


def test_instants_are_in_the_zone_that_is_given():
    east = timezone(timedelta(hours=2))
    assert read(FIRST, zone=east).log().start_time == read(FIRST).log().start_time - 7200


def test_instants_may_be_epoch_seconds():
    log = one(Submit="1714550000", Start="1714550100", End="1714550705")
    assert (log.start_time, log.wait.tolist()) == (1714550000, [100])


def test_at_the_end_of_summer_time_events_stay_in_their_order():
    """The hour from 2:00 occurs twice: a wait of 20 minutes became one of -40, and the run a malformed line."""
    columns = "JobID|User|Submit|Start|End|Timelimit|AllocCPUS"
    night = "2026-10-25T"
    waits = read(f"1|ann|{night}02:50:00|{night}02:10:00|{night}02:40:00|01:00:00|4", header=columns, zone=BERLIN).log()
    assert (waits.wait.tolist(), waits.run_time.tolist()) == ([1200], [1800])
    runs = read(f"1|ann|{night}02:10:00|{night}02:50:00|{night}02:20:00|01:00:00|4", header=columns, zone=BERLIN).log()
    assert (runs.wait.tolist(), runs.run_time.tolist()) == ([2400], [1800])
    held = "JobID|User|Submit|Eligible|Start|End|Timelimit|AllocCPUS"
    line = f"1|ann|{night}01:00:00|{night}02:45:00|{night}02:05:00|{night}03:05:00|01:00:00|4"
    assert read(line, header=held, zone=BERLIN).log().wait.tolist() == [1200]


@pytest.mark.parametrize(
    ("zone", "named", "month"),
    [(BERLIN, "Europe/Berlin", "2024-05"), (UTC, "UTC", "2024-05"), (timezone(timedelta(hours=2)), "UTC", "2024-04")],
)
def test_months_begin_in_the_zone_of_the_instants(zone, named, month):
    """The first half hour of May in Berlin belonged to April."""
    log = read(line(Submit="2024-05-01T00:30:00"), zone=zone).log()
    assert log.header.time_zone_string == named
    assert months_of(log.submit, log.epoch)[0] == [month]


@pytest.mark.parametrize(
    ("variable", "named"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("UTC-03:00", "UTC"),
        ("", "UTC"),
        ("/x", "UTC"),
    ],
)
def test_the_zone_of_this_machine_has_a_name(monkeypatch, variable, named):
    import time

    monkeypatch.setenv("TZ", variable)
    time.tzset()
    try:
        assert read(FIRST, zone=None).log().header.time_zone_string == named
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_zone_of_this_machine_is_the_default(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC-03:00")  # POSIX: three hours east
    time.tzset()
    try:
        assert read(FIRST, zone=None).log().start_time == 1714550400 - 3 * 3600
    finally:
        monkeypatch.undo()
        time.tzset()


def test_jobs_are_in_the_order_of_their_submission():
    nine = "2024-05-01T09:00:00"
    later = line(JobID="90", User="bob", Submit=nine, Start=nine, End="2024-05-01T09:10:05")
    log = read(later, FIRST).log()
    assert log.submit.tolist() == [0, 3600]
    assert log.user.tolist() == [1, 0]  # numbers go by appearance


@pytest.mark.parametrize("end", ["Unknown", "None", ""])
def test_jobs_that_still_run_are_left_out_and_counted(end):
    found = read(FIRST, line(JobID="102", End=end, State="RUNNING"))
    assert (len(found.log()), found.left_out) == (1, {"not ended": 1})
    without_end = [each.replace("|2024-05-01T08:11:05", "") for each in (FIRST, line(JobID="2", State="SUSPENDED"))]
    assert read(*without_end, header=HEADER.replace("|End", "")).left_out == {"not ended": 1}


def test_all_that_is_left_out_is_one_remark():
    running = line(JobID="102", End="Unknown", State="RUNNING")
    pending = line(JobID="103", Start="Unknown", End="Unknown", State="PENDING")
    remarks = read(FIRST, running, pending, pending.replace("103", "104")).remarks
    assert remarks == ("sacct: 3 jobs left out: 1 not ended, 2 not started",)


def test_a_start_before_the_submission_is_said():
    """Resized jobs have one, and jobs from before a clock was set."""
    early = line(JobID="102", Start="2024-05-01T07:59:00", End="2024-05-01T08:09:05")
    log = read(FIRST, early).log()
    assert (log.submit.tolist(), log.wait.tolist()) == ([0, 60], [0, 60])
    assert log.warnings == ("sacct: 1 job with Start before Submit: taken as submitted when they started (line 3)",)


# ------------------------------------------------------------------------------------------- what counts, and what not


def test_steps_are_left_out_and_array_tasks_and_components_kept():
    ids = ["101", "101.batch", "101.extern", "101.0", "102_7", "102_7.batch", "103+0", "103+1", "103+1.0"]
    found = read(*(line(JobID=id) for id in ids))
    assert len(found.log()) == 4
    assert found.remarks == ()


def test_jobs_that_have_not_started_are_left_out_and_counted():
    found = read(
        FIRST,
        line(JobID="102", Start="Unknown", End="Unknown", State="PENDING"),
        line(JobID="103_[4-9%2]", Start="Unknown", End="Unknown", State="PENDING"),
        line(JobID="104", Start="None", State="CANCELLED by 0"),
        line(JobID="105", Elapsed="00:00:00", AllocCPUS="0", NNodes="0", State="CANCELLED by 0"),
    )
    assert len(found.log()) == 1
    assert found.left_out == {"not started": 4}
    assert found.log().warnings == ("sacct: 4 jobs left out: not started",)


def test_a_job_cancelled_while_it_waited_has_no_nodes_though_it_has_a_start_and_the_cpus_it_asked_for():
    """As in the output of sacct of Slurm 22.05."""
    header = "JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|AllocNodes|State"
    found = read(
        "1|ann|00:05:00|1|1795335773|1795335773|1795335774|3|1|COMPLETED",
        "2|ann|00:04:00|0|1795335773|1795335774|1795335774|4|1|CANCELLED by 0",  # in its first second
        "9|ann|00:10:00|0|1795335773|1795335779|1795335779|16|0|CANCELLED by 0",
        "4|ann|00:01:00|0|1795335773|None|1795335778|16|0|DEADLINE",
        header=header,
    )
    assert found.log("cpus").allocated_processors.tolist() == [3, 4]
    assert found.log("nodes").allocated_processors.tolist() == [1, 1]
    assert found.left_out == {"not started": 2}


@pytest.mark.parametrize("state", ["CANCELLED by 1000", "DEADLINE"])
def test_without_allocated_nodes_who_was_withdrawn_within_no_time_counts_as_not_started(state):
    found = read(FIRST, line(JobID="102", Elapsed="00:00:00", State=state))
    assert (len(found.log()), found.left_out) == (1, {"not started": 1})
    assert len(read(line(Elapsed="00:00:00", State="FAILED")).log()) == 1


def test_of_a_job_that_was_resized_only_the_last_part_counts_which_has_all_of_its_time():
    """As in the output of sacct of Slurm 22.05: the instant of the change is the submission of the last part."""
    header = "JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|AllocNodes|State"
    found = read(
        "5|ann|00:04:00|1|1795335619|1795335619|1795335620|2|2|RESIZING",
        "5|ann|00:04:00|13|1795335620|1795335619|1795335632|1|1|COMPLETED",
        header=header,
    )
    log = found.log()
    assert (log.start_time, log.wait.tolist(), log.run_time.tolist()) == (1795335619, [0], [13])
    assert found.left_out == {"what a job had before it was resized": 1}


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit", ""])
def test_jobs_without_a_limit_of_their_own_are_left_out_and_counted(limit):
    found = read(FIRST, line(JobID="102", Timelimit=limit))
    assert len(found.log()) == 1
    assert found.remarks == ("sacct: 1 job left out: no time limit of its own",)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("101|ann", "another number of fields than the header: 2 where the header has 11"),
        (line(User="a|b"), "another number of fields than the header: 12"),
        (line(JobID="sbatch"), "no job number: 'sbatch'"),
        (line(Start="yesterday"), "Start is not a time: 'yesterday'"),
        (line(Submit="Unknown"), "no submission: 'Unknown'"),
        (line(Elapsed="an hour"), "Elapsed is not a duration: 'an hour'"),
        (line(Timelimit="soon"), "Timelimit is not a duration: 'soon'"),
        (line(Timelimit="00:00:00"), "Timelimit is not a time"),
        (line(End="2024-05-01T07:00:00"), "End is before Start: '2024-05-01T07:00:00'"),
        (line(Submit="9999-05-01T08:00:00"), "Submit is after 2106: '9999-05-01T08:00:00'"),
        (line(End="4294967295"), "End is after 2106: '4294967295'"),  # Slurm's INFINITE
        (line(Start="1970-01-01T00:00:00"), "ended before its Submit: '2024-05-01T08:00:00'"),
        (line(AllocCPUS="16K"), "the number of processors is not a whole number: '16K'"),
    ],
)
def test_malformed_lines_are_named_or_counted(wrong, reason):
    with pytest.raises(LogError, match="sacct, line 4: ") as problem:
        read(FIRST, "", wrong)
    assert reason in str(problem.value)
    found = read(FIRST, wrong, wrong, lenient=True)
    assert len(found.log()) == 1
    assert list(found.malformed.values()) == [2]
    assert list(found.log().skipped) == [reason.split(":")[0]]
    assert found.remarks[0].startswith("sacct: 2 malformed lines left out: ")


def test_text_that_is_no_output_of_sacct():
    with pytest.raises(LogError, match="is empty"):
        parse_sacct(b"\n")
    with pytest.raises(LogError, match=r"line 2: does not begin with a header line that has JobID"):
        parse_sacct(b"\n1|2|3\n")
    with pytest.raises(LogError, match=r"its header has no Timelimit; add it"):
        read(header="JobID|User|Submit|Start|Elapsed|AllocCPUS")
    with pytest.raises(LogError, match="neither AllocCPUS nor AllocNodes"):
        read(header="JobID|User|Submit|Start|Elapsed|Timelimit")


# ----------------------------------------------------------------------------------------------------------- dumps


def test_several_outputs_may_follow_each_other():
    """Monthly outputs do, with a job that crosses the end of a month in both."""
    found = read(FIRST, line(JobID="102"), HEADER, line(JobID="102"), line(JobID="103"))
    assert found.log().job.tolist() == [101, 102, 103]
    assert found.remarks == ("sacct: 1 job left out: the same line as another",)
    with pytest.raises(LogError, match="line 3: is another header line, of other fields than the first"):
        read(FIRST, HEADER.replace("Submit|Start", "Start|Submit"), lenient=True)


def test_comments_may_stand_above():
    assert parse_sacct(f"# of May\n\n{HEADER}\n{FIRST}\n".encode()).log().run_time.tolist() == [605]
    with pytest.raises(LogError, match="sacct, line 4: "):
        parse_sacct(f"# of May\n\n{HEADER}\n1|2\n".encode())


def test_a_requeued_job_is_two_and_jobs_without_a_number_of_their_own_are_counted():
    again = line(Submit="2024-05-01T09:00:00", Start="2024-05-01T09:00:00", End="2024-05-01T09:10:05")
    for second in (again, line(JobID="102_7")):
        log = read(line(State="REQUEUED"), second).log()
        assert log.job.tolist() == [1, 2]
        assert log.warnings[0].startswith(
            "sacct: jobs are numbered from 1, not as in Slurm: array tasks have no number of their own"
        )


def test_no_jobs_are_an_empty_log():
    found = read()
    assert (len(found.log()), found.users) == (0, {})


# ------------------------------------------------------------------------------------------------- as Slurm prints it

ACCOUNTED = Path(__file__).parent / "accounted"
"""Output of ``sacct -aXPD`` for 16 processors on which jobs of each kind ran, one job per name."""


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_a_wait_counts_from_when_a_job_could_start(release):
    found = read_sacct(ACCOUNTED / f"{release}.txt")
    log = found.log(unlimited=True)
    names = {number: name for name, number in found.names.items()}
    waits = {}
    for name, wait in zip(log.executable.tolist(), log.wait.tolist(), strict=True):
        waits.setdefault(names[name], []).append(wait)
    for freed_in_time in ("depend", "begin"):
        assert waits[freed_in_time] == [0]
    assert waits["held"][0] < 15  # held for 6 s, then the machine was full
    assert waits["holdwhile"] == [3]  # held for 34 s
    assert waits["fullbegin"][0] > 20  # could start from its sixth second on, and waited for others
    assert waits["heldlater"][0] > 10
    assert max(sorted(waits["array"])[:3]) <= 1  # one task at a time: three waited for the one before
    assert len(waits["requeue"]) == 2
    assert log.run_time[log.executable == found.names["requeue"]].tolist() == [5, 0]
    assert found.left_out["not started"] == 2  # cancelled while they waited, one of them in two partitions


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_a_job_is_of_the_partition_where_it_ran_and_without_limit_only_where_slurm_set_none(release):
    found = read_sacct(ACCOUNTED / f"{release}.txt")
    log = found.log(unlimited=True)
    numbers = {name: np.flatnonzero(log.executable == found.names[name])[0] for name in found.names}
    partitions = {number: name for name, number in found.partitions.items()}
    assert partitions[int(log.partition[numbers["both"]])] == "main"  # submitted to main and other
    assert "main,other" not in [partitions[number] for number in log.partition.tolist()]
    limits = {name: int(log.requested_time[at]) for name, at in numbers.items()}
    assert (limits["unlimited"], limits["defaultunl"], limits["partlimit"]) == (-1, -1, 3600)
    assert limits["maxminutes"] == 60 * 4_294_967_291


def test_a_job_that_became_eligible_later_is_said():
    header = HEADER.replace("|Start|", "|Eligible|Start|")

    def eligible(at, **changed):
        return line(**changed).replace("|2024-05-01T08:01:00|", f"|{at}|2024-05-01T08:01:00|")

    later = eligible("2024-05-01T08:00:50")
    found = read(later, header=header)
    assert (found.log().wait.tolist(), found.log().warnings) == ([10], ())
    held = line(Submit="2024-04-30T08:00:00").replace(
        "|2024-05-01T08:01:00|", "|2024-05-01T08:00:50|2024-05-01T08:01:00|"
    )
    found = read(held, header=header)
    assert found.log().wait.tolist() == [10]
    assert found.log().warnings == (
        "sacct: 1 job taken as submitted at Eligible, after dependencies, --begin, holds or array limits",
    )
    for no_instant in (
        "Unknown",
        "",
        "2024-05-01T09:00:00",
        "2024-04-01T09:00:00",
    ):  # after the start; before the submission
        assert read(eligible(no_instant), header=header).log().wait.tolist() == [60]


# --------------------------------------------------------------------------------------------------------------- files


def test_files_plain_or_gzip_are_recognised_by_their_header(tmp_path):
    text = f"{HEADER}\n{FIRST}\n".encode()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    for name in ("plain", "packed"):
        assert is_sacct(tmp_path / name)
        assert read_sacct(tmp_path / name, zone=UTC).log().run_time.tolist() == [605]
    (tmp_path / "swf").write_text("; JobID | not\n" + " ".join(["1"] * 18) + "\n")
    (tmp_path / "empty").write_text("")
    assert not is_sacct(tmp_path / "swf")
    assert not is_sacct(tmp_path / "empty")


def test_the_log_can_be_simulated():
    lines = [line(JobID=str(n), Submit=f"2024-05-01T08:00:{n:02}", User=f"u{n % 3}") for n in range(20)]
    jobs = rigid_jobs(read(*lines).log(), 32)
    assert np.array_equal(jobs.user[:4], [0, 1, 2, 0])
    assert jobs.processors.max() == 16


def test_an_absurd_time_limit_in_minutes_is_one_malformed_line():
    header = HEADER.replace("Timelimit", "TimelimitRaw")
    found = read(line(Timelimit="60"), line(Timelimit="999999999999999"), header=header, lenient=True)
    assert found.log().requested_time.tolist() == [3600]
    assert dict(found.malformed) == {"Timelimit is not a time": 1}
