"""The paper's statements on many applications hold where the figures say so, and fail where they do not."""

import pytest

from experiments.bushel.claims import beyond, claims, likeness
from experiments.bushel.results import KINDS, OPPONENTS
from experiments.published import bushel


def test_claims_hold_where_they_do(figures, made_study):
    def good(run):
        mix = getattr(run.kind, "mix", "thirds")
        return figures(100.0 + run.percent, 1000.0 if mix == "unrestricted" else 500.0, run.percent)

    study = made_study(good)
    for opponent in OPPONENTS:
        found = claims(study, opponent)
        assert [claim.verdict for claim in found] == ["yes"] * 6 + ["not resolved"]
        assert "20 parts: 20 confirm" in found[0].here  # two logs
        assert "40 parts: 40 confirm" in found[1].here
    # Against static requests and the original log (in which they took 90 s), for both opponents; then all jobs
    # moldable.
    assert [claim.holds for claim in beyond(study)] == [True, False, True, False, True]
    assert "60 parts: 60 contradict" in beyond(study)[1].here
    assert beyond(study)[-1].here.endswith("; jobs that end later: CTC 20%, KTH 20%")


def test_and_fail_where_they_do_not(figures, made_study):
    def bad(run):
        mix = getattr(run.kind, "mix", "thirds")
        static = 90.0 + 10 * run.percent if mix == "restricted" else 90.0 + run.percent
        found = figures(100.0, static, run.percent)
        found["by_month"] |= {"loses": [0] * 24, "requested_static": [1 + run.percent] * 24}
        return found

    found = claims(made_study(bad), "own")
    assert [claim.holds for claim in found] == [False] * 7


def test_a_scenario_with_too_few_jobs_is_missing_and_counted(figures, made_study):
    def short(run):
        few = run.percent > 30 and getattr(run.kind, "opponent", "") == "own"
        return {"jobs": 1000, "moldable": 0} if few else figures(100.0, 300.0, run.percent)

    study = made_study(short)
    assert study.percents("KTH", KINDS["thirds", "own"]) == [5, 10, 15, 20, 25, 30]
    assert "8 more scenarios have too few jobs" in claims(study, "own")[0].here
    assert "too few" not in claims(study, "uniform")[0].here


def test_likeness_is_the_geometric_mean_of_ours_over_the_papers(figures, made_study):
    printed = {(one.trace, one.mix, one.percent): one for one in bushel()}

    def twice(run):
        one = printed.get((run.site.trace, getattr(run.kind, "mix", ""), run.percent))
        if one is None:
            return figures(1.0, 1.0, run.percent)
        own = run.kind.opponent == "own"
        return figures(2 * one.gas, one.static / 3 if own else one.static, run.percent)

    found = likeness(made_study(twice))
    own, uniform = (one for one in found if one.of == "all")
    assert len(found) == 2 * (1 + 2 * 3)  # the logs and mixes, too
    assert (own.gas, own.static, own.furthest_static) == (pytest.approx(2), pytest.approx(1 / 3), pytest.approx(3))
    assert (uniform.static, uniform.scenarios) == (pytest.approx(1), 60)
