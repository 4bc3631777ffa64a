import os
import signal
import subprocess
import sys
import time

import pytest

from gas.service.pulse import Pulse

PROGRAM = """
import sys
from gas.service import wrapper
from gas.service.pulse import Pulse
pulse = Pulse()
pulse.start()
since = wrapper.clock()
print("ready", flush=True)
sys.stdin.readline()
print(pulse.paused(since), flush=True)
pulse.stop()
"""


class Process:
    def __init__(self):
        self.elapsed, self.used = 100.0, 0.0
        self.pulse = Pulse(lambda: self.elapsed, lambda: self.used)

    def run(self, seconds, *, used=0.0):
        """Beat at intervals."""
        for _ in range(int(seconds * 4)):
            self.elapsed += 0.25
            self.used += used / 4
            self.pulse.beat()


@pytest.fixture
def process():
    return Process()


def test_a_process_that_runs_or_waits_has_no_pauses(process):
    process.run(10)
    process.run(10, used=1.0)
    assert process.pulse.paused(0) == 0


def test_a_pause_is_seen_by_whoever_wakes_up_first(process):
    process.run(10)
    process.elapsed += 3600
    assert process.pulse.paused(process.elapsed - 3605) == 3600 - 0.25
    process.run(10)
    assert process.pulse.paused(process.elapsed - 10) == 0, "it was before that"


def test_work_that_lets_no_other_thread_run_is_no_pause(process):
    process.run(10)
    process.elapsed += 30
    process.used += 29.5
    assert process.pulse.paused(0) == 0


def test_a_pause_counts_as_far_as_it_lies_after_the_instant(process):
    process.elapsed += 100
    process.pulse.beat()
    process.run(5)
    assert process.pulse.paused(process.elapsed - 15) == 10


def test_a_stopped_process_knows_it_afterwards():
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(process.pid, signal.SIGCONT)
        answer, _ = process.communicate("\n", timeout=60)
    assert float(answer) > 1.5
