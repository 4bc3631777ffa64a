"""The report on backfilling, models: means over the same batches and over each scheme's own, changes and amounts."""

import pytest

from experiments.backfilling.models import CHANGES
from experiments.backfilling.models_report import amounts_section, changes_section, figure, models_section
from experiments.backfilling.results import ChangeRun, ModelRun, Options, Results
from gas.report.blocks import Picture, Table, Text


def scheme(response, *, half=1.0, batches=100, common=100, backfilled=0.5, together=None):
    own = {"response": response, "slowdown": response / 10, "backfilled": backfilled}
    own |= {"response_half_width": half, "slowdown_half_width": half / 10}
    shared = {**own, "batches": common, **({"response": together} if together else {})}
    return {**own, "batches": batches, "reason": "batches", "together": shared}


def study(*points, model="J", changes=()):
    """A study of a model at loads, with EASY and conservative at each, and of changes of model F at load 0.6."""
    runs = [ModelRun(model, load, 2100, 0) for load, _, _ in points]
    results = [{"easy": easy, "conservative": conservative} for _, easy, conservative in points]
    changed = [ChangeRun(change, 0.6, 2100, 0) for change, _ in changes]
    return Results(Options(loads=(0.6,)), [], [], [], runs, results, changed, [result for _, result in changes])


def tables(section):
    return [block for block in section.blocks if isinstance(block, Table)]


def test_runs_are_compared_over_the_same_batches_and_then_at_own_ends():
    point = (0.8, scheme(200, together=100), scheme(110, together=120))
    shared, own = tables(models_section(study(point)))
    assert shared.rows[0][:5] == ("0.8", "100", "100 ± 1", "120 ± 1", "+20.0%")
    assert own.rows[0][:4] == ("0.8", "200 ± 1", "110 ± 1", "-45.0%")
    assert own.rows[0][-2:] == ("100, batches", "100, batches")


def test_a_load_at_which_the_runs_stopped_apart_is_marked_and_counts_the_batches_of_both():
    alike, apart = (0.7, scheme(1), scheme(1)), (0.8, scheme(1, batches=27, common=27), scheme(1, common=27))
    shared, own = tables(models_section(study(alike, apart)))
    assert [row[:2] for row in shared.rows] == [("0.7", "100"), ("0.8 †", "27")]
    assert [row[0] for row in own.rows] == ["0.7", "0.8 †"]
    assert own.rows[1][-2:] == ("27, batches", "100, batches")


@pytest.mark.thorough
def test_a_mean_without_interval_stands_alone():
    (shared, _) = tables(models_section(study((0.8, scheme(100, half=0), scheme(110, half=0)))))
    assert shared.rows[0][2:4] == ("100", "110")


@pytest.mark.parametrize(
    ("model", "words"), [("F", "Model F resembles Feitelson's of 1996"), ("J", "Model J is Jann's: ")]
)
def test_a_table_says_what_its_model_is(model, words):
    assert tables(models_section(study((0.8, scheme(1), scheme(1)), model=model)))[0].caption.startswith(words)


def test_without_models_that_is_said():
    assert models_section(study()).blocks == (Text("No model was run."),)
    assert changes_section(study()) is None
    assert amounts_section(study()).blocks == (Text("Nothing was run."),)


def test_a_change_of_model_f_shows_conservative_against_easy_and_what_easy_backfills_more():
    means = {"response": 100.0, "slowdown": 10.0, "backfilled": 0.5}
    result = {"easy": means, "conservative": {"response": 110.0, "slowdown": 9.0, "backfilled": 0.4}}
    found = study((0.6, scheme(1), scheme(1)), model="F", changes=[(CHANGES[0], result)])
    (table,) = tables(changes_section(found))
    assert table.rows == ((CHANGES[0].name, "+10.0%", "-10.0%", "+10.0"),)


def test_amounts_are_those_of_the_same_batches_beside_those_at_own_ends():
    easy = scheme(1, backfilled=0.5)
    easy["together"] = {**easy["together"], "backfilled": 0.4}
    section = amounts_section(study((0.8, easy, scheme(1, backfilled=0.3))))
    (table,) = tables(section)
    assert table.rows == (("model J, load 0.8", "40.0%", "30.0%", "-10.0", "50.0%", "30.0%", "-20.0"),)
    assert isinstance(section.blocks[0], Picture)


def test_means_have_the_digits_of_the_paper():
    assert (figure(1234.56, "response"), figure(12.345, "slowdown"), figure(None, "response")) == ("1,235", "12.3", "-")
