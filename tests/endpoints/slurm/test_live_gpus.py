"""A job as of torchrun over GPUs of a real Slurm with typed GRES: planned, shown, submitted, watched and read.

The GPUs are files, and the job writes what each of its launchers finds: how many nodes there are, and GPUs of its own.
"""

import re

import pytest
from private_slurm import RELEASES, Nodes, PrivateSlurm

pytestmark = [pytest.mark.live, pytest.mark.timeout(200)]

FOUND = 'echo "$SLURM_NODEID of $SLURM_JOB_NUM_NODES has $SLURM_GPUS_ON_NODE, told {nodes} {gpus_per_node} {gpus}"'
LAUNCHER = ("srun", "sh", "-c", FOUND)
JOB = """#!/bin/sh
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=a100:4 --cpus-per-gpu=2 --time=10 --output={out}
srun sh -c 'echo "$SLURM_NODEID of $SLURM_JOB_NUM_NODES has $SLURM_GPUS_ON_NODE"'
"""


@pytest.fixture(scope="module", params=RELEASES)
def slurm(request):
    groups = [Nodes(4, 8, 8000, gpus=(("a100", 4),)), Nodes(1, 8, 8000, gpus=(("h100", 2),))]
    with PrivateSlurm(groups, 0, "SelectTypeParameters=CR_CPU_Memory", release=request.param) as up:
        yield up


@pytest.fixture
def run(gas, slurm, tmp_path, monkeypatch):
    """Return the program, told of this Slurm."""
    monkeypatch.chdir(tmp_path)
    table = (
        f'[endpoints.here]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\nfolder = "{slurm.programs()}"\n'
    )
    (tmp_path / "gas.toml").write_text(table)

    def run(command, *words, code=0):
        outcome = gas(command, "--config", "gas.toml", *words)
        assert outcome.code == code, (outcome.out, outcome.err)
        return outcome

    yield run
    slurm.tried("scancel", "--user", slurm.run("id", "-un").strip())
    slurm._until(slurm._all_idle, "all jobs have gone")


@pytest.fixture
def busy(slurm):
    """Hold all GPUs of type a100 but two, until it is cancelled."""
    return slurm.submit("-N3", "--gpus-per-node=a100:4", "-t", "30"), slurm.submit("--gpus-per-node=a100:2", "-t", "30")


def application(path, times, **resources):
    """Write an application with times by layout, or by GPUs."""
    if isinstance(next(iter(times)), tuple):
        rows = ", ".join(f"{{ nodes = {n}, gpus_per_node = {g}, seconds = {s} }}" for (n, g), s in times.items())
        speedup = f'model = "layouts"\ntimes = [{rows}]'
    else:
        speedup = f'model = "table"\ntimes = {{ {", ".join(f"{size} = {s}" for size, s in times.items())} }}'
    more = "".join(f"{key} = {value}\n" for key, value in resources.items())
    kept = 'tasks_per_node = 1\ngpu_type = "a100"\ncpus_per_gpu = 2\nmemory_per_gpu = "900M"\n'
    path.write_text(f'name = "train"\nunit = "gpus"\n[speedup]\n{speedup}\n[resources]\n{kept}{more}')
    return str(path)


def found_by(text):
    """Return of each launcher its node, how many there are, its GPUs, and what it was told."""
    lines = re.findall(r"(\d+) of (\d+) has (\d+)(?:, told (\d+) (\d+) (\d+))?", text)
    return sorted(tuple(int(one) for one in line if one) for line in lines)


@pytest.mark.parametrize(("nodes", "each"), [(1, 1), (2, 1), (1, 4), (4, 2)])
def test_launchers_are_one_a_node_and_find_their_gpus(run, tmp_path, nodes, each):
    app = application(tmp_path / "app.toml", {(nodes, each): 100})
    planned = run("plan", app, "--json").json["best"]
    assert (planned["processors"], planned["unit"]) == (nodes * each, "gpus")
    assert planned["layout"] == {"nodes": nodes, "per_node": each, "device": "a100"}
    shown = run("submit", app, "--dry-run", "--", *LAUNCHER).out
    assert f"--nodes={nodes}-{nodes} --ntasks={nodes}" in shown
    assert f"--ntasks-per-node=1 --gpus-per-node=a100:{each}" in shown
    job = str(run("submit", app, "--json", "--", *LAUNCHER).json["job"]["id"])
    ended = run("wait", job).out
    assert f"{nodes * each} GPU" in ended
    written = run("logs", job).out
    assert found_by(written) == [(node, nodes, each, nodes, each, nodes * each) for node in range(nodes)]


