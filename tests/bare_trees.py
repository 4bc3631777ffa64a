"""Bare Debians without Python and without network: what a login node may be, made from packages in a cache folder.

They are next to the trees of `slurm_trees`; `Tree.run` runs a program in one, as root, in a mount namespace and with no
network except the loopback's unless requested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import slurm_trees

PACKAGES = ("base-files", "dash", "coreutils", "tar", "gzip", "libc-bin", "slurm-client", "slurm-wlm-basic-plugins")
FOLDERS = ("dev", "etc", "home", "proc", "root", "tmp", "var/tmp")
USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n"


@dataclass(frozen=True)
class Tree:
    """A bare Debian."""

    root: Path

    def run(
        self, *command: str, shows: Path | None = None, network: bool = False, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in it, with an empty home, and with the contents of a folder at its own path."""
        mounts = [f"mount -t tmpfs none {self.root}/root", f"mount --bind /dev {self.root}/dev"]
        mounts += [f"mount -t proc none {self.root}/proc", f"mount -t tmpfs none {self.root}/tmp"]
        if shows is not None:
            inside = f"{self.root}{shows}"
            mounts += [f"mkdir -p {inside}", f"mount --bind {shows} {inside}"]
        script = " && ".join([*mounts, f'exec chroot {self.root} "$@"'])
        return subprocess.run(
            ["unshare", "-m", *([] if network else ["-n"]), "sh", "-c", script, "sh", *command],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )


def bare_tree(suite: str) -> Tree:
    """Return the tree of a suite, created if necessary; without rights or packages, the test is skipped."""
    if os.getuid() != 0 or subprocess.run(["unshare", "-mn", "true"], capture_output=True).returncode:
        pytest.skip("needs root, and namespaces")
    made = slurm_trees.trees_folder() / f"bare-{suite}"
    if not (made / "made").exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".bare-{suite}-", dir=made.parent) as temporary:
            tree = Path(temporary) / "tree"
            try:
                slurm_trees.unpack(suite, PACKAGES, Path(temporary), tree)
            except slurm_trees.NoTree as problem:
                pytest.skip(str(problem))
            for name in FOLDERS:
                (tree / name).mkdir(parents=True, exist_ok=True)
            (tree / "etc/passwd").write_text(USERS)
            (tree / "etc/group").write_text("root:x:0:\nnogroup:x:65534:\n")
            if not (tree / "bin/sh").exists():
                (tree / "bin/sh").symlink_to("dash")
            (tree / "made").touch()
            shutil.rmtree(made, ignore_errors=True)
            tree.rename(made)
    return Tree(made)
