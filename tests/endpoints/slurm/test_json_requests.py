"""What slurmrestd is sent, in the forms of its versions.

Those up to v0.0.38 were tried on a Slurm 22.05; of later ones the names and types are those of Slurm's own parsers
(src/plugins/data_parser, PARSER_ARRAY(JOB_DESC_MSG)).
"""

import json
from dataclasses import replace

import pytest

from gas.endpoints.slurm.json_requests import OPTIONS, change, submission
from gas.endpoints.slurm.transport import Batch, Shape
from gas.errors import BadInput

JOB = Batch("ocean.gas-1", "#!/bin/sh\nocean\n", Shape(16, None, 30), {}, "/home/ann")
NODES = replace(JOB, shape=Shape(None, 4, 90))


def number(value):
    return {"set": True, "infinite": False, "number": value}


def job(version, batch=JOB, **options):
    options = {name.replace("_", "-"): value for name, value in options.items()}
    return submission(replace(batch, options=options), version)["job"]


@pytest.mark.parametrize("version", [36, 37, 38])
def test_a_job_of_tasks_in_the_early_forms(version):
    assert submission(JOB, version) == {
        "script": JOB.script,
        "job": {
            "name": "ocean.gas-1",
            "current_working_directory": "/home/ann",
            "environment": {"PATH": "/usr/local/bin:/usr/bin:/bin"},
            "time_limit": 30,
            "tasks": 16,
        },
    }


@pytest.mark.parametrize("version", [39, 40, 46])
def test_a_job_of_tasks_in_the_late_forms(version):
    assert submission(JOB, version) == {
        "script": JOB.script,
        "job": {
            "name": "ocean.gas-1",
            "current_working_directory": "/home/ann",
            "environment": ["PATH=/usr/local/bin:/usr/bin:/bin"],
            "time_limit": number(30),
            "tasks": 16,
            "cpus_per_task": 1,
            "minimum_cpus": 16,
        },
    }


def test_a_job_of_nodes_has_them_for_itself():
    early, late = job(38, NODES), job(40, NODES)
    assert (early["nodes"], early["exclusive"], early["time_limit"]) == ("4-4", "exclusive", 90)
    assert (late["minimum_nodes"], late["maximum_nodes"], late["shared"]) == (4, 4, ["none"])
    assert "tasks" not in early
    assert "tasks" not in late


def test_a_start_that_is_not_before_an_instant():
    later = replace(JOB, not_before=1_800_000_000)
    assert submission(later, 38)["job"]["begin_time"] == "uts1800000000"
    assert submission(later, 40)["job"]["begin_time"] == number(1_800_000_000)


def test_a_script_that_is_no_utf_8_is_refused_with_the_way_out():
    with pytest.raises(BadInput, match="not UTF-8 text, which slurmrestd requires; sbatch accepts it"):
        submission(replace(JOB, script=b"#!/bin/sh\n# \xe8".decode(errors="surrogateescape")), 40)


def test_cpus_of_each_task_count():
    assert job(38, cpus_per_task="2")["cpus_per_task"] == "2"
    late = job(40, cpus_per_task="2")
    assert (late["cpus_per_task"], late["minimum_cpus"]) == (2, 32)


