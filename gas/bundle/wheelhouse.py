"""A folder of wheels from which pip installs Gas without a network, on a machine with another Python or older Linux."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from gas.bundle.contents import NAME
from gas.errors import BadInput, Missing

__all__ = ["fill"]

CHECKOUT = Path(__file__).parent.parent.parent
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
"""Platforms of the wheels: Linux with glibc 2.28 or later (Debian 10, RHEL 8)."""

OLDEST = (3, 11)


def fill(folder: Path, *, extras: str = "", python: str = "3.11") -> list[Path]:
    """Collect wheels of Gas and all its dependencies in a folder, and return them.

    Raises
    ------
    BadInput
        The version of Python is too old for Gas, or an extra has an invalid name.
    Missing
        This is not a checkout, or pip could not build or fetch a wheel; the message is pip's.
    """
    version = re.fullmatch(r"3\.(\d+)", python)
    if version is None or (3, int(version[1])) < OLDEST:
        raise BadInput(f"--python {python}: Gas needs 3.{OLDEST[1]} or later, as 3.{OLDEST[1]}")
    if not re.fullmatch(r"[a-z,]*", extras):
        raise BadInput(f"--extras {extras}: write names with commas, such as server,plot,data")
    if not (CHECKOUT / "pyproject.toml").is_file():
        raise Missing("a wheelhouse is built from a checkout of Gas, but this Gas is installed")
    folder.mkdir(parents=True, exist_ok=True)
    _pip("wheel", "--no-deps", "--wheel-dir", folder, CHECKOUT)
    own = max(folder.glob(f"{NAME.replace('-', '_')}-*.whl"), key=lambda path: path.stat().st_mtime)
    platforms = [word for one in PLATFORMS for word in ("--platform", one)]
    wanted = f"{own}[{extras}]" if extras else str(own)
    _pip("download", "--only-binary", ":all:", "--python-version", python, *platforms, "--dest", folder, wanted)
    return sorted(folder.glob("*.whl"))


def _pip(*arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise Missing(f"pip {arguments[0]}: {' '.join(last[:2]) or 'failed'}")
