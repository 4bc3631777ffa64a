"""One submission makes one job: stale plans are made again, and a key goes to one scheduler."""

import time
from unittest.mock import Mock

import pytest
from made_endpoints import Queue, job

from gas import Agent, Application, AvailabilityList
from gas.agent import coallocating, submission
from gas.agent.options import Instant, PlanOptions, Run
from gas.endpoints import Endpoint, InDoubt, JobDescription
from gas.errors import BadInput, Conflict, Draining, OverLimit, StalePlan, Unreachable
from speedup_models import Table

RUN = Run(JobDescription("app", ("./app", "{processors}")))


class Site(Queue):
    """Accepts jobs, or does what `does` says instead, once each."""

    def __init__(self, name, free=8, does=()):
        self.name, self.address = name, f"site:{name}"
        self.free, self.does, self.sent, self.doubts, self.known = free, list(does), [], set(), {}
        self.moldable = False

    def availability(self):
        return AvailabilityList.of([int(time.time())], [self.free], scheduler=self.name, kind="estimate")

    def submit(self, request, job_, key=None):
        self.sent.append((request, job_, key))
        if self.does:
            error = self.does.pop(0)
            if isinstance(error, InDoubt):
                self.doubts.add(key)
            raise error
        self.known[key] = job(len(self.sent), "queued", processors=request.processors, walltime=request.walltime)
        return self.known[key]

    def job_by_key(self, key):
        return self.known.get(key)

    def in_doubt(self, key):
        return key in self.doubts


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(submission.time, "sleep", lambda seconds: None)


@pytest.fixture
def remarks():
    return []


@pytest.fixture
def agent(remarks):
    app = Application(Table.of({4: 100.0, 8: 60.0}), safety=1.0, name="app")
    return lambda *sites: Agent(app, sites, remark=remarks.append)


def test_the_request_is_the_best_with_one_percent_of_its_turnaround_to_spare(agent):
    site = Site("a")
    made = agent(site).submit(RUN)
    ((request, sent, key),) = site.sent
    best = made.planned.best
    assert (request.processors, request.walltime, request.start_by) == (8, 60, best.start + 1)
    assert (sent.command, sent.environment["GAS_PROCESSORS"]) == (("./app", "8"), "8")
    assert (key, made.scheduler, made.attempts) == (made.key, "a", 1)
    assert repr(made) == "<Submitted to a: job 1 (j1), 8 processors, walltime 1m00s: queued; no start is planned>"


def test_other_shapes_go_to_a_scheduler_that_chooses(agent):
    site = Site("a")
    site.moldable = True
    agent(site).submit(RUN)
    assert site.sent[0][0].alternatives == ((4, 100),)


def test_a_stale_plan_is_made_again(agent, remarks):
    site = Site("a", does=[StalePlan("moved"), StalePlan("moved")])
    assert agent(site).submit(RUN).attempts == 3
    assert remarks == [f"the plan went stale (moved); planning again, attempt {n} of 5" for n in (1, 2)]
    assert len({key for *_, key in site.sent}) == 1


class Passing(Site):
    """Its clock goes on by half a minute between two plans."""

    ahead = 0

    def availability(self):
        self.ahead += 30
        return AvailabilityList.of([int(time.time()) + self.ahead - 30], [self.free], scheduler=self.name)

    def identity(self):
        return self.name


@pytest.fixture
def soon():
    """Ten seconds from now, as a clock shows it: half a minute later, the next such time is that of tomorrow."""
    at = int(time.time()) + 10
    return at, Instant(time.strftime("%H:%M:%S", time.localtime(at)))


def test_a_time_of_day_stays_that_of_the_first_plan(agent, soon):
    site = Passing("a", does=[StalePlan("moved")])
    made = agent(site).submit(RUN, PlanOptions(not_before=soon[1], deadline=Instant("+1h")))
    assert [request.not_before for request, *_ in site.sent] == [soon[0]] * 2
    assert made.planned.deadline - 3600 < soon[0]


