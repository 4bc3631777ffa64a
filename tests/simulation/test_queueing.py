"""EASY by hand and against the brute force: the head's shadow time, priorities, walltimes that are adjusted."""

import pytest
from adjusted_walltimes import WINDOW, adjusted_logs, answered, asking, each_adjustment, each_rule, random_adjusted_log
from brute_force import FOREVER, simulate_adjusted_by_force
from hypothesis import given
from small_logs import Case, assert_equal, busy_log
from thorough import examples

from gas.simulation.schedule import NOT_CANCELLED
from gas.simulation.simulate import simulate


def starts(machine, rows, adjusted, adjustment, queue="fcfs"):
    """Return the starts; walltimes are adjusted as given, the others are as requested."""
    case = Case(machine, tuple(rows))
    walltimes = [adjusted.get(number, row[2]) for number, row in enumerate(rows)]
    return answered(asking(case, adjustment, queue), walltimes).start.tolist()


# One processor is held by a job that asked for 100 s, is believed to take 10 and takes 50. The fourth job is long.
OUTLIVED = [(0, 1, 100, 50), (1, 2, 5, 5), (2, 1, 30, 30), (20, 1, 60, 60)]


def by_force(case, adjusted, adjustment, queue):
    withdrawn = case.cancellations
    if withdrawn is not None:
        withdrawn = [FOREVER if instant == NOT_CANCELLED else instant for instant in withdrawn]
    return simulate_adjusted_by_force(
        case.machine,
        case.rows,
        lambda number, now, ended: adjusted[number],
        adjustment=adjustment,
        queue=queue,
        cancellations=withdrawn,
    )


@each_adjustment
def test_a_waiting_job_passes_the_head_if_its_adjusted_walltime_ends_by_the_shadow_time(adjustment):
    rows = [*WINDOW, (2, 1, 20, 6)]
    assert starts(2, rows, {}, adjustment) == [0, 10, 15]
    assert starts(2, rows, {2: 9}, adjustment) == [0, 10, 15]
    assert starts(2, rows, {2: 8}, adjustment) == [0, 10, 2]


@each_adjustment
def test_one_that_was_underestimated_is_not_killed_and_delays_the_head(adjustment):
    case = Case(2, (*WINDOW, (2, 1, 20, 15)))
    schedule = answered(asking(case, adjustment), [10, 5, 8])
    assert schedule.start.tolist() == [0, 17, 2]
    assert schedule.end.tolist() == [10, 22, 17]


def test_a_running_job_is_believed_to_end_at_its_adjusted_walltime_and_once_it_has_outlived_that_at_its_own():
    # The third would not end by 10; in the pass of second 20 it does end by 100.
    assert starts(2, OUTLIVED, {0: 10}, "regular") == [0, 50, 20, 55]


def test_an_outlived_walltime_is_noticed_in_the_next_pass_and_not_before():
    for arrival in (11, 35):
        assert starts(2, [*OUTLIVED[:3], (arrival, 2, 60, 60)], {0: 10}, "regular")[2] == arrival
    assert starts(2, [*OUTLIVED[:3], (9, 2, 60, 60)], {0: 10}, "regular")[2] == 55


def test_under_selective_adjustment_a_running_job_is_believed_to_take_all_that_it_asked_for():
    assert starts(2, OUTLIVED, {0: 10}, "selective") == starts(2, OUTLIVED, {}, None) == [0, 92, 2, 32]


def test_so_the_head_can_be_delayed_though_everybody_is_as_short_as_was_believed():
    # The third is let past the head for taking 8 s, and then holds its processor for 20: until 22 the fourth may go on.
    rows = [(0, 1, 10, 10), (1, 3, 5, 5), (2, 1, 20, 8), (3, 1, 15, 12)]
    assert starts(3, rows, {2: 8, 3: 12}, "selective") == [0, 15, 2, 3]
    assert starts(3, rows, {2: 8, 3: 12}, "regular") == [0, 10, 2, 15]


def test_what_is_free_in_time_to_come_counts_with_a_job_that_has_outlived_its_walltime():
    simulation = asking(Case(2, ((0, 1, 100, 50), (20, 1, 1, 1))), "regular")
    simulation.run()
    simulation.answer(adjusted=10)
    simulation.run()
    free = simulation.availability()
    assert list(zip(free.starts.tolist(), free.free.tolist(), strict=True)) == [(20, 1), (100, 2)]


