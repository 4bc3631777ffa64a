import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gas import AvailabilityList


def test_the_papers_example_end_to_end(gas, example, paper):
    result = gas("plan", example, "-a", paper, "--stale-ok", "--json")
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
        "unit": "processors",
    }
    assert plan["endpoints"] == [{"name": "paper", "ok": True, "error": None, "speed": 1.0, "remarks": []}]


def test_the_plan_for_people_says_the_same_and_draws_it(gas, example, paper):
    result = gas("plan", example, "-a", paper, "--stale-ok")
    assert "example: 20 processors on paper, walltime 3s: starts in 7s, finishes in 10s" in result.out
    assert "best: 20 processors" in result.out
    assert result.err == ""


def test_explain_shows_the_trade_offs_and_all_why_each_size_lost_or_is_impossible(gas, example, paper, tmp_path):
    (tmp_path / "more.toml").write_text(Path(example).read_text().replace("30 = 2", "30 = 2, 50 = 1"))
    explained = gas("plan", str(tmp_path / "more.toml"), "-a", paper, "--stale-ok", "--explain").out
    assert "1s later, 17% cheaper" in explained  # 10 processors
    assert "the machine has only 40 processors" in explained
    assert "finishes 3s later" not in explained  # 30 processors, at the same cost as the best
    assert "(more candidates with --all: 1 no better in any respect)" in explained
    everything = gas("plan", str(tmp_path / "more.toml"), "-a", paper, "--stale-ok", "--all").out
    assert "finishes 3s later" in everything
    assert "more candidates" not in everything


def test_a_list_from_standard_input(gas, example, paper, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(paper).read_bytes())))
    assert gas("plan", example, "-a", "-", "--stale-ok", "--json").json["best"]["processors"] == 20


def test_what_the_user_may_add(gas, example, paper):
    def best(*options):
        return gas("plan", example, "-a", paper, "--stale-ok", "--json", *options).json["best"]["processors"]

    assert best("--not-before", "+11s") == 30
    assert best("--tolerance", "10%") == 10
    assert best("--max-processor-hours", "0.015") == 10
    assert best("--deadline", "@10") == 20
    assert best("--algorithm", "walk") == 20


def test_nothing_possible_is_exit_3_with_the_reason(gas, example, paper):
    result = gas("plan", example, "-a", paper, "--stale-ok", "--deadline", "+9s")
    assert result.code == 3
    assert result.err.startswith("gas: example: no request is possible; 20 processors: would finish 1s after")
    result = gas("plan", example, "-a", paper, "--stale-ok", "--deadline", "+9s", "--json")
    assert (result.code, result.json["best"]) == (3, None)
    assert {r["reason"] for r in result.json["rejected"]} >= {"would finish 1s after the deadline"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--not-before", "+12s", "--deadline", "+10s"],
            "--deadline +10s: is 1970-01-01T00:00:10Z, but no run can start before 1970-01-01T00:00:12Z "
            "(--not-before +12s); give a later deadline or an earlier start",
        ),
        (["--not-before", "+10s", "--deadline", "@10"], "no run can start before 1970-01-01T00:00:10Z"),
        (["--deadline", "+0s"], "no run can start before 1970-01-01T00:00:00Z (now); give a later deadline\n"),
    ],
)
def test_a_deadline_before_the_earliest_start_is_a_slip(gas, example, paper, options, said):
    result = gas("plan", example, "-a", paper, "--stale-ok", *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


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


@pytest.mark.process
def test_a_named_list_stands_in_for_the_scheduler_of_the_environment(gas, example, paper, monkeypatch):
    monkeypatch.setenv("GAS_ENDPOINT", "http://127.0.0.1:9")
    result = gas("plan", example, "-a", paper, "--stale-ok", "--json")
    assert [e["ok"] for e in result.json["endpoints"]] == [True]
    assert "http://127.0.0.1:9" in gas("plan", example).err


def test_a_file_of_another_time_is_left_out_beside_a_live_scheduler(gas, example, paper, s3):
    result = gas("plan", example, "-e", s3.url, "-a", paper, "--json")
    assert (result.code, result.json["best"]["scheduler"]) == (0, "s3")
    assert "paper: as of 1970-01-01T00:00:00Z" in result.err
    assert "behind the live schedulers; left out" in result.err


@pytest.mark.parametrize(("off", "words"), [(-7200, "2h00m behind"), (7260, "ahead of"), (-1_500_000_000, "d")])
@pytest.mark.parametrize("options", [[], ["--as", "sbatch"], ["--json"]], ids=["", "as", "json"])
def test_a_list_of_another_hour_is_not_planned_with_unless_that_is_meant(gas, example, tmp_path, off, words, options):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(AvailabilityList.of([int(time.time()) + off], [40], scheduler="kth").to_wire()))
    result = gas("plan", example, "-a", str(path), *options)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert "add --stale-ok" in result.err
    assert gas("plan", example, "-a", str(path), "--stale-ok", *options).code == 0


