import shutil
import sqlite3
from dataclasses import replace

import pytest
from stored_job import JOB, REQUEST, reshaped

from gas.errors import Conflict, StoreDamaged
from gas.service import store as store_module
from gas.service.changes import Reshape
from gas.service.database import open_database
from gas.service.jobs import LONG_COMMAND
from gas.service.listing import Wanted
from gas.service.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s3.sqlite"


def test_what_is_written_is_read_back_by_the_next_life(path):
    store = Store(path)
    store.write(new=[JOB], meta={"version": "3"})
    store.close()
    again = Store(path)
    assert again.active() == [JOB]
    assert again.job(1) == JOB
    assert again.by_key("alice", "k") == JOB
    assert (again.job(2), again.by_key("alice", "x"), again.by_key("bob", "k")) == (None, None, None)
    assert again.last_id() == 1
    assert again.meta()["version"] == "3"
    again.close()


def test_a_job_that_has_ended_is_not_active_but_remembered(path):
    store = Store(path)
    store.write(new=[JOB])
    done = replace(JOB, state="completed", finished=20, exit_status=0)
    store.write(changed=[done])
    assert store.active() == []
    assert store.recent(10) == [replace(done, request=replace(REQUEST, environment={}))], "without what may be long"
    assert store.job(1) == done
    store.close()


def test_a_write_happens_whole_or_not_at_all(path):
    store = Store(path)
    other = replace(JOB, id=2)  # the same client key: refused by the database
    with pytest.raises(sqlite3.IntegrityError):
        store.write(new=[JOB, other], meta={"version": "9"})
    assert (store.active(), "version" in store.meta()) == ([], False)
    store.close()


def test_a_file_that_is_no_store_is_refused(path):
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(Conflict, match="cannot be used as a store .*give another --state"):
        Store(path)


def test_an_empty_file_is_refused_and_a_store_that_could_not_be_made_leaves_none(path):
    """An empty file may be the remains of a store, for example a copy onto a full disk."""

    class FullDisk(sqlite3.Connection):
        def execute(self, statement, *parameters):
            if "journal_mode" in statement:
                super().execute("PRAGMA user_version")  # the file is there now
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(statement, *parameters)

    with pytest.raises(Conflict, match="disk is full"):
        Store(path, connect=lambda path: sqlite3.connect(path, isolation_level=None, factory=FullDisk))
    Store(path).close()
    path.write_bytes(b"")
    with pytest.raises(Conflict, match="is empty: .*gas restore.*remove it to start afresh"):
        Store(path)


