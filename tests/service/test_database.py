import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from gas.errors import StoreDamaged
from gas.service.database import CommitInDoubt, Database
from gas.service.tables import create_tables


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s3.sqlite"


@pytest.fixture
def database(path):
    database = Database(path)
    create_tables(database.connection)
    yield database
    database.close()


def nothing(connection):
    """Do nothing with the facts."""


def test_every_write_is_synchronous(database):
    pragma = database.connection.execute
    assert pragma("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert pragma("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_nothing_is_in_doubt_before_a_commit_fails(database):
    assert not database.doubtful


def test_work_that_fails_writes_no_fact_either(database):
    database.transact(nothing, {"version": "3"})
    with pytest.raises(ZeroDivisionError):
        database.transact(lambda connection: 1 / 0, {"version": "4"})
    assert database.facts() == {"version": "3"}
    assert not database.doubtful, "it was not being committed"


def test_a_fact_that_was_changed_is_not_believed(database):
    database.transact(nothing, {"version": "3"})
    database.connection.execute("UPDATE meta SET value = '4' WHERE key = 'version'")
    with pytest.raises(StoreDamaged, match="fact 'version' is damaged"):
        database.facts()


class FailingCommits(sqlite3.Connection):
    """A file whose next commits fail, each with an error code."""

    codes = ()

    def execute(self, statement, *values):
        if statement == "COMMIT" and self.codes:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode, *self.codes = self.codes
            raise error
        return super().execute(statement, *values)


@pytest.fixture
def failing(path):
    def connect(path):
        return sqlite3.connect(path, isolation_level=None, factory=FailingCommits)

    database = Database(path, connect)
    create_tables(database.connection)
    database.transact(nothing, {"version": "3"})
    yield database
    database.close()


def test_a_commit_that_failed_in_doubt_is_written_over_before_it_is_answered(failing):
    failing.connection.codes = [sqlite3.SQLITE_IOERR_FSYNC]
    with pytest.raises(sqlite3.OperationalError) as raised:
        failing.transact(nothing, {"version": "4"})
    assert not isinstance(raised.value, CommitInDoubt)
    assert not failing.doubtful
    assert {**failing.facts(), "overwritten": ""} == {"version": "3", "overwritten": ""}
    assert "overwritten" in failing.facts(), "by another transaction in its place"


def test_a_full_disk_leaves_no_doubt_and_nothing_to_write_over(failing):
    failing.connection.codes = [sqlite3.SQLITE_FULL]
    with pytest.raises(sqlite3.OperationalError):
        failing.transact(nothing, {"version": "4"})
    assert failing.facts() == {"version": "3"}


def test_what_cannot_be_written_over_is_in_doubt_until_a_write_succeeds(failing):
    failing.connection.codes = [sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_FULL]
    with pytest.raises(CommitInDoubt):
        failing.transact(nothing, {"version": "4"})
    assert failing.doubtful
    failing.transact(nothing, {"version": "5"})
    assert (failing.doubtful, failing.facts()["version"]) == (False, "5")


def test_nothing_is_written_to_a_file_that_is_no_longer_in_its_place(database, path, tmp_path):
    path.rename(tmp_path / "away")
    with pytest.raises(sqlite3.OperationalError, match="is gone"):
        database.transact(nothing, {"version": "9"})
    shutil.copy(tmp_path / "away", path)
    with pytest.raises(sqlite3.OperationalError, match="was replaced by another file"):
        database.transact(nothing, {"version": "9"})
    (tmp_path / "away").replace(path)
    database.transact(nothing, {"version": "9"})


def test_a_wal_is_written_over_itself_and_synced_before_it_is_read(database, path, monkeypatch):
    database.transact(nothing, {"version": "3"})
    shutil.copytree(path.parent, path.parent.with_name("killed"))
    killed = path.parent.with_name("killed") / path.name
    before = killed.with_name(f"{path.name}-wal").read_bytes()
    synced = []

    def fsync(file):
        synced.append((Path(f"/proc/self/fd/{file}").readlink().name, os.fstat(file).st_size))

    monkeypatch.setattr("gas.service.database.os.fsync", fsync)
    again = Database(killed)
    assert synced == [(f"{path.name}-wal", len(before))]
    assert again.facts() == {"version": "3"}
    again.close()
