import io
import json
import sys
import time
from pathlib import Path

import pytest

from gas import AvailabilityList


def test_the_papers_example_end_to_end(gas, example, paper):
    result = gas("plan", example, "-a", paper, "--json")
    assert result.code == 0
    plan = result.json
    assert plan["schema"] == "gas.plan/1"
    assert [(c["processors"], c["start"], c["finish"]) for c in plan["candidates"]] == [
        (20, 7, 10),
        (10, 6, 11),
        (30, 11, 13),
    ]
    assert plan["best"] == {
        "scheduler": "paper",
        "processors": 20,
        "walltime": 3,
        "execution_time": 3,
        "processor_seconds": 60,
        "start": 7,
        "start_iso": "1970-01-01T00:00:07Z",
        "finish": 10,
        "finish_iso": "1970-01-01T00:00:10Z",
        "kind": "promise",
    }
    assert plan["endpoints"] == [{"name": "paper", "ok": True, "error": None}]


def test_the_plan_for_people_says_the_same_and_draws_it(gas, example, paper):
    result = gas("plan", example, "-a", paper)
    assert "example: 20 processors on paper, walltime 3s: starts in 7s, finishes in 10s" in result.out
    assert "best: 20 processors" in result.out
    assert result.err == ""


def test_explain_says_why_each_size_lost_or_is_impossible(gas, example, paper, tmp_path):
    (tmp_path / "more.toml").write_text(Path(example).read_text().replace("30 = 2", "30 = 2, 50 = 1"))
    result = gas("plan", str(tmp_path / "more.toml"), "-a", paper, "--explain")
    assert "finishes 1s later" in result.out
    assert "machine too small: it has 40 processors" in result.out


def test_a_list_from_standard_input(gas, example, paper, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(paper).read_bytes())))
    assert gas("plan", example, "-a", "-", "--json").json["best"]["processors"] == 20


def test_what_the_user_may_add(gas, example, paper):
    def best(*options):
        return gas("plan", example, "-a", paper, "--json", *options).json["best"]["processors"]

    assert best("--not-before", "+11s") == 30
    assert best("--tolerance", "10%") == 10
    assert best("--max-processor-hours", "0.015") == 10
    assert best("--deadline", "@10") == 20
    assert best("--algorithm", "walk") == 20


def test_nothing_possible_is_exit_3_with_the_reason(gas, example, paper):
    result = gas("plan", example, "-a", paper, "--deadline", "+9s")
    assert result.code == 3
    assert result.err.startswith("gas: example: no request is possible; 20 processors: would finish 1s after")
    result = gas("plan", example, "-a", paper, "--deadline", "+9s", "--json")
    assert (result.code, result.json["best"]) == (3, None)
    assert {r["reason"] for r in result.json["rejected"]} >= {"would finish 1s after the deadline"}


def test_several_schedulers_and_one_that_does_not_answer(gas, example, s3, tmp_path):
    present = AvailabilityList.of([int(time.time())], [40], scheduler="paper")
    paper = str(tmp_path / "present.json")
    Path(paper).write_text(json.dumps(present.to_wire()))
    result = gas("plan", example, "-e", s3.url, "-e", "http://127.0.0.1:9", "-a", paper, "--json")
    assert result.code == 0
    assert [e["ok"] for e in result.json["endpoints"]] == [True, False, True]
    assert {c["scheduler"] for c in result.json["candidates"]} == {"s3", "paper"}
    assert result.json["best"]["scheduler"] == "paper"
    assert "cannot be reached" in result.err


def test_a_file_of_another_time_is_left_out_beside_a_live_scheduler(gas, example, paper, s3):
    result = gas("plan", example, "-e", s3.url, "-a", paper, "--json")
    assert (result.code, result.json["best"]["scheduler"]) == (0, "s3")
    assert "paper: as of 1970-01-01T00:00:00Z" in result.err
    assert "behind the live schedulers; left out" in result.err


