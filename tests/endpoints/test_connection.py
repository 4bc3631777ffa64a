"""The result of a request: an answer, a refusal of S³, or no definite answer, with whether anything was sent."""

import json
import socket
import ssl
import time

import pytest
import requests
from hostile_server import hostile_server, plain
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from gas.endpoints.access import Access
from gas.endpoints.connection import Connection, NoAnswer, age_of, never_made, words_of
from gas.errors import (
    BadInput,
    Conflict,
    Forbidden,
    Infeasible,
    NotFound,
    OverLimit,
    StalePlan,
    TooMany,
    Unauthorized,
    Unreachable,
)


@pytest.fixture(scope="module")
def server():
    with hostile_server() as own:
        yield own


def connected(url, *, timeout=5.0, name="kth"):
    return Connection(name, url, timeout, Access.of(url, None, {}))


def error_of(server, answer, method="GET", **options):
    """Return the error for an answer."""
    server.answer = lambda *_: answer
    with pytest.raises(Exception) as caught:
        connected(server.url, **options).ask(method, "/v1/jobs")
    return caught.value


def refusal(kind, message="no", status=409, head=""):
    return plain(json.dumps({"error": {"kind": kind, "message": message}}).encode(), status=status, head=head)


@pytest.mark.parametrize(
    "kind", [BadInput, Conflict, Forbidden, Infeasible, NotFound, OverLimit, StalePlan, Unauthorized]
)
def test_a_refusal_of_s3_is_the_error_of_its_kind_with_the_schedulers_name(server, kind):
    error = error_of(server, refusal(kind.__name__, "not so"))
    assert type(error) is kind
    assert str(error).startswith("kth: not so")


def test_without_authorization_the_way_to_a_token_is_said(server):
    assert "GAS_TOKEN" in str(error_of(server, refusal("Unauthorized", status=401)))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7.0), ("0", 0.1), ("1e9", 86400.0), ("nan", 1.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0), ("", 1.0)],
)
def test_too_many_requests_say_when_to_come_again(server, text, seconds):
    error = error_of(server, refusal("TooMany", status=429, head=f"Retry-After: {text}\r\n"))
    assert (type(error), error.retry_after) == (TooMany, seconds)


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        (plain(b"<html>", status=502, kind="text/html"), True),
        (plain(b"<html>", status=404, kind="text/html"), False),
        (plain(b'{"error": 7}', status=400), False),
        (plain(b'{"error": {"kind": 7, "message": "x"}}', status=500), True),
        (refusal("Timeout", status=408), True),
        (refusal("SomethingNew", status=418), False),
        (refusal("SomethingNew", status=500), True),
    ],
)
def test_what_s3_did_not_say_is_no_answer_and_may_help_again_if_the_server_failed(server, answer, again):
    error = error_of(server, answer)
    assert (type(error), error.sent, error.again) == (NoAnswer, True, again)
    assert server.url in str(error) or str(error).startswith("kth: ")


@pytest.mark.parametrize(("method", "again"), [("GET", False), ("POST", True)])
def test_an_answer_that_is_not_read_to_its_end_is_asked_for_again_where_a_key_makes_that_safe(server, method, again):
    error = error_of(server, plain(b"", head="Content-Encoding: gzip\r\n"), method)
    assert (type(error), error.again) == (NoAnswer, again)
    assert str(error).endswith("which was not requested; is it the right address?")


def test_a_connection_that_was_refused_sent_nothing():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(NoAnswer, match=rf"kth: {url} cannot be reached \(Connection refused\)") as caught:
        connected(url).ask("GET", "/")
    assert (caught.value.sent, caught.value.again) == (False, True)


def test_a_connection_that_is_cut_may_have_sent_something(server):
    error = error_of(server, b"")
    assert (type(error), error.sent) == (NoAnswer, True)


def test_silence_is_said_with_the_seconds_that_it_was_waited_for(server):
    def silent():
        time.sleep(0.5)
        yield b""

    error = error_of(server, silent(), timeout=0.2)
    assert (str(error), error.sent) == (f"kth: {server.url} did not answer within 0.2 s", True)


def test_messages_name_an_address_once(server):
    assert connected(server.url).called == f"kth: {server.url}"
    assert connected(f"{server.url}/", name=server.url).called == server.url


def test_no_proxy_is_asked_for_this_machines_own_services():
    assert not connected("http://127.0.0.1:9")._session.trust_env
    assert connected("http://kth.example")._session.trust_env


def test_what_is_no_stream_of_events_is_no_service_of_s3(server):
    server.answer = lambda *_: plain(b"{}")
    with pytest.raises(Unreachable, match="did not answer with an event stream"), connected(server.url).stream(None):
        pass


def test_the_age_of_an_answer_is_what_a_cache_says():
    assert [age_of({"Age": text}) for text in (" 17 ", "-1", "1.5", "²", "9" * 30)] == [17, 0, 0, 0, 0]
    assert age_of({}) == 0


def test_only_a_connection_that_was_never_made_or_not_trusted_sent_nothing():
    unmade = requests.ConnectionError(MaxRetryError(None, "/", NewConnectionError(None, "refused")))
    untrusted = requests.exceptions.SSLError(MaxRetryError(None, "/", ssl.SSLCertVerificationError("self-signed")))
    cut = requests.ConnectionError(ProtocolError("aborted", ConnectionResetError(104, "Connection reset by peer")))
    assert [never_made(one) for one in (unmade, untrusted, cut)] == [True, True, False]


def test_an_error_is_worded_by_its_first_cause():
    inner = ConnectionResetError(104, "Connection reset by peer")
    error = requests.ConnectionError("outside")
    error.__cause__ = inner
    assert words_of(error) == "Connection reset by peer"
    error.__cause__ = ValueError("invalid literal for int() with base 16: b''")
    assert words_of(error) == "the answer was cut off"
    assert words_of(requests.ConnectionError()) == "ConnectionError"
