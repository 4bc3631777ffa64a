"""Coallocation against a brute force over every second, set of machines and share; its messages and refusals."""

from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TODAY, availability_lists, constraints, models
from thorough import examples

from gas import Application, AvailabilityList, BadInput, Limits
from gas.agent.options import PlanOptions
from gas.agent.spreading import Spread, planned_together
from gas.application import Requests
from gas.availability import NodeAvailability, Spans
from gas.coallocation import COST, coallocate, earliest_together, together
from gas.compiled import available, compiled
from gas.endpoints import Answer, FileEndpoint
from gas.errors import Unreachable
from gas.s3 import S3, Machine
from speedup_models import Amdahl, Constraint, Table

# ------------------------------------------------------------------------------------------------ the brute force


@dataclass
class Question:
    application: Application
    lists: list[AvailabilityList]
    most: int
    cost: float
    lead: int = 0
    deadline: int | None = None
    limits: dict[str, Limits] = field(default_factory=dict)

    def answer(self):
        return coallocate(
            self.application,
            self.lists,
            most=self.most,
            cost=self.cost,
            lead=self.lead,
            deadline=self.deadline,
            limits=self.limits,
        )

    def limits_of(self, one):
        return self.limits.get(one.scheduler, Limits())

    @property
    def first(self):
        return max(one.now for one in self.lists) + self.lead


def free_throughout(one, start, end):
    """Return the processors that stay free in each second of a span; frames are half-open, the last one is endless."""
    seconds = {start, *(s for s in one.starts.tolist() if start <= s < end)}
    return min(int(one.free[np.searchsorted(one.starts, second, "right") - 1]) for second in seconds)


def tries(question):
    """Yield (finish, machines, processors, start) of every possible coallocation."""
    app, last = question.application, max(int(one.starts[-1]) for one in question.lists)
    for count in range(2, question.most + 1):
        for those in combinations(question.lists, count):
            speed = min(question.limits_of(one).speed for one in those)
            for total in app.sizes(sum(one.processors for one in those)).tolist():
                time = int(app.execution_times(np.array([total]), speed / question.cost)[0])
                walltime = int(app.walltimes(np.array([time]))[0])
                if time == 0 or any(walltime > (question.limits_of(one).max_walltime or 10**9) for one in those):
                    continue
                for start in range(question.first, max(question.first, last) + 1):
                    most = [
                        min(free_throughout(one, start, start + walltime), question.limits_of(one).max_processors or 99)
                        for one in those
                    ]
                    if any(sum(parts) == total for parts in product(*(range(1, each + 1) for each in most))):
                        yield start + time, count, total, start
                        break  # of this size on these machines, later ones finish later


@st.composite
def questions(draw):
    count = draw(st.integers(2, 3))
    origin = draw(st.sampled_from([0, TODAY]))
    begin = st.integers(origin, origin + 6)
    lists = [draw(availability_lists(f"m{i}", most_processors=4, most_frames=5, first=begin)) for i in range(count)]
    limits = {
        one.scheduler: Limits(
            draw(st.sampled_from([None, None, 1, 3])), draw(st.sampled_from([None, None, 6])), draw(speeds)
        )
        for one in lists
    }
    deadline = draw(st.sampled_from([None, None, origin + 15]))
    app = Application(draw(models(8)), draw(constraints(8)), draw(st.sampled_from([1.0, 1.5])))
    cost = draw(st.sampled_from([1.0, COST, 2.0]))
    return Question(app, lists, draw(st.integers(2, count)), cost, draw(st.sampled_from([0, 3])), deadline, limits)


speeds = st.sampled_from([1.0, 1.0, 0.5, 2.0])


@examples(600)
@given(questions())
def test_it_is_what_trying_every_second_set_and_share_finds(question):
    found = question.answer()
    single, deadline = found.single.best, question.deadline
    best = min((one for one in tries(question) if deadline is None or one[0] <= deadline), default=None)
    if best is None or (single is not None and single.finish <= best[0]):
        assert found.combinations == []
        assert (found.best is None) == (single is None)
    else:
        chosen = found.best
        assert (chosen.finish, len(chosen.parts), chosen.processors, chosen.start) == best


