"""One deadline for a whole answer: neither slow bytes nor silence exceed it."""

import time

import pytest
import requests
from hostile_server import STREAM_HEAD, answered, for_ever

from gas.endpoints.exchange import Unreadable, stream


@pytest.mark.parametrize(
    "answer",
    [
        lambda: for_ever(b"H", 0.05),
        lambda: (piece for part in ([b"HTTP/1.1 200 OK\r\n"], for_ever(b"X-A: b\r\n", 0.05)) for piece in part),
        lambda: (piece for part in ([b"HTTP/1.1 200 OK\r\n\r\n"], for_ever(b"x", 0.05)) for piece in part),
    ],
    ids=["status", "head", "body"],
)
def test_a_byte_now_and_then_does_not_outlast_the_deadline(hostile, session, answer):
    began = time.monotonic()
    with pytest.raises((requests.RequestException, Unreadable)):
        answered(hostile, session, answer(), timeout=0.3)
    assert time.monotonic() - began < 5


def test_a_body_that_is_not_complete_in_time_is_said_to_be(hostile, session):
    slow = (piece for part in ([b"HTTP/1.1 200 OK\r\n\r\n"], for_ever(b"x", 0.05)) for piece in part)
    with pytest.raises(Unreadable, match=r"not complete after 0.3 s \(timeout\)"):
        answered(hostile, session, slow, timeout=0.3)


def test_a_stream_that_falls_silent_is_lost_but_not_one_that_lasts(hostile, session):
    hostile.answer = lambda method, path: (piece for part in ([STREAM_HEAD], for_ever(b":\n", 0.02)) for piece in part)
    with stream(session, hostile.url, timeout=0.2, silence=0.3) as (_, pieces):
        until = time.monotonic() + 0.6  # beyond the time limit for the head
        assert any(time.monotonic() > until for _ in pieces)
    hostile.answer = lambda method, path: (
        piece for part in ([STREAM_HEAD, b":\n"], for_ever(b"", 0.1)) for piece in part
    )
    with stream(session, hostile.url, timeout=5, silence=0.2) as (_, pieces), pytest.raises(requests.ReadTimeout):
        list(pieces)
