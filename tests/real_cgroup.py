"""A part of the machine's own cgroup tree (version 2), for tests that may change it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def real_cgroup() -> Iterator[Path]:
    """A cgroup of this test's own, emptied and removed after it; skips where none can be made."""
    table = Path("/proc/self/mountinfo").read_text().splitlines()
    mounted = [line.split()[4] for line in table if " - cgroup2 " in line]
    if not mounted or not os.access(mounted[0], os.W_OK):
        pytest.skip("needs a cgroup v2 tree in which this user may make a cgroup")
    root = Path(mounted[0], f"gas-test-{os.getpid()}")
    try:
        root.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a cgroup here: {error.strerror}")
    yield root
    for each in [path for path in root.iterdir() if path.is_dir()]:
        (each / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + 30
        while "populated 0" not in (each / "cgroup.events").read_text():
            assert time.monotonic() < deadline, f"{each}: not empty"
            time.sleep(0.01)
        each.rmdir()
    root.rmdir()