@examples(300)
@given(questions())
def test_its_parts_are_free_start_together_and_keep_the_constraint_and_all_limits(question):
    lists = {one.scheduler: one for one in question.lists}
    for found in question.answer().combinations:
        assert 2 <= len(found.parts) <= question.most
        assert len({part.scheduler for part in found.parts}) == len(found.parts)
        assert {(part.start, part.walltime, part.execution_time) for part in found.parts} == {
            (found.start, found.walltime, found.execution_time)
        }
        assert question.application.permits(found.processors)
        assert found.start >= question.first
        slowest = min(question.limits[part.scheduler].speed for part in found.parts)
        times = question.application.execution_times(np.array([found.processors]), slowest / question.cost)
        assert found.execution_time == times[0]
        for part in found.parts:
            assert (
                1 <= part.processors <= free_throughout(lists[part.scheduler], part.start, part.start + part.walltime)
            )
            limits = question.limits[part.scheduler]
            assert part.processors <= (limits.max_processors or part.processors)
            assert part.walltime <= (limits.max_walltime or part.walltime)


@pytest.mark.skipif(not available(), reason="numba is not installed")
def test_machine_code_finds_the_same():
    lists = [machine("a", [(0, 3), (5, 0), (9, 4)]), machine("b", [(0, 1), (4, 4), (7, 2), (12, 4)])]
    requests = Application(Table.of({n: 24.0 / n for n in range(1, 9)})).requests(8)
    plain = together(requests, lists, 0)
    compiled(earliest_together)
    assert together(requests, lists, 0) == plain != []


# ------------------------------------------------------------------------------------------------------ by example


def machine(name, frames, processors=None, kind="promise"):
    starts, free = zip(*frames, strict=True)
    return AvailabilityList.of(starts, free, processors=processors or max(free), scheduler=name, kind=kind)


APP = Application(Table.of({4: 100.0, 8: 40.0, 16: 20.0}), safety=1.0, name="app")


def test_two_half_free_machines_run_what_neither_can_now():
    found = coallocate(APP, [machine("a", [(0, 4), (500, 8)]), machine("b", [(0, 4), (500, 8)])])
    assert [(part.scheduler, part.processors, part.start) for part in found.best.parts] == [("a", 4, 0), ("b", 4, 0)]
    assert found.best.execution_time == 50  # 40 s, and a quarter for the boundary
    assert found.best.size_text == "4 processors on a and 4 on b"
    assert found.why == "50s sooner than on one machine: 4 processors on a would start now and finish in 1m40s"


def test_a_single_machine_is_taken_where_it_finishes_as_soon():
    found = coallocate(APP, [machine("a", [(0, 8)]), machine("b", [(0, 8)])], cost=2)
    assert found.combinations == []
    assert [part.scheduler for part in found.best.parts] == ["a"]
    assert found.why == "no combination of up to 2 machines finishes sooner than a alone"


@pytest.mark.parametrize(("alone", "parts"), [(79.0, 2), (80.0, 1)])  # 99 s and 100 s together
def test_one_second_sooner_is_enough_and_a_tie_is_not(alone, parts):
    app = Application(Table.of({4: 100.0, 8: alone}), safety=1.0)
    assert len(coallocate(app, [machine("a", [(0, 4)], 8), machine("b", [(0, 4)], 8)]).best.parts) == parts


def test_the_slowest_machine_that_takes_part_decides():
    lists = [machine("a", [(0, 4)], 8), machine("b", [(0, 4)], 8)]
    found = coallocate(APP, lists, cost=1, limits={"b": Limits(speed=0.5)})
    assert found.best.execution_time == 80
    assert coallocate(APP, lists, cost=1.3, limits={"b": Limits(speed=0.5)}).combinations == []  # 104 s


