"""Whose account it is, who is above it, and which QOS a job gets that names none."""

from dataclasses import replace

from slurm_standing import an_accounting

from gas.slurm.accounting import Accounting, Association, Qos


def test_the_association_for_a_partition_comes_before_the_one_for_all():
    everywhere, there = Association("lab", "me", shares=1), Association("lab", "me", "gpu", shares=2)
    found = Accounting("me", (everywhere, there))
    assert found.association("lab", "gpu") is there
    assert found.association("lab", "main") is everywhere
    assert found.association("lab", "gpu", "other") is None
    assert Accounting("me", (there,)).association("lab", "main") is None


def test_accounts_above_up_to_root():
    found = an_accounting()
    own = found.association("lab")
    assert [one.account for one in found.above(own)] == ["lab", "root"]
    assert found.reaches_root(own)
    cut = replace(found, associations=tuple(one for one in found.associations if one.account != "root"))
    assert not cut.reaches_root(own)


def test_accounts_that_are_above_each_other_end():
    loop = (Association("a", parent="b"), Association("b", parent="a"), Association("a", "me"))
    found = Accounting("me", loop)
    assert [one.account for one in found.above(loop[2])] == ["a", "b"]


def test_the_default_account_comes_first():
    both = (Association("a", "me"), Association("b", "me"), Association("c", "other"))
    assert Accounting("me", both, default_account="b").accounts() == ("b", "a")


def test_the_qos_of_a_job_that_names_none():
    qos = {"normal": Qos("normal"), "high": Qos("high")}
    own = Association("lab", "me", qos=("normal", "high"))
    found = Accounting("me", (own,), qos)
    assert found.default_qos(replace(own, default_qos="high")) == "high"
    assert found.default_qos(replace(own, qos=("high",))) == "high"
    assert found.default_qos(own) == "normal"
    with_root = Accounting("me", (own, Association("root", default_qos="high")), qos)
    assert with_root.default_qos(own) == "high"
    assert Accounting("me", (own,), {"high": Qos("high")}).default_qos(own) == ""


def test_flags_are_asked_for_as_sacctmgr_writes_them():
    assert Qos("a", flags=frozenset({"denyonlimit"})).has("DenyOnLimit")
    assert not Qos("a", flags=None).has("DenyOnLimit")
