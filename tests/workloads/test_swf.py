"""Log files: what is read, what is refused with which message, and that writing loses nothing."""

import contextlib
import gzip
import io
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads import Header, Log, LogError, format_swf, parse_swf, read_header, read_swf, write_swf
from workloads.log import COLUMNS, FIELDS, is_unknown
from workloads.swf import _read

HEADER = "; Version: 2.2\n; UnixStartTime: 0\n; TimeZoneString: UTC\n; MaxProcs: 64\n"


def line(job=1, submit=0, **fields):
    values = {"job": job, "submit": submit, **fields}
    return " ".join(str(values.get(name, -1)) for name in COLUMNS) + "\n"


def parse(text, **options):
    return parse_swf(text.encode(), name="made-up.swf", **options)


def same(one, other):
    return all(
        np.array_equal(a, b) and a.dtype == b.dtype
        for a, b in zip(one.columns().values(), other.columns().values(), strict=True)
    )


def test_every_field_lands_in_its_column():
    log = parse(HEADER + " ".join(str(n) for n in range(1, 19)))
    assert {field.name: field.number for field in FIELDS} == {name: c[0] for name, c in log.columns().items()}


def test_fractions_signs_exponents_and_any_blanks_are_numbers():
    log = parse(HEADER + "\t1   0.25\t+3 1e3 2 .5 6. -1 -1 -1 1 1 1 1 1 1 -1 -1  \n")
    assert (log.submit[0], log.wait[0], log.run_time[0], log.cpu_time[0], log.used_memory[0]) == (0.25, 3, 1000, 0.5, 6)


def test_comments_are_kept_verbatim_and_in_order_wherever_they_stand():
    text = "; Version: 2.2  \n;\n  ;\todd\n" + line(1) + "; Note: in between\n" + line(2) + "; last"
    log = parse(text)
    assert log.header.lines == ("; Version: 2.2  ", ";", "  ;\todd", "; Note: in between", "; last")
    assert log.job.tolist() == [1, 2]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n\n  \n"])
def test_line_ends_of_other_systems_and_empty_lines_do_not_matter(end):
    text = (HEADER + line(1) + line(2)).replace("\n", end)
    log = parse(text)
    assert len(log) == 2
    assert log.header.lines == tuple(HEADER.splitlines())


def test_a_byte_order_mark_and_old_encodings_are_understood():
    assert parse_swf(b"\xef\xbb\xbf; Computer: Gr\xc3\xb6n\n" + line().encode()).header.computer == "Grön"
    assert parse_swf(b"; Computer: Gr\xf6n\n" + line().encode()).header.computer == "Grön"


def test_a_log_without_header_is_legal_and_says_what_it_assumes():
    log = parse(line(submit=5))
    assert log.start_time == 0
    assert any("1970-01-01" in warning for warning in log.warnings)


def test_a_sound_log_gives_no_warning():
    log = parse(HEADER + line(1) + line(2, 3))
    assert log.warnings == ()
    assert log.skipped == {}


def test_an_unsorted_log_is_sorted_stably_with_a_warning():
    text = HEADER + line(1, 50) + line(2, 10.7) + line(3, 10.2) + line(4, 10) + line(5, 0)
    log = parse(text)
    assert log.job.tolist() == [5, 2, 3, 4, 1]  # within a second the file's order is kept
    assert any("not sorted" in warning and "job 2" in warning for warning in log.warnings)


def test_submissions_before_second_0_repeated_numbers_and_partial_executions_are_pointed_out():
    assert "1 submission at second -1, as if not known" in parse(HEADER + line(1, -1)).warnings[0]
    assert "2 submissions before second 0" in parse(HEADER + line(1, -90) + line(2, -1)).warnings[0]
    assert "with the number of another job" in parse(HEADER + line(1) + line(1)).warnings[0]
    assert "partial executions" in parse(HEADER + line(1, status=1) + line(1, status=3)).warnings[0]


def test_fractions_of_processors_are_kept_and_pointed_out():
    log = parse(HEADER + line(1, requested_processors=2.5))
    assert log.requested_processors[0] == 2.5
    assert "requested processors (field 8) has a fraction in 1 line;" in log.warnings[0]


