"""`gas audit`: a verdict, a table, and an exit code that scripts can trust."""

import json

import pytest
import typer
from typer.testing import CliRunner

from gas.cli.audit import audit_command
from gas.errors import BadInput

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
    for rule in ("every job is there", "no start before", "never more processors", "after its shadow time"):
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
    assert "no violation; 1 rule cannot be told" in result.stdout
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
