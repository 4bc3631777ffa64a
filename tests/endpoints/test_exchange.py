"""One answer over HTTP, from servers that violate every rule: each exchange is limited in time and in bytes."""

import pytest
import requests
from hostile_server import STREAM_HEAD, answered, plain

from gas.endpoints.exchange import Answer, Unreadable, stream


def test_an_answer_has_its_status_its_head_and_its_bytes(hostile, session):
    found = answered(hostile, session, plain(b'{"a": 1}', status=404, head="Retry-After: 7\r\n"))
    assert (found.status_code, found.headers["retry-after"], found.json()) == (404, "7", {"a": 1})


def test_text_is_shown_whatever_its_bytes_and_json_is_finite():
    assert Answer(200, {}, b"caf\xe9").text == "caf\ufffd"
    with pytest.raises(ValueError, match="NaN"):
        Answer(200, {}, b'{"a": NaN}').json()


def test_more_bytes_than_wanted_are_not_read_announced_or_not(hostile, session):
    announced = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"
    endless = (piece for piece in [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 2**16] * 50])
    for answer in (announced, plain(b"x" * 1001), endless):
        with pytest.raises(Unreadable, match="exceeds the limit of 0.0009537 MiB"):
            answered(hostile, session, answer, most=1000)
    assert len(answered(hostile, session, plain(b"x" * 1000), most=1000).content) == 1000


def test_a_packed_answer_is_refused_and_none_is_asked_for(hostile, session):
    with pytest.raises(Unreadable, match=r"compressed \(gzip\), which was not requested"):
        answered(hostile, session, plain(b"\x1f\x8b", head="Content-Encoding: gzip\r\n"))
    assert session.headers["Accept-Encoding"] == "identity"


def test_a_redirect_is_an_answer_and_is_not_followed(hostile, session):
    found = answered(hostile, session, plain(b"", status=302, head="Location: http://127.0.0.1:9/\r\n"))
    assert found.status_code == 302


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"SSH-2.0\r\n\r\n"])
def test_no_answer_and_half_of_one_are_errors_of_requests(hostile, session, answer):
    with pytest.raises(requests.RequestException):
        answered(hostile, session, answer)


def test_a_stream_is_read_piece_by_piece_and_an_end_is_an_end(hostile, session):
    hostile.answer = lambda method, path: iter([STREAM_HEAD, b"data: 1\n\n", b"data: 2\n\n"])
    with stream(session, hostile.url, timeout=5, silence=5) as (answer, pieces):
        assert (answer.status_code, b"".join(pieces)) == (200, b"data: 1\n\ndata: 2\n\n")


@pytest.mark.parametrize("answer", [plain(b"{}"), plain(b"busy", status=503, kind="text/event-stream")])
def test_what_is_no_stream_of_events_is_read_as_a_whole(hostile, session, answer):
    hostile.answer = lambda method, path: answer
    with stream(session, hostile.url, timeout=5, silence=5) as (found, pieces):
        assert pieces is None
        assert found.content in (b"{}", b"busy")
