import pytest


def test_status_of_one_job_and_of_all(gas, s3):
    running, waiting = s3.simulated(10, 3600, name="first"), s3.simulated(4, 60, name="second")
    s3.until(running["id"], "running")
    one = gas("status", str(waiting["id"]), "-e", s3.url)
    assert one.out.startswith(f"job {waiting['id']} (second), 4 processors, walltime 60 s: queued; starts ")
    everything = gas("status", "-e", s3.url)
    assert "first" in everything.out
    assert "running" in everything.out
    as_json = gas("status", "-e", s3.url, "--json").json
    assert [j["id"] for j in as_json["jobs"]] == [running["id"], waiting["id"]]
    assert gas("status", str(running["id"]), "-e", s3.url, "--json").json["schema"] == "gas.job/1"


def test_a_job_may_be_written_with_its_scheduler(gas, s3, tmp_path):
    job = s3.simulated(1, 60)
    config = tmp_path / "gas.toml"
    config.write_text(f'[endpoints.kth]\ntype = "s3"\nurl = "{s3.url}"\n')
    for reference in ([f"kth:{job['id']}"], [str(job["id"])], [str(job["id"]), "-e", "kth"]):
        assert gas("status", *reference, "--config", str(config)).code == 0
    assert gas("status", f"{s3.url}:{job['id']}").code == 0


def test_wait_ends_with_the_job(gas, s3):
    good, bad = s3.process(1, 60, "true"), s3.process(1, 60, "sh", "-c", "exit 3")
    assert gas("wait", str(good["id"]), "-e", s3.url).code == 0
    result = gas("wait", str(bad["id"]), "-e", s3.url, "--json")
    assert (result.code, result.json["exit_status"]) == (1, 3)
    assert "exit status 3" in result.err


def test_wait_gives_up_after_its_timeout(gas, s3):
    job = s3.simulated(1, 3600)
    result = gas("wait", str(job["id"]), "-e", s3.url, "--timeout", "1s")
    assert result.code == 1
    assert "is still running after 1s" in result.err


def test_logs_of_both_streams(gas, s3):
    job = s3.process(1, 60, "sh", "-c", "echo out; echo err >&2")
    gas("wait", str(job["id"]), "-e", s3.url)
    assert gas("logs", str(job["id"]), "-e", s3.url).out == "out\n"
    assert gas("logs", str(job["id"]), "-e", s3.url, "--stderr").out == "err\n"
    assert gas("logs", str(job["id"]), "-e", s3.url, "--json").json["text"] == "out\n"


def test_cancel(gas, s3):
    job = s3.simulated(1, 3600)
    assert "cancelled" in gas("cancel", str(job["id"]), "-e", s3.url).out


def test_reserve_and_see_it_in_the_list(gas, s3):
    made = gas("reserve", "-e", s3.url, "-p", "4", "--start", "+1h", "-w", "30m", "--json").json
    assert (made["state"], made["processors"], made["walltime"]) == ("reserved", 4, 1800)
    frames = gas("availability", "-e", s3.url, "--json").json["frames"]
    assert [f["free"] for f in frames] == [10, 6, 10]
    assert frames[1]["start"] == made["promise"]
    clash = gas("reserve", "-e", s3.url, "-p", "10", "--start", f"@{made['promise']}", "-w", "30m")
    assert clash.code == 5
    assert "nothing was reserved" in clash.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["status", "x", "-e", "URL"], 2, "is not a job"),
        (["status", "0", "-e", "URL"], 2, "is not a job"),
        (["status", "9" * 30, "-e", "URL"], 2, "is not a job"),
        (["status", "99", "-e", "URL"], 1, "there is no job 99"),
        (["status", "99"], 2, "which scheduler?"),
        (["status", "kth:1", "-e", "URL"], 2, "name it once"),
        (["status", "1", "-e", "http://127.0.0.1:9"], 4, "cannot be reached"),
        (["wait", "1", "-e", "URL", "--timeout", "5"], 2, "without a unit"),
        (["logs", "1", "-e", "URL", "--bytes", "0"], 2, "--bytes"),
        (["cancel", "99", "-e", "URL"], 1, "there is no job 99"),
        (["reserve", "-e", "URL", "-p", "0", "--start", "+1h", "-w", "1h"], 2, "--processors"),
        (["reserve", "-e", "URL", "-p", "11", "--start", "+1h", "-w", "1h"], 2, "the machine has 10"),
        (["reserve", "-e", "URL", "-p", "1", "--start", "@5", "-w", "1h"], 2, "must be between now"),
        (["reserve", "-e", "URL", "-p", "1", "--start", "+1h", "-w", "0s"], 2, "must be at least 1 s"),
    ],
)
def test_bad_command_lines(gas, s3, arguments, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gas(*[s3.url if a == "URL" else a for a in arguments])
    assert (result.code, message in result.err) == (code, True), result.err
