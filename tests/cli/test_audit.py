"""`gas audit`: a verdict, a table, and a reliable exit code for scripts."""

import gzip
import json

import pytest
import typer
from typer.testing import CliRunner

from documents.fields import Unusable
from gas.cli.audit import audit_command
from gas.cli.simulate import simulate_command
from gas.errors import BadInput, outcome_of

LOG = """; Acknowledge: Ada
; UnixStartTime: 0
; TimeZoneString: UTC
; MaxProcs: 4
1 0 0 10 3 -1 -1 3 12 -1 1 1 1 -1 -1 -1 -1 -1
2 1 9 20 4 -1 -1 4 20 -1 1 1 1 -1 -1 -1 -1 -1
3 2 0 6 1 -1 -1 1 8 -1 1 1 1 -1 -1 -1 -1 -1
"""
LATE = "1 0 0 10\n2 1 13 33\n3 2 2 8\n"


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(audit_command)
    return lambda *words, **options: CliRunner().invoke(app, [str(word) for word in words], **options)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "tiny.swf"
    path.write_text(LOG)
    return path


@pytest.fixture
def late(tmp_path):
    path = tmp_path / "late.txt"
    path.write_text(LATE)
    return path


def test_a_schedule_that_keeps_the_rules_ends_with_0(run, log):
    result = run(log, "--promise", "easy")
    assert result.exit_code == 0
    assert "tiny.swf: 3 jobs on 4 processors: no violation" in result.stdout
    for rule in ("every job occurs once", "no start before", "never more processors", "after its shadow time"):
        assert rule in result.stdout


def test_a_broken_rule_ends_with_1_and_names_the_first_violation(run, late, log):
    result = run(late, "--log", log, "--promise", "easy")
    assert result.exit_code == 1
    assert "late.txt: 3 jobs on 4 processors: 1 violation of 1 rule" in result.stdout
    assert "its shadow time was 12, it starts at 13: 1 s late" in " ".join(result.stdout.split())
    assert run(late, "--log", log).exit_code == 0


def test_what_cannot_be_told_ends_with_2_and_says_what_would_help(run, late, log):
    result = run(late, "--log", log, "--promise", "conservative")
    assert result.exit_code == 2
    assert "no violation; 1 rule cannot be checked" in result.stdout
    assert "promised_start" in result.stdout


def test_json_is_one_object_with_a_schema(run, late, log):
    result = run(late, "--log", log, "--promise", "easy", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert (document["schema"], document["ok"], document["jobs"], document["overrun"]) == (
        "gas.audit/1",
        False,
        3,
        "kill",
    )
    [easy] = [check for check in document["checks"] if check["check"] == "easy"]
    assert (easy["violations"], easy["first"]["job"], easy["first"]["time"]) == (1, "2", 13)


def test_the_logs_acknowledgement_goes_to_standard_error(run, late, log):
    assert "Ada" in run(late, "--log", log, "--json").stderr


def test_a_smaller_machine_can_be_asked_for(run, log):
    result = run(log, "--processors", 3)
    assert result.exit_code == 1
    assert "job 2 starts at 10 on 4 of 3 processors" in " ".join(result.stdout.split())


def test_the_schedule_comes_from_standard_input_too(run, log):
    assert "standard input" in run("-", input=LOG).stdout
    assert run("-", "--log", log, input=LATE).exit_code == 0
    assert run("-", "--log", "-", input=LATE).exit_code == 2


def test_mistakes_are_errors_that_name_the_way_out(run, late, tmp_path):
    for words, message in [
        ((late,), "add --processors N"),
        ((late, "-p", 4), "--log"),
        ((tmp_path / "none.swf",), "cannot be read"),
        ((late, "--log", tmp_path / "none.swf"), "cannot be read"),
    ]:
        error = run(*words).exception
        assert isinstance(error, BadInput)
        assert message in str(error)
    assert run(late, "--promise", "much").exit_code == 2
    assert run(late, "-p", 0).exit_code == 2
    assert run(late, "-p", 2**31).exit_code == 2


MONTHS = """; UnixStartTime: 820454400
; TimeZoneString: UTC
; MaxProcs: 4
""" + "".join(
    f"{job} {job * 400_000} 0 {1000 * job} {1 + job % 4} -1 -1 {1 + job % 4} 90000 -1 1 1 1 -1 -1 -1 -1 -1\n"
    for job in range(1, 21)
)
"""Twenty jobs from January to April 1996."""


@pytest.mark.parametrize(
    "options",
    [
        ["--first", "7"],
        ["--month", "1996-02"],
        ["--month", "1996-01", "--month", "1996-03"],
        ["--from", "1996-02-01", "--until", "1996-03-10"],
        ["--month", "1996-02", "--first", "3"],
        ["--scale-load", "0.9"],
        ["--from", "1996-02-01", "--scale-load", "0.5"],
    ],
)
def test_the_schedule_of_a_part_of_a_log_is_checked_against_the_same_part(tmp_path, options):
    app = typer.Typer()
    app.command("audit")(audit_command)
    app.command("simulate")(simulate_command)
    log, schedule = tmp_path / "months.swf", tmp_path / "s.csv"
    log.write_text(MONTHS)

    def gas(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    assert gas("simulate", log, *options, "--policy", "s3", "-o", schedule).exit_code == 0
    result = gas("audit", schedule, "--log", log, "--promise", "s3", *options)
    assert result.exit_code == 0, result.stdout
    whole = gas("audit", schedule, "--log", log, "--promise", "s3")
    assert whole.exit_code == 1
    assert options[-2] in whole.stdout  # the hint names it


def test_malformed_lines_of_the_log_are_left_out_unless_they_are_to_be_refused(run, late, log):
    log.write_text(LOG + "4 what is this\n")
    assert isinstance(run(late, "--log", log, "--strict").exception, ValueError)
    result = run(late, "--log", log)
    assert result.exit_code == 0
    assert "1 malformed" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--first", 1],
        ["--month", "1996-01"],
        ["--from", "1996-01-01"],
        ["--until", "1996-01-01"],
        ["--scale-load", 1],
        ["--strict"],
    ],
)
def test_what_chooses_jobs_of_the_log_needs_the_log(run, log, options):
    error = run(log, *options).exception
    assert isinstance(error, BadInput)
    assert str(error) == f"{options[0]}: applies to the simulated log; give it with --log LOG"