def test_nor_is_one_that_the_configuration_names(gas, example, paper, tmp_path):
    config = tmp_path / "gas.toml"
    config.write_text(f'[endpoints.disk]\ntype = "file"\npath = "{paper}"\n')
    for command in (["plan", example], ["submit", example, "--simulate"]):
        result = gas(*command, "--config", str(config))
        assert (result.code, "add --stale-ok" in result.err) == (2, True)


def test_a_service_whose_clock_runs_ahead_is_planned_with(gas, lu, start_s3):
    fast = start_s3(10, clock_speed=100_000)
    time.sleep(0.1)
    found = gas("plan", lu, "-e", fast.url, "--json")
    assert found.code == 0
    assert found.json["now"] > time.time() + 3600


def test_not_before_holds_for_the_job_too(gas, lu, s3):
    result = gas("submit", lu, "-e", s3.url, "--simulate", "--not-before", "+1h", "--json")
    job, plan = result.json["job"], result.json["plan"]
    assert job["state"] == "queued"
    assert job["promise"] >= plan["now"] + 3600
    assert job["not_before"] == job["promise"]


@pytest.mark.process
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
    result = gas("plan", example, "--config", str(config), "--stale-ok", "--json")
    assert result.json["best"]["processors"] == 10
    assert result.json["best"]["scheduler"] == "disk"


def test_the_speed_of_the_configuration_makes_times_those_of_that_machine(gas, example, paper, tmp_path):
    config = tmp_path / "gas.toml"
    table = f'type = "file"\npath = "{paper}"\n'
    config.write_text(f"[endpoints.plain]\n{table}[endpoints.fast]\n{table}speed = 2.5\n")
    arguments = ["plan", example, "--config", str(config), "--stale-ok"]
    found = gas(*arguments, "--json").json
    assert {(c["scheduler"], c["processors"]): c["execution_time"] for c in found["candidates"]} == {
        ("plain", 10): 5, ("plain", 20): 3, ("plain", 30): 2, ("fast", 10): 2, ("fast", 20): 2, ("fast", 30): 1,
    }  # fmt: skip
    # two seconds of ten processors fit the hole from 1 to 5; three of twenty wait for 7
    assert (found["best"]["scheduler"], found["best"]["processors"], found["best"]["finish"]) == ("fast", 10, 3)
    assert [(e["name"], e["speed"]) for e in found["endpoints"]] == [("plain", 1.0), ("fast", 2.5)]
    explained = gas(*arguments, "--explain").out
    assert "fast: runs it 2.5 times as fast as its file says" in explained
    assert "plain: runs" not in explained


# 150 s on one processor; `made_endpoints.node_list` has one free at each moment, but not the same one for so long.
LONG = 'name = "long"\n[speedup]\nmodel = "table"\ntimes = { 1 = 150 }\n[walltime]\nsafety = 1\n'


