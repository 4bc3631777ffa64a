"""Files are written atomically."""

import os
import stat
import subprocess
import sys

import pytest

from documents.whole_file import whole_file


def test_the_file_has_its_name_only_when_it_is_whole(tmp_path):
    path = tmp_path / "x.swf"
    with whole_file(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_names_of_files_may_be(tmp_path):
    path = tmp_path / ("計" * 85)  # 255 bytes
    with whole_file(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path, error):
    path = tmp_path / "x.swf"
    path.write_bytes(b"old")

    def write():
        with whole_file(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "x.swf"
    path.write_bytes(b"old")
    program = (
        "import resource, sys\nfrom documents.whole_file import whole_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"  # like a disk with 1000 bytes left
        "with whole_file(sys.argv[1]) as file:\n    file.write(bytes(5000))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert "File too large" in done.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path):
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_bytes(b"")
    old.chmod(0o640)
    plain.write_bytes(b"")
    for path in (old, new):
        with whole_file(path) as file:
            file.write(b"x")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with whole_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_is_no_plain_file_is_written_to():
    with whole_file(os.devnull) as file:
        file.write(b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)  # noqa: PTH116


@pytest.mark.parametrize("name", ["", "nowhere/x"], ids=["a folder", "no folder"])
def test_a_place_that_cannot_be_written_is_an_error(tmp_path, name):
    with pytest.raises(OSError), whole_file(tmp_path / name) as file:
        file.write(b"x")
    assert list(tmp_path.iterdir()) == []