def test_a_policy_that_promises_nothing_is_said_to(run, log):
    error = run(log, "--promise", "conservative-replan").exception
    assert isinstance(error, BadInput)
    assert "promises no start" in str(error)
    assert run(log, "--promise", "s3-1999").exit_code == 2  # not recorded in SWF


@pytest.mark.parametrize("width", [80, 60])
def test_nothing_is_cut_in_a_narrow_terminal(run, late, log, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    late.write_text("1 0 -5000 5010\n2 1 13 33\n3 2 2 8\n")
    result = run(late, "--log", log, "--promise", "easy")
    document = json.loads(run(late, "--log", log, "--promise", "easy", "--json").stdout)
    table, _, below = result.stdout.split("\n\n", 1)[1].partition("\n\n")
    assert len(document["checks"]) == 7
    assert max(map(len, table.splitlines())) <= width
    words = table.split()
    assert "…" not in table
    for check in document["checks"]:
        at = words.index(check["check"])
        assert words[at + 1 : at + 3] == [str(check["checked"]), str(check["violations"])]
        assert set(check["rule"].split()) <= set(words)
        if check["first"]:
            assert f"{check['check']}: first: {check['first']['message']}\n" in below


def test_what_does_not_fit_in_memory_is_said_to_be_too_large(run, late, monkeypatch):
    def full(_):
        raise MemoryError

    monkeypatch.setattr("gas.cli.audit.read_schedule", full)
    error = run(late, "-p", 4).exception
    assert isinstance(error, BadInput)
    assert "memory" in str(error)


ROW = ["1", "0", "2", "10", "0", "10", "10", "COMPLETED_SUCCESSFULLY", "0-1", "0"]
TITLES = (
    "job_id,submission_time,requested_number_of_resources,requested_time,starting_time,execution_time,finish_time,"
    "final_state,allocated_resources,promised_start"
)
STRANGE = ["nan", "inf", "1e400", "1e19", "-1e15", "1e13", "9007199254740991", "9007199254740993", "", "abc", "0x10",
           "1_0", "9" * 5000, "0.5", "x" * 200_000]  # fmt: skip


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("value", STRANGE, ids=lambda value: value[:20])
def test_whatever_a_cell_says_no_error_is_unforeseen(run, tmp_path, value):
    path = tmp_path / "hostile"
    swf = "1 0 0 10 3 -1 -1 3 12 -1 1 1 1 -1 -1 -1 -1 -1"
    texts = [f"; MaxProcs: {value}\n; UnixStartTime: {value}\n{swf}\n"]
    for at in range(len(ROW)):
        cells = [*ROW[:at], value, *ROW[at + 1 :]]
        texts.append(f"{TITLES}\n{','.join(cells)}\n2,0.5,2,10,0.5,10,10.5,COMPLETED_SUCCESSFULLY,2-3,0.5\n")
    for at in range(18):
        fields = swf.split()
        fields[at] = value
        texts.append(f"; MaxProcs: 4\n{' '.join(fields)}\n2 0.5{swf[3:]}\n")
    for text in texts:
        path.write_text(text)
        for options in (["--promise", "easy", "--json"], ["-p", 4, "--promise", "s3"]):
            result = run(path, *options)
            assert isinstance(result.exception, SystemExit | None) or outcome_of(result.exception), text[:300]
            assert len(str(result.exception)) < 500


GOOD = f"{TITLES}\n{','.join(ROW)}\n"
PACKED = gzip.compress((GOOD * 50).encode())
WHOLE_FILES = {
    "empty": (b"", "is empty"),
    "header only": (TITLES.encode(), "has a header and no jobs"),
    "other end of lines": (GOOD.replace("\n", "\r\n").encode(), None),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), None),
    "two bytes a letter": (GOOD.encode("utf-16"), "is UTF-16, as PowerShell writes text; save it as UTF-8"),
    "packed with xz": (b"\xfd7zXZ\0\0\4", "is packed with xz; unpack it first"),
    "a column twice": (GOOD.replace("promised_start", "job_id").encode(), "mean the same"),
    "another's column twice": (GOOD.replace("final_state", "x").replace("requested_time", "x").encode(), None),
    "gzip cut off": (PACKED[:-9], "the gzip file ends too early"),
    "gzip cut off at once": (PACKED[:3], "the gzip file ends too early"),
    "a field too long for a table": (b"1,0,0," + b"x" * 200_000, "field larger than field limit"),
    "a quotation without end": (b'id,submit,start,end\n"1,0,0,5\n', "1 fields; the header has 4"),
}