def test_no_more_machines_than_allowed_take_part():
    lists = [machine(name, [(0, 3)], 8) for name in "abc"]
    assert coallocate(APP, lists).best.processors == 4
    assert [part.processors for part in coallocate(APP, lists, most=3).best.parts] == [3, 3, 2]


def test_of_combinations_that_finish_at_once_the_one_on_fewer_machines_is_best():
    lists = [machine("a", [(0, 2), (20, 3)]), machine("b", [(0, 1), (20, 2)]), machine("c", [(0, 1)])]
    app = Application(Table.of({4: 60.0, 5: 40.0}), safety=1.0)
    found = coallocate(app, lists, most=3, cost=1)
    assert [(one.finish, len(one.parts), one.processors) for one in found.combinations] == [(60, 2, 5), (60, 3, 4)]


def test_a_common_start_waits_for_the_last_part_and_for_the_time_that_reserving_takes():
    lists = [machine("a", [(0, 0), (10, 4)], 8), machine("b", [(0, 4), (5, 0), (20, 4)], 8)]
    assert coallocate(APP, lists).best.start == 20
    assert coallocate(APP, lists, lead=30).best.start == 30


def test_only_machines_that_promise_take_part():
    lists = [machine("a", [(0, 4)], 8), machine("b", [(0, 4)], 8, "estimate")]
    lists.append(NodeAvailability("c", "promise", 0, "", np.array([4]), Spans.of([])))
    found = coallocate(APP, lists)
    assert len(found.best.parts) == 1
    assert sorted(found.left_out) == ["b", "c"]
    assert "estimates" in found.left_out["b"]


def test_one_machine_alone_is_told_that_it_takes_two():
    needs = "coallocation needs two or more machines that promise their starts, and"
    assert coallocate(APP, [machine("a", [(0, 4)])]).why == f"{needs} only a is given"
    assert coallocate(APP, [machine("b", [(0, 4)], 8, "estimate")]).why == f"{needs} none can take part"
    assert coallocate(Application(Table.of({16: 40.0})), [machine("a", [(0, 4)])]).why == f"{needs} only a is given"


def test_machines_that_do_not_answer_are_not_taken_as_never_named():
    silent = Answer(FileEndpoint("b", "b"), None, Unreachable("b"), 0.0)
    alone = Answer(FileEndpoint("a", "a"), machine("a", [(0, 4)]), None, 0.0)
    found = planned_together(APP, [alone, silent], PlanOptions(), Spread(), pytest.fail)
    assert found.plan.why == "coallocation needs two or more machines that promise their starts, and only a answered"


def test_a_machine_too_small_for_all_sizes_says_that_only_together_they_can():
    found = coallocate(Application(Table.of({8: 40.0})), [machine("a", [(0, 4)]), machine("b", [(0, 4)])])
    assert found.single.best is None
    assert found.best.processors == 8
    assert found.why == "no single machine can run it"


def test_where_nothing_has_room_there_is_no_best():
    found = coallocate(Application(Table.of({16: 40.0})), [machine("a", [(0, 4)]), machine("b", [(0, 4)])])
    assert found.best is None
    assert found.why == "no combination of up to 2 machines has room for it either"


def test_a_tolerance_takes_one_machine_unless_several_gain_more_than_it():
    lists = [machine("a", [(0, 4)], 8), machine("b", [(0, 4)], 8)]  # 50 s together, 100 s alone
    assert coallocate(APP, lists, tolerance=0.9).combinations
    assert not coallocate(APP, lists, tolerance=1).combinations


def test_a_budget_counts_all_parts():
    lists = [machine("a", [(0, 4)], 8), machine("b", [(0, 4)], 8)]  # together 8 × 50 s, alone 4 × 100 s
    assert coallocate(APP, lists, max_processor_hours=400 / 3600).combinations
    assert coallocate(APP, lists, max_processor_hours=399 / 3600).best is None


