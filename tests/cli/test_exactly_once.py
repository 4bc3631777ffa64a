"""One `gas submit` makes one job, whatever the network and the service do to it.

A real service answers behind a proxy that loses, cuts, delays and keeps requests; the final schedule of the service
counts, read without the proxy.
"""

import json
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest
from faulty_proxy import CUTS, Fault, Proxy, any_fault, page, wait_until
from service_process import Place, Service

from gas.endpoints import S3Endpoint

SLOW = 1.2
"""Seconds; longer than the client of these tests waits for an answer."""

TABLE = """
[endpoints.{name}]
type = "s3"
url = "{url}"
timeout = 0.6
retries = 1
patience = {patience}
"""


@pytest.fixture
def proxy(s3):
    with Proxy(s3.url) as proxy:
        yield proxy


@pytest.fixture
def configure(tmp_path):
    """Write a configuration of endpoints by name."""

    def configure(patience=8, **urls):
        path = tmp_path / "gas.toml"
        path.write_text("".join(TABLE.format(name=name, url=url, patience=patience) for name, url in urls.items()))
        return str(path)

    return configure


@pytest.fixture
def app(tmp_path):
    """An application that runs for a minute on any number of processors up to four."""
    path = tmp_path / "app.toml"
    path.write_text('name = "app"\n[speedup]\nmodel = "table"\ntimes = { 2 = 90, 4 = 60 }\n')
    return str(path)


@pytest.fixture
def submit(gas, app):
    def submit(config, *more):
        return gas("submit", app, "--simulate", "--json", "--config", config, *more)

    return submit


def jobs_of(service):
    """The jobs of `gas submit`, with any outcome."""
    return [j for j in service.get("/v1/jobs?ended=1000").json()["jobs"] if j["name"] == "app"]


ONCE = {
    **{f"the request is cut {where}": Fault(request=where) for where in CUTS},
    **{f"the answer is cut {where}": Fault(answer=where) for where in CUTS},
    "502 in place of asking": Fault(request="at its first byte", page=page("502 Bad Gateway")),
    "502 in place of the answer": Fault(page=page("502 Bad Gateway")),
    "503 in place of the answer": Fault(page=page("503 Service Unavailable")),
    "504 in place of the answer": Fault(page=page("504 Gateway Timeout")),
    "an answer that makes no sense": Fault(page=page("200 OK")),
    "an answer that comes too late": Fault(delay=SLOW),
    "a request that is kept on the way": Fault(kept=True),
}


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize("fault", ONCE.values(), ids=ONCE.keys())
def test_a_fault_that_passes_costs_nothing_but_time(s3, proxy, configure, submit, fault):
    proxy.faults = [fault] * 2
    result = submit(configure(kth=proxy.url))
    assert result.code == 0, result.err
    assert (len(proxy.posts), len(proxy.keys)) == (3, 1), "the same request, again and again"
    assert "trying again" in result.err
    proxy.deliver()
    assert [j["id"] for j in jobs_of(s3)] == [result.json["job"]["id"]]


@pytest.mark.thorough(but=3)
@pytest.mark.parametrize("fault", ONCE.values(), ids=ONCE.keys())
def test_a_fault_that_stays_ends_with_the_command_that_finds_out(s3, proxy, configure, submit, gas, fault):
    proxy.for_ever = fault
    result = submit(configure(patience=0.5, kth=proxy.url))
    assert result.code == 4
    assert "the job may or may not have been submitted" in result.err
    assert len(jobs_of(s3)) <= 1
    found_out = gas(*shlex.split(re.search(r"submitted: gas (.*) shows it", result.err)[1]))
    assert found_out.code == (0 if jobs_of(s3) else 1)
    proxy.for_ever = Fault()
    key = re.search(r"with --key (\S+)", result.err)[1]
    again = submit(configure(kth=proxy.url), "--key", key)
    assert again.code == 0, again.err
    assert again.json["already"] == (found_out.code == 0)
    proxy.deliver()
    assert [j["id"] for j in jobs_of(s3)] == [again.json["job"]["id"]]


