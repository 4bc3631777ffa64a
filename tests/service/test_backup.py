"""Stores that are older than the state: by `gas restore`, by a file copied into place, or by damage."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from earlier_stores import without_shapes

from gas.errors import BadInput, Conflict, NotFound, StoreDamaged, StoreFailed
from gas.service.backup import STORE, back_up, check, restore, save_sound
from gas.service.changes import Reshape
from gas.service.jobs import JobRequest
from gas.service.live import LiveScheduler
from gas.service.store import Store


def asks(user, script, *, processors=1, walltime=30, **more):
    return JobRequest(
        "job", "job", processors, walltime, actuator="process", command=("sh", "-c", script), user=user, **more
    )


class Machine:
    """A scheduler on a state directory that can be started repeatedly."""

    def __init__(self, state):
        self.state = state
        self.live = None

    def start(self):
        self.stop()
        self.live = LiveScheduler("test", 2, self.state)
        self.live.start()
        return self.live

    def stop(self):
        if self.live is not None:
            self.live.stop()
            self.live = None

    def run(self, request):
        """Submit a job and wait for its end."""
        job, _ = self.live.submit(request)
        return self.ended(job.id)

    def ended(self, id):
        deadline = time.monotonic() + 20
        while (job := self.live.job(id)).active:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return job

    def started(self, job):
        """Wait until a job's command runs."""
        deadline = time.monotonic() + 20
        while not (self.state / "jobs" / job.directory_name / "started.json").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def output(self, id):
        return self.live.output(id, "stdout", 1000).decode()

    def put_back(self, file):
        """Restore by hand: stop, copy, start."""
        self.stop()
        for end in ("", "-wal", "-shm"):
            (self.state / f"{STORE}{end}").unlink(missing_ok=True)
        shutil.copyfile(file, self.state / STORE)
        return self.start()


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path / "state")
    machine.start()
    yield machine
    machine.stop()


