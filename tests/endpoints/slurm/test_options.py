"""What options mean, which of them are not planned with, and which cannot be used."""

from datetime import datetime

import pytest

from gas.endpoints.slurm.directives import from_words
from gas.endpoints.slurm.options import HARMLESS, REFUSED, UNDERSTOOD, UNPLANNED, Options, instant_of, minutes_of
from gas.errors import BadInput
from gas.slurm.cluster import Gres

NOW = 1795300000


def options(*words, unit=None, whole=None):
    return Options.of(from_words(words, "job.sh, line 2"), now=NOW, unit=unit, whole=whole)


def test_what_is_asked_for_is_understood():
    found = options(
        "-n16", "-c", "2", "-N", "2-4", "-t", "1-2", "-pa,b", "-Aacc", "-q", "high", "--mem=4G", "-C", "intel&ib",
        "-L", "matlab:2,fluent@srv", "-w", "n[1-2]", "-x", "n9", "--ntasks-per-node=8", "-d", "afterok:7",
        "--reservation=r", "--contiguous", "--time-min=30", "--nice=7", "--gres=shard:2", "-J", "name",
    )  # fmt: skip
    assert (found.tasks, found.cpus_per_task, found.nodes, found.walltime) == (16, 2, (2, 4), 26 * 3600)
    assert (found.partitions, found.account, found.qos, found.memory_per_node) == (("a", "b"), "acc", "high", 4096)
    assert (found.features, found.licences) == ("intel&ib", {"matlab": 2, "fluent@srv": 1})
    assert (found.required_nodes, found.excluded_nodes) == (("n1", "n2"), ("n9",))
    assert (found.tasks_per_node, found.dependency, found.reservation, found.contiguous) == (8, "afterok:7", "r", True)
    assert (found.shortest, found.nice, found.gres, found.name) == (1800, 7, (Gres("shard", "", 2),), "name")
    assert found.unplanned == ()


@pytest.mark.parametrize(
    ("word", "field", "gpus"),
    [
        ("--gpus=4", "gpus", (Gres("gpu", "", 4),)),
        ("-Ga100:4", "gpus", (Gres("gpu", "a100", 4),)),
        ("--gpus=a100:2,v100:1", "gpus", (Gres("gpu", "a100", 2), Gres("gpu", "v100", 1))),
        ("--gpus-per-node=a100", "gpus_per_node", (Gres("gpu", "a100", 1),)),
        ("--gpus-per-task=2", "gpus_per_task", (Gres("gpu", "", 2),)),
        ("--gres=gpu:a100:2,shard:1k", "gres", (Gres("gpu", "a100", 2), Gres("shard", "", 1024))),
        ("--gres=gres/gpu:2", "gres", (Gres("gpu", "", 2),)),
        ("--gres=gpu", "gres", (Gres("gpu"),)),
        ("--gres=none", "gres", ()),
    ],
)
def test_gpus_are_read_in_every_way_of_writing_them(word, field, gpus):
    assert getattr(options(word), field) == gpus


@pytest.mark.parametrize(
    "words", [("--gpus=a100:6", "--gpus-per-node=4"), ("--gres=gpu:2,gpu:h100:1",), ("-Ga100:2", "--gres=gpu:1")]
)
def test_gpus_with_a_type_beside_gpus_without_one_are_refused_as_slurm_does(words):
    with pytest.raises(BadInput, match="some GPUs have the type [ah]100 and others have none.*give all a type"):
        options(*words)


def test_the_last_of_several_counts():
    found = options("-n4", "--mem=1G", "-n8", "--mem=100")
    assert (found.tasks, found.memory_per_node) == (8, 100)
    assert dict(found.given) == {"ntasks": "8", "mem": "100"}


def test_of_the_kinds_of_memory_sbatch_takes_one():
    """Seen on 22.05, 24.11 and 26.05, in a script as beside one."""
    with pytest.raises(BadInput, match="--mem-per-cpu and --mem .* exclude each other for sbatch"):
        options("--mem=1G", "--mem-per-cpu=2G")


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        (["-n4"], "tasks"), ([], "tasks"), (["-N2"], "nodes"), (["-N2", "-n8"], "nodes"), (["-G4"], "gpus"),
        (["-N2", "--gpus-per-node=4"], "nodes"), (["--gpus-per-node=4"], "gpus"), (["--gres=gpu:2"], "gpus"),
        (["-n4", "--gpus-per-task=1"], "tasks"), (["--gres=shard:2"], "tasks"),
        (["-N1-2", "-n6"], "tasks"), (["-N1-2"], "nodes"), (["-N2-2", "-n6"], "nodes"),
    ],
)  # fmt: skip
def test_a_size_counts_what_the_options_give_their_own_size_in(words, unit):
    assert options(*words).unit == unit


