import json
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest
from faulty_proxy import Proxy
from made_endpoints import job as made_job

from gas.cli.jobs import _print_jobs


def test_status_of_one_job_and_of_all(gas, s3):
    running, waiting = s3.simulated(10, 3600, name="first"), s3.simulated(4, 60, name="second")
    s3.until(running["id"], "running")
    one = gas("status", str(waiting["id"]), "-e", s3.url)
    assert one.out.startswith(f"job {waiting['id']} (second), 4 processors, walltime 1m00s: queued; starts ")
    everything = gas("status", "-e", s3.url)
    assert "first" in everything.out
    assert "running" in everything.out
    as_json = gas("status", "-e", s3.url, "--json").json
    assert [j["id"] for j in as_json["jobs"]] == [running["id"], waiting["id"]]
    assert gas("status", str(running["id"]), "-e", s3.url, "--json").json["schema"] == "gas.job/1"


def test_status_shows_all_schedulers_and_goes_on_without_those_that_do_not_answer(gas, start_s3, tmp_path):
    one, two = start_s3(10, name="one"), start_s3(10, name="two")
    job = one.simulated(1, 3600, name="here")
    config = tmp_path / "gas.toml"
    tables = {"one": one.url, "two": two.url, "away": "http://127.0.0.1:9"}
    text = "".join(f'[endpoints.{name}]\ntype = "s3"\nurl = "{url}"\nretries = 0\n' for name, url in tables.items())
    config.write_text(f'{text}[endpoints.disk]\ntype = "file"\npath = "x.json"\n')
    everything = gas("status", "--config", str(config))
    assert everything.code == 0
    assert re.search(r"one:\n.*\n +1 +here", everything.out)
    assert "two:" in everything.out
    assert "away: http://127.0.0.1:9 cannot be reached" in everything.err
    found = gas("status", "--config", str(config), "--json").json
    assert found["schema"] == "gas.schedules/1"
    assert [(s["scheduler"], s["ok"], [j["id"] for j in s["jobs"]]) for s in found["schedules"]] == [
        ("one", True, [job["id"]]), ("two", True, []), ("away", False, []),
    ]  # fmt: skip
    some = gas("status", "-e", "two", "-e", "one", "--config", str(config), "--json").json
    assert [s["scheduler"] for s in some["schedules"]] == ["two", "one"]
    assert gas("status", "-e", "away", "--config", str(config)).code == 4
    assert gas("status", "-e", "disk", "--config", str(config)).code == 2


def test_estimates_are_shown_as_such_also_by_a_scheduler_that_shows_no_plans(gas, endpoints, tmp_path):
    now = int(time.time())
    jobs = [
        made_job(1, "running", start=now - 60, due=now + 3600),
        made_job(2, "queued", expected=now + 7500),
        made_job(3, "queued", walltime=None),
        made_job(4, "completed", start=now - 7200, finished=now - 3600, exit_status=0),
    ]
    (tmp_path / "queue.json").write_text(json.dumps([jobs]))
    config = endpoints(hpc=f'type = "queue"\npath = "{tmp_path / "queue.json"}"')
    result = gas("status", "--config", config)
    assert (result.code, result.err) == (0, "")
    rows = [re.split(r"  +", line.strip()) for line in result.out.splitlines()]
    assert re.fullmatch(r"in 2h0[45]m\?", rows[2][-1]), rows[2]  # its end is not known
    assert rows[3][-2:] == ["unlimited", "not planned"]
    assert rows[4][-2:] == ["2h00m ago", "1h00m ago"]
    assert rows[5:] == [["?: estimate"]]
    assert "queued; expected to start " in gas("status", "2", "--config", config).out
    assert gas("status", "2", "--config", config, "--json").json["expected"] == now + 7500


def test_the_list_says_why_a_reservation_was_cancelled(capsys):
    gone = made_job(1, "cancelled", finished=90, message="job 2 took its place")
    _print_jobs([gone, made_job(2, "queued", promise=160, message="not said here")], 100, "none")
    title, first, second = capsys.readouterr().out.splitlines()
    assert title.split()[-1] == "remark"
    assert first.endswith("never  10s ago  job 2 took its place")
    assert second.split()[-2:] == ["in", "1m00s"]
    _print_jobs([made_job(2, "queued", promise=160, message="not said here")], 100, "none")
    shown = capsys.readouterr().out
    assert "remark" not in shown
    assert "estimate" not in shown, "a promise is none"


