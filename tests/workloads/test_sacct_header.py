"""The header line of sacct's output: recognised, with the fields that it names. All of it is made up."""

import gzip

import pytest

from workloads.cells import Malformed
from workloads.log import LogError
from workloads.sacct_header import Columns, is_header, is_sacct, why_no_sacct

HEADER = "JobID|User|Account|Timelimit|Elapsed|Submit|Start|End|AllocCPUS|NNodes|State"
FIRST = "101|ann|physics|01:00:00|00:10:05|2024-05-01T08:00:00|2024-05-01T08:01:00|2024-05-01T08:11:05|16|2|COMPLETED"


def test_columns_of_blanks_and_a_missing_header_are_recognized():
    assert "--parsable2" in why_no_sacct(b"   JobID      User\n-------- ---------\n")
    assert "without its header line" in why_no_sacct(FIRST.encode())
    assert "without its header line" in why_no_sacct(FIRST.replace("|", "  ").encode())
    for other in (b"", b"; JobID User\n", b"1 0 5 10 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1\n", b"Dear all\n"):
        assert why_no_sacct(other) == ""


def test_bytes_are_told_apart_as_files_are(tmp_path):
    (tmp_path / "a").write_text(f"{HEADER}\n{FIRST}\n")
    assert is_sacct(tmp_path / "a")
    assert is_sacct((tmp_path / "a").read_bytes())
    assert is_sacct(gzip.compress((tmp_path / "a").read_bytes()))
    assert not is_sacct(b"; SWF\n")


@pytest.mark.parametrize("mark", [",", ";", "\t", "^"])
def test_fields_may_stand_between_other_marks(mark):
    columns = Columns.of(HEADER.replace("|", mark), "made")
    assert columns.cells(FIRST.replace("|", mark)) == Columns.of(HEADER, "made").cells(FIRST)


def test_a_spreadsheet_quotes_what_has_the_mark_in_it():
    columns = Columns.of(HEADER.replace("AllocCPUS", "AllocTRES").replace("|", ","), "made")
    cells = FIRST.replace("|16|", '|"billing=16,cpu=16"|').replace("|", ",")
    assert columns.cells(cells)["alloctres"] == "billing=16,cpu=16"
    assert columns.counts == {"cpus": "alloctres", "nodes": "nnodes"}


def test_a_log_as_a_table_is_no_output_of_sacct():
    """Such a table has other names for a time limit."""
    assert not is_header("jobid,user,submit,start,end,cpus,walltime")
    assert not is_header("JobID User Submit Timelimit")


def test_marks_behind_the_last_field_are_of_no_field():
    columns = Columns.of(HEADER + "|", "made")
    assert columns.cells(FIRST + "|")["state"] == "COMPLETED"
    with pytest.raises(Malformed, match="12 where the header has 11"):
        columns.cells(FIRST + "||")


def test_a_field_that_is_needed_is_asked_for():
    for name, message in (("User", "no User"), ("Start", "no Start"), ("Timelimit", "no Timelimit")):
        with pytest.raises(LogError, match=f"made, line 1: its header has {message}; add it to sacct's --format"):
            Columns.of(HEADER.replace(f"|{name}", "|Comment"), "made")
