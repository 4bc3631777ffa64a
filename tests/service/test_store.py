import sqlite3
from dataclasses import replace

import pytest

from gas.errors import Conflict
from gas.service.jobs import Job, Wish
from gas.service.store import Store

WISH = Wish(
    "job",
    "lu.C",
    64,
    17,
    actuator="process",
    command=("./lu", "-n", "é 'x'"),
    environment={"A": "1"},
    directory="/tmp",
    start_by=5,
    key="k",
)
JOB = Job(1, WISH, submitted=0, state="queued", start=5, promise=5, first_promise=7, due=22)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s3.sqlite"


def test_what_is_written_is_read_back_by_the_next_life(path):
    store = Store(path)
    store.write(jobs=[JOB], meta={"version": "3"})
    store.close()
    again = Store(path)
    assert again.active() == [JOB]
    assert again.job(1) == JOB
    assert again.by_key("k") == JOB
    assert (again.job(2), again.by_key("x"), again.last_id()) == (None, None, 1)
    assert again.meta() == {"version": "3"}
    again.close()


def test_a_job_that_has_ended_is_not_active_but_remembered(path):
    store = Store(path)
    store.write(jobs=[JOB])
    done = replace(JOB, state="completed", finished=20, exit_status=0)
    store.write(jobs=[done])
    assert store.active() == []
    assert store.recent(10) == [done]
    store.close()


def test_a_write_happens_whole_or_not_at_all(path):
    store = Store(path)
    other = replace(JOB, id=2)  # the same client key: refused by the database
    with pytest.raises(sqlite3.IntegrityError):
        store.write(jobs=[JOB, other], meta={"version": "9"})
    assert (store.active(), store.meta()) == ([], {})
    store.close()


def test_every_write_is_synchronous(path):
    store = Store(path)
    pragma = store._database.execute
    assert pragma("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert pragma("PRAGMA synchronous").fetchone()[0] == 2  # FULL
    store.close()


def test_a_file_that_is_no_store_is_refused(path):
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(Conflict, match="cannot be used as a store .*name another --state"):
        Store(path)


def test_a_file_of_a_later_version_is_refused(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(Conflict, match="later version of Gas"):
        Store(path)