def test_a_job_script_is_planned_and_submitted_in_gpus(run, slurm, tmp_path):
    (tmp_path / "job.sh").write_text(JOB.format(out=tmp_path / "job.out"))
    sizes = ("--unit", "gpus", "--sizes", "1,2,4,8", "--time", "80min,40min,20min,10min")
    said = run("plan", "job.sh", *sizes).out
    assert said.startswith("job: 8 GPUs on here")
    assert "processors" not in said
    assert "--nodes=2-2 --gpus-per-node=a100:4 job.sh" in said
    shown = run("submit", "job.sh", *sizes, "--dry-run").out
    assert "--nodes=2-2" in shown
    job = str(run("submit", "job.sh", *sizes, "--json").json["job"]["id"])
    assert "8 GPUs" in run("wait", job).out
    assert found_by(run("logs", job).out) == [(0, 2, 4), (1, 2, 4)]


def test_a_job_that_waits_is_as_large_in_each_command_and_watched_until_it_starts(run, slurm, busy, tmp_path):
    app = application(tmp_path / "app.toml", {1: 5000, 2: 2600, 4: 900, 8: 500}, gpus_per_node=4)
    slurm.settle(busy[1])
    best = run("plan", app, "--json").json["best"]
    assert best["processors"] == 8, "4 GPUs on a node, and 8 on two, are free in half an hour"
    job = str(run("submit", app, "--json", "--", "sleep", "30").json["job"]["id"])
    for command in ("status", "why"):
        assert run(command, job).out.startswith(f"job {job} (train), 8 GPUs, walltime 10m00s: queued")
    slurm.settle(int(job))
    for one in busy:
        slurm.cancel(one)
    watched = run("watch", job, app, "--every", "1s").out
    assert re.search(rf"job {job} \(train\), 8 GPUs, .*: running", watched)


@pytest.mark.parametrize(("before", "after"), [(8, 2), (2, 8)])
def test_a_job_that_waits_is_given_other_gpus_and_finds_these(run, slurm, tmp_path, before, after):
    slurm.settle(full := slurm.submit("-N4", "--gpus-per-node=a100:4", "-t", "30"))
    one = application(tmp_path / "one.toml", {before: 500}, gpus_per_node="[2, 4]" if before == 2 else 2)
    job = str(run("submit", one, "--json", "--", *LAUNCHER).json["job"]["id"])
    slurm.settle(int(job))
    both = application(tmp_path / "both.toml", {before: 500, after: 100}, gpus_per_node=2)
    said = run("reshape", job, both).out
    assert re.match(rf"job {job} requests {after} GPUs \(\dx2 a100\) instead of {before}, walltime 1m50s", said)
    assert run("status", job).out.startswith(f"job {job} (train), {after} GPUs, walltime 2m00s: queued")
    slurm.cancel(full)
    run("wait", job)
    nodes = after // 2
    assert found_by(run("logs", job).out) == [(node, nodes, 2, nodes, 2, after) for node in range(nodes)]


def test_a_job_of_other_tasks_a_node_is_left_as_it_is(run, slurm, busy, tmp_path):
    one = application(tmp_path / "one.toml", {8: 500}, gpus_per_node=4)
    job = str(run("submit", one, "--json", "--", "true").json["job"]["id"])
    text = application(tmp_path / "two.toml", {8: 500, 4: 100}, gpus_per_node=4)
    (tmp_path / "two.toml").write_text((tmp_path / "two.toml").read_text().replace("tasks_per_node = 1\n", ""))
    problem = run("reshape", job, text, "--processors", "4", code=2).err
    assert f"job {job} has 1 task per node and cannot be given 4" in problem


def test_what_cannot_run_ends_with_exit_status_3_and_says_why(run, tmp_path):
    app = application(tmp_path / "app.toml", {8: 500}, gpus_per_node=8)
    problem = run("plan", app, code=3).err
    assert "gpus_per_node is 8, and no node has more than 4 GPUs of type a100" in problem
    text = (tmp_path / "app.toml").read_text()
    for change, problem in (
        (("gpus_per_node = 8", "gpus_per_node = 4\n"), None),
        (('"a100"', '"v100"'), "no GPUs of type v100; there are a100 (16), h100 (2)"),
        (('"900M"', '"90G"'), "as 2x4 a100"),
        (("cpus_per_gpu = 2", "cpus_per_gpu = 9"), "CPUs"),
        (("8 = 500", "8 = 500000"), "above the scheduler's limit"),
        (("8 = 500", "64 = 500"), "the machine has only"),
    ):
        text = text.replace(*change) if problem is None else text
        (tmp_path / "app.toml").write_text(text.replace(*change))
        if problem is not None:
            for command in (("plan", app), ("submit", app, "--", "true"), ("plan", app, "--as", "submitit")):
                assert problem in run(*command, code=3).err
