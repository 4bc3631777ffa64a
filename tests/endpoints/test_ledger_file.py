"""Ledgers in files: always whole, correct with several processes, and never an obstacle to other work."""

import json
import multiprocessing
import os
import signal
import stat
import time

import numpy as np
import pytest

from gas.endpoints.ledger_file import SCHEMA, LedgerFile, ledger_of


@pytest.fixture
def remarks():
    return []


@pytest.fixture
def file(tmp_path, remarks):
    return LedgerFile(tmp_path / "own" / "ledger.json", "a machine", remarks.append)


def predict(file, who, now=0):
    with file.changing() as ledger:
        ledger.predicted(who, ledger.predict(now, np.arange(0, 600, 6), 1200))


def start(file, who, at):
    with file.changing() as ledger:
        ledger.started(who, at)
        ledger.learn(at + 1)


def test_what_is_written_is_read_again_and_only_by_its_user(file, remarks):
    assert file.read().outcomes == []
    predict(file, "1")
    predict(file, "2")
    start(file, "1", 60)
    found = file.read()
    assert ([one.start for one in found.outcomes], list(found.open)) == ([60], ["2"])
    assert json.loads(file.path.read_text())["scheduler"] == "a machine"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file.path, file.path.parent)] == [0o600, 0o700]
    assert remarks == []


def test_the_ledger_of_a_scheduler_is_under_the_user_s_state(tmp_path, remarks):
    one, other = (ledger_of(name, remarks.append).path for name in ("ssh://login#batch", "ssh://login/batch"))
    assert one.parent == tmp_path / "state" / "gas" / "predictions"
    assert one.name.startswith("ssh-login-batch-")
    assert one != other


def several(path, number):
    file = LedgerFile(path, "a machine", print)
    for each in range(10):
        predict(file, f"{number}.{each}")
        start(file, f"{number}.{each}", 100 * number + each)


def test_processes_that_write_at_once_lose_nothing(file):
    workers = [multiprocessing.get_context("fork").Process(target=several, args=(file.path, n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [one.start for one in file.read().outcomes] == [100 * n + each for n in range(4) for each in range(10)]


def endless(path):
    file, number = LedgerFile(path, "a machine", print), 0
    while True:
        number += 1
        predict(file, str(number), number)
        start(file, str(number), number + 60)


def test_a_process_that_is_killed_leaves_a_whole_ledger_and_no_lock(file, remarks):
    for _ in range(5):
        worker = multiprocessing.get_context("fork").Process(target=endless, args=(file.path,))
        worker.start()
        before = len(file.read().outcomes)
        while len(file.read().outcomes) <= before:
            time.sleep(0.01)
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
    assert remarks == []
    predict(file, "after")
    assert "after" in file.read().open


@pytest.mark.parametrize("length", [0, 1, 20, 100, -2])
def test_a_file_that_was_cut_off_is_set_aside_and_a_new_one_is_begun(file, remarks, length):
    predict(file, "1")
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:length])
    assert file.read().open == {}
    assert remarks[0].startswith(f"{file.path}: ")
    assert remarks[0].endswith("; earlier predictions do not count")
    predict(file, "2")
    aside = file.path.with_suffix(".damaged")
    assert f"; it is kept as {aside.name}; " in remarks[1]
    assert aside.read_bytes() == whole[:length]
    remarks.clear()
    assert list(file.read().open) == ["2"]
    assert remarks == []


@pytest.mark.parametrize(
    "content", ["[]", '{"schema": "gas.ledger/2"}', "\xff", f'{{"schema": "{SCHEMA}"}}', "[" * 9999]
)
def test_what_is_no_ledger_is_said_and_no_error(file, remarks, content):
    file.path.parent.mkdir()
    file.path.write_text(content, encoding="latin-1")
    assert file.read().outcomes == []
    assert len(remarks) == 1


def test_where_nothing_can_be_written_that_is_said(tmp_path, remarks):
    (tmp_path / "own").write_text("a file in the place of the folder")
    file = LedgerFile(tmp_path / "own" / "ledger.json", "a machine", remarks.append)
    predict(file, "1")
    assert remarks[-1].endswith("this prediction does not count later")
