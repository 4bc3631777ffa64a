"""``gas simulate``: its output, its files, and its messages on unusable logs."""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from made_policies import GOOD, install

from gas.cli.log_files import file_of
from gas.simulation.schedule import POLICIES
from workloads import offered_load, parse_swf, read_swf, rigid_jobs, write_swf
from workloads.estimates import uniform_factor
from workloads.lublin import generate

HEADER = """\
; Version: 2.2
; Computer: Toy
; Acknowledge: Ada, who kept the log
; UnixStartTime: 844120800
; TimeZoneString: Europe/Stockholm
; MaxProcs: 4
"""


def line(job, submit, run_time, processors, estimate):
    return f"{job} {submit} -1 {run_time} {processors} -1 -1 {processors} {estimate} -1 1 1 1 -1 -1 -1 -1 -1\n"


# Job 1 leaves one processor free until 100, job 2 needs all four, and job 3 fits alongside job 1.
THREE = line(1, 0, 100, 3, 100) + line(2, 1, 10, 4, 10) + line(3, 2, 50, 1, 50)


@pytest.fixture
def three(tmp_path):
    path = tmp_path / "three.swf"
    path.write_text(HEADER + THREE)
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A busy stream of 600 jobs by the Lublin-Feitelson model, with overestimating users."""
    generator = np.random.default_rng(7)
    made = generate(600, 64, generator=generator, load=0.85)
    path = tmp_path_factory.mktemp("logs") / "busy.swf"
    write_swf(made.with_columns(requested_time=uniform_factor(made.run_time, 5, generator)), path)
    return path


def table(text):
    """The rows of a table by their first word, without the stars."""
    return {words[0]: [word.rstrip("*") for word in words[1:]] for words in map(str.split, text.splitlines()) if words}


def test_without_backfilling_everybody_waits_for_the_head(gas, three):
    done = gas("simulate", three, "--policy", "fcfs")
    assert done.code == 0
    # Waits 0, 99 (till 100) and 108 (till 110); responses 100, 109 and 158.
    assert table(done.out)["fcfs"][:2] == ["69", "122"]
    assert table(done.out)["fcfs"][5] == "0.0%"


def test_with_backfilling_the_small_job_starts_at_once(gas, three):
    done = gas("simulate", three, "--policy", "easy", "--json")
    (result,) = done.json["results"]
    assert result["mean_wait"] == 33
    assert result["mean_response"] == pytest.approx((100 + 109 + 50) / 3)
    assert result["mean_bounded_slowdown_unclamped"] == pytest.approx((1 + 109 / 10 + 1) / 3)
    assert result["backfilled"] == pytest.approx(1 / 3)
    assert result["utilization"] == pytest.approx((300 + 40 + 50) / (4 * 110))


def test_json_has_the_keys_of_its_schema(gas, three):
    document = gas("simulate", three, "--json", "--months").json
    assert document["schema"] == "gas.simulation/1"
    (result,) = document["results"]
    keys = """policy order overrun processors jobs skipped zero_length mean_wait mean_response mean_slowdown
        mean_bounded_slowdown mean_bounded_slowdown_unclamped utilization backfilled loss_of_capacity engine_seconds
        months"""
    assert set(keys.split()) <= set(result)
    assert (result["policy"], result["order"], result["overrun"]) == ("s3", "instant", "kill")
    assert (result["trace"], result["processors"], result["jobs"], result["skipped"]) == ("three.swf", 4, 3, 0)
    assert [(month["month"], month["jobs"]) for month in result["months"]] == [("1996-10", 3)]


def test_several_policies_are_compared_and_the_best_of_each_column_has_a_star(gas, three):
    done = gas("simulate", three, "--policy", "fcfs,easy", "--policy", "easy", "--policy", "s3")
    rows = [words for words in map(str.split, done.out.splitlines()) if words and words[0] in POLICIES]
    assert [row[0] for row in rows] == ["fcfs", "easy", "s3"]
    waits = [row[1] for row in rows]
    assert waits == ["69", "33*", "33*"]


def test_what_is_alike_for_all_has_no_star(gas, three):
    done = gas("simulate", three, "--policy", "easy,s3")
    assert "*" not in done.out


def test_months_are_a_table_with_a_row_for_each_policy(gas, log):
    done = gas("simulate", log, "--policy", "easy,conservative", "--months")
    document = gas("simulate", log, "--policy", "easy,conservative", "--months", "--json").json
    months = document["results"][0]["months"]
    assert sum(month["jobs"] for month in months) == 600
    for month in months:
        assert month["month"] in done.out
    assert done.out.count("conservative") == 1 + len(months)


def test_every_policy_and_order_gets_through_and_keeps_the_work(gas, log):
    for order in ("instant", "event"):
        results = gas("simulate", log, "--policy", "all", "--order", order, "--json").json["results"]
        assert [result["policy"] for result in results] == list(POLICIES)
        assert {result["jobs"] for result in results} == {600}
        # The same jobs run for the same time, so response and wait differ by the same everywhere.
        ran = [result["mean_response"] - result["mean_wait"] for result in results]
        assert ran == pytest.approx([ran[0]] * len(ran))


def test_the_log_is_acknowledged_on_standard_error(gas, three):
    done = gas("simulate", three, "--json")
    assert "log: three, by courtesy of Ada, who kept the log\n" in done.err
    assert "Ada" not in done.out


def test_whoever_kept_several_logs_is_acknowledged_once(gas, three, tmp_path):
    again, of_another = tmp_path / "again.swf", tmp_path / "of-another.swf"
    again.write_bytes(three.read_bytes())
    of_another.write_text(three.read_text().replace("Ada", "Bob"))
    err = gas("simulate", three, again, of_another, "--json").err
    assert [line for line in err.splitlines() if "courtesy" in line] == [
        "log: three, by courtesy of Ada, who kept the log",
        "log: of-another, by courtesy of Bob, who kept the log",
    ]


def test_a_log_comes_from_standard_input_too_plain_or_packed(gas, three, monkeypatch):
    for data in (three.read_bytes(), gzip.compress(three.read_bytes())):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert gas("simulate", "-", "--json").json["results"][0]["jobs"] == 3
    assert gas("simulate", "-", "-").code == 2


def test_several_logs_are_simulated_one_after_the_other(gas, three, log):
    results = gas("simulate", three, log, "--policy", "easy,s3", "--json").json["results"]
    assert [(result["trace"], result["policy"]) for result in results] == [
        ("three.swf", "easy"), ("three.swf", "s3"), ("busy.swf", "easy"), ("busy.swf", "s3"),
    ]  # fmt: skip
    printed = gas("simulate", three, log).out
    assert printed.index("three.swf: 3 jobs") < printed.index("busy.swf: 600 jobs")


def test_the_machine_may_be_another(gas, three):
    assert gas("simulate", three, "--processors", 8, "--json").json["results"][0]["mean_wait"] == 0
    smaller = gas("simulate", three, "--processors", 3, "--json")
    assert smaller.json["results"][0]["skipped"] == 1
    assert "1 of 3 jobs left out: more processors than the machine" in smaller.err
    assert gas("simulate", three, "--processors", 0).code == 2


def test_jobs_that_outlive_their_estimate_are_killed_or_get_a_longer_one(gas, tmp_path):
    path = tmp_path / "over.swf"
    path.write_text(HEADER + line(1, 0, 100, 4, 60))
    for rule, response in (("kill", 60), ("extend", 100)):
        assert gas("simulate", path, "--overrun", rule, "--json").json["results"][0]["mean_response"] == response


def test_the_table_says_how_many_jobs_were_cut_short(gas, tmp_path):
    path = tmp_path / "over.swf"
    path.write_text(HEADER + line(1, 0, 100, 4, 60) + line(2, 1, 100, 4, 100) + line(3, 2, 30, 4, 20))
    cut = "2 of 3 jobs (66.7%) killed at their estimates; --overrun extend lets them finish"
    done = gas("simulate", path)
    assert done.out.splitlines()[-1] == cut
    assert "killed" not in done.err, "it is said once"
    after_the_table, months = gas("simulate", path, "--months").out.split(cut)
    assert after_the_table.endswith("%\n")
    assert months.startswith("\n\nmonth")
    assert "killed at" not in gas("simulate", path, "--overrun", "extend").out
    assert gas("simulate", path, "--json").json["results"][0]["longer_than_estimate"] == 2


def test_where_no_job_was_cut_nothing_is_said_of_it(gas, three):
    assert "killed at" not in gas("simulate", three).out


def test_jobs_are_selected_by_month_date_and_number(gas, log):
    def jobs(*options):
        return gas("simulate", log, *options, "--json").json["results"][0]["jobs"]

    submit = read_swf(log).submit
    assert jobs("--first", 100) == 100
    assert jobs("--until", "1970-01-01T12:00") == sum(submit < 43200)
    assert jobs("--from", "1970-01-01T12:00") == sum(submit >= 43200)
    assert jobs("--from", "1970-01-01T12:00", "--first", 5) == 5
    assert jobs("--month", "1970-01") == sum(submit < 31 * 86400)


def test_a_selection_that_leaves_nothing_is_an_error_that_says_what_there_is(gas, log):
    for options in (["--month", "1971-05"], ["--from", "1999-01-01"], ["--until", "1969-01-01"]):
        done = gas("simulate", log, *options)
        assert (done.code, done.out) == (2, "")
        assert "busy.swf" in done.err


def test_load_is_scaled_by_interarrival_times(gas, log):
    calm, busy = (
        gas("simulate", log, "--scale-load", load, "--json").json["results"][0]["mean_wait"] for load in (0.1, 0.95)
    )
    assert calm < busy
    assert gas("simulate", log, "--scale-load", -1).code == 2


@pytest.mark.parametrize("suffix", ["swf", "swf.gz"])
def test_the_schedule_is_written_as_swf_with_the_logs_header(gas, three, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    done = gas("simulate", three, "--policy", "easy", "--output", out)
    assert (done.code, f"{out} written" in done.err) == (0, True)
    written = read_swf(out)
    assert written.wait.tolist() == [0, 99, 0]
    assert written.acknowledgements == ("Ada, who kept the log",)


def test_the_schedule_is_written_as_csv_with_promises(gas, three, tmp_path):
    out = tmp_path / "out.csv"
    gas("simulate", three, "--policy", "conservative", "--output", out)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["starting_time"] for row in rows] == ["0", "100", "2"]
    assert [row["promised_start"] for row in rows] == ["0", "100", "2"]


def test_several_schedules_need_names_that_tell_them_apart(gas, three, log, tmp_path):
    refused = gas("simulate", three, "--policy", "easy,s3", "--output", tmp_path / "out.csv")
    assert refused.code == 2
    assert "must contain {policy}, since there are 2 policies" in refused.err
    refused = gas("simulate", three, log, "--output", tmp_path / "out.csv")
    assert "must contain {trace}, since there are 2 logs" in refused.err
    assert list(tmp_path.glob("*.csv")) == []
    assert gas("simulate", three, log, "--policy", "easy,s3", "-o", tmp_path / "{trace}-{policy}.csv").code == 0
    assert {path.name for path in tmp_path.glob("*.csv")} == {
        "three-easy.csv", "three-s3.csv", "busy-easy.csv", "busy-s3.csv",
    }  # fmt: skip


def test_the_name_of_a_file_follows_from_log_and_policy():
    assert file_of("{trace}-{policy}.swf", "/logs/KTH.swf.gz", "easy") == "KTH-easy.swf"
    assert file_of("x.swf", "-", "easy") == "x.swf"


def test_files_that_cannot_be_written_are_refused_before_anything_is_simulated(gas, three, tmp_path):
    for option, name, message in [
        ("--output", tmp_path / "x.txt", "must end in .swf, .swf.gz, .csv or .csv.gz"),
        ("--output", tmp_path / "no" / "x.swf", "there is no folder"),
        ("--plot", tmp_path / "x.gif", "must end in .png, .svg or .pdf"),
        ("--plot", "", "must end in .png, .svg or .pdf"),
        ("--plot", tmp_path / "no" / "x.png", "there is no folder"),
    ]:
        done = gas("simulate", three, option, name)
        assert (done.code, done.out) == (2, "")
        assert message in done.err


@pytest.mark.parametrize("command", ["simulate", "backtest"])
def test_a_log_without_a_name_is_not_the_folder_that_one_is_in(gas, three, monkeypatch, command):
    """As from an unset shell variable."""
    monkeypatch.chdir(three.parent)
    done = gas(command, "")
    assert (done.code, done.out) == (2, "")
    assert "the name of a log is empty; name a file" in done.err


def test_a_log_is_not_overwritten_by_its_own_schedule(gas, three):
    before = three.read_bytes()
    done = gas("simulate", three, "--output", three)
    assert (done.code, done.out) == (2, "")
    assert "would overwrite an input" in done.err
    assert three.read_bytes() == before


@pytest.mark.thorough
def test_policies_share_a_picture_unless_its_name_tells_them_apart(gas, three, tmp_path):
    assert gas("simulate", three, "--policy", "easy,s3", "--plot", tmp_path / "both.png").code == 0
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    assert gas("simulate", three, "--policy", "easy,s3", "--plot", tmp_path / "{policy}.svg").code == 0
    assert {path.name for path in tmp_path.glob("*.svg")} == {"easy.svg", "s3.svg"}


def test_a_folder_is_refused_with_the_way_out(gas, tmp_path):
    assert f"{tmp_path}: cannot be read: it is a folder; name the logs in it" in gas("simulate", tmp_path).err


BAD = {
    "nothing": (b"", "is empty"),
    "only comments": (HEADER.encode(), "has no jobs"),
    "17 fields": ((HEADER + THREE + line(4, 3, 1, 1, 1).rsplit(" ", 1)[0] + "\n").encode(), "line 10"),
    "text in a number": ((HEADER + THREE.replace(" 50 ", " fifty ", 1)).encode(), "'fifty' is not a number"),
    "not a number": ((HEADER + THREE.replace(" 50 ", " nan ", 1)).encode(), "nan is not a finite number"),
    "no machine": (THREE.encode(), "give the number of processors of the machine"),
    "truncated gzip": (gzip.compress((HEADER + THREE * 500).encode())[:-20], "gzip file ends too early"),
    "damaged gzip": (b"\x1f\x8b" + bytes(50), "gzip file is damaged"),
    "another packing": (b"PK\x03\x04" + bytes(50), "is packed with zip"),
    "binary": (bytes(range(256)), "is not text"),
    "jobs that never ran": ((HEADER + line(1, 0, -1, 2, 50)).encode(), "its one job cannot run on 4 processors"),
    "jobs too large": ((HEADER + line(1, 0, 5, 9, 50)).encode(), "its one job cannot run on 4 processors"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_a_log_that_cannot_be_used_is_an_error_that_names_the_place(gas, tmp_path, data, message):
    path = tmp_path / "bad.swf"
    path.write_bytes(data)
    done = gas("simulate", path, "--strict")
    assert (done.code, done.out) == (2, "")
    assert "bad.swf" in done.err
    assert message in done.err


def test_a_log_that_is_not_there_is_an_error(gas, tmp_path):
    for path in (tmp_path / "none.swf", tmp_path):
        done = gas("simulate", path)
        assert (done.code, done.out) == (2, "")
        assert "cannot be read" in done.err


def test_malformed_lines_are_left_out_and_counted_unless_they_are_to_be_refused(gas, tmp_path):
    path = tmp_path / "bad.swf"
    path.write_text(HEADER + THREE + "4 3 1\n5 x" + line(5, 3, 1, 1, 1)[3:])
    refused = gas("simulate", path, "--strict")
    assert refused.code == 2
    assert "line 10" in refused.err
    done = gas("simulate", path, "--json")
    assert done.json["results"][0]["malformed"] == 2
    assert done.json["results"][0]["jobs"] == 3
    assert "malformed lines by reason: wrong number of fields (1), not a number (1)" in done.err


def test_an_unsorted_log_is_sorted_with_a_warning(gas, three, tmp_path):
    lines = THREE.splitlines(keepends=True)
    path = tmp_path / "unsorted.swf"
    path.write_text(HEADER + "".join(reversed(lines)))
    done = gas("simulate", path, "--policy", "easy", "--json")
    assert "not sorted by submission" in done.err
    assert done.json["results"][0]["mean_wait"] == 33


def test_jobs_that_cannot_run_are_left_out_and_counted_by_reason(gas, tmp_path):
    path = tmp_path / "mixed.swf"
    path.write_text(HEADER + THREE + line(4, 3, 10, 5, 10) + line(5, 4, -1, 1, 10) + line(6, 5, 9, -1, 10))
    done = gas("simulate", path, "--json")
    assert (done.json["results"][0]["jobs"], done.json["results"][0]["skipped"]) == (3, 3)
    for reason in ("more processors than the machine", "no run time", "no processors"):
        assert f"1 of 6 jobs left out: {reason}" in done.err


def test_a_log_without_a_header_runs_on_a_machine_that_is_named(gas, tmp_path):
    path = tmp_path / "bare.swf"
    path.write_text(THREE)
    done = gas("simulate", path, "--processors", 4, "--policy", "easy", "--json")
    assert done.json["results"][0]["mean_wait"] == 33
    assert "UnixStartTime" in done.err


def test_jobs_of_no_length_are_told(gas, tmp_path):
    path = tmp_path / "zero.swf"
    path.write_text(HEADER + THREE + line(4, 3, 0, 1, 10))
    assert "(1 of length 0, not in slowdown)" in gas("simulate", path).out


@pytest.mark.thorough
def test_nothing_is_shown_on_a_pipe_that_is_closed(log):
    command = f"{sys.executable} -m gas simulate {log} --policy all --months | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert done.stdout.startswith("busy.swf: 600 jobs")
    assert "Traceback" not in done.stderr


def test_an_interruption_ends_it_cleanly(three, tmp_path):
    out = tmp_path / "{trace}-done.swf"
    command = [sys.executable, "-m", "gas", "simulate", str(three), "-", "-o", str(out)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    said = ""
    while "three-done.swf written" not in said:  # now it waits for the other log
        said = process.stderr.readline()
        assert said, "it ended by itself"
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stdout, stderr.strip()) == (130, "", "gas: interrupted")


@pytest.mark.thorough
def test_a_simulation_imports_neither_pandas_nor_matplotlib(three):
    program = (
        "import sys\nfrom gas.cli.main import run\n"
        f"assert run(['simulate', {str(three)!r}, '--months', '--json']) == 0\n"
        "print([m for m in ('pandas', 'matplotlib', 'fastapi', 'requests') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
    assert json.loads("\n".join(done.stdout.splitlines()[:-1]))["schema"] == "gas.simulation/1"


def test_help_explains_every_policy_and_every_column(gas, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = gas("simulate", "--help").out.replace("\b", "")
    policies, columns = text.partition("Policies:")[2].split("Columns:")
    assert re.findall(r"^    (\S+)", policies, re.MULTILINE) == list(POLICIES)
    for column in (
        "wait",
        "response",
        "slowdown",
        "bounded",
        "unclamped",
        "backfilled",
        "utilization",
        "capacity lost",
    ):
        assert re.search(rf"^    {column}  +\S", columns, re.MULTILINE), column
    assert re.search(r"^    \*  +\S", columns, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("width", [20, 60, 80, 100, 160])
def test_no_terminal_is_too_narrow_for_the_names_of_policies(gas, log, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    done = gas("simulate", log, "--policy", "all", "--months")
    rows = [line.split() for line in done.out.splitlines()]
    for policy in POLICIES:
        assert any(policy in row for row in rows)
    assert "…" not in done.out
    if width >= 60:
        assert max(map(len, done.out.splitlines()[1:])) <= width  # the first line is text, and may wrap
    # The figures are the same at any width.
    wide = gas("simulate", log, "--policy", "easy", "--json").json["results"][0]
    of_easy = [row for row in rows if row and row[0] == "easy"]
    assert any(f"{wide['mean_wait']:,.0f}" in (word.rstrip("*") for word in row) for row in of_easy)
    assert any(f"{wide['loss_of_capacity']:.1%}" in (word.rstrip("*") for word in row) for row in of_easy)


def test_a_scaled_log_says_so_in_its_schedule_and_in_json(gas, log, tmp_path):
    jobs = rigid_jobs(read_swf(log))
    done = gas("simulate", log, "--scale-load", 0.5, "--json", "-o", tmp_path / "x.swf")
    (result,) = done.json["results"]
    factor = offered_load(jobs) / 0.5
    assert result["scale_load"] == 0.5
    assert result["interarrival_factor"] == pytest.approx(factor)
    assert result["offered_load_uncut"] == pytest.approx(0.5, rel=1e-3)
    (said,) = [note for note in read_swf(tmp_path / "x.swf").header.notes if note.startswith("Load scaled")]
    assert said == f"Load scaled from {offered_load(jobs):.6g} to 0.5: interarrival times multiplied by {factor:.12g}"
    unscaled = gas("simulate", log, "--json").json["results"][0]
    assert (unscaled["scale_load"], unscaled["interarrival_factor"]) == (None, None)
    assert unscaled["offered_load_uncut"] == pytest.approx(offered_load(jobs))


def test_json_says_how_a_result_is_had_again(gas, log):
    options = ("--policy", "easy,s3", "--order", "event", "--overrun", "extend", "--from", "1970-01-01T06:00", "-p", 99)
    results = gas("simulate", log, *options, "--first", 200, "--scale-load", 0.7, "--json").json["results"]
    assert results[0]["selection"] == {"month": None, "from": "1970-01-01T06:00", "until": None, "first": 200}
    for result in results:
        program, *words = shlex.split(result["command"])
        (again,) = gas(*words, "--json").json["results"]
        assert program == "gas"
        assert {**again, "engine_seconds": 0} == {**result, "engine_seconds": 0}


def test_estimates_that_are_missing_or_too_short_are_counted(gas, tmp_path):
    path = tmp_path / "over.swf"
    path.write_text(HEADER + line(1, 0, 100, 4, 60) + line(2, 0, 50, 1, -1) + line(3, 0, 50, 1, 50))
    for rule, way_out in (
        ("kill", "killed at the estimate (--overrun extend"),
        ("extend", "raised to the run time (--overrun kill"),
    ):
        done = gas("simulate", path, "--overrun", rule, "--json")
        assert "gas: over.swf: 1 of 3 jobs has no estimate; its run time is used instead" in done.err
        assert "gas: over.swf: 1 of 3 jobs ran longer than estimated: " in done.err
        assert way_out in done.err
        (result,) = done.json["results"]
        assert (result["without_estimate"], result["longer_than_estimate"]) == (1, 1)


def test_nothing_is_said_of_estimates_that_are_as_they_should_be(gas, three):
    done = gas("simulate", three, "--json")
    assert "estimate" not in done.err
    assert done.json["results"][0]["without_estimate"] == done.json["results"][0]["longer_than_estimate"] == 0


def test_what_cannot_be_read_is_told_before_anything_is_simulated(gas, three, tmp_path):
    done = gas("simulate", three, tmp_path / "one.swf", tmp_path / "two.swf", "-o", tmp_path / "{trace}-x.swf")
    assert (done.code, done.out) == (2, "")
    assert "one.swf: cannot be read: No such file or directory" in done.err
    assert "two.swf: cannot be read" in done.err
    assert list(tmp_path.glob("*-x.swf")) == []


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_a_bad_log_loses_nothing_of_the_others(gas, three, log, tmp_path, form):
    bad = tmp_path / "bad.swf"
    bad.write_text(HEADER + THREE + "4 3 1\n")
    done = gas("simulate", three, bad, log, "--strict", *form)
    assert done.code == 2
    assert "gas: bad.swf, line 10" in done.err
    if form:
        assert [result["trace"] for result in done.json["results"]] == ["three.swf", "busy.swf"]
        (failed,) = done.json["failed"]
        assert failed["path"] == str(bad)
        assert "line 10" in failed["error"]
    else:
        assert "three.swf: 3 jobs" in done.out
        assert "busy.swf: 600 jobs" in done.out


def test_a_schedule_that_cannot_be_written_loses_no_figures(gas, three, tmp_path):
    (tmp_path / "x.swf").mkdir()
    done = gas("simulate", three, "-o", tmp_path / "x.swf")
    assert done.code == 2
    assert "x.swf: cannot be written: Is a directory" in done.err
    assert table(done.out)["s3"][:2] == ["33", "86"]


def test_two_logs_of_one_name_have_a_table_each(gas, three):
    out = gas("simulate", three, three, "--policy", "easy").out
    assert out.count("three.swf: 3 jobs") == out.count("easy") == 2


def test_a_dash_writes_the_schedule_to_standard_output_and_the_table_beside(three):
    command = [sys.executable, "-m", "gas", "simulate", str(three), "--policy", "easy", "-o", "-"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert parse_swf(done.stdout).wait.tolist() == [0, 99, 0]
    assert "three.swf: 3 jobs" in done.stderr.decode()


def test_a_dash_takes_one_schedule_and_nothing_else(gas, three):
    for options, message in [
        (["--json"], "both write to standard output"),
        (["--policy", "easy,s3"], "takes one schedule, not 2"),
    ]:
        done = gas("simulate", three, "-o", "-", *options)
        assert (done.code, done.out) == (2, "")
        assert message in done.err


@pytest.mark.parametrize("load", ["1e-300", "1e-16", "1e300", "inf", "nan", "0", "-1"])
def test_a_load_that_nothing_can_offer_is_refused(gas, three, load):
    done = gas("simulate", three, "--scale-load", load)
    assert (done.code, done.out) == (2, "")
    assert f"gas: --scale-load {float(load):g}: " in done.err


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("0", 'MaxProcs "0", which is not a number'),
        ("-5", 'MaxProcs "-5", which is not a number'),
        ("many", 'MaxProcs "many", which is not a number'),
        ("99999999999", "above the limit of 2,147,483,647"),
        ("9" * 40, "which is not a number"),
        ("9" * 400, '999...", which is not a number'),
    ],
)
def test_a_header_that_names_no_machine_is_quoted(gas, three, said, message):
    three.write_text(three.read_text().replace("MaxProcs: 4", f"MaxProcs: {said}"))
    done = gas("simulate", three)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "--processors" in done.err
    assert gas("simulate", three, "-p", 4).code == 0


def test_maxnodes_serves_where_maxprocs_is_none(gas, three):
    three.write_text(three.read_text().replace("MaxProcs: 4", "MaxProcs: unknown\n; MaxNodes: 4"))
    done = gas("simulate", three, "--json")
    assert done.json["results"][0]["processors"] == 4
    assert 'MaxProcs "unknown" is not a number of processors; MaxNodes is used, 4' in done.err


def test_what_a_file_says_does_not_steer_the_terminal(gas, three, tmp_path):
    path = tmp_path / "red\x1b[31m.swf"
    path.write_text(three.read_text().replace("Ada", "\x1b[2JAda\x07\x9b5m\u202e"))
    for options in ((), ("--json",), ("--first", "0"), ("--month", "2020-01")):
        done = gas("simulate", path, *options)
        for text in (done.out, done.err):
            assert all(one.isprintable() or one == "\n" for one in text)
    assert json.loads(gas("simulate", path, "--json").out)["results"][0]["trace"] == path.name


def test_one_job_on_one_processor_is_not_called_jobs(gas, tmp_path):
    path = tmp_path / "one.swf"
    path.write_text(HEADER.replace("MaxProcs: 4", "MaxProcs: 1") + line(1, 0, 10, 1, 10))
    assert "one.swf: 1 job, 1 processor;" in gas("simulate", path).out


def test_a_log_comes_through_a_named_pipe(three, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "gas", "simulate", str(pipe), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        with pipe.open("wb") as writer:
            writer.write(three.read_bytes())
        out, _ = process.communicate()
    assert json.loads(out)["results"][0]["jobs"] == 3


def test_an_interruption_while_a_schedule_is_written_leaves_the_old_one(gas, three, tmp_path, monkeypatch):
    out = tmp_path / "x.swf"
    out.write_text("what was there")

    def interrupted(log):
        yield b"; half of a"
        raise KeyboardInterrupt

    monkeypatch.setattr("gas.simulation.files.swf_pieces", interrupted)
    assert gas("simulate", three, "-o", out).code == 130
    assert out.read_text() == "what was there"
    assert [path.name for path in tmp_path.iterdir() if "x.swf" in path.name] == ["x.swf"]


def test_real_logs_go_through(gas, traces):
    path = next(Path(traces).glob("KTH-SP2-1996-2.1-cln.swf*"), None)
    if path is None:
        pytest.skip("needs KTH-SP2-1996-2.1-cln")
    result = gas("simulate", path, "--json").json["results"][0]
    assert (result["jobs"], result["skipped"]) == (28475, 1)


# -------------------------------------------------------------------------------------------- policies of the user


@pytest.mark.thorough
def test_a_policy_of_the_user_is_compared_and_one_that_fails_breaks_no_other(gas, three, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch)
    mine = tmp_path / "mine.py"
    mine.write_text(GOOD)
    done = gas(
        "simulate", three, "--policy", f"easy,{mine}:InOrder,leaving,broken", "--json", "-o", tmp_path / "{policy}.swf"
    )
    assert done.code == 2
    easy, own = done.json["results"]
    assert (easy["policy"], easy["mean_wait"]) == ("easy", 33)
    assert (own["policy"], own["mean_wait"]) == ("InOrder", 69)
    assert own["policy_source"]["sha256"] == hashlib.sha256(mine.read_bytes()).hexdigest()
    assert f"--policy {mine}:InOrder" in own["command"]
    assert [one["policy"] for one in done.json["failed"]] == ["leaving", "broken"]
    assert "policy leaving: start at second 1, after job 2: it ended its process" in done.err
    assert gas("audit", tmp_path / "InOrder.swf", "--log", three).code == 0


def test_a_policy_of_the_user_knows_no_order_of_events(gas, three, tmp_path):
    (tmp_path / "mine.py").write_text(GOOD)
    refused = gas("simulate", three, "--policy", tmp_path / "mine.py", "--order", "event")
    assert refused.code == 2
    assert "applies to the policies of Gas" in refused.err


# --------------------------------------------------------------------------------------------------- what was asked


def test_the_table_says_which_jobs_were_chosen_and_how_their_load_was_scaled(gas, three):
    done = gas("simulate", three, "--month", "1996-10", "--first", "2", "--scale-load", "3")
    heading = done.out.splitlines()[:4]
    assert heading[0].startswith("three.swf: 2 jobs")
    assert heading[1:3] == ["only jobs submitted in 1996-10 (3 of 3)", "only the first 2 jobs (2 of 3)"]
    assert heading[3].startswith("Load scaled from ")
    assert "only jobs" not in gas("simulate", three).out


def test_json_says_of_what_and_by_which_version_it_is(gas, three, tmp_path, monkeypatch):
    packed = tmp_path / "packed.swf.gz"
    packed.write_bytes(gzip.compress(three.read_bytes()))
    whole = hashlib.sha256(three.read_bytes()).hexdigest()
    for path in (three, packed):
        document = gas("simulate", path, "--json").json
        assert document["gas"] == version("apples-gas")
        assert document["results"][0]["sha256"] == whole
    for data in (three.read_bytes(), packed.read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert gas("simulate", "-", "--json").json["results"][0]["sha256"] == whole


def test_json_has_the_quantiles_of_the_waits(gas, three):
    (result,) = gas("simulate", three, "--policy", "fcfs", "--json", "--months").json["results"]
    for found in (result, *result["months"]):  # waits are 0, 99 and 108
        assert (found["median_wait"], found["longest_wait"]) == (99, 108)
        assert found["wait_95"] == pytest.approx(107.1)


def test_load_and_offered_load_mean_the_same_for_the_whole_and_for_a_month(gas, three):
    (result,) = gas("simulate", three, "--policy", "fcfs", "--json", "--months").json["results"]
    (month,) = result["months"]  # all of the log
    assert (result["load"], result["offered_load"]) == (month["load"], month["offered_load"])
    assert result["load"] == result["utilization"] == pytest.approx((300 + 40 + 50) / (4 * 160))
    assert result["offered_load"] == (300 + 40 + 50) / (4 * 2)  # submitted from second 0 to second 2


def test_the_load_that_is_scaled_is_that_of_the_jobs_before_they_are_cut(gas, tmp_path):
    path = tmp_path / "long.swf"
    path.write_text(HEADER + line(1, 0, 100, 4, 50) + line(2, 100, 100, 4, 50))
    (result,) = gas("simulate", path, "--json").json["results"]
    assert (result["offered_load_uncut"], result["offered_load"]) == (2, 1)
    help_text = gas("simulate", "--help").out
    assert all(f"  {name} " in help_text for name in ("load", "offered_load", "offered_load_uncut"))


# ------------------------------------------------------------------------------------------------- options and files


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("--month", "1997-13", "--month 1997-13: is not a month; write one like 1996-10"),
        ("--month", "1996-10,x", "--month x: is not a month"),
        ("--month", ",", "--month ,: is not a month"),
        ("--from", "1997-06", "--from 1997-06: is not a date; write one like 1997-06-01 or"),
        ("--until", "June", "--until June: is not a date; write one like 1996-10-01 or"),
    ],
)
def test_a_date_that_is_none_is_refused_by_its_option_before_the_log_is_read(gas, option, given, message, tmp_path):
    for command in (["simulate", tmp_path / "none.swf"], ["audit", tmp_path / "none.csv"]):
        done = gas(*command, option, given)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
        assert "none." not in done.err


def test_months_add_up_in_one_option_or_several(gas, tmp_path):
    path = tmp_path / "months.swf"
    path.write_text(HEADER + "".join(line(k + 1, k * 32 * 86400, 10, 1, 10) for k in range(4)))
    months = [f"1996-{month}" for month in (10, 11, 12)]
    one = gas("simulate", path, "--month", ",".join(months[:2]), "--json").json["results"][0]
    two = gas("simulate", path, "--month", months[0], "--month", months[1], "--json").json["results"][0]
    assert one["selection"]["month"] == two["selection"]["month"] == months[:2]
    assert one["jobs"] == two["jobs"] == 2
    assert "in this month or these months" in " ".join(gas("simulate", "--help").out.split())


def test_a_schedule_in_csv_is_sent_to_the_audit(gas, three, tmp_path):
    for name in ("out.csv", "out.csv.gz"):
        gas("simulate", three, "-o", tmp_path / name)
        for strict in ([], ["--strict"]):
            done = gas("simulate", tmp_path / name, *strict)
            assert done.code == 2
            assert "this is a schedule in CSV; gas audit reads it" in done.err


def test_a_file_that_is_no_log_is_not_taken_for_one_with_malformed_lines(gas, tmp_path):
    prose = tmp_path / "README.md"
    prose.write_text("# Logs of machines\n\nThey are here.\n")
    done = gas("simulate", prose)
    assert done.code == 2
    assert "is this the right file?" in done.err


def test_a_name_of_the_archive_that_is_no_file_is_sent_to_it(gas, three):
    for name in ("KTH-SP2-1996-2.1-cln", "kth-sp2-1996-2.1-cln.swf.gz"):
        done = gas("simulate", name)
        assert done.code == 2
        assert "gas traces get KTH-SP2-1996-2.1-cln" in done.err
        assert "gas traces get KTH-SP2-1996-2.1-cln" in gas("audit", three, "--log", name).err
    assert "gas traces" not in gas("simulate", "nowhere.swf").err


def test_classes_have_figures_of_their_own_and_the_schedule_is_audited_with_them(gas, log, tmp_path):
    """Jobs of user 3 come first when processors become free, under the policies that plan every job."""
    users = np.random.default_rng(3).integers(1, 5, 600)
    write_swf(read_swf(log).with_columns(user=users), tmp_path / "users.swf")
    log = tmp_path / "users.swf"
    options = ("simulate", log, "--policy", "easy,s3", "--class", "urgent=user:3")
    done = gas(*options, "--json", "-o", tmp_path / "{policy}.csv")
    easy, planned = done.json["results"]
    assert [each["class"] for each in planned["classes"]] == ["urgent", "others"]
    assert sum(each["jobs"] for each in planned["classes"]) == planned["jobs"]
    without = gas("simulate", log, "--policy", "easy,s3", "--json").json["results"]
    assert easy["mean_wait"] == without[0]["mean_wait"]
    assert planned["mean_wait"] != without[1]["mean_wait"]
    assert "--class urgent=user:3" in planned["command"]
    assert "--class: easy prefers no class; the results of each class are still shown" in done.err
    assert "prefer" not in gas("simulate", log, "--policy", "s3", "--class", "urgent=user:3").err
    shown = gas(*options).out
    assert re.search(r"class +jobs +policy +wait", shown)
    audited = gas("audit", tmp_path / "s3.csv", "--log", log, "--promise", "s3")
    assert audited.code == 0
    assert "no job of lower priority overtakes" in audited.out
    # S³ never makes this schedule with all priorities reversed.
    text = (tmp_path / "s3.csv").read_text()
    swapped = re.sub(r"priority=([01])", lambda found: f"priority={1 - int(found[1])}", text)
    (tmp_path / "other.csv").write_text(swapped)
    found = gas("audit", tmp_path / "other.csv", "--log", log, "--promise", "s3")
    assert found.code == 1
    assert re.search(r"first: job \d+ of priority 0 starts at \d+, while job \d+ of priority 1 waits", found.out)


def test_a_class_that_no_job_is_of_is_refused(gas, three):
    done = gas("simulate", three, "--class", "urgent=user:7")
    assert done.code == 2
    assert "no simulated job has such a user; the log has 1" in done.err


def test_jobs_with_a_notice_are_offered_earlier_starts_and_the_schedule_keeps_its_promises(gas, log, tmp_path):
    options = ("simulate", log, "--policy", "easy,s3")
    plain = gas(*options, "--json").json["results"]
    done = gas(*options, "--notice", "50%:30m:10m", "--json", "-o", tmp_path / "{policy}.csv")
    easy, asked = done.json["results"]
    assert easy["mean_wait"] == plain[0]["mean_wait"]
    assert asked["mean_wait"] != plain[1]["mean_wait"]
    assert "--notice 50%:30m:10m" in asked["command"]
    assert "--notice 50%:30m:10m: applies to s3; easy is simulated without it" in done.err
    assert "--notice" not in easy["command"]
    audited = gas("audit", tmp_path / "s3.csv", "--log", log)
    assert (audited.code, "no start later than promised" in audited.out) == (0, True)
    none = gas(*options, "--notice", "0%:30m", "--json").json["results"][1]
    assert none["mean_wait"] == plain[1]["mean_wait"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--policy", "easy", "--notice", "50%:30m"], "applies to policy s3"),
        (["--class", "urgent=user:1", "--notice", "50%:30m"], "without classes"),
        (["--notice", "50:30m"], "write SHARE%:NOTICE"),
        (["--notice", "50%:10m:20m"], "--notice 50%:10m:20m: an answer after 1200 s"),
        (["--notice", "50%:25h"], "--notice 50%:25h: notice 90000"),
    ],
)
def test_a_notice_that_cannot_be_simulated_is_refused(gas, three, options, problem):
    refused = gas("simulate", three, *options)
    assert (refused.code, problem in refused.err) == (2, True)