def test_nor_does_it_change_for_further_requests(agent, soon, tmp_path):
    sites = Passing("a"), Passing("b")
    agent(*sites).submit_redundantly(RUN, PlanOptions(not_before=soon[1]), shared=tmp_path)
    assert [request.not_before for site in sites for request, *_ in site.sent] == [soon[0]] * 2


def test_nor_between_two_plans_for_several_machines(agent, soon, monkeypatch):
    monkeypatch.setattr(coallocating, "Together", lambda plan, *_, **__: Mock(make=lambda: [plan({}), plan({})]))
    plans = agent(Passing("a")).submit_together(RUN, PlanOptions(not_before=soon[1]))
    assert [one.not_before for one in plans] == [soon[0]] * 2


def test_but_not_for_ever(agent):
    site = Site("a", does=[StalePlan("moved")] * 9)
    with pytest.raises(StalePlan, match="app: the schedule changed 5 times .*; nothing was submitted; try again"):
        agent(site).submit(RUN)
    assert len(site.sent) == 5


@pytest.mark.parametrize("refusal", [Draining("a: drains"), OverLimit("a: has enough of yours")])
def test_one_that_takes_nothing_is_planned_without(agent, remarks, refusal):
    a, b = Site("a"), Site("b", free=4)
    a.does = [refusal]
    assert agent(a, b).submit(RUN).scheduler == "b"
    assert remarks == [f"{refusal}; planning without it"]
    with pytest.raises(type(refusal)):
        agent(Site("a", does=[refusal])).submit(RUN)


def test_a_scheduler_that_may_have_taken_the_job_is_not_left_for_another(agent, tmp_path):
    a, b = Site("a", does=[InDoubt("a: does not answer", "k")]), Site("b", free=4)
    with pytest.raises(InDoubt, match="gas status --key k -e a shows it") as found:
        agent(a, b).submit(RUN, key="k")
    assert found.value.key == "k"
    assert b.sent == []
    with pytest.raises(Conflict, match="--key k: was sent to site:a before"):
        agent(b).submit(RUN, key="k")
    a.doubts.clear()
    assert agent(a, b).submit(RUN, key="k").scheduler == "a"


def test_a_job_of_the_key_is_found_on_any_scheduler(agent):
    a, b = Site("a"), Site("b", free=4)
    b.known["k"] = job(3, "running")
    made = agent(a, b).submit(RUN, key="k")
    assert (made.scheduler, made.job["id"], made.planned, a.sent, b.sent) == ("b", 3, None, [], [])
    assert made.reference == "3 -e b"


def test_a_list_takes_no_jobs(agent):
    class Listed(Endpoint):
        name, address, limits = "list", "list:", Site.limits
        availability = Site("list").availability

    with pytest.raises(BadInput, match="list: finishes first but accepts no jobs"):
        agent(Listed()).submit(RUN)


def test_an_ordinary_error_is_as_it_was(agent):
    with pytest.raises(Unreachable, match=r"^a: no route$"):
        agent(Site("a", does=[Unreachable("a: no route")])).submit(RUN)


def test_what_would_be_sent_can_be_seen(agent):
    site = Site("a")
    site.preview = lambda request, job_: f"submit {request.processors} {' '.join(job_.command)}"
    found = agent(site).prepare(RUN, PlanOptions(not_before=0))
    assert (found.preview, found.request.not_before, site.sent) == ("submit 8 ./app 8", 0, [])


def test_where_it_runs_by_default(agent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    site = Site("a")
    assert agent(site).prepare(RUN).job.directory is None
    site.is_local = True
    assert agent(site).prepare(RUN).job.directory == str(tmp_path)
    assert agent(site).prepare(Run(RUN.job, here=False)).job.directory is None
    assert agent(site).prepare(JobDescription("app", ("x",), directory="/data")).job.directory == "/data"


def test_a_simulated_job_runs_for_the_expected_time(agent):
    assert agent(Site("a")).prepare(Run(JobDescription("app"), simulate=True)).job.run_time == 60