def test_what_was_never_sent_is_in_no_doubt(s3, configure, submit, monkeypatch):
    original = S3Endpoint.submit

    def service_leaves_first(self, *arguments):
        s3.embedded.__exit__(None, None, None)
        return original(self, *arguments)

    monkeypatch.setattr(S3Endpoint, "submit", service_leaves_first)
    result = submit(configure(patience=0.3, kth=s3.url))
    assert result.code == 4
    assert "nothing was submitted" in result.err
    assert "may or may not" not in result.err


# ------------------------------------------------------------------------------------------------ kills and restarts


class Restarted:
    """A service as a process, behind a proxy, that is killed and restarts."""

    def __init__(self, directory, clock_speed="1"):
        self.place, self.log = Place(directory), directory / "log"
        self.options = ["--clock-speed", clock_speed]
        self.service = self._start()
        self.proxy = Proxy(self.service.url)
        self.kills = 0
        self._restart = None

    def _start(self):
        return Service(self.place, *self.options, log=self.log, processors=8).ready()

    def kill(self):
        """Kill it at once; it restarts by itself."""
        self.join()
        self.service.kill()
        self.kills += 1
        self._restart = threading.Thread(target=self._come_back)
        self._restart.start()

    def _come_back(self):
        self.service = self._start()
        self.proxy.upstream = self.service.url

    def join(self):
        if self._restart is not None:
            self._restart.join()

    def get(self, path):
        self.join()
        return self.service.get(path)

    def __enter__(self):
        self.proxy.__enter__()
        return self

    def __exit__(self, *_):
        self.proxy.__exit__()
        self.join()
        self.service.kill()


def test_a_service_that_is_killed_and_started_again_gets_the_job_once(tmp_path, configure, submit):
    with Restarted(tmp_path) as site:
        config = configure(patience=30, kth=site.proxy.url)
        for moment in ("before", "during", "after"):
            before = {j["id"] for j in jobs_of(site)}
            site.proxy.faults = [Fault(**{moment: site.kill})]
            result = submit(config)
            assert result.code == 0, f"{moment}: {result.err}"
            after = {j["id"] for j in jobs_of(site)}
            assert after - before == {result.json["job"]["id"]}, moment
        assert site.kills == 3


def bombard(seed, site, submissions, configure, submit, *, kills):
    """Submit under random faults until each submission is settled; count the jobs."""
    chance = random.Random(seed)
    settled = {}
    for number in range(submissions):
        kill = site.kill if kills and chance.random() < 0.6 else None
        site.proxy.faults = [any_fault(chance, slow=SLOW, kill=kill) for _ in range(chance.choice([0, 1, 1, 2, 4]))]
        config = configure(patience=chance.choice([0.3, 2, 20]), kth=site.proxy.url)
        # without --key, the message contains the key to repeat the request
        key = f"{seed}-{number}" if chance.random() < 0.5 else None
        for _ in range(20):
            result = submit(config, *([] if key is None else ["--key", key]))
            if result.code == 0:
                break
            if kills:
                site.join()
            assert result.code == 4, result.err
            if (found := re.search(r"with --key (\S+)", result.err)) is not None:
                key = found[1]
            if chance.random() < 0.3:
                site.proxy.deliver()
        else:
            raise AssertionError(f"submission {number} of seed {seed} did not end")
        settled[number] = result.json["job"]["id"]
        if chance.random() < 0.5:
            if kills:
                site.join()
            site.proxy.deliver()
    if kills:
        site.join()
    site.proxy.deliver()
    assert len(set(settled.values())) == submissions
    assert {j["id"] for j in jobs_of(site)} == set(settled.values()), f"seed {seed}"


class Embedded:
    """The service of a test behind a proxy; it is not killed."""

    def __init__(self, s3, proxy):
        self.proxy, self.get = proxy, s3.get


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("seed", [1, 2])
def test_any_faults_leave_one_job_for_each_submission(s3, proxy, configure, submit, seed):
    bombard(seed, Embedded(s3, proxy), 8, configure, submit, kills=False)


