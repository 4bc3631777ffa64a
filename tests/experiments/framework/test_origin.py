"""What a report says about its logs: the archive's notes as data."""

import pytest

from experiments.framework import logs
from experiments.framework.files import log_of_file
from experiments.framework.logs import Source, find_logs, jobs_by_month, log_in
from experiments.framework.origin import archive_notes

SOURCE = Source("KTH", "KTH-SP2-1996", 100, "users", 28490)
ROW = "{} 0 0 5 2 -1 -1 2 {} -1 1 1 1 -1 -1 -1 -1 -1\n"


@pytest.fixture
def log(tmp_path):
    def of(header, requested):
        path = tmp_path / "KTH-SP2-1996-3-cln.swf"
        path.write_text("".join(f"; {line}\n" for line in header) + "".join(map(ROW.format, range(1, 9), requested)))
        return log_in(path, SOURCE)

    return of


def test_bursts_missing_requests_and_partitions_are_said(log):
    header = ["MaxProcs: 4", "Partition: 1 interactive", "Partition: 2 batch", "Note: THIS IS A CLEANED VERSION OF THE"
              " LOG!", "  user=5 and (job>=3) (1200 jobs removed)", "  job<=10 (10 jobs removed)"]  # fmt: skip
    assert archive_notes(log(header, [10, -1, 10, 10, 10, -1, 10, 10])) == (
        " The archive removed 1,210 jobs, most of them in bursts of 1 user (user=5 and (job>=3): 1,200; job<=10: 10)."
        " 25.0% of its jobs have no requested time; their run times replace it."
        " Its partitions (interactive, batch) are simulated as one machine."
    )


def test_of_a_log_without_such_notes_nothing_is_said(log):
    assert archive_notes(log(["MaxProcs: 4", "Partition: 1 batch"], [10] * 8)) == ""


def test_a_log_that_the_study_has_read_is_not_read_again_for_its_report(log, monkeypatch):
    read = log(["MaxProcs: 4"], [10, -1] * 4)
    jobs_by_month(read)
    monkeypatch.setattr(logs, "load_log", None)
    assert archive_notes(read) == " 50.0% of its jobs have no requested time; their run times replace it."


@pytest.mark.parametrize(("column", "unit"), [("AllocCPUS", "cpus"), ("AllocNodes", "nodes")])
def test_notes_on_a_log_with_malformed_lines_or_of_nodes_are_no_error(tmp_path, column, unit):
    """A study of hours ended with an error when its report was written."""
    row = "{}|ann|2026-01-01T00:00:00|2026-01-01T00:01:00|2026-01-01T00:11:00|01:00:00|4\n"
    jobs = "".join(row.format(number) for number in range(1, 5))
    (tmp_path / "jobs.txt").write_text(f"JobID|User|Submit|Start|End|Timelimit|{column}\n{jobs}5|bob\n")
    assert archive_notes(log_of_file(tmp_path / "jobs.txt", unit=unit, processors=8)) == ""


def test_notes_on_real_logs(traces):
    found = {log.source.trace: archive_notes(log) for log in find_logs(traces)[0]}
    assert "79,327 jobs, most of them in bursts of 3 users" in found["CM5"]
    assert "9.2% of its jobs have no requested time" in found["CM5"]
    assert "100.0% of its jobs" in found["Par"]
    assert "(interactive, batch)" in found["Par"]
    assert found["KTH"] == ""
