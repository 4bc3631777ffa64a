"""Jobs of a user share their luck, to a degree that is learnt."""

import numpy as np
import pytest

from gas.prediction.luck import TYPICAL, Amounts, amounts_of, scores_together

DAY = 86_400


def together(amounts, user, kind, submit, gone=None, samples=4000, seed=0):
    kind = np.array(kind, np.uint64)
    gone = np.zeros(len(user)) if gone is None else np.array(gone)
    generator = np.random.default_rng(seed)
    return scores_together(amounts, np.array(user), kind, np.array(submit), gone, samples, generator)


def correlation(drawn, one=0, other=1):
    return np.corrcoef(drawn[:, one], drawn[:, other])[0, 1]


def test_each_job_by_itself_may_have_any_luck():
    drawn = together(Amounts(0.5, 0.4), [1] * 4 + [2], [1, 1, 2, 2, 1], [0, 0, 60, 9000, 0])
    for column in drawn.T:
        assert np.quantile(column, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.03)


def test_only_jobs_of_a_user_share_luck_those_of_a_kind_more_and_those_submitted_together_most():
    def shared(user, kind, apart):
        return correlation(together(Amounts(0.5, 0.3), user, kind, [0, apart]))

    alike, others = shared([1, 1], [1, 1], 0), shared([1, 1], [1, 2], 0)
    assert alike == pytest.approx(0.8, abs=0.05)
    assert others == pytest.approx(0.5, abs=0.05)
    assert alike > shared([1, 1], [1, 1], 3600) > shared([1, 1], [1, 1], 30 * DAY)
    assert abs(shared([1, 2], [1, 1], 0)) < 0.05
    assert abs(shared([-1, -1], [1, 1], 0)) < 0.05, "nobody knows whether they are of one user"


def test_a_job_that_has_outlived_most_has_good_luck_and_so_have_jobs_that_share_it():
    drawn = together(Amounts(0.6, 0.3), [1, 1, 2], [1, 1, 1], [0, 0, 0], gone=[0.9, 0.0, 0.0])
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.03), "of what is left to it, any"
    assert drawn[:, 1].mean() > 0.75
    assert drawn[:, 2].mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.thorough
def test_a_user_of_thousands_shares_luck_with_neighbours():
    drawn = together(TYPICAL, [1] * 2500, [1] * 2500, list(range(2500)), samples=200)
    assert correlation(drawn, 0, 1) > 0.6
    assert correlation(drawn, 2498, 2499) > 0.6


def pairs(generator, count, user, kind):
    """Return pairs of jobs of one kind, submitted at one instant, with this degree of shared luck."""
    half = generator.random(count) < 0.5
    shared = np.where(half, user + kind, user)
    one, own = generator.standard_normal((2, count))
    other = shared * one + np.sqrt(1 - shared**2) * own
    return np.column_stack([one, other]), np.zeros(count, np.int64), half


@pytest.mark.parametrize(("user", "kind"), [(0.0, 0.0), (0.3, 0.5), (0.6, 0.1)])
def test_how_much_is_shared_is_learnt(user, kind):
    found = amounts_of(*pairs(np.random.default_rng(1), 4000, user, kind))
    assert found == pytest.approx((user, kind), abs=0.08)


def test_few_pairs_change_little_and_none_nothing():
    generator = np.random.default_rng(2)
    assert amounts_of(*pairs(generator, 0, 0.0, 0.0)) == TYPICAL
    few, many = (amounts_of(*pairs(generator, count, 0.0, 0.0)) for count in (10, 1000))
    assert TYPICAL.user > few.user > many.user


def test_no_two_jobs_are_taken_to_be_the_same():
    scores = np.repeat(np.random.default_rng(3).standard_normal((3000, 1)), 2, axis=1)
    found = amounts_of(scores, np.zeros(3000, np.int64), np.ones(3000, bool))
    assert sum(found) == pytest.approx(0.9)