def test_what_bears_on_the_start_and_is_not_planned_with_is_named():
    found = options("--switches=1", "--quantum-bits=3", "--output=x", "-B2:4", "-w/nodes.txt", "--begin=3/14/27")
    assert found.unplanned == ("begin", "extra-node-info", "nodelist", "quantum-bits", "switches")
    assert any("--switches: ignored" in one for one in found.remarks)


def test_arrays_and_dependencies_are_named_too():
    found = options("-a1-10%2", "-dsingleton")
    assert len(found.tasks_of_array) == 10
    assert [one.split(":")[0] for one in found.remarks] == ["--array", "--dependency=singleton"]


@pytest.mark.parametrize("word", ["--wait", "-Q", "--test-only", "-Mother", "--wrap=x", "--version"])
def test_options_by_which_a_submission_is_none_are_refused(word):
    with pytest.raises(BadInput, match="job.sh, line 2: --.* cannot be used: .*; leave it out"):
        options(word)


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("-nmany", "is not a whole number"), ("-n0", "is not a whole number"),
        ("--mem=lots", "is not an amount of memory"),
        ("-Nx", "is not a number of nodes"), ("-N4-2", "is not a number of nodes"), ("-tsoon", "is not a time limit"),
        ("-Ga100:x", "is not a number of GPUs"), ("--gres=4", "is not a list of resources"), ("-a1-", "list of tasks"),
        ("-wn[1", "node list"), ("--nice=x", "is not a whole number"), ("-bsoon", "is not a time"),
        ("--account=", "needs a value"), ("-Lx:y:z", "is not a list of licences"),
    ],
)  # fmt: skip
def test_a_value_that_sbatch_would_refuse_is_named_with_its_place(word, problem):
    with pytest.raises(BadInput, match=f"job.sh, line 2: .*{problem}"):
        options(word)


def test_hints_on_sockets_are_named_as_ignored():
    assert options("--hint=compute_bound").unplanned == ("hint",)
    assert options("--hint=nomultithread", "--ntasks-per-core=1").unplanned == ()


def test_no_option_is_in_two_lists():
    lists = (set(UNDERSTOOD), set(UNPLANNED), set(HARMLESS), set(REFUSED))
    assert sum(map(len, lists)) == len(set.union(*lists))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90", 90), ("1:30", 2), ("1:00:00", 60), ("2-0", 2880), ("1-2:30", 1590), ("0-0:0:30", 1), ("UNLIMITED", None)],
)
def test_time_limits_are_read_as_sbatch_reads_them(text, minutes):
    assert minutes_of(text) == minutes


def test_begin_times_are_read_as_sbatch_reads_them():
    midnight = int(datetime.fromtimestamp(NOW).replace(hour=0, minute=0, second=0).timestamp())
    assert instant_of("now", NOW) == NOW
    assert instant_of("now+90", NOW) == NOW + 90
    assert instant_of("now+2hours", NOW) == NOW + 7200
    assert instant_of("now+1 day", NOW) == NOW + 86400
    assert instant_of("uts1795400000", NOW) == 1795400000
    assert instant_of("today", NOW) == midnight
    assert instant_of("2026-12-01T08:00", NOW) == int(datetime(2026, 12, 1, 8).timestamp())
    assert NOW < instant_of("16:00", NOW) <= NOW + 25 * 3600
    assert instant_of("teatime", NOW) == instant_of("16:00", NOW)


@pytest.mark.parametrize("word", ["--gpus=0", "-G0", "--gpus-per-node=0", "--gpus-per-task=a100:0", "--gres=gpu:0"])
def test_no_gpus_are_none_as_sbatch_takes_it(word):
    assert not options(word, "-n2").has_gpus


def test_cpus_of_a_task_and_of_a_gpu_exclude_each_other():
    with pytest.raises(BadInput, match="--cpus-per-gpu and --cpus-per-task .* exclude each other for sbatch"):
        options("-n2", "-c2", "--gpus-per-node=2", "--cpus-per-gpu=3")


def test_features_in_brackets_are_joined_in_parentheses_only():
    """Seen on 22.05, 24.11 and 26.05: sbatch refuses the others as an invalid feature specification."""
    for text in ("[(a&b)|c]", "[a|b]&c", "[a*2&b*1]"):
        assert options("-C", text).features == text
    for text in ("[a&b|c]", "[a|b&c]", "[a&b]"):
        with pytest.raises(BadInput, match=r"& in brackets, which sbatch accepts only in parentheses: \[\(a&b\)\|c\]"):
            options("-C", text)
