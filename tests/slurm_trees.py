"""Slurms of other releases than the installed one: Debian's packages, unpacked in a cache folder and run from there.

``python tests/slurm_trees.py make trixie sid`` makes a folder for each suite of Debian in seconds, without rights: apt
resolves and fetches with lists of its own, nothing is installed, and the programs are made to take their own loader
and libraries (patchelf) so that they run beside those of the system, with its users and its paths. A folder that is
there already stays as it is: sid moves, and is at times incomplete. `GAS_SLURM_TREES` names another place for them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SUITES = {"trixie": "24.11", "sid": "26.05"}
"""Suites of Debian, and the release of Slurm that each had when this was written."""

PACKAGES = (
    "munge", "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "slurmrestd", "slurm-wlm-jwt-plugin",
    "slurmdbd", "mariadb-server-core", "patchelf",
)  # fmt: skip
PROGRAMS = (
    "munged", "slurmctld", "slurmd", "slurmstepd", "slurmdbd", "slurmrestd", "mariadbd", "sacct", "sacctmgr", "salloc",
    "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio", "squeue", "srun", "sshare",
)  # fmt: skip
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR = "http://deb.debian.org/debian"


class NoTree(Exception):
    """There is no such folder, or none can be made; the message says why."""


def trees_folder() -> Path:
    """Return the folder of all trees."""
    if given := os.environ.get("GAS_SLURM_TREES"):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    if os.getuid() == 0:  # whose home is closed to the users of whom the tests submit jobs
        cache = "/var/cache"
    return Path(cache) / "gas-slurm-trees"


def tree_of(release: str) -> Path:
    """Return the tree with a release such as 24.11; `NoTree` if there is none."""
    for suite in SUITES:
        tree = trees_folder() / suite
        if (tree / "version").is_file() and (tree / "version").read_text().startswith(release):
            return tree
    raise NoTree(f"no Slurm {release} in {trees_folder()}: `python tests/slurm_trees.py make` fetches it")


def make(suite: str) -> Path:
    """Make the tree of a suite of Debian unless it is there, and return it; `NoTree` if it cannot be made."""
    made = trees_folder() / suite
    if (made / "version").is_file():
        return made
    missing = [program for program in ("apt-get", "dpkg-deb") if shutil.which(program) is None]
    if missing or not KEYS.is_file():
        raise NoTree(f"no tree of {suite} can be made: {', '.join(missing) or KEYS} not found")
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{suite}-", dir=made.parent) as temporary:
        folder = Path(temporary)
        tree = folder / "tree"
        unpack(suite, PACKAGES, folder, tree)
        shutil.rmtree(made, ignore_errors=True)
        tree.rename(made)  # programs are made to name the place where they stay
    _gather(made)
    said = _run(str(made / "bin" / "slurmctld"), "-V")
    (made / "version").write_text(said.split()[-1] + "\n")
    return made


def library_of(tree: Path) -> Path:
    """Return the folder of a tree's libraries."""
    (loader,) = (tree / "usr/lib").glob("*/ld-linux-*.so.*")
    return loader.parent


def unpack(suite: str, packages: Sequence[str], folder: Path, tree: Path) -> None:
    """Unpack packages and all that they need into a tree, as apt of the system finds them for a bare system.

    What is fetched stays in the folder; `NoTree` if something cannot be had.
    """
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb [signed-by={KEYS}] {_mirror()} {suite} main\n")
    settings = {
        "Dir::State": folder / "state", "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "/dev/null", "Debug::NoLocking": 1,
        "APT::Install-Recommends": "false", "Acquire::Languages": "none", "Acquire::Retries": 3,
    }  # fmt: skip
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    if os.getuid() == 0:
        options += ["-o", "APT::Sandbox::User=root"]  # the folder is root's alone
    _run("apt-get", *options, "update", "-q")
    _run("apt-get", *options, "install", "-y", "-q", "--download-only", *packages)
    for package in sorted((folder / "cache/archives").glob("*.deb")):
        _run("dpkg-deb", "-x", str(package), str(tree))


def _mirror() -> str:
    """Return the mirror that the system uses."""
    for path in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")):
        if path.is_file() and (found := re.search(r"https?://\S+/debian(?=/?\s)", path.read_text(errors="replace"))):
            return found[0]
    return MIRROR


def _gather(tree: Path) -> None:
    """Make one folder of the programs, which take the tree's libraries; those of plugins too."""
    library = library_of(tree)
    (loader,) = library.glob("ld-linux-*.so.*")
    patchelf = (str(loader), "--library-path", str(library), str(tree / "usr/bin/patchelf"), "--force-rpath")
    where = ("--set-rpath", f"{library}/slurm-wlm:{library}")
    programs = []
    (tree / "bin").mkdir()
    for name in PROGRAMS:
        found = [tree / place / f"{name}{end}" for place in ("usr/sbin", "usr/bin") for end in ("", "-wlm")]
        there = [one for one in found if one.is_file() and not one.is_symlink()]
        if not there:
            raise NoTree(f"the packages have no program {name}")
        programs.append(str(there[0]))
        (tree / "bin" / name).symlink_to(there[0])
    plugins = [str(one) for one in (library / "slurm-wlm").glob("*.so*") if not one.is_symlink()]
    _run(*patchelf, *where, "--set-interpreter", str(loader), *programs)
    _run(*patchelf, *where, *plugins)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise NoTree(f"{command[0]} failed: {' '.join(last)}")
    return done.stdout


def main() -> int:
    """Make the trees named, and say what each has; 1 if one could not be made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "show"])
    parser.add_argument("suites", nargs="*", default=list(SUITES), metavar="suite")
    asked = parser.parse_args()
    failed = 0
    for suite in asked.suites:
        tree = trees_folder() / suite
        try:
            if asked.action == "make":
                tree = make(suite)
            version = (tree / "version").read_text().strip() if (tree / "version").is_file() else "not there"
            print(f"{tree}: {version}", flush=True)
        except NoTree as problem:
            print(f"{suite}: {problem}", file=sys.stderr, flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