@pytest.fixture
def long(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    return str(tmp_path / "long.toml")


def test_an_endpoint_that_knows_its_nodes_is_planned_with_by_nodes_and_shown_by_counts(gas, long, endpoints, tmp_path):
    config = endpoints(kth='type = "nodes"\nnow = 1000')
    best = gas("plan", long, "--config", config, "--stale-ok", "--json").json["best"]
    assert (best["scheduler"], best["start"], best["finish"], best["kind"]) == ("kth", 1100, 1250, "estimate")
    counts = tmp_path / "counts.json"
    counts.write_text(gas("availability", "--config", config, "--json").out)
    assert gas("plan", long, "-a", str(counts), "--stale-ok", "--json").json["best"]["start"] == 1000

    shown = gas("plan", long, "--config", config, "--stale-ok", "--plot", str(tmp_path / "plan.png"))
    assert "long: 1 processor on kth, walltime 2m30s: expected to start in 1m40s" in shown.out
    assert "best: 1 processor, starts in 1m40s" in shown.out  # the picture's legend
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_remarks_are_told_of_the_chosen_scheduler_and_explained_of_all(gas, long, endpoints):
    config = endpoints(
        one='type = "nodes"\nnow = 1000\nremarks = ["planned 34 s ago"]',
        two='type = "nodes"\nnow = 1000\nspeed = 2\nremarks = ["other users\' jobs are hidden", "3 jobs placed"]',
    )
    plain = gas("plan", long, "--config", config, "--stale-ok")
    assert plain.err.splitlines() == ["two: other users' jobs are hidden", "two: 3 jobs placed"]
    explained = gas("plan", long, "--config", config, "--stale-ok", "--explain")
    assert explained.err == ""
    said = [line for line in explained.out.splitlines() if line.startswith(("one: ", "two: "))]
    assert said == [
        "one: planned 34 s ago",
        "two: runs it 2 times as fast as its file says",
        "two: other users' jobs are hidden",
        "two: 3 jobs placed",
    ]
    as_json = gas("plan", long, "--config", config, "--stale-ok", "--json")
    assert (as_json.err, as_json.json["endpoints"][0]["remarks"]) == ("", ["planned 34 s ago"])


def test_limits_that_an_endpoint_learns_when_it_is_asked_are_kept(gas, endpoints, tmp_path):
    (tmp_path / "two.toml").write_text(LONG.replace("{ 1 = 150 }", "{ 1 = 150, 2 = 10 }"))
    config = endpoints(kth='type = "nodes"\nnow = 1000\nnarrows_to = 1')
    found = gas("plan", str(tmp_path / "two.toml"), "--config", config, "--stale-ok", "--json").json
    assert [c["processors"] for c in found["candidates"]] == [1]
    assert found["rejected"][0]["reason"] == "above the scheduler's limit of 1 processors"


def start(*arguments):
    command = [sys.executable, "-m", "gas", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_one_that_never_answers_is_given_up_and_the_others_are_planned(example, paper, endpoints):
    # The process ends, although a thread of it still waits for the endpoint.
    config = endpoints(hung='type = "hanging"\ntimeout = 0.5', here=f'type = "file"\npath = "{paper}"')
    call = start("plan", example, "--config", config, "--stale-ok", "--json")
    out, err = call.communicate(timeout=60)
    assert call.returncode == 0, err
    assert "gas: hung: has not answered within 1 s; gave up" in err
    assert [(e["name"], e["ok"]) for e in json.loads(out)["endpoints"]] == [("hung", False), ("here", True)]
    assert json.loads(out)["best"]["processors"] == 20


@pytest.mark.thorough
def test_the_only_one_that_never_answers_is_exit_4(example, endpoints):
    call = start("plan", example, "--config", endpoints(hung='type = "hanging"\ntimeout = 0.2'))
    out, err = call.communicate(timeout=60)
    assert (call.returncode, out) == (4, "")
    assert err.endswith("gas: hung: has not answered within 0.4 s; gave up\n")


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("command", [["plan", "EXAMPLE"], ["availability"], ["endpoints"]], ids=lambda c: c[0])
def test_an_interruption_ends_it_while_an_endpoint_hangs(example, endpoints, paper, command):
    config = endpoints(hung='type = "hanging"\ntimeout = 600', here=f'type = "file"\npath = "{paper}"')
    call = start(*[example if word == "EXAMPLE" else word for word in command], "--config", config)
    assert call.stderr.readline() == "asked\n"
    call.send_signal(signal.SIGINT)
    out, err = call.communicate(timeout=60)
    assert (call.returncode, out, err) == (130, "", "gas: interrupted\n")


def test_plot_draws_a_file(gas, example, paper, tmp_path):
    target = tmp_path / "plan.png"
    assert gas("plan", example, "-a", paper, "--stale-ok", "--plot", str(target)).code == 0
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.process
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan"], "what should run? Name an application file"),
        (["plan", "nowhere.toml"], "nowhere.toml: cannot be read: No such file"),
        (["plan", "LU"], "no scheduler given: use -e NAME or URL"),
        (["plan", "LU", "-a", "nowhere.json"], "nowhere.json: cannot be read"),
        (["plan", "LU", "-a", "-", "-a", "-"], "only once"),
        (["plan", "LU", "-e", "kth"], 'there is no endpoint "kth"'),
        (["plan", "LU", "-e", "http://x:y"], "is not the address of a service"),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--tolerance", "5"], "write a percentage like 5%"),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--tolerance", "nan%"], "must be from 0% to 100%"),
        (
            ["plan", "LU", "-a", "PAPER", "--stale-ok", "--max-processor-hours", "0"],
            "max-processor-hours 0.0: must be more than 0",
        ),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--max-processor-hours", "nan"], "must be more than 0"),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--max-processor-hours", "x"], "--max-processor-hours"),
        (
            ["plan", "LU", "-a", "PAPER", "--stale-ok", "--deadline", "tomorrow"],
            "--deadline 'tomorrow': not a time",
        ),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--deadline", "+1:30"], "could mean 1h30m or 1m30s"),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--algorithm", "magic"], "--algorithm"),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--plot", "plan.gif"], ".png"),
        (["plan", "LU", "-a", "PAPER", "--stale-ok", "--explian"], "No such option"),
        (["plann"], 'did you mean "plan"'),
        (["list"], 'there is no command "list"; did you mean gas status?'),
        (["xyzzy"], 'there is no command "xyzzy" (see gas --help)'),
    ],
)
def test_bad_command_lines_are_one_message_and_exit_2(gas, lu, paper, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gas(*[{"LU": lu, "PAPER": paper}.get(a, a) for a in arguments])
    assert message in result.err
    assert result.code == 2
    assert result.out == ""


EXAMPLES = Path(__file__).parent.parent / "examples"
OCEAN = [str(EXAMPLES / "ocean.toml"), "-a", str(EXAMPLES / "cluster.json"), "--stale-ok"]


def test_the_best_request_in_the_words_of_slurm(gas):
    printed = gas("plan", *OCEAN, "--as", "sbatch").out
    assert printed.startswith("sbatch ")
    assert "--ntasks=32" in printed


def test_an_earliest_start_is_not_lost_in_the_words_of_others(gas):
    assert "--begin=uts1900000000" in gas("plan", *OCEAN, "--not-before", "@1900000000", "--as", "sbatch").out
    refused = gas("plan", *OCEAN, "--not-before", "@1900000000", "--as", "dask")
    assert (refused.code, refused.out) == (2, "")
    assert "--as dask: has no earliest start" in refused.err


@pytest.mark.parametrize("form", ["dask", "snakemake", "parsl"])
def test_the_best_request_as_keyword_arguments(gas, form):
    words = gas("plan", *OCEAN, "--as", form).json
    assert "32" in json.dumps(words)
