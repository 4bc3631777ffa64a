"""What a size and options are said to ask for is what Slurm makes of them, by sbatch and by slurmrestd alike."""

import re

import pytest
from private_slurm import INSTALLED, RELEASES, Nodes, PrivateSlurm

from gas.endpoints import JobDescription, Request
from gas.endpoints.slurm.commands import CommandTransport
from gas.endpoints.slurm.directives import Script
from gas.endpoints.slurm.endpoint import SlurmEndpoint
from gas.endpoints.slurm.requested import requested_job as job_of
from gas.endpoints.slurm.rest import RestTransport
from gas.endpoints.slurm.rest_connection import Tokens

pytestmark = pytest.mark.live

GPU_CASES = [
    ("-G4", 8), ("-G4 -n4", 8), ("-Gx:4", 4), ("--gpus-per-node=4", 8), ("--gpus-per-node=4 --cpus-per-gpu=2", 8),
    ("--gpus-per-node=x:4 --ntasks-per-node=4", 2), ("--gres=gpu:x:2", 4), ("-n2 --gpus-per-task=2", 3),
    ("-n4 --gpus-per-task=1 --cpus-per-gpu=2 --mem-per-gpu=100", 4), ("-G2 --ntasks-per-gpu=2", 4),
]  # fmt: skip
CASES = [
    ("-n4", 8), ("-n4 -c2", 8), ("-N2 -n8", 3), ("-N2 --ntasks-per-node=3", 2), ("--ntasks-per-node=3", 7),
    ("-n2 --mem-per-cpu=200 -c3", 2), ("-n2 --mem=0 --exclusive", 2), ("-n4 --time-min=5 -L lic:2", 4),
    ("-N2 -n4 --begin=now+1hour", 2), ("-n3 -w n01 -x n02 -C ib", 3), *GPU_CASES,
]  # fmt: skip


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    nodes = [Nodes(4, 8, 2000, ("ib",), (("x", 4),))]
    lines = ("Licenses=lic:4", "SelectTypeParameters=CR_CPU_Memory")
    with PrivateSlurm(nodes, 8, *lines, release=request.param, rest=True) as cluster:
        cluster.submit("-N4", "--exclusive", "-t", "100")
        yield cluster


@pytest.fixture(scope="module", params=["sbatch", "slurmrestd"])
def endpoint(request, slurm, tmp_path_factory):
    if request.param == "sbatch":
        return SlurmEndpoint("private", CommandTransport("private", folder=str(slurm.programs())))
    file = tmp_path_factory.mktemp("token") / "token"
    file.touch(0o600)
    file.write_text(slurm.token())
    return SlurmEndpoint("private", RestTransport("private", slurm.rest_url, tokens=Tokens(slurm.rest_url, file=file)))


def shown(slurm, id):
    text = slurm.run("scontrol", "-o", "show", "job", str(id))
    return {key: found[1] for key in SHOWN if (found := re.search(rf" {key}=(\S+)", text))}


SHOWN = ("NumCPUs", "NumTasks", "CPUs/Task", "NtasksPerN:B:S:C", "TresPerJob", "TresPerNode", "TresPerTask",
         "MinMemoryCPU", "MinMemoryNode", "Features", "Licenses", "ReqNodeList", "ExcNodeList")  # fmt: skip


@pytest.mark.parametrize(("words", "size"), CASES)
def test_a_size_with_options_is_the_job_that_slurm_has(slurm, endpoint, words, size):
    script = Script.of(f"#!/bin/sh\n#SBATCH {words}\nsleep 1\n", "job.sh")
    asking = endpoint.requesting(script=script)
    asked = job_of(asking.job_options(), size, 600, user="u", partitions=("main",))
    made = asking.submit(Request(size, 600), JobDescription("x", directory="/tmp"))
    try:
        seen = shown(slurm, made["id"])
    finally:
        endpoint.cancel(made["id"])
    assert int(seen["NumTasks"]) == (asked.tasks_asked or 1)  # of GPUs in all without tasks, it shows one
    if "--cpus-per-gpu" not in words or slurm.release != INSTALLED:  # 22.05 adds these CPUs when it looks for nodes
        assert int(seen["NumCPUs"]) == asked.cpus
    for field, kinds in (("TresPerJob", asked.gres_per_job), ("TresPerNode", asked.gres_per_node)):
        counts = [int(n) for n in re.findall(r"[:=](\d+)(?:,|$)", seen.get(field, ""))]
        assert counts == [one.count for one in kinds]
    assert seen.get("Features", "(null)") == (asked.features or "(null)")
    assert seen.get("ReqNodeList", "(null)") == (",".join(asked.required_nodes) or "(null)")
