"""Speed of the simulator compared with a plain C++ program of the same rules, its growth, and its memory.

Not collected by default; -s shows the tables:

    pytest tests/benchmarks/test_simulation.py -s -o addopts="--import-mode=importlib" --benchmark-columns=min,median

GAS_YARDSTICK names the source of the C++ program (``program POLICY PROCESSORS STARTS < LOG`` prints JSON with the
"seconds" of its event loop and writes "id submit start end" lines), GAS_TRACES the folder of real logs. Tests without
their requirements are skipped. Both programs take turns, the best run of each counts, and only the event loops are
compared: no parsing, no compiling. No ratio fails a test; a schedule that differs in any job does.

With GAS_BENCHMARK_LONG=1, both get a longer log with up to a thousand jobs waiting, and the simulator alone one with
thousands. With --benchmark-disable everything is small and runs once.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gas.simulation.schedule import NEVER_STARTED, Policy, Schedule
from gas.simulation.simulate import Simulation, simulate
from gas.simulation.state import W_START, W_STATUS, WAITING
from workloads import Log, RigidJobs, estimates, lublin, read_swf, rigid_jobs, write_swf

LONG = os.environ.get("GAS_BENCHMARK_LONG") == "1"

Report = Callable[..., None]


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, list[list[str]]]]:
    """Rows by the title of their table, printed when complete."""
    found: dict[str, list[list[str]]] = {}
    yield found
    for title, rows in found.items():
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        print(f"\n\n{title}")
        for row in rows:
            print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


@pytest.fixture
def report(tables, benchmark) -> Report:
    """Add a row to a table, and to the data saved by pytest-benchmark: ``report(title, name=value, ...)``."""

    def add(title: str, **cells: object) -> None:
        heads = [name.replace("_", " ") for name in cells]
        tables.setdefault(title, [heads]).append(
            [f"{x:,.4g}" if isinstance(x, float) else str(x) for x in cells.values()]
        )
        benchmark.extra_info.update(cells)

    return add


# ------------------------------------------------------------------------------------------------- the C++ program


class Yardstick:
    """The compiled C++ program."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def run(self, policy: Policy, machine: int, log: Path) -> dict[str, Any]:
        """Simulate a plain log and return the program's output, under "starts" also the schedule."""
        starts = self.program.with_name("starts")
        with log.open("rb") as lines:
            command = [str(self.program), policy, str(machine), str(starts)]
            answer = subprocess.run(command, stdin=lines, capture_output=True, check=True, text=True).stdout
        return {**json.loads(answer), "starts": np.loadtxt(starts, dtype=np.int64, ndmin=2)}


@pytest.fixture(scope="module")
def yardstick(tmp_path_factory) -> Yardstick:
    source = os.environ.get("GAS_YARDSTICK", "")
    if not source or not Path(source).is_file():
        pytest.skip("needs the C++ program: GAS_YARDSTICK names no source file")
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++ to compile the C++ program")
    program = tmp_path_factory.mktemp("yardstick") / "yardstick"
    subprocess.run([compiler, "-O3", "-march=native", "-o", str(program), source], check=True)
    return Yardstick(program)


def in_turn(benchmark, yardstick: Yardstick, jobs: RigidJobs, policy: Policy, log: Path, rounds: int):
    """Return the best seconds of the simulator and of the program, in turn, and the last answers of both."""
    ours: list[Schedule] = []
    theirs: list[dict[str, Any]] = []

    def its_turn() -> tuple[tuple[()], dict[str, Any]]:
        theirs.append(yardstick.run(policy, jobs.machine, log))
        return (), {}

    benchmark.pedantic(lambda: ours.append(simulate(jobs, policy)), setup=its_turn, rounds=rounds)
    best = min(s.engine_seconds for s in ours), min(t["seconds"] for t in theirs)
    return *best, ours[-1], theirs[-1]


def assert_same(schedule: Schedule, answer: dict[str, Any]) -> None:
    """Raise unless both gave every job the same start and end."""
    columns = np.stack([schedule.jobs.id, schedule.jobs.submit, schedule.start, schedule.end], axis=1)
    np.testing.assert_array_equal(columns[np.argsort(schedule.jobs.id, kind="stable")], answer["starts"])


LOGS = {"KTH-SP2-1996-2.1-cln": 100, "CTC-SP2-1996-3.1-cln": 338, "SDSC-SP2-1998-4.2-cln": 128}


