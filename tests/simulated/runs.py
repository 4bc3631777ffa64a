"""Many seeds, on all cores, with progress; what was run once with this code is not run again."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 300
"""Seconds of one seed, which takes a fraction of one."""


@dataclass
class Summary:
    """What many seeds showed."""

    seeds: int = 0
    operations: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)

    def add(self, line: dict[str, Any]) -> None:
        self.seeds += 1
        self.operations += line["operations"]
        self.faults.update(line["faults"])
        self.counts.update(line["counts"])
        if line["violations"]:
            self.failures[line["seed"]] = "\n".join([*line["violations"], *line["trace"]])

    def to_json(self) -> str:
        """Return it for another process, which reads it with `merge`."""
        return json.dumps([self.seeds, self.operations, self.faults, self.counts, len(self.failures)])

    @staticmethod
    def merge(texts: Iterable[str]) -> Summary:
        """Return the sum of what `to_json` has written, without the traces of failures."""
        whole = Summary()
        for text in texts:
            seeds, operations, faults, counts, failed = json.loads(text)
            whole.failures |= {-len(whole.failures) - n - 1: "" for n in range(failed)}
            whole.seeds, whole.operations = whole.seeds + seeds, whole.operations + operations
            whole.faults.update(faults)
            whole.counts.update(counts)
        return whole

    def __str__(self) -> str:
        put_in = ", ".join(f"{count} × {name}" for name, count in sorted(self.faults.items()))
        at = {name.removeprefix("crash at "): n for name, n in sorted(self.counts.items()) if name.startswith("crash")}
        crashes = ", ".join(f"{count} × {name}" for name, count in at.items())
        return (
            f"{self.seeds:,} seeds, {self.operations:,} operations, {self.counts['executions']:,} commands executed, "
            f"{sum(self.faults.values()):,} faults ({put_in}), crashes at a chosen operation of the disk: "
            f"{crashes or 'none'}; {len(self.failures):,} seeds failed"
        )


def replay(seed: int, operations: int) -> str:
    """Return the command that shows a seed again."""
    return f"PYTHONPATH=tests python -m simulated {seed} --operations {operations}"


def workers() -> int:
    """Return how many processes share the work: GAS_WORKERS, or one a core."""
    return int(os.environ.get("GAS_WORKERS", "0")) or len(os.sched_getaffinity(0))


def one(work: tuple[int, int]) -> dict[str, Any]:
    """Run a seed in a worker."""
    from simulated.kernel import Endless
    from simulated.world import simulate

    def too_long(*_: object) -> None:
        raise Endless(f"a seed takes more than {PATIENCE} s")

    seed, operations = work
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(PATIENCE)
    try:
        result = simulate(seed, operations)
    except Exception as error:  # the simulation itself failed: as bad as the errors that it looks for
        told = [f"{type(error).__name__}: {error}"]
        return {"seed": seed, "operations": operations, "violations": told, "trace": [], "faults": {}, "counts": {}}
    finally:
        signal.alarm(0)
    trace = [*result.trace[-40:], f"replay: {replay(seed, operations)}"] if result.violations else []
    return {
        "seed": seed,
        "operations": operations,
        "violations": result.violations,
        "trace": trace,
        "faults": dict(result.faults),
        "counts": dict(result.counts),
    }


def run_seeds(
    seeds: Iterable[int],
    operations: int,
    *,
    ledger: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
    every: float = 10.0,
) -> Summary:
    """Run many seeds in processes of their own, and return what they showed.

    Parameters
    ----------
    ledger
        Where each seed is noted that was run; those in it are not run again.
    tell
        Is told of the progress every so many seconds.
    """
    summary = Summary()
    seeds = list(seeds)
    wanted, done = set(seeds), set()
    if ledger is not None and ledger.exists():
        for text in ledger.read_text().splitlines():
            line = json.loads(text)
            if line["seed"] in wanted and line["operations"] == operations and line["seed"] not in done:
                done.add(line["seed"])
                summary.add(line)
        tell(f"{len(done):,} seeds were run before ({ledger})")
    left = [(seed, operations) for seed in seeds if seed not in done]
    began = told = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(workers(), max(1, len(left)))) as pool:
        for number, line in enumerate(pool.imap_unordered(one, left, chunksize=4), start=1):
            summary.add(line)
            if ledger is not None:
                with ledger.open("a") as file:
                    file.write(json.dumps(line) + "\n")
            if line["violations"]:
                tell(f"seed {line['seed']}: {line['violations'][0]}")
            if time.monotonic() > told + every:
                told = time.monotonic()
                rate = number / (told - began)
                tell(
                    f"{summary.seeds:,} of {len(seeds):,} seeds, {len(summary.failures):,} failed, "
                    f"{60 * rate:,.0f} a minute, {(len(left) - number) / rate / 60:.0f} min left"
                )
    return summary


def version() -> str:
    """Return a hash of all code that a seed's run depends on."""
    import gas

    package, here = Path(gas.__file__).parent, Path(__file__).parent
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(
        [*package.rglob("service/*.py"), *package.rglob("s3/*.py"), *package.glob("*.py"), *here.glob("*.py")]
    ):
        if not path.name.startswith("test_"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def ledger_of(cache: Path) -> Path:
    """Return where the seeds that this code has run are noted."""
    cache.mkdir(parents=True, exist_ok=True)
    return cache / f"{version()}.jsonl"
