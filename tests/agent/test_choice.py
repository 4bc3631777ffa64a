"""Planning with answers: instants are fixed once, and a deadline that is too early gets an answer."""

import time
from dataclasses import dataclass, replace

import pytest

from gas import Application, AvailabilityList
from gas.agent.choice import Task, why_nothing
from gas.agent.options import Instant, PlanOptions
from gas.endpoints import Answer, FileEndpoint
from gas.errors import BadInput, Infeasible, Unreachable
from gas.planner import Limits
from speedup_models import Amdahl, Constraint, Table


def answer(name, now, free, speed=1.0):
    one = AvailabilityList.of([now], [free], scheduler=name)
    return Answer(FileEndpoint(name, f"{name}.json"), one, None, 0.0, Limits(speed=speed))


BOTH = [answer("small", 100, 4), answer("large", 160, 8)]


def planned(options=PlanOptions(), answers=BOTH, remark=pytest.fail):  # noqa: B008  # frozen
    app = Application(Table.of({4: 100.0, 8: 60.0}), safety=1.0, name="app")
    return Task.of(app, answers, options, None, remark, pytest.fail).plan(answers)


def test_the_best_request_and_its_scheduler():
    found = planned()
    assert (found.best.scheduler, found.best.processors, found.best.start) == ("large", 8, 160)
    assert found.endpoint.name == "large"
    assert found.to_wire()["endpoints"] == [a.to_wire() for a in BOTH]


def test_it_shows_its_plan():
    found = planned()
    assert found.candidates == found.plan.candidates
    assert found.rejected == found.plan.rejected
    assert repr(found) == f"<Planned: {found.plan!r}, of 2 answers>"
    assert len(repr(found)) < 200


@dataclass(frozen=True)
class Unasked(FileEndpoint):
    unasked: str = "all of its nodes have GPUs, but the job requests none"


def unasked(name, now, free):
    return replace(answer(name, now, free), endpoint=Unasked(name, f"{name}.json"))


def test_what_is_not_chosen_unasked_is_left_out_and_what_it_would_gain_is_said():
    remarks = []
    found = planned(answers=[BOTH[0], unasked("gpu", 100, 8)], remark=remarks.append)
    assert [one.scheduler for one in found.candidates] == ["small"]
    assert remarks == [
        "gpu: left out: all of its nodes have GPUs, but the job requests none; 8 processors would finish there at "
        "1970-01-01T00:02:40Z (40s sooner): to take it, add -e gpu"
    ]
    assert planned(answers=[BOTH[0], unasked("gpu", 100, 4)]).best.scheduler == "small"  # no gain, so no message


def test_what_is_not_chosen_unasked_is_chosen_where_nothing_else_can_run_it():
    assert planned(answers=[answer("tiny", 100, 2), unasked("gpu", 100, 4)]).best.scheduler == "gpu"
    silent = Answer(FileEndpoint("x", "x"), None, Unreachable("x"), 0.0)
    assert planned(answers=[silent, unasked("gpu", 100, 4)]).best.scheduler == "gpu"


def test_the_speed_of_each_scheduler_counts():
    assert planned(answers=[answer("fast", 160, 4, speed=10), BOTH[1]]).best.scheduler == "fast"


def test_what_is_relative_is_so_to_the_latest_of_the_lists():
    assert planned(PlanOptions(not_before=Instant("+30s"))).best.start == 190
    assert planned(PlanOptions(not_before=200)).best.start == 200


def test_a_deadline_that_no_start_precedes_is_a_slip():
    with pytest.raises(BadInput, match=r"--deadline @160: is 1970-01-01T00:02:40Z.*\(now\); give a later deadline"):
        planned(PlanOptions(deadline=160))
    with pytest.raises(BadInput, match=r"\(--not-before @300\); give a later deadline or an earlier start"):
        planned(PlanOptions(deadline=200, not_before=300))


def test_a_time_of_today_that_has_passed_is_said_to_be_tomorrows():
    said = []
    planned(PlanOptions(deadline=Instant("0:00")), remark=said.append)
    assert [one.partition(": ")[2].partition("; ")[0] for one in said] == ["has passed today"]


def test_a_time_by_the_local_clock_is_repeated_with_its_offset_and_in_utc(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Stockholm")
    time.tzset()
    said = []
    try:
        planned(PlanOptions(deadline=Instant("tomorrow 9:00")), remark=said.append)
        planned(PlanOptions(deadline=Instant("+2h"), not_before=Instant("@200")), remark=pytest.fail)
        planned(PlanOptions(deadline=Instant("1970-01-02T08:00+00:00")), remark=pytest.fail)
    finally:
        monkeypatch.undo()
        time.tzset()
    meant = "is 1970-01-02T09:00:00+01:00 by the local clock, 1970-01-02T08:00:00Z in UTC"
    assert said == [f"--deadline tomorrow 9:00: {meant}"]


def test_unless_time_may_have_gone_by():
    found = planned(PlanOptions(deadline=160, deadline_may_have_passed=True))
    assert found.plan.best is None
    for look in (lambda: found.best, lambda: found.endpoint):
        with pytest.raises(Infeasible, match="app: no request is possible; 8 processors"):
            look()


def test_nobody_to_plan_with():
    silent = Answer(FileEndpoint("x", "x"), None, Unreachable("x"), 0.0)
    with pytest.raises(Unreachable, match="no scheduler answered"):
        planned(answers=[silent])


def test_why_nothing_names_the_nearest_of_each_kind():
    found = planned(PlanOptions(deadline=170)).plan
    assert why_nothing(found).startswith("app: no request is possible; 8 processors: ")
    assert why_nothing(found).endswith("(gas plan --all gives the reason for each size)")


def test_why_nothing_names_the_machine_that_is_smaller_than_the_smallest_size():
    app = Application(Amdahl(100.0, 0.1), constraint=Constraint("any", minimum=12), safety=1.0, name="app")
    found = Task.of(app, BOTH[1:], PlanOptions(), None, pytest.fail, pytest.fail).plan(BOTH[1:]).plan
    assert why_nothing(found) == ("app: no request is possible; 12 processors: the machine has only 8 processors")