def test_a_reservation_without_a_promise(gas, endpoints, tmp_path):
    (tmp_path / "queue.json").write_text("[[]]")
    config = endpoints(hpc=f'type = "queue"\npath = "{tmp_path / "queue.json"}"')
    made = gas("reserve", "-p", "4", "--start", "@2000000000", "-w", "1h", "--config", config)
    assert (made.code, made.err) == (0, "")
    assert "reserved from 2033-05-18T03:33:20Z to 2033-05-18T04:33:20Z" in made.out
    before = int(time.time())
    by_clock = gas("reserve", "-p", "4", "--start", "2033-05-18 9:00", "-w", "1h", "--config", config)
    start = datetime(2033, 5, 18, 9).astimezone()
    assert f"--start 2033-05-18 9:00: is {start.isoformat()} by the local clock, " in " ".join(by_clock.err.split())
    later = gas("reserve", "-p", "4", "--start", "+1h", "-w", "1h", "--config", config, "--json").json
    assert before + 3600 <= later["expected"] <= time.time() + 3600


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


def test_wait_ends_with_the_exit_status_of_the_job_if_that_is_asked_for(gas, s3):
    for command, code in (("true", 0), ("exit 3", 3), ("exit 130", 130), ("kill -9 $$", 137)):
        job = s3.process(1, 60, "sh", "-c", command)
        result = gas("wait", str(job["id"]), "-e", s3.url, "--exit-status")
        assert result.code == code
        assert "interrupted" not in result.err
    cancelled = s3.simulated(1, 60, not_before=int(time.time()) + 3600)
    gas("cancel", str(cancelled["id"]), "-e", s3.url)
    assert gas("wait", str(cancelled["id"]), "-e", s3.url, "--exit-status").code == 1


def test_status_lists_the_jobs_that_are_asked_for(gas, s3):
    failed = s3.process(1, 60, "false")
    s3.until(failed["id"], "failed")
    running, waiting = s3.simulated(10, 3600), s3.simulated(4, 60)
    s3.until(running["id"], "running")

    def listed(*options):
        return [j["id"] for j in gas("status", "-e", s3.url, "--json", *options).json["jobs"]]

    assert listed("--state", "queued") == [waiting["id"]]
    assert listed("--state", "failed") == [failed["id"]]
    assert sorted(listed("--since", "1h")) == sorted([failed["id"], running["id"], waiting["id"]])
    assert listed("--user", "nobody-of-this-name") == []
    result = gas("status", "-e", s3.url, "--user", "nobody-of-this-name")
    assert (result.code, result.err) == (0, "no such jobs\n")
    assert gas("status", "1", "-e", s3.url, "--user", "ann").code == 2


def test_wait_gives_up_after_its_timeout(gas, s3):
    job = s3.simulated(1, 3600)
    s3.until(job["id"], "running")
    result = gas("wait", str(job["id"]), "-e", s3.url, "--timeout", "1s")
    assert result.code == 1
    assert "is still running after 1s" in result.err


@pytest.mark.thorough
def test_wait_outlasts_a_restart(gas, start_s3, tmp_path):
    service = start_s3(4)
    job = service.simulated(1, 4)
    with Proxy(service.url) as proxy:

        def restart():
            assert proxy.answered.wait(30)
            proxy.upstream = "http://127.0.0.1:9"
            time.sleep(1.5)
            proxy.upstream = service.url

        restarting = threading.Thread(target=restart)
        restarting.start()
        result = gas("wait", str(job["id"]), "-e", proxy.url)
        restarting.join()
    assert result.code == 0
    assert "asking again" in result.err


def test_following_a_job_tells_what_becomes_of_it_and_ends_as_wait_does(gas, s3):
    s3.simulated(10, 2)
    good = s3.process(1, 60, "true")
    followed = gas("status", "--follow", str(good["id"]), "-e", s3.url)
    assert followed.code == 0
    states = re.findall(r"walltime 1m00s: (\w+)", followed.out)
    assert (states[0], states[-1]) == ("queued", "completed")
    assert len(states) == len(set(followed.out.splitlines())), "no line twice"
    bad = s3.process(1, 60, "sh", "-c", "exit 3")
    result = gas("status", "--follow", str(bad["id"]), "-e", s3.url, "--json")
    events = [json.loads(line) for line in result.out.splitlines()]
    assert result.code == 1
    assert {(e["schema"], e["event"], e["data"]["id"]) for e in events} == {("gas.event/1", "job", bad["id"])}
    assert (events[-1]["data"]["state"], events[-1]["data"]["exit_status"]) == ("failed", 3)


