"""One application on several real S³ services: all parts start together or none, whenever the client is killed."""

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import warm

from gas import Agent, Application
from gas.agent.holdings import abandoned
from gas.agent.options import PlanOptions, Run
from gas.agent.spreading import MOST_APART, Spread, other_clocks
from gas.availability import AvailabilityList
from gas.endpoints import Answer, InDoubt, JobDescription, S3Endpoint
from gas.endpoints.journal import state_directory
from gas.errors import BadInput, Conflict, Infeasible
from gas.service.clock import Clock
from speedup_models import Table

APP = Application(Table.of({4: 3000.0, 8: 60.0}), safety=1.0, name="app")
SPREAD = Spread(lead=3)
RUN = Run(JobDescription("app", ("sh", "-c", "echo $GAS_PROCESSORS $GAS_PART $GAS_PARTS $GAS_ALL_PROCESSORS")))
HELD = Run(JobDescription("app"), simulate=True)


@pytest.fixture
def sites(start_s3):
    """Two machines of 6 processors, 4 of which are free for an hour, and jobs of others that wait there."""
    found = [start_s3(6, name=name) for name in ("a", "b")]
    for site in found:
        site.simulated(2, 4000)
        site.simulated(6, 4000)
    return found


@pytest.fixture
def agent(sites):
    said = []
    made = Agent(APP, endpoints(sites), remark=said.append)
    made.said = said
    return made


def endpoints(sites):
    return [S3Endpoint(site.embedded.scheduler.name, site.url, retries=0, timeout=5, patience=1) for site in sites]


def of_others(sites):
    listed = [job for site in sites for job in site.get("/v1/jobs").json()["jobs"]]
    return [(job["id"], job["promise"], job["state"]) for job in listed if not job["name"].startswith("app")]


def parts(sites):
    """The reservations and jobs of the application that are in the schedules, by machine."""
    return [
        [(j["kind"], j["processors"]) for j in s.get("/v1/jobs").json()["jobs"] if j["name"].startswith("app")]
        for s in sites
    ]


def settled(sites):
    """Wait until the jobs of others that start at once run."""
    for site in sites:
        site.until(1, "running")
    return of_others(sites)


def test_both_parts_start_in_the_same_second_and_move_no_promise(sites, agent):
    before = settled(sites)
    made = agent.submit_together(RUN, spread=Spread(lead=6))  # long jobs, so that none has ended when they are listed
    assert [job.scheduler for job in made.jobs] == ["a", "b"]
    assert parts(sites) == [[("job", 4)], [("job", 4)]]
    assert of_others(sites) == before
    for site, job in zip(sites, made.jobs, strict=True):
        site.until(job.job["id"], "completed")
    done = [site.job(job.job["id"]) for site, job in zip(sites, made.jobs, strict=True)]
    assert done[0]["start"] == done[1]["start"] == made.planned.best.start
    output = [job.endpoint.output(job.job["id"]).decode() for job in made.jobs]
    assert output == ["4 0 2 8\n", "4 1 2 8\n"]
    assert of_others(sites) == before


def test_three_machines_take_part_where_that_is_allowed(start_s3):
    sites = [start_s3(3, name=name) for name in "abc"]
    made = Agent(APP, endpoints(sites)).submit_together(HELD, spread=Spread(3, lead=15))
    assert parts(sites) == [[("job", 3)], [("job", 3)], [("job", 2)]]
    assert len({job.job["promise"] for job in made.jobs}) == 1
    with pytest.raises(Infeasible, match="no combination of up to 2 machines has room for it either"):
        Agent(Application(Table.of({9: 5.0})), endpoints(sites)).plan_together(spread=SPREAD).best  # noqa: B018


def test_where_one_machine_is_as_good_one_job_is_submitted(start_s3):
    sites = [start_s3(8, name=name) for name in "ab"]
    made = Agent(APP, endpoints(sites)).submit_together(HELD, spread=SPREAD, key="mine")
    assert (len(made.jobs), parts(sites)) == (1, [[("job", 8)], []])
    sites[0].simulated(8, 10)  # now two machines would be chosen, or the other one
    again = Agent(APP, endpoints(sites)).submit_together(HELD, spread=SPREAD, key="mine")
    assert again.jobs[0].job["id"] == made.jobs[0].job["id"]
    assert parts(sites) == [[("job", 8)], []]