def test_not_before_holds_for_the_job_too(gas, lu, s3):
    result = gas("submit", lu, "-e", s3.url, "--simulate", "--not-before", "+1h", "--json")
    job, plan = result.json["job"], result.json["plan"]
    assert job["state"] == "queued"
    assert job["promise"] >= plan["now"] + 3600
    assert job["not_before"] == job["promise"]


def test_none_answering_is_exit_4(gas, example):
    result = gas("plan", example, "-e", "http://127.0.0.1:9")
    assert result.code == 4
    assert "cannot be reached (Connection refused)" in result.err
    result = gas("plan", example, "-e", "http://127.0.0.1:9", "-e", "http://127.0.0.1:10")
    assert (result.code, result.err.count("\n")) == (4, 3)
    assert "no scheduler answered" in result.err


def test_limits_of_the_configuration_are_kept(gas, example, paper, tmp_path):
    config = tmp_path / "gas.toml"
    config.write_text(f'[endpoints.disk]\ntype = "file"\npath = "{paper}"\nmax_processors = 15\n')
    result = gas("plan", example, "--config", str(config), "--json")
    assert result.json["best"]["processors"] == 10
    assert result.json["best"]["scheduler"] == "disk"


def test_plot_draws_a_file(gas, example, paper, tmp_path):
    target = tmp_path / "plan.png"
    assert gas("plan", example, "-a", paper, "--plot", str(target)).code == 0
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan"], "Missing argument"),
        (["plan", "nowhere.toml"], "nowhere.toml: cannot be read: No such file"),
        (["plan", "LU"], "which scheduler? Name one"),
        (["plan", "LU", "-a", "nowhere.json"], "nowhere.json: cannot be read"),
        (["plan", "LU", "-a", "-", "-a", "-"], "only once"),
        (["plan", "LU", "-e", "kth"], 'there is no endpoint "kth"'),
        (["plan", "LU", "-e", "http://x:y"], "is not the address of a service"),
        (["plan", "LU", "-a", "PAPER", "--tolerance", "5"], "write a percentage like 5%"),
        (["plan", "LU", "-a", "PAPER", "--tolerance", "nan%"], "must be from 0% to 100%"),
        (["plan", "LU", "-a", "PAPER", "--max-processor-hours", "0"], "max-processor-hours 0.0: must be more than 0"),
        (["plan", "LU", "-a", "PAPER", "--max-processor-hours", "nan"], "must be more than 0"),
        (["plan", "LU", "-a", "PAPER", "--max-processor-hours", "x"], "--max-processor-hours"),
        (["plan", "LU", "-a", "PAPER", "--deadline", "tomorrow"], "--deadline 'tomorrow': not an instant"),
        (["plan", "LU", "-a", "PAPER", "--deadline", "+1:30"], "could mean 1h30m or 1m30s"),
        (["plan", "LU", "-a", "PAPER", "--algorithm", "magic"], "--algorithm"),
        (["plan", "LU", "-a", "PAPER", "--plot", "plan.gif"], ".png"),
        (["plan", "LU", "-a", "PAPER", "--explian"], "No such option"),
        (["plann"], 'did you mean "plan"'),
    ],
)
def test_bad_command_lines_are_one_message_and_exit_2(gas, lu, paper, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gas(*[{"LU": lu, "PAPER": paper}.get(a, a) for a in arguments])
    assert message in result.err
    assert result.code == (1 if message.startswith("there is no endpoint") else 2)
    assert result.out == ""


EXAMPLES = Path(__file__).parent.parent / "examples"
OCEAN = [str(EXAMPLES / "ocean.toml"), "-a", str(EXAMPLES / "cluster.json")]


def test_the_best_request_in_the_words_of_slurm(gas):
    printed = gas("plan", *OCEAN, "--as", "sbatch").out
    assert printed.startswith("sbatch ")
    assert "--ntasks=32" in printed


@pytest.mark.parametrize("form", ["dask", "snakemake", "parsl"])
def test_the_best_request_as_keyword_arguments(gas, form):
    words = gas("plan", *OCEAN, "--as", form).json
    assert "32" in json.dumps(words)
