"""The partial file of an interrupted backtest: whole lines, of the same backtest only, in the user's state folder."""

import fcntl

import numpy as np
import pytest
from made_up import busy_log

from gas.cli.partial_file import PartialFile, partial_file
from gas.prediction.backtest import Simulated
from gas.prediction.recorded import RecordedQueue

ONE, TWO = Simulated(3, 1, 500, np.array([0, 7])), Simulated(9, 0, 0, np.array([0]))


def as_told(kept):
    return {place: (one.waiting, one.latest, one.waits.tolist()) for place, one in kept.items()}


@pytest.fixture
def path(tmp_path):
    kept = PartialFile(tmp_path / "new" / "kept.jsonl", pytest.fail)
    kept[3], kept[9] = ONE, TWO
    kept.close(done=False)
    return kept.path


def test_what_was_simulated_is_there_again_until_all_is_done(path):
    kept = PartialFile(path, pytest.fail)
    assert as_told(kept) == {3: (1, 500, [0, 7]), 9: (0, 0, [0])}
    kept[12] = Simulated(12, 5000, 90, np.array([], np.int64))  # of a queue too long to simulate
    kept.close(done=False)
    kept = PartialFile(path, pytest.fail)
    assert as_told(kept)[12] == (5000, 90, [])
    assert path.stat().st_mode & 0o777 == 0o600
    kept.close(done=True)
    assert not path.exists()


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "damage",
    [b"[1,2", b"[1,2]\n", b"{}\n", b"[1,2,3,9,8]\n", b"[-1,0,0,0]\n", b'["a",0,0,0]\n', b"\xff\n", b"7\n", DEEP],
    ids=range(9),
)
def test_a_damaged_line_and_what_follows_it_are_dropped(path, damage):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[1])
    kept = PartialFile(path, pytest.fail)
    assert list(kept) == [3]
    kept[9] = TWO
    kept.close(done=False)
    assert path.read_bytes() == b"".join(lines)


def test_two_at_a_time_do_not_write_into_one_file(path):
    first, said = PartialFile(path, pytest.fail), []
    second = PartialFile(path, said.append)
    assert not second
    assert not second.keeps
    second[5] = ONE
    second.close(done=True)
    assert "is running already" in said[0]
    first.close(done=False)
    assert sorted(PartialFile(path, pytest.fail)) == [3, 9]


def test_one_that_was_removed_before_it_could_be_locked_is_made_anew(path, monkeypatch):
    lock, removed = fcntl.flock, []

    def late(file, how):
        if not removed:  # the other process ends at this moment
            removed.append(path.unlink())
        lock(file, how)

    monkeypatch.setattr("gas.cli.partial_file.fcntl.flock", late)
    kept = PartialFile(path, pytest.fail)
    kept[3] = ONE
    kept.close(done=False)
    assert as_told(PartialFile(path, pytest.fail)) == {3: (1, 500, [0, 7])}


def test_where_nothing_can_be_written_it_is_said_and_nothing_else_happens(tmp_path):
    (tmp_path / "file").touch()
    said = []
    kept = PartialFile(tmp_path / "file" / "kept.jsonl", said.append)
    kept[3] = ONE
    assert kept[3] is ONE
    assert "cannot be written" in said[0]
    kept.close(done=False)


def test_another_log_option_or_place_has_another_file():
    log = busy_log(200, 64, seed=2).with_columns(wait=np.arange(200) % 5 * 300)
    later = log.with_columns(wait=np.arange(200) % 5 * 300 + (np.arange(200) == 150))
    queues = RecordedQueue(log), RecordedQueue(later), RecordedQueue(log, 65)
    names = set()
    for queue in queues:
        for places in (queue.places(10), queue.places(11)):
            for samples in (2, 3):
                kept = partial_file(queue, places, pytest.fail, samples=samples)
                kept.close(done=True)
                names.add(kept.path)
    assert len(names) == 12
