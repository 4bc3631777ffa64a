"""A plan's request becomes a batch job, and a key becomes a tag that finds it again."""

import os
import subprocess

import pytest

from gas.endpoints import JobDescription, Request
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.options import Options
from gas.endpoints.slurm.submission import batch_of, options_from
from gas.errors import BadInput
from gas.resources import Resources
from speedup_models import Layout

WORDS = ["plain", "two words", "it's", '"', "$HOME", "`date`", "a\nb", "é→", "", "-n", "*", "{processors}", "\\"]


PROGRAM = "import os, sys; print(sys.argv[1:], [os.environ[n] for n in ('A', 'GAS_PROCESSORS', 'GAS_WALLTIME')])"


def batch(request, job, asked=None, **more):
    return batch_of(request, job, key="k", options=asked or Options(), words={}, **more)


def said_by(job, unit="cpus", per_task=None, **environment):
    script = batch(Request(16, 90), job.sized(16, 90), Options(unit, cpus_per_task=per_task)).script
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
    assert said_by(job, "cpus", 4, SLURM_NTASKS="2") == "8 -n8w=90!\n"
    assert said_by(job, "tasks", 4, SLURM_NTASKS="2") == "2 -n2w=90!\n"
    assert said_by(job, "gpus") == "16 -n16w=90!\n"


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


TOLD = "echo {nodes} {gpus_per_node} {gpus} {tasks} {cpus_per_task} {processors}"


@pytest.mark.parametrize(
    ("environment", "told"),
    [({}, "2 4 8 2 8 16"), ({"SLURM_JOB_NUM_NODES": "3", "SLURM_GPUS_ON_NODE": "2"}, "3 2 6 3 4 12")],
    ids=["as submitted", "as it is when it starts"],
)
def test_a_job_on_gpus_is_told_those_that_it_gets(environment, told):
    resources = Resources("gpus", cpus_per_gpu=2, tasks_per_node=1, gpus_per_node=(4,))
    request = Request(8, 90, layout=Layout(2, 4))
    job = JobDescription("x", tuple(TOLD.split())).sized(8, 90, resources.values(8, request.layout))
    script = batch(request, job, Options("gpus", resources=resources)).script
    given = {"PATH": os.environ["PATH"], **environment}
    done = subprocess.run(["/bin/sh"], input=script, env=given, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{told}\n", "")


def test_without_a_command_the_processors_are_held_for_the_expected_time():
    job = JobDescription("x", run_time=75)
    assert batch(Request(1, 90), job).script == "#!/bin/sh\nexec sleep 75\n"


def test_a_name_of_two_lines_is_refused():
    with pytest.raises(BadInput, match="more than one line"):
        batch(Request(1, 60), JobDescription("a\nb"))


@pytest.mark.parametrize("name", ["A B", "A-B", "1A", "A;touch x", "Ä", "A\nB"])
def test_a_variable_that_the_shell_has_no_name_for_is_refused(name):
    with pytest.raises(BadInput, match="is not the name of a variable"):
        batch(Request(1, 60), JobDescription("a", ("true",), {name: "x"}))


def test_options_are_long_ones_of_sbatch():
    words = ["--account=abc", "--exclusive", "--comment=a=b c", "--mem=4G", "--export=ALL"]
    found = {"account": "abc", "exclusive": None, "comment": "a=b c", "mem": "4G", "export": "ALL"}
    assert {one.name: one.value for one in options_from(words, "here")} == found


@pytest.mark.parametrize("word", ["-A", "account=abc", "--", "--=x", "--account abc", "--a\n=b", "--comment=a\nb", ""])
def test_other_words_are_refused(word):
    with pytest.raises(BadInput, match="here: .* is not a long option of sbatch"):
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
    with pytest.raises(BadInput, match="is decided by Gas"):
        options_from([word], "--native")


SCRIPT = Script.of("#!/bin/sh\n#SBATCH -o %x-%j.out -c 2 --begin=uts5000\n./run\n", "job.sh")


def test_a_script_is_submitted_as_it_is_and_its_options_are_known():
    asked = Options("tasks", cpus_per_task=2, begin=5000)
    found = batch(Request(8, 90, not_before=4000), JobDescription("ocean"), asked, script=SCRIPT)
    assert (found.script, found.shape.tasks, found.not_before) == (SCRIPT.text, 8, 5000)
    assert found.directives == {"output": "%x-%j.out", "cpus-per-task": "2", "begin": "uts5000"}
    assert batch(Request(8, 90, not_before=6000), JobDescription("ocean"), asked, script=SCRIPT).not_before == 6000


def test_in_the_names_of_its_files_it_is_called_as_its_user_calls_it():
    """Its name has a tag, which %x would show."""
    assert batch(Request(8, 90), JobDescription("ocean"), script=SCRIPT).options == {"output": "ocean-%j.out"}
    other = Script.of("#!/bin/sh\n#SBATCH -o %%x -e %%%x\n", "job.sh")
    assert batch(Request(8, 90), JobDescription("ocean"), script=other).options == {"error": "%%ocean"}