@pytest.mark.parametrize(
    ("name", "value", "early", "late"),
    [
        ("account", "sea", {"account": "sea"}, {"account": "sea"}),
        ("constraint", "a&b", {"constraints": "a&b"}, {"constraints": "a&b"}),
        ("nodelist", "n[1-3]", {"nodelist": "n[1-3]"}, {"required_nodes": ["n[1-3]"]}),
        ("exclude", "n[1-3],m", {"exclude_nodes": "n[1-3],m"}, {"excluded_nodes": ["n[1-3],m"]}),
        ("exclusive", None, {"exclusive": "exclusive"}, {"shared": ["none"]}),
        ("exclusive", "user", {"exclusive": "user"}, {"shared": ["user"]}),
        ("mem", "16G", {"memory_per_node": "16G"}, {"memory_per_node": number(16384)}),
        ("mem", "100", {"memory_per_node": "100"}, {"memory_per_node": number(100)}),
        ("mem-per-cpu", "1500K", {"memory_per_cpu": "1500K"}, {"memory_per_cpu": number(2)}),
        ("nice", None, {"nice": 100}, {"nice": 100}),
        ("nice", "-5", {"nice": "-5"}, {"nice": -5}),
        ("hold", None, {"hold": True}, {"hold": True}),
        ("requeue", None, {"requeue": True}, {"requeue": True}),
        ("no-requeue", None, {"no_requeue": True}, {"requeue": False}),
        ("mail-type", "END,fail", {"mail_type": "END,fail"}, {"mail_type": ["END", "FAIL"]}),
        ("gres", "gpu:2,nic", {"gres": "gpu:2,nic"}, {"tres_per_node": "gres/gpu:2,gres/nic"}),
        ("gpus", "a100:2", {"gpus": "a100:2"}, {"tres_per_job": "gres/gpu:a100:2"}),
        ("priority", "10", {"priority": "10"}, {"priority": number(10)}),
        ("ntasks-per-node", "8", {"tasks_per_node": "8"}, {"tasks_per_node": 8}),
        ("open-mode", "append", {"open_mode": "append"}, {"open_mode": ["APPEND"]}),
        (
            "signal", "USR1@120", {"signal": "USR1@120"},
            {"kill_warning_signal": "USR1", "kill_warning_delay": number(120)},
        ),
        (
            "signal", "B:TERM", {"signal": "B:TERM"},
            {"kill_warning_signal": "TERM", "kill_warning_delay": number(60), "kill_warning_flags": ["BATCH_JOB"]},
        ),
    ],
)  # fmt: skip
def test_options_of_sbatch(name, value, early, late):
    for version, fields in ((38, early), (40, late)):
        plain, found = job(version), job(version, **{name: value})
        assert {key: found[key] for key in found if key not in plain} == fields


@pytest.mark.parametrize(
    ("name", "value", "early", "late"),
    [
        ("array", "1-5%2", {"array": "1-5%2"}, {"array": "1-5%2"}),
        ("mem-per-gpu", "2G", {"memory_per_gpu": "2G"}, {"memory_per_tres": "gres/gpu:2048"}),
        ("time-min", "1:00:00", {"time_minimum": "1:00:00"}, {"time_minimum": number(60)}),
        ("nodes", "2-4", {"nodes": "2-4"}, {"minimum_nodes": 2, "maximum_nodes": 4}),
    ],
)
def test_options_of_scripts(name, value, early, late):
    for version, fields in ((38, early), (40, late)):
        plain = job(version)
        inside = submission(replace(JOB, directives={name: value}), version)["job"]
        assert inside == plain | fields
        assert job(version, **{name: value}) == plain | fields


def test_gpus_of_a_size_stand_in_place_of_those_of_the_script():
    shape = Shape(None, 2, 30, whole=False, others=(("gpus-per-node", "a100:4"),))
    batch = replace(JOB, shape=shape, directives={"gpus-per-node": "a100:2", "nodes": "1", "ntasks-per-node": "4"})
    found = submission(batch, 40)["job"]
    assert (found["tres_per_node"], found["minimum_nodes"], found["maximum_nodes"]) == ("gres/gpu:a100:4", 2, 2)
    assert (found["tasks_per_node"], "shared" in found) == (4, False)
    early = submission(batch, 38)["job"]
    assert (early["gpus_per_node"], early["nodes"], "exclusive" in early) == ("a100:4", "2-2", False)


