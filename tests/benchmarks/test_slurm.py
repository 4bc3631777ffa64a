"""Reading and interpreting a Slurm with very many waiting jobs: time, and memory.

The queue is the recorded one with further jobs that have no plan, 100,000 in all; and a large site, with GPUs, memory,
features and licences, by both transports. Where GAS_BENCHMARK_SMALL is 1, as in CI, a fiftieth of the queue is taken
and a tenth of the site.
"""

import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc

import large_site
import numpy as np
import pytest
from slurm_answers import recorded

from gas.endpoints.slurm import json_answers
from gas.endpoints.slurm.command_line import RS, US, detailed, read_cluster
from gas.endpoints.slurm.interpretation import interpret

SMALL = os.environ.get("GAS_BENCHMARK_SMALL") == "1"
WAITING = 2_000 if SMALL else 100_000
PARTS = 10 if SMALL else 1  # of a large site
RUNS = 1 if SMALL else 2
"""How often a program runs: the first time it compiles, where that has not been done."""

MOST_MEBIBYTES = 1500 * WAITING // 100_000
"""A login node may give a user no more than two gibibytes."""


@pytest.fixture(scope="module")
def answers():
    said = recorded("v22.05")
    one = next(record for record in said["jobs"].split(RS) if f"{US}PENDING{US}" in record)
    values = one.strip().split(US)
    values[4], values[6], values[7], values[12], values[15] = "PENDING", "N/A", "N/A", "(null)", "Priority"
    chance = np.random.default_rng(1)
    records = []
    for number, cpus, minutes in zip(
        range(WAITING), chance.integers(1, 60, WAITING), chance.integers(5, 600, WAITING), strict=True
    ):
        values[0] = values[1] = str(1_000_000 + number)
        values[8], values[9] = f"{minutes // 60}:{minutes % 60:02}:00", str(cpus)
        records.append("\n" + US.join(values) + RS)
    return {**said, "jobs": said["jobs"].rstrip("\n") + "".join(records) + "\n"}


def test_reading(benchmark, answers):
    cluster = benchmark(read_cluster, answers, name="large")
    assert sum(job.pending for job in cluster.jobs) > WAITING


def test_interpreting(benchmark, answers):
    cluster = read_cluster(answers, name="large")
    found = benchmark(interpret, cluster)
    assert found.placed > 0


def test_planning_a_thousand_sizes(benchmark, answers):
    found = interpret(read_cluster(answers, name="large"))
    sizes = np.arange(1, found.availability.processors + 1)
    anchors = benchmark(found.availability.anchors, sizes, np.full(len(sizes), 3600), found.availability.now)
    assert len(anchors) == len(sizes)


def test_memory(answers):
    tracemalloc.start()
    try:
        interpret(read_cluster(answers, name="large"))
        most = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    print(f"{WAITING:,} waiting jobs: {most:.0f} MiB at most")
    assert most < MOST_MEBIBYTES


MOST_MEBIBYTES_OF_A_SITE = 400 // PARTS


def by_commands(answers):
    return detailed(read_cluster(answers, name="large", mark=large_site.MARK), answers["details"])


def by_rest(answers):
    return json_answers.read_cluster(answers, name="large")


