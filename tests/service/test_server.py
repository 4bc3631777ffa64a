import asyncio
import os
import socket
import time

import prompt
import pytest
import uvicorn.server

from gas.errors import BadInput, Conflict
from gas.service.live import LiveScheduler
from gas.service.server import Embedded, ask_to_drain, hold_state


def test_two_services_never_share_a_state_directory(tmp_path):
    with hold_state(tmp_path / "state"), pytest.raises(Conflict, match="another S³ is using it"):
        hold_state(tmp_path / "state")
    hold_state(tmp_path / "state").close()


def test_nobody_is_asked_to_drain_where_nobody_serves(tmp_path):
    assert ask_to_drain(tmp_path / "state") is None
    with hold_state(tmp_path / "state"):
        assert (tmp_path / "state" / "lock").read_text() == str(os.getpid()), "whom to tell"
        (tmp_path / "state" / "lock").unlink()
        with pytest.raises(Conflict):
            hold_state(tmp_path / "state")


def test_a_state_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="--state"):
        hold_state(tmp_path / "file" / "state")


def test_an_embedded_service_is_gone_after_its_block(tmp_path):
    with Embedded(LiveScheduler("x", 4, tmp_path)) as embedded:
        url = embedded.url
    port = int(url.rpartition(":")[2])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_an_embedded_service_stops_between_two_ticks(tmp_path, monkeypatch):
    monkeypatch.setattr("gas.service.server.TICK", 30)
    embedded = Embedded(LiveScheduler("x", 4, tmp_path))
    with embedded:
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 15
    embedded._server.stop()  # once more, after its loop has ended


def test_in_tests_a_service_that_stops_takes_no_breath():
    prompt.install()

    async def pause():
        begun = time.monotonic()
        await uvicorn.server.asyncio.sleep(30)
        return time.monotonic() - begun

    assert asyncio.run(pause()) < 15
