"""What the paper says, and when it holds here."""

from pathlib import Path

import pytest

from experiments.backfilling.claims import alike, as_much_backfilled, claims, headline, percent
from experiments.backfilling.models import CHANGES
from experiments.backfilling.results import ChangeRun, LogRun, ModelRun, Options, Results, variants
from experiments.framework.logs import SOURCES, Found
from workloads import Header


def kth(**means):
    """The claims of a study of one log, KTH, with these mean responses by the rules and policy."""
    source = next(source for source in SOURCES if source.trace == "KTH")
    log = Found(source, "KTH", Path("KTH.swf"), "0" * 64, Header())
    runs = [LogRun(log, variant) for variant in variants(log) if variant.name in ("", "estimates doubled")]
    results = [
        {
            "jobs": 1,
            "overall": {
                policy: {"response": mean, "slowdown": 1.0, "backfilled": 0.5}
                for policy, mean in (("easy", easy), ("conservative", conservative))
            },
            "months": [],
            "by_end": [],
        }
        for easy, conservative in (means["plain"], means.get("doubled", means["plain"]))
    ]
    return claims(Results(Options(), [], runs, results, [], []))


def scheme(response, *, slowdown=1.0, backfilled=0.5, reason="batches", batches=100, together=None):
    own = {"response": response, "slowdown": slowdown, "backfilled": backfilled}
    return {**own, "reason": reason, "batches": batches, "together": own | (together or {})}


def models(model, *points):
    """The claims of a study of one model with these points: load, EASY, conservative."""
    runs = [ModelRun(model, load, 2100, 0) for load, _, _ in points]
    results = [{"easy": easy, "conservative": conservative} for _, easy, conservative in points]
    return claims(Results(Options(), [], [], [], runs, results))


def the(found, words):
    (claim,) = [claim for claim in found if words in claim.text]
    return claim


def test_overall_means_hold_within_five_per_cent():
    found = kth(plain=(15568 * 1.049, 16288 * 0.949))
    easy, conservative = (the(found, f"mean response of KTH under {p} ") for p in ("EASY", "conservative"))
    assert (easy.holds, conservative.holds) == (True, False)
    assert "+4.9%" in easy.here
    assert "-5.1%" in conservative.here


def test_overall_means_that_no_mark_is_set_for_are_reported():
    reported = [claim for claim in kth(plain=(1.0, 1.0)) if claim.reported]
    assert [claim.text.partition(" is ")[0] for claim in reported] == [
        "mean bounded slowdown of KTH under EASY",
        "mean bounded slowdown of KTH under conservative",
    ]
    assert all(claim.holds is None for claim in reported)


def test_doubling_is_tested_by_the_sign_of_what_it_changes():
    found = the(kth(plain=(100.0, 100.0), doubled=(99.0, 101.0)), "doubling")
    assert found.holds is None  # not all logs are at hand
    assert "response of KTH under conservative +1.0%" in found.here
    assert "response of KTH under EASY" not in found.here


def test_what_is_not_at_hand_is_not_tested():
    untested = [claim for claim in kth(plain=(15568, 16288)) if "KTH under" not in claim.text]
    assert len(untested) == 20 - 4
    assert {claim.holds for claim in untested} == {None}


def test_models_are_compared_at_own_ends_and_over_the_same_batches():
    point = (0.8, scheme(100, together={"response": 100}), scheme(90, together={"response": 120}))
    claim = the(models("J", point), "lower mean response")
    assert (claim.holds, claim.shared) == (False, True)
    assert claim.here == (
        "own end: no, at 0 of 1 load, conservative -10.0% against EASY; "
        "same batches: yes, at 1 of 1 load, conservative +20.0% against EASY"
    )


def test_the_headline_counts_both_ways_of_comparing_models_apart():
    together = {"response": 120, "slowdown": 0.5, "backfilled": 0.4}
    found = models("J", (0.8, scheme(100), scheme(90, together=together)))
    # Of model J three statements are tested: response, slowdown and amount; at own ends none holds.
    assert headline(found) == (
        "Of the statements on logs that could be tested, 0 of 0 hold. Of those on models, 0 of 3 hold with each run at "
        "its own end, as the paper compares them, and 3 of 3 hold over the batches that both schemes completed."
    )
    assert "models" not in headline(kth(plain=(15568, 16288)))


def test_loads_at_which_both_runs_were_cut_off_count_neither_way():
    settled = (0.8, scheme(100), scheme(110))
    cut_off = (0.9, scheme(31000, reason="threshold"), scheme(30500, reason="threshold"))
    one_cut = (0.85, scheme(29000), scheme(30500, reason="threshold"))
    claim = the(models("J", settled, one_cut, cut_off), "lower mean response")
    assert (claim.holds, claim.shared) == (True, False)  # over the same batches, 0.9 counts
    assert "at 2 of 2 loads" in claim.here
    assert "load 0.9 (-1.6%)" in claim.here
    only = the(models("J", cut_off), "lower mean response")
    assert (only.holds, only.shared) == (None, False)
    assert only.here.startswith("own end: not tested; not counted")


def test_low_loads_say_nothing_of_what_happens_at_high_ones():
    assert the(models("J", (0.5, scheme(100), scheme(90))), "lower mean response").holds is None


def test_practically_identical_is_within_ten_per_cent_either_way():
    for conservative, holds in ((109, True), (91, True), (111, False), (89, False)):
        assert the(models("F", (0.5, scheme(100), scheme(conservative))), "practically").holds is holds


def test_runs_that_see_different_stretches_are_named_where_that_decides():
    easy = scheme(1, backfilled=0.3, batches=27, together={"backfilled": 0.3})
    conservative = scheme(1, backfilled=0.4, together={"backfilled": 0.2})
    claim = the(models("J", (0.6, easy, conservative)), "EASY backfills slightly more")
    assert (claim.holds, claim.shared) == (False, True)
    assert "load 0.6 (EASY after 27, conservative after 100)" in claim.why
    assert "same batches: yes, at 1 of 1 load, EASY +10.0 points against conservative" in claim.here


def test_changes_that_would_make_a_statement_hold_are_named():
    changes = [ChangeRun(change, load, 2100, 0) for change in CHANGES[:3] for load in (0.6, 0.9)]
    backfilled = iter((0.5, 0.5, 0.5, 0.6, 0.5, 0.51))
    means = iter((100, 130, 105, 95, 105, 115))
    results = [{"easy": scheme(100), "conservative": scheme(next(means), backfilled=next(backfilled))} for _ in changes]
    run, point = ModelRun("F", 0.6, 2100, 0), {"easy": scheme(100), "conservative": scheme(120)}
    study = Results(Options(), [], [], [], [run], [point], changes, results)
    assert alike(study) == [CHANGES[1].name]
    assert as_much_backfilled(study) == [CHANGES[0].name, CHANGES[2].name]
    assert f"“{CHANGES[1].name}”" in the(claims(study), "practically").why


def test_a_difference_is_what_going_from_easy_to_conservative_changes():
    assert percent({"easy": scheme(200), "conservative": scheme(150)}, "response") == pytest.approx(-25)
