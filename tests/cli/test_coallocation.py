"""`gas plan --coallocate` and `gas submit --coallocate`: what they print, draw, submit and refuse."""

import json

import pytest

APP = 'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 4 = 3000, 8 = 60 }\n'


@pytest.fixture
def app(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(APP)
    return str(path)


@pytest.fixture
def lists(tmp_path):
    """Two machines of 8 processors, 4 of which are free for an hour, and one whose starts are estimates."""
    found = []
    for name, kind in (("north", "promise"), ("south", "promise"), ("west", "estimate")):
        frames = [{"start": 1000, "end": 5000, "free": 4}, {"start": 5000, "end": None, "free": 8}]
        content = {"schema": "gas.availability/1", "scheduler": name, "kind": kind, "now": 1000, "processors": 8,
                   "version": "1", "frames": frames}  # fmt: skip
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content))
        found += ["-a", str(path)]
    return found


@pytest.fixture
def coallocate(gas, app, lists):
    return lambda *more: gas("plan", app, *lists, "--stale-ok", "--coallocate", *more)


def test_the_parts_and_what_a_single_machine_would_give_are_printed(coallocate):
    result = coallocate()
    assert result.code == 0
    assert result.out.startswith("app: 4 processors on north and 4 on south, walltime 1m23s: starts in 10s, finishes")
    assert "48m35s sooner than on one machine: 4 processors on north would start now and finish in 50m00s" in result.out
    assert "assumed to run 25% longer on several machines (--boundary)" in result.out
    assert "4 on north, 4 on south" in result.out
    assert "west: excluded from combinations: its starts are estimates" in result.err


def test_what_the_boundary_costs_decides(coallocate):
    result = coallocate("--boundary", "100%", "--json").json
    assert (result["cost"], result["best"]["execution_time"]) == (2.0, 120)
    assert [part["scheduler"] for part in result["best"]["parts"]] == ["north", "south"]
    assert result["single"]["best"]["scheduler"] == "north"


def test_where_nothing_is_possible_the_exit_code_says_so(coallocate):
    result = coallocate("--deadline", "@1050")
    assert result.code == 3
    assert "no combination of up to 2 machines has room for it either" in result.err


@pytest.mark.thorough
def test_the_picture_shows_the_parts_on_their_machines(coallocate, tmp_path):
    result = coallocate("--plot", str(tmp_path / "plan.svg"))
    assert (result.code, f"drawn: {tmp_path / 'plan.svg'}" in result.err) == (0, True)
    drawn = (tmp_path / "plan.svg").read_text()
    assert "app: 4 + 4 processors that start together" in drawn
    assert drawn.count("4 processors, starts in 10s") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--predict", "auto"), "--predict: applies to one machine only"),
        (("--algorithm", "walk"), "--algorithm walk: applies to one machine only"),
        (("--as", "sbatch"), "--as sbatch: applies to one machine"),
        (("--most-machines", "1"), "over 1 machine: allow 2 or more"),
        (("--boundary", "25"), "--boundary '25': write a percentage"),
    ],
)
def test_what_does_not_go_together_is_refused(coallocate, options, message):
    result = coallocate(*options)
    assert (result.code, message in result.err) == (2, True), result.err


@pytest.mark.parametrize("option", [("--most-machines", "3"), ("--boundary", "10%")])
def test_options_of_several_machines_need_coallocation(gas, app, lists, option):
    result = gas("plan", app, *lists, "--stale-ok", *option)
    assert (result.code, "applies to several machines; add --coallocate" in result.err) == (2, True)


def test_a_job_script_is_of_one_machine(gas, tmp_path, lists):
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    result = gas("submit", "--script", str(script), "--sizes", "1,2", "--time", "2h,1h", "-e", "http://127.0.0.1:1",
                 "--coallocate")  # fmt: skip
    assert (result.code, "a job script runs on one machine" in result.err) == (2, True), result.err


@pytest.fixture
def sites(start_s3):
    sites = [start_s3(4, name=name) for name in "ab"]
    return sites, [word for site in sites for word in ("-e", site.url)]


def test_submitting_makes_a_job_on_each_machine_once(gas, app, sites):
    services, named = sites
    first = gas("submit", app, *named, "--coallocate", "--simulate", "--key", "k", "--json").json
    assert (first["schema"], first["already"]) == ("gas.coallocated-submission/1", False)
    jobs = [site.get("/v1/jobs").json()["jobs"] for site in services]
    assert [[job["id"] for job in listed] for listed in jobs] == [[one["job"]["id"]] for one in first["jobs"]]
    assert {job["promise"] for listed in jobs for job in listed} == {first["plan"]["best"]["start"]}
    again = gas("submit", app, *named, "--coallocate", "--simulate", "--key", "k", "--json").json
    assert again["already"]
    assert [one["job"]["id"] for one in again["jobs"]] == [one["job"]["id"] for one in first["jobs"]]
    told = gas("submit", app, *named, "--coallocate", "--simulate", "--key", "k")
    assert "app: submitted already: job 2 -e http" in told.out
    assert told.out.count("(reserved)") == 2


def test_a_key_of_which_a_part_was_cancelled_is_refused_and_says_what_became_of_each(gas, app, sites):
    services, named = sites
    submit = ["submit", app, *named, "--coallocate", "--simulate", "--key", "k"]
    assert gas(*submit).code == 0
    jobs = [f"job 2 -e {site.url}" for site in services]
    services[0].delete("/v1/jobs/2")
    again = gas(*submit)
    assert (again.code, again.out) == (1, "")
    assert f"{jobs[0]} is cancelled, {jobs[1]} is reserved; cancel the rest (gas cancel 2 -e" in again.err
    assert gas("cancel", "2", "-e", services[1].url).code == 0
    again = gas(*submit)
    assert (again.code, again.err.count("is cancelled"), "cancel the rest" in again.err) == (1, 2, False)
    listed = [job for site in services for job in site.get("/v1/jobs?ended=9").json()["jobs"]]
    assert [job["id"] for job in listed if job["kind"] == "job"] == [2, 2]


def test_a_submission_says_the_plan_then_the_jobs_and_how_to_follow_them(gas, app, sites):
    _, named = sites
    result = gas("submit", app, *named, "--coallocate", "--", "true")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("app: 4 processors on a and 4 on b")
    assert [line[:10] for line in lines[2:4]] == ["job 2 on a", "job 2 on b"]
    assert lines[4].startswith("follow them: gas wait 2 -e ")


@pytest.mark.parametrize("option", ["--wait", "--dry-run"])
def test_options_of_one_machine_are_refused(gas, app, sites, option):
    result = gas("submit", app, *sites[1], "--coallocate", "--simulate", option)
    assert (result.code, f"{option}: applies to one machine" in result.err) == (2, True)


def test_one_job_is_followed_as_one(gas, app, sites):
    result = gas("submit", app, *sites[1][:2], "--coallocate", "--simulate")
    assert "\nfollow it: gas wait 1" in result.out, result.err


def test_a_notice_is_refused_before_anything_is_taken(gas, app, sites):
    services, named = sites
    result = gas("submit", app, *named, "--coallocate", "--simulate", "--notice", "10m")
    assert (result.code, "notice: parts of a coallocation start together" in result.err) == (2, True), result.err
    assert [site.get("/v1/jobs").json()["jobs"] for site in services] == [[], []]
