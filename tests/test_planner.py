"""The planner against a brute force over every second and size; the paper's example; what the paper's walk misses."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TODAY, availability_lists, constraints, models
from thorough import examples

from documents.fields import FieldError
from gas import Application, AvailabilityList, BadInput, Limits
from gas.availability import NodeAvailability, Spans
from gas.planner import plan, soonest
from gas.profile.flat import NEVER
from gas.times import LATEST, LONGEST
from speedup_models import Amdahl, Constraint, Downey, Table

# ------------------------------------------------------------------------------------------------ the brute force


@dataclass
class Question:
    """All options of the planner; fractions are exact here and floating point there."""

    model: object
    constraint: Constraint
    safety: str
    lists: list[AvailabilityList]
    not_before: int | None = None
    deadline: int | None = None
    budget: int | None = None
    tolerance: str = "0"
    limits: dict[str, Limits] = field(default_factory=dict)

    @property
    def application(self):
        return Application(self.model, self.constraint, float(self.safety))

    def answer(self, algorithm="exact"):
        return plan(
            self.application,
            self.lists,
            not_before=self.not_before,
            deadline=self.deadline,
            max_processor_hours=None if self.budget is None else self.budget / 3600,
            tolerance=float(self.tolerance),
            algorithm=algorithm,
            limits=self.limits,
        )

    @property
    def now(self):
        return max(one.now for one in self.lists)

    @property
    def first(self):
        return self.now if self.not_before is None else max(self.now, self.not_before)


def accepts(constraint, n):
    """Whether a constraint accepts n, by the wording of the application file."""
    if n < constraint.minimum or (constraint.maximum is not None and n > constraint.maximum):
        return False
    return {
        "any": lambda: True,
        "power-of-two": lambda: bin(n).count("1") == 1,
        "perfect-square": lambda: any(k * k == n for k in range(n + 1)),
        "multiple": lambda: n % constraint.multiple == 0,
        "list": lambda: n in constraint.sizes,
    }[constraint.kind]()


def allowed_sizes(question, machine):
    own, known = question.model.constraint, question.model.sizes
    return [
        n
        for n in range(1, machine + 1)
        if accepts(question.constraint, n) and (own is None or accepts(own, n)) and (known is None or n in known)
    ]


def times_of(question, n, speed=1):
    """Return (t, w) in exact arithmetic, None where the model has no answer."""
    import numpy as np

    seconds = float(question.model.seconds(np.array([n]))[0])
    if math.isnan(seconds):
        return None
    t = max(1, math.ceil(round(Fraction(seconds), 6)))
    t = max(1, math.ceil(round(t / Fraction(str(speed)), 6)))
    return t, max(t, math.ceil(t * Fraction(question.safety)))


def free_by_second(availability, until):
    """Return free processors of each second from now to `until` (excluded)."""
    free = []
    for frame in availability.frames:
        end = until if frame.end is None else min(frame.end, until)
        free += [frame.free] * max(0, end - frame.start)
    return free


def possible(question):
    """Return (scheduler, p, w, t, start) of every size that fits, by trying every second and size."""
    found = []
    for one in question.lists:
        limits = question.limits.get(one.scheduler, Limits())
        last = max(question.first, int(one.starts[-1]))  # in the last frame every second is like its first
        for n in allowed_sizes(question, one.processors):
            known = times_of(question, n, limits.speed)
            if known is None:
                continue
            t, w = known
            if limits.max_processors is not None and n > limits.max_processors:
                continue
            if limits.max_walltime is not None and w > limits.max_walltime:
                continue
            free = free_by_second(one, last + w + 1)
            for start in range(question.first, last + 1):
                if all(level >= n for level in free[start - one.now : start - one.now + w]):
                    found.append((one.scheduler, n, w, t, start))
                    break
    return found


def affordable(question, found):
    return [
        (name, n, w, t, start)
        for name, n, w, t, start in found
        if (question.deadline is None or start + t <= question.deadline)
        and (question.budget is None or n * t <= question.budget)
    ]


def best_of(question, candidates):
    """Return the winner: earliest finish, then fewest processors, then earliest start, then first scheduler named."""
    if not candidates:
        return None
    order = [one.scheduler for one in question.lists]
    earliest = min(start + t for _, _, _, t, start in candidates)
    latest = question.now + (earliest - question.now) * (1 + Fraction(question.tolerance))
    near = [c for c in candidates if c[4] + c[3] <= latest]
    if Fraction(question.tolerance) > 0:
        fewest = min(n for _, n, _, _, _ in near)
        near = [c for c in near if c[1] == fewest]
    return min(near, key=lambda c: (c[4] + c[3], c[1], c[4], order.index(c[0])))


def literal_walk(question):
    """Return what Fig. 4.3 finds: in each frame with n free until d, every allowed size k <= n within [s, d)."""
    found = {}
    for one in question.lists:
        for i, frame in enumerate(one.frames):
            later = one.frames[i + 1 :]
            d = next((other.start for other in later if other.free < frame.free), math.inf)
            start = max(frame.start, question.first)
            if frame.end is not None and frame.end <= question.first:
                continue
            for k in allowed_sizes(question, one.processors):
                known = times_of(question, k)
                if known is not None and k <= frame.free and start + known[1] <= d:
                    found.setdefault((one.scheduler, k), start)
    return found


def as_tuples(result):
    return [(c.scheduler, c.processors, c.walltime, c.execution_time, c.start) for c in result.candidates]


# ----------------------------------------------------------------------------------------------------- properties


speeds = st.sampled_from([1, 1, 0.5, 0.7, 1.2, 3.0, 1000.0])


@st.composite
def questions(draw, with_options):
    count = draw(st.sampled_from([1, 1, 2, 3] if with_options else [1]))
    now = st.just(draw(st.sampled_from([0, TODAY])))
    lists = [draw(availability_lists(f"m{i}", first=now.map(lambda n, i=i: n + i))) for i in range(count)]
    question = Question(draw(models()), draw(constraints()), draw(st.sampled_from(["1", "1.1", "1.5"])), lists)
    if with_options:
        question.not_before = draw(st.none() | st.integers(-3, 25).map(lambda d: max(0, question.now + d)))
        question.deadline = draw(st.none() | st.integers(0, 40).map(lambda d: question.now + d))
        question.budget = draw(st.none() | st.integers(1, 60))
        question.tolerance = draw(st.sampled_from(["0", "0.05", "0.15", "0.5", "1"]))
        size, time = st.none() | st.integers(1, 8), st.none() | st.integers(1, 12)
        question.limits = {
            one.scheduler: Limits(draw(size), draw(time), draw(speeds)) for one in lists if draw(st.booleans())
        }
    return question


def verify(question):
    result = question.answer()
    expected = affordable(question, possible(question))
    assert sorted(as_tuples(result)) == sorted(expected)

    best = best_of(question, expected)
    chosen = result.best
    given = chosen and (chosen.scheduler, chosen.processors, chosen.walltime, chosen.execution_time, chosen.start)
    assert given == best

    order = [one.scheduler for one in question.lists]
    finishes = [(c.finish, c.processors, c.start, order.index(c.scheduler)) for c in result.candidates]
    assert finishes == sorted(finishes)

    looked_at = {(c.scheduler, c.processors) for c in result.candidates}
    rejected = [(r.scheduler, r.processors) for r in result.rejected]
    assert len(rejected) == len(set(rejected))
    assert not looked_at & set(rejected)
    assert all(r.reason for r in result.rejected)
    for one in question.lists:
        every = {(one.scheduler, n) for n in allowed_sizes(question, one.processors)}
        assert every <= looked_at | set(rejected)
    return result


@examples(1500)
@given(questions(with_options=False))
def test_the_plan_is_what_trying_every_second_and_size_finds(question):
    verify(question)


@pytest.mark.thorough
@examples(600)
@given(questions(with_options=False))
def test_who_plans_ten_thousand_times_gets_the_same_choice_without_the_reasons(question):
    for one in question.lists:
        requests = question.application.requests(one.processors)
        assert soonest(requests, one) == plan(question.application, one).best
        later = one.now + 50
        assert soonest(requests, one, later) == plan(question.application, one, not_before=later).best


@pytest.mark.thorough
@examples(400)
@given(questions(with_options=False), speeds)
def test_so_they_do_on_a_machine_of_another_speed(question, speed):
    for one in question.lists:
        limits = {one.scheduler: Limits(speed=speed)}
        requests = question.application.requests(one.processors, speed)
        assert soonest(requests, one) == plan(question.application, one, limits=limits).best


@pytest.mark.thorough
@examples(400)
@given(questions(with_options=False), st.floats(0.01, 100), st.floats(1, 10))
def test_a_faster_machine_never_finishes_later_on_the_same_list(question, speed, more):
    one = question.lists[0]
    slow, fast = (
        plan(question.application, one, limits={one.scheduler: Limits(speed=given)}) for given in (speed, speed * more)
    )
    sooner = {c.processors: c for c in fast.candidates}
    for c in slow.candidates:
        assert sooner[c.processors].finish <= c.finish
        assert sooner[c.processors].start <= c.start


@examples(1000)
@given(questions(with_options=True))
def test_so_it_is_with_several_schedulers_and_every_option(question):
    verify(question)


@pytest.mark.thorough
@examples(600)
@given(questions(with_options=True))
def test_the_walk_is_the_papers_figure_and_never_better(question):
    question.deadline, question.budget, question.tolerance, question.limits = None, None, "0", {}
    exact, walk = question.answer(), question.answer("walk")
    assert {(c.scheduler, c.processors): c.start for c in walk.candidates} == literal_walk(question)
    starts = {(c.scheduler, c.processors): c.start for c in exact.candidates}
    for c in walk.candidates:
        assert starts[c.scheduler, c.processors] <= c.start
    if walk.best is not None:
        assert exact.best.finish <= walk.best.finish


# --------------------------------------------------------------------------------------------------------- paper

PAPER = AvailabilityList.of([0, 1, 5, 6, 7, 11], [5, 10, 0, 10, 20, 40], scheduler="paper")


def exactly(times):
    """Return an application whose walltimes are its execution times, as in the paper."""
    return Application(Table.of(times), safety=1)


def best(application, availability, **options):
    found = plan(application, availability, **options).best
    return found.processors, found.start, found.finish


@pytest.mark.parametrize("algorithm", ["exact", "walk"])
def test_the_papers_worked_example(algorithm):
    # Fig. 4.4-4.7. The paper prints C from 12 to 14, though 40 processors are free from 11 on.
    result = plan(exactly({10: 5, 20: 3, 30: 2}), PAPER, algorithm=algorithm)
    b, a, c = result.candidates
    assert result.best == b
    assert (a.processors, a.start, a.finish) == (10, 6, 11)
    assert (b.processors, b.start, b.finish) == (20, 7, 10)
    assert (c.processors, c.start, c.finish) == (30, 11, 13)


@pytest.mark.parametrize(
    ("starts", "free", "times", "optimum", "walked"),
    [
        # Frame [0, 2) has 8 processors; the walk asks whether 8 stay free, and drops 4 processors at 0.
        ([0, 2, 10], [8, 4, 8], {8: 4, 6: 5, 4: 6}, (4, 0, 6), (4, 2, 8)),
        ([0, 6], [8, 4], {8: 10, 4: 12, 2: 20}, (4, 0, 12), (4, 6, 18)),
    ],
)
def test_the_walk_misses_optima_that_the_exact_planner_finds(starts, free, times, optimum, walked):
    availability = AvailabilityList.of(starts, free)
    assert best(exactly(times), availability) == optimum
    assert best(exactly(times), availability, algorithm="walk") == walked


def test_the_walk_misses_the_optimum_of_an_unconstrained_application_too():
    application = Application(Amdahl(24, 0), safety=1)  # 24 / k seconds
    availability = AvailabilityList.of([0, 2, 10], [8, 4, 8])
    assert best(application, availability)[2] == 6
    assert best(application, availability, algorithm="walk")[2] == 8


def test_an_empty_machine_takes_the_fastest_size():
    assert best(exactly({1: 9, 2: 5, 4: 3}), AvailabilityList.of([0], [40])) == (4, 0, 3)


# ---------------------------------------------------------------------------------------------------------- ties


def test_ties_go_to_fewer_processors():
    assert best(exactly({2: 5, 4: 5, 8: 5}), AvailabilityList.of([0], [8])) == (2, 0, 5)


def test_then_to_the_scheduler_named_first():
    # The rule between, the earlier start, cannot decide: a size takes the same time on all schedulers.
    a, b = AvailabilityList.of([0], [2], scheduler="a"), AvailabilityList.of([0], [2], scheduler="b")
    assert plan(exactly({2: 5}), [a, b]).best.scheduler == "a"
    assert plan(exactly({2: 5}), [b, a]).best.scheduler == "b"


# ------------------------------------------------------------------------------------------------------- options


def test_nothing_starts_before_the_latest_list_was_made():
    old = AvailabilityList.of([0], [2], scheduler="old")
    new = AvailabilityList.of([50], [2], scheduler="new")
    result = plan(exactly({2: 5}), [old, new])
    assert result.now == 50
    assert {c.scheduler: c.start for c in result.candidates} == {"old": 50, "new": 50}


def test_a_hole_may_begin_before_not_before_and_still_be_used():
    assert best(exactly({2: 5}), AvailabilityList.of([0, 30], [2, 0]), not_before=25) == (2, 25, 30)


def test_the_hole_is_as_long_as_the_walltime_not_the_execution_time():
    application = Application(Table.of({2: 50}), safety=1.1)
    fitting = AvailabilityList.of([0, 55, 100], [2, 0, 2])
    too_short = AvailabilityList.of([0, 54, 100], [2, 0, 2])
    assert best(application, fitting) == (2, 0, 50)
    assert best(application, too_short) == (2, 100, 150)


def test_a_deadline_is_kept_on_its_very_second_and_names_what_is_late():
    availability = AvailabilityList.of([0], [4])
    assert best(exactly({2: 10, 4: 60}), availability, deadline=10) == (2, 0, 10)
    result = plan(exactly({2: 10, 4: 60}), availability, deadline=9)
    assert result.best is None
    assert [r.reason for r in result.rejected] == [
        "would finish 1s after the deadline",
        "would finish 51s after the deadline",
    ]


@pytest.mark.parametrize("hours", [1.13, 2.01, 8.2, 0.1])  # some times 3600 are slightly smaller in floating point
def test_a_budget_of_processor_hours_is_kept_to_the_second(hours):
    seconds = round(hours * 3600)
    availability = AvailabilityList.of([0], [4])
    assert best(exactly({1: seconds}), availability, max_processor_hours=hours) == (1, 0, seconds)
    over = plan(exactly({1: seconds + 1}), availability, max_processor_hours=hours)
    assert over.best is None
    assert "processor-hours, above the" in over.rejected[0].reason


def test_a_tolerance_takes_the_fewest_processors_near_the_best_turn_around():
    application = exactly({2: 23, 8: 20})
    availability = AvailabilityList.of([0], [8])
    assert best(application, availability)[0] == 8
    assert best(application, availability, tolerance=0.15)[0] == 2  # 20 * 1.15 is 22.999999999999996 in floating point
    assert best(application, availability, tolerance=0.14)[0] == 8


def test_the_tolerance_is_of_the_turn_around_time_not_of_the_date():
    availability = AvailabilityList.of([TODAY], [8])
    assert best(exactly({2: 40, 8: 20}), availability, tolerance=0.5)[0] == 8


def test_limits_are_those_of_their_scheduler_only():
    lists = [AvailabilityList.of([0], [8], scheduler=name) for name in ("strict", "lax")]
    limits = {"strict": Limits(max_processors=4, max_walltime=9)}
    result = plan(exactly({2: 10, 4: 8, 8: 6}), lists, limits=limits)
    assert {(c.scheduler, c.processors) for c in result.candidates} == {
        ("lax", 2),
        ("lax", 4),
        ("lax", 8),
        ("strict", 4),
    }
    assert {r.processors: r.reason for r in result.rejected} == {
        2: "its walltime of 10s is above the scheduler's limit of 9s",
        8: "above the scheduler's limit of 4 processors",
    }


def test_a_speed_divides_execution_times_and_walltimes_and_what_is_used_up_follow():
    application = Application(Table.of({4: 100}), safety=1.1)
    lists = [AvailabilityList.of([0], [4], scheduler=name) for name in ("fast", "slow", "plain")]
    limits = {"fast": Limits(speed=1.2), "slow": Limits(speed=0.5)}
    found = {c.scheduler: c for c in plan(application, lists, limits=limits).candidates}
    # 100 / 1.2 is 83.3, rounded up before the safety is put on
    assert {name: (c.execution_time, c.walltime) for name, c in found.items()} == {
        "fast": (84, 93), "slow": (200, 220), "plain": (100, 110),
    }  # fmt: skip
    assert found["fast"].processor_seconds == 336


def test_a_speed_brings_a_walltime_below_the_limit():
    application = exactly({4: 100})
    limits = {"m": Limits(max_walltime=50, speed=2)}
    assert plan(application, AvailabilityList.of([0], [4], scheduler="m"), limits=limits).best.walltime == 50


@pytest.mark.parametrize("speed", [0, -1, 0.0001, 1001, math.nan, math.inf])
def test_a_speed_that_no_machine_has_is_refused(speed):
    with pytest.raises(FieldError, match="speed"):
        Limits(speed=speed)


# ------------------------------------------------------------------------------------------------------- reasons


def reasons(application, availability, **options):
    return {r.processors: r.reason for r in plan(application, availability, **options).rejected}


def test_a_machine_that_is_too_small_is_named():
    assert reasons(exactly({4: 5, 16: 2}), AvailabilityList.of([0], [8])) == {16: "the machine has only 8 processors"}
    lu = Application(Amdahl(10, 0), Constraint("power-of-two"))
    assert reasons(lu, AvailabilityList.of([0], [8])) == {16: "the machine has only 8 processors"}


def test_a_size_that_the_constraint_excludes_is_named():
    application = Application(Table.of({3: 5, 4: 5}), Constraint("power-of-two"))
    found = reasons(application, AvailabilityList.of([0], [8]))
    assert found.pop(3) == "constraint: not a power of two"
    assert {size: reason.endswith("has no time for this size") for size, reason in found.items()} == {1: True, 2: True}


def test_a_size_without_a_time_is_named():
    application = Application(Table.of({4: 5}), Constraint("list", sizes=(4, 6)))
    assert set(reasons(application, AvailabilityList.of([0], [8]))) == {6}


def test_a_hole_that_never_comes_is_named():
    application = Application(Table.of({4: 5}), safety=1.1)
    availability = AvailabilityList.of([0, 5], [4, 3])
    assert reasons(application, availability) == {4: "never free for 6s in this list"}


def test_a_scheduler_that_knows_why_there_is_no_start_says_it():
    class Limited(NodeAvailability):
        def anchors(self, processors, walltimes, first):
            return np.where(processors > 2, NEVER, first)

        def why_never(self, processors, walltime, layout=None):
            return f"QOS high allows 2 CPUs, and {processors} are requested"

    limited = Limited("ada", "estimate", 0, "1", np.array([4]), Spans.of([]))
    application = Application(Table.of({2: 9, 4: 5}), safety=1.1)
    assert reasons(application, limited) == {4: "QOS high allows 2 CPUs, and 4 are requested"}


def test_rejections_carry_their_kind_for_whoever_gives_advice():
    application = Application(Table.of({2: 100, 3: 9, 4: 60, 8: 20, 16: 5, 32: 6, 64: 1}), Constraint("power-of-two"))
    availability = AvailabilityList.of([0, 10], [32, 16], processors=32, scheduler="m")
    options = {"deadline": 90, "max_processor_hours": 200 / 3600, "limits": {"m": Limits(max_walltime=120)}}
    kinds = {r.processors: r.kind for r in plan(application, availability, **options).rejected}
    # 32 processors cost 192 processor-seconds, 8 cost 160, and 4 cost 240.
    assert kinds == {1: "no time", 2: "deadline", 3: "constraint", 4: "cost", 64: "machine"}
    tight = {"m": Limits(max_walltime=21, max_processors=16)}
    kinds = {r.processors: r.kind for r in plan(application, availability, limits=tight).rejected}
    assert kinds == {1: "no time", 2: "limit", 3: "constraint", 4: "limit", 8: "limit", 32: "limit", 64: "machine"}
    full = AvailabilityList.of([0, 6], [32, 16], processors=32)
    assert {r.processors: r.kind for r in plan(application, full).rejected}[32] == "no hole"


def test_one_impossible_walltime_does_not_spoil_the_others():
    # 5e9 processor-seconds: 158 years on one processor, 6 days on ten thousand.
    application = Application(Amdahl(5e9, 0))
    result = plan(application, AvailabilityList.of([0], [10_000]))
    assert (result.best.processors, result.best.execution_time) == (10_000, 500_000)
    assert {r.processors for r in result.rejected} == {1}
    assert "136 years" in result.rejected[0].reason


def test_the_longest_walltime_is_possible_and_one_second_more_is_not():
    result = plan(exactly({1: LONGEST + 1, 2: LONGEST}), AvailabilityList.of([0], [2]))
    assert [(c.processors, c.walltime) for c in result.candidates] == [(2, LONGEST)]
    assert [(r.processors, r.kind) for r in result.rejected] == [(1, "constraint")]


def test_a_table_is_no_matter_of_the_machines_size():
    result = plan(exactly({16: 5}), AvailabilityList.of([0], [2**31 - 1]))
    assert result.best.processors == 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -0.1}, "tolerance -0.1"),
        ({"tolerance": math.nan}, "tolerance nan"),
        ({"tolerance": math.inf}, "tolerance inf"),
        ({"max_processor_hours": 0}, "max-processor-hours 0"),
        ({"max_processor_hours": math.nan}, "max-processor-hours nan"),
        ({"algorithm": "best"}, "there are exact and walk"),
        ({"not_before": LATEST + 1}, "not-before 9007199254740992"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(BadInput, match=message):
        plan(exactly({16: 5}), AvailabilityList.of([0], [8]), **options)  # even if no size is possible at all


def test_the_lists_need_names_of_their_own():
    with pytest.raises(BadInput, match='called "m"'):
        plan(exactly({1: 5}), [AvailabilityList.of([0], [8], scheduler="m")] * 2)
    with pytest.raises(BadInput, match="no availability list"):
        plan(exactly({1: 5}), [])


# ------------------------------------------------------------------------------------------------------- answers


def test_the_answer_on_the_wire():
    wire = plan(
        Application(Table.of({2: 50}), name="lu.C"), AvailabilityList.of([TODAY], [2], scheduler="kth")
    ).to_wire()
    assert wire == {
        "schema": "gas.plan/1",
        "application": "lu.C",
        "algorithm": "exact",
        "now": TODAY,
        "now_iso": "2024-11-07T17:20:00Z",
        "best": wire["candidates"][0],
        "candidates": [
            {
                "scheduler": "kth",
                "processors": 2,
                "walltime": 55,
                "execution_time": 50,
                "processor_seconds": 100,
                "start": TODAY,
                "start_iso": "2024-11-07T17:20:00Z",
                "finish": TODAY + 50,
                "finish_iso": "2024-11-07T17:20:50Z",
                "kind": "promise",
                "unit": "processors",
            }
        ],
        "rejected": [],
        "endpoints": [],
    }


def test_no_candidate_is_null_on_the_wire():
    assert plan(exactly({16: 5}), AvailabilityList.of([0], [8])).to_wire()["best"] is None


def test_the_losers_are_told_why():
    availability = [
        AvailabilityList.of([0], [8], scheduler="a"),
        AvailabilityList.of([0], [2], scheduler="b"),
    ]
    result = plan(exactly({2: 10, 4: 10, 8: 130}), availability)
    assert [(c.scheduler, c.processors, result.why_lost(c)) for c in result.candidates] == [
        ("a", 2, "best"),
        ("b", 2, "equal, on a scheduler that comes later in the list"),
        ("a", 4, "finishes at the same time on more processors"),
        ("a", 8, "finishes 2m00s later"),
    ]
    thrifty = plan(exactly({2: 23, 8: 20}), availability[0], tolerance=0.15)
    assert [thrifty.why_lost(c) for c in thrifty.candidates] == [
        "finishes 3s sooner, within the tolerance, on more processors",
        "best",
    ]
    assert thrifty.turnaround(thrifty.best) == 23


def test_of_two_that_cost_the_same_the_later_one_is_no_trade_off():
    result = plan(exactly({1: 39, 2: 20, 4: 10, 8: 7}), AvailabilityList.of([0], [8]))
    assert [(c.processors, c.finish, c.processor_seconds) for c in result.undominated] == [
        (8, 7, 56), (4, 10, 40), (1, 39, 39),
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------------- layouts


class OnNodes(NodeAvailability):
    """Nodes of at most six a100, or of one h100; a request starts after as many seconds as it has nodes."""

    def largest_node(self, device):
        return {"a100": 6, "h100": 1}.get(device, 0)

    def anchors_of(self, sizes, walltimes, layouts, first):
        return np.array([one.nodes for one in layouts], np.int64)


@pytest.mark.parametrize(
    ("per_node", "layouts", "reasons"),
    [
        ([4, 1], [f"{shape} {device}" for shape, device in (
            ("3x4", "a100"), ("12x1", "h100"), ("12x1", "a100"), ("7x1", "h100"), ("7x1", "a100"),
            ("1x4", "a100"), ("4x1", "h100"), ("4x1", "a100"),
        )], []),
        (4, ["3x4 a100", "1x4 a100"], ["7 GPUs cannot be spread evenly over the fewest nodes of up to 4"]),
        ([8, 9], [], ["gpus_per_node is 8, and no node has more than 6 GPUs of type h100 or a100 or v100"] * 3),
    ],
)  # fmt: skip
def test_sizes_are_planned_in_the_layouts_that_the_nodes_allow_and_the_others_are_named(per_node, layouts, reasons):
    resources = {"gpu_type": ["h100", "a100", "v100"], "gpus_per_node": per_node}
    speedup = {"model": "table", "times": {"4": 500, "7": 300, "12": 200}}
    tables = {"name": "train", "unit": "gpus", "speedup": speedup, "resources": resources}
    there = OnNodes("gpus", "estimate", 0, "1", np.array([6] * 12), Spans.of([]), tuple("abcdefghijkl"))
    result = plan(Application.from_tables(tables, "here"), there)
    assert [str(c.layout) for c in result.candidates] == layouts
    assert all(c.start == c.layout.nodes for c in result.candidates)
    assert [one.reason for one in result.rejected] == reasons


def test_a_budget_of_a_run_on_gpus_is_in_gpu_hours():
    speedup = {"model": "table", "times": {"4": 3600}}
    resources = {"gpu_type": "a100", "gpus_per_node": 4}
    tables = {"name": "train", "unit": "gpus", "speedup": speedup, "resources": resources}
    there = OnNodes("gpus", "estimate", 0, "1", np.array([6]), Spans.of([]), ("a",))
    (rejected,) = plan(Application.from_tables(tables, "here"), there, max_processor_hours=2).rejected
    assert rejected.reason == "would use 4 GPU-hours, above the 2 allowed"


def test_downeys_model_plans_as_it_stands():
    # A = 4, sigma = 0 is S = min(n, A): 100 s, 50, 34 (33.3 rounded up), 25, and no gain beyond.
    result = plan(Application(Downey(100, 4, 0), safety=1), AvailabilityList.of([0], [6]))
    assert {c.processors: c.execution_time for c in result.candidates} == {1: 100, 2: 50, 3: 34, 4: 25, 5: 25, 6: 25}
    assert result.best.processors == 4
