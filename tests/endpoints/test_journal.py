import resource
import subprocess
import sys
from pathlib import Path

import pytest

from documents.home import NoHome
from gas.endpoints.journal import journal_directory, open_page
from gas.errors import BadInput


def test_a_page_remembers_where_its_key_went_until_that_was_refused():
    with open_page("k") as page:
        assert page.address is None
        page.sent_to("http://kth", 1)
    with open_page("k") as page:
        assert page.address == "http://kth"
        page.refused()
    with open_page("k") as page:
        assert page.address is None
        page.sent_to("http://b", 1)
    with open_page("k") as page:
        assert page.address == "http://b"


def test_a_shorter_address_leaves_nothing_of_a_longer_one():
    with open_page("k") as page:
        page.sent_to("http://" + "long" * 50, 1)
        page.refused()
        page.sent_to("http://s", 1)
    with open_page("k") as page:
        assert page.address == "http://s"


def test_a_page_remembers_when_it_was_sent_and_what_was_made_of_it():
    with open_page("k") as page:
        assert (page.sent, page.job) == (None, None)
        page.sent_to("slurm:/etc/slurm.conf", 1_800_000_000)
        page.made(17)
    with open_page("k") as page:
        assert (page.address, page.sent, page.job) == ("slurm:/etc/slurm.conf", 1_800_000_000, 17)
        page.refused()
        assert (page.address, page.sent, page.job) == (None, None, None)


def test_a_crash_before_the_rest_of_a_longer_entry_is_cut_off_leaves_the_new_one():
    with open_page("k") as page:
        page.sent_to("http://" + "long" * 50, 1)
    [path] = journal_directory().iterdir()
    old = path.read_text()
    new = '{"key": "k", "endpoint": "http://s", "sent": 2}\n'
    path.write_text(new + old[len(new) :])
    with open_page("k") as page:
        assert (page.address, page.sent) == ("http://s", 2)


@pytest.mark.parametrize("room", [0, 20, 100])
def test_a_full_disk_leaves_the_previous_entry(room):
    with open_page("k") as page:
        page.sent_to("http://a", 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with open_page("k") as page, pytest.raises(BadInput, match=r"\.json: cannot be written \(.*make room"):
            page.sent_to("http://" + "b" * 200, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with open_page("k") as page:
        assert (page.address, page.sent) == ("http://a", 1)


def test_keys_have_pages_of_their_own_whatever_they_are():
    for i, key in enumerate(["a", "A", "../a", "a" * 200, "/"]):
        with open_page(key) as page:
            assert page.address is None
            page.sent_to(f"http://{i}", 1)
    assert len(list(journal_directory().iterdir())) == 5


@pytest.mark.parametrize("torn", ["", "{", '{"key": "k", "endp', "[]", '{"endpoint": 3}'])
def test_a_page_torn_by_a_crash_before_anything_was_sent_is_empty(torn):
    with open_page("k"):
        pass
    [path] = journal_directory().iterdir()
    path.write_text(torn)
    with open_page("k") as page:
        assert page.address is None
        page.sent_to("http://a", 1)
    with open_page("k") as page:
        assert page.address == "http://a"


def test_another_process_waits_for_the_page(tmp_path):
    program = (
        "from gas.endpoints.journal import open_page\nprint('asks', flush=True)\n"
        "with open_page('k') as page: print(page.address)\n"
    )
    with open_page("k") as page:
        other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "asks\n"
        page.sent_to("http://mine", 1)
    assert other.communicate(timeout=30)[0] == "http://mine\n"


def test_pages_are_private():
    with open_page("k"):
        pass
    [path] = journal_directory().iterdir()
    assert (path.stat().st_mode & 0o077, journal_directory().stat().st_mode & 0o077) == (0, 0)


def test_without_a_place_to_write_there_is_no_page(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(BadInput, match="give another place in XDG_STATE_HOME"), open_page("k"):
        pass


def test_who_has_no_home_is_told_where_the_notes_may_go(monkeypatch):
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    with pytest.raises(NoHome, match="XDG_STATE_HOME"):
        journal_directory()
