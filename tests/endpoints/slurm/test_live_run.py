"""A moldable job on a busy Slurm from its plan to its end: planned, submitted, reshaped while it waits, and run.

The queue: one job holds all nodes for a minute; one ahead wants 12 of them after that; from the sixth minute on, 14
nodes are reserved. At first 4 nodes finish first. Then the job ahead is cancelled, and all 16 finish first.

A second Slurm with the same queue runs the same application as Slurm itself molds jobs: ``-N 2-16`` takes what is free
at the start for as long as the fewest nodes may need.
"""

import json
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from eventually import event
from private_slurm import PrivateSlurm, own_name

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

TIMES = {2: 240, 4: 125, 8: 68, 16: 40}
APPLICATION = f"""
name = "lu"
[speedup]
model = "table"
times = {{ {", ".join(f"{n} = {t}" for n, t in TIMES.items())} }}
"""
RUN = "; ".join([*(f"[ $1 -ge {n} ] && t={t}" for n, t in TIMES.items()), "sleep $t"])
"""The application in the shell: on so many processors it takes as long as its file says."""

NODES = 16
LATE = 60 + 30
"""Seconds by which a start may be later than predicted: bf_resolution, and for a job that is killed late."""


@pytest.fixture
def slurms():
    """Return the Slurm of the run, and the one for Slurm's own way."""
    with ExitStack() as stack:
        yield [stack.enter_context(PrivateSlurm(NODES, 1)) for _ in range(2)]


def fill(slurm):
    """Make the queue; return the number of the job ahead."""
    where = ("reservationname=work", f"nodes={','.join(slurm.nodes[2:])}", f"users={own_name()}")
    slurm.run("scontrol", "create", "reservation", *where, "starttime=now+5minutes", "duration=30")
    slurm.submit("-n", str(NODES), "-t", "1", seconds=59)
    ahead = slurm.submit("-n", "12", "-t", "3")
    assert slurm.planned_start(ahead) is not None
    return ahead


def molded(slurm):
    """Submit the application with a range of nodes, and the time that the fewest need with Gas's margin."""
    limit = -(-max(TIMES.values()) * 11 // 600)
    words = ("-o", "/dev/null", "-D", "/", "-N", f"{min(TIMES)}-{NODES}", "-t", str(limit))
    return int(slurm.run("sbatch", "--parsable", *words, f"--wrap=set -- $SLURM_JOB_NUM_NODES; {RUN}"))


def planned_nodes(slurm, job):
    """Return on how many nodes a waiting job is planned."""
    deadline = time.monotonic() + 5
    while not (nodes := shown(slurm, job).get("SchedNodeList")) and time.monotonic() < deadline:
        time.sleep(0.2)
    return len(slurm.run("scontrol", "show", "hostnames", nodes).split())


def shown(slurm, job):
    """Return what Slurm says of a job."""
    said = slurm.run("scontrol", "-o", "show", "job", str(job), SLURM_TIME_FORMAT="%s")
    return dict(word.split("=", 1) for word in said.split() if "=" in word)


def until(slurm, job, *states):
    """Wait until a job is in one of these states; return it as it is then."""
    deadline = time.monotonic() + 150
    while (found := shown(slurm, job))["JobState"] not in states:
        assert time.monotonic() < deadline, f"job {job} is still {found['JobState']}"
        time.sleep(0.5)
    return found


class Program:
    """``gas``, as the user of one Slurm runs it."""

    def __init__(self, folder, slurm):
        self.folder, self.application = folder, folder / "lu.toml"
        table = f'[endpoints.busy]\ntype = "slurm"\nslurm_conf = "{slurm.folder}/slurm.conf"\n'
        (folder / "gas.toml").write_text(table)
        self.application.write_text(APPLICATION)

    def line(self, command, *words):
        options = ("--config", str(self.folder / "gas.toml"), "--json")
        return [sys.executable, "-m", "gas", command, *options, *words]

    def __call__(self, *words):
        return json.loads(subprocess.check_output(self.line(*words), cwd=self.folder, timeout=60))

    def watch(self, job):
        options = ("--every", "1s", "--least", "5s", "--threshold", "1%")
        line = self.line("watch", str(job), str(self.application), *options)
        return subprocess.Popen(line, cwd=self.folder, stdout=subprocess.PIPE, text=True)


def test_a_job_is_planned_submitted_reshaped_while_it_waits_and_run(slurms, tmp_path, capsys):
    slurm, other = slurms
    gas = Program(tmp_path, slurm)
    ahead, others_ahead = (fill(one) for one in slurms)
    began = int(time.time())

    candidates = gas("plan", str(gas.application))["candidates"]
    fixed = {one["processors"]: slurm.probe(one["processors"], -(-one["walltime"] // 60)) for one in candidates}
    assert set(fixed) == set(TIMES)
    assert None not in fixed.values()
    fixed = {size: (start, start + TIMES[size]) for size, start in sorted(fixed.items())}
    command = ("sh", "-c", f"echo $GAS_PROCESSORS $GAS_WALLTIME; {RUN}", "sh", "{processors}")
    submitted = gas("submit", str(gas.application), "--", *command)
    job, first = submitted["job"]["id"], submitted["plan"]["best"]
    assert submitted["job"]["processors"] == first["processors"] == 4
    baseline = molded(other)
    baseline_plan = other.planned_start(baseline), planned_nodes(other, baseline)
    with gas.watch(job) as watch:
        try:
            event(watch, "left")  # nothing finishes sooner yet
            slurm.run("scancel", str(ahead))
            other.run("scancel", str(others_ahead))
            asked = event(watch, "changed")
            planned = event(watch, "planned")
            event(watch, "started")
            assert watch.wait(10) == 0
        finally:
            watch.kill()
    ran = until(slurm, job, "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")
    start, finish, nodes = (int(ran[key]) for key in ("StartTime", "EndTime", "NumNodes"))
    runs = until(other, baseline, "RUNNING")
    baseline_start, baseline_nodes = int(runs["StartTime"]), int(runs["NumNodes"])
    baseline_finish = baseline_start + min(t for n, t in TIMES.items() if n <= baseline_nodes)  # is not waited for

    rows = [(f"{size} nodes, a probe at the plan", *times, size) for size, times in fixed.items()]
    rows.append(("Gas: planned at first", first["start"], first["finish"], first["processors"]))
    rows.append(("Gas: asked for by the watch", asked["best"]["start"], asked["best"]["finish"], 16))
    rows.append(("Gas: run", start, finish, nodes))
    rows.append(("Slurm's -N 2-16: planned", baseline_plan[0], None, baseline_plan[1]))
    rows.append(("Slurm's -N 2-16: run", baseline_start, baseline_finish, baseline_nodes))
    with capsys.disabled():
        print(f"\n{'seconds from the plan':30} {'start':>6} {'finish':>6} {'nodes':>6}")
        for name, *times, count in rows:
            print(f"{name:30}", *(f"{'' if one is None else one - began:>6}" for one in times), f"{count:>6}")
        print(asked["text"], planned["text"], sep="\n")
    assert ran["JobState"] == "COMPLETED"
    assert nodes == asked["best"]["processors"] == 16
    assert start <= asked["best"]["start"] + LATE
    assert start <= first["start"] + LATE
    assert finish < min(end for _, end in fixed.values())
    assert finish < baseline_finish
    output = (tmp_path / f"slurm-{job}.out").read_text().split()
    assert output == ["16", "60"], "the script is told what the job was given in the end"
