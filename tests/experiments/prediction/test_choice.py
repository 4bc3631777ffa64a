"""Choosing by predictions: how much later or sooner jobs end, and how often they lose to the static request."""

from made_predictions import outcome

from experiments.prediction.choice import choice_sections
from gas.report.blocks import Table


def run(static, gas, predicting, best, size=2):
    """Return a run in which Gas takes one processor, and Gas with predictions this many."""
    return outcome(static, gas, predicting) | {"best": best, "gas_size": 1, "predicting_size": size}


def rows(study, number):
    """Return the rows of the table of a section by their first cell."""
    (table,) = [block for block in choice_sections(study)[number].blocks if isinstance(block, Table)]
    return {row[0]: row[1:] for row in table.rows}


def test_turn_around_times_stand_beside_each_other(made_study):
    found = rows(made_study([], [run(100, 80, 60, 40)]), 0)["all"]
    assert found[1:5] == ("100", "80", "60", "40")
    assert found[5].startswith("-20")
    assert found[6:] == ("-25.0%", "50%")  # of 80 s, and of the 40 s by which Gas ends later than the best


def test_who_loses_is_counted_with_and_without_predicting(made_study):
    study = made_study([], [run(100, 80, 110, 70), run(100, 130, 90, 90), run(100, 90, 90, 90)])
    found = rows(study, 1)["all"]
    assert found[:2] == ("33.3%", "33.3%")
    both, plain, predicting = found[3:6]
    assert (both, plain) == ("0", predicting)
    assert found[6:8] == ("30", "10")  # seconds of the median loss


def test_other_sizes_are_told_apart_by_what_came_of_them(made_study):
    study = made_study([], [run(100, 80, 60, 60), run(100, 80, 90, 80), run(100, 80, 80, 80, size=1)])
    found = rows(study, 2)["all"]
    assert found[:3] == ("66.7%", "0.0%", "66.7%")
    assert found[3:6] == ("50%", "0%", "50%")
    assert (found[6], found[8]) == ("20", "10")


def test_what_each_way_leaves_of_the_regret_of_promises_is_said_with_what_watching_adds(made_study):
    usual, extreme = run(100, 80, 60, 40) | {"watched": 45, "changes": 2}, run(500, 900, 600, 400) | {"watched": 400}
    study = made_study([], [usual, extreme], months=1)
    (table,) = [block for block in choice_sections(study)[3].blocks if isinstance(block, Table)]
    found = {row[1]: row[2:] for row in table.rows if row[0] == "all"}
    assert found["by promises"][:3] == ("490", "270", "100%")
    assert found["by predictions"][:3] == ("330", "110", "41%")
    assert found["by predictions, watched"][:3] == ("222", "2", "1%")
    assert found["by predictions, watched"][4:] == ("6.1%", "0.0%", "0", "50.0%")
    assert found["by promises"][4:6] == ("112.1%", "50.0%")
    assert "without the 3 most extreme" in [column.title for column in table.columns]


def test_every_month_is_a_row(made_study):
    (*_, section) = choice_sections(made_study([], [run(9, 8, 7, 6)], months=4))
    (table,) = section.blocks
    assert [row[1] for row in table.rows] == ["1997-01", "1997-02", "1997-03", "1997-04"]


def test_where_nothing_was_chosen_there_is_no_such_part(made_study):
    assert choice_sections(made_study([], [])) == []
