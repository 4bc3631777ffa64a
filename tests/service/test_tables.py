"""Stores of earlier versions are upgraded completely or not at all."""

import sqlite3
from dataclasses import replace

import pytest
from earlier_stores import without_classes, without_offers, without_shapes, without_time_held
from stored_job import JOB, REQUEST, reshaped

from gas.errors import Conflict
from gas.service.changes import Answer, Reshape
from gas.service.store import SCHEMA_VERSION, Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s3.sqlite"


SCHEMA_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL, name TEXT NOT NULL,
    processors INTEGER NOT NULL, walltime INTEGER NOT NULL,
    actuator TEXT NOT NULL, command TEXT NOT NULL, environment TEXT NOT NULL, directory TEXT,
    run_time INTEGER, wished_start INTEGER, start_by INTEGER, client_key TEXT UNIQUE,
    submitted INTEGER NOT NULL, state TEXT NOT NULL,
    start INTEGER NOT NULL, promise INTEGER NOT NULL, first_promise INTEGER NOT NULL, due INTEGER NOT NULL,
    finished INTEGER, exit_status INTEGER, signal TEXT, message TEXT
);
CREATE INDEX active_jobs ON jobs (id) WHERE state IN ('queued', 'reserved', 'running');
PRAGMA user_version = 1;
INSERT INTO meta VALUES ('processors', '100'), ('version', '7');
INSERT INTO jobs VALUES (1, 'job', 'lu.C', 64, 17, 'process', '["./lu", "-n", "é ''x''"]', '{"A": "1"}', '/tmp',
    NULL, NULL, 5, 'k', 0, 'queued', 5, 5, 7, 22, NULL, NULL, NULL, NULL);
INSERT INTO jobs VALUES (2, 'job', 'lu.C', 64, 17, 'process', '["./lu", "-n", "é ''x''"]', '{"A": "1"}', '/tmp',
    NULL, NULL, 5, NULL, 0, 'failed', 5, 5, 7, 22, 20, 3, NULL, 'gone');
"""


def test_a_store_of_the_first_version_is_brought_up_to_date(path):
    database = sqlite3.connect(path)
    database.executescript(SCHEMA_1)
    database.close()
    for _ in range(2):  # once for the migration, once to see that it stays
        store = Store(path, "alice")
        unnamed = replace(JOB, identity="")
        assert store.active() == [unnamed]
        assert store.by_key("alice", "k") == unnamed
        without = replace(unnamed, id=2, request=replace(REQUEST, key=None, environment={}))
        assert store.recent(1) == [replace(without, state="failed", finished=20, exit_status=3, message="gone")]
        assert (store.meta()["processors"], store.meta()["version"], store.last_id()) == ("100", "7", 2)
        assert store._database.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
        store.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(path):
    database = sqlite3.connect(path)
    database.executescript(SCHEMA_1 + "CREATE TABLE earlier_jobs (a);")  # in the way
    database.close()
    with pytest.raises(Conflict, match="cannot be used as a store"):
        Store(path)
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone()[0] == 1
    assert database.execute("SELECT count(*) FROM jobs").fetchone()[0] == 2
    database.close()


def test_a_store_without_classes_is_brought_up_to_date(path):
    store = Store(path)
    store.write(new=[JOB])
    store.write(changed=[reshaped()])
    store.close()
    without_classes(path)
    again = Store(path)
    assert again.job(1) == reshaped()
    urgent = replace(JOB, id=2, request=replace(REQUEST, key=None, job_class="urgent"))
    again.write(new=[urgent])
    again.close()
    for _ in range(2):
        again = Store(path)
        assert again.job(2) == urgent
        again.close()


def test_a_store_without_offers_is_brought_up_to_date(path):
    urgent = replace(JOB, request=replace(REQUEST, job_class="urgent"))
    wanted = Reshape(1, 32, 40, key="r", user="alice")
    store = Store(path)
    store.write(new=[urgent])
    store.write(changed=[reshaped(urgent)], requested=[wanted])
    store.close()
    without_offers(path)
    again = Store(path)
    assert again.job(1) == reshaped(urgent)
    assert again.change_by_key(1, "alice", "r") == wanted
    offered = replace(JOB, id=2, request=replace(REQUEST, key=None, notice=60), offer=3, answer_by=2, offers_from=1)
    again.write(new=[offered], requested=[Answer(2, True, 3, key="r", user="alice")])
    again.close()
    again = Store(path)
    assert again.job(2) == offered
    assert again.change_by_key(2, "alice", "r") == Answer(2, True, 3, key="r", user="alice")
    accepted = replace(offered, start=3, promise=3, offer=None, answer_by=None)
    again.write(changed=[accepted])
    assert again.job(2) == accepted
    again.close()


def test_a_store_that_does_not_know_for_how_long_offers_were_held_is_brought_up_to_date(path):
    offered = replace(JOB, request=replace(REQUEST, key=None, notice=60), offer=3, answer_by=2, offers_from=1)
    store = Store(path)
    store.write(new=[offered])
    store.close()
    without_time_held(path)
    again = Store(path)
    assert again.job(1) == offered
    again.write(changed=[replace(offered, offers_held=60)])
    again.close()
    again = Store(path)
    assert again.job(1).offers_held == 60
    again.close()


def test_a_store_without_shapes_is_brought_up_to_date(path):
    store = Store(path)
    store.write(new=[JOB])
    store.close()
    without_shapes(path)
    again = Store(path)
    assert again.active() == [JOB]
    again.write(changed=[reshaped()], requested=[Reshape(1, 32, 40, key="r", user="alice")])
    assert again.job(1) == reshaped()
    again.close()
