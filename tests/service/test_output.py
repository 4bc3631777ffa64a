"""The output of a job: the end of each stream, whatever the job has put in its place."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from eventually import living, until
from started_jobs import ended, printed, start

from gas.errors import BadInput
from gas.service.output import output
from gas.service.processes import (
    cancel_process,
)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    try:
        until(lambda: not living(tmp_path), "no process left")
    finally:
        for pid in living(tmp_path):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_output_is_the_end_of_the_stream(tmp_path: Path) -> None:
    (tmp_path / "stdout").write_bytes(b"0123456789")
    assert output(tmp_path) == b"0123456789"
    assert output(tmp_path, limit=3) == b"789"
    assert output(tmp_path, limit=0) == b""
    assert output(tmp_path, "stderr") == b""


def test_output_of_a_running_job_is_what_it_has_printed_so_far(tmp_path: Path) -> None:
    start(tmp_path, "sh", "-c", "echo first; sleep 60")
    printed(tmp_path, b"first\n")
    assert cancel_process(tmp_path)
    ended(tmp_path)


@pytest.mark.parametrize(("stream", "limit"), [("job.json", 10), ("../stdout", 10), ("stdout", -1)])
def test_only_the_two_streams_can_be_asked_for(tmp_path: Path, stream: str, limit: int) -> None:
    with pytest.raises(BadInput):
        output(tmp_path, stream, limit)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_job_that_puts_something_else_in_the_place_of_its_output_keeps_nobody_waiting(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "stdout")
    assert output(tmp_path) == b""
