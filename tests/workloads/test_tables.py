"""Logs as tables: columns by their usual names, and errors in cells."""

import gzip
import io
import tracemalloc

import numpy as np
import pytest

from workloads import LogError
from workloads.pages import BLOCK
from workloads.tables import format_csv, is_table_header, read_csv, read_parquet


def read(*lines, **options):
    return read_csv(io.BytesIO("\n".join((*lines, "")).encode()), name="a.csv", **options)


def test_columns_stand_in_any_order_under_any_usual_name():
    log = read("elapsed,procs,SubmitTime,walltime".replace("SubmitTime", "submit_time"), "60,4,10,100", "5,1,20,10")
    assert log.submit.tolist() == [10, 20]
    assert log.run_time.tolist() == [60, 5]
    assert log.requested_processors.tolist() == [4, 1]
    assert log.requested_time.tolist() == [100, 10]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_columns_may_stand_between_semicolons_and_tabs(mark):
    lines = [line.replace(",", mark) for line in ("submit,user,run_time,processors", "10,3,60,4", "20,ann,5,1")]
    assert read(*lines).run_time.tolist() == [60, 5]
    assert read(*lines[:2]).user.tolist() == [3]


def test_starts_and_ends_stand_for_waits_and_run_times():
    log = read("submit,start,end,processors", "10,15,75,4", "20,-1,-1,1")
    assert log.wait.tolist() == [5, -1]
    assert log.run_time.tolist() == [60, -1]


def test_names_of_users_are_numbered_as_they_appear():
    assert read("submit,run_time,processors,user", "0,1,1,ann", "1,1,1,bob", "2,1,1,ann").user.tolist() == [0, 1, 0]


def test_empty_cells_are_unknown_and_other_columns_are_named():
    log = read("submit,run_time,processors,colour", "0,,1,red")
    assert log.run_time.tolist() == [-1]
    assert "unknown columns are ignored: colour" in log.warnings


def test_jobs_are_put_in_order_of_submission():
    log = read("submit,run_time,processors", "5,1,1", "0,2,1", "5,3,1")
    assert log.run_time.tolist() == [2, 1, 3]
    assert "not sorted by submission: sorted, equal seconds in the file's order" in log.warnings


def test_a_header_in_comments_comes_along():
    log = read("# ; MaxProcs: 64", "# exported on Monday", "submit,run_time,processors", "0,1,1")
    assert log.header.max_procs == 64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,x,1", "'x' is not a number; write -1 if it is unknown"),
        ("0,00:01:00,1", "'00:01:00' is not a number; write times in seconds; write -1 if it is unknown"),
        ("0,nan?,1", "is not a number"),
        ("0,1", "2 cells where the titles are 3"),
        ("0,1e300,1", "beyond"),
        (",1,1", "is empty"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number_or_left_out_and_counted(line, message):
    lines = ("submit,run_time,processors", "0,1,1", line, "9,1,1")
    with pytest.raises(LogError, match=message) as refused:
        read(*lines)
    assert refused.value.line == 3
    log = read(*lines, lenient=True)
    assert log.submit.tolist() == [0, 9]
    assert sum(log.skipped.values()) == 1
    assert "1 malformed line left out; the first" in log.warnings[0]


@pytest.mark.parametrize(
    ("titles", "message"),
    [
        ("submit,run_time,colour", "has no column processors"),
        ("run_time,processors,user", "has no column submit"),
        ("submit,elapsed,run_time,processors", "has the column run_time twice"),
        ("job_id,submission_time,waiting_time", "this is a schedule in CSV; gas audit reads it"),
    ],
)
def test_a_table_that_is_no_log_says_what_it_lacks(titles, message):
    with pytest.raises(LogError, match=message):
        read(titles, "0,1,1")


def test_numbers_read_at_once_are_those_read_one_by_one():
    rows = [f"{7 * n},{n}.5,{n % 9 + 1},{n % 3}" for n in range(50)]
    quick = read("submit,run_time,processors,user", *rows)
    slow = read("submit,run_time,processors,user", *rows, '350,"1",1,0')
    for name, column in quick.columns().items():
        assert np.array_equal(column, slow.columns()[name][:50])


def test_what_is_written_has_the_columns_that_any_job_knows():
    log = read("submit,run_time,processors", "0,1,4")
    assert format_csv(log) == b"job,submit,run_time,requested_processors\n1,0,1,4\n"


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("submit,run_time,processors", True),
        ("submit,start,end,cpus", True),
        ("submit;start;end;cpus", True),
        ("submit\tstart\tend\tcpus", True),
        ("submit,processors", False),
        ("1 0 5", False),
    ],
)
def test_a_table_is_known_by_its_titles(line, is_one):
    assert is_table_header(line) is is_one


def test_a_line_beyond_the_limit_of_csv_is_no_header():
    assert not is_table_header("submit,run_time," + "x" * 200_000)


# ------------------------------------------------------------------------------------------------ tables of many pieces

