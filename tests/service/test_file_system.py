"""Network file systems are found by the kernel's table of mounts, and no state is kept on one."""

from pathlib import Path

import pytest

from gas.errors import BadInput
from gas.service import file_system
from gas.service.file_system import kind_of, network_file_system
from gas.service.server import hold_state

TABLE = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /home rw,relatime shared:1 - nfs4 filer:/home rw,vers=4.2
41 27 0:41 / /scratch rw - lustre 10.0.0.1@o2ib:/scratch rw
42 27 0:42 / /gpfs rw - gpfs fs1 rw
43 27 0:43 / /mnt/with\040blank rw - cifs //server/share rw
44 27 0:44 / /mnt/ssh rw - fuse.sshfs me@there: rw
45 27 0:45 / /mnt/local rw - fuse.ext4 /dev/vdb rw
46 40 0:46 / /home/local rw - xfs /dev/vdc rw
47 27 0:47 / /covered rw - nfs filer:/x rw
48 27 0:48 / /covered rw - tmpfs none rw
49 27 0:49 / /mnt/bee rw - beegfs beegfs_nodev rw
50 27 0:50 / /mnt/host rw - 9p drvfs rw
a line that is no mount
"""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ann/.local/state/gas/s3", "NFS"),
        ("/home", "NFS"),
        ("/homes/ann", None),
        ("/home/local/s3", None),
        ("/scratch/s3", "Lustre"),
        ("/gpfs/s3", "GPFS"),
        ("/mnt/with blank/s3", "CIFS"),
        ("/mnt/ssh/s3", "SSHFS"),
        ("/mnt/local/s3", None),
        ("/mnt/bee/s3", "BeeGFS"),
        ("/mnt/host/s3", "9P"),
        ("/covered/s3", None),
        ("/var/lib/s3", None),
        ("/", None),
    ],
)
def test_the_longest_mount_above_a_path_decides(path, name):
    assert kind_of(Path(path), TABLE) == name


def test_where_the_system_does_not_say_none_is_assumed(monkeypatch, tmp_path):
    monkeypatch.setattr(file_system, "MOUNTS", tmp_path / "none")
    assert network_file_system(Path("/")) is None


def test_a_state_directory_on_one_is_refused_with_the_way_out_and_not_made(monkeypatch, tmp_path):
    table = tmp_path / "mounts"
    table.write_text(f"{TABLE}60 27 0:60 / {tmp_path} rw - nfs4 filer:/tmp rw\n")
    monkeypatch.setattr(file_system, "MOUNTS", table)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for place in ("s3", "link"):
        with pytest.raises(BadInput, match=r"is on NFS, .* give a local one: --state /var/lib/"):
            hold_state(tmp_path / place)
    assert not (tmp_path / "s3").exists()


def test_the_state_of_the_tests_is_on_none(tmp_path):
    assert network_file_system(tmp_path) is None
