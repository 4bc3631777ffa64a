"""Tokens go only to their own service, only encrypted or locally, and never appear in output."""

import json
import socket

import pytest
import requests
import trustme

from documents.fields import FieldError, Fields
from gas.endpoints import JobDescription, Request, S3Endpoint, load_configuration
from gas.endpoints.access import Access, Table, split_address
from gas.errors import BadInput, Forbidden, GasError, Unauthorized, Unreachable
from gas.service.live import LiveScheduler
from gas.service.server import Embedded
from gas.service.token_file import add_token
from gas.service.tokens import Tokens

SECRET = "s3-0123456789-very-secret"
HERE, AWAY, SAFE = "http://127.0.0.1:1", "http://cluster.example:1", "https://cluster.example:1"


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "kth.token"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return path


def access(address=HERE, environment=None, **table):
    return Access.of(address, Fields(table, "gas.toml, [endpoints.kth]"), environment or {})


def sent(access):
    """The header that a request would have."""
    request = requests.Request("GET", "http://127.0.0.1/", auth=access.sign).prepare()
    return request.headers.get("Authorization")


# ---------------------------------------------------------------------------------------------- where tokens are from


def test_the_tables_own_token_comes_before_that_of_the_environment(token_file):
    assert sent(access(token_file=str(token_file), environment={"GAS_TOKEN": "other"})) == f"Bearer {SECRET}"
    assert sent(access(environment={"GAS_TOKEN": " other\n"})) == "Bearer other"
    assert sent(access()) is None


@pytest.mark.parametrize("meant", [HERE, f"{HERE}/", "HTTP://127.0.0.1:1", "kth"])
def test_a_token_of_the_environment_goes_to_the_scheduler_of_the_environment(meant):
    table = Table({}, "gas.toml, [endpoints.kth]", name="kth", rivals=["http://127.0.0.1:2"])
    assert Access.of(HERE, table, {"GAS_TOKEN": SECRET, "GAS_ENDPOINT": meant}).token == SECRET


@pytest.mark.parametrize("meant", ["http://127.0.0.1:2", "https://127.0.0.1:1", "http://127.0.0.1:1/s3", "ctc"])
def test_and_to_no_other_which_a_refusal_says(meant):
    found = Access.of(HERE, None, {"GAS_TOKEN": SECRET, "GAS_ENDPOINT": meant})
    assert sent(found) is None
    assert found.hint.startswith(f"no token was sent: GAS_TOKEN is for GAS_ENDPOINT, {meant}; ")
    assert "token_file" in found.hint


def test_where_it_could_be_meant_for_several_none_gets_it():
    found = Access.of(HERE, None, {"GAS_TOKEN": SECRET}, rivals=["http://127.0.0.1:2"])
    assert sent(found) is None
    assert "could be for this scheduler or http://127.0.0.1:2; give one scheduler" in found.hint
    assert Access.of(HERE, None, {"GAS_TOKEN": SECRET}, rivals=[f"{HERE}/"]).token == SECRET  # the same one
    assert Access.of(HERE, None, {"GAS_TOKEN": SECRET, "GAS_ENDPOINT": f"{HERE} ctc"}).token is None


def test_a_token_file_is_found_at_home(token_file, monkeypatch):
    monkeypatch.setenv("HOME", str(token_file.parent))
    assert access(token_file="~/kth.token").token == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o601])
def test_a_token_file_that_others_can_read_is_refused_with_the_way_out(token_file, mode):
    token_file.chmod(mode)
    with pytest.raises(FieldError, match=rf"token_file.*mode {mode:04o}.; run: chmod 600 {token_file}"):
        access(token_file=str(token_file))


