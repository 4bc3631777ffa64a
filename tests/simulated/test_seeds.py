"""The service under any faults: nothing answered is lost, nothing runs twice, no promise breaks without a reason.

The short form runs with every change. The long form is

    GAS_SEEDS=10000 pytest -q -m long tests/simulated

on all cores; interrupted, it goes on where it stood. Without GAS_SEEDS it runs 300 seeds, a minute or two of two cores.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import rounds

from simulated.runs import Summary, ledger_of, one, run_seeds
from simulated.world import FAULTS, simulate

ROOT = Path(__file__).parent.parent
SHORT_OPERATIONS, LONG_OPERATIONS = 80, 200
SHORT = [range(first, first + rounds(25)) for first in range(0, 100, 25)]


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("seeds", SHORT, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_whatever_fails_every_answer_stays_true(seeds, record_property):
    summary = Summary()
    for seed in seeds:
        summary.add(one((seed, SHORT_OPERATIONS)))
    record_property("simulated", summary.to_json())
    assert not summary.failures, "\n\n".join(summary.failures.values())


@pytest.mark.thorough
def test_on_a_machine_without_faults_all_goes_as_promised():
    none = dict.fromkeys(FAULTS, False)
    for seed in range(rounds(10)):
        result = simulate(seed, SHORT_OPERATIONS, none)
        assert not result.faults
        assert not result.violations, "\n".join(result.trace[-40:])


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [11])
def test_a_seed_is_one_run_whatever_python_hashes(seed):
    told = set()
    for hashing in ("0", "4711"):
        command = [sys.executable, "-m", "simulated", str(seed), "--operations", "60", "--quiet"]
        environment = {**os.environ, "PYTHONHASHSEED": hashing, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT.parent}"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert "trace" in done.stdout, done.stderr
        told.add(done.stdout)
    assert len(told) == 1, told


@pytest.mark.long
@pytest.mark.timeout(0)
def test_many_seeds_are_one_like_the_other(record_property, capsys, pytestconfig):
    seeds = range(1000, 1000 + int(os.environ.get("GAS_SEEDS", "300")))
    ledger = ledger_of(Path(pytestconfig.cache.mkdir("simulated")))

    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="", flush=True)

    summary = run_seeds(seeds, LONG_OPERATIONS, ledger=ledger, tell=tell)
    record_property("simulated", summary.to_json())
    assert not summary.failures, "\n\n".join(summary.failures.values())