@pytest.mark.parametrize("name", WHOLE_FILES)
def test_whatever_a_file_is_it_is_read_or_refused_in_words(run, tmp_path, name):
    data, message = WHOLE_FILES[name]
    path = tmp_path / "x"
    path.write_bytes(data)
    result = run(path, "-p", 4, "--promise", "s3")
    if message is None:
        assert result.exit_code == 0
    else:
        assert isinstance(result.exception, Unusable)
        assert message in str(result.exception)


def test_metrics_stand_beside_the_checks(run, log):
    result = run(log)
    for line in ("wait: 3 s on average", "median wait: 0 s", "utilization: 96.7%", "makespan: 30 s"):
        assert line in result.stdout, result.stdout
    metrics = json.loads(run(log, "--json").stdout)["metrics"]
    assert (metrics["mean_wait"], metrics["longest_wait"], metrics["makespan"]) == (3, 9, 30)


def test_what_sacct_printed_is_a_schedule(run, tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS|State\n"
        "7|ann|01:00:00|60|1000|1100|1160|4|COMPLETED\n"
        "8|bob|01:00:00|60|1010|1120|1180|4|COMPLETED\n"
        "9|bob|01:00:00|0|1020|Unknown|Unknown|4|PENDING\n"
    )
    done = run(path, "--processors", "8")
    assert done.exit_code == 0
    assert "gas: sacct.txt: 1 job left out: not started" in done.stderr
    assert "wait: 105 s on average" in done.stdout
    assert run(path, "--processors", "4").exit_code == 1


def test_a_log_has_jobs_that_have_not_ended(run, tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(LOG + "4 3 0 -1 2 -1 -1 -1 8 -1 -1 1 1 -1 -1 -1 -1 -1\n")
    done = run(path)
    assert done.exit_code == 0
    assert "gas: log.swf: 1 job left out: not ended, or with no run time" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("; MaxProcs: 4\n" + "1 0 -1 9 2 -1 -1 -1 8 -1 1 1 1 -1 -1 -1 -1 -1\n" * 2, "none of its 2 jobs has a start"),
        ("; MaxProcs: 4\n1 0 0 -1 2 -1 -1 -1 8 -1 1 1 1 -1 -1 -1 -1 -1\n", "has no job, so there is nothing to check"),
        ("JobID|User|Timelimit|ElapsedRaw|Submit|Start|End|AllocCPUS\n9|bob|01:00:00|0|1020|Unknown|Unknown|4\n",
         "has no job that ran; 1 job left out: not started"),
    ],
)  # fmt: skip
def test_what_has_no_schedule_is_no_schedule_without_violations(run, tmp_path, text, message):
    path = tmp_path / "x"
    path.write_text(text)
    result = run(path, "-p", 4)
    assert isinstance(result.exception, Unusable)
    assert message in str(result.exception)


def test_a_job_of_unknown_size_is_left_out_of_the_metrics_and_counted(run, tmp_path):
    path = tmp_path / "odd.swf"
    path.write_text(LOG + "4 3 0 6 -1 -1 -1 -1 8 -1 1 1 1 -1 -1 -1 -1 -1\n")
    done = run(path)
    assert "wait: 3 s on average" in done.stdout
    assert "metrics exclude 1 job" in done.stdout
