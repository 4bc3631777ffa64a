import numpy as np
import pytest

from documents.fields import FieldError, Fields
from speedup_models.constraints import Constraint
from speedup_models.model import ModelError, execution_times
from speedup_models.nas import BENCHMARKS, CLASSES, DEFAULT, Nas, datasets, rows
from speedup_models.registry import model_from_table

# Operation counts in Mop of classes B and C, from the polynomials with which NPB 3.3.1 reports Mop/s.
OPERATIONS = {
    "BT": (702179.78, 2866279.85),
    "SP": (355011.86, 1450101.05),
    "LU": (498824.10, 2038997.25),
    "MG": (19461.57, 155692.56),
    "EP": (2147.48, 8589.93),
}


def test_every_row_says_where_it_comes_from_and_how():
    assert rows()
    for row in rows():
        assert row.kind in ("measured", "derived")
        assert row.flag in ("", "12-per-node")
        assert len(row.origin) > 40
        assert ("not a measurement" in row.origin) == (row.kind == "derived")
        assert row.seconds > 0


def test_every_count_is_one_that_its_benchmark_accepts_and_is_there_once():
    for row in rows():
        assert BENCHMARKS[row.benchmark].permits(row.processors), row
    keys = [(row.dataset, row.benchmark, row.problem_class, row.processors) for row in rows()]
    assert len(set(keys)) == len(keys)


def test_no_dataset_mixes_measured_and_derived_rows_or_origins():
    for dataset in datasets():
        own = [row for row in rows() if row.dataset == dataset.name]
        assert {(row.kind, row.origin) for row in own} == {(dataset.kind, dataset.origin)}
    assert [d.name for d in datasets() if d.kind == "derived"] == ["cluster-2012-derived"]


def test_derived_rows_are_the_measured_ones_times_the_ratio_of_operation_counts():
    measured = {(r.benchmark, r.processors): r for r in rows() if r.dataset == "cluster-2012"}
    derived = {(r.benchmark, r.processors): r for r in rows() if r.dataset == "cluster-2012-derived"}
    assert measured.keys() == derived.keys()
    for key, row in derived.items():
        smaller, larger = OPERATIONS[row.benchmark]
        # derived from seconds with more digits than two, so to within the rounding of the measured ones
        assert row.seconds == pytest.approx(measured[key].seconds * smaller / larger, abs=0.005)
        assert row.flag == measured[key].flag


@pytest.mark.parametrize("code", BENCHMARKS)
@pytest.mark.parametrize("problem_class", CLASSES)
def test_every_benchmark_has_both_classes_by_default(code, problem_class):
    model = Nas.packaged(code, problem_class)
    assert model.dataset == DEFAULT[problem_class]
    assert model.constraint is BENCHMARKS[code]
    assert model.sizes == model.curve.counts
    times = execution_times(model, model.sizes)
    assert (times >= 1).all()
    assert (np.diff(model.curve.times) < 0).all()  # without the flagged rows each default curve falls


def test_the_measured_times_of_lu_class_c():
    model = Nas.packaged("LU", "C")
    assert model.name == "NAS LU class C"
    assert model.constraint == Constraint("power-of-two")
    assert model.sizes == (4, 8, 16, 64, 256)
    assert model.seconds(np.array([4, 8, 16, 64, 256])).tolist() == [205.73, 114.8, 55.31, 15.01, 5.18]
    assert np.isnan(model.seconds(np.array([1, 32, 128, 512]))).all()


def test_class_b_says_that_it_is_derived():
    model = Nas.packaged("LU", "B")
    assert model.name == "NAS LU class B (derived, not measured)"
    assert "not a measurement" in model.origin


def test_runs_with_all_cores_of_a_node_stay_out_unless_asked_for():
    assert Nas.packaged("SP", "C").sizes == (4, 16, 25, 64, 121, 256)
    with_flagged = Nas.packaged("SP", "C", flagged=True)
    assert with_flagged.sizes == (4, 16, 25, 36, 64, 81, 121, 169, 256, 361)
    assert with_flagged.seconds(np.array([36])).tolist() == [64.03]
    # only the memory-bound codes suffer
    assert Nas.packaged("EP", "C").sizes == Nas.packaged("EP", "C", flagged=True).sizes


def test_interpolation_fills_up_with_the_counts_that_the_benchmark_accepts():
    model = Nas.packaged("LU", "C", interpolate=True)
    assert model.sizes == (4, 8, 16, 32, 64, 128, 256)
    seconds = model.seconds(np.array([16, 24, 32, 64]))
    assert np.isnan(seconds[1])
    assert seconds[2] == pytest.approx((55.31 * 15.01) ** 0.5)  # half way between 16 and 64 on a log axis
    assert Nas.packaged("BT", "C", interpolate=True).sizes[:5] == (4, 9, 16, 25, 36)
    assert Nas.packaged("EP", "C", interpolate=True).sizes == tuple(range(2, 385))


def test_another_dataset_can_be_named_and_shows_in_the_name():
    model = Nas.packaged("MG", "C", "slow-network-2012")
    assert model.name == "NAS MG class C, slow-network-2012"
    assert model.curve.times[model.sizes.index(64)] > model.curve.times[model.sizes.index(8)]
    assert Nas.packaged("BT", "B", "jpfmm-2015").sizes == (1, 4, 9, 16)


def test_a_dataset_lists_its_curves():
    curves = {d.name: set(d.curves) for d in datasets()}
    assert curves["ethernet-r641"] == {("BT", "B"), ("EP", "B"), ("MG", "B")}
    assert curves["jpfmm-2015"] == {(b, c) for b in ("BT", "EP") for c in "BC"}
    assert curves["cluster-2012"] == {(b, "C") for b in BENCHMARKS}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lu", "C"), 'did you mean "LU"'),
        (("LU", "D"), 'class "D" is not known; known: B, C'),
        (("LU", "C", "cluster-2013"), 'did you mean "cluster-2012"'),
        (("SP", "B", "jpfmm-2015"), "has no SP class B; these have: cluster-2012-derived"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(arguments, message):
    with pytest.raises(ModelError, match=message):
        Nas.packaged(*arguments)


def read(**table):
    return model_from_table(Fields({"model": "nas"} | table, "lu.toml [speedup]"))


def test_it_is_read_from_a_table():
    assert read(benchmark="LU", **{"class": "C"}) == Nas.packaged("LU", "C")
    table = {"benchmark": "SP", "class": "C", "dataset": "slow-network-2012", "interpolate": True, "flagged": True}
    assert read(**table) == Nas.packaged("SP", "C", "slow-network-2012", interpolate=True, flagged=True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"class": "C"}, "benchmark: is missing"),
        ({"benchmark": "LU"}, "class: is missing"),
        ({"benchmark": "lu", "class": "C"}, r'lu.toml \[speedup\] benchmark: "lu" is not known; did you mean "LU"'),
        ({"benchmark": "LU", "class": "A"}, 'class: "A" is not known'),
        ({"benchmark": "LU", "class": "C", "dataset": "sp2"}, 'dataset: "sp2" is not known'),
        ({"benchmark": "LU", "class": "C", "dataset": "jpfmm-2015"}, "dataset: .* has no LU class C; these have: cl"),
        ({"benchmark": "LU", "class": "C", "size": 4}, 'has no key "size"'),
    ],
)
def test_tables_that_cannot_be_used_are_refused_by_their_key(table, message):
    with pytest.raises(FieldError, match=message):
        read(**table)
