"""``gas logs --follow``: output while a job writes it; tests/cli/test_jobs.py tests complete output."""

import json
import threading

import pytest
from faulty_proxy import Proxy
from made_endpoints import job

QUEUED = job(1, "queued", expected=100)


def running(output, start=160):
    return job(1, "running", start=start, due=220, output=output)


def ended(output, state="completed", **more):
    return job(1, state, start=160, finished=200, exit_status=0, output=output, **more)


@pytest.fixture
def queue(endpoints, tmp_path):
    def write(*rounds):
        (tmp_path / "queue.json").write_text(json.dumps(rounds))
        return endpoints(hpc=f'type = "queue"\npath = "{tmp_path / "queue.json"}"')

    return write


@pytest.fixture
def follow(gas, queue, monkeypatch):
    """Follow a job with these successive answers of its scheduler."""
    monkeypatch.setattr("gas.agent.following.WAITING_PAUSES", (0.001, 0.002))
    return lambda *rounds: gas("logs", "1", "--follow", "--config", queue(*rounds))


def test_each_part_is_printed_once_until_the_job_has_ended(follow):
    done = follow([QUEUED], [running("")], [running("one\n")], [running("one\ntw")], [ended("one\ntwo\n")])
    assert (done.code, done.out, done.err) == (0, "one\ntwo\n", "")


def test_a_job_that_fails_says_so_and_a_scheduler_that_is_away_is_asked_again(follow):
    failed = [job(1, "failed", start=160, finished=200, exit_status=3, output="a\nb\n")]
    done = follow([running("a\n")], "hpc: away", [running("a\nb\n")], failed)
    assert (done.code, done.out) == (1, "a\nb\n")
    assert "hpc: away; asking again for 30m00s" in done.err
    assert "failed with exit status 3" in done.err


def test_a_file_that_is_not_here_yet_is_looked_for_again(follow):
    done = follow([running(None)], [running("late\n")], [ended("late\n")])
    assert (done.code, done.out) == (0, "late\n")
    assert "the output of job 1 is not here; Gas keeps looking until it has ended" in done.err
    assert "is not here" in follow([ended(None)]).err


def test_a_job_that_starts_again_is_followed_from_its_new_beginning(follow):
    done = follow([running("one\n")], [QUEUED], [running("two\n", start=190)], [{**ended("two\n"), "start": 190}])
    assert done.out == "one\ntwo\n"
    assert "job 1 has restarted" in done.err


def test_characters_that_are_split_between_two_pieces_stay_whole(follow, monkeypatch):
    monkeypatch.setattr("gas.agent.following.PIECE", 1)
    assert follow([running("é")], [ended("é…\n")]).out == "é…\n"


def test_a_restart_of_s3_loses_nothing(gas, start_s3, tmp_path):
    go = tmp_path / "go"
    service = start_s3(4, state=tmp_path / "state")
    script = f"echo before; while [ ! -e {go} ]; do sleep 0.05; done; echo after"
    made = service.process(1, 60, "sh", "-c", script)
    with Proxy(service.url) as proxy:

        def restart():
            assert proxy.answered.wait(30)
            proxy.upstream = "http://127.0.0.1:9"
            service.embedded.__exit__(None, None, None)
            proxy.upstream = start_s3(4, state=tmp_path / "state").url
            go.touch()

        restarting = threading.Thread(target=restart)
        restarting.start()
        done = gas("logs", str(made["id"]), "--follow", "-e", proxy.url)
        restarting.join()
    assert (done.code, done.out) == (0, "before\nafter\n")


def test_following_prints_output_as_it_is(gas):
    for option in (["--json"], ["--bytes", "10"]):
        done = gas("logs", "1", "--follow", *option, "-e", "http://127.0.0.1:9")
        assert done.code == 2
        assert f"{option[0]}: --follow prints all output" in done.err


def test_a_job_that_wrote_only_errors_points_to_them(gas, s3):
    job = s3.process(1, 60, "sh", "-c", "echo no >&2")
    s3.until(job["id"], "completed")
    result = gas("logs", str(job["id"]), "-e", s3.url)
    assert (result.code, result.out) == (0, "")
    assert "standard output is empty; standard error has 3 bytes: --stderr" in result.err
    assert "the schedule is empty (ended jobs: --ended N)" in gas("status", "-e", s3.url).err
