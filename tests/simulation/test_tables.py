"""Schedules as text tables: their columns, units and sets of processors; errors name the unreadable cell."""

import gzip
import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written_schedules import LOG, SCHEDULE

from documents.fields import Unusable
from gas.errors import BadInput
from gas.simulation.audit import audit
from gas.simulation.files import format_schedule_csv, parse_schedule
from gas.simulation.recorded import UNKNOWN
from gas.simulation.schedule import NEVER_STARTED
from gas.simulation.tables import recorded_table, units_of


def checks(given, **options):
    return {check.check: check for check in audit(given, **options).checks}


HEADER = "job_id,submission_time,requested_time,starting_time,execution_time,finish_time,allocated_resources"


def allocated(*cells, size=""):
    """Return a schedule of jobs that all run in the same second, on these processors."""
    rows = "".join(f'{job},0,9,0,1,1,"{cell}",{size}\n' for job, cell in enumerate(cells))
    return parse_schedule(f"{HEADER},processors\n{rows}".encode(), name="x")


BATSIM = (
    "allocated_resources,finish_time,job_id,workload_name,submission_time,requested_time,starting_time,"
    "execution_time,final_state,metadata,something_new\n"
    '0-1 3,30.000000,w0!2,w0,1.000000,20.000000,10.000000,20.000000,COMPLETED_SUCCESSFULLY,"a, b",x\n'
    "0-2,10.000000,w0!1,w0,0.000000,12.000000,0.000000,10.000000,COMPLETED_SUCCESSFULLY,,x\n"
    ",-1.000000,w0!3,w0,0.000000,12.000000,-1.000000,-1.000000,REJECTED,,x\n"
)


COLUMNS = ("id", "submit", "processors", "estimate", "run_time", "start", "end", "withdrawn")
SHORT = "id,workload,submit,start,end,processors,allocated_processors,metadata\n"


@pytest.mark.parametrize(
    "text",
    [
        BATSIM,
        "1 0 0 10\n\n# of another machine\n2 1 10 30.5\n",
        *(
            SHORT + "".join(f'{name},{load},{at},{at},{at + 5},2,"0-1",{meta}\n' for at, (name, load, meta) in rows)
            for rows in (
                list(enumerate([("1", "w", "machine=4"), ("2", "w", "machine=4 priority=3"), ("-1", "w", "")])),
                list(enumerate([("1", "w", "machine=4"), ("007", "w", "machine=8"), ("w!2", "w", "")])),
                list(enumerate([("w!1", "w", ""), ("w!2", "w", ""), ("3", "w", ""), ("{}!4", "v", "")])),
                list(enumerate([("1", "w", ""), ("1", "v", ""), ("x", "v", "")])),
            )
        ),
    ],
)
def test_a_table_says_the_same_read_whole_or_line_by_line(text):
    whole, by_line = recorded_table([text], "x"), recorded_table(text.splitlines(keepends=True), "x")
    for column in COLUMNS:
        assert getattr(whole, column).tolist() == getattr(by_line, column).tolist(), column
    rows = range(len(whole))
    assert [whole.name_of(row) for row in rows] == [by_line.name_of(row) for row in rows]
    assert (whole.label, whole.machine, whole.remarks) == (by_line.label, by_line.machine, by_line.remarks)
    assert (whole.priority is None) == (by_line.priority is None)
    assert whole.priority is None or whole.priority.tolist() == by_line.priority.tolist()
    assert (whole.allocated is None) == (by_line.allocated is None)
    assert whole.allocated is None or all(whole.allocated.pieces(row) == by_line.allocated.pieces(row) for row in rows)


