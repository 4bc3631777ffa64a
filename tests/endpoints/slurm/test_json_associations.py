"""What slurmrestd says of accounts, QOS, limits and use, beside what commands say."""

import pytest
from slurm_standing import ASKER, FOLDER, read

from gas.endpoints.slurm import json_associations

REST = {"22.05": (38,), "24.11": (40, 42), "26.05": (42, 45)}


@pytest.mark.parametrize(("release", "version"), [(one, number) for one in REST for number in REST[one]])
def test_slurmrestd_says_the_same(release, version):
    folder = FOLDER / f"v0.0.{version}-{release}"
    answers = {path.stem: path.read_text() for path in folder.iterdir()}
    found = json_associations.read_accounting(answers, ASKER[release])
    _, by_command = read(release)
    assert found.remarks == (() if release != "22.05" else found.remarks[:1])
    assert (found.default_account, found.shares_complete) == ("lab", release != "22.05")
    for name, one in by_command.qos.items():
        there = found.qos[name]
        assert (there.bounds, there.priority, there.usage_factor) == (one.bounds, one.priority, one.usage_factor), name
        assert there.flags == one.flags, name
    for one in by_command.associations:
        there = found.association(one.account, one.partition, one.user)
        if one.user in ("", ASKER[release]):  # the controller is asked for one's own
            assert there.bounds == one.bounds, one
        if one.user and release != "22.05":
            assert there.fair_share == pytest.approx(one.fair_share, abs=1e-6)
    assert found.association("lab").qos is not None


def test_slurmrestd_may_answer_nonsense():
    for text in ("", "[]", '{"qos": 3}', '{"qos": [3]}', '{"qos": [{"name": "a", "limits": {"max": []}}]}'):
        found = json_associations.read_accounting({"qos": text}, "u1")
        assert found.associations == ()
    assert any("cannot be parsed" in one for one in json_associations.read_accounting({"qos": ""}, "u1").remarks)
