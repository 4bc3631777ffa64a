"""`gas submit --redundant`: its output while one job waits in several queues, and its refusals."""

import threading

import pytest
from eventually import until

APP = 'name = "app"\n[speedup]\nmodel = "table"\ntimes = { 4 = 3000, 6 = 60 }\n'


@pytest.fixture
def app(tmp_path):
    path = tmp_path / "app.toml"
    path.write_text(APP)
    return str(path)


@pytest.fixture
def sites(start_s3):
    """Two machines of 6 processors, all held by other jobs, and their names."""
    sites = [start_s3(6, name=name) for name in "ab"]
    for site in sites:
        site.simulated(6, 3600)
        site.until(1, "running")
    return sites, [word for site in sites for word in ("-e", site.url)]


def freed(site):
    """Free a machine as soon as the application waits on both."""
    until(lambda: all(one.get("/v1/jobs/2").status_code == 200 for one in site), "waiting on both", every=0.05)
    site[-1].delete("/v1/jobs/1")


def submitted(gas, services, *words):
    """Submit while both machines are busy; the last of the services then becomes free."""
    helper = threading.Thread(target=freed, args=(services,))
    helper.start()
    result = gas("submit", *words)
    helper.join()
    return result


def test_the_jobs_are_shown_then_the_one_that_runs_and_the_withdrawn_one(gas, app, sites, tmp_path):
    services, named = sites
    command = ["sh", "-c", f"echo $GAS_PROCESSORS > {tmp_path / 'ran'}"]
    result = submitted(gas, services, app, *named, "--redundant", "--shared", str(tmp_path / "shared"), "--key", "k",
                       "--wait", "--", *command)  # fmt: skip
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("app: 6 processors on a, walltime")
    assert [line[:10] for line in lines[1:3]] == ["job 2 on a", "job 2 on b"]
    assert lines[3].startswith("waiting until one of them starts: it runs the command")
    assert lines[4] == "job 2 on a was withdrawn"
    assert lines[5].startswith("job 2 on b has started; follow it: gas wait 2 -e http")
    assert "repeat it with --key k" in result.err
    assert (tmp_path / "ran").read_text() == "6\n"


def test_as_json_it_says_which_job_runs(gas, app, sites, tmp_path):
    services, named = sites
    found = submitted(gas, services[::-1], app, *named, "--redundant", "--shared", str(tmp_path), "--json",
                      "--", "true").json  # fmt: skip
    assert (found["schema"], found["already"], found["runs"]) == ("gas.redundant-submission/1", False, 0)
    assert [one["scheduler"] for one in found["jobs"]] == ["a", "b"]
    assert found["plan"]["best"]["scheduler"] == "a"
    assert services[1].job(2)["state"] == "cancelled"
    assert found["jobs"][0]["job"]["state"] in ("running", "completed")
    assert found["jobs"][1]["job"]["state"] == "cancelled"


def test_with_json_and_wait_the_object_has_the_end_of_the_job(gas, app, sites, tmp_path):
    services, named = sites
    result = submitted(gas, services, app, *named, "--redundant", "--shared", str(tmp_path), "--json", "--wait",
                       "--plot", str(tmp_path / "plan.svg"), "--", "false")  # fmt: skip
    found = result.json
    assert found["jobs"][found["runs"]]["job"]["exit_status"] == 1
    assert result.code == 1
    assert (tmp_path / "plan.svg").exists()


def test_a_job_that_no_other_machine_takes_is_not_waited_for(gas, app, sites, tmp_path):
    services, named = sites
    result = gas("submit", app, *named[:2], "--redundant", "--shared", str(tmp_path), "--", "true")
    assert result.code == 0, result.err
    assert result.out.splitlines()[-1].startswith("follow it: gas wait 2 -e http")
    assert services[0].job(2)["state"] == "queued"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shared", "x", "--", "true"), "--shared: belongs to --redundant"),
        (("--redundant", "--dry-run", "--", "true"), "--dry-run: applies to one request"),
        (("--redundant", "--coallocate", "--", "true"), "--redundant: applies to one machine"),
        (("--redundant", "--simulate"), "redundant requests need a command or a job script"),
    ],
)
def test_what_does_not_go_together_is_refused(gas, app, options, message):
    result = gas("submit", app, "-e", "http://127.0.0.1:1", *options)
    assert (result.code, message in result.err) == (2, True), result.err
