"""What real Slurms of three releases say of accounts, QOS, limits and use, by commands and by slurmrestd."""

from math import inf

import pytest
from slurm_standing import ASKER, read, told

from gas.endpoints.slurm.accounting_answers import QUESTIONS, questions, read_accounting
from gas.slurm.accounting import Bounds

RELEASES = ("22.05", "24.11", "26.05")
REST = {"22.05": (38,), "24.11": (40, 42), "26.05": (42, 45)}


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
def test_limits_of_accounts_and_what_is_in_use(release):
    _, found = read(release)
    phys, lab = found.association("phys", user=""), found.association("lab", user="")
    assert phys.bounds == Bounds(group_tres={"cpu": 40}, group_tres_minutes={"cpu": 100_000}, jobs=8)
    assert lab.bounds == Bounds(group_tres={"mem": 20_000, "node": 9}, group_jobs=6, group_wall=3_000_000, jobs=8)
    assert lab.use.jobs >= 1
    assert 0 < lab.use.tres["cpu"] <= phys.use.tres["cpu"] <= 40
    assert lab.use.run_minutes["cpu"] > 0
    assert found.association("lab").bounds == Bounds(jobs=8)  # inherited; limits of groups are not
    assert found.association("chem").bounds == Bounds(longest=36_000)


@pytest.mark.parametrize("release", RELEASES)
def test_limits_and_flags_of_qos(release):
    _, found = read(release)
    high, low, part = (found.qos[name] for name in ("high", "low", "part"))
    assert high.bounds == Bounds(group_tres={"cpu": 30}, user_tres={"cpu": 20}, longest=7200)
    assert (high.priority, high.has("DenyOnLimit"), high.use_by_user[ASKER[release]].tres["cpu"]) == (100, True, 4)
    assert low.bounds == Bounds(least_tres={"cpu": 2}, user_jobs=3, user_submitted=5, account_tres={"cpu": 24})
    assert low.usage_factor == 0.5
    assert part.bounds == Bounds(
        group_run_minutes={"cpu": 20_000}, job_tres={"cpu": 12}, node_tres={"cpu": 3},
        user_tres={"cpu": 16, "mem": 9000},
    )  # fmt: skip
    assert found.qos["over"].has("OverPartQOS")
    assert found.qos["over"].bounds.group_jobs == 4


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


@pytest.mark.parametrize("missing", QUESTIONS[1:])
def test_without_an_answer_a_remark_says_what_that_costs(missing):
    answers = {name: text for name, text in told("24.11").items() if name != missing}
    found = read_accounting(answers, "u1", {missing: "slurm_persist_conn_open: Connection refused"})
    asked = questions("u1")[missing]
    (remark,) = found.remarks
    assert remark.endswith(f"what is missing: {asked.costs}")
    assert "(slurm_persist_conn_open: Connection refused)" in remark
    assert "lab" in found.accounts()


def test_without_any_answer_nothing_is_known():
    found = read_accounting({}, "u1")
    assert (found.associations, dict(found.qos), len(found.remarks)) == ((), {}, len(QUESTIONS) - 1)


def test_what_is_not_understood_is_left_out_and_said():
    answers = told("24.11")
    answers["limits"] = answers["limits"].replace("GrpTRES=cpu=40(", "GrpTRES=cpu=forty(")
    answers["qos"] = answers["qos"].replace("high|100|", "high|much|")
    found = read_accounting(answers, "u1")
    assert len(found.remarks) == 2
    assert all("not understood" in one for one in found.remarks)
    assert found.association("phys", user="").bounds.group_tres == {"cpu": 40}  # slurmdbd has it too


def test_questions_are_short_and_name_how_long_an_answer_is_good():
    asked = questions("u1")
    assert tuple(asked) == QUESTIONS
    assert {name: one.lifetime for name, one in asked.items()} == {
        "config": 600, "limits": 60, "shares": 60, "qos": 600, "associations": 600, "accounts": 600,
    }  # fmt: skip
    assert asked["limits"].command[-1] == "users=u1"
