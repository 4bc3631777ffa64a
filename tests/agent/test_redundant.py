"""One job in the queues of several real S³ services: it runs once, where it starts first."""

import os
import shutil
import time

import pytest

from gas import Agent, Application
from gas.agent.claims import KEPT, Claim
from gas.agent.options import Run
from gas.agent.redundant import Redundant
from gas.endpoints import JobDescription, S3Endpoint
from gas.endpoints.journal import state_directory
from gas.errors import BadInput, Conflict, Unreachable
from speedup_models import Table

APP = Application(Table.of({4: 3000.0, 6: 60.0}), safety=1.0, name="app")
HOUR = 3600


@pytest.fixture
def sites(start_s3):
    """Two machines of 6 processors, all held by other jobs, on the second machine for longer."""
    found = [start_s3(6, name=name) for name in ("a", "b")]
    for site, held in zip(found, (HOUR, 2 * HOUR), strict=True):
        site.simulated(6, held)
    for site in found:
        site.until(1, "running")
    return found


@pytest.fixture
def agent(sites):
    said = []
    made = Agent(APP, endpoints(sites), remark=said.append)
    made.said = said
    return made


@pytest.fixture
def task(tmp_path):
    """A command that leaves a line."""
    return Run(JobDescription("app", ("sh", "-c", f"echo $GAS_PROCESSORS >> {tmp_path / 'ran'}")))


def endpoints(sites):
    return [S3Endpoint(site.embedded.scheduler.name, site.url, retries=0, timeout=5, patience=1) for site in sites]


def jobs(sites):
    return [
        [(job["processors"], job["state"]) for job in site.get("/v1/jobs").json()["jobs"] if job["name"] == "app"]
        for site in sites
    ]


def ignored(*_):
    pass


def test_each_machine_gets_a_request_and_the_first_to_start_runs(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]
    assert [one.scheduler for one in made.jobs] == ["a", "b"]  # the plan's first
    assert made.winner is None
    sites[1].delete("/v1/jobs/1")
    withdrawn = []
    won = made.settle(lambda one, job: withdrawn.append((one.scheduler, job["state"])), agent.said.append)
    assert won.scheduler == "b"
    assert withdrawn == [("a", "cancelled")]
    sites[1].until(won.job["id"], "completed")
    assert (tmp_path / "ran").read_text() == "6\n"
    assert agent.said == []


def test_without_anybody_to_withdraw_it_the_second_job_runs_nothing(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    for site in sites:
        site.delete("/v1/jobs/1")
    for site, one in zip(sites, made.jobs, strict=True):
        site.until(one.job["id"], "completed")
    assert (tmp_path / "ran").read_text() == "6\n"
    outputs = [
        one.endpoint.output(one.job["id"], "stdout", 1000).decode() for one in made.jobs if one is not made.winner
    ]
    assert [output.endswith("has started; nothing was run\n") for output in outputs] == [True]


def test_further_requests_do_not_run_longer_than_the_first(start_s3, tmp_path, task):
    sites = [start_s3(6, name="a"), start_s3(5, name="b")]  # on b only 4 processors are possible, for 3000 s
    for site in sites:
        site.simulated(site.embedded.scheduler.processors, HOUR)
        site.until(1, "running")
    said = []
    made = Agent(APP, endpoints(sites), remark=said.append).submit_redundantly(task, shared=tmp_path)
    assert jobs(sites) == [[(6, "queued")], []]
    assert len(made.jobs) == 1
    assert said == ["b: gets no request: no size that is possible there runs within 1m00s, as the first request does"]


def test_a_job_that_starts_at_once_stays_alone(start_s3, tmp_path, task):
    sites = [start_s3(6, name=name) for name in ("a", "b")]
    made = Agent(APP, endpoints(sites)).submit_redundantly(task, shared=tmp_path)
    assert [one.scheduler for one in made.jobs] == ["a"]
    assert made.settle(ignored, ignored).scheduler == "a"
    assert jobs(sites)[1] == []


def test_the_same_key_submits_once_to_each_machine(sites, agent, task, tmp_path):
    first = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    again = Agent(APP, endpoints(sites)).submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert [one.job["id"] for one in again.jobs] == [one.job["id"] for one in first.jobs] == [2, 2]
    assert (first.planned is None, again.planned is None) == (False, True)
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]


