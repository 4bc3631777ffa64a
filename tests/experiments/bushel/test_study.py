"""``gas experiment bushel``: the whole study on made-up logs."""

import os
import signal
import subprocess
import sys
import time

import pytest
from study_files import contents

SHORT = ("--seeds", 1, "--no-other-terms")


def command(logs, output, *options):
    given = ["experiment", "bushel", "--traces", logs, "--output", output, *SHORT, *options]
    return [sys.executable, "-m", "gas", *map(str, given)]


@pytest.mark.thorough
def test_a_study_that_was_killed_with_four_workers_goes_on_and_ends_with_the_same_bytes(
    gas, made_logs, reported, tmp_path
):
    given = command(made_logs, tmp_path, "--workers", 4)
    child = subprocess.Popen(given, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    while len(list(tmp_path.glob("runs/*.json"))) < 60 and child.poll() is None:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "bushel.md").exists()
    assert gas(*given[3:-1], 1).code == 0
    assert contents(tmp_path) == contents(reported[0])
