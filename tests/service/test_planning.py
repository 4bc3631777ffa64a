"""Planning over HTTP: the same parser, the same planner, and limits on strangers' requests."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from documents.fields import FieldError
from gas import AvailabilityList, BadInput
from gas.application import Application
from gas.planner import plan
from gas.reading import read_application
from gas.service import planning
from gas.service.planning import PlanAnswer, PlanBody, plan_for
from speedup_models import ModelError

PAPER = AvailabilityList.of([5, 6, 7, 10, 11], [5, 10, 20, 15, 40], processors=40, scheduler="paper")
"""The paper's worked example (its Fig. 4.4 to 4.7)."""

EXAMPLE = {"speedup": {"model": "table", "times": {"10": 5, "20": 3, "30": 2}}, "walltime": {"safety": 1}}


def asked(application, **more):
    return plan_for(PlanBody(application=application, **more), PAPER)


def test_the_papers_example():
    answer = asked(EXAMPLE)
    assert [(c["processors"], c["start"], c["finish"]) for c in answer["candidates"]] == [
        (20, 7, 10),
        (10, 6, 11),
        (30, 11, 13),
    ]
    assert answer["best"] == answer["candidates"][0]
    assert answer["schema"] == "gas.plan/1"
    assert answer["endpoints"] == [{"name": "paper", "ok": True, "error": None}]


@pytest.mark.parametrize(
    "toml",
    [
        '[speedup]\nmodel = "nas"\nbenchmark = "LU"\nclass = "C"\n',
        '[speedup]\nmodel = "downey"\nsequential_time = 100\nA = 8\nsigma = 0.5\n[processors]\nmax = 16\n',
        'name = "a"\n[speedup]\nmodel = "amdahl"\nsequential_time = 9\nserial_fraction = 0.1\n[walltime]\nsafety = 2\n',
        '[speedup]\nmodel = "table"\ntimes = { 4 = 9, 16 = 3.5 }\ninterpolate = true\n'
        '[processors]\nconstraint = "multiple"\nmultiple = 3\n',
    ],
)
def test_tables_as_json_plan_as_the_same_tables_in_a_file(toml, tmp_path):
    import tomllib

    file = tmp_path / "application.toml"
    file.write_text(toml)
    expected = plan(read_application(file), PAPER).to_wire()
    answer = asked(json.loads(json.dumps({"name": "application", **tomllib.loads(toml)})))
    assert {**answer, "endpoints": []} == expected
    assert answer["best"] is not None


def test_what_the_user_may_add_reaches_the_planner():
    def best(**more):
        return asked(EXAMPLE, **more)["best"]["processors"]

    assert best(not_before=16) == 30
    assert best(tolerance=0.2) == 10
    assert best(max_processor_hours=0.015) == 10
    assert best(deadline=10) == 20
    assert best(algorithm="walk") == 20


def test_nothing_possible_is_an_answer_with_reasons():
    answer = asked(EXAMPLE, deadline=9)
    assert answer["best"] is None
    assert {r["processors"]: r["reason"] for r in answer["rejected"]}[20] == "would finish 1s after the deadline"


def test_the_answer_is_what_the_openapi_document_says():
    for more in ({}, {"deadline": 9}):
        answer = asked(EXAMPLE, **more)
        assert PlanAnswer.model_validate(answer).model_dump(by_alias=True) == answer


@pytest.mark.parametrize(
    "more",
    [
        {"tolerence": 0.1},
        {"tolerance": 1.5},
        {"tolerance": float("nan")},
        {"tolerance": "5%"},
        {"deadline": 1.5},
        {"deadline": True},
        {"deadline": 2**53},
        {"not_before": -1},
        {"max_processor_hours": 0},
        {"max_processor_hours": float("inf")},
        {"algorithm": "best"},
        {"application": "lu.toml"},
        {"application": None},
    ],
)
def test_a_body_is_read_strictly(more):
    with pytest.raises(ValidationError):
        PlanBody.model_validate({"application": EXAMPLE, **more})


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({}, "body.application speedup: is missing"),
        ({"speedup": []}, "body.application [speedup]: [] is not a table"),
        ({**EXAMPLE, "walltme": {}}, 'body.application: has no key "walltme"; did you mean "walltime"?'),
        ({"speedup": {"model": "table", "times": {"0": 1}}}, "body.application [speedup] [times]: '0' is not"),
        ({"speedup": {"model": "table", "times": {"1": -1}}}, "body.application [speedup] [times] 1: -1 must be"),
        ({**EXAMPLE, "walltime": {"safety": 0.5}}, "body.application [walltime] safety: 0.5 is below 1"),
        ({**EXAMPLE, "name": "x" * 201}, "body.application name: "),
        (
            {**EXAMPLE, "processors": {"constraint": "list", "list": []}},
            "body.application [processors] list: [] is not",
        ),
    ],
)
def test_errors_name_the_place(tables, said):
    with pytest.raises((BadInput, FieldError)) as error:
        asked(tables)
    assert str(error.value).startswith(said)


