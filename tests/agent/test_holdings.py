"""The record of a coallocation on disk: the owner of its key, and what another process reads at any instant."""

import fcntl
import threading

import pytest

from gas import Application
from gas.agent.holdings import Part, abandoned, claimed, fingerprint, open_holdings
from gas.agent.options import Run
from gas.endpoints import JobDescription
from gas.endpoints.journal import key_file, state_directory
from speedup_models import Table

APP = Application(Table.of({4: 3000.0, 8: 60.0}), name="app")
RUN = Run(JobDescription("app", ("./app",)))
PARTS = [Part("a", "http://a", 4, 600, 500, 1800000000), Part("b", "http://b", 2, 600, 500, 1800000000)]


def file_of(key):
    return key_file(state_directory() / "coallocations", key)


def test_a_key_says_what_it_has_made_until_it_is_free():
    assert claimed("k") is None
    with open_holdings("k") as held:
        assert claimed("k") is None, "its process has noted nothing"
        held.planned("app")
        assert claimed("k") == "has reserved nothing on several machines"
        held.taking(PARTS, own=False)
        assert claimed("k") == "may hold 4 processors on a and 2 on b from 2027-01-15T08:00:00Z on"
        held.using()
        held.made()
    assert claimed("k") == "made jobs of 4 processors on a and 2 on b from 2027-01-15T08:00:00Z on"
    with open_holdings("k") as held:
        assert (held.phase, held.application, held.parts) == ("made", "app", PARTS)
        held.free()
    assert claimed("k") is None


def test_what_a_crash_tore_before_anything_was_sent_is_nothing():
    with open_holdings("k") as held:
        held.planned("app")
    file_of("k").write_text('{"phase": "tak')
    assert claimed("k") is None
    with open_holdings("k") as held:
        assert held.phase == "nothing"


def over(path, text):
    """Overwrite the contents of a file like a record: it is never empty."""
    with path.open("r+") as file:
        file.write(text)


def test_what_is_being_written_is_waited_for():
    with open_holdings("k") as held:
        held.planned("app")
    whole = file_of("k").read_text()
    with file_of("k").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(9)
        threading.Timer(0.1, over, [file_of("k"), whole]).start()
        assert claimed("k") is not None


def test_what_nobody_can_come_back_to_is_released_by_the_next_and_deleted():
    with open_holdings("k") as held:
        held.taking(PARTS, own=True)
        assert abandoned() == [], "its process is at it"
    assert abandoned() == ["k"]
    with open_holdings("k") as held:
        held.released()
    assert (abandoned(), file_of("k").exists()) == ([], False)


@pytest.mark.parametrize(
    "other",
    [
        (APP, Run(JobDescription("app", ("./other",)))),
        (APP, Run(JobDescription("app", ("./app",), {"A": "1"}))),
        (APP, Run(JobDescription("app", ("./app",), directory="/elsewhere"))),
        (APP, Run(JobDescription("app"), simulate=True)),
        (Application(Table.of({4: 3000.0, 8: 61.0}), name="app"), RUN),
        (Application(Table.of({4: 3000.0, 8: 60.0}), name="app", safety=2.0), RUN),
    ],
)
def test_applications_that_differ_have_other_fingerprints(other):
    assert fingerprint(APP, RUN) == fingerprint(Application(Table.of({8: 60.0, 4: 3000.0}), name="app"), RUN)
    assert fingerprint(*other) != fingerprint(APP, RUN)