@pytest.mark.parametrize(
    ("stated", "priorities"),
    [
        (["machine=4 priority=3", "machine=4 priority=-1", "machine=4 reservation"], [3, -1, 0]),
        (["machine=4"] * 3, None),
        (["machine=4 priority=3", "machine=4", "machine=4 priority=1"], None),
        (["machine=4 priority=abc"] * 3, None),
        (["machine=4 priority=99999999999999999999", "machine=4 priority=1", "machine=4 priority=1"], None),
    ],
)
def test_priorities_are_those_of_all_jobs_or_it_is_said_that_they_are_not_checked(stated, priorities):
    rows = "".join(f'{at},w,{at},{at},{at + 5},2,"0-1",{meta}\n' for at, meta in enumerate(stated))
    found = recorded_table([SHORT + rows], "x")
    assert (None if found.priority is None else found.priority.tolist()) == priorities
    said = "not all jobs state one priority, a whole number; priorities are not checked"
    assert (said in found.remarks) == (priorities is None and "priority=" in stated[0])


def test_reading_a_table_keeps_numbers_and_no_texts():
    def peak(jobs):
        line = '{0},w,{0},{0},{0},1,"0-3",machine=4\n'
        pages = ("".join(map(line.format, range(first, first + 100))) for first in range(0, jobs, 100))
        tracemalloc.start()
        try:
            recorded_table(itertools.chain([SHORT], pages), "x")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # what is imported on the way does not count
    assert (peak(2000) - peak(1000)) / 1000 < 350  # bytes for each job; its cells as texts have 500


def test_an_error_names_its_line_in_whatever_pieces_a_table_is_read():
    lines = [SHORT, '1,w,0,0,5,2,"0-1",\n', "# more\n", '2,w,0,0,5,2,"0-1",\n', "3,w,0.5,9e12,,2,,\n"]
    for pages in (["".join(lines)], lines):
        with pytest.raises(BadInput, match="x, line 5, .*9e12 is beyond"):
            recorded_table(pages, "x")


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


@given(seconds=st.integers(-(2**40), 2**40), micro=st.sampled_from([1, 1_000_000]))
def test_whole_seconds_are_exact_in_any_unit(seconds, micro):
    assert units_of(np.array([float(seconds)]), micro).tolist() == [seconds * micro]


@pytest.mark.parametrize("cell", ["0-99999999999999999999", "9" * 5000, "3-1", "node1", "1-2-3", "-"])
def test_sets_of_processors_that_cannot_be_read_are_an_error_only_where_a_size_depends_on_it(cell):
    with pytest.raises(BadInput, match='x, line 3, column "allocated_resources": ') as error:
        allocated("0-1", cell)
    assert len(str(error.value)) < 250
    stated = audit(allocated("0-1", cell, size=2), processors=4)
    assert stated.ok
    assert "resources" not in {check.check for check in stated.checks}
    assert "which processors the jobs had is not checked: line 3" in stated.remarks[0]


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


def test_one_long_cell_does_not_make_all_others_as_long():
    # As an array of text each of these names would take 400,000 bytes: 8 GB in all.
    rows = "".join(f"j{job},0,{job},{job},1,\n" for job in range(20_000))
    text = f"id,submit,start,end,processors,final_state\n{'j' * 100_000},0,0,9,1,{'s' * 100_000}\n{rows}"
    assert audit(parse_schedule(text.encode()), processors=4).ok


def test_batsims_csv_is_read_whatever_the_order_of_its_columns():
    schedule = parse_schedule(BATSIM.encode())
    assert schedule.id.tolist() == [1, 2, 3]
    assert schedule.processors.tolist() == [3, 3, UNKNOWN]
    assert schedule.submit.tolist() == [0, 1, 0]
    assert schedule.estimate.tolist() == [12, 20, 12]
    assert schedule.start.tolist() == [0, 10, NEVER_STARTED]
    assert schedule.end.tolist() == [10, 30, 0]
    assert schedule.withdrawn.tolist() == [False, False, True]
    assert audit(schedule, processors=4, promise="easy").ok