# ------------------------------------------------------------------------------------------- what a stranger may ask


def test_a_plug_in_is_refused_before_it_is_loaded(monkeypatch):
    def never(*_, **__):
        raise AssertionError("plug-ins were looked for")

    monkeypatch.setattr("speedup_models.registry.entry_points", never)
    with pytest.raises(BadInput, match=r"'fromfile' is not available in the service, which has amdahl, .*gas plan"):
        asked({"speedup": {"model": "fromfile", "path": "/etc/passwd"}})


@pytest.mark.parametrize("key", ["times", "list"])
def test_long_tables_are_refused(key):
    counts = range(1, planning.MOST_ENTRIES + 2)
    tables = dict(EXAMPLE)
    if key == "times":
        tables["speedup"] = {"model": "table", "times": {str(n): 1 for n in counts}}
    else:
        tables["processors"] = {"constraint": "list", "list": list(counts)}
    with pytest.raises(BadInput, match=rf"{key}: 10001 entries exceed the limit of 10000.*leave some out"):
        asked(tables)


@given(
    st.integers(1, 400),
    st.one_of(
        st.builds(lambda low, more: {"min": low, "max": low + more}, st.integers(1, 300), st.integers(0, 300)),
        st.builds(lambda m: {"constraint": "multiple", "multiple": m}, st.integers(1, 50)),
        st.builds(
            lambda m, low: {"constraint": "multiple", "multiple": m, "min": low}, st.integers(1, 50), st.integers(1, 90)
        ),
        st.sampled_from([{}, {"constraint": "power-of-two"}, {"constraint": "perfect-square", "min": 3}]),
        st.builds(lambda s: {"constraint": "list", "list": sorted(s)}, st.sets(st.integers(1, 400), min_size=1)),
    ),
    st.integers(0, 60),
)
def test_more_sizes_than_the_limit_are_refused_and_no_fewer(machine, processors, limit):
    tables = {"speedup": {"model": "amdahl", "sequential_time": 9, "serial_fraction": 0}, "processors": processors}
    tried = len(Application.from_tables(tables, "x").sizes(machine))
    free = AvailabilityList.of([0], [machine])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "MOST_SIZES", limit)
        if tried > limit:
            with pytest.raises(BadInput, match=f"{tried} processor counts exceed the service's limit of {limit}"):
                plan_for(PlanBody(application=tables), free)
        else:
            assert len(plan_for(PlanBody(application=tables), free)["candidates"]) == tried


def test_any_size_of_a_machine_of_millions_is_refused_without_trying_them():
    tables = {"speedup": {"model": "amdahl", "sequential_time": 9, "serial_fraction": 0.1}}
    huge = AvailabilityList.of([0], [2**31 - 1])
    with pytest.raises(BadInput, match="2147483647 processor counts exceed.*set a max or a narrower"):
        plan_for(PlanBody(application=tables), huge)
    tables["processors"] = {"constraint": "power-of-two"}
    assert len(plan_for(PlanBody(application=tables), huge)["candidates"]) == 31


def test_the_walk_over_too_many_pairs_is_refused_and_exact_is_not(monkeypatch):
    monkeypatch.setattr(planning, "MOST_PAIRS", 14)  # the example has 3 sizes times 5 frames
    with pytest.raises(BadInput, match="body.algorithm: the walk over 3 processor counts and 5 frames.*use exact"):
        asked(EXAMPLE, algorithm="walk")
    assert asked(EXAMPLE)["best"]["processors"] == 20


@pytest.mark.parametrize(
    "tables",
    [
        {"speedup": {"model": ["table"]}},
        {"speedup": {"model": "table", "times": [1, 2]}},
        {"speedup": {"model": "table", "times": {"1": 10**400}}},
        {"speedup": {"model": "table", "times": {"1": 2.0**53}}},
        {"speedup": {"model": "table", "times": {"16": 1}, "interpolate": 1}},
        {"speedup": None},
        {"speedup": {"model": "nas", "benchmark": "LU", "class": "C", "dataset": "../secrets"}},
        {**EXAMPLE, "processors": {"constraint": "list", "list": [2**40]}},
        {**EXAMPLE, "name": None},
    ],
)
def test_what_cannot_be_used_is_a_foreseen_error(tables):
    with pytest.raises((BadInput, FieldError, ModelError)):
        asked(tables)
