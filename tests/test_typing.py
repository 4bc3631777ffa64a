"""A user's program that uses Gas passes mypy --strict, and mistakes in it do not."""

import subprocess
import sys

import pytest

PROGRAM = """
from concurrent.futures import as_completed
from datetime import datetime, timedelta
from pathlib import Path
from typing import assert_type

import gas


def solve(mesh: str, processors: int) -> float:
    return processors / len(mesh)


plan = gas.plan("ocean.toml", [Path("list.json"), "http://127.0.0.1:8642"], tolerance="5%", deadline=datetime.now())
assert_type(plan, gas.Plan)
if plan.best is not None:
    assert_type(plan.best.processors, int)
plan.plot().savefig("plan.png")
lists: list[gas.AvailabilityList] = [gas.read_availability("list.json")]
gas.plan({16: "4h", 64: timedelta(hours=1)}, lists, not_before=timedelta(minutes=5), predict="auto", risk="90%")
gas.plan("ocean.toml", lists, deadline="18:30", predict="auto", sure=0.95)

job = gas.submit(gas.read_application("ocean.toml"), ["./ocean", "{processors}"], key="night-7", stale_ok=True)
assert_type(job, gas.JobFuture)
assert_type(job.result(timeout=60), gas.JobResult)
for done in as_completed([job]):
    try:
        print(done.result().output())
    except gas.JobFailed as error:
        assert_type(error.exit_status, int | None)

with gas.Executor("ocean.toml", "kth", folder="calls", deadline="18:30") as executor:
    assert_type(executor.submit(solve, "coast", 4).result(), float)
"""

MISTAKES = {
    'gas.plan("ocean.toml", tolerence="5%")': "tolerence",
    'gas.plan("ocean.toml", deadline=1.5)': "deadline",
    'gas.submit("ocean.toml", ["./ocean"]).result().exit_code': "exit_code",
    'gas.Executor("ocean.toml").submit(solve, 3, 4)': "incompatible type",
}


@pytest.mark.process
@pytest.mark.thorough
def test_mypy_knows_what_there_is(tmp_path):
    (tmp_path / "right.py").write_text(PROGRAM)
    head = "import gas\ndef solve(mesh: str, processors: int) -> float:\n    return 1.0\n"
    (tmp_path / "wrong.py").write_text(head + "\n".join(MISTAKES) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "right.py", "wrong.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[0] for line in lines] == ["wrong.py"] * len(MISTAKES), done.stdout
    for line, said in zip(lines, MISTAKES.values(), strict=True):
        assert said in line
