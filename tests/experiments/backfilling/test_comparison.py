"""Cells next to the published ones: whether they agree, and reasons from the data where they do not."""

import pytest

from experiments.backfilling.comparison import Cell, cells_of, count, distance, reasons
from experiments.published import Difference, Month

ROW = Month("KTH", "1996-10", 0.7, 1000, {"response": Difference(100, 110, 10.0), "slowdown": Difference(5, 4, -20.0)})


def month(easy=(100, 5), conservative=(110, 4), jobs=1000, load=0.7, error=None):
    def figures(pair):
        return {"response": pair[0], "slowdown": pair[1]}

    found = {
        "month": "1996-10",
        "jobs": jobs,
        "load": load,
        "easy": figures(easy),
        "conservative": figures(conservative),
    }
    return found | {"error": error or errors(), "days": 30}


def errors(difference=0.0, easy=0.0, conservative=0.0):
    return {
        what: {"response": value, "slowdown": value}
        for what, value in (("difference", difference), ("easy", easy), ("conservative", conservative))
    }


def response(base, **variants):
    return cells_of(ROW, base, variants)[0]


def test_a_row_has_a_cell_for_each_measure():
    cells = cells_of(ROW, month(), {})
    assert [(cell.measure, cell.ours.percent, cell.agrees) for cell in cells] == [
        ("response", pytest.approx(10), True),
        ("slowdown", pytest.approx(-20), True),
    ]


@pytest.mark.parametrize(("conservative", "agrees"), [(103, True), (102, None), (98, None), (97, False)])
def test_a_sign_agrees_only_where_days_resolve_it(conservative, agrees):
    cell = response(month(conservative=(conservative, 4), error=errors(difference=1)))  # 98%: 2.46 errors over 30 days
    assert cell.agrees is agrees
    assert cell.half_width == pytest.approx(1.699, abs=1e-3)


def test_what_is_not_at_hand_is_not_compared():
    cells = [*cells_of(ROW, None, {}), *cells_of(ROW, month(easy=(None, None)), {})]
    assert [cell.agrees for cell in cells] == [None] * 4
    assert (count(cells).agree, count(cells).cells, count(cells).share) == (0, 0, 0)
    assert reasons(cells[0]) == ["no available log has this month"]
    assert distance(cells) is None


def test_no_reason_is_given_where_sign_and_figures_agree():
    assert reasons(response(month(easy=(104, 5), conservative=(114, 4)))) == []


def test_another_number_of_jobs_or_load_is_a_reason():
    (why,) = reasons(response(month(easy=(120, 5), conservative=(130, 4), jobs=979)))
    assert why == "another version of the log, -2% jobs"
    (why,) = reasons(response(month(easy=(120, 5), conservative=(130, 4), load=0.688)))
    assert why == "another load, -0.012"
    (why,) = reasons(response(month(easy=(120, 5), conservative=(130, 4), jobs=981, load=0.691)))
    assert why == "not explained: jobs and load are the paper's, figures up to 20% apart"


def test_a_difference_within_the_noise_is_a_reason():
    assert "a difference within 1% here" in reasons(response(month(conservative=(99.5, 4))))


def test_a_sign_that_other_rules_turn_is_a_reason():
    cell = response(month(conservative=(95, 4)), event=month(conservative=(102, 4)), extend=month(conservative=(94, 4)))
    assert "the sign turns with event (+2.0%)" in reasons(cell)


def test_a_difference_that_is_not_resolved_has_no_other_sign():
    wide, narrow = (month(easy=(104, 5), conservative=(103, 4), error=errors(difference=by)) for by in (1, 0.1))
    assert (response(wide).agrees, response(narrow).agrees) == (None, False)
    assert "a difference within 1% here" in reasons(response(narrow))
    assert not any("within 1%" in reason for reason in reasons(response(wide)))


def test_figures_that_other_rules_or_other_days_give_are_named():
    base = month(easy=(120, 5), conservative=(140, 4), error=errors(easy=1, conservative=30))
    (by_rules, by_days) = reasons(response(base, extend=month(easy=(104, 5), conservative=(139, 4))))
    assert by_rules == "met under other rules: EASY 104 with extend"
    assert by_days == f"within the scatter between days: conservative 140 ± {30 * 1.699:.0f}"


def test_rules_whose_figure_is_away_as_far_as_ours_are_no_reason():
    base = month(easy=(120, 5), conservative=(110, 4))
    (why,) = reasons(response(base, kill=month(easy=(80, 5), conservative=(75, 4))))
    assert why.startswith("not explained")


def test_cells_are_counted_by_trace():
    agreeing = response(month())
    other = Cell("CTC", "1996-07", "response", agreeing.paper, 1, 0.5, Difference(2, 1, -50.0), error=1.0, days=30)
    assert (count([agreeing, other]).agree, count([agreeing, other]).cells) == (1, 2)
    assert count([agreeing, other], ("KTH",)).share == 1
    assert count([agreeing, other], ("CTC",)).share == 0


def test_the_distance_is_the_median_of_both_schemes_figures():
    near, far = response(month(easy=(101, 5), conservative=(110, 4))), response(month(easy=(200, 5)))
    assert distance([near]) == pytest.approx(0.5)  # 1% and 0%
    assert distance([near, far]) == pytest.approx(0.5)  # 0, 0, 1 and 100%