@pytest.mark.parametrize("policy", ["conservative", "s3", "easy"])
@pytest.mark.parametrize("name", LOGS)
def test_a_real_log_beside_the_program(benchmark, report, traces, yardstick, tmp_path, name, policy):
    plain = tmp_path / "plain.swf"
    plain.write_bytes(gzip.decompress((traces / f"{name}.swf.gz").read_bytes()))
    jobs = rigid_jobs(read_swf(plain), LOGS[name])
    benchmark.group = f"simulating {name}"
    ours, theirs, schedule, answer = in_turn(benchmark, yardstick, jobs, policy, plain, rounds=5)
    report(
        "event loop, best of five in turn (ms)",
        log=name.split("-1")[0],
        policy=policy,
        simulator=ours * 1e3,
        program=theirs * 1e3,
        ratio=ours / theirs,
    )
    assert_same(schedule, answer)


# --------------------------------------------------------------------------------------------------- a crowded log


def made_up(jobs: int, machine: int, load: float, seed: int) -> Log:
    """Return a log of the Lublin-Feitelson model with estimates like those of users."""
    generator = np.random.default_rng(seed)
    log = lublin.generate(jobs, machine, generator=generator, load=load)
    return log.with_columns(requested_time=estimates.mualem_feitelson(log.run_time, generator))


def queue_lengths(schedule: Schedule) -> tuple[float, int]:
    """Return the average (over time, from the first submission to the last start) and the longest queue."""
    submit, start = schedule.jobs.submit, schedule.start
    times = np.concatenate([submit, start])
    steps = np.repeat([1, -1], len(submit))
    order = np.lexsort((steps, times))
    lengths = np.cumsum(steps[order])
    return float(np.average(lengths[:-1], weights=np.diff(times[order]))), int(lengths.max())


def beside(benchmark, report: Report, yardstick: Yardstick, jobs: RigidJobs, policy: Policy, log: Path, title, rounds):
    """Run the simulator and the program in turn, report both with the queue, and compare their schedules."""
    ours, theirs, schedule, answer = in_turn(benchmark, yardstick, jobs, policy, log, rounds)
    average, longest = queue_lengths(schedule)
    report(
        title,
        jobs=len(jobs),
        policy=policy,
        average_queue=round(average),
        longest_queue=longest,
        replaced_by_program=answer["moves"],
        simulator=ours,
        program=theirs,
        ratio=ours / theirs,
    )
    assert_same(schedule, answer)


@pytest.mark.parametrize("policy", ["conservative", "s3", "easy"])
def test_a_crowded_log_beside_the_program(benchmark, report, yardstick, tmp_path, policy):
    """Jobs arrive at 1.3 times the rate that the machine can run: of 60,000, up to a thousand wait at a time."""
    log = made_up(60_000 if LONG else 4_000, 338, load=1.3, seed=1)
    plain = tmp_path / "crowded.swf"
    write_swf(log, plain)
    jobs = rigid_jobs(log)
    benchmark.group = "simulating a crowded log"
    beside(
        benchmark, report, yardstick, jobs, policy, plain, "event loop on a crowded log (s)", rounds=2 if LONG else 3
    )


@pytest.mark.parametrize("policy", ["conservative", "s3", "easy"])
def test_a_log_with_thousands_of_jobs_waiting(benchmark, report, policy):
    """Jobs arrive at five times the rate; the program would need hours, so it is left out."""
    if not LONG:
        pytest.skip("takes minutes: set GAS_BENCHMARK_LONG=1")
    jobs = rigid_jobs(made_up(60_000, 338, load=5, seed=1))
    benchmark.group = "simulating a log with thousands of jobs waiting"
    schedule = benchmark.pedantic(simulate, args=(jobs, policy), rounds=1)
    average, longest = queue_lengths(schedule)
    early = np.sort(schedule.end[schedule.end - schedule.start < jobs.estimate])
    arrived = np.searchsorted(jobs.submit, early, side="right")
    started = np.searchsorted(np.sort(schedule.start), early, side="right")
    report(
        "event loop with thousands of jobs waiting (s)",
        jobs=len(jobs),
        policy=policy,
        average_queue=round(average),
        longest_queue=longest,
        jobs_waiting_at_early_ends=int((arrived - started).sum()),
        simulator=schedule.engine_seconds,
    )
    assert longest > 4_000


# ------------------------------------------------------------------------------------------------ bulk submissions