@pytest.mark.parametrize("text", ["", "\n", "two words", "tökén", "a\nb", "x" * 5000, "nul\0"])
def test_what_is_no_token_is_refused_without_being_shown(token_file, text):
    token_file.write_text(text)
    with pytest.raises(FieldError, match="token_file") as caught:
        access(token_file=str(token_file))
    assert not text.strip() or text.strip() not in str(caught.value)
    if text.strip():
        with pytest.raises(BadInput, match="GAS_TOKEN: is not a token") as caught:
            access(environment={"GAS_TOKEN": text})
        assert text not in str(caught.value)


def test_a_token_file_that_is_none(tmp_path):
    with pytest.raises(FieldError, match="cannot be read: No such file"):
        access(token_file=str(tmp_path / "none"))
    with pytest.raises(FieldError, match="does not contain a token"):
        access(token_file=str(tmp_path))


# ------------------------------------------------------------------------------------------------- where they may go


@pytest.mark.parametrize("address", [HERE, SAFE, "http://localhost:1", "http://[::1]:1", "http://127.9.9.9:1"])
def test_a_token_goes_to_this_machine_or_encrypted(address, token_file):
    assert access(address, token_file=str(token_file)).token == SECRET
    assert access(address, environment={"GAS_TOKEN": SECRET}).token == SECRET


def test_a_token_does_not_travel_in_the_clear_unless_that_is_meant(token_file):
    with pytest.raises(BadInput, match="insecure = true in its table"):
        access(AWAY, token_file=str(token_file))
    with pytest.raises(BadInput, match="GAS_INSECURE=1"):
        access(AWAY, environment={"GAS_TOKEN": SECRET})
    with pytest.raises(BadInput, match="insecure = true"):  # the variable applies to the token in the variable
        access(AWAY, token_file=str(token_file), environment={"GAS_INSECURE": "1"})
    with pytest.raises(BadInput, match="GAS_INSECURE=1"):
        access(AWAY, environment={"GAS_TOKEN": SECRET, "GAS_INSECURE": "0"})
    assert access(AWAY, token_file=str(token_file), insecure=True).token == SECRET
    assert access(AWAY, environment={"GAS_TOKEN": SECRET}, insecure=True).token == SECRET
    assert access(AWAY, environment={"GAS_TOKEN": SECRET, "GAS_INSECURE": "1"}).token == SECRET
    assert access(AWAY).token is None


@pytest.mark.parametrize("url", ["https://user:word@x", "https://user@x"])
def test_an_address_holds_no_password(url):
    with pytest.raises(BadInput, match="cannot contain a user or password") as caught:
        split_address(url)
    assert "word@" not in str(caught.value)


