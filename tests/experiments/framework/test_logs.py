"""Which files of a folder a study takes."""

import gzip

import pytest

from experiments.framework.files import log_of_file
from experiments.framework.logs import SOURCES, find_logs, jobs_by_month, load_log
from gas.errors import BadInput
from gas.simulation.files import format_schedule_swf
from gas.simulation.simulate import simulate
from workloads import rigid_jobs
from workloads.swf import parse_swf

HEADER = "; MaxProcs: 9\n; Acknowledge: Ada\n"
LINE = "1 0 -1 10 1 -1 -1 1 20 -1 1 1 1 -1 -1 -1 -1 -1\n"


def put(folder, *names, text=HEADER + LINE):
    for name in names:
        data = text.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def names(folder):
    return [log.name for log in find_logs(folder)[0]]


def test_logs_are_found_by_their_archive_names_plain_or_packed(tmp_path):
    put(tmp_path, "KTH-SP2-1996-2.1-cln.swf", "CTC-SP2-1996-3.1-cln.swf.gz", "notes.txt", "Other-1999.swf")
    found, missing, _ = find_logs(tmp_path)
    assert [(log.source.trace, log.name) for log in found] == [
        ("CTC", "CTC-SP2-1996-3.1-cln"),
        ("KTH", "KTH-SP2-1996-2.1-cln"),
    ]
    assert [str(source) for source in missing] == ["SDSC", "Par 1995", "Par 1996", "CM5"]


def test_the_uncleaned_version_comes_first_then_the_newest(tmp_path):
    put(tmp_path, "KTH-SP2-1996-1.9-cln.swf.gz", "KTH-SP2-1996-1.10-cln.swf.gz")
    assert names(tmp_path) == ["KTH-SP2-1996-1.10-cln"]
    put(tmp_path, "KTH-SP2-1996-1.swf", "KTH-SP2-1996-2.swf")
    (log,) = find_logs(tmp_path)[0]
    assert (log.name, log.cleaned) == ("KTH-SP2-1996-2", False)
    assert log.others == ("KTH-SP2-1996-1", "KTH-SP2-1996-1.10-cln", "KTH-SP2-1996-1.9-cln")


def test_a_version_that_is_named_is_the_only_one_of_its_log(tmp_path):
    put(tmp_path, "KTH-SP2-1996-2.swf", "KTH-SP2-1996-2.1-cln.swf.gz", "CTC-SP2-1996-3.1-cln.swf")
    found = find_logs(tmp_path, versions=["KTH-SP2-1996-2.1-cln"])[0]
    assert [(log.name, log.others) for log in found] == [("CTC-SP2-1996-3.1-cln", ()), ("KTH-SP2-1996-2.1-cln", ())]
    assert SOURCES[1] in find_logs(tmp_path, versions=["KTH-SP2-1996-3"])[1]


def test_what_was_made_of_a_log_is_not_taken_for_it_and_that_is_said(tmp_path):
    made = (
        "KTH-SP2-1996-2.1-cln-easy.swf.gz",
        "KTH-SP2-1996-3-cln-oct.swf",
        "KTH-SP2-1996.swf",
        "KTH-SP2-1996_easy.swf",
    )
    put(tmp_path, "KTH-SP2-1996-2.1-cln.swf.gz", *made)
    (log,), _, left_out = find_logs(tmp_path)
    assert (log.path.name, log.others) == ("KTH-SP2-1996-2.1-cln.swf.gz", ())
    assert sorted(words.partition(":")[0] for words in left_out) == sorted(made)
    names_of_archive = "KTH-SP2-1996-VERSION.swf.gz or KTH-SP2-1996-VERSION-cln.swf.gz"
    assert all(words.endswith(f": not a name of the archive, {names_of_archive}") for words in left_out)


def test_a_simulated_schedule_under_the_name_of_a_log_is_left_out(tmp_path):
    schedule = simulate(rigid_jobs(parse_swf((HEADER + LINE).encode())), "easy")
    written = format_schedule_swf(schedule, parse_swf((HEADER + LINE).encode())).decode()
    put(tmp_path, "KTH-SP2-1996-2.swf", text=written)
    found, missing, (why,) = find_logs(tmp_path)
    assert (found, missing) == ([], list(SOURCES))
    assert why == "KTH-SP2-1996-2.swf: its header says that it is a simulated schedule, no record of the machine"
    put(tmp_path, "KTH-SP2-1996-2.1-cln.swf.gz")
    assert names(tmp_path) == ["KTH-SP2-1996-2.1-cln"]


def test_a_log_is_known_by_what_it_holds_not_by_how_it_is_packed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    put(tmp_path / "a", "KTH-SP2-1996-2.swf")
    put(tmp_path / "b", "KTH-SP2-1996-2.swf.gz")
    ((plain,), *_), ((packed,), *_) = find_logs(tmp_path / "a"), find_logs(tmp_path / "b")
    assert plain.sha256 == packed.sha256
    assert packed.header.max_procs == 9
    assert packed.header.acknowledgements == ("Ada",)


def test_without_a_folder_every_log_is_missing():
    assert find_logs(None) == ([], list(SOURCES), [])


def test_rows_belong_to_the_log_of_their_year():
    by_month = [[s.stem for s in SOURCES if s.covers("Par", month)] for month in ("1995-12", "1996-01")]
    assert by_month == [["SDSC-Par-1995"], ["SDSC-Par-1996"]]


def test_what_cannot_be_read_is_an_error_that_names_it(tmp_path):
    with pytest.raises(BadInput, match="none: cannot be read"):
        find_logs(tmp_path / "none")
    (tmp_path / "KTH-SP2-1996-2.swf.gz").write_bytes(gzip.compress(LINE.encode() * 99)[:-9])
    with pytest.raises(BadInput, match=r"KTH-SP2-1996-2.swf.gz: the gzip file is damaged"):
        find_logs(tmp_path)


def test_a_log_that_changes_meanwhile_is_noticed(tmp_path):
    put(tmp_path, "KTH-SP2-1996-2.swf")
    (log,) = find_logs(tmp_path)[0]
    assert len(load_log(log.path, log.sha256)) == 1
    put(tmp_path, "KTH-SP2-1996-2.swf", text=LINE * 2)
    load_log.cache_clear()
    with pytest.raises(BadInput, match="changed while the study ran"):
        load_log(log.path, log.sha256)


def test_of_an_own_log_months_have_the_jobs_that_can_run(tmp_path):
    """Only jobs that can run can be replaced or compared."""
    jobs = "1 0 -1 10 1 -1 -1 1 20 -1 1 1\n2 9 -1 -1 1 -1 -1 1 20 -1 1 1\n3 9999999 -1 10 99 -1 -1 99 20 -1 1 1\n"
    text = HEADER + jobs.replace(" 1 1\n", " 1 1 1 -1 -1 -1 -1 -1\n")
    put(tmp_path, "own.swf", text=text)
    assert list(jobs_by_month(log_of_file(tmp_path / "own.swf")).values()) == [1, 0]