def in_bulk(jobs: int, seed: int) -> Log:
    """Return a log of jobs for 8,192 processors that mostly come in bulk, each for a small share of its estimate.

    The shape is that of RICC in the archive: an offered load near 0.87, a median run time of some 2% of the estimate,
    447,794 jobs in 153 days, many users who submit up to thousands of equal jobs at once.
    """
    generator = np.random.default_rng(seed)
    machine, span = 8192, 153 * 86_400 * jobs // 447_794
    sizes, of_sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], [30, 6, 8, 18, 12, 8, 6, 4, 3, 1.5, 0.5]
    estimates_, of_estimates = [600, 3600, 14_400, 43_200, 86_400, 259_200], [1, 3, 6, 20, 30, 40]
    rows: list[tuple[int, int, int, int]] = []
    while len(rows) < jobs:
        size = int(generator.choice(sizes, p=np.divide(of_sizes, sum(of_sizes))))
        estimate = int(generator.choice(estimates_, p=np.divide(of_estimates, sum(of_estimates))))
        count = int(np.clip(generator.lognormal(1.2, 1.8), 1, 20 if size >= 128 else 6000))
        begin, apart = generator.uniform(0, span), generator.choice([0, 1, 5])
        shares = np.exp(generator.normal(np.log(0.017), 1.6) + generator.normal(0, 0.8, count))
        rows += [(int(begin + apart * i), size, estimate, int(estimate * share)) for i, share in enumerate(shares)]
    submit, processors, estimate, run_time = np.array(sorted(rows[:jobs])).T
    load = (processors * np.minimum(run_time, estimate)).sum() / (machine * span)
    run_time = np.clip((run_time * 0.87 / load).astype(np.int64), 1, estimate)
    return Log.from_columns(
        {
            "submit": submit,
            "run_time": run_time,
            "allocated_processors": processors,
            "requested_processors": processors,
            "requested_time": estimate,
        }
    )


@pytest.mark.parametrize("policy", ["conservative", "s3"])
def test_bulk_submissions_beside_the_program(benchmark, report, yardstick, tmp_path, policy):
    """Most jobs that the program re-places stay; most of the others slide with the job in front of them."""
    log = in_bulk(60_000 if LONG else 12_000, seed=1)
    plain = tmp_path / "bulk.swf"
    write_swf(log, plain)
    jobs = rigid_jobs(log, 8192)
    benchmark.group = "simulating bulk submissions"
    beside(
        benchmark,
        report,
        yardstick,
        jobs,
        policy,
        plain,
        "event loop with bulk submissions (s)",
        rounds=1 if LONG else 2,
    )


# ---------------------------------------------------------------------------------------------------------- growth


def standing_queue(queued: int, more: int, machine: int, seed: int) -> RigidJobs:
    """Return jobs at second 0, `queued` of which wait, then `more`: under `easy`, one whenever another starts.

    Sizes of powers of two up to half the machine, walltimes of a minute to a day (uniform in the logarithm), run times
    of any share of these.
    """
    random = np.random.default_rng(seed)
    burst = queued + 40  # about as many can run at once
    total = burst + more
    processors = 2 ** random.integers(0, int(machine).bit_length() - 1, total)
    estimate = np.exp(random.uniform(np.log(60), np.log(86_400), total)).astype(np.int64)
    run_time = np.maximum(1, (estimate * random.random(total)).astype(np.int64))
    unknown = np.full(total, -1, np.int64)
    number = np.arange(total)
    submit = np.zeros(total, np.int64)
    for _ in range(4):  # each arrival changes later starts, less each time
        jobs = RigidJobs(number + 1, submit, processors, estimate, run_time, unknown, unknown, unknown, number, machine)
        starts = np.sort(simulate(jobs, "easy").start)
        submit = np.concatenate([np.zeros(burst, np.int64), starts[starts > 0][:more]])
    return replace(jobs, submit=submit)


def waiting(schedule: Schedule, now: int) -> int:
    """Return the number of waiting jobs: their starts are planned ones, or unknown."""
    submitted, started = schedule.jobs.submit <= now, schedule.start <= now
    return int(np.count_nonzero(submitted & ~(started & (schedule.start != NEVER_STARTED))))


