"""The records of a job, read back: no content raises, and no other process is mistaken for the job's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from eventually import until
from hypothesis import given, settings
from hypothesis import strategies as st
from started_jobs import ended, start, started

from gas.service import wrapper
from gas.service.processes import (
    Ended,
    Started,
    Unreadable,
    alive,
    cancel_process,
    read_state,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left")

RUBBISH = [
    b"",
    b"{",
    b"[]",
    b"\xff\xfe",
    b"null",
    b"[" * 100_000,
    b'{"exit_status": 0}',
    b"{}",
    b'{"wrapper_pid": 1e9}',
]

END = {"exit_status": 0, "signal": None, "reason": "exited", "message": None, "start": 1.5, "end": 2.5}


@pytest.mark.parametrize("later", [-1, 1])
def test_a_process_that_got_the_pid_of_a_wrapper_is_not_taken_for_it(
    tmp_path: Path, innocent: subprocess.Popen[bytes], later: int
) -> None:
    ticks = int(Path(f"/proc/{innocent.pid}/stat").read_text().split()[21])
    boot = wrapper.boot_identity()
    state = Started(innocent.pid, ticks + later, boot, innocent.pid, innocent.pid, time.time())
    claim = {"pid": state.wrapper_pid, "ticks": state.wrapper_ticks, "boot": boot}
    (tmp_path / "claim.json").write_text(json.dumps(claim))
    (tmp_path / "started.json").write_text(json.dumps(vars(state)))
    assert read_state(tmp_path) == state
    assert not alive(state)
    assert alive(replace(state, wrapper_ticks=ticks))
    assert not cancel_process(tmp_path)
    assert ended(tmp_path).reason == "lost"
    assert innocent.poll() is None


def test_a_wrapper_that_nobody_has_collected_yet_is_not_alive(tmp_path: Path) -> None:
    start(tmp_path, "sleep", "60")
    state = started(tmp_path)
    os.kill(state.wrapper_pid, signal.SIGKILL)
    until(lambda: not alive(state), "not alive")
    assert Path(f"/proc/{state.wrapper_pid}").exists()
    assert ended(tmp_path).reason == "lost"


@pytest.mark.parametrize("name", ["started.json", "ended.json"])
@pytest.mark.parametrize("text", RUBBISH, ids=range(len(RUBBISH)))
def test_a_rubbish_record_is_reported_with_its_name(tmp_path: Path, name: str, text: bytes) -> None:
    (tmp_path / name).write_bytes(text)
    state = read_state(tmp_path)
    assert isinstance(state, Unreadable)
    assert state.path == tmp_path / name
    assert state.problem


@pytest.mark.parametrize(
    "wrong",
    [{"exit_status": "0"}, {"exit_status": True}, {"signal": 9}, {"reason": "tired"}, {"message": 1}, {"end": None}],
    ids=str,
)
def test_an_end_record_with_one_wrong_value_is_reported_and_without_it_is_read(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    (tmp_path / "ended.json").write_text(json.dumps(END))
    assert read_state(tmp_path) == Ended(0, None, "exited", None, 1.5, 2.5)
    (tmp_path / "ended.json").write_text(json.dumps(END | wrong))
    state = read_state(tmp_path)
    assert isinstance(state, Unreadable)
    assert next(iter(wrong)) in state.problem


@settings(deadline=None)
@given(
    text=st.binary(max_size=60)
    | st.recursive(
        st.none() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.dictionaries(st.sampled_from(list(END)), inner),
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_content_of_a_record_raises(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    directory = tmp_path_factory.getbasetemp()
    (directory / "ended.json").write_bytes(text)
    assert isinstance(read_state(directory), Ended | Unreadable)
