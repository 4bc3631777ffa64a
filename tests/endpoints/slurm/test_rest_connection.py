"""Tokens of Slurm: where they are from, when they expire, and that they show nowhere."""

import base64
import json
import os
import pwd
import sys
import time

import pytest
from slurm_rest import Answer, slurmrestd

from gas.endpoints.slurm.rest_connection import SlurmConnection, Tokens, claims
from gas.errors import BadInput, Unauthorized

HERE, AWAY = "http://127.0.0.1:6820", "http://deep.example:6820"


def token(**said):
    """A token as Slurm makes them; only the signature is none."""
    parts = ({"alg": "HS256", "typ": "JWT"}, said)
    return ".".join([base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts] + ["secret"])


GOOD, OLD = token(exp=int(time.time()) + 1000, sun="ann"), token(exp=1_000_000_000, sun="ann")


def printing(*texts, tmp_path):
    """A command that prints one of the texts after the other, and how often it was run."""
    counter = tmp_path / "runs"
    counter.touch()
    program = "import sys; p = sys.argv[1]; n = len(open(p).read()); open(p, 'a').write('.'); print(sys.argv[2 + n])"
    return [sys.executable, "-c", program, str(counter), *texts], lambda: len(counter.read_text())


def test_a_token_of_the_environment():
    tokens = Tokens(HERE, environment={"SLURM_JWT": f"{GOOD}\n"})
    assert (tokens.current(), tokens.source, tokens.expired) == (GOOD, "SLURM_JWT", None)


def test_no_token():
    tokens = Tokens(HERE, environment={"SLURM_JWT": ""})
    assert (tokens.current(), tokens.source, tokens.expired) == (None, None, None)


def test_sockets_take_no_token_of_the_environment_but_one_that_is_named(tmp_path):
    file = tmp_path / "token"
    file.write_text(GOOD)
    file.chmod(0o600)
    environment = {"SLURM_JWT": GOOD}
    assert Tokens("unix:/run/s", environment=environment).current() is None
    assert Tokens("unix:/run/s", file=str(file), environment=environment).current() == GOOD


def test_a_file_is_read_again_each_time(tmp_path):
    file = tmp_path / "token"
    file.write_text(OLD)
    file.chmod(0o600)
    tokens = Tokens(HERE, file=str(file))
    assert tokens.expired == 1_000_000_000
    file.write_text(GOOD)
    assert (tokens.current(), tokens.expired) == (GOOD, None)


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_file_that_others_can_read_is_refused_with_the_way_out(tmp_path, mode):
    file = tmp_path / "token"
    file.write_text(GOOD)
    file.chmod(mode)
    with pytest.raises(BadInput, match=rf"^{file}: can be read by others .mode {mode:04o}.; run: chmod 600 {file}"):
        Tokens(HERE, file=str(file)).current()


def test_a_command_prints_the_token_and_is_run_again_when_that_expires(tmp_path):
    command, runs = printing(f"SLURM_JWT={OLD}", f"SLURM_JWT={GOOD}", tmp_path=tmp_path)
    tokens = Tokens(HERE, command=command)
    assert tokens.current() == OLD
    assert [tokens.current(), tokens.current()] == [GOOD, GOOD]
    assert runs() == 2


def test_a_command_sees_no_other_token(tmp_path):
    show = 'echo "x${GAS_TOKEN-}${SLURM_JWT-}$KEPT"'
    environment = {"GAS_TOKEN": "of-s3", "SLURM_JWT": "of-slurm", "KEPT": "y", "PATH": os.defpath}
    assert Tokens(HERE, command=["sh", "-c", show], environment=environment).current() == "xy"


def test_a_token_of_the_environment_that_could_be_meant_for_several_goes_to_none():
    tokens = Tokens(HERE, environment={"SLURM_JWT": GOOD}, rivals=["http://127.0.0.1:2"])
    assert (tokens.current(), tokens.source) == (None, None)
    assert "SLURM_JWT could be for this slurmrestd or http://127.0.0.1:2" in tokens.hint


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["/nonexistent/scontrol"], "cannot be run: No such file or directory .token_command"),
        (["sh", "-c", "echo no munge >&2; exit 3"], "prints no token: no munge"),
        (["sh", "-c", "exit 3"], "prints no token: exit status 3"),
    ],
)
def test_a_command_that_fails(command, told):
    with pytest.raises(Unauthorized, match=told):
        Tokens(HERE, command=command).current()


@pytest.mark.parametrize("printed", ["", "two words", "SLURM_JWT=", "x" * 5000])
def test_a_command_that_prints_no_token(printed):
    with pytest.raises(BadInput, match=r"the command printf .*: is (empty|not a token)"):
        Tokens(HERE, command=["printf", "%s", printed]).current()


def test_no_token_travels_in_the_clear_to_another_machine_unless_that_is_meant(tmp_path):
    environment = {"SLURM_JWT": GOOD}
    with pytest.raises(
        BadInput, match="the token would be sent unencrypted; use https://, or set insecure = true"
    ) as caught:
        Tokens(AWAY, environment=environment).current()
    assert GOOD not in str(caught.value)
    assert Tokens(AWAY, environment=environment, insecure=True).current() == GOOD
    assert Tokens(AWAY.replace("http", "https"), environment=environment).current() == GOOD


def test_the_hint_says_what_was_sent_and_what_to_do():
    assert "no token was sent: put what scontrol token prints into SLURM_JWT" in Tokens(HERE, environment={}).hint
    assert "the token of SLURM_JWT was sent" in Tokens(HERE, environment={"SLURM_JWT": GOOD}).hint
    hint = Tokens(HERE, environment={"SLURM_JWT": OLD}).hint
    assert "the token of SLURM_JWT expired 2001-09-09T01:46:40" in hint
    assert "scontrol token lifespan=86400" in hint


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.!!.c", "..", "a.W10.c", "a." + "e30" * 9, "a.é.c"])
def test_a_token_that_says_nothing_of_itself(text):
    assert claims(text) == {}


# ----------------------------------------------------------------------------------------------------------- user


def connection(url=HERE, user=None, **environment):
    return SlurmConnection("deep", url, 5.0, Tokens(url, environment=environment), user)


def test_it_acts_as_whom_it_is_told_or_whom_the_token_is_for_or_who_runs_it():
    assert connection(user="bob", SLURM_JWT=GOOD).user == "bob"
    assert connection(SLURM_JWT=GOOD).user == "ann"
    own = pwd.getpwuid(os.getuid()).pw_name
    assert connection(SLURM_JWT="opaque").user == own
    assert connection(SLURM_JWT=token(sun="a\nb")).user == own
    assert connection().user == own


def test_over_a_socket_without_a_token_it_acts_as_whose_that_is(tmp_path):
    with slurmrestd(tmp_path / "s") as server:
        server.answers["*"] = Answer({})
        there = connection(server.url)
        assert there.user == pwd.getpwuid((tmp_path / "s").stat().st_uid).pw_name
        assert there.exchange("GET", "/x").json() == {}


def test_a_file_with_credentials_for_other_programs_is_not_read(tmp_path, monkeypatch):
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login ann password other-secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with slurmrestd() as server:
        server.answers["*"] = Answer({})
        connection(server.url, SLURM_JWT=GOOD).exchange("GET", "/x")
        assert "Authorization" not in server.headers()