def moved_by_an_event(simulation: Simulation, events: int) -> float:
    """Return the average number of jobs to which an event gives another start."""
    moved = 0
    last = simulation.events + events
    while simulation.events < last:
        before = simulation._state.work[[W_START, W_STATUS]]  # a schedule does not contain waiting jobs
        simulation.run(events=1)
        after = simulation._state.work[[W_START, W_STATUS]]
        waited = (before[1] == WAITING) & (after[1] == WAITING)
        moved += int(np.count_nonzero(waited & (before[0] != after[0])))
    return moved / events


@pytest.mark.parametrize("queued", [100, 1_000, 10_000, 100_000])
@pytest.mark.parametrize("policy", ["conservative", "s3", "easy"])
def test_an_event_with_jobs_waiting(benchmark, report, policy, queued):
    """Arrivals and completions, about as many of each, behind a burst of jobs."""
    if benchmark.disabled and queued > 1_000:
        pytest.skip("takes minutes: not with --benchmark-disable")
    events = 4_000 if queued <= 1_000 else 1_000 if queued <= 10_000 else 200
    simulation = Simulation(standing_queue(queued, 2 * events, 1024, seed=4), policy)
    simulation.run(events=queued + 40)  # the burst
    simulation.run(events=events // 4)
    runs: list[Simulation] = []

    def copy() -> tuple[tuple[Simulation], dict[str, Any]]:
        runs.append(simulation.copy())
        runs[-1].engine_seconds = 0.0
        return (runs[-1],), {}

    benchmark.group = f"{events} events, {policy}"
    benchmark.pedantic(lambda run: run.run(events=events), setup=copy, rounds=3 if queued <= 10_000 else 1)
    handled = runs[-1].events - simulation.events
    report(
        "microseconds an event, by the jobs waiting",
        policy=policy,
        waiting=waiting(simulation.schedule(), simulation.now),
        waiting_at_last=waiting(runs[-1].schedule(), runs[-1].now),
        events=handled,
        microseconds=min(run.engine_seconds for run in runs) / handled * 1e6,
        jobs_moved=moved_by_an_event(simulation.copy(), 20 if benchmark.disabled else events),
    )
    assert handled >= events


# ----------------------------------------------------------------------------------------------------- the whole


def test_the_whole_command_on_a_real_log(benchmark, report, traces):
    gas = str(Path(sys.executable).parent / "gas")
    command = [gas, "simulate", str(traces / "KTH-SP2-1996-2.1-cln.swf.gz"), "--policy", "s3", "--json"]

    def run() -> str:
        return subprocess.run(command, capture_output=True, check=True, text=True, timeout=300).stdout

    result = json.loads(benchmark.pedantic(run, rounds=7, warmup_rounds=1))["results"][0]
    if benchmark.enabled:
        seconds = benchmark.stats.stats
        report("gas simulate KTH --policy s3 --json, compiled code cached (s)", best=seconds.min, median=seconds.median)
    assert result["jobs"] > 28_000


MEMORY = """
import json, sys
import numpy as np
from gas.simulation.simulate import simulate
from workloads import estimates, lublin, rigid_jobs

def memory(key):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

def run(count):
    peaks = {}

    def stage(name, work):
        open("/proc/self/clear_refs", "w").write("5")  # forgets the peak up to here
        found = work()
        peaks[name] = memory("VmHWM")
        return found

    def make():
        generator = np.random.default_rng(1)
        log = lublin.generate(count, 256, generator=generator, load=0.7)
        return log.with_columns(requested_time=estimates.mualem_feitelson(log.run_time, generator))

    log = stage("generating", make)
    jobs = stage("making rigid", lambda: rigid_jobs(log))
    for policy in ("easy", "s3"):
        schedule = stage(policy, lambda: simulate(jobs, policy))
        assert (schedule.end >= schedule.start).all()
        del schedule
    return peaks

run(1000)  # imports, and machine code
before = memory("VmRSS")
count = int(sys.argv[1])
print(json.dumps({name: (peak - before) / count for name, peak in run(count).items()}))
"""


def test_memory_of_a_generated_workload(benchmark, report):
    """Peak resident memory beyond that of the process with everything imported and loaded, per job of the log."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("needs /proc of Linux")
    jobs = 100_000 if benchmark.disabled else 1_000_000

    def run() -> str:
        command = [sys.executable, "-c", MEMORY, str(jobs)]
        return subprocess.run(command, capture_output=True, check=True, text=True, timeout=600).stdout

    peaks = json.loads(benchmark.pedantic(run, rounds=1))
    report("memory of a generated log, peak bytes a job in each stage", jobs=jobs, **peaks)
    assert max(peaks.values()) > 0