def test_after_a_crash_between_two_submissions_the_same_key_completes_it(sites, agent, task, tmp_path, monkeypatch):
    def crash(*_, **__):
        raise KeyboardInterrupt

    agent.said.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Redundant, "_further", crash)
        with pytest.raises(KeyboardInterrupt):
            agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert jobs(sites) == [[(6, "queued")], []]
    assert agent.said == ["submitted: job 2 -e a; the same command with --key k continues"]
    both = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert [one.scheduler for one in both.jobs] == ["a", "b"]
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), MemoryError()])
def test_whatever_happens_after_the_first_submission_the_job_is_named(
    sites, agent, task, tmp_path, monkeypatch, problem
):
    submit = S3Endpoint.submit

    def down(self):
        raise problem

    def submit_then_down(self, request, job, key=None):
        made = submit(self, request, job, key)
        monkeypatch.setattr(S3Endpoint, "identity", down)
        return made

    monkeypatch.setattr(S3Endpoint, "submit", submit_then_down)
    with pytest.raises(type(problem)):
        agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert agent.said == ["submitted: job 2 -e a; the same command with --key k continues"]


def test_once_one_has_started_the_same_key_submits_nothing_more(sites, agent, task, tmp_path):
    only = Agent(APP, endpoints(sites)[:1], remark=ignored)
    made = only.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    sites[0].delete("/v1/jobs/1")
    sites[0].until(made.jobs[0].job["id"], "completed")
    again = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert [one.scheduler for one in again.jobs] == ["a"]
    assert jobs(sites)[1] == []


def test_if_all_jobs_end_without_running_the_command_that_is_an_error(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    for site, one in zip(sites, made.jobs, strict=True):
        site.delete(f"/v1/jobs/{one.job['id']}")
    with pytest.raises(Conflict, match=r"none of the jobs ran the command: job 2 -e \S+ is cancelled, job 2"):
        made.settle(ignored, ignored)


def test_a_key_of_an_ordinary_job_is_refused(sites, agent, task, tmp_path):
    agent.submit(task, key="k")
    with pytest.raises(Conflict, match="belongs to a gas submit without --redundant; leave --redundant out"):
        agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert not (tmp_path / "shared").exists()


def test_a_key_of_redundant_requests_is_refused_for_anything_else(sites, agent, task, tmp_path):
    agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    with pytest.raises(Conflict, match="belongs to a gas submit --redundant; add --redundant"):
        agent.submit(task, key="k")
    with pytest.raises(Conflict, match=rf"a gas submit --redundant with --shared {tmp_path}/shared; add that"):
        agent.submit_redundantly(task, key="k", shared=tmp_path / "other")
    with pytest.raises(Conflict, match=r"--key k: belongs to job 2, which runs another command \(sh -c 'echo"):
        agent.submit_redundantly(["true"], key="k", shared=tmp_path / "shared")
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]


def test_a_scheduler_that_may_have_a_job_has_to_be_named_again(sites, agent, task, tmp_path):
    agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    with pytest.raises(Conflict, match=f"--key k: was also sent to {sites[1].url} before, where a job may wait"):
        Agent(APP, endpoints(sites[:1])).submit_redundantly(task, key="k", shared=tmp_path / "shared")


def test_under_other_addresses_a_machine_keeps_its_job(sites, agent, task, tmp_path):
    """Its job took the claim under a name derived from its address, so the winner was not recognized."""
    agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    others = [
        S3Endpoint(one.name, one.address.replace("127.0.0.1", "localhost"), retries=0) for one in endpoints(sites)
    ]
    made = Agent(APP, others).submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]
    sites[1].delete("/v1/jobs/1")
    assert made.settle(ignored, ignored).scheduler == "b"


@pytest.mark.parametrize("runs", [0, 1])
def test_with_another_token_in_the_configuration_the_job_that_runs_is_not_withdrawn(
    sites, agent, tmp_path, monkeypatch, runs
):
    """The identity of a slurmrestd includes the source of its token; the winner was not recognized, and cancelled."""
    task = Run(JobDescription("app", ("sleep", "600")))
    agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    sites[runs].delete("/v1/jobs/1")
    sites[runs].until(2, "running")
    monkeypatch.setattr(S3Endpoint, "identity", lambda self: f"{self.address} token_file")
    again = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert again.settle(ignored, ignored).scheduler == "ab"[runs]
    assert jobs(sites) == [[(6, "running")], []][:: 1 - 2 * runs]


def test_a_winner_of_an_unknown_name_is_not_withdrawn(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    (made.claim.folder / "winner").write_text("0123456789abcdef\n")
    with pytest.raises(Conflict, match="under an unknown name, 0123456789abcdef; nothing was withdrawn; use the sched"):
        made.settle(ignored, ignored)
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]


