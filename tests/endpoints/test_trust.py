"""The owner of a configuration: it is followed only if no other user could have written it."""

import os
import stat
import threading
from pathlib import Path

import pytest

from gas.endpoints.trust import allow, read_document, withdraw
from gas.errors import BadInput, NotFound

WAY_OUT = "gas endpoints --trust"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A configuration in a folder of the user, whose home is elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    path = folder / "gas.toml"
    path.write_text("[endpoints.a]\n")
    path.chmod(0o644)
    return path


@pytest.fixture
def give_away(monkeypatch):
    """Give a file to another user; without privileges, become another user instead."""

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, 54321, 54321)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: 54321)

    return give


def distrust(path, *, named=False):
    return read_document(path).distrust(named=named)


def test_a_file_that_the_user_has_named_is_followed_if_it_is_the_users_own(file):
    assert distrust(file, named=True) is None


def test_one_that_merely_lies_in_a_folder_is_followed_once_it_was_allowed(file):
    assert "is from this folder and not trusted yet: check it, then run gas endpoints --trust" in distrust(file)
    assert WAY_OUT in distrust(file)
    allow(read_document(file))
    assert distrust(file) is None


def test_a_changed_file_has_to_be_allowed_again(file):
    allow(read_document(file))
    before = file.read_text()
    file.write_text(before + "# more\n")
    assert "has changed since you trusted it" in distrust(file)
    file.write_text(before)  # existing permissions are kept
    assert distrust(file) is None


def test_what_was_allowed_in_one_folder_is_not_in_another(file, tmp_path):
    allow(read_document(file))
    other = tmp_path / "gas.toml"
    other.write_bytes(file.read_bytes())
    assert "is from this folder and not trusted yet: check it, then run gas endpoints --trust" in distrust(other)


def test_it_can_be_taken_back_for_every_version(file):
    allow(read_document(file))
    file.write_text("[endpoints.b]\n")
    allow(read_document(file))
    assert withdraw(file) == 2
    assert "is from this folder and not trusted yet: check it, then run gas endpoints --trust" in distrust(file)
    with pytest.raises(NotFound, match="was not trusted"):
        withdraw(file)


def test_what_is_allowed_is_kept_where_no_one_else_can_write(file, tmp_path):
    allow(read_document(file))
    kept = tmp_path / "state" / "gas" / "allowed"
    (entry,) = kept.iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    kept.chmod(0o777)  # then anybody may have put it there
    assert distrust(file) is not None
    with pytest.raises(BadInput, match="can be written by other users.*chmod 700"):
        allow(read_document(file))
    kept.chmod(0o700)
    assert distrust(file) is None
    entry.chmod(0o666)
    assert distrust(file) is not None


@pytest.mark.parametrize(("mode", "who"), [(0o646, "all users"), (0o666, "all users"), (0o664, "the group")])
def test_a_file_that_others_can_write_is_never_followed_nor_allowed(file, mode, who):
    allow(read_document(file))
    os.chown(file, -1, a_group_of_others())
    file.chmod(mode)
    for named in (False, True):
        assert f"can be written by {who}" in distrust(file, named=named)
        assert f"chmod go-w {file}" in distrust(file, named=named)
    with pytest.raises(BadInput, match="chmod go-w"):
        allow(read_document(file))


def a_group_of_others():
    """Return a group of this process that is not its user's own, if it has one."""
    return 54321 if os.geteuid() == 0 else next((g for g in os.getgroups() if g != os.getegid()), os.getegid())


def test_a_group_without_other_members_is_nobody_else(file):
    if os.getegid() != os.getgid() or not is_private(os.getegid()):
        pytest.skip("the tests run under a group that others may be in")
    file.chmod(0o664)
    assert distrust(file, named=True) is None


def is_private(gid):
    import grp
    import pwd

    user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    return user.pw_name == group.gr_name and not set(group.gr_mem) - {user.pw_name}


def test_a_file_of_somebody_else_is_never_followed_nor_allowed(file, give_away):
    allow(read_document(file))
    give_away(file)
    for named in (False, True):
        assert "belongs to the user id 54321" in distrust(file, named=named) or os.geteuid() != 0
        assert "belongs to" in distrust(file, named=named)
    with pytest.raises(BadInput, match="belongs to"):
        allow(read_document(file))


def test_a_link_counts_as_what_it_leads_to(file, tmp_path, give_away):
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    allow(read_document(link))
    assert distrust(file) is None  # one file under several names
    assert distrust(link) is None
    give_away(file)
    assert "belongs to" in distrust(link, named=True)


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_directory_that_others_can_write_lets_them_put_another_file_there(file, mode):
    file.parent.chmod(mode)
    assert f"lies in {file.parent}, which can be written by all users" in distrust(file, named=True)
    assert WAY_OUT in distrust(file, named=True)
    allow(read_document(file))  # which settles what it says, so that another file is not followed
    assert distrust(file, named=True) is None


def test_so_does_one_further_up_and_one_that_a_link_lies_in(file, tmp_path):
    link = tmp_path / "open" / "link.toml"
    link.parent.mkdir()
    link.symlink_to(file)
    assert distrust(link, named=True) is None
    link.parent.chmod(0o777)
    assert f"lies in {link.parent}, which" in distrust(link, named=True)
    deep = file.parent / "deep"
    deep.mkdir()
    (deep / "gas.toml").write_text("")
    file.parent.chmod(0o777)
    assert f"lies in {file.parent}, which" in distrust(deep / "gas.toml", named=True)


def test_a_sticky_directory_and_what_is_above_the_home_do_not_matter(file, monkeypatch):
    file.parent.chmod(0o1777)  # like /tmp
    assert distrust(file, named=True) is None
    below = file.parent / "home" / ".config"
    below.mkdir(parents=True)
    (below / "config.toml").write_text("")
    file.parent.chmod(0o777)
    assert distrust(below / "config.toml", named=True) is not None
    monkeypatch.setenv("HOME", str(below.parent))
    assert distrust(below / "config.toml", named=True) is None


def test_without_a_home_what_the_user_names_is_followed_and_nothing_else(file, monkeypatch):
    def nowhere():
        raise RuntimeError

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    assert distrust(file, named=True) is None
    assert "is from this folder and not trusted yet: check it, then run gas endpoints --trust" in distrust(file)


def test_a_pipe_that_the_user_has_named_is_followed_and_cannot_be_allowed():
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as file:
        file.write(b"[endpoints.a]\n")
    document = read_document(Path(f"/dev/fd/{reading}"))
    assert document.data == b"[endpoints.a]\n"
    assert document.distrust(named=True) is None
    with pytest.raises(BadInput, match="is not a file"):
        allow(document)
    os.close(reading)


def test_what_is_checked_is_what_was_read(file, tmp_path):
    """Two files are swapped continually: whenever one is followed, it is the allowed one."""
    allow(read_document(file))
    good, bad = file.read_bytes(), b"[endpoints.evil]\n"
    stop = threading.Event()

    def swap():
        turn = 0
        while not stop.is_set():
            other = tmp_path / f"next{turn % 2}"
            other.write_bytes(bad if turn % 2 else good)
            other.replace(file)
            turn += 1

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        documents = [read_document(file) for _ in range(2000)]
        followed = [one.data for one in documents if one.distrust(named=False) is None]
    finally:
        stop.set()
        swapping.join()
    assert set(followed) == {good}
    assert {one.data for one in documents} == {good, bad}


def test_a_file_of_megabytes_is_no_configuration(file):
    file.write_bytes(b"#" * (1 << 21))
    with pytest.raises(BadInput, match="is larger than 1,048,576 bytes"):
        read_document(file)