MALFORMED = [
    ("1 2 3\n", "wrong number of fields", None, "a line has 18 fields, this one 3"),
    (line().strip() + " -1\n", "wrong number of fields", None, "18 fields, this one 19"),
    (line(run_time="abc"), "not a number", "run_time", "'abc' is not a number"),
    (line(run_time="1_000"), "not a number", "run_time", "'1_000'"),
    (line(run_time="0x10"), "not a number", "run_time", "'0x10'"),
    (line(wait="--1"), "not a number", "wait", "'--1'"),
    (line(wait="1-2"), "not a number", "wait", "'1-2'"),
    (line(wait="٣"), "not a number", "wait", "'٣'"),
    (line(submit="nan"), "not a finite number", "submit", "nan is not a finite number"),
    (line(submit="-INF"), "not a finite number", "submit", "-INF"),
    (line(user=2**53 + 1), "too large", "user", "9007199254740993"),
    (line(user=-(2**53) - 1), "too large", "user", "-9007199254740993"),
    (line(cpu_time="1e400"), "too large", "cpu_time", "1e400"),
    (line(cpu_time="9" * 5000), "too large", "cpu_time", "99999..."),
    (line(user="1.5"), "fraction in a whole number", "user", "'1.5' is not a whole number"),
]


@pytest.mark.parametrize(("bad", "reason", "field", "said"), MALFORMED)
def test_a_malformed_line_is_refused_naming_file_line_and_field(bad, reason, field, said):
    with pytest.raises(LogError) as refused:
        parse(HEADER + line(1) + "\n" + bad + line(2))
    message = str(refused.value)
    assert message.startswith("made-up.swf, line 7")
    assert said in message
    assert len(message) < 200
    assert (refused.value.line, refused.value.field) == (7, field)


@pytest.mark.parametrize(("bad", "reason", "field", "said"), MALFORMED)
def test_a_lenient_reader_leaves_malformed_lines_out_and_counts_them(bad, reason, field, said):
    log = parse(HEADER + line(1) + bad + line(2) + bad, lenient=True)
    assert log.job.tolist() == [1, 2]
    assert log.skipped == {reason: 2}
    assert any("2 malformed lines left out" in warning and "line 6" in warning for warning in log.warnings)


def test_the_largest_number_kept_is_the_last_that_floating_point_counts():
    log = parse(HEADER + line(user=2**53, wait=-(2**53)))
    assert (int(log.user[0]), int(log.wait[0])) == (2**53, -(2**53))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (HEADER.encode(), "has no jobs, only 4 comment lines"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "is not text"),
        (b"\x89PNG\r\n\x1a\n\x00", "is not text"),
        (b"\xfd7zXZ\x00\x00", "packed with xz"),
        (b"PK\x03\x04\x14\x00", "packed with zip"),
        (b"BZh91AY&SY", "packed with bzip2"),
        (b"<html><body>404 Not Found</body></html>", "line 1: a line has 18 fields, this one 3"),
        (gzip.compress((HEADER + line()).encode(), mtime=0)[:-12], "ends too early"),
        (gzip.compress((HEADER + line()).encode(), mtime=0)[:5], "ends too early"),
        (b"\x1f\x8b" + b"rubbish" * 9, "is damaged"),
        (gzip.compress((HEADER + line()).encode(), mtime=0) + b"more", "is damaged"),
    ],
)
@pytest.mark.parametrize("lenient", [False, True])
def test_what_is_no_log_is_refused_with_the_reason(data, said, lenient):
    with pytest.raises(LogError, match=said) as refused:
        parse_swf(data, name="made-up.swf", lenient=lenient)
    assert str(refused.value).startswith("made-up.swf")


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_give_a_log_or_a_log_error(data, lenient):
    with contextlib.suppress(LogError):
        assert len(parse_swf(data, lenient=lenient)) > 0


