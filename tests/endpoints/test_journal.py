import subprocess
import sys

import pytest

from gas.endpoints.journal import journal_directory, open_page
from gas.errors import BadInput


def test_a_page_remembers_where_its_key_went_until_that_was_refused():
    with open_page("k") as page:
        assert page.address is None
        page.sent_to("http://kth")
    with open_page("k") as page:
        assert page.address == "http://kth"
        page.refused()
    with open_page("k") as page:
        assert page.address is None
        page.sent_to("http://b")
    with open_page("k") as page:
        assert page.address == "http://b"


def test_a_shorter_address_leaves_nothing_of_a_longer_one():
    with open_page("k") as page:
        page.sent_to("http://" + "long" * 50)
        page.refused()
        page.sent_to("http://s")
    with open_page("k") as page:
        assert page.address == "http://s"


def test_keys_have_pages_of_their_own_whatever_they_are():
    for i, key in enumerate(["a", "A", "../a", "a" * 200, "/"]):
        with open_page(key) as page:
            assert page.address is None
            page.sent_to(f"http://{i}")
    assert len(list(journal_directory().iterdir())) == 5


@pytest.mark.parametrize("torn", ["", "{", '{"key": "k", "endp', "[]", '{"endpoint": 3}'])
def test_a_page_torn_by_a_crash_before_anything_was_sent_is_empty(torn):
    with open_page("k"):
        pass
    [path] = journal_directory().iterdir()
    path.write_text(torn)
    with open_page("k") as page:
        assert page.address is None
        page.sent_to("http://a")
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
        page.sent_to("http://mine")
    assert other.communicate(timeout=30)[0] == "http://mine\n"


def test_pages_are_private():
    with open_page("k"):
        pass
    [path] = journal_directory().iterdir()
    assert (path.stat().st_mode & 0o077, journal_directory().stat().st_mode & 0o077) == (0, 0)


def test_without_a_place_to_write_there_is_no_page(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(BadInput, match="name another place in XDG_STATE_HOME"), open_page("k"):
        pass
