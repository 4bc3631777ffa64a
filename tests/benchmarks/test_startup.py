"""How long `gas plan` on a file takes from the shell: start, imports, planning, printing.

pytest tests/benchmarks -o addopts="" --import-mode=importlib --benchmark-only
"""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_gas_plan_on_a_file_from_the_shell(benchmark):
    files = [str(EXAMPLES / "ocean.toml"), "--availability", str(EXAMPLES / "cluster.json"), "--stale-ok"]
    command = [str(Path(sys.executable).parent / "gas"), "plan", *files]

    def plan():
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    done = benchmark.pedantic(plan, rounds=10, warmup_rounds=1)
    assert "32 processors" in done.stdout
