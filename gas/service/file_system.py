"""Detects network file systems, which do not guarantee the locks and the order of writes that SQLite needs."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["MOUNTS", "kind_of", "network_file_system"]

MOUNTS = Path("/proc/self/mountinfo")

NETWORK = {
    "nfs": "NFS", "lustre": "Lustre", "gpfs": "GPFS", "mmfs": "GPFS", "beegfs": "BeeGFS", "cifs": "CIFS", "smb": "CIFS",
    "9p": "9P", "afs": "AFS", "auristorfs": "AFS", "ceph": "Ceph", "panfs": "PanFS", "pvfs2": "OrangeFS",
    "orangefs": "OrangeFS", "glusterfs": "GlusterFS", "wekafs": "WekaFS", "dvs": "DVS", "daos": "DAOS", "dfuse": "DAOS",
    "sshfs": "SSHFS", "s3fs": "S3FS", "rclone": "rclone", "juicefs": "JuiceFS", "cvmfs2": "CernVM-FS",
    "davfs": "WebDAV", "coda": "Coda", "ncpfs": "NCP", "vboxsf": "vboxsf",
}  # fmt: skip
"""Names of the kernel without the version, or of the program behind FUSE, with the usual names."""


def network_file_system(path: Path) -> str | None:
    """Return the network file system of a path that exists or will exist; None for a local one.

    If the system does not list its mounts, a local one is assumed.
    """
    path.exists()  # triggers an automount
    try:
        mounts = MOUNTS.read_text(errors="surrogateescape")
    except OSError:
        return None
    return kind_of(path, mounts)


def kind_of(path: Path, mounts: str) -> str | None:
    """Return the network file system of a path from the lines of ``/proc/self/mountinfo``; None for a local one."""
    real = os.path.realpath(path)
    found, longest = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if len(fields) < 5 or not after:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= longest:
            found, longest = after.split(" ", 1)[0], len(point)  # the later of two at one place covers the other
    kind = found.removeprefix("fuse.").removeprefix("fuse_")
    return NETWORK.get(kind) or NETWORK.get(re.sub(r"[\d.]+$", "", kind))
