import json
from pathlib import Path

import pytest

from gas.endpoints import FileEndpoint


def test_availability_as_a_table_a_picture_and_a_list_that_can_be_planned_with(gas, s3, lu, tmp_path):
    s3.simulated(6, 3600)
    shown = gas("availability", "-e", s3.url)
    assert "s3: 10 processors, promises" in shown.out
    assert "█" in shown.out
    assert "for ever" in shown.out
    saved = tmp_path / "saved.json"
    saved.write_text(gas("availability", "-e", s3.url, "--json").out)
    assert gas("plan", lu, "-a", str(saved), "--json").json["best"]["processors"] == 4


def test_availability_of_several(gas, start_s3):
    first, second = start_s3(10, name="one"), start_s3(20, name="two")
    lists = gas("availability", "-e", first.url, "-e", second.url, "--json").json["lists"]
    assert [(one["scheduler"], one["processors"]) for one in lists] == [("one", 10), ("two", 20)]


def test_availability_can_be_drawn(gas, s3, tmp_path):
    target = tmp_path / "free.svg"
    assert gas("availability", "-e", s3.url, "--plot", str(target)).code == 0
    assert b"<svg" in target.read_bytes()


@pytest.mark.process
def test_availability_of_one_that_does_not_answer_is_exit_4(gas):
    result = gas("availability", "-e", "http://127.0.0.1:9")
    assert result.code == 4
    assert "cannot be reached" in result.err


def test_endpoints_says_of_each_what_it_is(gas, s3, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(s3.get("/v1/availability").json()))
    config = tmp_path / "gas.toml"
    config.write_text(
        f'[endpoints.kth]\ntype = "s3"\nurl = "{s3.url}"\nmax_walltime = "12h"\n'
        f'[endpoints.disk]\ntype = "file"\npath = "{path}"\n'
        '[endpoints.gone]\ntype = "s3"\nurl = "http://127.0.0.1:9"\nretries = 0\n'
        '[endpoints.bad]\ntype = "nothing"\n'
    )
    result = gas("endpoints", "--config", str(config), "--json")
    assert result.code == 0
    kth, disk, gone, bad = result.json["endpoints"]
    assert (kth["ok"], kth["kind"], kth["takes_jobs"], kth["max_walltime"]) == (True, "promise", True, 43200)
    assert (disk["ok"], disk["takes_jobs"], disk["processors"]) == (True, False, 10)
    assert gone["ok"] is False
    assert "cannot be reached" in gone["error"]
    assert bad["ok"] is False
    assert "nothing" in bad["error"]
    table = gas("endpoints", "--config", str(config))
    assert "12h00m" in table.out
    assert "cannot be reached" in table.err