@pytest.mark.thorough
def test_any_faults_and_kills_leave_one_job_for_each_submission(tmp_path, configure, submit):
    with Restarted(tmp_path) as site:
        bombard(11, site, 6, configure, submit, kills=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_hundreds_of_submissions_under_any_faults_and_kills(tmp_path, configure, submit, seed):
    with Restarted(tmp_path) as site:
        bombard(seed, site, 25, configure, submit, kills=True)


# -------------------------------------------------------------------------------------------------- several calls


def test_the_same_key_submits_once_and_says_so(s3, configure, submit, gas, app):
    config = configure(kth=s3.url)
    first, second = submit(config, "--key", "mine/1"), submit(config, "--key", "mine/1")
    assert (first.json["already"], first.json["attempts"], first.json["key"]) == (False, 1, "mine/1")
    assert (second.code, second.json["already"], second.json["attempts"]) == (0, True, 0)
    assert first.json["job"]["id"] == second.json["job"]["id"]
    in_words = gas("submit", app, "--simulate", "--config", config, "--key", "mine/1")
    assert f"submitted already, as job {first.json['job']['id']} on kth" in in_words.out
    other = submit(config, "--key", "mine/2")
    assert {j["id"] for j in jobs_of(s3)} == {first.json["job"]["id"], other.json["job"]["id"]}
    assert gas("status", "--key", "mine/2", "--config", config, "--json").json["id"] == other.json["job"]["id"]
    assert gas("status", "--key", "mine/3", "--config", config).code == 1


def test_a_key_of_other_work_is_refused_and_makes_nothing(s3, configure, submit, gas, app):
    config = configure(kth=s3.url)
    gas("submit", app, "--config", config, "--key", "k", "--", "echo", "{processors}")
    reserved = ["reserve", "-p", "2", "-w", "10m", "--start", "+1h", "--config", config, "--key", "r"]
    assert gas(*reserved).code == 0
    asked = {
        ("submit", app, "--config", config, "--key", "k", "--", "date"): "job 1, which runs another command (echo ",
        ("submit", app, "--name", "b", "--config", config, "--key", "k", "--", "echo", "{processors}"): "job 1 (",
        ("submit", app, "--config", config, "--key", "r", "--", "date"): "reservation 2 (reservation)",
        ("reserve", "-p", "2", "-w", "10m", "--start", "+1h", "--config", config, "--key", "k"): "job 1 (",
        ("reserve", "-p", "3", "-w", "10m", "--start", "+1h", "--config", config, "--key", "r"): "reservation 2 of 2",
    }
    for order, words in asked.items():
        refused = gas(*order)
        assert refused.code == 1, refused.out
        assert words in refused.err
    assert gas(*reserved).code == 0
    assert gas("submit", app, "--config", config, "--key", "k", "--", "echo", "{processors}").code == 0
    assert s3.get("/v1/jobs/3").status_code == 404


def test_a_job_that_has_ended_is_still_the_keys(s3, configure, submit):
    config = configure(kth=s3.url)
    first = submit(config, "--key", "k").json["job"]["id"]
    s3.delete(f"/v1/jobs/{first}")
    again = submit(config, "--key", "k")
    assert (again.json["job"]["id"], again.json["job"]["state"], again.json["already"]) == (first, "cancelled", True)


def test_a_key_is_asked_for_everywhere_before_anything_is_planned(start_s3, configure, submit):
    busy, idle = start_s3(10, name="busy"), start_s3(10, name="idle")
    config = configure(busy=busy.url, idle=idle.url)
    made = submit(config, "-e", "busy", "--key", "k").json["job"]["id"]
    busy.simulated(10, 5000)
    again = submit(config, "--key", "k")
    assert (again.json["scheduler"], again.json["job"]["id"], again.json["already"]) == ("busy", made, True)
    assert jobs_of(idle) == []


def test_a_key_knows_its_scheduler_under_another_address_and_is_not_sent_to_another(start_s3, configure, submit):
    one, other = start_s3(10, name="one"), start_s3(10, name="other")
    with Proxy(one.url) as proxy:
        proxy.for_ever = Fault(kept=True)
        assert submit(configure(patience=0.2, one=proxy.url), "--key", "k").code == 4
    again = submit(configure(one=one.url), "--key", "k")  # the other address no longer answers
    assert (again.code, again.json["already"]) == (0, False), again.err
    made = submit(configure(one=one.url.replace("127.0.0.1", "localhost")), "--key", "k")
    assert (made.code, made.json["already"]) == (0, True), made.err
    refused = submit(configure(other=other.url), "--key", "k")
    assert (refused.code, f"was sent to {one.url} before" in refused.err) == (1, True)
    assert (len(jobs_of(one)), jobs_of(other)) == (1, [])


def test_a_scheduler_that_cannot_be_asked_for_the_key_could_have_it(s3, configure, submit):
    result = submit(configure(kth=s3.url, away="http://127.0.0.1:9"), "--key", "k")
    assert result.code == 4
    assert "not known whether there is a job with the key k: away" in result.err
    assert jobs_of(s3) == []


def test_without_a_key_a_scheduler_that_does_not_answer_is_left_out(s3, configure, submit):
    assert submit(configure(kth=s3.url, away="http://127.0.0.1:9")).code == 0
    assert len(jobs_of(s3)) == 1


def test_two_calls_with_one_key_at_the_same_time_make_one_job(start_s3, configure, app):
    one, other = start_s3(10), start_s3(10)
    command = [sys.executable, "-m", "gas", "submit", app, "--simulate", "--json", "--key", "same"]
    command += ["--config", configure(one=one.url, other=other.url)]
    calls = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [json.loads(call.communicate(timeout=60)[0]) for call in calls]
    assert len(jobs_of(one) + jobs_of(other)) == 1
    assert sorted(a["already"] for a in answers) == [False, True, True]


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize("key", ["", "two words", "é", "k" * 201])
def test_a_key_is_a_word(s3, configure, submit, key):
    result = submit(configure(kth=s3.url), "--key", key)
    assert (result.code, "--key" in result.err) == (2, True)
    assert jobs_of(s3) == []


# --------------------------------------------------------------------------------------------- several schedulers


@pytest.fixture
def two(start_s3, configure):
    """The planned scheduler, behind a proxy, and an idle one that is nearly as good."""
    first, second = start_s3(4, name="first"), start_s3(2, name="second")
    with Proxy(first.url) as proxy:
        yield first, second, proxy, configure(first=proxy.url, second=second.url)


def crowd(service):
    """Occupy the machine, so that the next request is refused."""
    service.simulated(4, 50_000, name="crowd")


def test_a_refusal_without_doubt_may_be_followed_by_another_scheduler(two, submit):
    first, second, proxy, config = two
    proxy.faults = [Fault(before=partial(crowd, first))]
    result = submit(config)
    assert (result.code, result.json["scheduler"], result.json["attempts"]) == (0, "second", 2), result.err
    assert (len(jobs_of(first)), len(jobs_of(second))) == (0, 1)


def test_a_refusal_after_doubt_stays_with_the_scheduler_that_may_still_get_the_first_request(two, submit):
    first, second, proxy, config = two
    proxy.faults = [Fault(kept=True), Fault(before=partial(crowd, first))]
    result = submit(config)
    assert (result.code, result.json["scheduler"]) == (0, "first"), result.err
    for job in first.get("/v1/jobs").json()["jobs"]:
        if job["name"] == "crowd":  # now the first request would be accepted
            first.delete(f"/v1/jobs/{job['id']}")
    assert proxy.deliver() == [409]
    assert (len(jobs_of(first)), len(jobs_of(second))) == (1, 0)


def test_a_request_that_arrives_between_two_plans_is_the_job(two, submit):
    first, second, proxy, config = two

    def arrives():
        for job in first.get("/v1/jobs").json()["jobs"]:
            first.delete(f"/v1/jobs/{job['id']}")
        assert proxy.deliver() == [201]

    # the first is delayed, the second refused; the first arrives just before the second plan's request
    proxy.faults = [Fault(kept=True), Fault(before=partial(crowd, first)), Fault(before=arrives)]
    result = submit(config)
    assert result.code == 0, result.err
    assert [j["id"] for j in jobs_of(first)] == [result.json["job"]["id"]]
    assert jobs_of(second) == []


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("own_key", [True, False])
def test_a_later_call_stays_with_the_scheduler_in_doubt(two, configure, submit, own_key):
    first, second, proxy, _ = two
    hasty = configure(patience=0.2, first=proxy.url, second=second.url)
    proxy.for_ever = Fault(kept=True)
    failed = submit(hasty, *(["--key", "k"] if own_key else []))
    assert failed.code == 4
    key = re.search(r"with --key (\S+)", failed.err)[1]
    proxy.for_ever = Fault()
    crowd(first)  # the second is far better now, and the first has not received the request
    elsewhere = submit(hasty, "-e", "second", "--key", key)
    assert (elsewhere.code, "was sent to" in elsewhere.err) == (1, True)
    again = submit(hasty, "--key", key)
    assert (again.code, again.json["scheduler"]) == (0, "first"), again.err
    assert set(proxy.deliver()) <= {200, 409}
    assert (len(jobs_of(first)), len(jobs_of(second))) == (1, 0)


def test_a_call_that_was_refused_leaves_its_key_free_for_any_scheduler(two, submit):
    first, _, proxy, config = two
    proxy.faults = [Fault(before=partial(crowd, first))]
    refused = submit(config, "-e", "first", "--key", "k", "--deadline", "+300s")
    assert (refused.code, "may or may not" in refused.err) == (3, False), refused.err
    assert submit(config, "--key", "k").json["scheduler"] == "second"


def test_a_scheduler_that_accepts_nothing_is_planned_without(two, submit):
    first, _, _, config = two
    first.scheduler.accept(False)
    result = submit(config)
    assert (result.code, result.json["scheduler"]) == (0, "second"), result.err
    assert "planning without it" in result.err
    assert submit(config, "-e", "first").code == 1


# --------------------------------------------------------------------------------------- interrupts, reservations


def test_an_interrupt_in_doubt_tells_how_to_find_out(s3, proxy, configure, app):
    proxy.for_ever = Fault(answer="at its first byte", delay=0.2)
    config = configure(patience=60, kth=proxy.url)
    command = [sys.executable, "-m", "gas", "submit", app, "--simulate", "--config", config]
    call = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(proxy.posts) > 1)
    call.send_signal(signal.SIGINT)
    err = call.communicate(timeout=30)[1]
    assert call.returncode == 130
    assert "may or may not have been submitted" in err
    assert "Traceback" not in err
    assert re.search(r"with --key (\S+)", err)[1] == jobs_key(proxy)