@given(st.data())
def test_a_damaged_gzip_file_gives_the_log_or_a_log_error(data):
    whole = bytearray(gzip.compress((HEADER + line(1) + line(2)).encode(), mtime=0))
    at = data.draw(st.integers(2, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(LogError):
        assert len(parse_swf(bytes(whole[: data.draw(st.integers(2, len(whole)))]))) == 2


@pytest.mark.parametrize("lenient", [False, True])
def test_a_damaged_gzip_file_is_called_that_and_not_blamed_on_the_line_that_it_spoilt(lenient):
    bad = gzip.compress((HEADER + line(1) + "1 2 3\n" + line(2)).encode(), mtime=0)
    for data, said in ((bad[:-3], "ends too early"), (bad[:-8] + bytes(8), "is damaged")):
        with pytest.raises(LogError, match=said):
            parse_swf(data, lenient=lenient)


def test_gzip_members_one_after_the_other_are_one_log():
    parts = [HEADER + line(1), line(2) + line(3)[:9], line(3)[9:]]
    packed = b"".join(gzip.compress(part.encode(), mtime=0) for part in parts)
    assert parse_swf(packed).job.tolist() == [1, 2, 3]
    assert parse_swf(packed + bytes(100)).job.tolist() == [1, 2, 3]  # tapes are filled up with zeros


def test_a_line_without_end_is_no_line_of_a_log():
    with pytest.raises(LogError, match="a line of more than 1048576 bytes"):
        parse_swf((HEADER + line(1)).encode() + b"1 " * 10**6, lenient=True)


def test_a_job_that_only_starts_in_the_last_line_is_refused():
    with pytest.raises(LogError, match=r"line 6: a line has 18 fields, this one 17"):
        parse((HEADER + line(1) + line(2)).rstrip()[:-3])


@given(st.data())
def test_a_damaged_log_is_refused_or_every_line_of_it_is_accounted_for(data):
    """Whatever happens to the bytes, a line is a job, a counted skip, or the reason of a refusal."""
    text = bytearray((HEADER + "".join(line(n, 10 * n, status=1, user=7) for n in range(1, 6))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        upto = data.draw(st.sampled_from([at, at + 1, at + 30]))
        text[at:upto] = data.draw(
            st.sampled_from([b"", b"x", b" ", b"\n", b"\r", b";", b"-", b".", b"9" * 20, b"\xff"])
        )
    with contextlib.suppress(LogError):
        log = parse_swf(bytes(text), lenient=True)
        lines = re.split("\r\n|\r|\n", text.decode("latin-1"))
        jobs = [each for each in lines if each.strip() and not each.lstrip().startswith(";")]
        assert len(log) + sum(log.skipped.values()) == len(jobs)
        assert bool(log.skipped) == any(
            re.search("malformed lines? left out", warning) is not None for warning in log.warnings
        )
        if log.skipped:
            with pytest.raises(LogError):
                parse_swf(bytes(text))
        else:
            assert same(parse_swf(bytes(text)), log)


PIECES = [HEADER, line(1), line(2, 5), line(3, 1), "1 2 3\n", "\n", "  \r", ";\r\n", "; é\r\n", "\r", line(4).strip()]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(1, 90), st.booleans(), st.booleans())
def test_the_size_of_the_pieces_in_which_a_log_is_read_does_not_matter(pieces, size, packed, lenient):
    text = "".join(pieces).encode()
    data = gzip.compress(text, mtime=0) if packed else text

    def read(**options):
        try:
            return _read(io.BytesIO(data), "x", lenient, **options)
        except LogError as error:
            return str(error)

    whole, cut = read(), read(block=size)
    if isinstance(whole, str):
        assert cut == whole
    else:
        assert same(cut, whole)
        assert (cut.header, cut.warnings, cut.skipped) == (whole.header, whole.warnings, whole.skipped)


class Dribble(io.RawIOBase):
    """A stream that gives one byte at a time, as a slow connection may."""

    def __init__(self, data):
        self.data = io.BytesIO(data)

    def read(self, count=-1):
        return self.data.read(min(count, 1))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_stream_that_gives_less_than_was_asked_for_is_read_to_its_end(pack):
    assert parse(HEADER + line(1)).job.tolist() == [1]
    assert read_swf(Dribble(pack((HEADER + line(1) + line(2)).encode()))).job.tolist() == [1, 2]


def test_a_named_pipe_is_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(HEADER + line(1),))
    writer.start()
    assert read_swf(path).job.tolist() == [1]
    writer.join()


def test_a_folder_is_no_log(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        read_swf(tmp_path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_header_alone_is_what_stands_above_the_first_job(tmp_path, pack):
    path = tmp_path / "a.swf"
    path.write_bytes(pack((HEADER + "\n" + line(1) + "; Note: later\n" + "rubbish\n").encode()))
    assert read_header(path).lines == tuple(HEADER.splitlines())
    path.write_bytes(pack(HEADER.encode()))
    assert read_header(path).lines == tuple(HEADER.splitlines())


def test_columns_that_no_line_knows_take_no_memory_and_are_written_and_read_like_others():
    log = parse(HEADER + line(1, 0, user=-1) + line(2, 1, user=-1) + line(3, 2, wait=4))
    assert {name for name, column in log.columns().items() if not is_unknown(column)} == {"job", "submit", "wait"}
    assert log.wait.tolist() == [-1, -1, 4]
    assert log.user.tolist() == [-1, -1, -1]
    assert format_swf(log).decode() == HEADER + line(1, 0) + line(2, 1) + line(3, 2, wait=4)


def test_a_column_known_only_far_down_is_known_from_the_top():
    """So far that it is in a later piece of reading, and the column is added midway."""
    log = parse(HEADER + "".join(line(n, n) for n in range(30_000)) + line(30_000, 30_000, user=5, wait=0.5))
    assert np.array_equal(log.job, np.arange(30_001))
    assert (log.user[:-1] == -1).all()
    assert (log.user[-1], log.wait[-1], log.wait[0]) == (5, 0.5, -1)
    halves = parse(
        HEADER + "".join(line(n, allocated_processors=n) for n in range(20_000)) + line(allocated_processors=1.5)
    )
    assert np.array_equal(halves.allocated_processors[:-1], np.arange(20_000))
    assert halves.allocated_processors[-1] == 1.5


def test_a_log_of_nothing_known_is_still_so_many_jobs():
    log = parse(line(-1, -1) * 3)
    assert len(log) == 3
    assert log.job.tolist() == [-1, -1, -1]


ODD_NUMBERS = ["0", "-0", "7", "+7", "1e3", "1.", ".5", "-1", "00012", "1E-2", str(2**53 - 1), str(2**53), "3.25"]


@given(st.lists(st.lists(st.sampled_from(ODD_NUMBERS), min_size=18, max_size=18), min_size=1, max_size=5))
def test_reading_at_once_and_line_by_line_agree(rows):
    text = "".join(" ".join(row) + "\n" for row in rows)
    careful = parse(text + "this line makes the reader look at each\n", lenient=True) if whole(rows) else None
    if careful is None:
        with pytest.raises(LogError, match="not a whole number"):
            parse(text)
    else:
        assert same(parse(text), careful)


def whole(rows):
    identities = [field.number - 1 for field in FIELDS if field.kind == "identity"]
    return all(float(row[at]).is_integer() for row in rows for at in identities)


numbers = st.one_of(
    st.integers(-(2**53), 2**53), st.floats(-(2**53), 2**53), st.integers(-1, 10), st.floats(0, 1e5, width=32)
)
comments = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r\0"), max_size=20)


@st.composite
def logs(draw):
    length = draw(st.integers(1, 6))
    values = {
        field.name: draw(
            st.lists(
                numbers if field.kind == "measure" else st.integers(-(2**53), 2**53), min_size=length, max_size=length
            )
        )
        for field in FIELDS
    }
    values["submit"] = sorted(values["submit"], key=float)
    if draw(st.booleans()):
        values["allocated_processors"][0] = 2.5
    header = Header(
        tuple(f"{draw(st.sampled_from(['', ' ']))};{text}" for text in draw(st.lists(comments, max_size=4)))
    )
    return Log.from_columns(values, header=header)


@given(logs())
def test_writing_loses_nothing_that_was_read(log):
    written = format_swf(log)
    again = parse_swf(written)
    assert same(again, log)
    assert again.header == log.header
    assert format_swf(again) == written


def test_writing_columns_needs_only_those_that_are_known():
    buffer = io.BytesIO()
    write_swf({"submit": [0, 1.5], "run_time": [3, 4]}, buffer, header=["; Note: made up"])
    assert buffer.getvalue().decode() == ("; Note: made up\n1 0 -1 3" + " -1" * 14 + "\n2 1.5 -1 4" + " -1" * 14 + "\n")


def test_a_path_ending_in_gz_is_packed_the_same_every_time_and_read_whatever_its_name(tmp_path):
    log = parse(HEADER + line(1) + line(2))
    packed, elsewhere, plain = tmp_path / "a.swf.gz", tmp_path / "b.swf.gz", tmp_path / "a.swf"
    for path in (packed, elsewhere, plain):
        write_swf(log, path)
    assert packed.read_bytes() == elsewhere.read_bytes()
    assert packed.read_bytes()[4:8] == bytes(4)  # the time in a gzip header
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes() == format_swf(log)
    renamed = packed.rename(tmp_path / "renamed.swf")
    assert same(read_swf(renamed), log)
    assert same(read_swf(str(plain)), log)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_log_of_the_canonical_form_is_written_back_byte_by_byte(tmp_path, pack):
    text = (HEADER + ";\n; Note:  two  blanks \n" + line(1) + line(2, 7, wait=0.25, user=3)).encode()
    (tmp_path / "in.swf").write_bytes(pack(text))
    write_swf(read_swf(tmp_path / "in.swf"), tmp_path / "out.swf")
    assert (tmp_path / "out.swf").read_bytes() == text


def test_messages_name_the_file_that_was_read(tmp_path):
    path = tmp_path / "broken.swf"
    path.write_text("1 2 3\n")
    with pytest.raises(LogError, match=r"^broken.swf, line 1: "):
        read_swf(path)
    with path.open("rb") as stream, pytest.raises(LogError, match=r"^broken.swf, line 1: "):
        read_swf(stream)
    with pytest.raises(FileNotFoundError, match="absent"):
        read_swf(tmp_path / "absent.swf")


def test_a_text_stream_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match="binary mode"):
        read_swf(io.StringIO(line()))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_and_written_with_a_dash(pack):
    program = "from workloads import read_swf, write_swf; write_swf(read_swf('-'), '-')"
    text = (HEADER + line(1) + line(2)).encode()
    done = subprocess.run([sys.executable, "-c", program], input=pack(text), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (text, b"")


def test_importing_the_package_loads_nothing_heavy():
    program = "import sys, workloads, workloads.lublin, workloads.estimates; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"scipy", "pandas", "numba", "matplotlib", "gas", "speedup_models", "experiments"}


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(
    ("name", "jobs", "machine"),
    [
        ("KTH-SP2-1996-2.1-cln", 28476, 100),
        ("CTC-SP2-1996-3.1-cln", 77222, 338),
        ("SDSC-SP2-1998-4.2-cln", 59715, 128),
        ("SDSC-Par-1996-3.1-cln", 32135, 400),
        ("LANL-CM5-1994-4.1-cln", 122060, 1024),
    ],
)
def test_a_real_log_is_read_whole_and_written_back_without_loss(traces, name, jobs, machine):
    path = traces / f"{name}.swf.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in GAS_TRACES")
    log = read_swf(path)
    assert (len(log), log.header.max_procs, log.warnings) == (jobs, machine, ())
    again = parse_swf(format_swf(log))
    assert same(again, log)
    original = gzip.decompress(path.read_bytes()).decode()
    assert list(again.header.lines) == [text for text in original.splitlines() if text.startswith(";")]
    first = next(text for text in original.splitlines() if not text.startswith(";"))
    assert [float(number) for number in first.split()] == [column[0] for column in again.columns().values()]


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["all-known.swf", "all-known.swf.gz"])
def test_reading_making_rigid_and_writing_takes_less_than_300_bytes_a_job(tmp_path, name, jobs):
    """All 18 columns known, the worst case: 144 bytes a job in memory, 64 more as rigid jobs."""
    generator = np.random.default_rng(1)
    columns = {field.name: generator.integers(0, 10_000, jobs) for field in FIELDS}
    columns["submit"].sort()
    write_swf(columns, tmp_path / name)
    write_swf({key: column[:100] for key, column in columns.items()}, tmp_path / "small.swf")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / name), str(tmp_path / "small.swf")],
        capture_output=True,
        text=True,
        check=True,
    )
    allocated, resident = (int(number) / jobs for number in done.stdout.split())
    assert 200 < allocated < 300  # below 200 some memory would not have been counted
    assert resident < 300


MEMORY = """
import sys, tracemalloc
from workloads import read_swf, rigid_jobs, write_swf

def all_of_it(path, write=True):
    log = read_swf(path)
    jobs = rigid_jobs(log, 10_000)
    if write:
        write_swf(log, "/dev/null")
    return log, jobs

def status(key):
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith(key)).split()[1])

all_of_it(sys.argv[2])  # whatever is loaded on demand is loaded now
before = status("VmRSS")
all_of_it(sys.argv[1])
resident = status("VmHWM") - before
tracemalloc.start()
all_of_it(sys.argv[1], write=False)  # makes millions of short texts, which take long to trace
print(tracemalloc.get_traced_memory()[1], resident)
"""