def test_what_an_endpoint_with_nodes_has_free_is_shown_by_counts(gas, endpoints, tmp_path):
    config = endpoints(kth='type = "nodes"\nnow = 1000')
    found = gas("availability", "--config", config, "--json").json
    # one of two nodes all the time, then both
    assert (found["schema"], found["scheduler"], found["kind"]) == ("gas.availability/1", "kth", "estimate")
    assert found["frames"] == [{"start": 1000, "end": 2000, "free": 1}, {"start": 2000, "end": None, "free": 2}]
    shown = gas("availability", "--config", config, "--plot", str(tmp_path / "free.png"))
    assert "kth: 2 processors, estimates, as of 1970-01-01T00:16:40Z, counted over all nodes" in shown.out
    assert "16m40s" in shown.out
    assert (tmp_path / "free.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.process
def test_endpoints_tells_remarks_speeds_and_limits_as_they_are_after_asking(gas, endpoints):
    config = endpoints(
        kth='type = "nodes"\nnow = 1000\nspeed = 1.25\nnarrows_to = 1\nremarks = ["planned 34 s ago"]',
        gone='type = "s3"\nurl = "http://127.0.0.1:9"\nretries = 0\nspeed = 2',
    )
    kth, gone = gas("endpoints", "--config", config, "--json").json["endpoints"]
    assert (kth["remarks"], kth["speed"], kth["max_processors"]) == (["planned 34 s ago"], 1.25, 1)
    assert (kth["free_now"], kth["frames"], kth["processors"]) == (1, 2, 2)
    assert (gone["remarks"], gone["speed"], gone["ok"]) == ([], 2.0, False)
    shown = gas("endpoints", "--config", config).out
    assert "1 processor, speed 1.25" in shown
    assert shown.splitlines()[-1] == "kth: planned 34 s ago"


@pytest.mark.parametrize(("unit", "said"), [("gpus", "128 GPUs"), ("nodes", "128 nodes"), ("cpus", "128")])
def test_the_unit_that_a_scheduler_counts_is_shown(gas, monkeypatch, unit, said):
    monkeypatch.setattr(FileEndpoint, "unit", unit, raising=False)
    path = str(Path(__file__).parent.parent / "examples" / "cluster.json")
    assert gas("endpoints", "-a", path, "--json").json["endpoints"][0]["unit"] == unit
    titles, row = gas("endpoints", "-a", path).out.splitlines()[:2]
    assert f"  {said}  " in row
    assert row.index(said) + len(said) == titles.index("processors") + len("processors")
    heading = gas("availability", "-a", path).out.splitlines()[0]
    assert f": {said if ' ' in said else '128 processors'}, " in heading


@pytest.mark.process
def test_endpoints_where_none_answers_is_exit_4(gas):
    assert gas("endpoints", "-e", "http://127.0.0.1:9").code == 4


def test_a_gas_toml_of_the_folder_is_used_once_it_is_trusted(gas, s3, lu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("gas.toml").write_text(f'[endpoints.kth]\ntype = "s3"\nurl = "{s3.url}"\n')
    refused = gas("plan", lu)
    assert refused.code == 2
    assert "gas.toml, [endpoints.kth]: is not used" in refused.err
    assert "gas endpoints --trust gas.toml" in refused.err
    allowed = gas("endpoints", "--trust")
    assert allowed.out.splitlines() == [
        f"trusted with its current contents: {tmp_path}/gas.toml",
        f"  kth: s3 {s3.url}",
    ]
    assert gas("plan", lu).code == 0
    assert gas("endpoints", "--untrust", "gas.toml").out == "no longer trusted: gas.toml\n"
    assert gas("status").code == 2
    assert gas("endpoints", "--untrust").code == 1


def test_a_program_for_tokens_in_a_folder_is_not_run_and_no_token_is_sent(gas, s3, lu, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAS_TOKEN", "secret")
    program = Path("program")
    program.write_text('#!/bin/sh\necho "$GAS_TOKEN" > ran\necho token\n')
    program.chmod(0o755)
    table = f'type = "slurm"\nurl = "{s3.url}"\ntoken_command = ["{program.absolute()}"]'
    Path("gas.toml").write_text(f"[endpoints.ada]\n{table}\n")
    for arguments in (["plan", lu], ["submit", lu, "--simulate"], ["status"], ["endpoints"], ["wait", "ada:1"]):
        assert gas(*arguments).code != 0
        assert not Path("ran").exists()
    shown = gas("endpoints", "--trust")
    assert shown.out.splitlines()[1] == f"  ada: slurm {s3.url}, runs {program.absolute()}"
    gas("plan", lu)
    assert Path("ran").read_text() == "\n"  # the program runs now, and does not get the token of another service


def test_what_is_trusted_is_shown_without_control_characters(gas, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("gas.toml").write_text('[endpoints."\\u001b[2J"]\ntype = "s3"\nurl = "\\u202e"\n')
    assert "\x1b" not in gas("endpoints", "--trust").out


def test_a_file_that_cannot_be_trusted(gas, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    missing = gas("endpoints", "--trust")
    assert (missing.code, missing.err) == (2, "gas: gas.toml: cannot be read: No such file or directory\n")
    Path("gas.toml").write_text("[endpoints\n")
    assert "not TOML" in gas("endpoints", "--trust").err
    Path("gas.toml").write_text("")
    Path("gas.toml").chmod(0o666)
    assert "chmod go-w gas.toml" in gas("endpoints", "--trust").err
    assert "needs --trust or --untrust" in gas("endpoints", "gas.toml").err
    assert "cannot be used together" in gas("endpoints", "--trust", "--untrust").err