def jobs_key(proxy):
    [key] = proxy.keys
    return key


def test_a_reservation_is_made_once(s3, proxy, configure, gas):
    config = configure(patience=2.0, kth=proxy.url)
    order = ["reserve", "-p", "2", "--start", "+1h", "-w", "10m", "--json", "--config", config]
    proxy.faults = [Fault(answer="at its first byte")]
    assert gas(*order).code == 0
    assert len(s3.get("/v1/jobs").json()["jobs"]) == 1
    proxy.for_ever = Fault(answer="within its body")
    doubtful = gas(*order)
    assert (doubtful.code, "the reservation may or may not exist" in doubtful.err) == (4, True)
    proxy.for_ever = Fault()
    key = re.search(r"with --key (\S+)", doubtful.err)[1]
    assert gas(*order, "--key", key).json["state"] == "reserved"
    assert len(s3.get("/v1/jobs").json()["jobs"]) == 2


def test_the_state_that_remembers_keys_is_private_and_needed(s3, configure, submit, tmp_path, monkeypatch):
    config = configure(kth=s3.url)
    assert submit(config, "--key", "k").code == 0
    [note] = (tmp_path / "state" / "gas" / "submissions").iterdir()
    assert note.stat().st_mode & 0o077 == 0
    written = json.loads(note.read_text())
    assert (written["key"], written["endpoint"], written["job"]) == ("k", s3.url, 1)
    monkeypatch.setenv("XDG_STATE_HOME", str(note))  # not a directory
    result = submit(config, "--key", "l")
    assert (result.code, "XDG_STATE_HOME" in result.err) == (2, True)
    assert len(jobs_of(s3)) == 1
