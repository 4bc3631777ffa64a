"""Fixtures of the service's tests: a scheduler whose clock the test moves, and fixtures from other modules."""

import os
import signal
import subprocess
from contextlib import suppress

import pytest
from clock_shim import clock_library, clock_shim
from eventually import living, until
from fsync_shim import fsync_shim, shim_library
from hand import Hand
from real_cgroup import real_cgroup
from unix_users import unix_users

from gas.service.clock import Clock
from gas.service.live import LiveScheduler
from gas.service.server import Embedded

__all__ = ["clock_library", "clock_shim", "fsync_shim", "real_cgroup", "shim_library", "unix_users"]


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def live(tmp_path, hand):
    scheduler = LiveScheduler("test", 10, tmp_path / "state", clock=Clock(real=hand))
    yield scheduler
    scheduler.stop()


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    with Embedded(LiveScheduler("idle", 10, tmp_path_factory.mktemp("idle"))) as embedded:
        yield embedded.url


@pytest.fixture
def nothing_is_left(tmp_path):
    """No process of a job is left after a test."""
    yield
    try:
        until(lambda: not living(tmp_path), "no process left")
    finally:
        for pid in living(tmp_path):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def innocent():
    """A process unrelated to any job."""
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()
