"""Schedulers plan jobs with their further requests; one that cannot is represented by its name and the error."""

from dataclasses import dataclass

import pytest

from gas import Application
from gas.agent.scripts import MOST_BYTES, command_script, for_jobs
from gas.endpoints import S3Endpoint
from gas.endpoints.oar.endpoint import OarEndpoint
from gas.endpoints.oar.rest import RestTransport as OarRest
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.submission import options_from
from gas.errors import BadInput, Infeasible

SCRIPT = Script.of("#!/bin/sh\n#SBATCH -n 4\nsrun ./ocean\n", "job.sh")
S3 = S3Endpoint("s3", "http://127.0.0.1:9")


@dataclass
class Partition:
    """Plans with the requests of jobs, or refuses them."""

    name: str
    target: str = ""
    address: str = "slurm"
    problem: Exception | None = None
    asked: object = None

    def requesting(self, **more):
        if self.problem is not None:
            raise self.problem
        return Partition(self.name, self.target, asked=more)


def cluster(name, at, *options):
    return SlurmEndpoint(name, RestTransport(name, f"unix:/run/{at}"), options=options_from(options, "gas.toml"))


def test_a_job_that_waits_for_numbers_of_one_cluster_goes_to_no_other():
    """On the other cluster, job 812 is somebody else's: the job may start before the one that it needs has ended."""
    after = Script.of("#!/bin/sh\n#SBATCH -n 4\n#SBATCH -d afterok:812\nsrun ./ocean\n", "job.sh")
    for asked in ({"script": after}, {"native": ["--dependency=afterok:812"]}):
        with pytest.raises(BadInput, match="--dependency=afterok:812: the numbers are those of jobs on one cluster"):
            for_jobs([cluster("main", "one"), cluster("other", "two")], **asked)
        assert len(for_jobs([cluster("main", "one"), cluster("gpu", "one")], **asked)) >= 1
    assert len(for_jobs([cluster("main", "one"), cluster("other", "two")], ["--dependency=singleton"])) == 2
    assert len(for_jobs([cluster("main", "one", "--dependency=after:812"), cluster("other", "two")])) == 2


def test_jobs_of_oar_that_wait_for_numbers_of_one_cluster_go_to_no_other():
    one, two = (OarEndpoint(name, OarRest(name, f"http://127.0.0.1:{port}")) for name, port in (("one", 1), ("two", 2)))
    with pytest.raises(BadInput, match="--anterior=812: the numbers are those of jobs on one cluster"):
        for_jobs([one, two], ["--anterior=812"])
    assert for_jobs([one, two], ["--name=of Slurm"]) == [one, two]  # refused if one of them is chosen
    assert for_jobs([one], ["--anterior=812"]) == [one]


def test_what_jobs_ask_for_reaches_those_that_plan_with_it():
    slurm, s3 = for_jobs([Partition("main"), S3], ["--mem=4G"])
    assert slurm.asked == {"native": ["--mem=4G"], "command": None, "script": None, "unit": None}
    assert s3 is S3


def test_one_that_cannot_is_left_out_with_the_error():
    problem = BadInput("main: no")
    assert for_jobs([Partition("main", problem=problem), S3])[0] == ("main", problem)
    with pytest.raises(BadInput, match="main: no"):
        for_jobs([Partition("main", problem=problem)])


def test_who_takes_no_scripts_says_so():
    other = Partition("main", "main")
    _, (name, error) = for_jobs([other, S3], script=SCRIPT)
    assert (name, str(error)) == ("s3", "s3: accepts no Slurm job scripts (job.sh)")


@pytest.mark.parametrize(
    ("tables", "what"),
    [
        ({"unit": "gpus"}, r'counts GPUs \(unit = "gpus"\)'),
        ({"unit": "nodes"}, r'counts nodes \(unit = "nodes"\)'),
        ({"resources": {"memory_per_node": "4G"}}, r"has \[resources\]"),
    ],
)
def test_s3_takes_processors_and_nothing_else_and_says_so(tables, what):
    speedup = {"model": "table", "times": {"4": 100}}
    app = Application.from_tables({"name": "train", "speedup": speedup, **tables}, "here")
    with pytest.raises(BadInput, match=rf"kth: accepts only a number of processors, but train {what}; plan"):
        for_jobs([S3Endpoint("kth", "http://127.0.0.1:1")], application=app)


def test_partitions_that_the_script_leaves_out_are_left_out_and_one_target_is_one():
    a, b, gone = Partition("a", "a,b"), Partition("b", "a,b"), Partition("c", problem=Infeasible("c: not named"))
    assert [one.name for one in for_jobs([a, b, gone], script=SCRIPT, unit="nodes")] == ["a"]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("#!/bin/sh\n#SBATCH -n 4\n", True),
        ("#!/bin/sh\necho\n", False),
        ("no script\n#SBATCH -n 4\n", False),
        ("#!/bin/sh\n#SBATCH -n 4\n" + "#" * MOST_BYTES, False),
    ],
)
def test_a_command_is_a_script_if_it_has_options_in_it(tmp_path, text, is_one):
    (tmp_path / "run.sh").write_text(text)
    assert (command_script(["run.sh", "x"], str(tmp_path)) is not None) == is_one


def test_no_command_is_no_script(tmp_path):
    assert command_script([], None) is None
    assert command_script(["away.sh"], str(tmp_path)) is None