def test_a_file_of_a_later_version_is_refused(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    opened = []
    with pytest.raises(Conflict, match="later version of Gas"):
        Store(path, connect=lambda file: opened.append(open_database(file)) or opened[0])
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


def test_a_key_belongs_to_its_user(path):
    store = Store(path)
    hers = replace(JOB, id=2, request=replace(REQUEST, user="bob"))
    store.write(new=[JOB, hers])
    assert (store.by_key("alice", "k"), store.by_key("bob", "k")) == (JOB, hers)
    store.close()


@pytest.mark.parametrize(
    ("bytes_of_command", "letters_of_environment", "with_command"),
    [(LONG_COMMAND, 1, True), (LONG_COMMAND + 1, 1, False), (20, 2**16 - 20, True), (20, 2**16, False)],
)
def test_a_list_of_ended_jobs_leaves_out_commands_that_are_long_or_lie_with_a_long_environment(
    path, bytes_of_command, letters_of_environment, with_command
):
    store = Store(path)
    command = ("x" * (bytes_of_command - len('[""]')),)
    request = replace(REQUEST, command=command, environment={"A": "y" * letters_of_environment})
    store.write(new=[replace(JOB, request=request, state="completed", finished=20)])
    (listed,) = store.recent(1)
    assert (listed.request.command, listed.request.command_bytes) == (command if with_command else (), bytes_of_command)
    store.close()


def test_of_ended_jobs_that_were_listed_only_the_latest_are_kept_in_memory(path, monkeypatch):
    monkeypatch.setattr(store_module, "_ENDED_KEPT", 3)
    store = Store(path)
    requests = [replace(REQUEST, key=f"k{id}") for id in range(1, 6)]
    ended = [replace(JOB, id=id, request=one, state="failed", finished=20) for id, one in enumerate(requests, 1)]
    store.write(new=ended)
    for _ in range(2):
        assert [job.id for job in store.recent(5)] == [5, 4, 3, 2, 1]
        assert len(store._ended) == 3
    store.close()


def test_a_page_of_ended_jobs_begins_after_the_last_one_of_the_page_before(path):
    store = Store(path)
    store.write(
        new=[replace(JOB, id=n, request=replace(REQUEST, key=None), state="failed", finished=9) for n in range(1, 8)]
    )
    store.write(new=[replace(JOB, id=8)])
    pages = [[job.id for job in store.ended(Wanted(after=after, limit=2, ended=5))] for after in (0, 4, 6)]
    assert pages == [[3, 4, 5], [5, 6, 7], [7]], "one more than the limit where there are more; the latest five"
    store.close()


def test_a_damaged_job_leaves_the_lists_and_is_named_once(path, caplog):
    store = Store(path)
    store.write(
        new=[replace(JOB, id=n, request=replace(REQUEST, key=None), state="failed", finished=9) for n in (1, 2)]
    )
    with sqlite3.connect(path) as database:
        assert database.execute("UPDATE jobs SET user = 'mallory' WHERE id = 1").rowcount == 1
    database.close()
    for _ in range(3):
        assert [job.id for job in store.recent(10)] == [2]
    assert [record.getMessage() for record in caplog.records] == ["the store is damaged: job 1: its request is damaged"]
    assert store.damaged == {"job 1: its request is damaged"}
    store.close()


def test_a_fact_that_was_changed_is_not_believed(path):
    store = Store(path)
    store.write(new=[JOB], meta={"version": "3"})
    store.close()
    with sqlite3.connect(path) as database:
        assert database.execute("UPDATE meta SET value = '4' WHERE key = 'version'").rowcount == 1
    database.close()
    with pytest.raises(StoreDamaged, match="fact 'version' is damaged"):
        Store(path)


def test_each_time_that_an_old_copy_is_put_in_its_place_an_epoch_of_its_own_begins(path, tmp_path):
    store = Store(path)
    store.write(new=[JOB])
    store.close()
    copy = shutil.copy(path, tmp_path / "copy")
    epochs = [store.epoch]
    for id in (2, 3):
        store = Store(path)
        store.write(new=[replace(JOB, id=id, request=replace(REQUEST, key=None))])
        store.close()
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        shutil.copy(copy, path)
        store = Store(path)
        epochs.append(store.epoch)
        assert store.last_id() == id, "no number is given again"
        store.close()
    assert epochs == [0, 1, 2]


def test_old_jobs_are_forgotten_and_their_numbers_not_given_again(path):
    store = Store(path)
    old, recent = replace(JOB, state="failed", finished=20), replace(JOB, id=2, request=replace(REQUEST, key=None))
    last = replace(recent, id=3, state="completed", finished=90)
    store.write(new=[old, recent, last])
    assert store.ended_before(20, 10) == []
    assert [job.id for job in store.ended_before(1000, 1)] == [1]
    assert [job.id for job in store.ended_before(1000, 10)] == [1, 3], "one that is in the schedule is not old"
    store.remove([1, 3])
    store.close()
    again = Store(path)
    assert (again.job(1), again.recent(10), again.active(), again.last_id()) == (None, [], [recent], 3)
    again.close()


def test_a_job_of_another_shape_is_read_back_with_both_and_what_was_asked_for(path):
    store = Store(path)
    store.write(new=[JOB])
    wanted = Reshape(1, 32, 40, start_by=9, key="r", user="alice")
    store.write(changed=[reshaped()], requested=[wanted, Reshape(1, 8)])
    store.close()
    again = Store(path)
    found = again.job(1)
    assert found == reshaped()
    assert (found.request.processors, found.first_promise, found.submission) == (32, 9, REQUEST)
    assert again.change_by_key(1, "alice", "r") == wanted
    assert again.change_by_key(2, "alice", "r") is again.change_by_key(1, "bob", "r") is None
    again.remove([1])
    assert again.change_by_key(1, "alice", "r") is None
    again.close()


def test_a_schema_that_is_not_even_text_is_damage(path):
    """As after one flipped bit; SQLite's message about it is not text either."""
    Store(path).close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE meta", b"CREATE T\xe2BLE meta"))
    with pytest.raises(StoreDamaged, match="the store is damaged"):
        Store(path)