def drawn(parts):
    """Return a site, or a part of it: 5,000 nodes and 20,000 waiting jobs in full."""
    return large_site.Site.drawn(nodes=5_000 // parts, waiting=20_000 // parts, planned=300 // parts)


@pytest.fixture(scope="module", params=["commands", "rest"])
def site(request):
    """Return what 5,000 nodes and 23,000 jobs are read of, or a part of them, and the reader."""
    made = drawn(PARTS)
    if request.param == "commands":
        return large_site.by_commands(made), by_commands
    return {name: text.encode() for name, text in large_site.by_rest(made).items()}, by_rest


def test_reading_a_large_site(benchmark, site):
    answers, reader = site
    cluster = benchmark(reader, answers)
    assert (len(cluster.nodes), sum(job.pending for job in cluster.jobs)) == (5_000 // PARTS, 20_000 // PARTS)
    assert any(job.gres_per_node for job in cluster.jobs)
    assert not any("could not be read" in caution for caution in cluster.cautions)


def test_memory_of_a_large_site(site):
    answers, reader = site
    tracemalloc.start()
    try:
        reader(answers)
        most = (tracemalloc.get_traced_memory()[1] + sum(map(len, answers.values()))) / 2**20
    finally:
        tracemalloc.stop()
    print(f"{sum(map(len, answers.values())) / 2**20:.0f} MiB of answers: {most:.0f} MiB at most")
    assert most < MOST_MEBIBYTES_OF_A_SITE


MOST_MEGABYTES = 500

PLAN = """
import json, sys, time
from pathlib import Path
import numpy as np
from gas.endpoints.slurm import json_answers
from gas.endpoints.slurm.command_line import detailed, read_cluster
from gas.endpoints.slurm.interpretation import interpret

answers = json.loads(Path(sys.argv[1]).read_text())
clock = [time.process_time()]
if "details" in answers:
    cluster = detailed(read_cluster(answers, name="large", mark=sys.argv[2]), answers["details"])
else:
    cluster = json_answers.read_cluster(answers, name="large")
clock.append(time.process_time())
found = interpret(cluster, "main").availability
clock.append(time.process_time())
sizes = np.tile(16 * 2 ** np.arange(10), 5)
found.anchors(sizes, np.repeat([600, 3600, 7200, 36000, 86400], 10), found.now)
clock.append(time.process_time())
status = Path("/proc/self/status").read_text()  # getrusage counts what the process that started this one had
print(json.dumps([*np.diff(clock).tolist(), int(status.partition("VmHWM:")[2].split()[0]) / 1024]))
"""


@pytest.mark.parametrize("transport", ["commands", "rest"])
@pytest.mark.parametrize("parts", [PARTS] if SMALL else [4, 2, 1])
def test_a_plan_for_fifty_shapes_at_a_large_site(tmp_path, transport, parts):
    """Processor seconds to read, to plan what waits and to place 50 shapes, and MB at the most, in a new process.

    Kernels have been compiled. On a busy machine, to read + to plan + to place, and MB:

    =====  =======  =====================  =====================
    nodes  waiting  commands               REST
    =====  =======  =====================  =====================
    1,250    5,000  0.6 + 1.0 + 0.1,  222  0.6 + 0.9 + 0.4,  219
    2,500   10,000  0.9 + 1.3 + 0.2,  244  1.1 + 1.2 + 0.6,  242
    5,000   20,000  2.2 + 1.8 + 0.3,  299  2.4 + 1.8 + 0.9,  305
    =====  =======  =====================  =====================
    """
    site = drawn(parts)
    said = large_site.by_commands(site) if transport == "commands" else large_site.by_rest(site)
    (tmp_path / "answers.json").write_text(json.dumps(said))
    del said
    command = [sys.executable, "-c", PLAN, str(tmp_path / "answers.json"), large_site.MARK]
    for _ in range(RUNS):
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
    read, planned, placed, megabytes = json.loads(ran.stdout)
    print(
        f"{site.size:,} nodes, {20_000 // parts:,} waiting, {transport}: read {read:.1f} s, plan {planned:.1f} s, "
        f"50 shapes {placed:.1f} s, {megabytes:.0f} MB"
    )
    assert megabytes < MOST_MEGABYTES


def test_gas_plan_for_fifty_shapes_at_a_large_site(tmp_path):
    """`gas plan` as a user calls it, from its start to its exit; the commands take no time of Slurm's."""
    site = drawn(PARTS)
    large_site.as_programs(large_site.by_commands(site), tmp_path / "bin")
    (tmp_path / "gas.toml").write_text(
        f'[endpoints.big]\ntype = "slurm"\nfolder = "{tmp_path}/bin"\npartition = "main"\n'
    )
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH --ntasks=16\nsrun ./x\n")
    sizes = [16 * (number + 1) for number in range(50)]
    times = [f"{1440 // (number + 1) + 60}m" for number in range(50)]
    command = [sys.executable, "-m", "gas", "plan", "--script", "job.sh", "--sizes", ",".join(map(str, sizes)),
               "--time", ",".join(times), "--config", "gas.toml", "-e", "big", "--stale-ok"]  # fmt: skip
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
        lasted, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "processors on big, walltime" in ran.stdout
    assert "more candidates" in ran.stdout
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print(f"gas plan, {site.size:,} nodes, 50 shapes: {spent:.1f} s of the processor, {lasted:.1f} s in all")