def test_following_a_job_that_has_ended_ends_at_once(gas, s3):
    job = s3.process(1, 60, "true")
    gas("wait", str(job["id"]), "-e", s3.url)
    result = gas("status", "--follow", str(job["id"]), "-e", s3.url)
    assert (result.code, result.out.count("\n")) == (0, 1)
    assert gas("status", "--follow", "99", "-e", s3.url).code == 1


def test_following_the_schedule_goes_on_over_a_lost_connection_until_it_is_interrupted(s3):
    with Proxy(s3.url) as proxy:
        command = [sys.executable, "-m", "gas", "status", "--follow", "-e", proxy.url]
        call = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "10 processors, 0 jobs run on 0, 0 wait" in call.stdout.readline()
        s3.simulated(1, 3600, name="first")
        assert "(first)" in call.stdout.readline()
        proxy.cut_streams()
        s3.simulated(1, 3600, name="second")
        while "(second)" not in call.stdout.readline():
            pass
        call.send_signal(signal.SIGINT)
        out, err = call.communicate(timeout=30)
    assert call.returncode == 130
    assert "trying again" in err
    assert "Traceback" not in out + err


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


OCEAN = str(Path(__file__).parents[1] / "examples" / "ocean.toml")


@pytest.mark.parametrize(
    "words",
    [
        ["wait", "1"],
        ["logs", "1"],
        ["why", "1"],
        ["cancel", "1"],
        ["cancel", "--all"],
        ["reshape", "1", OCEAN],
        ["reserve", "-p", "1", "--start", "+1h", "-w", "1h"],
        ["offer", "1"],
        ["machine"],
    ],
    ids=lambda words: words[0],
)
def test_of_two_schedulers_none_is_chosen_without_a_word(gas, s3, words):
    kept = s3.simulated(1, 1000)["id"]
    result = gas(*words, "-e", "http://127.0.0.1:9", "-e", s3.url)
    assert result.code == 2
    assert f"-e http://127.0.0.1:9 -e {s3.url}: give one scheduler" in result.err
    assert s3.job(kept)["state"] in ("queued", "running")
    assert len(s3.get("/v1/jobs").json()["jobs"]) == 1, "nothing was reserved"


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["status", "x", "-e", "URL"], 2, "is not a job"),
        (["status", "0", "-e", "URL"], 2, "is not a job"),
        (["status", "9" * 30, "-e", "URL"], 2, "is not a job"),
        (["status", "99", "-e", "URL"], 1, "there is no job 99"),
        (["status", "99"], 2, "which scheduler?"),
        (["status"], 2, "no scheduler given"),
        (["status", "1", "-e", "URL", "-e", "http://127.0.0.1:9"], 2, "give one scheduler"),
        (["status", "1", "-e", "URL", "--key", "k"], 2, "leave out JOB"),
        (["status", "-e", "URL", "--key", "k"], 1, "there is no job with the key k"),
        (["status", "-e", "URL", "-e", "http://127.0.0.1:9", "--key", "k"], 4, "not known whether"),
        (["status", "--follow", "-e", "http://127.0.0.1:9"], 4, "cannot be reached"),
        (["status", "kth:1", "-e", "URL"], 2, "give it once"),
        (["status", "1", "-e", "http://127.0.0.1:9"], 4, "cannot be reached"),
        (["wait", "1", "-e", "URL", "--timeout", "5"], 2, "without a unit"),
        (["logs", "1", "-e", "URL", "--bytes", "0"], 2, "--bytes"),
        (["cancel", "99", "-e", "URL"], 1, "there is no job 99"),
        (["reserve", "-e", "URL", "-p", "0", "--start", "+1h", "-w", "1h"], 2, "--processors"),
        (["reserve", "-e", "URL", "-p", "11", "--start", "+1h", "-w", "1h"], 2, "the machine has 10"),
        (["reserve", "-e", "URL", "-p", "1", "--start", "@5", "-w", "1h"], 2, "1970-01-01T00:00:05Z (5): has passed"),
        (["reserve", "-e", "URL", "-p", "1", "--start", "+1h", "-w", "0s"], 2, "must be at least 1 s"),
    ],
)
def test_bad_command_lines(gas, s3, arguments, code, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = gas(*[s3.url if a == "URL" else a for a in arguments])
    assert (result.code, message in result.err) == (code, True), result.err