def copied_by_hand(machine, target):
    """Return a copy by SQLite's own backup, as administrators make them."""
    with closing(sqlite3.connect(machine.state / STORE)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    return target


@pytest.mark.thorough(but=1)
@pytest.mark.parametrize("with_mark", [True, False], ids=["mark", "no mark"])
def test_a_store_copied_back_by_hand_gives_no_number_twice_and_mixes_no_outputs(machine, tmp_path, with_mark):
    machine.run(asks("alice", "echo one"))
    backup = copied_by_hand(machine, tmp_path / "copy")
    hers = machine.run(asks("alice", "echo hers; exit 3", key="k"))
    machine.stop()
    if not with_mark:
        (machine.state / "s3.mark").unlink()
    machine.put_back(backup)
    his = machine.run(asks("bob", "echo his"))
    assert his.id > hers.id
    assert (his.state, his.exit_status, machine.output(his.id)) == ("completed", 0, "his\n")
    found = machine.live.job(hers.id)
    assert (found.request.user, found.state, found.exit_status) == ("alice", "failed", 3), (
        "found again by its directory"
    )
    assert machine.output(hers.id) == "hers\n"
    again, new = machine.live.submit(asks("alice", "echo hers; exit 3", key="k"))
    assert (again.id, new) == (hers.id, False), "its key is known again too"
    remarks = " ".join(machine.live.health()["remarks"])
    assert "older than the last write" in remarks
    assert f"job {hers.id} submitted since, found again by directory" in remarks


def test_a_job_that_ran_since_the_backup_is_not_run_again(machine, tmp_path):
    proof = tmp_path / "proof"
    blocker, _ = machine.live.submit(asks("alice", "sleep 60", processors=2, walltime=60))
    waiting, _ = machine.live.submit(asks("alice", f"echo ran >> {proof}"))
    machine.started(blocker)
    backup = copied_by_hand(machine, tmp_path / "copy")
    machine.live.cancel(blocker.id)
    machine.ended(waiting.id)
    machine.put_back(backup)
    assert machine.ended(waiting.id).state == "completed"
    assert machine.ended(blocker.id).state == "cancelled"
    assert proof.read_text() == "ran\n"


def test_a_job_that_runs_and_is_lost_keeps_its_processors(machine, tmp_path):
    backup = copied_by_hand(machine, tmp_path / "copy")
    runs, _ = machine.live.submit(asks("alice", "sleep 60", processors=2, walltime=60))
    machine.started(runs)
    machine.put_back(backup)
    assert machine.live.machine()["in_use"] == 2
    waits, _ = machine.live.submit(asks("bob", "true"))
    assert machine.live.job(waits.id).state == "queued"
    machine.live.cancel(runs.id)
    assert machine.ended(runs.id).state == "cancelled"
    assert machine.ended(waits.id).state == "completed"


def test_a_job_that_one_backup_has_as_cancelled_and_that_another_started_keeps_its_processors_until_it_is_gone(
    machine, tmp_path
):
    blocker, _ = machine.live.submit(asks("alice", "sleep 60", processors=2, walltime=60))
    waits, _ = machine.live.submit(asks("bob", "trap '' TERM; while :; do sleep 1; done", processors=2, walltime=60))
    machine.started(blocker)
    older = copied_by_hand(machine, tmp_path / "older")
    machine.live.cancel(waits.id)
    newer = copied_by_hand(machine, tmp_path / "newer")
    machine.put_back(older)
    machine.live.cancel(blocker.id)
    machine.started(waits)
    machine.put_back(newer)
    assert (machine.live.machine()["in_use"], machine.live.job(waits.id).state) == (2, "running")
    assert f"job {waits.id} had ended without having run, and has started" in " ".join(machine.live.health()["remarks"])
    assert machine.ended(waits.id).state == "cancelled"


def test_a_job_in_the_place_of_a_reservation_that_started_since_the_backup_keeps_its_start(machine, tmp_path):
    start = machine.live.availability().now + 2
    held, _ = machine.live.submit(
        JobRequest("reservation", "r", 2, 60, actuator="none", run_time=0, user="a", start=start)
    )
    job, _ = machine.live.submit(asks("a", "sleep 60", processors=2, walltime=60, start=start, reservation=held.id))
    backup = copied_by_hand(machine, tmp_path / "copy")
    machine.started(job)
    time.sleep(2)
    machine.put_back(backup)
    found = machine.live.job(job.id)
    assert (found.state, found.start, found.broken_promise) == ("running", start, None)
    machine.live.cancel(job.id)
    machine.ended(job.id)


def test_jobs_of_which_nothing_is_left_are_counted_and_their_numbers_not_given_again(machine, tmp_path):
    machine.live.submit(asks("alice", "sleep 60", processors=2, walltime=60))
    backup = copied_by_hand(machine, tmp_path / "copy")
    lost = [machine.live.submit(asks("alice", "true"))[0].id for _ in range(3)]
    machine.put_back(backup)
    assert machine.live.submit(asks("bob", "true"))[0].id == lost[-1] + 1
    assert "lost; submit again: jobs 2, 3, 4" in " ".join(machine.live.health()["remarks"])
    machine.live.cancel(1)
    machine.start()
    assert machine.live.health()["remarks"] == [], "once is enough"


def test_the_version_of_a_schedule_is_not_given_again_after_a_restore(machine, tmp_path):
    backup = copied_by_hand(machine, tmp_path / "copy")
    versions = set()
    for _ in range(3):
        machine.live.cancel(machine.live.submit(asks("alice", "true", processors=2, start=2**31))[0].id)
        versions.add(machine.live.availability().version)
    machine.put_back(backup)
    machine.live.submit(asks("bob", "true", start=2**31))
    assert machine.live.availability().version not in versions


def test_a_running_job_without_a_directory_is_lost_and_not_started_again(machine, tmp_path):
    runs, _ = machine.live.submit(asks("alice", "sleep 60", processors=2, walltime=60))
    machine.started(runs)
    backup = tmp_path / "copy"
    back_up(machine.state, backup)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    restore(backup, elsewhere)
    other = Machine(elsewhere)
    other.start()
    assert other.live.job(runs.id).state == "lost"
    other.stop()
    machine.live.cancel(runs.id)
    machine.ended(runs.id)


# ------------------------------------------------------------------------------------------------ backup and restore


def test_a_backup_of_a_running_service_is_whole_and_private(machine, tmp_path):
    ids = [machine.live.submit(asks("alice", "true", start=2**31))[0].id for _ in range(20)]
    assert back_up(machine.state, tmp_path / "backup") == (tmp_path / "backup", 20)
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    assert check(tmp_path / "backup") == ([], 20)
    store = Store(tmp_path / "backup")
    assert [job.id for job in store.active()] == ids
    store.close()


def test_a_backup_holds_the_ledger_of_predictions_and_what_it_replaces_is_kept(machine, tmp_path):
    machine.live.submit(asks("alice", "true", start=2**31))
    machine.stop()
    ledger = machine.state / "predictions.json"
    ledger.write_text("then")
    back_up(machine.state, tmp_path / "backup")
    assert check(tmp_path / "backup") == ([], 1)
    ledger.write_text("since")
    restored = restore(tmp_path / "backup", machine.state)
    assert ledger.read_text() == "then"
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert (restored.aside / ledger.name).read_text() == "since"
    ledger.unlink()
    back_up(machine.state, tmp_path / "without")
    ledger.write_text("now")
    restore(tmp_path / "without", machine.state)
    assert ledger.read_text() == "now", "a backup without one replaces none"


def test_restoring_names_what_is_lost_and_keeps_what_it_replaces(machine, tmp_path):
    machine.live.submit(asks("alice", "true", start=2**31))
    back_up(machine.state, tmp_path / "backup")
    lost, _ = machine.live.submit(asks("bob", "true", start=2**31))
    ran = machine.run(asks("bob", "true"))
    before = Store(machine.state / STORE)
    epoch, identity = before.epoch, before.identity
    before.close()
    machine.stop()
    restored = restore(tmp_path / "backup", machine.state)
    assert restored.jobs == 1
    assert [job.id for job in restored.lost] == [lost.id, ran.id]
    assert restored.found == [ran.id]
    assert (restored.aside / STORE).exists()
    store = Store(machine.state / STORE)
    assert store.epoch > epoch
    assert store.identity == identity
    assert store.last_id() == ran.id
    store.close()
    assert machine.start().job(ran.id).state == "completed"
    with pytest.raises(NotFound):
        machine.live.job(lost.id)


def test_what_was_cancelled_since_the_backup_does_not_run_after_it_is_restored(machine, tmp_path):
    waits, _ = machine.live.submit(asks("alice", "true", start=2**31))
    back_up(machine.state, tmp_path / "backup")
    machine.live.cancel(waits.id)
    machine.stop()
    restored = restore(tmp_path / "backup", machine.state)
    assert [job.id for job in restored.ended] == [waits.id]
    assert machine.start().job(waits.id).state == "cancelled"


def test_a_restore_that_was_interrupted_is_completed_by_the_next_one(machine, tmp_path):
    back_up(machine.state, tmp_path / "backup")
    lost, _ = machine.live.submit(asks("bob", "true", start=2**31))
    machine.stop()
    aside = machine.state / "before-restore-20270101-000000"
    aside.mkdir()
    (machine.state / STORE).rename(aside / STORE)
    (machine.state / "s3.mark").unlink()
    restored = restore(tmp_path / "backup", machine.state)
    assert ([job.id for job in restored.lost], restored.aside) == ([lost.id], aside)
    assert machine.start().submit(asks("bob", "true"))[0].id == lost.id + 1


@pytest.fixture(scope="module")
def outlived(tmp_path_factory):
    """Return a backup with job 1, and a state directory with jobs 2 to 4 in the WAL, as after a power cut."""
    folder = tmp_path_factory.mktemp("outlived")
    live = LiveScheduler("test", 2, folder / "state")
    live.submit(asks("ann", "true"))
    back_up(folder / "state", folder / "backup")
    for _ in range(3):
        live.submit(asks("ann", "true"))
    shutil.copytree(folder / "state", folder / "kept")
    live.stop()
    assert (folder / "kept" / f"{STORE}-wal").stat().st_size > 0
    (folder / "kept" / "s3.mark").unlink()  # written without waiting for the disk
    return folder / "backup", folder / "kept"


@pytest.mark.parametrize("failing", ["copyfile", "chmod", "fsync", "rename", "mkdir", "unlink"])
def test_a_restore_that_fails_anywhere_loses_nothing_of_what_it_replaces(outlived, tmp_path, monkeypatch, failing):
    backup, kept = outlived
    state = tmp_path / "state"
    owner = {"copyfile": shutil, "fsync": os, "chmod": Path, "rename": Path, "mkdir": Path, "unlink": Path}[failing]
    true = getattr(owner, failing)
    for count in range(100):
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(kept, state)
        calls = iter(range(count, -2, -1))

        def fails(*arguments, calls=calls, **options):
            if next(calls, -1) == 0:
                raise OSError(5, "Input/output error")
            return true(*arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(owner, failing, fails)
            try:
                restore(backup, state)
            except (StoreFailed, OSError):
                failed = True
            else:
                failed = False
        if failed:
            restore(backup, state)
        with closing(Store(state / STORE)) as store:
            assert store.last_id() >= 4, f"{failing} number {count} failed"
            assert store.job(2) is None
        if next(calls, -1) >= 0:
            break  # it was not called so often
    assert count > 0 or failing in ("mkdir", "copyfile", "chmod")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can restore what belongs to another user")
def test_a_restore_by_root_keeps_the_owner_of_the_state(machine, tmp_path):
    back_up(machine.state, tmp_path / "backup")
    machine.stop()
    os.chown(machine.state, 12345, 12345)
    restored = restore(tmp_path / "backup", machine.state)
    for path in (machine.state / STORE, machine.state / "s3.mark", restored.aside, restored.aside / STORE):
        assert path.stat().st_uid == 12345, path
    os.chown(machine.state, 0, 0)


def test_the_backup_of_another_store_names_what_it_takes_the_place_of(machine, tmp_path):
    machine.live.submit(asks("alice", "true", start=2**31))
    back_up(machine.state, tmp_path / "backup")
    other = Machine(tmp_path / "other")
    hers, _ = other.start().submit(asks("eve", "true", start=2**31))
    other.stop()
    assert [(job.id, job.request.user) for job in restore(tmp_path / "backup", other.state).lost] == [(hers.id, "eve")]


@pytest.mark.thorough(but=2)
@pytest.mark.parametrize(
    "forged",
    [
        {"walltime": 10**30},
        {"processors": 10**12},
        {"name": "x\ud800"},
        {"user": "\ud800"},
        {"name": "\x1b[2J"},
        {"start": "x"},
    ],
    ids=str,
)
def test_a_forged_directory_is_not_taken_in_and_keeps_nothing_from_starting(machine, tmp_path, forged):
    honest = machine.run(asks("alice", "true"))
    record = json.loads((machine.state / "jobs" / honest.directory_name / "job.json").read_text())
    record["facts"] |= {"id": 5, "identity": "a" * 16, **forged}
    folder = machine.state / "jobs" / f"5.{'a' * 16}"
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps(record))
    (machine.state / "jobs" / f"{10**17}.{'a' * 16}").mkdir()
    machine.start()
    with pytest.raises(NotFound):
        machine.live.job(5)
    assert machine.run(asks("alice", "true")).id == 6, "its number is not given, one beyond all measure is overlooked"


def test_a_copy_of_a_state_directory_leaves_the_jobs_of_the_original_alone(machine, tmp_path):
    runs, _ = machine.live.submit(asks("alice", "sleep 60", walltime=60))
    machine.started(runs)
    shutil.copytree(machine.state, tmp_path / "copy")
    copy = Machine(tmp_path / "copy")
    copy.start().cancel(runs.id)
    assert copy.ended(runs.id).state in ("lost", "cancelled")
    time.sleep(0.5)
    assert machine.live.job(runs.id).state == "running"
    copy.stop()
    machine.live.cancel(runs.id)
    assert machine.ended(runs.id).state == "cancelled"


def test_what_is_no_sound_backup_is_not_restored(machine, tmp_path):
    machine.stop()
    before = (machine.state / STORE).read_bytes()
    with pytest.raises(NotFound):
        restore(tmp_path / "nothing", machine.state)
    (tmp_path / "text").write_text("not a database" * 1000)
    with pytest.raises(Conflict, match="is not a backup"):
        restore(tmp_path / "text", machine.state)
    back_up(machine.state, tmp_path / "backup")
    damage(tmp_path / "backup", "UPDATE meta SET value = '7' WHERE key = 'epoch'")
    with pytest.raises(StoreDamaged, match="fact 'epoch' is damaged"):
        restore(tmp_path / "backup", machine.state)
    assert (machine.state / STORE).read_bytes() == before


def test_a_backup_does_not_overwrite_what_is_no_backup(machine, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInput, match="is not a backup"):
        back_up(machine.state, tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    with pytest.raises(NotFound):
        back_up(tmp_path / "nowhere", tmp_path / "backup")


# --------------------------------------------------------------------------------------------------------- damage


def damage(path, statement):
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(statement).rowcount == 1
        database.commit()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE jobs SET walltime = walltime + 1 WHERE id = 2", "job 2: its request is damaged"),
        ("UPDATE jobs SET promise = promise - 1 WHERE id = 2", "job 2: its outcome is damaged"),
        ("UPDATE jobs SET user = 'mallory' WHERE id = 2", "job 2: its request is damaged"),
        ("UPDATE commands SET command = '[\"rm\"]' WHERE id = 2", "job 2: its command is damaged"),
        ("DELETE FROM commands WHERE id = 2", "job 2: its command is missing"),
        ("DELETE FROM jobs WHERE id = 2", "it holds 2 jobs, and 3 were written"),
        ("UPDATE meta SET value = '3' WHERE key = 'processors'", "fact 'processors' is damaged"),
    ],
)
def test_a_store_whose_values_changed_is_refused_and_what_is_sound_can_be_saved(machine, tmp_path, statement, problem):
    for _ in range(3):
        machine.live.submit(asks("alice", "true", start=2**31))
    machine.stop()
    damage(machine.state / STORE, statement)
    with pytest.raises(StoreDamaged, match=problem):
        machine.start()
    problems, _ = check(machine.state)
    assert problem in problems
    saved, left_out = save_sound(machine.state, tmp_path / "sound")
    assert saved + len(left_out) >= 2
    restore(tmp_path / "sound", machine.state)
    kept = machine.start().jobs()
    assert {job.id for job in kept} >= {1, 3}
    assert machine.live.submit(asks("alice", "true"))[0].id == 4


