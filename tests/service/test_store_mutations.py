"""Stores with changed bytes: refused with the reason, reported as older, or unaffected; never silently different.

`GAS_MUTANTS=10000 pytest -m long tests/service/test_store_mutations.py` is the long form.
"""

import os
import random
import shutil
from dataclasses import replace

import pytest

from gas.errors import GasError
from gas.service.backup import check
from gas.service.clock import Clock
from gas.service.jobs import Job, JobRequest
from gas.service.live import LiveScheduler
from gas.service.store import Store

NOW = 1_800_000_000
FILES = ("s3.sqlite", "s3.sqlite-wal", "s3.mark")
IDS = range(1, 61)


def made(folder):
    """Return a store half of which is still in the WAL, as after a kill."""
    live = LiveScheduler("test", 8, folder / "made", clock=Clock(origin=NOW, real_origin=NOW, real=lambda: NOW))
    for n in IDS:
        request = JobRequest(
            "job", f"job {n}", 1 + n % 8, 100 * n, actuator="simulated", run_time=50, user=f"user{n % 3}"
        )
        if n % 4 == 0:
            command = ("sh", "-c", f"echo {n}" * n)
            request = replace(request, actuator="process", run_time=None, command=command, start=NOW + 10**6)
        live.submit(replace(request, key=f"key-{n}"))
        if n % 5 == 0:
            live.cancel(n)
        if n == 30:
            live._store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store = live._store
    store.write(changed=[replace(ended(store.job(n)), message=None) for n in (7, 8)])
    kept = folder / "kept"
    kept.mkdir()
    for name in FILES:
        shutil.copyfile(folder / "made" / name, kept / name)
    live.stop()
    return kept


def ended(job: Job) -> Job:
    return replace(job, state="completed", finished=NOW, exit_status=0)


def contents(folder):
    """Return all answers of a service on this state, and whether it reports a problem."""
    live = LiveScheduler("test", None, folder, clock=Clock(origin=NOW, real_origin=NOW, real=lambda: NOW))
    try:
        listed = [job.to_wire() for job in live.jobs(ended=1000)]
        each = {}
        for n in IDS:
            try:
                each[n] = live.job(n)
            except GasError as error:
                each[n] = str(error)
        keys = {n: live.job_with_key(f"user{n % 3}", f"key-{n}") for n in IDS if not isinstance(each[n], str)}
        asked = {n: job.request for n, job in each.items() if not isinstance(job, str)}
        return (listed, each, keys, asked, live.machine()), live.health()["remarks"]
    finally:
        live.stop()


def mutate(generator, folder):
    """Change one of the files in one way, and describe the change."""
    name = generator.choices(FILES, (6, 4, 1))[0]
    path = folder / name
    data = bytearray(path.read_bytes())
    kind = generator.choice(["bit", "byte", "bytes", "zeros", "cut", "swap", "shift", "repeat", "gone"])
    place = generator.randrange(len(data))
    if kind == "bit":
        data[place] ^= 1 << generator.randrange(8)
    elif kind == "byte":
        data[place] = generator.randrange(256)
    elif kind == "bytes":
        size = generator.choice([2, 8, 64, 512])
        data[place : place + size] = generator.randbytes(len(data[place : place + size]))
    elif kind == "zeros":
        start = place // 512 * 512
        data[start : start + 512] = bytes(len(data[start : start + 512]))
    elif kind == "cut":
        del data[place:]
    elif kind == "swap":
        size = generator.choice([16, 512, 4096])
        one, other = (generator.randrange(max(1, len(data) // size)) * size for _ in range(2))
        data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    elif kind == "shift":
        del data[place : place + generator.choice([1, 7, 4096])]
    elif kind == "repeat":
        data[place:place] = data[place : place + 512]
    if kind == "gone":
        path.unlink()
    else:
        path.write_bytes(data)
    return f"{name}: {kind} at {place}"


def survives(seed, kept, expected, folder):
    """Open one mutant, and return the outcome."""
    shutil.copytree(kept, folder)
    how = mutate(random.Random(seed), folder)
    try:
        try:
            check(folder)
            found, remarks = contents(folder)
        except GasError:
            return "refused"
        if remarks:
            return "announced"
        assert found == expected, f"seed {seed}: silently different: {how}"
        return "the same"
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return made(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def expected(kept, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected") / "state"
    shutil.copytree(kept, folder)
    found, remarks = contents(folder)
    assert remarks == []
    return found


def test_a_store_that_nothing_has_changed_is_as_it_was(kept, expected, tmp_path):
    shutil.copytree(kept, tmp_path / "state")
    store = Store(tmp_path / "state" / "s3.sqlite")
    assert (store.lost, store.last_id()) == (None, max(IDS))
    store.close()
    assert check(tmp_path / "state") == ([], len(IDS))


@pytest.mark.thorough
def test_no_changed_store_is_silently_different(kept, expected, tmp_path):
    ends = [survives(seed, kept, expected, tmp_path / "state") for seed in range(150)]
    assert {"refused", "announced", "the same"} == set(ends)


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_no_changed_store_is_silently_different_long_form(kept, expected, tmp_path, part, capsys):
    count = int(os.environ.get("GAS_MUTANTS", "1000")) // 4
    first = 1000 + part * 10**6
    ends = [survives(seed, kept, expected, tmp_path / "state") for seed in range(first, first + count)]
    with capsys.disabled():
        print(f"\n{count} stores: " + ", ".join(f"{ends.count(end)} {end}" for end in sorted(set(ends))))