def test_a_machine_that_refuses_has_all_others_released_and_the_plan_made_anew(sites, agent):
    settled(sites)
    rivals = []

    def take_the_hole_of_the_second(planned):
        if not rivals:
            rivals.append(sites[1].simulated(4, 100, name="rival"))

    made = agent.submit_together(HELD, spread=SPREAD, before=take_the_hole_of_the_second)
    assert made.attempts == 2
    assert "nothing was reserved" in agent.said[0]
    assert agent.said[0].startswith("the plan went stale (b: 4 processors are not free")
    assert parts(sites) == [[("job", 4)], [("job", 4)]]
    assert [job.job["promise"] for job in made.jobs] == [rivals[0]["promise"] + 100] * 2
    assert sites[1].job(rivals[0]["id"])["promise"] == rivals[0]["promise"]


def test_a_machine_that_takes_nothing_from_the_user_is_planned_without(sites, agent):
    settled(sites)
    drained = []

    def drain(planned):
        if not drained:
            drained.append(sites[1].embedded.scheduler.drain())

    made = agent.submit_together(HELD, spread=SPREAD, before=drain)
    assert (len(made.jobs), made.planned.plan.left_out.keys()) == (1, {"b"})
    assert made.planned.plan.left_out["b"].startswith("b accepts no new jobs")
    assert agent.said[0].startswith("the plan went stale (b: b accepts no new jobs")
    assert parts(sites) == [[("job", 4)], []]


# ------------------------------------------------------------------------------------------------ what ends a client

KILLED = """
import os, signal, sys
from gas import Agent
from gas.endpoints import S3Endpoint
sys.path.insert(0, {tests!r})
from agent.test_coallocating import APP, HELD, Spread

original, calls = S3Endpoint.{method}, []

def ended(self, *arguments, **more):
    done = original(self, *arguments, **more)
    calls.append(done)
    if len(calls) == {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

S3Endpoint.{method} = ended
sites = [S3Endpoint(name, url) for name, url in {urls!r}]
Agent(APP, sites).submit_together(HELD, spread=Spread(lead={lead}), key={key!r})
"""


