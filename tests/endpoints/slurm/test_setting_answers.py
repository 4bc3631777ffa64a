"""How real Slurms of three releases say they are configured, and that the same is read of both ways to ask."""

import json

import pytest
from slurm_standing import FOLDER, told

from gas.endpoints.slurm.setting_answers import config_values, json_values, read_json_settings, read_settings, seconds

RELEASES = ("22.05", "24.11", "26.05")


@pytest.mark.parametrize("release", RELEASES)
def test_priority_enforcement_and_preemption_are_read(release):
    found = read_settings(config_values(told(release)["config"]))
    assert found.release() == tuple(map(int, release.split(".")))
    assert (found.priority_type, found.favour_small, found.site_factor, found.dampening) == (
        "multifactor",
        False,
        "",
        1,
    )
    assert found.weights == {
        "age": 1000, "association": 100, "fair share": 10_000, "size": 2000, "partition": 3000, "QOS": 5000,
    }  # fmt: skip
    assert found.tres_weights == {"cpu": 700, "mem": 300}
    assert (found.max_age, found.half_life, found.calculation_period) == (86_400, 86_400, 60)
    assert found.enforced == {"associations", "limits", "qos"}
    assert (found.limits_enforced, found.qos_enforced, found.safe, found.partition_limits) == (True, True, False, "NO")
    assert (found.preempt_type, found.preempt_mode, found.preempts, found.preempt_exempt) == (
        "qos",
        {"REQUEUE"},
        True,
        0,
    )
    assert (found.selection, found.selection_parameters) == ("cons_tres", {"CR_CPU_MEMORY"})
    assert {"cpu", "mem", "gres/gpu", "license/lic"} <= set(found.tracked)
    assert (found.memory_per_cpu, found.memory_per_node, found.most_memory_per_node) == (50, None, None)
    assert (found.complete_wait, found.kill_wait, found.overtime, found.most_tasks) == (0, 2, 0, 1001)
    assert (found.absent, found.unclear) == ((), ())


@pytest.mark.parametrize("release", RELEASES)
def test_flags_and_what_is_hidden_are_read(release):
    classic = read_settings(config_values(told(release, "classic")["config"]))
    assert {"SMALL_RELATIVE_TO_TIME", "DEPTH_OBLIVIOUS"} <= classic.priority_flags
    assert (classic.favour_small, classic.dampening, classic.partition_limits) == (True, 2, "ALL")
    assert read_settings(config_values(told(release, "private")["config"])).private == {
        "jobs", "usage", "users", "accounts",
    }  # fmt: skip


def test_slurmrestd_says_the_same():
    by_command = read_settings(config_values(told("26.05")["config"]))
    published = json.loads((FOLDER / "v0.0.45-26.05" / "conf.json").read_text())
    by_rest = read_json_settings(json_values(published["slurm_conf"]), "26.05.5")
    for name in vars(by_command):
        if name != "values":
            assert getattr(by_rest, name) == getattr(by_command, name), name


def test_with_basic_priority_no_weights_are_missed():
    found = read_settings({"PriorityType": "priority/basic"})
    assert found.priority_type == "basic"
    assert not [key for key in found.absent if key.startswith("Priority")]
    assert "EnforcePartLimits" in found.absent


def test_what_is_absent_or_not_understood_is_named():
    found = read_settings({"PriorityType": "priority/multifactor", "PriorityWeightAge": "many", "KillWait": "30 sec"})
    assert (found.unclear, found.kill_wait) == (("PriorityWeightAge",), 30)
    assert {"PriorityWeightQOS", "AccountingStorageEnforce"} <= set(found.absent)
    assert (found.limits_enforced, found.with_accounting) == (None, None)


def test_without_slurmdbd_no_limit_counts():
    found = read_settings({"AccountingStorageType": "(null)", "AccountingStorageEnforce": "limits"})
    assert (found.with_accounting, found.limits_enforced, found.associations_enforced) == (False, False, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30 sec", 30), ("5 min", 300), ("7-00:00:00", 604_800), ("00:05:00", 300), ("UNLIMITED", None), ("90", 90)],
)
def test_times(text, expected):
    assert seconds(text) == expected