def test_an_index_that_contradicts_its_table_is_found_by_a_check(machine):
    machine.live.submit(asks("alice", "true", key="needle-1", start=2**31))
    machine.stop()
    path = machine.state / STORE
    content = path.read_bytes()
    assert content.count(b"aliceneedle-1") == 1  # of the index over users and keys; all rows are sound
    path.write_bytes(content.replace(b"aliceneedle-1", b"aliceneedle-2"))
    problems, sound = check(machine.state)
    assert sound == 1
    assert any("missing from index keys" in problem for problem in problems), problems


def test_a_file_whose_structure_is_wrong_is_refused_though_all_rows_are_sound(machine):
    machine.live.submit(asks("alice", "true", start=2**31))
    machine.stop()
    path = machine.state / STORE
    content = bytearray(path.read_bytes())
    content[36:40] = (7).to_bytes(4, "big")  # pages that are free, by the header of an SQLite file
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match="(?i)freelist"):
        machine.start()


def test_requests_for_another_shape_are_saved_with_their_jobs(machine, tmp_path):
    for user in ("alice", "bob"):
        machine.live.submit(asks(user, "true", start=2**31))
    for id in (1, 2):
        told = machine.live.reshape(Reshape(id, 1, 77, key="r", user="alice"))
    machine.stop()
    damage(machine.state / STORE, "UPDATE jobs SET user = 'mallory' WHERE id = 1")
    damage(machine.state / STORE, "UPDATE reshapes SET changes = '[]' WHERE id = 1")
    assert any("job 1: a request for a change is damaged" in problem for problem in check(machine.state)[0])
    assert save_sound(machine.state, tmp_path / "sound")[0] == 1
    restore(tmp_path / "sound", machine.state)
    assert machine.start().job(2).request.walltime == 77
    assert machine.live.reshape(Reshape(2, 1, 77, key="r", user="alice")).reshaped == told.reshaped


