"""Cost of a study of many clusters on a Dask cluster of processes, by the number of clusters; extrapolated to 1,000.

Not collected by default; -s shows the table:

    pytest tests/benchmarks/test_clusters.py -s -o addopts="--import-mode=importlib"

With GAS_BENCHMARK_LONG=1 for 25, 50, 100 and 200 clusters, applications choosing among 25 (about five minutes of CPU
time); otherwise for a few. CPU seconds and bytes are fitted by a power of the number of clusters, peaks of memory by a
line; the interval is that of a further observation (90%). Each number of clusters uses new processes, so that peaks are
its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from dask_cluster import Cluster, counted, dask_cluster
from scipy.stats import t as student

LONG = os.environ.get("GAS_BENCHMARK_LONG") == "1"
NUMBERS, MOST = ((25, 50, 100, 200), 25) if LONG else ((2, 3, 4), 2)
FAR = 1000


def cpu(pid: int) -> float:
    """Return the CPU seconds of a process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak(pid: int) -> float:
    """Return the most memory that a process has used (MB)."""
    (line,) = (one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def measured(clusters: int, folder: Path, cluster: Cluster) -> dict[str, float]:
    """Run the study on new processes, and return their usage."""
    workers = cluster.workers
    began, before = time.perf_counter(), {pid: cpu(pid) for pid in (cluster.scheduler, *workers)}
    with counted(cluster.address) as (address, passed):
        command = [sys.executable, "-m", "gas", "experiment", "clusters", "--clusters", str(clusters)]
        command += ["--most", str(MOST), "--dask", address, "--output", str(folder / "out")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    used = {pid: cpu(pid) - before[pid] for pid in (cluster.scheduler, *workers)}
    runs = len(list((folder / "out" / "runs").iterdir()))
    return {
        "runs": runs,
        "wall s": time.perf_counter() - began,
        "workers, CPU s": sum(used[pid] for pid in workers),
        "scheduler, CPU s": used[cluster.scheduler],
        "client, CPU s": usage.ru_utime + usage.ru_stime,
        "worker, MB": max(map(peak, workers)),
        "scheduler, MB": peak(cluster.scheduler),
        "client, MB": usage.ru_maxrss * 1024 / 1e6,
        "kB to the scheduler": passed["up"] / 1e3,
        "kB from the scheduler": passed["down"] / 1e3,
    }


def extrapolated(sizes: list[int], values: list[float], at: int, *, line: bool) -> tuple[float, float, float, float]:
    """Return a fit's growth (a power, or a slope), its value at a size, and the 90% interval of an observation there.

    The interval is nan for two points.
    """
    x, y = (np.array(column, float) if line else np.log(column) for column in (sizes, values))
    matrix = np.column_stack([x, np.ones(len(x))])
    fit, _, _, _ = np.linalg.lstsq(matrix, y, rcond=None)
    free, far = len(x) - 2, np.array([at if line else np.log(at), 1])
    variance = np.sum((y - matrix @ fit) ** 2) / free if free else np.nan
    half = student.ppf(0.95, max(free, 1)) * np.sqrt(variance * (1 + far @ np.linalg.inv(matrix.T @ matrix) @ far))
    ends = [far @ fit, far @ fit - half, far @ fit + half]
    return float(fit[0]), *(float(end if line else np.exp(end)) for end in ends)


@pytest.mark.timeout(0)
def test_growth_on_a_cluster_of_processes(benchmark, tmp_path):
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    numbers = NUMBERS[:2] if benchmark.disabled else NUMBERS
    found: dict[int, dict[str, float]] = {}

    def run():
        for number in numbers:
            folder = tmp_path / str(number)
            folder.mkdir()
            with dask_cluster(folder) as cluster:
                found[number] = measured(number, folder, cluster)

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info.update({str(number): figures for number, figures in found.items()})
    print(f"\n\n{'clusters':>24}" + "".join(f"{number:>10,}" for number in numbers) + f"{'growth':>9}{FAR:>10,}  90%")
    for name in found[numbers[0]]:
        values = [found[number][name] for number in numbers]
        growth, there, low, high = extrapolated(list(numbers), values, FAR, line="MB" in name)
        shown = f"{growth:7.3f} n" if "MB" in name else f"   n^{growth:.2f}"
        far = f"{shown}{there:10,.0f}  {low:,.0f}-{high:,.0f}" if LONG else ""  # three small ones are no evidence
        print(f"{name:>24}" + "".join(f"{value:10,.1f}" for value in values) + far)
    for number, figures in found.items():
        assert figures["runs"] <= 2 * sum(-(-number // size) for size in (1, 2, 5, 25))
        assert figures["kB to the scheduler"] + figures["kB from the scheduler"] < 60 + 4 * figures["runs"], number
        assert figures["scheduler, MB"] < 200, number


def test_what_grows_as_a_power_or_a_line_is_found_with_an_interval_that_holds_it():
    power, there, low, high = extrapolated([1, 2, 4, 8], [3.0, 12.2, 47, 195], 16, line=False)
    assert 1.9 < power < 2.1
    assert low < 768 < high
    slope, there, low, high = extrapolated([1, 2, 3, 4], [12.0, 14, 16, 18], 10, line=True)
    assert (slope, there) == pytest.approx((2, 30))
    assert low == pytest.approx(high)
