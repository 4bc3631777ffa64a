"""A plan's request becomes a batch job, and a key becomes a tag that finds it again."""

import os
import subprocess

import pytest

from gas.endpoints import JobDescription, Request
from gas.endpoints.slurm.submission import batch_of, options_from, shape_of
from gas.endpoints.slurm.transport import Shape
from gas.errors import BadInput


def test_time_limits_are_in_minutes_and_never_shorter_than_the_walltime():
    assert shape_of(16, 3600, "cpus") == Shape(16, None, 60)
    assert shape_of(16, 3601, "cpus") == Shape(16, None, 61)
    assert shape_of(2, 1, "nodes") == Shape(None, 2, 1)


WORDS = ["plain", "two words", "it's", '"', "$HOME", "`date`", "a\nb", "é→", "", "-n", "*", "{processors}", "\\"]


PROGRAM = "import os, sys; print(sys.argv[1:], [os.environ[n] for n in ('A', 'GAS_PROCESSORS', 'GAS_WALLTIME')])"


def said_by(job, unit="cpus", **environment):
    script = batch_of(Request(16, 90), job.sized(16, 90), key="k", unit=unit, options={}).script
    given = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run(["/bin/sh"], input=script, env=given, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_the_script_runs_the_command_with_its_words_as_they_are():
    job = JobDescription("x", ("python3", "-c", PROGRAM, *WORDS), {"A": "it's $A"})
    expected = [word.replace("{processors}", "16") for word in WORDS]
    values = ["it's $A", "16", "90"]
    assert said_by(job) == f"{expected} {values}\n"


def test_the_command_is_told_the_size_that_the_job_has_when_it_starts():
    """It may have been given another shape while it waited."""
    job = JobDescription("x", ("echo", "{processors}", "-n{processors}w={walltime}!"))
    assert said_by(job, SLURM_NTASKS="4", SLURM_JOB_START_TIME="1000", SLURM_JOB_END_TIME="1600") == "4 -n4w=600!\n"
    assert said_by(job, "nodes", SLURM_NTASKS="64", SLURM_JOB_NUM_NODES="2") == "2 -n2w=90!\n"


@pytest.mark.parametrize(("limit", "seconds"), [("5:00", 300), ("1:08:09", 4089), ("2-00:30:00", 174600)])
def test_an_old_slurm_is_asked_for_the_walltime(tmp_path, limit, seconds):
    (tmp_path / "squeue").write_text(f"#!/bin/sh\necho {limit}\n")
    (tmp_path / "squeue").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert said_by(JobDescription("x", ("echo", "{walltime}")), PATH=path, SLURM_JOB_ID="7") == f"{seconds}\n"


@pytest.mark.parametrize("limit", ["UNLIMITED", "", "NOT_SET"])
def test_without_an_answer_the_walltime_is_the_one_that_was_asked_for(tmp_path, limit):
    (tmp_path / "squeue").write_text(f"#!/bin/sh\necho {limit}\n")
    (tmp_path / "squeue").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert said_by(JobDescription("x", ("echo", "{walltime}")), PATH=path, SLURM_JOB_ID="7") == "90\n"


def test_without_a_command_the_processors_are_held_for_the_expected_time():
    job = JobDescription("x", run_time=75)
    assert batch_of(Request(1, 90), job, key="k", unit="cpus", options={}).script == "#!/bin/sh\nexec sleep 75\n"


def test_a_name_of_two_lines_is_refused():
    with pytest.raises(BadInput, match="more than one line"):
        batch_of(Request(1, 60), JobDescription("a\nb"), key="k", unit="cpus", options={})


@pytest.mark.parametrize("name", ["A B", "A-B", "1A", "A;touch x", "Ä", "A\nB"])
def test_a_variable_that_the_shell_has_no_name_for_is_refused(name):
    with pytest.raises(BadInput, match="is no name of a variable"):
        batch_of(Request(1, 60), JobDescription("a", ("true",), {name: "x"}), key="k", unit="cpus", options={})


def test_options_are_long_ones_of_sbatch():
    words = ["--account=abc", "--exclusive", "--comment=a=b c", "--mem=4G", "--export=ALL"]
    found = {"account": "abc", "exclusive": None, "comment": "a=b c", "mem": "4G", "export": "ALL"}
    assert options_from(words, "here") == found


@pytest.mark.parametrize("word", ["-A", "account=abc", "--", "--=x", "--account abc", "--a\n=b", "--comment=a\nb", ""])
def test_other_words_are_refused(word):
    with pytest.raises(BadInput, match="here: .* is no long option of sbatch"):
        options_from([word], "here")


@pytest.mark.parametrize(
    "word",
    [
        "--ntasks=3",
        "--time=5",
        "--job-name=x",
        "--array=1-3",
        "--test-only",
        "--wrap=x",
        "--arra=1-3",
        "--job-nam=x",
        "--hel",
        "--partition=x",
        "--clusters=x",
        "--t",
    ],
)
def test_what_gas_decides_is_refused(word):
    with pytest.raises(BadInput, match="is what Gas decides"):
        options_from([word], "--native")