def killed(sites, method, after, key, lead=SPREAD.lead):
    """Submit in a process that is killed after a number of reservations or submissions."""
    urls = [(site.embedded.scheduler.name, site.url) for site in sites]
    tests = str(Path(__file__).parents[1])
    script = textwrap.dedent(KILLED).format(tests=tests, method=method, after=after, urls=urls, key=key, lead=lead)
    done = subprocess.run([sys.executable, warm.RUN, script], timeout=60, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(("method", "after"), [("reserve", 1), ("reserve", 2), ("submit", 1), ("submit", 2)])
def test_after_kill_9_the_same_key_leaves_one_whole_coallocation(sites, agent, method, after):
    before, spread = settled(sites), Spread(lead=15)  # time to find the remaining parts before they lapse
    killed(sites, method, after, "mine", spread.lead)
    assert sum(map(len, parts(sites))) == (1 if (method, after) == ("reserve", 1) else 2)
    made = agent.submit_together(HELD, spread=spread, key="mine")
    assert parts(sites) == [[("job", 4)], [("job", 4)]]
    assert len({job.job["promise"] for job in made.jobs}) == 1
    assert (made.planned is None) == (method == "submit")  # it continued where the other had ended
    assert of_others(sites) == before
    again = agent.submit_together(HELD, spread=spread, key="mine")
    assert [job.job["id"] for job in again.jobs] == [job.job["id"] for job in made.jobs]


def test_after_kill_9_without_a_key_the_next_call_releases_what_was_taken(sites, agent):
    before = settled(sites)
    killed(sites, "reserve", 1, None)
    assert len(abandoned()) == 1
    agent.submit_together(HELD, spread=SPREAD)
    assert "the reservations of an interrupted coallocation were released" in agent.said
    assert (parts(sites), abandoned()) == ([[("job", 4)], [("job", 4)]], [])
    assert list((state_directory() / "coallocations").iterdir()) == []
    assert of_others(sites) == before


@pytest.mark.thorough
def test_what_nobody_comes_back_to_lapses_at_the_common_start(sites):
    before = settled(sites)
    killed(sites, "reserve", 2, "lost")
    deadline = time.monotonic() + 10
    while any(parts(sites)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert of_others(sites) == before
    again = Agent(APP, endpoints(sites), remark=lambda text: None).submit_together(HELD, spread=SPREAD, key="lost")
    assert again.planned is not None
    assert parts(sites) == [[("job", 4)], [("job", 4)]]


@pytest.mark.thorough
def test_parts_that_started_without_the_others_are_cancelled_and_said(sites, agent):
    settled(sites)
    killed(sites, "submit", 1, "lost")
    sites[0].until(4, "running")
    sites[1].until(3, "cancelled")
    with pytest.raises(Conflict, match=r"lapsed .* job 4 on a had started without the other parts and was cancelled"):
        agent.submit_together(HELD, spread=SPREAD, key="lost")
    assert parts(sites) == [[], []]


def test_an_interruption_between_reservations_releases_them(sites, agent, monkeypatch):
    before, original = settled(sites), S3Endpoint.reserve

    def interrupted(self, *arguments, **more):
        if self.name == "b":
            raise KeyboardInterrupt
        return original(self, *arguments, **more)

    monkeypatch.setattr(S3Endpoint, "reserve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.submit_together(HELD, spread=SPREAD)
    assert (parts(sites), of_others(sites)) == ([[], []], before)


HUNG_UP = """
import os, pty, signal, sys
from gas.cli.main import main
from gas.endpoints import S3Endpoint

signal.signal(signal.SIGHUP, signal.{before})
original = S3Endpoint.reserve

def hung_up(self, *arguments, **more):
    done = original(self, *arguments, **more)
    terminal, end = pty.openpty()
    os.dup2(end, 2)
    os.close(terminal)
    for _ in range(2):  # by the terminal and by the shell
        os.kill(os.getpid(), signal.SIGHUP)
    return done

S3Endpoint.reserve = hung_up
main()
"""


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize(("before", "code"), [("SIG_DFL", 130), ("SIG_IGN", 0)])  # ignored under nohup
def test_a_terminal_that_closes_between_reservations_releases_them_unless_that_is_ignored(
    sites, tmp_path, before, code
):
    others = settled(sites)
    (tmp_path / "app.toml").write_text('name = "app"\n[speedup]\nmodel = "table"\ntimes = { 4 = 3000, 8 = 60 }\n')
    options = ["--coallocate", "--key", "mine", "--simulate", *(f"-e{site.url}" for site in sites)]
    program = HUNG_UP.format(before=before)
    command = [sys.executable, warm.RUN, program, "submit", str(tmp_path / "app.toml"), *options]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert parts(sites) == ([[("job", 4)], [("job", 4)]] if code == 0 else [[], []])
    assert of_others(sites) == others


def test_a_machine_that_is_gone_leaves_the_key_with_which_to_settle_it(sites, agent, monkeypatch):
    settled(sites)
    original = S3Endpoint.reserve

    def gone(self, *arguments, **more):
        if self.name == "b":
            sites[1].embedded.__exit__(None, None, None)
        return original(self, *arguments, **more)

    monkeypatch.setattr(S3Endpoint, "reserve", gone)
    with pytest.raises(InDoubt, match="not all parts could be released .* lapse at .* --key mine settles the rest"):
        agent.submit_together(HELD, spread=SPREAD, key="mine")
    assert parts(sites[:1]) == [[]]
    assert any(said.endswith("; trying again for 1 s") for said in agent.said), "what is waited for"


# ------------------------------------------------------------------------------------------- what a key belongs to


OTHER = Run(JobDescription("app", ("./other",)))


def test_a_key_of_a_coallocation_makes_no_job_of_one_machine_as_well(sites, agent):
    settled(sites)
    agent.submit_together(HELD, spread=SPREAD, key="mine")
    with pytest.raises(Conflict, match=r"--key mine: .* made jobs of 4 processors on a and 4 on b .* add --coallocate"):
        agent.submit(HELD, key="mine")
    assert parts(sites) == [[("job", 4)], [("job", 4)]]


@pytest.mark.parametrize(("method", "after"), [("reserve", 1), ("reserve", 2), ("submit", 1)])
def test_nor_while_an_interrupted_one_holds_something(sites, agent, method, after):
    settled(sites)
    killed(sites, method, after, "mine", 15)
    before = parts(sites)
    with pytest.raises(Conflict, match="--key mine: .* 4 processors on a and 4 on b"):
        agent.submit(HELD, key="mine")
    assert parts(sites) == before


def test_a_key_of_a_job_of_one_machine_makes_no_coallocation_as_well(sites, agent):
    settled(sites)
    made = agent.submit(HELD, key="mine")
    with pytest.raises(Conflict, match=f"--key mine: .* made job {made.job['id']} on a; leave --coallocate out"):
        agent.submit_together(HELD, spread=SPREAD, key="mine")
    assert parts(sites) == [[("job", 4)], []]


def test_a_key_with_which_nothing_was_made_is_free_for_either(sites, agent):
    settled(sites)
    with pytest.raises(Infeasible):
        agent.submit_together(HELD, PlanOptions(max_processor_hours=1e-6), SPREAD, key="mine")
    assert agent.submit(HELD, key="mine").planned is not None


def test_a_key_is_taken_from_the_plan_on(sites, agent):
    settled(sites)
    refusals = []

    def submitted_meanwhile(planned):
        with pytest.raises(Conflict, match="--key mine: belongs to a gas submit --coallocate"):
            agent.submit(HELD, key="mine")
        refusals.append(planned)

    agent.submit_together(HELD, spread=SPREAD, key="mine", before=submitted_meanwhile)
    assert (len(refusals), parts(sites)) == (1, [[("job", 4)], [("job", 4)]])


@pytest.mark.parametrize("after", [1, 2])
def test_another_program_is_not_taken_for_that_of_the_key(sites, agent, after):
    settled(sites)
    killed(sites, "submit", after, "mine")
    before = parts(sites)
    with pytest.raises(Conflict, match="--key mine: belongs to another application"):
        agent.submit_together(OTHER, spread=SPREAD, key="mine")
    slower = Agent(Application(Table.of({4: 3000.0, 8: 70.0}), safety=1.0, name="app"), agent.schedulers)
    with pytest.raises(Conflict, match="--key mine: belongs to another application"):
        slower.submit_together(HELD, spread=SPREAD, key="mine")
    assert parts(sites) == before
    assert agent.submit_together(HELD, spread=SPREAD, key="mine").planned is None


def test_nor_where_the_key_went_to_one_machine(start_s3):
    sites = [start_s3(8, name=name) for name in "ab"]
    found = Agent(APP, endpoints(sites))
    found.submit_together(HELD, spread=SPREAD, key="mine")
    with pytest.raises(Conflict, match="--key mine: belongs to another application"):
        found.submit_together(OTHER, spread=SPREAD, key="mine")


def test_a_part_that_was_cancelled_before_the_others_were_submitted_leaves_none_alone(sites, agent):
    settled(sites)
    killed(sites, "submit", 1, "mine")
    sites[0].delete("/v1/jobs/4")
    made = agent.submit_together(HELD, spread=SPREAD, key="mine")
    assert made.planned is not None
    assert any("a: job 4 is cancelled" in said for said in agent.said)
    assert parts(sites) == [[("job", 4)], [("job", 4)]]


# -------------------------------------------------------------------------------------------------------- refusals


def test_clocks_that_are_apart_do_not_start_together(start_s3):
    sites = [start_s3(4, name="a"), start_s3(4, name="b", clock_speed=1000.0)]
    time.sleep(0.1)
    planned = Agent(APP, endpoints(sites)).plan_together(spread=SPREAD)
    assert list(planned.plan.left_out) == ["b"]
    assert repr(planned).startswith("<PlannedTogether of app: 4 processors on a (coallocation needs two or more")
    assert f"ahead of that of a; parts start together within {MOST_APART} s" in planned.plan.left_out["b"]


@pytest.mark.parametrize(("off", "said"), [(3630, "1h00m ahead of"), (-3630, "1h00m behind")])
def test_one_clock_that_is_off_excludes_its_own_machine_only(start_s3, off, said):
    wrong = start_s3(4, name="wrong", clock=Clock(real=lambda: time.time() + off))
    sites = [wrong, start_s3(4, name="a"), start_s3(4, name="b")]
    made = Agent(APP, endpoints(sites)).submit_together(HELD, spread=SPREAD)
    assert parts(sites) == [[], [("job", 4)], [("job", 4)]]
    assert abs(made.planned.best.start - SPREAD.lead - time.time()) < 30
    assert f"its clock is {said} those of 2 others" in made.planned.plan.left_out["wrong"]


def test_the_largest_group_of_clocks_that_agree_stays():
    assert set(left_out_at(0, 0, 0)) == set(left_out_at(0, 3, 5)) == set()
    assert set(left_out_at(0, 6, 7, 8)) == {"0"}
    assert set(left_out_at(9, 4, 0, 100)) == {"2", "3"}
    assert set(left_out_at(50, 51, 0, 1)) == {"2", "3"}  # of two, that of the machine named first
    assert "1m40s ahead of those of 2 others" in left_out_at(0, 0, 100)["2"]


def test_a_list_that_took_long_to_come_is_not_that_of_a_slow_clock():
    assert left_out_at(0, -20, arrived=(100.0, 80.0)) == {}


def left_out_at(*clocks, arrived=None):
    """Return why machines get no part, given their clocks and the arrival of their lists."""
    answers = []
    for place, (clock, at) in enumerate(zip(clocks, arrived or [0.0] * len(clocks), strict=True)):
        free = AvailabilityList(str(place), "promise", 1000 + clock, 4, "", [1000 + clock], [4])
        answers.append(Answer(S3Endpoint(str(place), "http://127.0.0.1:9"), free, None, 0.0, at=at))
    return other_clocks(answers)


def test_a_scheduler_under_two_addresses_takes_part_once(start_s3):
    sites = [start_s3(6, name="a"), start_s3(6, name="b")]
    for site in sites:
        site.simulated(2, 4000)
        site.simulated(6, 4000)
    again = S3Endpoint("again", sites[0].url.replace("127.0.0.1", "localhost"))
    twice = Agent(APP, [*endpoints(sites[:1]), again]).plan_together(spread=SPREAD)
    assert (len(twice.best.parts), list(twice.plan.left_out)) == (1, ["again"])
    assert f"it is a ({sites[0].url}) under another address" in twice.plan.left_out["again"]
    made = Agent(APP, [*endpoints(sites[:1]), again, *endpoints(sites[1:])]).submit_together(HELD, spread=SPREAD)
    assert [job.scheduler for job in made.jobs] == ["a", "b"]


def test_a_key_knows_the_machines_of_its_parts_under_other_addresses(sites, agent):
    settled(sites)
    killed(sites, "submit", 1, "mine")
    moved = [S3Endpoint(site.embedded.scheduler.name, site.url.replace("127.0.0.1", "localhost")) for site in sites]
    made = Agent(APP, moved, remark=agent.said.append).submit_together(HELD, spread=SPREAD, key="mine")
    assert (made.planned, parts(sites)) == (None, [[("job", 4)], [("job", 4)]])
    with pytest.raises(Conflict, match="has taken processors on b .* give that scheduler too"):
        Agent(APP, moved[:1]).submit_together(HELD, spread=SPREAD, key="mine")


def test_what_knows_one_machine_only_is_refused(agent):
    with pytest.raises(BadInput, match="--probe: applies to one machine only"):
        agent.plan_together(PlanOptions(probes=1))
    with pytest.raises(BadInput, match="class short: parts of a coallocation"):
        agent.submit_together(Run(JobDescription("app", ("true",), job_class="short")))