TITLES = "submit,run_time,processors,user"


def long_table(rows=40_000):
    """Return the lines of a table that takes several pieces to read."""
    lines = [TITLES, *(f"{n},{n % 7}.5,{n % 9 + 1},u{n % 5}" for n in range(rows))]
    assert sum(map(len, lines)) > 1.5 * BLOCK
    return lines


@pytest.mark.thorough
def test_names_are_numbered_and_lines_counted_across_pieces():
    lines = long_table()
    assert read(*lines).user.tolist() == [n % 5 for n in range(40_000)]
    lines[-1] = "x,1,1,u0"
    with pytest.raises(LogError) as refused:
        read(*lines)
    assert refused.value.line == len(lines)
    assert read(*lines, lenient=True).submit.tolist() == list(range(39_999))


def test_what_is_unusual_in_one_piece_changes_no_other():
    lines = [line.replace("u", "") for line in long_table()]
    lines[0] = TITLES
    plain = read(*lines)
    quoted = read(*lines, '40000,"1",2.5,')
    for name in ("submit", "run_time", "user"):
        assert np.array_equal(getattr(plain, name), getattr(quoted, name)[:-1])
    assert quoted.requested_processors[-2:].tolist() == [plain.requested_processors[-1], 2.5]
    assert quoted.user[-1] == -1


def test_jobs_are_sorted_across_pieces_and_numbered_after_that():
    log = read(*long_table(), "5,99,1,u0")
    assert log.run_time[5:8].tolist() == [5.5, 99, 6.5]
    assert log.job.tolist() == list(range(1, 40_002))


@pytest.mark.thorough
def test_a_damaged_archive_is_the_reason_before_any_line():
    packed = gzip.compress("\n".join([*long_table(), "x,1,1,u0", *long_table()[1:]]).encode())
    with pytest.raises(LogError, match="ends too early"):
        read_csv(io.BytesIO(packed[:-100]))


@pytest.mark.thorough
def test_a_table_is_never_in_memory_whole():
    text = "\n".join([TITLES, *(f"{n},{n % 7},{n % 9 + 1},{n % 5}" for n in range(200_000))]).encode()
    tracemalloc.start()
    log = read_csv(io.BytesIO(text))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(log) == 200_000
    columns = sum(getattr(log, name).nbytes for name in ("job", "submit", "run_time", "requested_processors", "user"))
    assert peak < 2 * columns + 40 * BLOCK


def arrow(columns, rows):
    """Return a table as Parquet in groups of this many rows."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `data`")
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), stream, row_group_size=rows)
    return io.BytesIO(stream.getvalue())


def whole_numbers(count):
    return {
        "Submit": list(range(count)),
        "run_time": [n % 7 for n in range(count)],
        "cpus": [n % 3 + 1 for n in range(count)],
    }


def test_groups_of_rows_are_one_log():
    columns = whole_numbers(1000)
    users = [None if n % 10 == 0 else f"u{n % 5}" for n in range(1000)]
    log = read_parquet(arrow({**columns, "user": users, "colour": ["red"] * 1000}, 150))
    assert log.submit.tolist() == columns["Submit"]
    assert log.requested_processors.tolist() == columns["cpus"]
    assert log.user[[0, 1, 2, 5, 996]].tolist() == [-1, 0, 1, 4, 0]
    assert log.warnings == ("unknown columns are ignored: colour",)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("cpus", float("nan"), None),
        ("run_time", 2.0**53 + 2, "row 731: .*beyond"),
        ("preceding_job", 0.5, "row 731: .*is not a whole number"),
        ("Submit", None, "row 731: submit time is empty"),
        ("Submit", "soon", "row 731: 'soon' is not a number"),
    ],
)
def test_a_cell_that_is_none_of_a_log_is_named_by_its_row_whatever_its_group(column, value, message):
    columns = {name: [float(one) for one in values] for name, values in whole_numbers(1000).items()}
    columns["preceding_job"] = [0.0] * 1000
    columns[column][730] = value
    if isinstance(value, str):
        columns[column] = list(map(str, columns[column]))
    table = arrow(columns, 100)
    if message is None:
        assert read_parquet(table).requested_processors[730] == -1
        return
    with pytest.raises(LogError, match=message):
        read_parquet(table)


def test_a_group_of_rows_is_in_memory_at_a_time():
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `data`")
    generator, count = np.random.default_rng(0), 400_000
    columns = {name: generator.integers(0, 2**40, count) for name in ("run_time", "cpus", "user", "group", "queue")}
    table = arrow({"submit": np.arange(count), **columns}, 20_000)
    before = pyarrow.total_allocated_bytes()
    pool = pyarrow.default_memory_pool()
    peaks = []
    read = table.read

    def watched(*arguments):
        peaks.append(pool.bytes_allocated() - before)
        return read(*arguments)

    table.read = watched
    assert len(read_parquet(table)) == count
    assert len(peaks) > count / 20_000
    assert max(peaks) < 6 * 8 * count / 2
