"""Planning in separate processes: the same answers, in turn, within a time limit; they end with the service."""

import asyncio
import contextlib
import json
import os
import pickle
import signal
import threading
from pathlib import Path

import pytest
from eventually import until
from service_process import Place, Service
from starlette.responses import JSONResponse

from documents.fields import FieldError
from gas import AvailabilityList, BadInput
from gas.errors import TooMany, Unreachable
from gas.service import planners
from gas.service.planners import Planners
from gas.service.planning import PlanBody, plan_for

PAPER = AvailabilityList.of([5, 6, 7, 10, 11], [5, 10, 20, 15, 40], processors=40, scheduler="paper")
TABLE = {"speedup": {"model": "table", "times": {"10": 5, "20": 3, "30": 2}}, "walltime": {"safety": 1}}
SLOW = {
    "application": {"speedup": {"model": "amdahl", "sequential_time": 90_000, "serial_fraction": 0}, "processors": {}},
    "algorithm": "walk",
}


def slow_list(frames=8_000):
    """A list on which the walk over all of its sizes takes a second or more."""
    return AvailabilityList.of(range(0, 10 * frames, 10), [1 + n % 2 for n in range(frames - 1)] + [2**14])


@pytest.fixture
def made():
    """Make planners, and stop them at the end."""
    with contextlib.ExitStack() as stack:

        def make(look=lambda: PAPER):
            found = Planners(look)
            stack.callback(found.stop)
            return found

        yield make


def children(pid):
    """Return the child processes of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


def planning(pid):
    """Return the planning processes of a service."""
    return [child for child in children(pid) if b"planners" in Path(f"/proc/{child}/cmdline").read_bytes()]


def alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_the_answer_is_that_of_planning_in_this_process_byte_for_byte(made):
    bodies = [
        PlanBody(application=TABLE, **more)
        for more in ({}, {"deadline": 9}, {"algorithm": "walk"}, {"not_before": 16, "tolerance": 0.2})
    ]
    bodies.append(PlanBody(application={**TABLE, "name": "σ <é>"}))
    expected = [JSONResponse(plan_for(body, PAPER)).body for body in bodies]
    ours = made()

    async def ask():
        return await asyncio.gather(*(ours.plan("alice", body) for body in bodies))

    assert asyncio.run(ask()) == expected


def test_errors_come_over_as_they_were_raised(made):
    ours = made()
    for tables in ({}, {"speedup": {"model": "fromfile"}}, {"speedup": {"model": "table", "times": {"0": 1}}}):
        body = PlanBody(application=tables)
        with pytest.raises((BadInput, FieldError)) as here:
            plan_for(body, PAPER)
        with pytest.raises(type(here.value)) as there:
            asyncio.run(ours.plan("alice", body))
        assert str(there.value) == str(here.value)


@pytest.mark.thorough
def test_a_plan_that_takes_too_long_is_ended_and_others_go_on(made, monkeypatch):
    lists = [slow_list()]
    ours = made(lambda: lists[-1])
    asyncio.run(ours.plan("alice", PlanBody(application=TABLE, deadline=1)))  # a process is there
    monkeypatch.setattr(planners, "PLAN_SECONDS", 0.2)
    tables = {**SLOW, "application": {**SLOW["application"], "processors": {"min": 2, "max": 2**14 - 1}}}
    with pytest.raises(BadInput, match=r"planning took longer than the limit of 0\.2 s; set a max.*`gas plan`"):
        asyncio.run(ours.plan("alice", PlanBody(**tables)))
    monkeypatch.undo()
    lists.append(PAPER)
    assert json.loads(asyncio.run(ours.plan("alice", PlanBody(application=TABLE))))["best"]["processors"] == 20


@pytest.mark.thorough
def test_a_process_that_was_ended_from_outside_is_replaced(made):
    ours = made()
    body = PlanBody(application=TABLE)
    first = asyncio.run(ours.plan("alice", body))
    (process,) = planning(os.getpid())
    os.kill(process, signal.SIGKILL)
    assert asyncio.run(ours.plan("alice", body)) == first
    assert planning(os.getpid()) != [process]


def test_without_processes_it_says_so(made, monkeypatch):
    monkeypatch.setattr("gas.service.aside.sys.executable", "/nowhere/python")
    with pytest.raises(Unreachable, match="no planning process can be started .*`gas plan`"):
        asyncio.run(made().plan("alice", PlanBody(application=TABLE)))
    monkeypatch.setattr("gas.service.aside.sys.executable", "/bin/false")
    with pytest.raises(Unreachable, match="the planning processes of the service have ended"):
        asyncio.run(made().plan("alice", PlanBody(application=TABLE)))


@pytest.mark.thorough
def test_one_user_waits_in_turn_and_only_so_often(made, monkeypatch):
    ours, body, order = made(), PlanBody(application=TABLE), []
    bobs, bob_is_done = PlanBody(application=TABLE, tolerance=0.5), threading.Event()
    plan = ours._plan

    def held_up(request):
        """Plan; alice's first plan only goes on when bob has his, whatever the machine runs first."""
        assert pickle.loads(request) == bobs or bob_is_done.wait(60), "he does not wait for hers"
        return plan(request)

    async def one(user, body):
        await ours.plan(user, body)
        order.append(user)

    async def ask():
        await asyncio.gather(ours.plan("carol", body), ours.plan("dave", body))  # so that all processes are there
        monkeypatch.setattr(ours, "_plan", held_up)
        plans = [asyncio.create_task(one("alice", body)) for _ in range(1 + planners.MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(TooMany, match="16 plans of alice are already waiting") as refused:
            await ours.plan("alice", body)
        assert refused.value.retry_after > 1
        await asyncio.gather(one("bob", bobs), one("bob", bobs))
        bob_is_done.set()
        await asyncio.gather(*plans)

    asyncio.run(ask())
    assert order == ["bob", "bob"] + ["alice"] * (1 + planners.MOST_WAITING)
    assert len(planning(os.getpid())) == planners.PROCESSES


def test_processes_start_with_the_first_plan_and_end_with_the_service(tmp_path):
    service = Service(Place(tmp_path), log=tmp_path / "log").ready()
    try:
        assert planning(service.pid) == []
        answer = service.request("POST", "/v1/plan", {"application": TABLE})
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "application/json"
        (process,) = planning(service.pid)
        assert os.getpriority(os.PRIO_PROCESS, process) > os.getpriority(os.PRIO_PROCESS, service.pid)
        service.process.terminate()
        until(lambda: not alive(process))
    finally:
        service.kill()


def test_processes_end_when_the_service_is_killed_even_if_they_were_held_up_then(tmp_path):
    service = Service(Place(tmp_path), log=tmp_path / "log", processors=2**14).ready()
    try:
        assert service.request("POST", "/v1/plan", {"application": TABLE}).status_code == 200
        (process,) = planning(service.pid)
        os.kill(process, signal.SIGSTOP)
        service.kill()
        os.kill(process, signal.SIGCONT)
        until(lambda: not alive(process))
    finally:
        service.kill()


def test_who_plans_while_the_service_stops_is_told_so(made):
    ours = made()
    ours.stop()
    with pytest.raises(Unreachable, match="the service is stopping"):
        asyncio.run(ours.plan("alice", PlanBody(application=TABLE)))