def test_what_sbatch_works_out_of_the_gpus_is_said():
    """Tried on Slurm 24.11 and 26.05, which refuse CPUs of a task besides CPUs of a GPU."""
    each = replace(JOB, shape=Shape(4, None, 30, False, (("gpus-per-task", "1"),)), options={"cpus-per-gpu": "2"})
    found = submission(each, 40)["job"]
    assert (found["tasks"], found["cpus_per_tres"], found["tres_per_task"]) == (4, "gres/gpu:2", "gres/gpu:1")
    assert not found.keys() & {"cpus_per_task", "minimum_cpus"}
    nodes = replace(JOB, shape=Shape(None, 2, 30, False, (("gpus-per-node", "4"),)))
    assert (submission(nodes, 40)["job"]["tasks"], submission(nodes, 38)["job"]["tasks"]) == (2, 2)
    tasks = replace(JOB, shape=Shape(None, None, 30, False, (("gpus", "a100:4"),)), options={"ntasks-per-gpu": "2"})
    assert submission(tasks, 40)["job"]["tasks"] == 8


def test_what_is_given_with_a_script_comes_before_what_stands_in_it():
    inside = {"account": "sea", "time": "90", "ntasks": "3", "job-name": "x", "chdir": "/data", "verbose": None}
    batch = replace(JOB, directory=None, options={"account": "ice"}, directives=inside)
    found = submission(batch, 40)["job"]
    assert (found["account"], found["tasks"], found["name"]) == ("ice", 16, "ocean.gas-1")
    assert (found["time_limit"], found["current_working_directory"]) == (number(30), "/data")


def test_an_option_of_a_script_that_slurmrestd_does_not_take_is_not_dropped():
    with pytest.raises(BadInput, match="does not accept sbatch's --export"):
        submission(replace(JOB, directives={"export": "NONE"}), 40)


def test_resources_of_two_options_are_asked_for_together():
    assert job(40, gres="nic:1", gpus_per_node="2")["tres_per_node"] == "gres/nic:1,gres/gpu:2"


def test_the_first_version_calls_files_by_other_names():
    assert job(36, output="o", error="e")["standard_out"] == "o"
    assert job(36, output="o", error="e")["standard_error"] == "e"
    assert job(37, output="o")["standard_output"] == "o"


@pytest.mark.parametrize(
    ("name", "version"), [("wait", 38), ("test-only", 40), ("contiguous", 38), ("umask", 40), ("licences", 38)]
)
def test_an_option_that_cannot_be_taken_is_named_with_the_way_out(name, version):
    with pytest.raises(
        BadInput, match=rf"^slurmrestd v0.0.{version} does not accept sbatch's --{name}; leave it out, or"
    ):
        job(version, **{name: None})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("account", None, "^--account needs a value, as in --account=..."),
        ("mem", "lots", '^--mem="lots" is not an amount of memory; sbatch accepts 500M, 16G or megabytes'),
        ("nice", "very", '^--nice="very" is not a whole number'),
        ("signal", "R:USR1", '^--signal="R:USR1" is not a signal that slurmrestd accepts'),
    ],
)
def test_a_value_that_cannot_be_understood(name, value, told):
    with pytest.raises(BadInput, match=told):
        job(40, **{name: value})


@pytest.mark.parametrize("version", [36, 38, 39, 46])
@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_written_as_json_or_refused_by_name(name, version):
    for value in (None, "1"):
        try:
            body = submission(replace(JOB, options={name: value}), version)
        except BadInput as error:
            assert f"--{name}" in str(error)  # noqa: PT017
        else:
            assert json.loads(json.dumps(body)) == body


def test_another_shape_names_all_counts():
    """With fewer tasks alone, Slurm 22.05 keeps the CPUs, and heeds no list of node counts."""
    assert change(Shape(4, None, 5), 38) == {"tasks": 4, "cpus_per_task": 1, "time_limit": 5}
    assert change(Shape(None, 4, 5), 38) == {"tasks": 4, "cpus_per_task": 1, "time_limit": 5, "nodes": "4-4"}
    assert change(Shape(4, None, 5), 40) == {
        "tasks": 4, "cpus_per_task": 1, "minimum_cpus": 4, "time_limit": number(5),
    }  # fmt: skip
    assert change(Shape(None, 4, 5), 40) == {
        "tasks": 4, "cpus_per_task": 1, "minimum_cpus": 4, "time_limit": number(5),
        "minimum_nodes": 4, "maximum_nodes": 4,
    }  # fmt: skip