def test_the_answer_on_the_wire():
    wire = coallocate(APP, [machine("a", [(0, 4)], 8), machine("b", [(0, 4)], 8)]).to_wire()
    assert wire["schema"] == "gas.coallocation/1"
    assert [part["scheduler"] for part in wire["best"]["parts"]] == ["a", "b"]
    assert (wire["best"]["processors"], wire["best"]["finish"], wire["cost"]) == (8, 50, 1.25)
    assert wire["combinations"][0] == wire["best"]
    assert wire["single"]["best"]["scheduler"] == "a"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most": 1}, "over 1 machine: allow 2 or more"),
        ({"cost": 0.9}, "cost 0.9: must be from 1 to 100"),
        ({"lead": -1}, "lead -1"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(BadInput, match=message):
        coallocate(APP, [machine("a", [(0, 4)]), machine("b", [(0, 4)])], **options)


def test_more_steps_than_a_moment_allows_are_refused_with_the_way_out():
    sizes = np.arange(1, 100_001)
    frames = [(i, i % 2) for i in range(5_000)]
    requests = Requests(sizes, sizes, sizes)
    with pytest.raises(BadInput, match=r"above the limit of 1,000,000,000; name fewer machines or allow fewer parts"):
        together(requests, [machine("a", frames), machine("b", frames)], 0)


def test_many_machines_cost_in_proportion_and_no_search_over_sets():
    lists = [machine(f"m{i:02}", [(0, 1), (5, 2)], 4) for i in range(40)]
    found = coallocate(Application(Amdahl(6400.0, 0.0), Constraint("power-of-two")), lists, most=20, cost=1)
    assert [part.processors for part in found.best.parts] == [2] * 16


# ------------------------------------------------------------------------------------ what is planned, taken on S³


@examples(150)
@given(st.data())
def test_taking_what_is_planned_moves_no_promise_of_others_whether_it_is_used_released_or_lapses(data):
    machines = [Machine(S3(4, TODAY)) for _ in range(3)]
    promised, taken, now = {}, [], TODAY
    app = Application(Table.of({2: 30.0, 4: 12.0, 6: 8.0, 8: 6.0}), safety=1.0)
    small = st.integers(1, 4)
    for _ in range(data.draw(st.integers(1, 12))):
        kind = data.draw(st.sampled_from(["job", "job", "coallocate", "coallocate", "end of it", "time"]))
        if kind == "job":
            at = data.draw(st.integers(0, 2))
            entry = machines[at].submit(data.draw(small), walltime := data.draw(st.integers(1, 20)), walltime)
            promised[at, entry.id] = entry.promise
        elif kind == "coallocate":
            lists = [machine.schedule.availability(str(at)) for at, machine in enumerate(machines)]
            if (found := coallocate(app, lists, most=3, cost=1, lead=data.draw(st.integers(0, 5)))).combinations:
                parts = [
                    (
                        int(one.scheduler),
                        machines[int(one.scheduler)].reserve(one.processors, one.start, one.walltime, lasts=0),
                    )
                    for one in found.best.parts
                ]
                assert [entry.start for _, entry in parts] == [found.best.start] * len(parts)
                taken.append([(at, entry) for at, entry in parts if entry.state == "reserved"])
        elif kind == "end of it" and taken:
            used = data.draw(st.booleans())
            for at, entry in taken.pop():
                if entry.state == "reserved":
                    _ = machines[at].use(entry.id, 3) if used else machines[at].schedule.cancel(entry.id)
        elif kind == "time":
            now += data.draw(st.integers(1, 15))
        for at, machine in enumerate(machines):
            machine.advance(now)
            machine.schedule.check()
            for entry in machine.schedule.entries.values():
                if (at, entry.id) in promised:
                    assert max(entry.promise, entry.start) <= promised[at, entry.id]
                    promised[at, entry.id] = entry.promise
            assert not machine.schedule.broken