@pytest.fixture
def elsewhere():
    """A listening socket that records received data."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.3)
        yield listener


def test_a_token_is_not_sent_where_an_answer_points_to(elsewhere, scripted):
    target = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
    scripted.answers = [(307, b"", {"Location": target})]
    with pytest.raises(Unreachable, match="HTTP 307"):
        S3Endpoint("x", scripted.url, access=Access(SECRET, "a test"), retries=0).availability()
    assert scripted.headers[0]["Authorization"] == f"Bearer {SECRET}"
    with pytest.raises(TimeoutError):
        elsewhere.accept()


def test_no_other_credentials_are_sent(scripted, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    endpoint = S3Endpoint("x", scripted.url)
    endpoint.connection._session.trust_env = True  # like a service on another machine
    with pytest.raises(Unreachable):
        endpoint.availability()
    assert "Authorization" not in scripted.headers[0]


def test_a_token_shows_in_no_representation_and_no_error(scripted):
    given = Access(SECRET, "GAS_TOKEN")
    endpoint = S3Endpoint("x", scripted.url, access=given, retries=0, patience=0)
    shown = [repr(given), str(given), repr(endpoint), repr(vars(endpoint)), repr(vars(endpoint.connection))]
    scripted.answers = [
        ("cut", b""),
        (500, b""),
        (200, b"x"),
        (401, b'{"error": {"kind": "Unauthorized", "message": "no"}}'),
    ]
    for _ in range(4):
        with pytest.raises(GasError) as caught:
            endpoint.submit(Request(1, 1), JobDescription("a", run_time=1))
        shown.append(str(caught.value))
    assert len(scripted.headers) == 4
    assert not [text for text in shown if SECRET in text]


# ------------------------------------------------------------------------------------------- with a service that asks


@pytest.fixture
def guarded(tmp_path):
    """A service with tokens, and the tokens by user."""
    file = tmp_path / "tokens"
    tokens = {user: add_token(file, user, "user")[0] for user in ("alice", "bob")}
    scheduler = LiveScheduler("guarded", 4, tmp_path / "guarded")
    with Embedded(scheduler, tokens=Tokens(file)) as service:
        yield service.url, tokens
        for job in scheduler.jobs():
            scheduler.cancel(job.id)


def as_user(guarded, user):
    url, tokens = guarded
    return S3Endpoint("kth", url, access=Access(tokens[user], f"{user}.token"))


def test_each_user_has_jobs_and_keys_of_their_own(guarded):
    alice, bob = as_user(guarded, "alice"), as_user(guarded, "bob")
    job = alice.submit(Request(4, 1000), JobDescription("secret plan", run_time=1000), "k")
    assert (job["user"], job["mine"]) == ("alice", True)
    assert bob.job_by_key("k") is None
    [seen] = bob.jobs()
    assert (seen["id"], seen["user"], seen["mine"], seen["name"]) == (job["id"], "alice", False, None)
    with pytest.raises(Forbidden):
        bob.cancel(job["id"])
    other = bob.submit(Request(1, 10), JobDescription("mine", run_time=10), "k")
    assert (other["user"], other["id"] == job["id"]) == ("bob", False)
    stream = bob.events()
    assert next(stream).data["user"] == "bob"
    stream.close()


def test_without_a_good_token_the_way_out_is_told(guarded, monkeypatch):
    url, _ = guarded
    with pytest.raises(Unauthorized, match="no token was sent.*token_file.*GAS_TOKEN"):
        S3Endpoint("kth", url).availability()
    monkeypatch.setenv("GAS_TOKEN", SECRET)
    with pytest.raises(Unauthorized, match="the token of GAS_TOKEN was refused; ask the operator") as caught:
        S3Endpoint("kth", url).availability()
    assert SECRET not in str(caught.value)


def test_the_command_line_finds_its_token(guarded, gas, tmp_path, monkeypatch):
    url, tokens = guarded
    path = tmp_path / "alice.token"
    path.write_text(tokens["alice"])
    path.chmod(0o600)
    config = tmp_path / "gas.toml"
    config.write_text(f'[endpoints.kth]\ntype = "s3"\nurl = "{url}"\ntoken_file = "{path}"\n')
    app = tmp_path / "app.toml"
    app.write_text('name = "app"\n[speedup]\nmodel = "table"\ntimes = { 4 = 500 }\n')
    made = gas("submit", str(app), "--simulate", "--config", str(config), "--json")
    assert made.json["job"]["user"] == "alice"
    monkeypatch.setenv("GAS_TOKEN", tokens["bob"])
    assert gas("submit", str(app), "--simulate", "-e", url, "--json").json["job"]["user"] == "bob"
    table = gas("status", "-e", url).out
    assert "bob (you)" in table
    assert "alice (you)" not in table
    assert gas("status", str(made.json["job"]["id"]), "-e", url).out.startswith("job 1 of alice, 4 processors")
    refused = gas("cancel", str(made.json["job"]["id"]), "-e", url)
    assert refused.code == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_follows_no_redirection(start_scripted, status):
    service, other = start_scripted(), start_scripted()
    endpoint = S3Endpoint("kth", service.url, retries=0, patience=0, access=Access(SECRET, "GAS_TOKEN"))
    for ask in (endpoint.availability, lambda: endpoint.submit(Request(1, 1), JobDescription("a", run_time=1), "k")):
        service.answers = [(status, b"", {"Location": f"{other.url}/v1/availability"})]
        with pytest.raises(Unreachable, match=f"returned HTTP {status}"):
            ask()
    assert len(service.asked) == 2
    assert other.asked == []


def test_of_several_schedulers_only_the_one_that_is_named_gets_the_token(guarded, gas, tmp_path, monkeypatch):
    url, tokens = guarded
    config = tmp_path / "gas.toml"
    config.write_text(
        f'[endpoints.kth]\ntype = "s3"\nurl = "{url}"\n[endpoints.ctc]\ntype = "s3"\nurl = "http://127.0.0.1:9"\n'
        "retries = 0\n"
    )
    monkeypatch.setenv("GAS_TOKEN", tokens["alice"])
    of_all = gas("endpoints", "--config", str(config))
    assert "GAS_TOKEN could be for this scheduler or http://127.0.0.1:9" in of_all.err
    assert gas("endpoints", "--config", str(config), "-e", "kth").code == 0
    assert "GAS_TOKEN could be" in gas("endpoints", "-e", url, "-e", "http://127.0.0.1:9").err
    monkeypatch.setenv("GAS_ENDPOINT", "kth")
    assert gas("endpoints", "--config", str(config)).code == 0
    monkeypatch.setenv("GAS_ENDPOINT", "http://127.0.0.1:9")
    elsewhere = gas("endpoints", "-e", url)
    assert "no token was sent: GAS_TOKEN is for GAS_ENDPOINT, http://127.0.0.1:9" in elsewhere.err


# -------------------------------------------------------------------------------------------------------- certificates


@pytest.fixture
def encrypted(tmp_path):
    """An HTTPS server with a certificate of an unknown authority; its address and the authority's file."""
    import ssl
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"jobs": []}).encode())

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):  # a client that closes the connection early
            pass

    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}", str(tmp_path / "ca.pem")
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_certificate_that_nobody_knows_is_not_trusted_and_nothing_is_sent(encrypted):
    url, _ = encrypted
    endpoint = S3Endpoint("kth", url)
    with pytest.raises(Unreachable, match=r"CERTIFICATE_VERIFY_FAILED.*GAS_CA_FILE"):
        endpoint.jobs()
    with pytest.raises(Unreachable, match="nothing was submitted"):
        endpoint.submit(Request(1, 1), JobDescription("a", run_time=1), "k")
    assert not endpoint.in_doubt("k")


