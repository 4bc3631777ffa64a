"""What real Slurms of three releases say of accounts, QOS, limits and use, by commands and by slurmrestd."""

from math import inf

import pytest
from slurm_standing import ASKER, read, told

from gas.endpoints.slurm.accounting_answers import QUERIES, queries, read_accounting

RELEASES = ("22.05", "24.11", "26.05")


@pytest.mark.parametrize("release", RELEASES)
def test_one_knows_ones_accounts_and_what_they_may_use(release):
    _, found = read(release)
    assert found.remarks == ()
    assert found.accounts() == ("lab", "chem")
    assert found.default_account == "lab"
    lab = found.association("lab")
    assert set(lab.qos) == {"normal", "high", "low", "over"}
    assert found.default_qos(lab) == "normal"
    assert [one.account for one in found.above(lab)] == ["lab", "phys", "root"]
    assert found.reaches_root(lab)


@pytest.mark.parametrize("release", RELEASES)
def test_shares_are_those_of_all(release):
    _, found = read(release)
    assert found.shares_complete
    assert len([one for one in found.associations if one.user]) == 6
    by_account = {one.account: one for one in found.associations if not one.user}
    assert (by_account["phys"].shares, by_account["chem"].shares, by_account["lab"].parent) == (3, 2, "phys")
    assert found.association("lab").fair_share is not None
    assert inf in {one.level for one in found.associations}
    like_parent = [one for one in found.associations if one.shares is None]
    assert [one.account for one in like_parent] == ["phys"]


@pytest.mark.parametrize("release", RELEASES)
def test_where_others_are_hidden_ones_own_limits_and_share_are_left(release):
    _, found = read(release, "private")
    assert found.accounts() == ("lab", "chem")
    assert not found.shares_complete
    assert found.association("lab").fair_share is not None
    assert found.qos["high"].use_by_user[ASKER[release]].jobs == 1
    # slurmdbd has its own PrivateData: limits of accounts are there, their use is not
    phys = found.association("phys", user="")
    assert phys.bounds.group_tres == {"cpu": 40}
    assert phys.use is None
    assert found.reaches_root(found.association("lab"))


@pytest.mark.parametrize("missing", QUERIES[1:])
def test_without_an_answer_a_remark_says_what_that_costs(missing):
    answers = {name: text for name, text in told("24.11").items() if name != missing}
    found = read_accounting(answers, "u1", {missing: "slurm_persist_conn_open: Connection refused"})
    asked = queries("u1")[missing]
    (remark,) = found.remarks
    assert remark.endswith(f"what is missing: {asked.unknown}")
    assert "(slurm_persist_conn_open: Connection refused)" in remark
    assert "lab" in found.accounts()


def test_without_any_answer_nothing_is_known():
    found = read_accounting({}, "u1")
    assert (found.associations, dict(found.qos), len(found.remarks)) == ((), {}, len(QUERIES) - 1)


def test_questions_are_short_and_name_how_long_an_answer_is_good():
    asked = queries("u1")
    assert tuple(asked) == QUERIES
    assert {name: one.lifetime for name, one in asked.items()} == {
        "config": 600, "limits": 15, "shares": 15, "qos": 600, "associations": 600, "accounts": 600,
    }  # fmt: skip
    assert asked["limits"].command[-1] == "users=u1"