def test_a_damaged_store_of_an_earlier_version_is_saved_too_and_what_had_ended_since_a_backup_stays(machine, tmp_path):
    for user in ("alice", "bob", "cyd"):
        machine.live.submit(asks(user, "true", start=2**31))
    backup, _ = back_up(machine.state, tmp_path / "backup")
    machine.live.cancel(3)
    machine.stop()
    without_shapes(machine.state / STORE)
    damage(machine.state / STORE, "UPDATE jobs SET user = 'mallory' WHERE id = 1")
    assert save_sound(machine.state, tmp_path / "sound")[0] == 2
    assert [job.id for job in restore(backup, machine.state).ended] == [3]


def test_a_store_of_which_nothing_is_sound_is_not_saved_as_an_empty_one(machine, tmp_path):
    machine.live.submit(asks("alice", "true", start=2**31))
    machine.stop()
    damage(machine.state / STORE, "UPDATE jobs SET user = 'mallory' WHERE id = 1")
    with pytest.raises(Conflict, match="it contains no undamaged job"):
        save_sound(machine.state, tmp_path / "sound")
    assert not (tmp_path / "sound").exists()
    (tmp_path / "notes.md").write_text("# Notes")
    with pytest.raises(BadInput, match="neither a store nor a backup"):
        check(tmp_path / "notes.md")


