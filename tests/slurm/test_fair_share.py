"""Fair share: read where it is published, and calculated as the Slurms did that were asked."""

from dataclasses import replace
from math import inf, log

import pytest
from slurm_standing import SETTINGS, an_accounting, read

from gas.slurm.accounting import Accounting, Association
from gas.slurm.fair_share import classic, factor, fair_tree

RELEASES = ("22.05", "24.11", "26.05")


def users(accounting):
    return {(one.account, one.user, one.partition): one.fair_share for one in accounting.associations if one.user}


@pytest.mark.parametrize("release", RELEASES)
def test_fair_tree_ranks_as_slurm_does(release):
    _, accounting = read(release)
    assert fair_tree(accounting.associations) == pytest.approx(users(accounting), abs=1e-6)


def test_before_it_was_two_to_the_power_of_use_by_share():
    associations = tree(
        ("root", "", "", 1, 100.0), ("a", "", "root", 3, 60.0), ("b", "", "root", 1, 40.0),
        ("a", "u", "a", 1, 60.0), ("a", "v", "a", 1, 0.0), ("b", "w", "b", None, 40.0), ("root", "x", "root", 0, 0.0),
    )  # fmt: skip
    found = {key[1]: value for key, value in classic(associations, SETTINGS).items()}
    # u has 3/8 of the shares and used 0.6; v's use is half of its account's; w shares as b does
    assert found == pytest.approx(
        {"u": 2 ** -(0.6 / 0.375), "v": 2 ** -(0.3 / 0.375), "w": 2 ** -(0.4 / 0.25), "x": 0.0}
    )
    halved = classic(associations, replace(SETTINGS, dampening=2))
    assert halved["a", "u", ""] == pytest.approx(2 ** -(0.6 / 0.375 / 2))


def test_or_by_a_formula_that_depth_does_not_matter_in():
    associations = tree(
        ("root", "", "", 1, 100.0), ("a", "", "root", 3, 60.0), ("b", "", "root", 1, 40.0),
        ("a", "u", "a", 1, 45.0), ("a", "v", "a", 1, 15.0),
    )  # fmt: skip
    found = classic(associations, replace(SETTINGS, priority_flags=frozenset({"DEPTH_OBLIVIOUS"})))
    over, ratio = 0.6 / 0.75, (0.45 / 0.375) / (0.6 / 0.75)
    damp = 1 / (1 + (5 * log(over)) ** 2)  # the account used less than its part, the user more
    assert found["a", "u", ""] == pytest.approx(2 ** -(over * ratio**damp))


@pytest.mark.parametrize("release", RELEASES)
def test_a_rank_that_is_read_is_exact(release):
    settings, accounting = read(release)
    lab = accounting.association("lab")
    assert lab.fair_share * 6 != round(lab.fair_share * 6)
    assert factor(accounting, lab, settings) * 6 == round(lab.fair_share * 6)


def test_where_none_is_published_it_is_calculated_if_all_shares_are():
    accounting = an_accounting()
    own = accounting.association("lab")
    assert factor(accounting, own, SETTINGS) == 1.0  # nobody has used anything: all tie
    assert factor(replace(accounting, shares_complete=False), own, SETTINGS) is None


def tree(*rows):
    return tuple(
        Association(account, user, parent=account if user else parent, shares=shares, usage=usage)
        for account, user, parent, shares, usage in rows
    )


def test_the_best_user_has_one_and_each_next_a_step_less():
    associations = tree(
        ("root", "", "", 1, 100.0), ("a", "", "root", 1, 80.0), ("b", "", "root", 1, 20.0),
        ("a", "u", "a", 1, 70.0), ("a", "v", "a", 1, 10.0), ("b", "w", "b", 1, 20.0), ("root", "root", "root", 1, 0.0),
    )  # fmt: skip
    found = {key[1]: value for key, value in fair_tree(associations).items()}
    assert found == {"root": 1.0, "w": 0.75, "v": 0.5, "u": 0.25}


def test_users_of_one_level_share_a_rank_and_the_next_skips():
    associations = tree(
        ("root", "", "", 1, 30.0), ("root", "u", "root", 1, 10.0), ("root", "v", "root", 1, 10.0),
        ("root", "w", "root", 1, 10.0), ("root", "x", "root", 0, 0.0),
    )  # fmt: skip
    found = {key[1]: value for key, value in fair_tree(associations).items()}
    assert found == {"u": 1.0, "v": 1.0, "w": 1.0, "x": 0.25}


def test_children_of_an_account_that_shares_as_its_parent_stand_beside_it():
    associations = tree(
        ("root", "", "", 1, 100.0), ("a", "", "root", 1, 50.0), ("sub", "", "a", None, 50.0),
        ("sub", "u", "sub", 1, 40.0), ("a", "v", "a", 1, 10.0),
    )  # fmt: skip
    found = {key[1]: value for key, value in fair_tree(associations).items()}
    assert found == {"v": 1.0, "u": 0.5}


def test_nothing_used_at_all_is_the_best_share():
    assert set(classic(an_accounting().associations, SETTINGS).values()) == {1.0}
    accounting = Accounting("me", tree(("root", "", "", 1, 0.0), ("root", "me", "root", 1, 0.0)))
    assert fair_tree(accounting.associations) == {("root", "me", ""): 1.0}
    assert accounting.associations[1].level in (None, inf)
