"""A job becomes a job of OAR that can be found again, with one shape or all."""

import base64
import json
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gas.endpoints.endpoint import JobDescription, Request
from gas.endpoints.oar.submission import Shape, arguments_of, batch_of, body_of, options_from
from gas.endpoints.wording import name_without_tag, tag_of
from gas.errors import BadInput

JOB = JobDescription("ocean", ("./lu", "-n", "16"), {"B": "x y", "A": "1"}, "/scratch/ann")


def made(request=None, job=JOB, key="k", resource="core", **more):
    return batch_of(request or Request(16, 3661), job, key=key, resource=resource, **more)


def test_a_chosen_shape_becomes_one_request_of_oarsub():
    assert arguments_of(made(options=(("queue", "default"), ("hold", None)))) == [
        "oarsub", f"--name=ocean.{tag_of('k')}", "-l", "/core=16,walltime=1:01:01", "--directory=/scratch/ann",
        "--queue=default", "--hold", "env A=1 'B=x y' ./lu -n 16",
    ]  # fmt: skip


def test_a_moldable_one_becomes_a_request_for_each_shape_the_chosen_one_first():
    request = Request(16, 480, alternatives=((32, 300), (16, 480), (8, 900)))
    batch = made(request, moldable=True)
    assert batch.shapes == (Shape(16, 480), Shape(32, 300), Shape(8, 900))
    line = arguments_of(batch)
    assert [line[i + 1] for i, word in enumerate(line) if word == "-l"] == [
        "/core=16,walltime=0:08:00", "/core=32,walltime=0:05:00", "/core=8,walltime=0:15:00"
    ]  # fmt: skip


def test_one_that_is_not_moldable_asks_for_the_chosen_shape_only():
    assert made(Request(16, 480, alternatives=((32, 300),))).shapes == (Shape(16, 480),)


@pytest.mark.parametrize(
    ("resource", "lines", "count"),
    [
        ("resource_id", [("n1", "1"), ("n1", "2"), ("n2", "3")], 3),
        ("core", [("n1", "1"), ("n1", "1"), ("n2", "3")], 2),
        ("nodes", [("n1", "1"), ("n1", "2"), ("n2", "3")], 2),
        ("nodes/core=2", [("n1", "1"), ("n1", "2"), ("n2", "3"), ("n2", "4")], 2),
        ("nodes=2/core", [("n1", "1"), ("n1", "2"), ("n1", "3"), ("n2", "4"), ("n2", "5"), ("n2", "6")], 3),
    ],
)
def test_a_moldable_job_is_told_the_size_that_oar_has_chosen(tmp_path, resource, lines, count):
    """By the file that OAR creates for the job, with one line per resource."""
    file = tmp_path / "resources"
    file.write_text("".join(f" cpu = '' , network_address = '{host}' , core = '{core}' \n" for host, core in lines))
    script = 'echo "$GAS_PROCESSORS $GAS_WALLTIME $A" "$@"'
    job = JobDescription("x", ("sh", "-c", script, "x", "-n{processors}", "{walltime}"), {"A": "a 'b'"})
    job = replace(job.sized(64, 99), template=job.command)
    command = made(Request(64, 99), job, resource=resource, moldable=True).command
    environment = {
        "OAR_RESOURCE_PROPERTIES_FILE": str(file),
        "OAR_JOB_WALLTIME_SECONDS": "480",
        "PATH": "/usr/bin:/bin",
    }
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{count} 480 a 'b' -n{count} 480\n"


def test_a_simulated_job_sleeps():
    assert made(job=JobDescription("x", run_time=70)).command == "sleep 70"


def test_the_name_ends_with_a_tag_of_the_key_and_fits_into_the_database():
    long = made(job=JobDescription("n" * 300, ("true",)))
    assert len(long.name) == 100
    assert long.name.endswith(f".{tag_of('k')}")
    assert name_without_tag(made().name)[0] == "ocean"
    assert made(key="other").name != made().name


@pytest.mark.parametrize("job", [JobDescription("two\nlines", ("true",)), JobDescription("zero\0", ("true",))])
def test_a_name_of_several_lines_is_refused(job):
    with pytest.raises(BadInput, match="more than one line"):
        made(job=job)


def test_a_start_not_before_a_time_is_refused():
    with pytest.raises(BadInput, match="--not-before"):
        made(Request(1, 1, not_before=5))


def test_options_go_through_one_word_each():
    assert options_from(["--project=abc", "--hold", "--type=a=b"], "x") == (
        ("project", "abc"), ("hold", None), ("type", "a=b")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("-q", "not a long option"), ("project=abc", "not a long option"), ("--a=x\ny", "not a long option"),
        ("--name=x", "itself"), ("--resource=core=1", "itself"), ("--array=5", "itself"),
        ("--queue=x", "write queue in the endpoint's table"), ("--property=x", "write properties in"),
    ],
)  # fmt: skip
def test_options_that_would_change_what_was_planned_are_refused(word, problem):
    with pytest.raises(BadInput, match=problem):
        options_from([word], "options")


def test_the_body_of_a_request_over_rest_says_the_same():
    request = Request(16, 480, alternatives=((32, 300),))
    options = (("type", "a"), ("type", "b"), ("queue", "q"), ("hold", None))
    job = JobDescription("ocean", ("./lu",), {}, "/scratch")
    body = body_of(made(request, job, options=options))
    assert body == {
        "resource": ["/core=16,walltime=0:08:00"], "name": f"ocean.{tag_of('k')}", "directory": "/scratch",
        "type": ["a", "b"], "queue": "q", "hold": 1, "command": "./lu",
    }  # fmt: skip
    assert len(body_of(made(request, job, moldable=True))["resource"]) == 2
    json.dumps(body)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def run_as_oar_would(command, **more):
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True, **more)
    return done.stdout.decode().split("\0")[:-1]


@given(st.lists(WORDS, min_size=1, max_size=3), WORDS.filter(lambda text: "=" not in text))
def test_any_words_arrive_as_they_are_by_either_transport(words, value):
    job = JobDescription("x", ("printf", r"%s\0", *words), {"V": value})
    batch = made(job=job)
    assert run_as_oar_would(batch.command) == words
    over = body_of(batch)["command"]
    assert not set(over) & set('"$`\\!\n\r')  # characters that the API's own shells would change
    assert run_as_oar_would(over) == words


def test_a_command_in_base64_does_not_read_its_own_script():
    job = JobDescription("x", ("sh", "-c", 'cat; printf "%s\\0" done'))
    command = body_of(made(job=job))["command"]
    assert command.startswith("echo ")
    assert base64.b64decode(command.split()[1])
    assert run_as_oar_would(command, input=b"") == ["done"]


@pytest.mark.parametrize(
    ("job", "what"),
    [(JobDescription('say "x"', ("true",)), "name"), (JobDescription("x", ("true",), {}, "/a$b"), "directory")],
)
def test_names_and_directories_that_the_api_would_change_are_refused(job, what):
    with pytest.raises(BadInput, match=f"{what}.*over REST it must not contain"):
        body_of(made(job=job))
