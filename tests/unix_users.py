"""Real Unix users for tests that run as root, and a service that they can reach.

unix_users      fixture: an account for a service and two ordinary users, removed afterwards; skips without root
PrivilegedPlace where a service with such an account keeps its state, readable only by itself
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from service_process import Place

REOPEN = """
set -e
closed=$1 wanted=$2 aside=$3; shift 3
if [ -n "$closed" ]; then
    mkdir -p "$aside"
    mount --bind "$wanted" "$aside"
    mount -t tmpfs -o mode=0755 gas-test "$closed"
    mkdir -p "$wanted"
    mount --bind "$aside" "$wanted"
fi
exec "$@"
"""
"""Shows, in a separate namespace, a directory below one that is closed to other users."""


class UnixUsers(NamedTuple):
    """Names of users; the system chose their uids."""

    service: str
    ada: str
    bob: str

    def uid(self, name: str) -> int:
        return pwd.getpwnam(name).pw_uid


@pytest.fixture(scope="session")
def unix_users() -> Iterator[UnixUsers]:
    """Users that exist while tests run, with homes closed to each other."""
    if os.geteuid() != 0:
        pytest.skip("needs root, which makes users and starts jobs as them")
    missing = [name for name in ("useradd", "userdel", "unshare") if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    users = UnixUsers(*(f"gast{os.getpid()}{letter}" for letter in "sab"))
    homes = Path(tempfile.mkdtemp(prefix="gas-homes-"))
    homes.chmod(0o755)
    made = []
    try:
        for name in users:
            extra = ["--system", "--shell", "/usr/sbin/nologin"] if name == users.service else ["--shell", "/bin/sh"]
            command = ["useradd", "--no-create-home", "--home-dir", str(homes / name), *extra, name]
            done = subprocess.run(command, capture_output=True, text=True, env={"PATH": PATH}, check=False)
            if done.returncode:
                pytest.skip(f"cannot make users here: {done.stderr.strip()}")
            made.append(name)
            (homes / name).mkdir(mode=0o700)
            shutil.chown(homes / name, name, name)
        yield users
    finally:
        for name in made:
            subprocess.run(["userdel", name], capture_output=True, env={"PATH": PATH}, check=False)
        shutil.rmtree(homes)


PATH = "/usr/sbin:/sbin:/usr/bin:/bin"


class PrivilegedPlace(Place):
    """A state directory that all can reach; if the interpreter is in a closed home, all can see it too."""

    def __init__(self) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="gas-state-"))
        self.top.chmod(0o755)
        super().__init__(self.top)
        wanted = Path(sys.base_prefix).resolve()
        for needed in (Path(__file__).resolve(), Path(sys.prefix)):
            if _closed_above(needed) is not None:
                pytest.skip(f"{needed} lies in a directory that is closed to other users")
        (self.top / "site").mkdir()
        # a service without compiled kernels starts in a second; the account has no cache of them
        (self.top / "site" / "sitecustomize.py").write_text('import sys\n\nsys.modules["numba"] = None\n')
        closed = _closed_above(wanted)
        self.prefix = ["unshare", "--mount", "sh", "-c", REOPEN, "sh", str(closed or ""), str(wanted)]
        self.prefix.append(str(self.top / "aside"))
        self.prefix += ["env", f"PYTHONPATH={self.top / 'site'}"]
        if subprocess.run([*self.prefix, "true"], capture_output=True, check=False).returncode:
            pytest.skip("may not mount in a name space of its own here, and the interpreter is closed to other users")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            shutil.rmtree(self.top)


def _closed_above(path: Path) -> Path | None:
    """Return the highest directory above a path that other users may not enter."""
    for each in reversed(path.parents):
        if not each.stat().st_mode & 0o001:
            return each
    return None