def test_a_claim_that_was_deleted_is_not_made_again(sites, agent, task, tmp_path):
    """The job that waits would take the new one, and run what another has run already."""
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    sites[0].delete("/v1/jobs/1")
    sites[0].until(made.jobs[0].job["id"], "completed")
    shutil.rmtree(tmp_path / "shared")
    with pytest.raises(Conflict, match="of its jobs is gone, so those that still wait run nothing, such as job 2 -e"):
        agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    sites[1].delete("/v1/jobs/1")
    sites[1].until(made.jobs[1].job["id"], "failed")
    assert (tmp_path / "ran").read_text() == "6\n"


def test_without_its_claim_a_job_that_waits_is_no_success(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    shutil.rmtree(tmp_path / "shared")
    for site in sites:
        site.delete("/v1/jobs/1")
    for site in sites:
        site.until(2, "failed")
    with pytest.raises(Conflict, match="is gone, without which no job runs the command: job 2 .*; use another key"):
        made.settle(ignored, ignored)


def test_that_a_claim_is_gone_is_said_while_its_jobs_still_wait(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    shutil.rmtree(tmp_path / "shared")
    first, second = (one.reference for one in made.jobs)
    with pytest.raises(Conflict, match="; gas cancel .*use another key") as error:
        made.settle(ignored, ignored)
    assert str(error.value).endswith(f"; gas cancel {first}, gas cancel {second}, and use another key")


def test_a_claim_of_last_year_is_deleted_by_the_next_submission(sites, agent, task, tmp_path):
    old = Claim.of(tmp_path / "shared", "old")
    old.make()
    os.utime(old.folder, (0, time.time() - KEPT - 60))
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert list((tmp_path / "shared").iterdir()) == [made.claim.folder]


def test_the_way_out_of_doubt_names_the_key_of_the_user(sites, agent, task, tmp_path, monkeypatch):
    """With the key of the further request, the command would run in a job without the claim."""
    submit = S3Endpoint.submit

    def lose(self, request, job, key=None):
        made = submit(self, request, job, key)
        if self.name == "b":
            self._doubtful.add(key)
            raise Unreachable("b: no answer")
        return made

    with monkeypatch.context() as patch:
        patch.setattr(S3Endpoint, "submit", lose)
        made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert [one.scheduler for one in made.jobs] == ["a"]
    assert len(agent.said) == 1
    assert "the same gas submit with --key k submits it if it does not" in agent.said[0]
    assert agent.said[0].endswith("if a job is there, it runs nothing once another has started")
    sites[1].delete("/v1/jobs/1")
    sites[1].until(2, "completed")
    withdrawn = []
    with pytest.raises(Conflict, match=f"in the job on {sites[1].url}, which did not answer"):
        made.settle(lambda one, job: withdrawn.append(one.scheduler), ignored)
    assert withdrawn == ["a"]
    again = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert again.settle(ignored, ignored).scheduler == "b"


def test_a_refusal_is_no_doubt(sites, agent, task, tmp_path):
    endpoints(sites)[1].change_machine(accepting=False)
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    assert (len(made.jobs), made.silent, made.waits) == (1, {}, False)
    assert len(agent.said) == 1
    assert agent.said[0].startswith("b: gets no request: ")


def test_a_key_whose_command_has_run_is_refused_although_its_jobs_are_forgotten(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    earlier = Claim.of(tmp_path / "shared", "k")
    made.claim.folder.rename(earlier.folder)
    (earlier.folder / "winner").write_text("a")
    with pytest.raises(Conflict, match="--key k: its command has run already"):
        agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]


def test_a_scheduler_that_is_down_is_left_out(sites, agent, task, tmp_path):
    down = S3Endpoint("c", "http://127.0.0.1:1", retries=0, timeout=5, patience=1)
    three = Agent(APP, [down, *endpoints(sites)], remark=agent.said.append)
    made = three.submit_redundantly(task, shared=tmp_path / "shared")
    assert [one.scheduler for one in made.jobs] == ["a", "b"]
    assert agent.said[-1].startswith("c: gets no request: ")
    made = agent.submit_redundantly(task, key=made.key, shared=tmp_path / "shared")
    assert [one.job["id"] for one in made.jobs] == [2, 2]


def test_a_scheduler_that_is_restarted_is_asked_again(sites, agent, task, tmp_path, monkeypatch):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    answers = iter([Unreachable("a: down")])
    job = S3Endpoint.job

    def first_down(self, id):
        for error in answers:
            raise error
        return job(self, id)

    monkeypatch.setattr(S3Endpoint, "job", first_down)
    for one in made.jobs:
        one.endpoint.cancel(2)
    said = []
    with pytest.raises(Conflict, match="none of the jobs ran the command"):
        made.settle(ignored, said.append)
    assert said[0] == "a: down; asking again"


def test_a_scheduler_that_stays_down_does_not_end_the_wait_for_the_others(sites, agent, task, tmp_path, monkeypatch):
    """The claim shows who has started; after half an hour the command gave up, and left the others in the queues."""
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")
    job, asked = S3Endpoint.job, []

    def first_down(self, id):
        asked.append(self.name)
        if asked.count("b") > 2 and made.winner is None:
            sites[1].delete("/v1/jobs/1")
            sites[1].until(2, "completed")
        if self.name == "a":
            raise Unreachable("a: down")
        return job(self, id)

    monkeypatch.setattr(S3Endpoint, "job", first_down)
    said = []
    assert made.settle(ignored, said.append, patience=0).scheduler == "b"
    assert said[-1].startswith("a: down; job 2 -e a was not withdrawn; it would run nothing")


def test_if_no_scheduler_answers_any_more_the_key_is_the_way_out(sites, agent, task, tmp_path, monkeypatch):
    made = agent.submit_redundantly(task, key="k", shared=tmp_path / "shared")

    def down(self, id):
        raise Unreachable(f"{self.name}: down")

    monkeypatch.setattr(S3Endpoint, "job", down)
    with pytest.raises(Unreachable, match=r"^a: down; its job may .* --key k asks again$"):
        made.settle(ignored, ignored, patience=0)


def test_one_machine_under_two_addresses_gets_one_request(sites, task, tmp_path):
    url = sites[0].url
    hosts = {"a": "127.0.0.1", "c": "localhost"}
    both = [S3Endpoint(name, url.replace("127.0.0.1", host), retries=0) for name, host in hosts.items()]
    made = Agent(APP, both).submit_redundantly(task, shared=tmp_path)
    assert len(made.jobs) == 1


def test_a_further_machine_under_two_addresses_gets_one_request(sites, task, tmp_path):
    named = endpoints(sites)
    named.append(S3Endpoint("c", sites[1].url.replace("127.0.0.1", "localhost"), retries=0))
    made = Agent(APP, named).submit_redundantly(task, shared=tmp_path)
    assert [one.scheduler for one in made.jobs] == ["a", "b"]
    assert jobs(sites) == [[(6, "queued")], [(6, "queued")]]


def test_the_folder_of_the_claims_may_have_any_name(sites, agent, tmp_path):
    task = Run(JobDescription("app", ("echo", "{processors} {{gpus}}")))
    made = agent.submit_redundantly(task, shared=tmp_path / 'it\'s {gpus} {a} $HOME `id` "für"\nall')
    sites[1].delete("/v1/jobs/1")
    won = made.settle(ignored, agent.said.append)
    sites[1].until(won.job["id"], "completed")
    assert won.endpoint.output(won.job["id"], "stdout", 1000) == b"6 {gpus}\n"


def test_a_job_that_ends_without_the_claim_is_reported_while_others_wait(sites, agent, task, tmp_path):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")
    sites[1].delete("/v1/jobs/2")
    said = []

    def remark(text):
        said.append(text)
        sites[0].delete("/v1/jobs/1")

    assert made.settle(ignored, remark).scheduler == "a"
    assert said == ["job 2 -e b is cancelled and has not run the command; waiting for the others"]


def test_a_job_that_cannot_be_withdrawn_is_named(sites, agent, task, tmp_path, monkeypatch):
    made = agent.submit_redundantly(task, shared=tmp_path / "shared")

    def down(self, id):
        raise Unreachable("a: down")

    monkeypatch.setattr(S3Endpoint, "cancel", down)
    sites[1].delete("/v1/jobs/1")
    assert made.settle(ignored, agent.said.append).scheduler == "b"
    assert agent.said == [
        "a: down; job 2 -e a was not withdrawn; it would run nothing, but waits until gas cancel 2 -e a"
    ]


def test_nothing_to_run_is_refused(sites, agent, tmp_path):
    with pytest.raises(BadInput, match="need a command or a job script"):
        agent.submit_redundantly(Run(JobDescription("app"), simulate=True), shared=tmp_path)


def test_by_default_claims_are_in_the_folder_of_the_users_state(sites, agent, task):
    assert agent.submit_redundantly(task).claim.folder.parent == state_directory() / "claims"
