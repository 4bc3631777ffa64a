"""Cost of a durable submission over HTTP, compared with the minimum with the same libraries.

Not collected by default; pytest-benchmark prints the table, and the ratio is in the last column of each figure:

    pytest tests/benchmarks/test_service.py -o addopts="--import-mode=importlib" --benchmark-columns=min,median,rounds

The minimum is a FastAPI route that validates a body of the same fields with pydantic, commits one row of the same size
to SQLite (WAL, synchronous=FULL) and answers with an object of the same size. Both run under uvicorn in separate
processes, with their files in the same directory, and are queried in turn by the same client over persistent
connections. The queue is that of a machine of 1,000 processors, with the number of waiting jobs in the name.
"""

import contextlib
import http.client
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

SMALL = os.environ.get("GAS_BENCHMARK_SMALL") == "1"
"""Whether the longest queue is left out, as in CI."""

MACHINE = 1000
ROUNDS = 300


# ------------------------------------------------------------------------------------------------ the least possible


def one_row_service(path: str) -> None:
    """Serve a route that commits one row; prints its address."""
    import uvicorn
    from fastapi import FastAPI

    from gas.service.listening import listen, url_of
    from gas.service.requests import SubmitBody

    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    columns = "id, kind, name, processors, walltime, actuator, run_time, submitted, state, start, promise, due"
    database.execute(f"CREATE TABLE jobs ({columns.replace('id', 'id INTEGER PRIMARY KEY', 1)})")
    lock = threading.Lock()
    app = FastAPI()

    @app.post("/v1/jobs", status_code=201)
    def submit(body: SubmitBody) -> dict[str, Any]:
        now = int(time.time())
        row = {
            "id": None,
            "kind": "job",
            "name": body.name,
            "processors": body.processors,
            "walltime": body.walltime,
            "actuator": body.actuator.kind,
            "run_time": body.walltime,
            "submitted": now,
            "state": "queued",
            "start": now,
            "promise": now,
            "due": now + body.walltime,
        }
        with lock:
            database.execute("BEGIN IMMEDIATE")
            cursor = database.execute(f"INSERT INTO jobs VALUES ({', '.join(f':{name}' for name in row)})", row)
            database.execute("COMMIT")
        return {**row, "id": cursor.lastrowid, **{f"{name}_iso": str(now) for name in ("submitted", "start", "due")}}

    with listen("127.0.0.1", 0) as listener:
        print(url_of(listener), flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


# ------------------------------------------------------------------------------------------------------- the service


def preload(state: Path, queued: int) -> None:
    """Write a store with a number of waiting jobs behind one that runs for a year, as if submitted by users."""
    from gas.s3 import S3, Machine
    from gas.service.live import LiveScheduler

    random = np.random.default_rng(2)
    scheduler = LiveScheduler("s3", MACHINE, state)
    machine = Machine(S3(MACHINE, scheduler.clock.now(), machine_code=True))
    machine.submit(MACHINE, 86_400 * 30, 86_400 * 30)
    sizes, walltimes = random.integers(1, 500, queued).tolist(), random.integers(60, 86_400, queued).tolist()
    for size, walltime in zip(sizes, walltimes, strict=True):
        machine.submit(size, walltime, walltime)
    run_times = machine.run_times
    scheduler.preload([("job", entry, run_times[id]) for id, entry in machine.schedule.entries.items()], machine)
    scheduler.stop()


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection to a service that prints its address."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)) as connection:
            yield connection
    finally:
        process.kill()
        process.communicate()


def submit(connection: http.client.HTTPConnection, number: int, size: int, walltime: int) -> float:
    """Submit a job and return the seconds until the answer."""
    body = {
        "name": f"job {number}",
        "processors": size,
        "walltime": walltime,
        "actuator": {"kind": "simulated", "run_time": walltime},
    }
    data = json.dumps(body)
    began = time.perf_counter()
    connection.request("POST", "/v1/jobs", data, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    took = time.perf_counter() - began
    assert answer.status == 201
    return took


@pytest.mark.parametrize("queued", [100, 1_000] if SMALL else [100, 1_000, 10_000, 100_000])
def test_a_durable_submission(benchmark, tmp_path, queued):
    state = tmp_path / "state"
    preload(state, queued)
    serve = ["-m", "gas", "serve", "--port", "0", "--state", str(state)]
    random = np.random.default_rng(3)
    sizes, walltimes = random.integers(1, 500, 100_000).tolist(), random.integers(60, 86_400, 100_000).tolist()
    took: dict[str, list[float]] = {"s3": [], "one row": []}
    with running(serve) as s3, running([__file__, str(tmp_path / "row.sqlite")]) as one_row:
        for n in range(20):  # warm-up
            submit(s3, n, sizes[-n], walltimes[-n])
            submit(one_row, n, sizes[-n], walltimes[-n])
        wanted = iter(enumerate(zip(sizes, walltimes, strict=True)))

        def next_wanted() -> tuple[tuple[Any, ...], dict[str, Any]]:
            number, (size, walltime) = next(wanted)
            took["one row"].append(submit(one_row, number, size, walltime))
            return (number, size, walltime), {}

        benchmark.group = "a durable submission over HTTP"
        benchmark.pedantic(
            lambda *request: took["s3"].append(submit(s3, *request)),
            setup=next_wanted,
            rounds=ROUNDS if queued <= 10_000 else ROUNDS // 3,
        )
    medians = {name: statistics.median(times) for name, times in took.items()}
    benchmark.extra_info |= {f"{name}, ms": round(median * 1e3, 3) for name, median in medians.items()}
    benchmark.extra_info["ratio"] = round(medians["s3"] / medians["one row"], 2)
    print(f"\n{queued} queued: {benchmark.extra_info}")


if __name__ == "__main__":
    one_row_service(sys.argv[1])
