"""What slurm.conf says, where slurmrestd does not: the same as scontrol would, with the defaults of the release."""

from dataclasses import replace

import pytest
from slurm_standing import told

from gas.endpoints.slurm.conf_file import Stated, read_conf, read_file, stated_keys
from gas.endpoints.slurm.setting_answers import config_values, read_settings
from gas.errors import BadInput
from gas.slurm.cluster import Partition

CONF = """
# the cluster's
ClusterName=here
SchedulerParameters=bf_max_job_test=6,bf_continue   # few
prioritytype=priority/multifactor
PriorityWeightFairshare=2000 # in capitals or not
PriorityMaxAge=1-0
PriorityCalcPeriod=1
AccountingStorageEnforce=associations,\\
qos
NodeName=n[1-4] CPUs=4
PartitionName=DEFAULT MaxTime=60 OverSubscribe=EXCLUSIVE
PartitionName=main Nodes=ALL Default=YES
PartitionName=other,third Nodes=n1 OverSubscribe=FORCE:3 PreemptMode=OFF LLN=YES ExclusiveUser=YES ReqResv=YES
Include more.conf
"""


def test_what_is_written_counts_and_the_defaults_of_the_release_for_the_rest():
    stated = read_conf(CONF, "x", {"more.conf": "PreemptType=preempt/qos\nPreemptMode=REQUEUE"}.get)
    assert stated.whole
    found = read_settings(stated.config("22.05.8"))
    assert (found.priority_type, found.weights["fair share"], found.weights["age"]) == ("multifactor", 2000, 0)
    assert (found.max_age, found.half_life, found.calculation_period) == (86_400, 7 * 86_400, 60)
    assert (found.enforced, found.preempts, found.kill_wait) == ({"associations", "qos"}, True, 30)
    assert (found.version, found.partition_limits, found.with_accounting) == ("22.05.8", "NO", False)
    assert stated.config("22.05.8")["SchedulerParameters"] == "bf_max_job_test=6,bf_continue"


@pytest.mark.parametrize(("release", "kind"), [("22.05.8", "basic"), ("23.11.4", "multifactor")])
def test_the_default_of_a_priority_depends_on_the_release(release, kind):
    assert read_settings(read_conf("ClusterName=here", "x").config(release)).priority_type == kind


def test_of_a_file_with_an_include_that_cannot_be_read_only_what_is_there_is_known():
    stated = read_conf(CONF, "x")
    assert not stated.whole
    found = read_settings(stated.config("22.05.8"))
    assert found.weights["fair share"] == 2000
    assert (found.preempt_type, found.kill_wait, found.partition_limits) == (None, None, None)


def test_defaults_for_each_gpu_are_those_of_jobs_as_scontrol_prints_them():
    stated = read_conf("DefCpuPerGPU=3\nDefMemPerGPU=900\n", "x")
    assert stated.config("24.11.5")["JobDefaults"] == "DefCpuPerGPU=3,DefMemPerGPU=900"
    found = read_settings(stated.config("24.11.5"))
    assert (found.cpus_per_gpu, found.memory_per_gpu) == (3, 900)
    assert read_settings(read_conf("ClusterName=x", "x").config("24.11.5")).cpus_per_gpu is None


def test_keys_that_are_stated_bring_the_defaults_of_their_subject():
    stated = stated_keys({"priorityweightfairshare": 500}, "a table")
    found = read_settings(stated.config("22.05.8"))
    assert (found.priority_type, found.weights["fair share"], found.weights["QOS"]) == ("multifactor", 500, 0)
    assert found.preempt_type is None
    assert "SchedulerParameters" not in stated.config("22.05.8")


@pytest.mark.parametrize(
    ("given", "words"),
    [({"PriorityWieghtAge": 5}, "PriorityWeightAge"), ({"KillWait": 2.5}, "must be a string or an integer"),
     ({"KillWait": "1\nPriorityType=x"}, "one line")],
)  # fmt: skip
def test_what_is_no_key_is_refused_with_the_nearest(given, words):
    with pytest.raises(BadInput, match=words):
        stated_keys(given, "a table")


def test_partitions_that_give_out_whole_nodes_are_known_by_their_line():
    stated = read_conf(CONF, "x")
    main, other, unknown = (
        stated.of_partition(Partition(name, ("n1",)), early=True) for name in ("main", "third", "fourth")
    )
    assert (main.whole_nodes, main.default, main.sharing) == (True, True, 1)
    assert (other.whole_nodes, other.default, other.sharing, other.preempt_mode) == (False, False, 3, "OFF")
    assert [main.least_loaded, other.least_loaded] == [False, True]
    assert [main.shared_with, other.shared_with] == ["", "user"]
    assert [main.closed_by, other.closed_by] == [(), ("ReqResv=YES",)]
    assert unknown == Partition("fourth", ("n1",))
    late = stated.of_partition(Partition("third", ("n1",), sharing=2), early=False)
    assert late == replace(other, sharing=2), "v0.0.39 and later publish OverSubscribe"


@pytest.mark.parametrize("release", ["22.05", "24.11"])
def test_what_scontrol_prints_is_understood_as_it_is(release):
    values = config_values(told(release)["config"])
    by_command, stated = read_settings(values), read_settings(Stated(values, "scontrol", whole=True).config(""))
    for name in vars(by_command):
        if name not in ("values", "absent"):
            assert getattr(stated, name) == getattr(by_command, name), name


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"nothing\.conf cannot be read"):
        read_file(tmp_path / "nothing.conf")
    (tmp_path / "slurm.conf").write_text("Include part.conf\n")
    (tmp_path / "part.conf").write_text("KillWait=7")
    assert read_file(tmp_path / "slurm.conf").values == {"KillWait": "7"}