def test_jobs_of_several_workloads_are_told_apart():
    text = "job_id,workload_name,submit,start,end,procs\n1,a,0,0,5,1\n1,b,0,0,5,1\n"
    schedule = parse_schedule(text.encode())
    assert (schedule.name_of(0), schedule.name_of(1)) == ("a!1", "b!1")
    assert audit(schedule, processors=2).ok
    with pytest.raises(BadInput, match='job "a!1" cannot be found in a log'):
        audit(schedule, log=LOG)


@pytest.mark.parametrize(
    "text",
    [
        "7 0 0 10\n8 1 10 30\n",
        "7,0,0,10\n8,1,10,30\n",
        "# starts\n7\t0\t0\t10\n\n8 1 10 30",
        "id,submit,start,end\n7,0,0,10\n8,1,10,30\n",
        "End,Start,Submit,ID\r\n10,0,0,7\r\n30,10,1,8\r\n",
        "id submit wait run_time\n7 0 0 10\n8 1 9 20\n",
        "8 1 10 30\n7 0 0 10\n",
    ],
)
def test_bare_schedules_are_read_in_many_forms(text):
    for data in (text.encode(), gzip.compress(text.encode())):
        schedule = parse_schedule(data)
        assert schedule.id.tolist() == [7, 8]
        assert schedule.submit.tolist() == [0, 1]
        assert schedule.start.tolist() == [0, 10]
        assert schedule.end.tolist() == [10, 30]
        assert schedule.processors.tolist() == [UNKNOWN, UNKNOWN]


def test_jobs_that_have_started_and_not_ended_are_left_out_and_counted():
    schedule = parse_schedule(b"id,submit,start,end\n7,0,0,10\n8,1,5,\n9,2,,\n", name="x")
    assert schedule.id.tolist() == [7, 9]
    assert schedule.started.tolist() == [True, False]
    assert schedule.remarks == ("1 job left out: not ended, or with no run time",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        ("id,submit,start,end\n", "has a header and no jobs"),
        ("7 0 0 10\n8 1 10\n", "x, line 2: 3 fields; without a header they are 4: id submit start end"),
        ("id,submit,start,end\n\n7,0,0\n", "x, line 3: 3 fields; the header has 4"),
        ("id,submit,start,end\n7,0,soon,9\n", 'x, line 2, column "starting_time": "soon" is not a number'),
        ("7 0 0 10\n8 1 1e99 3\n", "x, line 2: 1e99 is beyond"),
        ("7 0 0 10\n8 1 inf 3\n", "x, line 2, column"),
        ("7 0 0 10\n8 1_0 3 3\n", "x, line 2, column"),
        ("id,submit,start,end\n7,,0,10\n", 'x, line 2, column "submission_time": is empty'),
        ("id,submit,start,end\n,0,0,10\n", "x, line 2: the job has no number"),
        ("id,submit,start\n7,0,0\n", 'has no column "finish_time or execution_time"'),
        ("id,submit,start,starting_time,end\n7,0,0,0,9\n", "columns start and starting_time mean the same"),
        ("id,submit,start,end,allocated_resources\n7,0,0,9,3-1\n", 'x, line 2, column "allocated_resources": "3-1"'),
        ("PK\0\0", "is not text"),
    ],
)
def test_what_cannot_be_read_is_named_by_line_and_column(text, message):
    with pytest.raises(Unusable, match="^x") as error:
        parse_schedule(text.encode(), name="x")
    assert message in str(error.value)


def test_rows_that_name_different_machines_name_none():
    text = format_schedule_csv(SCHEDULE, LOG).decode().replace("machine=4", "machine=5", 1)
    given = parse_schedule(text.encode())
    assert given.machine is None
    assert given.remarks == ("rows name machines of 4 and 5 processors; none of them is used",)


def test_metadata_of_others_says_nothing_of_the_machine():
    text = format_schedule_csv(SCHEDULE, LOG).decode().replace("machine=4", "reservation")
    given = parse_schedule(text.encode())
    assert (given.machine, given.reservation) == (None, None)