@pytest.mark.parametrize("variable", ["GAS_CA_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_certificates_of_the_environment_are_trusted_also_for_this_machine(encrypted, monkeypatch, variable):
    url, authority = encrypted
    for other in ("GAS_CA_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(variable, authority)
    assert S3Endpoint("kth", url).jobs() == []


def test_the_tables_certificates_come_first(encrypted, tmp_path, monkeypatch):
    url, authority = encrypted
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(other))
    config = tmp_path / "gas.toml"
    config.write_text(f'[endpoints.kth]\ntype = "s3"\nurl = "{url}"\nca_file = "{authority}"\n')
    assert load_configuration(config).endpoint("kth").jobs(0) == []
    with pytest.raises(Unreachable):
        S3Endpoint("kth", url).jobs()


def test_certificates_that_are_not_there_are_said_so(tmp_path):
    with pytest.raises(FieldError, match="ca_file.*no such file"):
        access(SAFE, ca_file=str(tmp_path / "none.pem"))
    with pytest.raises(BadInput, match="GAS_CA_FILE .*no such file"):
        access(SAFE, environment={"GAS_CA_FILE": str(tmp_path / "none.pem")})


def test_a_file_without_certificates_is_said_so(encrypted, tmp_path):
    url, _ = encrypted
    (tmp_path / "empty.pem").write_text("nothing\n")
    with pytest.raises(Unreachable, match="cannot be reached"):
        S3Endpoint("kth", url, access=Access(certificates=str(tmp_path / "empty.pem"))).jobs()