def test_priority_grows_with_the_wait_and_falls_with_the_walltime():
    rows = [(0, 1, 10, 10), (1, 1, 100, 1), (2, 1, 5, 1)]
    assert starts(1, rows, {}, None, "wfp") == [0, 11, 10]
    assert starts(1, [rows[0], (1, 1, 6, 1), (5, 1, 6, 1)], {}, None, "wfp") == [0, 10, 11]


def test_eight_processors_count_as_much_as_twice_the_wait():
    head = (0, 8, 10, 10)
    assert starts(8, [head, (2, 1, 4, 1), (4, 8, 6, 1)], {}, None, "wfp") == [0, 10, 11]  # 8 and 8
    assert starts(8, [head, (3, 1, 4, 1), (4, 8, 6, 1)], {}, None, "wfp") == [0, 11, 10]  # 5.4 and 8


def test_those_of_the_same_priority_go_in_the_order_of_submission():
    # At 10 all three have waited for twice their walltimes; at 13 one for 3 times, and the last for 3.5 times.
    rows = [(0, 1, 10, 10), (2, 1, 4, 3), (4, 1, 3, 2), (6, 1, 2, 1)]
    assert starts(1, rows, {}, None, "wfp") == [0, 10, 14, 13]


def test_priorities_are_computed_anew_for_each_pass():
    # At 95 the long job comes first (0.94 of its walltime against 0.5), at 200 the short one (11 of it against 2).
    rows = [(0, 1, 200, 200), (0, 1, 95, 95), (1, 2, 100, 1), (90, 2, 10, 1)]
    assert starts(2, rows, {}, None, "wfp") == [0, 0, 201, 200]
    assert starts(2, [(0, 2, 95, 95), *rows[2:]], {}, None, "wfp") == [0, 95, 96]


def test_an_arrival_finds_another_head_and_with_it_another_shadow_time():
    # First the third job is the head, with a shadow time of 50, until which the fifth takes too long. By second 30 the
    # fourth has become the head, with one of 100; that is seen because somebody comes, who cannot start at all.
    rows = [(0, 1, 50, 50), (0, 1, 100, 100), (1, 2, 100, 10), (10, 3, 20, 5), (11, 1, 60, 60)]
    assert starts(3, [*rows, (30, 3, 10, 1)], {}, None, "wfp") == [0, 0, 106, 101, 30, 100]
    assert starts(3, rows, {}, None, "wfp") == [0, 0, 105, 100, 105]  # seen at 50, it takes too long for 100 too


@each_adjustment
def test_priority_is_that_of_the_walltime_by_which_a_waiting_job_is_planned(adjustment):
    rows = [(0, 1, 10, 10), (1, 1, 20, 2), (1, 1, 15, 2)]
    assert starts(1, rows, {}, adjustment, "wfp") == [0, 12, 10]
    assert starts(1, rows, {1: 5}, adjustment, "wfp") == [0, 10, 12]


@each_rule
@examples(100)
@given(drawn=adjusted_logs())
def test_plain_source_starts_each_job_when_the_rules_say(adjustment, queue, drawn):
    case, adjusted = drawn
    assert_equal(answered(asking(case, adjustment, queue), adjusted), by_force(case, adjusted, adjustment, queue))


@pytest.mark.thorough(but=2)
@each_rule
def test_machine_code_does_the_same_on_many_logs(adjustment, queue):
    for seed in range(200):
        case, adjusted = random_adjusted_log(seed, jobs=(20, 60) if seed % 10 == 0 else (1, 14))
        got = answered(asking(case, adjustment, queue, machine_code=True), adjusted)
        assert_equal(got, by_force(case, adjusted, adjustment, queue))


@each_rule
def test_plain_and_compiled_source_give_the_same_schedule_of_a_long_queue(adjustment, queue):
    case = busy_log(5, 250)
    adjusted = [max(1, row[2] // 3) for row in case.rows]
    plain, fast = (answered(asking(case, adjustment, queue, code), adjusted) for code in (False, True))
    assert plain.start.tolist() == fast.start.tolist()
    assert plain.end.tolist() == fast.end.tolist()


@each_adjustment
@examples(60)
@given(drawn=adjusted_logs())
def test_without_a_shorter_walltime_it_is_plain_easy(adjustment, drawn):
    case, _ = drawn
    plain = simulate(case.jobs, "easy", machine_code=False, **case.beside)
    same = answered(asking(case, adjustment), case.jobs.estimate)
    assert same.start.tolist() == plain.start.tolist()
    assert same.end.tolist() == plain.end.tolist()