def test_a_write_to_a_row_that_has_vanished_is_refused(tmp_path):
    store = Store(tmp_path / "s3.sqlite")
    job, _ = _one_job(tmp_path)
    with pytest.raises(StoreDamaged, match="not in the store any more"):
        store.write(changed=[replace(job, state="completed")])
    store.close()


def _one_job(tmp_path):
    live = LiveScheduler("test", 2, tmp_path / "other")
    try:
        return live.submit(asks("alice", "true", start=2**31))
    finally:
        live.stop()


def test_a_mark_that_cannot_be_read_now_is_no_missing_mark(machine, tmp_path):
    machine.stop()
    (machine.state / "s3.mark").unlink()
    (machine.state / "s3.mark").mkdir()  # an error other than "there is none", for root too
    with pytest.raises(Conflict, match="cannot be read at present"):
        machine.start()


def test_a_job_that_started_by_a_clock_that_was_ahead_holds_its_processors_now(machine, tmp_path):
    backup = copied_by_hand(machine, tmp_path / "copy")
    runs, _ = machine.live.submit(asks("alice", "sleep 60", processors=2, walltime=60))
    machine.started(runs)
    file = machine.state / "jobs" / runs.directory_name / "job.json"
    record = json.loads(file.read_text())
    record["facts"]["start"] += 10**6
    file.write_text(json.dumps(record))
    machine.put_back(backup)
    assert machine.live.machine()["in_use"] == 2
    assert machine.live.job(runs.id).start <= machine.live.clock.now()
    machine.live.cancel(runs.id)
    assert machine.ended(runs.id).state == "cancelled"
    with machine.live.frozen() as schedule:
        schedule.schedule.check()
