"""CPU time and peak memory of each command, from a model to an audited schedule, by the number of jobs.

Not collected by default; -s shows the table:

    pytest tests/benchmarks/test_scale.py -s -o addopts="--import-mode=importlib"

With GAS_BENCHMARK_LONG=1 for ten million jobs: about 15 minutes of CPU time, 4 GB of memory, 4 GB in the folder of
temporary files. The memory per job is that beyond 1,000 jobs, divided by the other jobs; a command that needs 4 GB or
more fails. Offered load 0.85, as on a busy machine: above 1 the queue would grow with the log.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

JOBS = 10_000_000 if os.environ.get("GAS_BENCHMARK_LONG") == "1" else 30_000
FEW = 1_000

MODEL = "workload lublin --processors 1024 --load 0.85 --seed 1 --estimates f=4 -o log.swf --jobs"
STEPS = {
    "generate": MODEL,
    "simulate easy, SWF": "simulate log.swf --policy easy -o easy.swf",
    "audit easy": "audit easy.swf --log log.swf --promise easy",
    "simulate s3, CSV": "simulate log.swf --policy s3 -o s3.csv",
    "audit s3": "audit s3.csv --log log.swf --promise s3",
}


class Used(NamedTuple):
    """The cost of a command."""

    seconds: float
    """CPU time, user and system."""
    bytes: int
    """Peak of resident memory."""
    printed: str


def used(step: str, jobs: int, folder: Path) -> Used:
    """Run a command of Gas; raise if it fails."""
    command = [sys.executable, "-m", "gas", *STEPS[step].split(), *([str(jobs)] if step == "generate" else [])]
    with (folder / "printed").open("w+") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        printed = out.read()
    assert process.returncode == 0, printed
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, printed)


def test_every_step_from_a_model_to_an_audit_takes_bounded_memory(benchmark, tmp_path):
    jobs = 2 * FEW if benchmark.disabled else JOBS
    base = {step: used(step, FEW, tmp_path) for step in STEPS}
    found: dict[str, Used] = {}

    def run():
        found.update({step: used(step, jobs, tmp_path) for step in STEPS})

    benchmark.pedantic(run, rounds=1)
    print(f"\n\n{jobs:,} jobs\n  {'step':20}{'CPU s':>9}{'µs a job':>10}{'peak MB':>9}{'bytes a job':>13}")
    for step, took in found.items():
        more = jobs - FEW
        seconds, size = took.seconds - base[step].seconds, took.bytes - base[step].bytes
        print(f"  {step:20}{took.seconds:9.1f}{1e6 * seconds / more:10.1f}{took.bytes / 1e6:9,.0f}{size / more:13,.0f}")
        benchmark.extra_info[step] = took._replace(printed="")
        assert took.bytes < 4e9, step
    for step in ("audit easy", "audit s3"):
        assert f"{jobs:,} jobs on 1,024 processors: no violation" in found[step].printed
