"""The records of limits: each with what is in use of it; what is not understood is left out and said."""

import pytest
from slurm_standing import ASKER, read, told

from gas.endpoints.slurm.accounting_answers import read_accounting
from gas.slurm.accounting import Bounds

RELEASES = ("22.05", "24.11", "26.05")


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


def test_what_is_not_understood_is_left_out_and_said():
    answers = told("24.11")
    answers["limits"] = answers["limits"].replace("GrpTRES=cpu=40(", "GrpTRES=cpu=forty(")
    answers["qos"] = answers["qos"].replace("high|100|", "high|much|")
    found = read_accounting(answers, "u1")
    assert len(found.remarks) == 2
    assert all("cannot be parsed" in one for one in found.remarks)
    assert found.association("phys", user="").bounds.group_tres == {"cpu": 40}  # slurmdbd has it too
