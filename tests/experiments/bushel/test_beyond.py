"""Beyond the paper: the other jobs, drawn speed-ups, other terms, single users."""

import numpy as np
import pytest

from experiments.bushel.beyond import (
    drawn_section,
    faster_section,
    others_section,
    shades,
    terms_section,
    text_of,
    users_section,
)
from experiments.bushel.results import FASTER, KINDS, Results
from experiments.published import bushel
from gas.intervals import interval
from gas.report.blocks import Cell, Table


def table(section):
    """Return the rows of the table of a section."""
    (found,) = [block for block in section.blocks if isinstance(block, Table)]
    return found.rows


@pytest.fixture
def study(figures, made_study):
    """Static requests take five times as long as Gas's; other jobs take 90 s before, and as long as these with them."""
    return made_study(lambda run: figures(100.0, 500.0, run.percent), others=True)


def test_the_others_stand_in_all_three_worlds(study):
    rows = table(others_section(study, "own"))
    assert {row[-9:] for row in rows} == {("90 ± 0", "500 ± 0", "100 ± 0", "90", "500", "100", "70.0", "65.0", "60.0")}


def test_drawn_speed_ups_say_how_many_times_as_long_own_requests_take(study):
    rows = table(drawn_section(study))
    assert {row[2:5] for row in rows} == {("100 ± 0", "500 ± 0", "5.00 ± 0.00")}
    assert rows[-1][1] == "100%"


def test_on_other_terms_a_loss_is_marked(study, figures, made_study):
    assert {row[4] for row in table(terms_section(study))} == {"5.00"}
    worse = made_study(lambda run: figures(500.0, 100.0, run.percent), others=True)
    assert {row[4] for row in table(terms_section(worse))} == {Cell("0.20", "bad")}


def test_the_printed_means_that_faster_benchmarks_meet_are_counted(figures, made_study):
    printed = {(one.trace, one.mix, one.percent): one for one in bushel()}

    def result_of(run):
        one = printed.get((run.site.trace, getattr(run.kind, "mix", ""), run.percent))
        if run.kind not in FASTER.values() or one is None:
            return figures(100.0, 500.0, run.percent)
        return figures(one.gas * 1.24, one.static * (1.24 if run.percent == 10 else 1.26), run.percent)

    met = {row[0]: row[1:] for row in table(faster_section(made_study(result_of, others=True)))}
    assert met["KTH"] == ("0 of 18", "12 of 18")
    short = table(faster_section(made_study(lambda run: figures(100.0, 500.0, run.percent))))
    assert {row[2] for row in short} == {"not run"}


def test_users_stand_beside_jobs(study):
    assert {row[2:] for row in table(users_section(study))} == {("100", "500", "100", "500")}


def test_means_have_intervals_over_months_and_none_with_fewer_than_four(study, figures, made_study):
    def months(run):
        found = figures(100.0, 500.0, run.percent)
        gas = np.array(found["by_month"]["moldable_gas"]) * np.repeat([0.7, 0.8, 0.9, 1.1, 1.2, 1.3], 4)
        return found | {"by_month": found["by_month"] | {"moldable_gas": gas.tolist()}}

    uneven = made_study(months)
    found = uneven.mean("KTH", KINDS["thirds", "own"], 5, "moldable", "gas")
    assert found.mean == pytest.approx(100)
    assert found.half_width == pytest.approx(7.7, abs=0.1)  # Student: 1.714 standard deviations over the root of 24
    assert shades(uneven) == "Shaded: 90% intervals over months."
    few = [found | {"months": found["months"][:3]} for found in uneven.results]
    assert shades(Results(uneven.options, uneven.runs, few)) == "With fewer than 4 months, there are no intervals."
    assert (text_of(None), text_of(interval([3.0]))) == ("", "3")
